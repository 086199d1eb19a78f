"""What follows from one promise: another notion, a group's, and that of a mechanism which sees only some records.

Only where a theorem says so; every figure is rounded up. Proof: ``theorems.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import get_args

from streamlearn.errors import ParameterError
from streamlearn.privacy.guarantees import Guarantee, Notion, Unit
from streamlearn.rounding import as_float, float_above

_WEAKER: dict[Notion, tuple[Notion, ...]] = {
    "local": ("central", "joint"),
    "central": ("joint",),
    "joint": (),
    "none": (),
}
_WHY = {
    "joint": "a person's own output may say everything about that person",
    "central": "whoever decides sees the records themselves",
    "none": "nothing is promised",
}
_LARGEST_EXPONENT = 700.0
_UP = 8.0 * 2.0**-53
_TINY = 2.0**-1072  # where doubles are coarse: the least of all is 2^-1074


def convert(guarantee: Guarantee, notion: Notion) -> Guarantee:
    """Return what a promise implies under another notion: local implies central, and central implies joint.

    What everybody sees is computed from randomised reports alone, so local privacy is privacy of the whole output; and
    the other people's view is a part of the whole output.

    Parameters
    ----------
    guarantee
        What is promised.
    notion
        The notion wanted.

    Raises
    ------
    ParameterError
        If no theorem leads there.

    Examples
    --------
    >>> from streamlearn import Guarantee, privacy
    >>> print(privacy.convert(Guarantee.local(1.0), "joint"))
    1-joint differential privacy per report
    """
    if notion not in get_args(Notion):
        raise ParameterError(f"notion must be one of {', '.join(get_args(Notion))}, got {notion!r}")
    if notion == guarantee.notion:
        return guarantee
    if notion == "none":
        return Guarantee.none()
    if notion not in _WEAKER[guarantee.notion]:
        raise ParameterError(
            f"a {guarantee.notion} guarantee implies no {notion} one: {_WHY[guarantee.notion]}; "
            f"ask for one of {', '.join((guarantee.notion, *_WEAKER[guarantee.notion]))}"
        )
    return Guarantee(notion, guarantee.epsilon, guarantee.delta, guarantee.unit)


def group(guarantee: Guarantee, size: int, *, unit: Unit = "person") -> Guarantee:
    """Return what is promised to whoever has ``size`` records, where each is promised ``guarantee``.

    Parameters
    ----------
    guarantee
        Promised for one record.
    size
        k >= 1: the most records that one has, in one run.
    unit
        What the records are together.

    Returns
    -------
    Guarantee
        (kε, δ·(e^(kε) - 1)/(e^ε - 1)); of a joint promise, the outputs of all k rounds are left out. Local reports are
        each drawn anew: (kε, kδ).

    Raises
    ------
    ParameterError
        If ``size`` is no whole number >= 1.

    Examples
    --------
    >>> from streamlearn import Guarantee, privacy
    >>> print(privacy.group(Guarantee("joint", 0.5, 1e-6, "event"), 2))
    (1, 2.64872e-06)-joint differential privacy per person
    """
    if type(size) is not int or size < 1:
        raise ParameterError(f"size must be a whole number >= 1, got {size!r}")
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if guarantee.notion == "none" or math.isinf(epsilon):
        return Guarantee(guarantee.notion, math.inf, 1.0, unit)
    whole = float_above(size * Fraction(epsilon))
    if size == 1 or guarantee.notion == "local" or epsilon == 0.0 or delta == 0.0:
        times = Fraction(size)
    elif whole > _LARGEST_EXPONENT:
        return Guarantee(guarantee.notion, whole, 1.0, unit)
    else:
        times = Fraction(math.expm1(whole) / math.expm1(epsilon) * (1.0 + _UP * (1.0 + whole)))
    return Guarantee(guarantee.notion, whole, min(1.0, float_above(times * Fraction(delta))), unit)


def subsample(guarantee: Guarantee, rate: float) -> Guarantee:
    """Return what a mechanism keeps that is given each record with probability ``rate``, and a fixed one otherwise.

    Parameters
    ----------
    guarantee
        Of the mechanism. One without a promise is ``Guarantee("joint", 0.0, 1.0, "event")``: that always holds.
    rate
        γ in [0, 1]: the chance of each record, independent of all else and secret.

    Returns
    -------
    Guarantee
        (ln(1 + γ(e^ε - 1)), γδ): Proposition 1.

    Raises
    ------
    ParameterError
        If ``rate`` is no probability, or the notion is ``"none"``.

    Examples
    --------
    >>> from streamlearn import Guarantee, privacy
    >>> print(privacy.subsample(Guarantee("joint", 1.0, 1e-6, "event"), 0.1))
    (0.158565, 1e-07)-joint differential privacy per event
    """
    gamma = as_float(rate)
    if gamma is None or not 0.0 <= gamma <= 1.0:
        raise ParameterError(f"rate must lie in [0, 1], got {rate!r}; it is the chance that a record is kept")
    if guarantee.notion == "none":
        raise ParameterError(
            'guarantee must name a notion; a mechanism without a promise is Guarantee("joint", 0.0, 1.0, "event")'
        )
    delta = float_above(Fraction(gamma) * Fraction(guarantee.delta))
    return Guarantee(guarantee.notion, _amplified(guarantee.epsilon, gamma), delta, guarantee.unit)


def _amplified(epsilon: float, gamma: float) -> float:
    """Return ln(1 + γ(e^ε - 1)), rounded up, and never above ε."""
    if gamma in {0.0, 1.0} or epsilon in {0.0, math.inf}:
        return epsilon if gamma else 0.0
    if epsilon <= 1.0:
        found = math.log1p(gamma * math.expm1(epsilon)) * (1.0 + _UP)
    else:
        rest = math.exp(-min(epsilon, _LARGEST_EXPONENT))  # beyond, it would lose digits: more is safe
        found = epsilon + math.log(gamma + (1.0 - gamma) * rest)
        found += _UP * (1.0 + epsilon - math.log(gamma))
    return min(epsilon, found + _TINY)
