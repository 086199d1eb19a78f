"""What several promises about the same person add up to. Proof: ``theorems.proof.md`` beside this file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal

import numpy as np

from streamlearn.accounting import moments
from streamlearn.accounting.pld import LossDistribution
from streamlearn.errors import ParameterError
from streamlearn.privacy.guarantees import Guarantee, Unit
from streamlearn.rounding import as_float, float_above

Method = Literal["basic", "moments", "pld"]

_ORDERS = np.geomspace(0.01, 1e5, 400)
_CLOSE = 1e-6  # how near the ε found comes to the least one that is certified, relatively
_NOTHING = 1e-300
_DIGITS = Context(prec=60)


def compose(
    guarantees: Iterable[Guarantee],
    *,
    method: Method = "basic",
    delta: float | None = None,
    unit: Unit | None = None,
) -> Guarantee:
    """Return what several mechanisms promise together about one unit that takes part in all of them.

    They may be run one after the other, each chosen by what the earlier ones said, as long as their levels are fixed
    beforehand.

    Parameters
    ----------
    guarantees
        What each promises; all under one notion.
    method
        ``"basic"``: levels are added. ``"moments"`` and ``"pld"`` find the least ε they can certify at ``delta``, by
        log-moments, fast, or privacy-loss distributions, the tightest.
    delta
        The δ of the whole, above that of the parts; for ``"moments"`` and ``"pld"`` only.
    unit
        What the whole is about, for instance a ``"person"`` whose reports these are; by default the parts' own.

    Raises
    ------
    ParameterError
        If there is nothing to compose, notions or units differ, or δ is missing, superfluous or too small.

    Examples
    --------
    >>> from streamlearn import Guarantee, privacy
    >>> reports = [Guarantee.local(0.1)] * 100
    >>> print(privacy.compose(reports, unit="person"))
    10-local differential privacy per person
    >>> print(privacy.compose(reports, method="pld", delta=1e-6, unit="person"))
    (4.77457, 1e-06)-local differential privacy per person
    """
    parts = list(guarantees)
    notion, about = _common(parts, unit)
    if method not in {"basic", "moments", "pld"}:
        raise ParameterError(f"method must be 'basic', 'moments' or 'pld', got {method!r}")
    if method == "basic":
        if delta is not None:
            raise ParameterError(
                "delta is for methods 'moments' and 'pld'; the basic one adds up the parts' own"
            )
        return Guarantee(notion, *_added(parts), about)
    level = _target(delta, parts)
    if any(math.isinf(part.epsilon) for part in parts):
        return Guarantee(notion, math.inf, level, about)
    curve = _moments(parts) if method == "moments" else _loss(parts).delta
    return Guarantee(notion, _least(curve, level, _added(parts)[0]), level, about)


def _common(
    parts: list[Guarantee], unit: Unit | None
) -> tuple[Literal["local", "joint", "central", "none"], Unit]:
    if not parts:
        raise ParameterError("guarantees must hold at least one")
    notions, units = {part.notion for part in parts}, {part.unit for part in parts}
    if len(notions) > 1:
        raise ParameterError(
            f"guarantees must share a notion, got {', '.join(sorted(notions))}; bring them to one by privacy.convert"
        )
    if unit is None and len(units) > 1:
        raise ParameterError(
            f"guarantees are per {', '.join(sorted(units))}; say by unit= what the whole is about, or use privacy.group"
        )
    return parts[0].notion, unit or parts[0].unit


def _added(parts: list[Guarantee]) -> tuple[float, float]:
    """Return the sums of ε and δ, exact and then rounded up."""
    if any(math.isinf(part.epsilon) for part in parts):
        return math.inf, 1.0
    epsilon = sum(
        (times * Fraction(it) for it, times in Counter(part.epsilon for part in parts).items()), Fraction()
    )
    delta = sum(
        (times * Fraction(it) for it, times in Counter(part.delta for part in parts).items()), Fraction()
    )
    return float_above(epsilon), min(1.0, float_above(delta))


def _target(delta: float | None, parts: list[Guarantee]) -> float:
    least = _added(parts)[1] if all(math.isfinite(part.epsilon) for part in parts) else 0.0
    level = None if delta is None else as_float(delta)
    if level is None or not least < level < 1.0:
        enough = max(1e-6, min(0.5, 2.0 * least))
        raise ParameterError(
            f"delta must lie in ({least:g}, 1), above what the parts have of their own, got {delta!r}; try {enough:g}"
        )
    return level


def _least(curve: Callable[[float], float], delta: float, most: float) -> float:
    """Return an ε at which the curve is certified to be at most δ, about the least; ``most`` will always do."""
    from scipy.optimize import brentq  # noqa: PLC0415 - keeps the import of streamlearn fast

    def over(epsilon: float) -> float:
        return math.log(max(curve(epsilon), _NOTHING) / delta)

    if over(0.0) <= 0.0:
        return 0.0
    if over(most) >= 0.0:
        return most
    found = float(brentq(over, 0.0, most, xtol=_CLOSE * most * 1e-3, rtol=_CLOSE / 4.0))
    while found < most and over(found) > 0.0:
        found *= 1.0 + _CLOSE
    return min(found, most)


def _moments(parts: list[Guarantee]) -> Callable[[float], float]:
    """Return ε to δ by the log-moments of randomised response, the worst of all pure mechanisms."""
    apart = _added(parts)[1]
    levels = Counter(part.epsilon for part in parts if part.epsilon > 0.0)
    together = sum(
        (times * moments.acceptance(_ORDERS, level) for level, times in levels.items()),
        np.zeros(len(_ORDERS)),
    )
    return lambda epsilon: min(
        1.0, (apart + moments.best(together, _ORDERS, epsilon)[0]) * (1.0 + _CLOSE * _CLOSE)
    )


def _loss(parts: list[Guarantee]) -> LossDistribution:
    """Return the loss of the worst mechanisms with these levels: what no outcome tells, or everything, or ±ε."""
    (first, times), *others = Counter((part.epsilon, part.delta) for part in parts).items()
    loss = _worst(*first).repeat(times)
    for level, count in others:
        loss = loss.compose(_worst(*level).repeat(count))
    return loss


def _worst(epsilon: float, delta: float) -> LossDistribution:
    apart = Decimal(delta)
    rest = _DIGITS.subtract(Decimal(1), apart)
    growth = _DIGITS.exp(Decimal(epsilon))
    small = _DIGITS.divide(rest, _DIGITS.add(growth, Decimal(1)))
    large = _DIGITS.subtract(rest, small)
    return LossDistribution(
        [[delta, float(large), float(small), 0.0]], [[0.0, float(small), float(large), delta]]
    )
