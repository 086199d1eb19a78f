"""From which δ on plain subsampled SOA is the better choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamlearn.errors import PlanError
from streamlearn.planning.numbers import REMEDY
from streamlearn.planning.search import ALONE, LEAST_EPSILON, MOST_EPSILON, Shares, Task, propose, total

if TYPE_CHECKING:
    from streamlearn.planning.plan import Plan
    from streamlearn.selection import Scheme

_LEAST, _MOST = math.log(1e-15), math.log(0.1)
_STEP = 0.1  # of ln δ, where the search ends


def crossover(task: Task, shares: Shares) -> float | None:
    """Return about the largest δ at which a plan of these shares promises fewer mistakes than subsampled SOA.

    The rival spends all of δ: γ = δ, d/δ expected mistakes. The plan is only roughly optimised at each δ, with β = δ.

    Parameters
    ----------
    task, shares
        What was searched for, and the split that was found.

    Returns
    -------
    float or None
        None where the plan is better at no δ from 1e-15 on.
    """
    better = _comparison(task, shares)
    if better(_MOST):
        return math.exp(_MOST)
    low, high = _LEAST, _MOST
    if not better(low):
        return None
    while high - low > _STEP:
        middle = (low + high) / 2.0
        low, high = (middle, high) if better(middle) else (low, middle)
    return math.exp((low + high) / 2.0)


def _comparison(task: Task, shares: Shares) -> Callable[[float], bool]:
    """Return what tells whether a plan is better than its rival at a δ, given as its logarithm."""

    def better(log_delta: float) -> bool:
        delta = math.exp(log_delta)
        at = task._replace(delta=delta, beta=delta)
        order = 1.4 * math.log(1.0 / (shares.delta * delta)) / (shares.epsilon * task.epsilon)
        excess = 0.1 if task.scheme.excess_delta(1.0, 2) > 0.0 else 0.0
        found = propose(at, shares, order, 0.1, 0.1, excess)
        if found is None:
            return False
        mistakes = found.bound if shares == ALONE else total(at, shares, found.bound)
        return mistakes < task.dimension * (1.0 / delta + task.max_delay)

    return better


def check_crossover(plan: Plan, scheme: Scheme) -> None:
    """Refuse a plan with a crossover that is not its own, which the certificate has no part in.

    Parameters
    ----------
    plan
        A certified plan.
    scheme
        How its candidates are selected.

    Raises
    ------
    PlanError
        If what it states is not where :func:`crossover` would find it; a plan need state none.
    """
    if plan.crossover is None:
        return
    parts = plan.combination
    shares = ALONE
    if parts is not None:
        shares = Shares(
            parts.epsilon / plan.epsilon, min(1.0, parts.delta / plan.delta), parts.gamma / plan.delta
        )
    stated = False
    # A plan cut short bounds no mistakes, so it is never better.
    if plan.cut_from is None and LEAST_EPSILON <= plan.epsilon <= MOST_EPSILON:
        better = _comparison(
            Task(scheme, plan.dimension, plan.epsilon, plan.delta, plan.beta, plan.max_delay), shares
        )
        at = math.log(plan.crossover)
        stated = (
            at >= _LEAST
            and better(max(_LEAST, at - _STEP))
            and (at + _STEP > _MOST or not better(at + _STEP))
        )
    if not stated:
        raise PlanError(
            f"the plan's crossover must be its own, or null, got {plan.crossover:g}: epsilon, mode, "
            f"max_delay and combination tell another; {REMEDY}"
        )
