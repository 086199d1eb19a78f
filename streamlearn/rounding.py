"""Channel probabilities as integers out of 2^64, rounded so that the promised ε is kept exactly.

Proof: ``rounding.proof.md`` beside this file.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from streamlearn.errors import ParameterError

OUT_OF = 1 << 64
"""Every probability of a channel is an integer out of this."""

_EXP_CAP = 700.0  # exp(700) is finite, and far above 2^64: nothing finer can be told apart
_GUARD_BITS = 192  # width of the fixed-point sums over people; an error there costs utility, never privacy


def as_float(number: object) -> float | None:
    """Return a real number of any type as a float; None for text, a boolean or what no double can hold.

    Examples
    --------
    >>> from streamlearn.rounding import as_float
    >>> as_float(3), as_float("3"), as_float(True), as_float(10**400)
    (3.0, None, None, None)
    """
    if type(number) is float:
        return number
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        return None
    try:
        return float(number)
    except OverflowError:
        return None


def check_epsilon(epsilon: object, name: str = "epsilon") -> float:
    """Return ``epsilon`` as a float if it is a privacy level: 0 <= ε <= ∞.

    Raises
    ------
    ParameterError
        If it is negative, NaN, not a number (text and booleans are none) or too large for a double.

    Examples
    --------
    >>> from streamlearn.rounding import check_epsilon
    >>> check_epsilon(1)
    1.0
    """
    level = as_float(epsilon)
    if level is None:
        raise ParameterError(
            f"{name} must be a number >= 0 that fits a double, got {type(epsilon).__name__}; "
            "use math.inf for no privacy"
        )
    if not level >= 0.0:
        raise ParameterError(f"{name} must be >= 0, got {level}; use math.inf for no privacy")
    return level


def check_epsilons(epsilon: float | Sequence[float], horizon: int) -> list[float]:
    """Return one privacy level per person, from one level for all or one for each.

    Raises
    ------
    ParameterError
        If a level is negative or NaN, or a sequence does not have ``horizon`` entries.

    Examples
    --------
    >>> from streamlearn.rounding import check_epsilons
    >>> check_epsilons(1.0, 3)
    [1.0, 1.0, 1.0]
    """
    levels = _listed(epsilon)
    if levels is None:
        return [check_epsilon(epsilon)] * horizon
    if len(levels) != horizon:
        raise ParameterError(
            f"epsilon has {len(levels)} entries and there are {horizon} priors; "
            "give one number for everybody or one per person"
        )
    return [check_epsilon(level, f"epsilon[{i}]") for i, level in enumerate(levels)]


def _listed(epsilon: object) -> list[object] | None:
    """Return the entries of a sequence of any kind, None for what is not one."""
    if isinstance(epsilon, str) or not isinstance(epsilon, Iterable):
        return None
    if isinstance(epsilon, bytes | Mapping | AbstractSet):
        raise ParameterError(
            f"epsilon must be a number or a list with one per person, got {type(epsilon).__name__}; write list(...)"
        )
    try:
        return list(epsilon)
    except TypeError:  # numpy's array of no dimension calls itself iterable
        return None


@lru_cache(maxsize=4096)
def exp_lower(epsilon: float) -> Fraction:
    """Return an exact rational that is certainly at most e^ε and at least 1, for finite ε >= 0.

    Two steps below ``math.exp``: its error is under one unit in the last place on every platform in use.

    Examples
    --------
    >>> from streamlearn.rounding import exp_lower
    >>> float(exp_lower(1.0)) < 2.718281828459045
    True
    """
    above = math.exp(min(epsilon, _EXP_CAP))
    return max(Fraction(1), Fraction(math.nextafter(math.nextafter(above, 0.0), 0.0)))


@lru_cache(maxsize=4096)
def randomized_response(epsilon: float) -> tuple[int, int]:
    """Return (P(1 | below), P(1 | above)) of randomized response, out of 2^64.

    Parameters
    ----------
    epsilon
        Privacy level, 0 <= ε <= ∞. Infinite ε gives the exact indicator.

    Examples
    --------
    >>> from streamlearn.rounding import randomized_response
    >>> randomized_response(1.0)
    (4961093570831982232, 13485650502877569384)
    """
    if math.isinf(epsilon):
        return 0, OUT_OF
    below = math.ceil(OUT_OF / (1 + exp_lower(epsilon)))
    return below, OUT_OF - below


def harmonic_pairs(epsilons: Sequence[float]) -> list[tuple[int, int]]:
    """Return the pairs (P(1 | x < T), P(1 | x > T)) of Proposition 5.7, one per person, out of 2^64.

    Parameters
    ----------
    epsilons
        One privacy level per person, length n.

    Returns
    -------
    list of (int, int)
        Person i < n: P(1 | x > T) = 1/D_i and P(1 | x < T) = e^(-ε_i)/D_i, where
        D_i = 1 + Σ_{i<=j<n} e^(-ε_j), rounded towards privacy. Person n: (2^64, 2^64), the constant 1.
        One ε for all gives the paper's P(1 | x > T) = e^ε/(n-i+e^ε).

    Examples
    --------
    >>> from streamlearn.rounding import OUT_OF, harmonic_pairs
    >>> [round(above / OUT_OF, 4) for below, above in harmonic_pairs([1.0, 1.0, 1.0])]
    [0.5761, 0.7311, 1.0]
    """
    unit = 1 << _GUARD_BITS
    others = 0  # Σ_{i<=j<n} e^(-ε_j), in fixed point
    pairs = [(OUT_OF, OUT_OF)]
    for epsilon in reversed(epsilons[:-1]):
        if math.isinf(epsilon):
            pairs.append((0, OUT_OF * unit // (unit + others)))
            continue
        growth = exp_lower(epsilon)
        others += round(unit / growth)
        below = math.ceil(OUT_OF / (growth * (1 + Fraction(others, unit))))
        pairs.append((below, _largest_above(below, growth)))
    pairs.reverse()
    return pairs


def _largest_above(below: int, growth: Fraction) -> int:
    """Return the largest P(1 | above) that keeps both likelihood ratios at most ``growth``."""
    return min(math.floor(growth * below), OUT_OF - math.ceil((OUT_OF - below) / growth))


@lru_cache(maxsize=4096)
def realised_ratio(below: int, above: int) -> Fraction | None:
    """Return e^ε of the channel (below, above) exactly, in either order, or None where it is infinite.

    Examples
    --------
    >>> from streamlearn.rounding import OUT_OF, realised_ratio
    >>> realised_ratio(OUT_OF // 4, 3 * OUT_OF // 4)
    Fraction(3, 1)
    """
    below, above = min(below, above), max(below, above)
    if below == above:
        return Fraction(1)
    if below == 0 or above == OUT_OF:
        return None
    return max(Fraction(above, below), Fraction(OUT_OF - below, OUT_OF - above))


@lru_cache(maxsize=4096)
def realised_epsilon(below: int, above: int) -> float:
    """Return ln of :func:`realised_ratio`, rounded up to the next float: never less than the truth.

    Examples
    --------
    >>> from streamlearn.rounding import randomized_response, realised_epsilon
    >>> realised_epsilon(*randomized_response(1.0)) <= 1.0
    True
    """
    ratio = realised_ratio(below, above)
    if ratio is None:
        return math.inf
    wide = Context(prec=60, rounding=ROUND_CEILING)
    quotient = wide.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    if quotient == 1:
        return 0.0
    # Decimal's ln is correctly rounded to 60 digits; the margin covers that last digit.
    exact = wide.add(wide.ln(quotient), Decimal("1e-58"))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def float_above(number: Fraction) -> float:
    """Return the smallest double that is not below an exact number; infinity where there is none.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlearn.rounding import float_above
    >>> float_above(Fraction(1, 10)) == 0.1, float_above(Fraction(1, 3)) > Fraction(1, 3)
    (True, True)
    """
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=4096)
def keeps(below: int, above: int, epsilon: float) -> bool:
    """Return whether the channel (below, above) certainly is ε-LDP: an exact comparison of rationals.

    Examples
    --------
    >>> from streamlearn.rounding import keeps, randomized_response
    >>> keeps(*randomized_response(0.3), 0.3), keeps(*randomized_response(0.31), 0.3)
    (True, False)
    """
    ratio = realised_ratio(below, above)
    if ratio is None:
        return math.isinf(epsilon)
    return math.isinf(epsilon) or ratio <= exp_lower(epsilon)
