"""From which δ on plain subsampled SOA is the better choice."""

from __future__ import annotations

import math

from streamlearn.planning.search import ALONE, Shares, Task, propose, total

_LEAST, _MOST = math.log(1e-15), math.log(0.1)


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

    if better(_MOST):
        return math.exp(_MOST)
    low, high = _LEAST, _MOST
    if not better(low):
        return None
    while high - low > 0.1:
        middle = (low + high) / 2.0
        low, high = (middle, high) if better(middle) else (low, middle)
    return math.exp((low + high) / 2.0)
