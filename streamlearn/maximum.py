"""The largest of independent values: its mean, median and distribution function.

With F_i the distribution functions, P(max <= t) = ∏ F_i(t). Equal priors are handled once, with their number.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from streamlearn.priors.base import Floats, Prior
from streamlearn.priors.convert import as_priors
from streamlearn.priors.finite import Discrete, Finite
from streamlearn.priors.quadrature import integrals, refine

_LN2: Final = math.log(2.0)
_ROUNDING: Final = 1e-15  # of a sum of logarithms near ln 2
_HALVINGS: Final = 56
_NEGLIGIBLE: Final = 1e-18  # a share of the expected maximum


def expected_max(priors: Iterable[Any]) -> float:
    """Return E[max of independent X_i], the value of a prophet.

    Parameters
    ----------
    priors
        One per stage, as :func:`streamlearn.priors.as_priors` takes them.

    Returns
    -------
    float
        Exact up to rounding when every law is finite. Otherwise M = ∫ 1 - ∏ F_i by adaptive quadrature, split
        at ends of supports and at atoms, to about 1e-13 of itself; from where two values are hardly
        ever found together, the closed form Σ S_i stands for the integral, so heavy tails are safe.

    Raises
    ------
    PriorError
        As :func:`streamlearn.priors.as_priors`.

    Examples
    --------
    >>> from streamlearn.maximum import expected_max
    >>> from streamlearn.priors import Uniform
    >>> round(expected_max([Uniform(0, 1)] * 10), 15) == round(10 / 11, 15)
    True
    """
    counts = _counted(as_priors(priors))
    finite = {law: count for law, count in counts.items() if isinstance(law, Finite)}
    rest = {law: count for law, count in counts.items() if not isinstance(law, Finite)}
    if not finite:
        return _integrated_mean(rest)
    at, log_cdf, rise = _largest(finite)
    if rest:
        probs = np.append(np.exp(log_cdf[0]), np.exp(log_cdf[1:]) * -np.expm1(-rise))
        return _integrated_mean({Discrete(at, probs): 1, **rest})
    return float(at[0]) + float(np.sum(np.diff(at) * -np.expm1(log_cdf[:-1])))  # min + ∫ P(max > t)


def cdf_of_max(priors: Iterable[Any], t: float, *, strict: bool = False) -> float:
    """Return P(max <= t), or P(max < t) if ``strict``.

    Parameters
    ----------
    priors
        One per stage, as :func:`streamlearn.priors.as_priors` takes them.
    t
        Any real number.
    strict
        Whether to leave out the atom at ``t``.

    Raises
    ------
    PriorError
        As :func:`streamlearn.priors.as_priors`.

    Examples
    --------
    >>> from streamlearn.maximum import cdf_of_max
    >>> cdf_of_max([0.5, [0.0, 1.0]], 0.5), cdf_of_max([0.5, [0.0, 1.0]], 0.5, strict=True)
    (0.5, 0.0)
    """
    return math.exp(_log_cdf(_counted(as_priors(priors)), t, strict=strict))


def median_of_max(priors: Iterable[Any]) -> float:
    """Return the median of the maximum, inf{t: P(max <= t) >= 1/2}.

    Parameters
    ----------
    priors
        One per stage, as :func:`streamlearn.priors.as_priors` takes them.

    Returns
    -------
    float
        The atom itself where the median is an atom (a probability within rounding of 1/2 counts as 1/2);
        elsewhere the smallest float that qualifies, up to rounding.

    Raises
    ------
    PriorError
        As :func:`streamlearn.priors.as_priors`.

    Examples
    --------
    >>> from streamlearn.maximum import median_of_max
    >>> from streamlearn.priors import Discrete
    >>> median_of_max([1.0, Discrete([0, 100], [0.9, 0.1])])
    1.0
    """
    counts = _counted(as_priors(priors))
    start = max(law.lower for law in counts)  # below it some law has no mass, so P(max <= t) = 0
    atoms = [start, *_atoms(counts, start).tolist()]
    first = bisect_left(atoms, -_LN2 - _ROUNDING, key=lambda t: _log_cdf(counts, t))
    if first == 0:
        return start
    low: float = atoms[first - 1]
    if first == len(atoms):
        high: float = max(2.0 * low, *(law.mean for law in counts))
        while _log_cdf(counts, high) < -_LN2:
            low, high = high, 2.0 * high
    else:
        high = atoms[first]
        if _log_cdf(counts, high, strict=True) < -_LN2:
            return high
    while low < (middle := 0.5 * (low + high)) < high:
        if _log_cdf(counts, middle) < -_LN2:
            low = middle
        else:
            high = middle
    return high


def _counted(priors: list[Prior]) -> dict[Prior, int]:
    """Return how many stages have each law; the same object is looked up by identity, which is cheaper."""
    identities = list(map(id, priors))
    occurrences: dict[int, int] = {}
    for identity in identities:
        occurrences[identity] = occurrences.get(identity, 0) + 1
    counts: dict[Prior, int] = {}
    for identity, law in dict(zip(identities, priors, strict=True)).items():
        counts[law] = counts.get(law, 0) + occurrences[identity]
    return counts


def _log_cdf(counts: dict[Prior, int], t: float, *, strict: bool = False) -> float:
    total = 0.0
    for law, count in counts.items():
        above = law.survival(t) + (law.atom(t) if strict else 0.0)
        if above >= 1.0:
            return -math.inf
        total += count * math.log1p(-above)
    return total


def _atoms(counts: dict[Prior, int], start: float) -> Floats:
    """Return the atoms of all laws above ``start``, in increasing order."""
    atoms = np.unique(np.concatenate([law.atoms for law in counts]))
    return atoms[atoms > start]


def _largest(counts: dict[Finite, int]) -> tuple[Floats, Floats, Floats]:
    """Return the law of the maximum of finite laws: its atoms, ln P(max <= .) at each, and by how much that rises.

    The atoms are sorted, the products of F_i taken from the top; an atom that several laws share may come repeatedly.
    """
    start = max(law.lower for law in counts)
    values, factors = [], []
    for law, count in counts.items():
        above = law.atoms[1:] > start  # the first atom never is
        below = np.cumsum(law.probs)[:-1]
        values.append(law.atoms[1:][above])
        factors.append(count * np.log1p((law.probs[1:] / below)[above]))  # ln of by how much F_i rises there
    at, rise = np.concatenate(values), np.concatenate(factors)
    order = np.argsort(at, kind="stable")  # of sorted runs: merges them
    at, rise = at[order], rise[order]
    log_cdf = np.append(-np.cumsum(rise[::-1])[::-1], 0.0)
    return np.append(start, at), log_cdf, rise


def _integrated_mean(counts: dict[Prior, int]) -> float:
    weights = list(counts.items())
    scale = max(law.mean for law in counts)  # at most the expected maximum

    def some_above(x: Floats) -> Floats:
        log_product = np.zeros(x.shape)
        with np.errstate(divide="ignore"):
            for law, count in weights:
                log_product += count * np.log1p(-law.survivals(x))
        result: Floats = -np.expm1(log_product)
        return result

    def number_above(x: Floats) -> Floats:
        return sum((count * law.survivals(x) for law, count in weights), np.zeros(x.shape))

    def total_loss(x: Floats) -> Floats:
        return sum((count * law.stop_losses(x) for law, count in weights), np.zeros(x.shape))

    def seen(a: Floats, b: Floats) -> npt.NDArray[np.bool_]:
        # Σ P(X_i > x) integrates to a difference of Σ S_i exactly: a rule that misses a spike shows here.
        at_a = total_loss(a)
        exact = at_a - total_loss(b)
        off = np.abs(integrals(number_above, a, b) - exact)
        result: npt.NDArray[np.bool_] = off <= 1e-9 * exact + 1e-14 * at_a + 1e-17 * scale
        return result

    start = max(law.lower for law in counts)
    ends = np.array([law.upper for law in counts])
    edges = np.unique(
        np.concatenate([[start], _atoms(counts, start), ends[(ends > start) & (ends < math.inf)]])
    )
    if ends.max() == math.inf:
        edges = np.append(edges, _outward(edges[-1], scale, number_above, total_loss))
    if edges.size == 1:
        return start
    edges = np.unique(np.append(edges, _crossings(number_above, edges[0], edges[-1])))
    _, parts = refine(some_above, edges, seen, scale)
    return start + math.fsum(parts) + float(total_loss(edges[-1:])[0])


def _outward(
    start: float,
    scale: float,
    number_above: Callable[[Floats], Floats],
    total_loss: Callable[[Floats], Floats],
) -> list[float]:
    """Return panels that double from ``start`` until Σ S_i may stand for the rest of the integral.

    From b on, ∫ 1 - ∏ F_i falls short of Σ S_i(b) by at most ∫ (Σ F̄_i)²/2 <= Σ F̄_i(b)·Σ S_i(b)/2.
    """
    edges = []
    for k in range(1, 1000):
        edges.append(start + scale * (2.0**k - 1.0))
        end = np.array(edges[-1:])
        if number_above(end)[0] * total_loss(end)[0] <= _NEGLIGIBLE * scale:
            break
    return edges


def _crossings(number_above: Callable[[Floats], Floats], low: float, high: float) -> Floats:
    """Return where 128, 64, ..., 1/16 values are expected above: P(max > x) turns from 1 to 0 between them.

    With many stages that happens within a sliver of the line, which a rule must be told of.
    """
    levels = 2.0 ** np.arange(-4, 8)
    a, b = np.full(levels.shape, low), np.full(levels.shape, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (a + b)
        more = number_above(middle) > levels
        a, b = np.where(more, middle, a), np.where(more, b, middle)
    return b
