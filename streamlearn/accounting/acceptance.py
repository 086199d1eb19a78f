"""The chance of acceptance as a ramp over counts: a count more or less changes it by a factor e^α and a little mass.

Proof: ``acceptance.proof.md`` beside this file.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from streamlearn.errors import ParameterError, SizeError
from streamlearn.rounding import OUT_OF, as_float

MOST_STEPS = 10_000_000
"""Longest ramp that is built."""

_BITS = 128  # e^α is rounded down to a multiple of 2^-128


def ramp(alpha: float, b: float) -> tuple[int, ...]:
    """Return the steepest ramp whose neighbouring chances are (α, b)-close.

    Parameters
    ----------
    alpha
        α > 0: the most that the logarithm of a chance may change.
    b
        0 < b < 1: the probability that is apart.

    Returns
    -------
    tuple of int
        g_0 = 0 < g_1 < ... < g_w = 2^64, chances out of 2^64, with g_(i+1) <= e^α·g_i + b and
        1 - g_i <= e^α·(1 - g_(i+1)) + b, exactly.

    Raises
    ------
    ParameterError
        If α or b is outside its bound, or b below 2^-64.
    SizeError
        If the ramp would have more than ``MOST_STEPS`` steps.

    Examples
    --------
    >>> from streamlearn.accounting import acceptance
    >>> [round(level / 2**64, 3) for level in acceptance.ramp(1.0, 0.1)]
    [0.0, 0.1, 0.372, 0.806, 0.965, 1.0]
    """
    rate, mass = as_float(alpha), as_float(b)
    if rate is None or not 0.0 < rate <= 700.0:
        raise ParameterError(
            f"alpha must lie in (0, 700], got {alpha!r}; it is the most a log-chance may change"
        )
    if mass is None or not 2.0**-64 <= mass < 1.0:
        raise ParameterError(f"b must lie in [2^-64, 1), got {b!r}; it is the probability that is apart")
    if width(rate, mass) > MOST_STEPS:
        raise SizeError(
            f"a ramp of acceptance at α = {rate:g}, b = {mass:g} has about {width(rate, mass):.3g} steps; "
            f"the limit is {MOST_STEPS:,}, take a larger ε"
        )
    apart, factor = math.floor(Fraction(mass) * OUT_OF), _exp_below(rate)
    levels = [0]
    while levels[-1] < OUT_OF:
        low = (factor * levels[-1] >> _BITS) + apart
        short = max(OUT_OF - levels[-1] - apart, 0)
        high = OUT_OF + (-(short << _BITS) // factor)  # rounds what is left of 1 up
        levels.append(min(low, high))
    return tuple(levels)


def width(alpha: float, b: float) -> float:
    """Return about how many steps :func:`ramp` takes: (2/α)·ln(1 + (e^α - 1)/(2b)).

    Parameters
    ----------
    alpha, b
        As for :func:`ramp`; not checked.

    Examples
    --------
    >>> from streamlearn.accounting import acceptance
    >>> round(acceptance.width(0.05, 1e-8), 1), len(acceptance.ramp(0.05, 1e-8)) - 1
    (590.3, 591)
    """
    return 2.0 / alpha * math.log1p(math.expm1(alpha) / (2.0 * b))


def mass(levels: Sequence[int], alpha: float) -> int:
    """Return the least b, out of 2^64 and rounded up, at which neighbouring levels are (α, b)-close.

    Parameters
    ----------
    levels
        Chances out of 2^64, not decreasing.
    alpha
        α >= 0.

    Returns
    -------
    int

    Examples
    --------
    >>> from streamlearn.accounting import acceptance
    >>> acceptance.mass([0, 2**63, 2**64], 1.0) == 2**63
    True
    """
    factor, unit = _exp_below(alpha), 1 << _BITS
    most = 0
    for below, above in itertools.pairwise(levels):
        more = above * unit - factor * below
        less = (OUT_OF - below) * unit - factor * (OUT_OF - above)
        most = max(most, more, less)
    return -(-most >> _BITS)


def _exp_below(alpha: float) -> int:
    """Return e^α in units of 2^-128, rounded down."""
    with decimal.localcontext(decimal.Context(prec=400)) as context:
        value = context.exp(decimal.Decimal(alpha)).next_minus()
        return int((value * (1 << _BITS)).to_integral_value(decimal.ROUND_FLOOR))
