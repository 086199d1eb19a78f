"""What a stopper does at one privacy level, stage by stage: what figures and pages show of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from streamlearn import policy
from streamlearn.base import Stopper
from streamlearn.priors import Prior
from streamlearn.priors.base import Floats


class LevelPlan(NamedTuple):
    """What one stopper does at one privacy level, stage by stage.

    Attributes
    ----------
    label
        The level.
    epsilon
        The most anybody spends who is asked.
    thresholds
        Of stages 1..n, in the unit of the values, shape (n,).
    cases
        ``"ask"``, ``"accept"`` or ``"skip"`` of stages 1..n.
    asked
        Share of the episodes in which the person of each stage is really asked, shape (n,).
    stop_law
        P(the person of stage i is taken) for i = 1..n, then P(nobody is), shape (n + 1,).
    break_even
        The ε above which asking pays, shape (n,), infinite where it never does; None if not the optimal stopper.
    marginal
        dW/dε of each stage, in the unit of the values, shape (n,); None if not the optimal stopper.
    """

    label: str
    epsilon: float
    thresholds: Floats
    cases: Sequence[str]
    asked: Floats
    stop_law: Floats
    break_even: Floats | None
    marginal: Floats | None


def level_plan(
    label: str, stopper: Stopper, priors: Sequence[Prior], asked: Sequence[float] | None = None
) -> LevelPlan:
    """Return what a stopper does, stage by stage.

    Parameters
    ----------
    label
        What to call it: its level.
    stopper
        Whose plan it is.
    priors
        The laws of persons 1..n, for the stopping-time law.
    asked
        Share of recorded episodes in which each person was asked; None: the exact share under ``priors``.

    Raises
    ------
    ParameterError
        If there are not n priors.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.priors import as_priors
    >>> from streamlearn.replays.levelplans import level_plan
    >>> priors = as_priors([[0.0, 2.0], 0.5])
    >>> plan = level_plan("ε = 2", LDPOptimalStopper(priors, epsilon=2.0), priors)
    >>> plan.cases, plan.asked.tolist(), plan.stop_law.tolist()
    (['ask', 'accept'], [1.0, 0.0], [0.5, 0.5, 0.0])
    """
    law = policy.evaluate(stopper.plan, priors).stop_law
    cases = [channel.case for channel in stopper.plan]
    if asked is None:
        reached = 1.0 - np.concatenate([[0.0], np.cumsum(law[:-2])])
        asked = [r if case == "ask" else 0.0 for r, case in zip(reached.tolist(), cases, strict=True)]
    return LevelPlan(
        label,
        stopper.plan.epsilon,
        np.asarray(stopper.thresholds, dtype=np.float64),
        cases,
        np.asarray(asked, dtype=np.float64),
        law,
        getattr(stopper, "break_even_epsilons", None),
        getattr(stopper, "marginal_prices", None),
    )


def spread(plans: Sequence[LevelPlan], most: int = 4) -> Sequence[LevelPlan]:
    """Return at most so many of the plans, evenly spread, both ends among them; first go those that ask nobody.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.levelplans import LevelPlan, spread
    >>> some = [LevelPlan(str(i), i, np.zeros(1), ["ask"], np.ones(1), np.ones(2), None, None) for i in range(9)]
    >>> [plan.label for plan in spread(some)]
    ['0', '3', '5', '8']
    """
    asking = [plan for plan in plans if "ask" in plan.cases] or plans
    if len(asking) <= most:
        return asking
    return [asking[round(i * (len(asking) - 1) / (most - 1))] for i in range(most)]


def runs(cases: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield stages of one case that follow each other: the case, the first and the last of them, from 1.

    Examples
    --------
    >>> from streamlearn.replays.levelplans import runs
    >>> list(runs(["ask", "ask", "accept"]))
    [('ask', 1, 2), ('accept', 3, 3)]
    """
    stage = 1
    for case, run in itertools.groupby(cases):
        length = sum(1 for _ in run)
        yield case, stage, stage + length - 1
        stage += length
