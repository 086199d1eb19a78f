"""What the numbers of a plan may be at all, before its certificate is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlearn.accounting.combining import LARGEST_DELAY
from streamlearn.errors import PlanError
from streamlearn.rounding import OUT_OF

if TYPE_CHECKING:
    from streamlearn.planning.combination import Combination
    from streamlearn.planning.plan import Plan

_MOST = LARGEST_DELAY  # of any whole number in a plan


def check_numbers(plan: Plan) -> None:
    """Refuse numbers that no plan has, before any work with them: the certificate takes them for granted.

    Raises
    ------
    PlanError
        If there are such.
    """
    parts = plan.combination
    if (
        not 0.0 < plan.epsilon <= 1e3
        or not 0.0 < plan.alpha <= 700.0
        or not 0.0 < plan.eta <= 1e3
        or not 0.0 < plan.order <= 1e6
        or not plan.order * plan.epsilon <= 1e8  # beyond, the exponent's rounding would show
        or not 0.0 <= plan.beta <= 1.0
        or not 0.0 < plan.delta <= 1.0
        or not all(1 <= number <= _MOST for number in (plan.batch, plan.candidates, *plan.delays))
        or not 0 <= plan.max_delay <= _MOST
        or not (plan.crossover is None or 0.0 < plan.crossover < 1.0)
        or len(plan.acceptance) < 2
        or (plan.acceptance[0], plan.acceptance[-1]) != (0, OUT_OF)
        or list(plan.acceptance) != sorted(plan.acceptance)
        or not plan.ramp
        or list(plan.ramp) != sorted(plan.ramp)
        or not 0 < plan.ramp[0] <= plan.ramp[-1] < OUT_OF
        or (parts is not None and not _possible(parts))
    ):
        raise PlanError("the plan's numbers are outside their bounds; the plan was edited, make it anew")


def _possible(parts: Combination) -> bool:
    return (
        all(0.0 < level <= 1e3 for level in (parts.epsilon, parts.rule_epsilon))
        and all(0.0 < level < 1.0 for level in (parts.delta, parts.gamma, parts.rule_delta))
        and 1 <= parts.head_start <= _MOST
    )
