"""The static stopper: everybody is asked about one and the same threshold.

Proof: ``static.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamlearn import onethreshold, rounding
from streamlearn.base import Stopper, lasting
from streamlearn.channels import Channel
from streamlearn.errors import ParameterError
from streamlearn.priors import as_priors
from streamlearn.priors.base import Floats
from streamlearn.state import register


@register("StaticStopper")
class StaticStopper(Stopper):
    """One threshold for everybody, and the best stopping rule on the bits (the paper's open question).

    Every client runs the same randomized response on "x >= T"; only the agent's reading of the bit changes
    from stage to stage. Any channel that does not change over time is a post-processing of this one, so
    only T is chosen (proof, claim 2). Where the rule does not read the bit, nobody is asked.

    Parameters
    ----------
    priors
        As for :class:`~streamlearn.agents.LDPOptimalStopper`.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞.
    threshold
        T, or None for the best one found.

    Attributes
    ----------
    value
        The exact expected true value taken with this T.

    Raises
    ------
    PriorError, ParameterError
        As for :class:`~streamlearn.agents.LDPOptimalStopper`, or if ``threshold`` is negative or not finite.

    Notes
    -----
    The best T lies in [0, W_2] (proved beside this file). It is sought among the atoms of the priors there
    and on a grid of 1,024 points refined three times by 64; ``value`` is exact for the T found.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.agents import LDPOptimalStopper, StaticStopper
    >>> priors = [scipy.stats.uniform()] * 10
    >>> static, best = StaticStopper(priors, epsilon=1.0), LDPOptimalStopper(priors, epsilon=1.0)
    >>> round(static.value / best.value, 4)
    0.9999
    """

    def __init__(
        self, priors: Sequence[Any], epsilon: float | Sequence[float], threshold: float | None = None
    ) -> None:
        self.priors = lasting(priors)
        self.epsilon = lasting(epsilon)
        self.threshold = threshold
        self._laws = as_priors(self.priors)
        self._epsilons = rounding.check_epsilons(self.epsilon, len(self._laws))
        chosen = (
            onethreshold.best_threshold(self._laws, self._epsilons)
            if threshold is None
            else _check(threshold)
        )
        self._value, cases = onethreshold.rule(self._laws, self._epsilons, chosen)
        self._static_threshold = chosen
        self._begin(cases)

    def _channel(self, round: int) -> Channel:  # noqa: A002 - the field's own word
        case = self.cases[round - 1]
        if case == "ask":
            return Channel.randomized_response(round, self._static_threshold, self._epsilons[round - 1])
        return Channel.constant(round, bit=int(case == "accept"))

    @property
    def value(self) -> float:
        """The expected true value taken."""
        return self._value

    @property
    def thresholds(self) -> Floats:
        """The one threshold, repeated for stages 1..n, shape (n,)."""
        return np.full(self.horizon, self._static_threshold)


def _check(threshold: float) -> float:
    number = rounding.as_float(threshold)
    if number is None or not 0.0 <= number < math.inf:
        raise ParameterError(
            f"threshold must be a finite number >= 0, or None for the best; got {threshold!r}"
        )
    return number
