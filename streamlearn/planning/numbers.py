"""What the numbers of a plan may be at all, before any work with them."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from streamlearn.accounting.combining import LARGEST_DELAY
from streamlearn.errors import PlanError
from streamlearn.planning.certificate import MOST_EXPONENT, MOST_ORDER, most_order
from streamlearn.planning.chances import Chances
from streamlearn.planning.combination import Combination
from streamlearn.rounding import OUT_OF, as_float
from streamlearn.selection.exponential import LEAST_ETA, MOST_ETA

if TYPE_CHECKING:
    from streamlearn.planning.plan import Plan

LEAST_BETA = 1e-300
"""No batch is worked out for a smaller chance of failure."""

REMEDY = "the plan was edited, make it anew with private_plan, candidate_plan or Plan.explicit"

_MOST = LARGEST_DELAY  # of any whole number in a plan
_REALS = {
    "epsilon": (0.0, 1e3),
    "delta": (0.0, 1.0),
    "alpha": (0.0, 700.0),
    "order": (0.0, MOST_ORDER),
}
_WHOLES = {"dimension": 1, "candidates": 1, "batch": 1, "max_delay": 0}
_SHARES = {"epsilon": 1e3, "rule_epsilon": 1e3, "delta": 1.0, "gamma": 1.0, "rule_delta": 1.0}

BOUNDS = {
    **dict.fromkeys(("class_digest", "mode", "format"), "be text"),
    "version": "be a whole number",
    **{name: f"lie in ({above:g}, {most:g}]" for name, (above, most) in _REALS.items()},
    "eta": f"lie in [{LEAST_ETA:g}, {MOST_ETA:g}]",
    "beta": "lie in [0, 1]",
    **{name: f"be a whole number in {least}..2^50" for name, least in _WHOLES.items()},
    "delays": "be whole numbers in 1..2^50, one a candidate",
    "acceptance": "rise from 0 to 2^64, in whole numbers (decimal strings in a file)",
    "ramp": "rise within 1..2^64 - 1, in whole numbers (decimal strings, or base64 of eight bytes each, in a file)",
    "crossover": "lie in (0, 1/2], or be null",
    "cut_from": "be a whole number above candidates, or be null",
    "combination": "be a Combination (an object in a file), or null",
    **{f"combination.{name}": f"lie in (0, {most:g})" for name, most in _SHARES.items()},
    "combination.head_start": "be a whole number in 1..2^50",
}
"""What each field must do, as a refusal says it."""


def check_numbers(plan: Plan) -> None:
    """Refuse fields that no plan has, of whatever type: the certificate takes them for granted.

    A plan without a combination is one of candidate replacement alone.

    Raises
    ------
    PlanError
        If there are such; it names the field.
    """
    for name in ("class_digest", "mode"):
        _check(isinstance(getattr(plan, name), str), name, getattr(plan, name))
    for name, (above, most) in _REALS.items():
        _check(_within(getattr(plan, name), above, most), name, getattr(plan, name))
    _check(_is_real(plan.eta) and LEAST_ETA <= plan.eta <= MOST_ETA, "eta", plan.eta)
    _check(_is_real(plan.beta) and 0.0 <= plan.beta <= 1.0, "beta", plan.beta)
    for name, least in _WHOLES.items():
        _check(_is_whole(getattr(plan, name), least), name, getattr(plan, name))
    _check(_are_whole(plan.delays, 1, _MOST), "delays", plan.delays)
    ends = 0, OUT_OF
    chances = plan.acceptance
    _check(
        _are_whole(chances, *ends)
        and len(chances) > 1
        and (chances[0], chances[-1]) == ends
        and _rise(chances),
        "acceptance",
        chances,
    )
    _check(_is_ramp(plan.ramp), "ramp", plan.ramp)
    most = most_order(plan.epsilon, len(plan.ramp))
    demand(
        plan.order <= most,
        "order",
        f"be at most {MOST_EXPONENT:g}/(ε·(64 + L/2^14)) = {most:g}",
        plan.order,
        "beyond, the rounding of its log-moments could show",
    )
    _check(plan.crossover is None or _within(plan.crossover, 0.0, 0.5), "crossover", plan.crossover)
    _check(plan.cut_from is None or _is_whole(plan.cut_from, plan.candidates + 1), "cut_from", plan.cut_from)
    _check_combination(plan.combination)


def _check_combination(parts: object) -> None:
    if parts is None:
        return
    _check(isinstance(parts, Combination), "combination", parts)
    for name, most in _SHARES.items():
        level = getattr(parts, name)
        _check(_within(level, 0.0, most) and level < most, f"combination.{name}", level)
    head_start = getattr(parts, "head_start", None)
    _check(_is_whole(head_start, 1), "combination.head_start", head_start)


def _check(holds: bool, name: str, value: object) -> None:
    demand(holds, name, BOUNDS[name], value)


def demand(holds: bool, name: str, bound: str, value: object, why: str = "") -> None:
    """Refuse a field that does not do what it must.

    Parameters
    ----------
    holds
        Whether it does.
    name, bound
        The field, and what it must do.
    value
        What it is; only its beginning is quoted.
    why
        What the bound follows from.

    Raises
    ------
    PlanError
        If it does not.
    """
    if not holds:
        reason = f": {why}" if why else ""
        raise PlanError(f"the plan's {name} must {bound}, got {quoted(value)}{reason}; {REMEDY}")


def quoted(value: object) -> str:
    """Return the beginning of a value as text, whatever it is.

    Examples
    --------
    >>> from streamlearn.planning.numbers import quoted
    >>> quoted(list(range(1000))), quoted(10**400)
    ('[0, 1, 2, 3, 4, 5, ...]', 'an integer of more than 40 digits')
    """
    if isinstance(value, int) and abs(value) >= 10**40:  # Python refuses to write a very long one
        return "an integer of more than 40 digits"
    return reprlib.repr(value)


def _is_real(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and as_float(value) is not None


def _within(value: Any, above: float, most: float) -> bool:
    return _is_real(value) and above < value <= most


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and least <= value <= _MOST


def _are_whole(values: object, least: int, most: int) -> bool:
    return isinstance(values, tuple) and all(
        type(value) is int and least <= value <= most for value in values
    )


def _is_ramp(levels: object) -> bool:
    if isinstance(levels, Chances):  # long ones are, and are looked at all at once
        return levels.rise_within(1)
    return (
        isinstance(levels, tuple) and _are_whole(levels, 1, OUT_OF - 1) and len(levels) > 0 and _rise(levels)
    )


def _rise(levels: tuple[int, ...]) -> bool:
    return list(levels) == sorted(levels)
