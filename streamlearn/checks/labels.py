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
_LATE = "leave rounds to streamlearn.ordered.OrderedPredictor"
_MOST_WAITING = 1_000
"""Rounds that a check asks at most: a larger ``max_delay`` is not put to the test."""
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
    """Require that labels of rounds asked by number are taken in any order, with others missing in between.

    Of an agent with a ``max_delay``, so many rounds before the last as it allows.
    """
    last = 100
    most = trial.at_once(len(_ORDER) + 1)
    for missing, size in (
        ((), most),
        ((0, 3, 6), most - 1),
    ):  # where some are missing, the last one waits too
        order = [number for number in _ORDER if number < size]
        agent = _asked(trial, tuple(sorted(order)))
        for number in order:
            if number not in missing:
                _require_accepted(_label(agent, trial, number, round=number), "a label out of order")
        agent.predict_one(_x(trial, last), round=last)
        for number in (last, *(number for number in order if number in missing)):
            _require_accepted(_label(agent, trial, number, round=number), "a label that came very late")


def check_labels_too_late_are_refused(trial: Trial) -> None:
    """Require of an agent with a ``max_delay`` that a label a round later is refused, and the stream goes on."""
    if not hasattr(trial.agent, "max_delay"):
        return
    most = trial.at_once(_MOST_WAITING)
    if most == _MOST_WAITING:
        return
    agent = _asked(trial, tuple(range(most + 1)))
    what = "a label more than max_delay rounds late"
    require_refused(agent, _label(agent, trial, 0, round=0), RoundError, what, _LATE)
    require_refused(
        agent, partial(agent.predict_one, _x(trial, 0), round=0), RoundError, "its round again", _LATE
    )
    for number in range(most, 0, -1):
        _require_accepted(_label(agent, trial, number, round=number), "a label that came in time")
    after = most + 1
    _require_accepted(partial(agent.predict_one, _x(trial, after), round=after), "a round after a refusal")
    _require_accepted(_label(agent, trial, after, round=after), "its label")


def check_rounds_given_up_are_closed(trial: Trial) -> None:
    """Require that ``give_up`` closes a round that awaits its label, and nothing else."""
    size = trial.at_once(3)
    agent = _asked(trial, tuple(range(size)))
    closed = size // 2
    agent.give_up(closed)
    for call in (_label(agent, trial, closed, round=closed), partial(agent.give_up, closed)):
        require_refused(agent, call, RoundError, "a label of a round given up, or giving it up again", _BASE)
    for number in range(size):
        if number != closed:
            _require_accepted(_label(agent, trial, number, round=number), "the label of another round")


def check_labels_without_a_round_are_taken_in_order(trial: Trial) -> None:
    """Require that a label without a number answers the round asked first; where none awaits, the next in order."""
    second = trial.at_once(2) == 2
    agent = _asked(trial, (9, 7) if second else (9,))
    _require_accepted(_label(agent, trial, 9), "a label without a round")
    require_refused(
        agent,
        _label(agent, trial, 9, round=9),
        RoundError,
        "a label of the round that was just answered",
        _BASE,
    )
    if second:
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
    size = trial.at_once(3)
    agent = _asked(trial, tuple(range(size)))
    twice = size // 2
    _label(agent, trial, twice, round=twice)()
    require_refused(
        agent, _label(agent, trial, twice, round=twice), RoundError, "a second label of one round", _BASE
    )


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
    check_labels_too_late_are_refused,
    check_labels_without_a_round_are_taken_in_order,
    check_unknown_rounds_are_refused,
    check_duplicate_labels_are_refused,
    check_rounds_are_whole_numbers,
    check_labels_are_binary,
    check_labels_of_any_numeric_type_are_one,
    check_rounds_given_up_are_closed,
]
