"""What the numbers of a plan may be at all, before any work with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamlearn.accounting.combining import LARGEST_DELAY
from streamlearn.errors import PlanError
from streamlearn.planning.combination import Combination
from streamlearn.rounding import OUT_OF, as_float
from streamlearn.selection.exponential import LEAST_ETA, MOST_ETA

if TYPE_CHECKING:
    from streamlearn.planning.plan import Plan

LEAST_BETA = 1e-300
"""No batch is worked out for a smaller chance of failure."""

_MOST = LARGEST_DELAY  # of any whole number in a plan
_REALS = {
    "epsilon": (0.0, 1e3),
    "delta": (0.0, 1.0),
    "alpha": (0.0, 700.0),
    "order": (0.0, 1e6),
}
_WHOLES = {"dimension": 1, "candidates": 1, "batch": 1, "max_delay": 0}


def check_numbers(plan: Plan) -> None:
    """Refuse fields that no plan has, of whatever type: the certificate takes them for granted.

    A plan without a combination is one of candidate replacement alone.

    Raises
    ------
    PlanError
        If there are such; it names the field.
    """
    for name in ("class_digest", "mode"):
        _demand(isinstance(getattr(plan, name), str), name, "be text")
    for name, (above, most) in _REALS.items():
        _demand(_within(getattr(plan, name), above, most), name, f"lie in ({above:g}, {most:g}]")
    _demand(
        _is_real(plan.eta) and LEAST_ETA <= plan.eta <= MOST_ETA,
        "eta",
        f"lie in [{LEAST_ETA:g}, {MOST_ETA:g}]",
    )
    _demand(_is_real(plan.beta) and 0.0 <= plan.beta <= 1.0, "beta", "lie in [0, 1]")
    # Beyond, the exponent's rounding would show.
    _demand(plan.order * plan.epsilon <= 1e8, "order", "be at most 1e8/ε")
    for name, least in _WHOLES.items():
        _demand(_is_whole(getattr(plan, name), least), name, f"be a whole number in {least}..2^50")
    _demand(_are_whole(plan.delays, 1, _MOST), "delays", "be whole numbers in 1..2^50")
    _demand(
        _are_whole(plan.acceptance, 0, OUT_OF)
        and len(plan.acceptance) > 1
        and (plan.acceptance[0], plan.acceptance[-1]) == (0, OUT_OF)
        and _rise(plan.acceptance),
        "acceptance",
        "rise from 0 to 2^64",
    )
    _demand(
        _are_whole(plan.ramp, 1, OUT_OF - 1) and len(plan.ramp) > 0 and _rise(plan.ramp),
        "ramp",
        "rise within 1..2^64 - 1",
    )
    _demand(
        plan.crossover is None or _within(plan.crossover, 0.0, 0.5),
        "crossover",
        "lie in (0, 1/2], or be null",
    )
    _demand(
        plan.cut_from is None or _is_whole(plan.cut_from, plan.candidates + 1),
        "cut_from",
        "be a whole number above candidates, or be null",
    )
    _check_combination(plan.combination)


def _check_combination(parts: object) -> None:
    if parts is None:
        return
    _demand(isinstance(parts, Combination), "combination", "be a Combination, or null")
    for name, most in (
        ("epsilon", 1e3),
        ("rule_epsilon", 1e3),
        ("delta", 1.0),
        ("gamma", 1.0),
        ("rule_delta", 1.0),
    ):
        level = getattr(parts, name)
        _demand(_within(level, 0.0, most) and level < most, f"combination.{name}", f"lie in (0, {most:g})")
    _demand(
        _is_whole(getattr(parts, "head_start", None), 1),
        "combination.head_start",
        "be a whole number in 1..2^50",
    )


def _demand(holds: bool, name: str, bound: str) -> None:
    if not holds:
        raise PlanError(f"the plan's {name} must {bound}; the plan was edited, make it anew")


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


def _rise(levels: tuple[int, ...]) -> bool:
    return list(levels) == sorted(levels)
