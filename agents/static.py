"""The static stopper: everybody is asked about one and the same threshold.

Proof: ``static.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from streamlearn import recursion, rounding
from streamlearn.base import Stopper, lasting
from streamlearn.channels import Case, Channel
from streamlearn.errors import ParameterError
from streamlearn.priors import Prior, as_priors
from streamlearn.priors.base import Floats
from streamlearn.state import register

_COARSE = 1024
_FINE = 64
_ROUNDS = 3
_MOST_ATOMS = 4096
_KEPT = 128


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
        chosen = _best_threshold(self._laws, self._epsilons) if threshold is None else _check(threshold)
        self._value, cases = _rule(self._laws, self._epsilons, chosen)
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


def _stages(
    laws: list[Prior], epsilons: list[float], thresholds: Floats
) -> Iterator[tuple[float, Floats, Floats]]:
    """Yield (mean, P(bit 0), E[X; bit 1]) of stages n..1, at each of the thresholds."""
    known: dict[tuple[int, float], tuple[float, Floats, Floats]] = {}
    for law, epsilon in zip(reversed(laws), reversed(epsilons), strict=True):
        stage = known.get((id(law), epsilon))
        if stage is None:
            p = recursion.truth_probability(epsilon)
            # P(X >= T) is P(X > the float just below T): a law's atoms are floats.
            at_least = law.survivals(np.nextafter(thresholds, -np.inf))
            above = law.stop_losses(thresholds) + thresholds * at_least
            gain = 2.0 * p - 1.0
            stage = (law.mean, p - gain * at_least, (1.0 - p) * law.mean + gain * above)
            # A cap, not an eviction: memory must not grow with the number of distinct laws.
            if len(known) < _KEPT:
                known[id(law), epsilon] = stage
        yield stage


def _rule(laws: list[Prior], epsilons: list[float], threshold: float) -> tuple[float, list[Case]]:
    """Return W_1 and the cases of the best rule on bits about one threshold."""
    w = 0.0
    cases: list[Case] = []
    for mean, silent, taken in _stages(laws, epsilons, np.array([threshold])):
        asking = w * silent.item() + taken.item()
        case: Case
        case, best = ("accept", mean) if mean > w else ("skip", w)
        if asking > best * recursion.TIE:
            case, best = "ask", asking
        cases.append(case)
        w = best
    cases.reverse()
    return w, cases


def _rewards(laws: list[Prior], epsilons: list[float], thresholds: Floats) -> Floats:
    """Return W_1 at each of the thresholds."""
    w = np.zeros(thresholds.size)
    for mean, silent, taken in _stages(laws, epsilons, thresholds):
        w = np.maximum(np.maximum(w, mean), w * silent + taken)
    return w


def _best_threshold(laws: list[Prior], epsilons: list[float]) -> float:
    """Return the best threshold found in [0, W_2]."""
    top = recursion.solve(laws, epsilons).values[1]
    atoms = np.unique(np.concatenate([law.atoms for law in {id(law): law for law in laws}.values()]))
    atoms = atoms[atoms <= top]
    if atoms.size > _MOST_ATOMS:
        atoms = atoms[np.linspace(0, atoms.size - 1, _MOST_ATOMS).astype(int)]
    grid = np.union1d(np.linspace(0.0, top, _COARSE), atoms)
    for _ in range(_ROUNDS):
        best = int(np.argmax(_rewards(laws, epsilons, grid)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
        grid = np.union1d(np.linspace(low, high, _FINE), grid[best])
    return float(grid[np.argmax(_rewards(laws, epsilons, grid))])


def _check(threshold: float) -> float:
    number = rounding.as_float(threshold)
    if number is None or not 0.0 <= number < math.inf:
        raise ParameterError(
            f"threshold must be a finite number >= 0, or None for the best; got {threshold!r}"
        )
    return number
