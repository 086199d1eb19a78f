"""Checks of a predictor's labels: late, out of order, missing, twice, for nobody, not binary."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from streamlearn.checks.trial import (
    Trial,
    Unmet,
    difference,
    own,
    require_refused,
    saved,
)
from streamlearn.errors import LabelError, RoundError, StreamlearnError

_BASE = "leave rounds to streamlearn.prediction.Predictor, or keep its table of legal calls"
_ORDER = (5, 0, 7, 2, 6, 1, 4, 3)
_WRONG = {"None": None, "2": 2, "-1": -1, "0.5": 0.5, "NaN": math.nan, "a string": "yes", "a list": [1]}


def _asked(trial: Trial, rounds: tuple[int, ...]) -> Any:
    agent = trial.fresh()
    for number in rounds:
        agent.predict_one(_x(trial, number), round=number)
    return agent


def _x(trial: Trial, number: int) -> Any:
    return own(trial.events[number % len(trial.events)][0])


def _y(trial: Trial, number: int) -> Any:
    return trial.events[number % len(trial.events)][1]


def _label(agent: Any, trial: Trial, number: int, **numbered: int) -> Callable[[], Any]:
    return partial(agent.learn_one, _x(trial, number), _y(trial, number), **numbered)


def _require_accepted(call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except StreamlearnError as error:
        raise Unmet(f"{what} to be taken", type(error).__name__, _BASE) from error


def check_labels_come_in_any_order(trial: Trial) -> None:
    """Require that labels of rounds asked by number are taken in any order, with others missing in between."""
    for missing in ((), (0, 3, 6)):
        agent = _asked(trial, tuple(range(len(_ORDER))))
        for number in _ORDER:
            if number not in missing:
                _require_accepted(_label(agent, trial, number, round=number), "a label out of order")
        agent.predict_one(_x(trial, 100), round=100)
        for number in (100, *missing):
            _require_accepted(_label(agent, trial, number, round=number), "a label that came very late")


def check_labels_without_a_round_are_taken_in_order(trial: Trial) -> None:
    """Require that a label without a number answers the round asked first; where none awaits, the next in order."""
    agent = _asked(trial, (9, 7))
    _require_accepted(_label(agent, trial, 9), "a label without a round")
    require_refused(
        agent,
        _label(agent, trial, 9, round=9),
        RoundError,
        "a label of the round that was just answered",
        _BASE,
    )
    _require_accepted(_label(agent, trial, 7, round=7), "the label of the other round")
    _require_accepted(_label(agent, trial, 3), "a label without a round, where none awaits one")


def check_unknown_rounds_are_refused(trial: Trial) -> None:
    """Require that a label for a round that was never asked is refused."""
    used, _ = trial.used()
    for agent, number in ((trial.fresh(), 0), (_asked(trial, (0, 1, 3)), 2), (used, 10_000)):
        what = "a label for a round never asked"
        require_refused(agent, _label(agent, trial, number, round=number), RoundError, what, _BASE)


def check_duplicate_labels_are_refused(trial: Trial) -> None:
    """Require that the second label of a round is refused."""
    agent = _asked(trial, (0, 1, 2))
    _label(agent, trial, 1, round=1)()
    require_refused(agent, _label(agent, trial, 1, round=1), RoundError, "a second label of one round", _BASE)


def check_rounds_are_whole_numbers(trial: Trial) -> None:
    """Require that a round that is no whole number >= 0 is refused."""
    agent, _ = trial.used()
    for wrong in (-1, 10_000.5, "10001"):  # were they rounded, no round used before
        call = partial(agent.predict_one, _x(trial, 0), round=wrong)
        require_refused(agent, call, RoundError, f"round={wrong!r}", _BASE)


def check_labels_are_binary(trial: Trial) -> None:
    """Require that a label that is missing or not 0 or 1 is refused, and its round awaits its label still."""
    remedy = "call super().learn_one, or refuse what is not 0 or 1"
    for name, wrong in _WRONG.items():
        agent = _asked(trial, (0, 1))
        for numbered in ({}, {"round": 1}):
            call = partial(agent.learn_one, _x(trial, 1), wrong, **numbered)
            require_refused(agent, call, LabelError, f"the label {name}", remedy)


def check_labels_of_any_numeric_type_are_one(trial: Trial) -> None:
    """Require that 0 and 1 of every numeric type teach what False and True teach."""
    reference = trial.fresh()
    kinds: list[Callable[[Any], Any]] = [int, float, np.bool_, np.int64, np.float32]
    agents = [trial.fresh() for _ in kinds]
    for x, y in trial.events:
        reference.learn_one(own(x), bool(y))
        for agent, kind in zip(agents, kinds, strict=True):
            _require_accepted(partial(agent.learn_one, own(x), kind(y)), f"a label of type {kind.__name__}")
    for agent, kind in zip(agents, kinds, strict=True):
        where = difference(saved(reference), saved(agent))
        if where:
            seen = f"a difference in {where} with {kind.__name__}"
            raise Unmet("the same state from 0 and 1 of any type", seen, "turn the label into a bool first")


CHECKS: list[Callable[[Trial], None]] = [
    check_labels_come_in_any_order,
    check_labels_without_a_round_are_taken_in_order,
    check_unknown_rounds_are_refused,
    check_duplicate_labels_are_refused,
    check_rounds_are_whole_numbers,
    check_labels_are_binary,
    check_labels_of_any_numeric_type_are_one,
]
