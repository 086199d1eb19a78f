"""What to take instead where no plan can be made: levels that were tried, never guessed."""

from __future__ import annotations

import math

from streamlearn.errors import SizeError
from streamlearn.planning.search import (
    LEAST_CHANCE,
    MOST_EPSILON,
    UNITS,
    Proposal,
    Shares,
    Task,
    least_first,
    length,
    search,
    usual_order,
)

LONGEST_RAMP = 25_000_000
"""The most rounds of a ramp that a plan lists."""

_REMEDIES = 12  # that are tried


def search_or_refuse(task: Task, shares: Shares | None = None) -> tuple[Shares, Proposal]:
    """Return the best split and parameters that a search finds.

    Parameters
    ----------
    task
        What is searched for.
    shares
        The split; None to find that with the fewest expected mistakes.

    Raises
    ------
    SizeError
        If nothing keeps the privacy asked for, or the ramp would be longer than ``LONGEST_RAMP``.
    """
    best = search(task, shares)
    if best is None:
        raise SizeError(f"{_too_fine(task, shares)}; take {_remedy(task, shares, 1.5)}")
    if length(best[1]) > LONGEST_RAMP:
        raise SizeError(
            f"epsilon = {task.epsilon:g} needs a ramp of about {length(best[1]):.2g} rounds, and a plan lists at "
            f"most {LONGEST_RAMP:,}; take {_remedy(task, shares, _excess_length(best))}"
        )
    return best


def _too_fine(task: Task, shares: Shares | None) -> str:
    """Return why there is no plan: what each candidate has of δ, and the least that chances out of 2^64 can give."""
    n, order = task.scheme.steps, usual_order(task, shares)
    return (
        f"no plan keeps epsilon = {task.epsilon:g} and delta = {task.delta:g}: each of {n:,} candidates may take "
        f"delta/N = {task.delta / n:.2g}, and with chances out of 2^64 it takes about "
        f"{least_first(order) + LEAST_CHANCE:.2g}: order/{UNITS:g}·2^-64 = {order / UNITS * 2.0**-64:.2g} (2^-60 "
        "at least) for its ramp and 2^-60 for its acceptance"
    )


def _excess_length(best: tuple[Shares, Proposal]) -> float:
    """Return by how much ε must grow for a ramp that is not too long: lengths are about like 1/ε²."""
    return math.sqrt(length(best[1]) / LONGEST_RAMP)


def _remedy(task: Task, shares: Shares | None, growth: float) -> str:
    """Return an ε, or where none will do a δ, with which there is a plan: each was tried, ε times ``growth`` first."""
    epsilon = task.epsilon
    for _ in range(_REMEDIES):
        epsilon = math.ceil(epsilon * growth * 1050.0) / 1000.0
        if epsilon > MOST_EPSILON:
            break
        best = search(task._replace(epsilon=epsilon), shares)
        if best is not None and length(best[1]) <= LONGEST_RAMP:
            return f"an epsilon of {epsilon:g} or more"
        growth = 1.5 if best is None else _excess_length(best)
    delta = 10.0 ** math.ceil(math.log10(task.delta * 1.001))
    while delta < 0.1:
        best = search(task._replace(delta=delta), shares)
        if best is not None and length(best[1]) <= LONGEST_RAMP:
            return f"a delta of {delta:g} or more"
        delta *= 10.0
    return "a smaller class"
