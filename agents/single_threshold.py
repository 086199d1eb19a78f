"""The single-threshold stopper: one threshold rule, channels that even out the order of arrival.

Proof: ``single_threshold.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from streamlearn import maximum, policy, recursion, rounding
from streamlearn.base import Stopper, lasting
from streamlearn.channels import Case, Channel
from streamlearn.errors import ParameterError
from streamlearn.priors import Prior, as_priors
from streamlearn.priors.base import Floats
from streamlearn.state import register


class _Indicator(NamedTuple):
    """The non-private rule behind the reports: accept above a threshold, at it with a probability."""

    thresholds: list[float]
    at: float


@register("SingleThresholdStopper")
class SingleThresholdStopper(Stopper):
    """A threshold rule through randomised bits, with no backward induction (Proposition 5.7).

    Person i < n reports 1 with probability β_i above the threshold and α_i below, chosen so that everybody
    has the same chance of being reached and believed; the last person is taken. Where the prior leaves only
    one probability possible, the bit is a coin of that probability whatever the value: it reveals nothing and
    spends nothing, even if the prior is wrong.

    Parameters
    ----------
    priors
        As for :class:`~streamlearn.agents.LDPOptimalStopper`.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞.
    threshold
        - ``"median"``: the median T of the maximum; a value equal to T counts as above it with the
          probability that makes "nobody is above" exactly 1/2. At least half of E[max] without privacy,
          atoms or not.
        - ``"median-deterministic"``: T with "> T" if Σ S_i(T) >= T, else with ">= T". The same promise.
        - ``"half-max"``: T = E[max]/2 with ">= T". The same promise.
        - ``"optimal"``: person i against V_{i+1}, the non-private optimum's own thresholds.
        - a number: that threshold, with ">=".

    Attributes
    ----------
    competitive_ratio
        1/D_1: the promised share of the same rule's value without privacy. For ``"optimal"`` that is V;
        for the first three rules at least half of it is the share of E[max].

    Raises
    ------
    PriorError, ParameterError
        As for :class:`~streamlearn.agents.LDPOptimalStopper`, or if ``threshold`` is none of the above.

    Examples
    --------
    >>> from streamlearn.agents import SingleThresholdStopper
    >>> from streamlearn.priors import Discrete
    >>> stopper = SingleThresholdStopper([1.0, Discrete([0.0, 100.0], [0.9, 0.1])], epsilon=float("inf"))
    >>> stopper.thresholds.tolist(), round(stopper.accept_at_threshold, 6), round(stopper.value, 6)
    ([1.0, 1.0], 0.444444, 6.0)
    """

    def __init__(
        self,
        priors: Sequence[Any],
        epsilon: float | Sequence[float],
        threshold: str | float = "median",
    ) -> None:
        self.priors = lasting(priors)
        self.epsilon = lasting(epsilon)
        self.threshold = threshold
        self._laws = as_priors(self.priors)
        self._epsilons = rounding.check_epsilons(self.epsilon, len(self._laws))
        self._indicator = _indicator(self._laws, threshold)
        self._weights = rounding.harmonic_pairs(self._epsilons)
        early = [_case(*self._triple(i)) for i in range(len(self._laws) - 1)]
        self._begin([*early, "accept"])

    def _channel(self, round: int) -> Channel:  # noqa: A002 - the field's own word
        if round == self.horizon:
            return Channel.constant(round, bit=1)
        below, at, above = self._triple(round - 1)
        epsilon = self._epsilons[round - 1] if below < above else 0.0
        return Channel(round, self._indicator.thresholds[round - 1], below, at, above, epsilon)

    def _triple(self, place: int) -> tuple[int, int, int]:
        """Return P(1) below, at and above the threshold; all equal where the prior leaves one of them."""
        below, above = self._weights[place]
        at = below + math.floor(Fraction(self._indicator.at) * (above - below))
        law, threshold = self._laws[place], self._indicator.thresholds[place]
        possible = set()
        if law.lower < threshold:
            possible.add(below)
        if law.atom(threshold) > 0.0:
            possible.add(at)
        if law.upper > threshold:
            possible.add(above)
        if len(possible) == 1:
            (only,) = possible
            return only, only, only
        return below, at, above

    @property
    def thresholds(self) -> Floats:
        """The threshold of stages 1..n, shape (n,); the last person is taken whatever it says."""
        return np.array(self._indicator.thresholds)

    @property
    def accept_at_threshold(self) -> float:
        """The probability with which a value equal to its threshold counts as above it."""
        return self._indicator.at

    @cached_property
    def value(self) -> float:
        """The exact expected true value taken under the priors."""
        return policy.evaluate(self.plan, self._laws).mean

    @property
    def competitive_ratio(self) -> float:
        """1/D_1 with D_1 = 1 + Σ_{i<n} e^(-ε_i) (Proposition 5.7; one ε per person: proof, claim 2)."""
        return 1.0 / (1.0 + math.fsum(math.exp(-epsilon) for epsilon in self._epsilons[:-1]))


def _case(below: int, _at: int, above: int) -> Case:
    if below == rounding.OUT_OF:
        return "accept"
    return "skip" if above == 0 else "ask"


def _indicator(laws: list[Prior], threshold: str | float) -> _Indicator:
    if isinstance(threshold, str):
        if threshold not in RULES:
            raise ParameterError(
                f"threshold must be a number or one of {', '.join(RULES)}; got {threshold!r}"
            )
        return RULES[threshold](laws)
    number = rounding.as_float(threshold)
    if number is None or not 0.0 <= number < math.inf:
        raise ParameterError(
            f"threshold must be a finite number >= 0 or one of {', '.join(RULES)}; got {threshold!r}"
        )
    return _Indicator([number] * len(laws), at=1.0)


def _median(laws: list[Prior]) -> _Indicator:
    t = maximum.median_of_max(laws)
    return _Indicator([t] * len(laws), at=_fair_tie(laws, t))


def _fair_tie(laws: list[Prior], t: float) -> float:
    """Return r in [0, 1] with P(nobody is accepted) = 1/2 when ties at t are accepted with probability r."""
    strictly_below = np.array([1.0 - law.survival(t) - law.atom(t) for law in laws])
    atoms = np.array([law.atom(t) for law in laws])
    if not atoms.any():
        return 1.0

    def excess(r: float) -> float:
        return float(np.prod(strictly_below + (1.0 - r) * atoms)) - 0.5

    if excess(1.0) >= 0.0:
        return 1.0
    if excess(0.0) <= 0.0:
        return 0.0
    from scipy.optimize import brentq  # noqa: PLC0415 - 100 ms, and only an atom at the median needs it

    return float(brentq(excess, 0.0, 1.0, xtol=1e-15))


def _median_deterministic(laws: list[Prior]) -> _Indicator:
    t = maximum.median_of_max(laws)
    strict = math.fsum(law.stop_loss(t) for law in laws) >= t
    return _Indicator([t] * len(laws), at=0.0 if strict else 1.0)


def _half_max(laws: list[Prior]) -> _Indicator:
    return _Indicator([maximum.expected_max(laws) / 2.0] * len(laws), at=1.0)


def _optimal(laws: list[Prior]) -> _Indicator:
    return _Indicator(recursion.solve(laws, [math.inf] * len(laws)).values[1:], at=1.0)


RULES = {
    "median": _median,
    "median-deterministic": _median_deterministic,
    "half-max": _half_max,
    "optimal": _optimal,
}
