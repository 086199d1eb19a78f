"""One threshold for everybody: the best rule on its bits, and the best threshold (the paper's open question).

Proof: ``agents/static.proof.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streamlearn import recursion
from streamlearn.channels import Case
from streamlearn.priors import Prior
from streamlearn.priors.base import Floats

_COARSE = 1024
_FINE = 64
_ROUNDS = 3
_MOST_ATOMS = 4096
_KEPT = 128


def _stages(
    laws: Sequence[Prior], epsilons: Sequence[float], thresholds: Floats
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


def rule(laws: Sequence[Prior], epsilons: Sequence[float], threshold: float) -> tuple[float, list[Case]]:
    """Return W_1 and the cases of the best rule on bits about one threshold.

    Parameters
    ----------
    laws, epsilons
        One a person.
    threshold
        T.

    Examples
    --------
    >>> from streamlearn.onethreshold import rule
    >>> from streamlearn.priors import Uniform
    >>> value, cases = rule([Uniform(0, 1)] * 2, [1.0, 1.0], 0.5)
    >>> round(value, 9), cases
    (0.557764645, ['ask', 'accept'])
    """
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


def _rewards(laws: Sequence[Prior], epsilons: Sequence[float], thresholds: Floats) -> Floats:
    """Return W_1 at each of the thresholds."""
    w = np.zeros(thresholds.size)
    for mean, silent, taken in _stages(laws, epsilons, thresholds):
        w = np.maximum(np.maximum(w, mean), w * silent + taken)
    return w


def best_threshold(laws: Sequence[Prior], epsilons: Sequence[float]) -> float:
    """Return the best threshold found in [0, W_2].

    Parameters
    ----------
    laws, epsilons
        One a person.

    Examples
    --------
    >>> from streamlearn.onethreshold import best_threshold
    >>> from streamlearn.priors import Uniform
    >>> round(best_threshold([Uniform(0, 1)] * 2, [1.0, 1.0]), 6)
    0.5
    """
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
