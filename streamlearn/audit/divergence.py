"""How far two exact laws are apart, as privacy counts it: in fractions, with e^ε on the safe side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from streamlearn.rounding import check_epsilon

Law: TypeAlias = Mapping[Any, Fraction]
"""What comes out, and with what chance."""

_DIGITS = 60
_MOST = 10_000.0  # e to this is above any ratio of chances that are multiples of 2^-64, to the power of 200


@lru_cache(maxsize=1024)
def exp_below(epsilon: float) -> Fraction | None:
    """Return a fraction at most e^ε, by less than one part in 10^55 up to ε = 10,000; None for an infinite ε.

    Parameters
    ----------
    epsilon
        0 <= ε <= ∞.

    Raises
    ------
    ParameterError
        If it is no privacy level.

    Examples
    --------
    >>> from streamlearn.audit.divergence import exp_below
    >>> exp_below(0.0), float(exp_below(1.0))
    (Fraction(1, 1), 2.718281828459045)
    """
    level = check_epsilon(epsilon)
    if math.isinf(level):
        return None
    if level == 0.0:
        return Fraction(1)
    # Decimal's exp is correctly rounded, so the margin of one more digit keeps it below.
    low = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    near = low.exp(Decimal(min(level, _MOST)))
    return Fraction(low.multiply(near, low.subtract(Decimal(1), Decimal("1e-58"))))


def log_above(ratio: Fraction | None) -> float:
    """Return the logarithm of a ratio >= 1, rounded up to a float; ∞ for None.

    Apart from ``rounding.realised_epsilon``, which is what it audits.

    Parameters
    ----------
    ratio
        The ratio.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlearn.audit.divergence import log_above
    >>> log_above(Fraction(3)), log_above(Fraction(1)), log_above(None)
    (1.0986122886681098, 0.0, inf)
    """
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    wide = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    quotient = wide.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    exact = wide.add(wide.ln(quotient), Decimal("1e-55"))
    near = float(exact)
    return near if Decimal(near) >= exact else math.nextafter(near, math.inf)


def hockey_stick(one: Law, other: Law, level: Fraction | None) -> Fraction:
    """Return the largest P(E) - level·P'(E) over events E: the δ that the two laws need at level = e^ε.

    Parameters
    ----------
    one, other
        P and P'.
    level
        e^ε, None where it is infinite: then the chance of what P' never gives.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlearn.audit.divergence import hockey_stick
    >>> often, rarely = ({1: Fraction(n, 4), 0: Fraction(4 - n, 4)} for n in (3, 1))
    >>> hockey_stick(often, rarely, Fraction(2)), hockey_stick(often, rarely, None)
    (Fraction(1, 4), Fraction(0, 1))
    """
    total = Fraction(0)
    for outcome, chance in one.items():
        rival = other.get(outcome, Fraction(0))
        if level is None:
            total += chance if not rival else 0
        elif chance > level * rival:
            total += chance - level * rival
    return total


def worst_ratio(one: Law, other: Law) -> Fraction | None:
    """Return the largest P(o) / P'(o) over outcomes; None where something is impossible under P' alone.

    Parameters
    ----------
    one, other
        P and P'.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlearn.audit.divergence import worst_ratio
    >>> often, rarely = ({1: Fraction(n, 4), 0: Fraction(4 - n, 4)} for n in (3, 1))
    >>> worst_ratio(often, rarely), worst_ratio(often, {0: Fraction(1)})
    (Fraction(3, 1), None)
    """
    worst = Fraction(1)
    for outcome, chance in one.items():
        if not chance:
            continue
        rival = other.get(outcome)
        if not rival:
            return None
        worst = max(worst, chance / rival)
    return worst
