"""The optimal stopper under local differential privacy, and the one without privacy.

Proof: ``optimal.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from streamlearn import policy, recursion, rounding
from streamlearn.base import Stopper, lasting
from streamlearn.channels import Channel
from streamlearn.priors import as_priors
from streamlearn.priors.base import Floats
from streamlearn.privacy import Guarantee
from streamlearn.state import register


@register("LDPOptimalStopper")
class LDPOptimalStopper(Stopper):
    """The best any stopper can do when each person sends an ε-LDP report (stopping paper, Theorem 4.4).

    Each person is asked one randomised bit, "is your value at least W_{i+1}?", where W_{i+1} is the value
    of going on; where a constant answer is worth as much, nobody is asked. The first 1 is taken.

    Parameters
    ----------
    priors
        The laws of persons 1..n: scipy frozen laws, numbers (certain values), samples (1-D arrays of past
        values) or ``streamlearn.priors`` objects.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞.

    Attributes
    ----------
    value
        W_1: the expected true value taken, in the unit of the priors.
    thresholds
        W_{i+1} of stages i = 1..n, an array of shape (n,).
    cases
        ``"ask"``, ``"accept"`` or ``"skip"`` of stages 1..n.

    Raises
    ------
    PriorError
        If there is no prior, or one has negative support, an infinite mean or a NaN; it names the stage.
    ParameterError
        If ε is negative, NaN, or a list of another length than the priors.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.reporters import Reporter
    >>> stopper = LDPOptimalStopper(priors=[scipy.stats.uniform()] * 10, epsilon=1.0)
    >>> round(stopper.value, 6)
    0.621898
    >>> reporter = Reporter(max_epsilon=1.0)
    >>> for person, value in enumerate([0.3, 0.9, 0.5, 0.7]):
    ...     report = reporter.report(value=value, channel=stopper.channel, event_id=f"a{person}")
    ...     stopper.learn_one(report)
    ...     if stopper.stopped:
    ...         break
    """

    def __init__(self, priors: Sequence[Any], epsilon: float | Sequence[float]) -> None:
        self.priors = lasting(priors)
        self.epsilon = lasting(epsilon)
        self._laws = as_priors(self.priors)
        self._epsilons = rounding.check_epsilons(self.epsilon, len(self._laws))
        solution = recursion.solve(self._laws, self._epsilons)
        self._values = solution.values
        self._begin(solution.cases)

    def _channel(self, round: int) -> Channel:  # noqa: A002 - the field's own word
        case = self.cases[round - 1]
        if case == "ask":
            return Channel.randomized_response(round, self._values[round], self._epsilons[round - 1])
        return Channel.constant(round, bit=int(case == "accept"))

    @property
    def value(self) -> float:
        """W_1: the expected true value taken."""
        return self._values[0]

    @property
    def thresholds(self) -> Floats:
        """W_{i+1} of stages 1..n, shape (n,): what going on is worth when person i is judged."""
        return np.array(self._values[1:])

    @cached_property
    def _spreads(self) -> Floats:
        """E|X_i - W_{i+1}| of stages 1..n."""
        return np.array([
            2.0 * law.stop_loss(w) + w - law.mean for law, w in zip(self._laws, self._values[1:], strict=True)
        ])  # fmt: skip

    @cached_property
    def break_even_epsilons(self) -> Floats:
        """The ε above which asking person i pays, shape (n,); infinite where it never does.

        ε_i* = 2·atanh(|μ_i - W_{i+1}| / E|X_i - W_{i+1}|), at this plan's own W_{i+1} (proof, claim 3).
        Finite exactly where the plan would ask at ε_i = ∞.
        """
        distances = np.abs([law.mean - w for law, w in zip(self._laws, self._values[1:], strict=True)])
        spreads = self._spreads
        levels = np.full(self.horizon, math.inf)
        # At ε = ∞ asking is worth w + S(w): the same margin as the plan's, so rounding is not taken for a gain.
        helps = (distances < spreads) & np.array([
            law.lower < w < law.upper and w + law.stop_loss(w) > max(law.mean, w) * recursion.TIE
            for law, w in zip(self._laws, self._values[1:], strict=True)
        ])  # fmt: skip
        levels[helps] = 2.0 * np.arctanh(distances[helps] / spreads[helps])
        return levels

    @cached_property
    def marginal_prices(self) -> Floats:
        """dW_1/dε_i of stages 1..n, shape (n,): what a little more ε from person i is worth.

        P(stage i is reached)·p_i(1 - p_i)·E|X_i - W_{i+1}| where person i is asked, else 0
        (proof, claim 4).
        """
        taken = [
            policy.stage_moments(channel, law).taken
            for channel, law in zip(self.plan, self._laws, strict=True)
        ]
        reached = policy.reach(taken)[:-1]
        truths = np.array([recursion.truth_probability(epsilon) for epsilon in self._epsilons])
        asked = np.array([case == "ask" for case in self.cases])
        return np.where(asked, reached * truths * (1.0 - truths) * self._spreads, 0.0)


@register("OptimalStopper")
class OptimalStopper(LDPOptimalStopper):
    """The optimal stopper that sees every value: the benchmark V, with no privacy.

    It is the optimal LDP stopper at ε = ∞: a report is then the exact indicator of "x >= V_{i+1}".

    Parameters
    ----------
    priors
        As for :class:`LDPOptimalStopper`.

    Raises
    ------
    PriorError
        As for :class:`LDPOptimalStopper`.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.agents import OptimalStopper
    >>> stopper = OptimalStopper([scipy.stats.uniform()] * 10)
    >>> round(stopper.value, 6), str(stopper.guarantee)
    (0.861098, 'no privacy guarantee')
    """

    def __init__(self, priors: Sequence[Any]) -> None:
        super().__init__(priors, math.inf)

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is promised."""
        return Guarantee.none()
