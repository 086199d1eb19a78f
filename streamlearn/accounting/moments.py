"""Log-moments of privacy losses: they add up over mechanisms, and any one order certifies a δ.

For laws P, Q the log-moment of order z > 0 is ln E_P (P/Q)^z = ln Σ P^(1+z) Q^(-z). Every order gives a valid bound,
so a finite grid of orders is no approximation, only perhaps a little waste.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF

Levels: TypeAlias = npt.NDArray[np.uint64]
Bits: TypeAlias = tuple[Floats, Floats]  # the chances of either value of some bits

SLACK = 1e-7
"""Added to every exponent: far above the rounding errors of the sums of doubles here."""

_BLOCK = 1 << 14  # rounds worked on at once: few enough to stay near the processor
_UNIT = 1.0 / OUT_OF
_GENTLE = 0.02  # z·|P/Q - 1|: below it, what _gentle gives away is under a millionth
_LARGEST_EXPONENT = 600.0  # of what is added up as it is


def orders(epsilon: float, delta: float, points: int = 96) -> Floats:
    """Return orders among which the best one for (ε, δ) lies, for mechanisms that cost about what they may.

    Parameters
    ----------
    epsilon, delta
        The target, ε > 0 and 0 < δ < 1.
    points
        How many orders.

    Returns
    -------
    array of shape (points,)
        Increasing.

    Examples
    --------
    >>> from streamlearn.accounting import moments
    >>> moments.orders(1.0, 1e-6, 3).round(2).tolist()
    [1.38, 19.54, 276.31]
    """
    centre = 2.0 * math.log(1.0 / delta) / epsilon
    return np.asarray(np.geomspace(centre / 20.0, 10.0 * centre, points))


def allowance(order: Floats | float, epsilon: float, delta: float) -> Floats | float:
    """Return the largest log-moment of an order that still certifies (ε, δ).

    Parameters
    ----------
    order
        z > 0.
    epsilon, delta
        The target.

    Examples
    --------
    >>> from streamlearn.accounting import moments
    >>> float(round(moments.allowance(10.0, 1.0, 1e-6), 6))
    -0.464514
    """
    return math.log(delta) + order * epsilon - order * np.log(order) + (1.0 + order) * np.log1p(order) - SLACK


def delta(log_moments: Floats, order: Floats, epsilon: float) -> float:
    """Return the δ that log-moments certify at ε (Canonne, Kamath and Steinke 2020, Proposition 12).

    Parameters
    ----------
    log_moments
        One for each order; shape (orders,).
    order
        z > 0; shape (orders,).
    epsilon
        ε >= 0.

    Returns
    -------
    float
        min over z of exp(K(z) - zε + z ln z - (1+z) ln(1+z)), at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.accounting import moments
    >>> z = np.linspace(1, 60, 60)
    >>> moments.delta(z * (z + 1) * 0.02 / 2, z, 1.0) < 1e-10
    True
    """
    return best(log_moments, order, epsilon)[0]


def best(log_moments: Floats, order: Floats, epsilon: float) -> tuple[float, float]:
    """Return the δ of :func:`delta`, and the order that certifies it.

    Parameters
    ----------
    log_moments, order, epsilon
        As for :func:`delta`.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.accounting import moments
    >>> z = np.linspace(1, 60, 60)
    >>> moments.best(z * (z + 1) * 0.02 / 2, z, 1.0)[1]
    50.0
    """
    exponents = log_moments - order * epsilon + order * np.log(order) - (1.0 + order) * np.log1p(order)
    place = int(np.argmin(np.where(np.isnan(exponents), math.inf, exponents)))
    return min(1.0, math.exp(min(float(exponents[place]) + SLACK, 0.0))), float(order[place])


def acceptance(order: Floats | float, alpha: Floats | float) -> Floats:
    """Return the log-moments of randomised response at α: the worst pair of laws of a bit with losses within ±α.

    Parameters
    ----------
    order
        z > 0.
    alpha
        The largest loss, > 0; broadcasts with ``order``.

    Returns
    -------
    array
        ln((e^((z+1)α) + e^(-zα)) / (1 + e^α)).

    Examples
    --------
    >>> from streamlearn.accounting import moments
    >>> float(moments.acceptance(1.0, 0.1).round(6))
    0.009959
    """
    # Both exponents over 1 + e^α, as weights of expm1: near α = 0 nothing cancels.
    larger = 1.0 / (1.0 + np.exp(-np.asarray(alpha)))
    exponent = np.asarray(order * alpha)
    direct = larger * np.expm1(np.minimum(exponent, 1.0)) + (1.0 - larger) * np.expm1(
        -np.minimum(exponent, 1.0)
    )
    far = np.logaddexp(np.log(larger) + exponent, np.log1p(-larger) - exponent)
    return np.asarray(np.where(exponent <= 1.0, np.log1p(direct), far))


def step(order: Floats | float, below: Floats, above: Floats) -> Floats:
    """Return the log-moments ln E (P/Q)^z of two laws of a bit, given as log-odds.

    Parameters
    ----------
    order
        z > 0; broadcasts with the others.
    below, above
        Log-odds of the bit under P and under Q.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.accounting import moments
    >>> moments.step(2.0, np.array([0.0]), np.array([0.5])).round(4).tolist()
    [0.182]
    """
    chance, against = 1.0 / (1.0 + np.exp(-below)), 1.0 / (1.0 + np.exp(below))
    rise = above - below
    # Of the ratio of either chance only how far it is from 1 is worked out: nearly equal laws lose no digits.
    return tilted(
        order,
        (chance, against),
        (np.log1p(against * np.expm1(-rise)), np.log1p(chance * np.expm1(rise))),
    )


def tilted(order: Floats | float, chances: tuple[Floats, Floats], losses: tuple[Floats, Floats]) -> Floats:
    """Return ln Σ P·e^(z·loss) of a law P of a bit, for losses whose P·e^(-loss) adds up to 1.

    Parameters
    ----------
    order
        z > 0; broadcasts with the others.
    chances, losses
        Those of either value of the bit. Chances are off by some roundings of themselves, and so are losses: then the
        result is off by some roundings of Σ P·|e^(z·loss) - 1|, which is small where the losses are.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.accounting import moments
    >>> half = np.array([0.5])
    >>> moments.tilted(2.0, (half, half), (np.log(half / 0.7), np.log(half / 0.3))).round(4).tolist()
    [0.4971]
    """
    one, other = order * losses[0], order * losses[1]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        near = np.log1p(chances[0] * np.expm1(one) + chances[1] * np.expm1(other))
        most = np.maximum(one, other)
        if float(np.max(most, initial=0.0)) <= _LARGEST_EXPONENT:
            return np.asarray(near)
        far = np.logaddexp(np.log(chances[0]) + one, np.log(chances[1]) + other)
    return np.where(most <= _LARGEST_EXPONENT, near, far)


def mirror(order: Floats, ramp: Sequence[int] | Levels) -> Floats:
    """Return the log-moments of a Mirror: its ramp against the same ramp a round later, the larger direction.

    The parts at the two ends, where one law gives a bit for certain, are apart: see :func:`mirror_mass`.

    Parameters
    ----------
    order
        z > 0; shape (orders,).
    ramp
        p_1..p_L out of 2^64, strictly between and increasing.

    Returns
    -------
    array of shape (orders,)
        Σ_j ln(p_j^(1+z) p_(j+1)^(-z) + (1-p_j)^(1+z) (1-p_(j+1))^(-z)), or the same with j and j+1 exchanged;
        and z·|ln p_L - ln(1-p_1)|, by which the two ends differ.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.accounting import moments
    >>> moments.mirror(np.array([1.0]), [2**62, 2**63, 3 * 2**62]).round(4).tolist()
    [0.5108]
    """
    whole = np.asarray(ramp, dtype=np.uint64)
    symmetric = np.array_equal(np.uint64(0) - whole[::-1], whole)  # modulo 2^64
    up, down = np.zeros(len(order)), np.zeros(len(order))
    for start in range(0, len(whole) - 1, _BLOCK):
        part = whole[start : start + _BLOCK + 1]
        chance, against = part.astype(np.float64) * _UNIT, (np.uint64(0) - part).astype(np.float64) * _UNIT
        rises = np.diff(part).astype(np.float64) * _UNIT  # exact differences: long ramps lose no digits
        up += _block(order, rises, (chance[:-1], against[:-1]), (chance[1:], against[1:]))
        if not symmetric:  # or both directions are the same sum, in another order
            down += _block(order, rises, (against[1:], chance[1:]), (against[:-1], chance[:-1]))
    uneven = abs(
        math.log((int(whole[-1]) * _UNIT) / ((OUT_OF - int(whole[0])) * _UNIT))
    )  # 0 for a symmetric ramp
    return np.asarray((up if symmetric else np.maximum(up, down)) + order * uneven)


def mirror_mass(ramp: Sequence[int] | Levels) -> int:
    """Return the probability, out of 2^64, that a Mirror's bit at an end of its ramp gives a shift away for certain.

    Parameters
    ----------
    ramp
        p_1..p_L out of 2^64.

    Returns
    -------
    int
        The larger of p_1 and 1 - p_L, or 2^64 if there is no ramp.

    Examples
    --------
    >>> from streamlearn.accounting import moments
    >>> moments.mirror_mass([2**60, 2**63, 15 * 2**60]) == 2**60
    True
    """
    return max(int(ramp[0]), OUT_OF - int(ramp[-1])) if len(ramp) else OUT_OF


def _block(order: Floats, rises: Floats, one: Bits, other: Bits) -> Floats:
    """Return bounds on the log-moments of some neighbours on a ramp, P and Q, where Q's first chance is the larger.

    ``rises`` are the differences of their chances; ``one`` and ``other`` the chances of either value.
    """
    (p, not_p), (q, not_q) = one, other
    steepest = float((rises / np.minimum(q, not_q)).max())
    if steepest <= 0.5 and float(order.max()) * steepest <= _GENTLE:
        return _gentle(order, rises, other, steepest)
    # ln of the chances' ratios by how far these are from 1
    yes, no = -np.log1p(rises / p), np.log1p(rises / not_q)
    return np.array([tilted(z, (p, not_p), (yes, no)).sum() for z in order.tolist()])


def _gentle(order: Floats, rises: Floats, other: Bits, steepest: float) -> Floats:
    """Return upper bounds where P/Q = 1 + θ is so near to 1 that a few moments of θ under Q tell all.

    E θ = 0, so E (1+θ)^(1+z) is 1 + C(1+z, 2)·E θ² + C(1+z, 3)·E θ³, and a rest of at most
    |C(1+z, 4)|·E θ⁴·e^(|z-3|·ln 1/(1-|θ|)). The logarithm is concave, so that of the mean serves for all rounds.
    """
    q, not_q = other
    both = q * not_q
    slope = rises / both
    second = rises * slope
    third = second * slope
    fourth = float((third * slope * (1.0 - 3.0 * both)).sum())
    z, n = order, len(rises)
    rest = (
        np.abs((z + 1.0) * z * (z - 1.0) * (z - 2.0))
        / 24.0
        * np.exp(-np.abs(z - 3.0) * math.log1p(-steepest))
    )
    total = (
        (z + 1.0) * z / 2.0 * float(second.sum())
        + (z + 1.0) * z * (z - 1.0) / 6.0 * float((third * (q - not_q)).sum())
        + rest * fourth
    )
    return np.asarray(n * np.log1p(total / n))
