"""Checks of a predictor's answers and of what it does with instances."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from streamlearn.checks.sizes import reachable
from streamlearn.checks.streams import class_of
from streamlearn.checks.trial import (
    Trial,
    Unmet,
    difference,
    own,
    play,
    predicting,
    require_alike,
    require_refused,
    require_unchanged,
    saved,
)
from streamlearn.errors import InstanceError

_STRANGE = [
    "unheard of",
    "",
    -1,
    10**30,
    0.5,
    float("inf"),
    float("nan"),
    None,
    (),
    ("a", ("b", 2)),
    frozenset({1, 2}),
    {},
    {"unheard of": 1},
    {"a": None, "b": "x", "c": float("nan")},
]


def check_answers_are_bits(trial: Trial) -> None:
    """Require that predict_one returns a bool, learn_one returns None."""
    agent = trial.fresh()
    for x, y in trial.events:
        bit = agent.predict_one(own(x))
        if type(bit) is not bool:
            raise Unmet("a bool from predict_one", type(bit).__name__, "return bool(...)")
        nothing = agent.learn_one(own(x), y)
        if nothing is not None:
            raise Unmet("None from learn_one", type(nothing).__name__, "return nothing")


def check_predicting_changes_nothing(trial: Trial) -> None:
    """Require that predict_one leaves state_dict as it is; with a round, only the first call notes that one."""
    remedy = "let predict_one only read; learn in learn_one, draw by key and round"
    for agent, number in itertools.product((trial.fresh(), trial.used()[0]), range(len(trial.events))):
        x, _ = trial.events[number]
        before = saved(agent)
        agent.predict_one(own(x))
        require_unchanged(before, agent, "predict_one", remedy)
        agent.predict_one(own(x), round=10_000 + number)
        before = saved(agent)
        agent.predict_one(own(x), round=10_000 + number)
        require_unchanged(before, agent, "predict_one for a round asked before", remedy)


def check_asking_again_changes_no_answer(trial: Trial) -> None:
    """Require that an instance asked twice gets one answer, and a run asked many times goes as if asked once."""
    patient, curious = trial.fresh(), trial.fresh()
    remedy = "draw nothing and count nothing in predict_one: a draw belongs to (purpose, round)"
    others = [x for x, _ in trial.events[:4]]
    for number, (x, y) in enumerate(trial.events):
        numbered = {"round": number} if number % 2 else {}
        asked_once = patient.predict_one(own(x), **numbered)
        answers = []
        for other in others:
            answers.append(curious.predict_one(own(x), **numbered))
            curious.predict_one(own(other))
        require_alike(answers, [asked_once] * len(answers), "an instance asked often and asked once", remedy)
        patient.learn_one(own(x), y, **numbered)
        curious.learn_one(own(x), y, **numbered)


def _as_dicts(trial: Trial) -> list[tuple[dict[Any, Any], Any]]:
    """Return the events with a new dict of features for each instance."""
    return [(dict(x) if isinstance(x, dict) else {"x": x}, y) for x, y in trial.events]


def check_instances_are_left_alone(trial: Trial) -> None:
    """Require that no call changes the dict it is given."""
    agent = trial.fresh()
    for number, (x, y) in enumerate(_as_dicts(trial)):
        before = list(copy.deepcopy(x).items())
        numbered = {"round": number} if number % 2 else {}
        for call in (partial(agent.predict_one, x), partial(agent.learn_one, x, y)):
            call(**numbered)
            if difference(before, list(x.items())):
                raise Unmet("x as the caller gave it", "a change", "copy x before changing it")


def check_instances_are_not_kept(trial: Trial) -> None:
    """Require that nothing the agent holds is the caller's dict, and changing the dict afterwards changes no answer."""
    careless, careful = trial.fresh(), trial.fresh()
    remedy = "keep a copy of what is needed of x, never x itself"
    given = []
    for number, ((x, y), (same, _)) in enumerate(zip(_as_dicts(trial), _as_dicts(trial), strict=True)):
        numbered = {"round": number} if number % 2 else {}
        answers = []
        for agent, instance in ((careless, x), (careful, same)):
            answers.append(agent.predict_one(instance, **numbered))
            if number % 8 != 7:  # a label that is missing must not keep x alive either
                agent.learn_one(instance, y, **numbered)
        require_alike(
            answers[:1], answers[1:], "an agent whose caller reuses its dicts and one whose does not", remedy
        )
        for name in x:
            x[name] = None
        given.append(x)
    held = {id(item) for item, _ in reachable(careless)}
    if any(id(x) in held for x in given):
        raise Unmet("no reference to the caller's dicts", "one kept by the agent", remedy)
    where = difference(saved(careful), saved(careless))
    if where:
        raise Unmet("a state that no change of a dict reaches", f"a change in {where}", remedy)


def check_unhashable_instances_are_refused(trial: Trial) -> None:
    """Require that what is neither hashable nor a dict is refused in every call, before its round is noted."""
    agent, _ = trial.used()
    remedy = "call super().predict_one and super().learn_one, or check x as they do"
    for x in ([1], {1}, np.array([1])):
        calls = (
            partial(agent.predict_one, x),
            partial(agent.predict_one, x, round=10_000),
            partial(agent.learn_one, x, True),
        )
        for call in calls:
            require_refused(agent, call, InstanceError, f"an instance of type {type(x).__name__}", remedy)


def check_unknown_instances_break_nothing(trial: Trial) -> None:
    """Require that any hashable or dict is answered with a bit and may be labelled."""
    agent, _ = trial.used()
    for x in _STRANGE:
        seen = "none"
        try:
            if agent.predict_one(own(x)) in {False, True}:
                agent.learn_one(own(x), True)
                continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            seen = type(error).__name__
        raise Unmet(
            f"a bit for the instance {x!r}",
            seen,
            "answer what is unknown by a fixed hypothesis, learn nothing from it",
        )


def check_unknown_instances_teach_nothing(trial: Trial) -> None:
    """Require that labels of instances that the agent's hypothesis class does not know change no answer."""
    hypotheses = class_of(trial.agent)
    if hypotheses is None:  # nobody says what is unknown
        return
    unknown = [x for x in _STRANGE if not hypotheses.knows(x)] * 8  # often enough for one to be retained
    asking = [predicting(x) for x, _ in trial.events]
    remedy = "ignore the label where hypotheses.knows(x) is false"
    for y, moves in itertools.product((True, False), ([], trial.moves)):
        agent = trial.fresh()
        play(agent, moves)
        before = play(agent, asking)
        for number, x in enumerate(unknown, start=1_000_000):
            agent.predict_one(own(x), round=number)
            agent.learn_one(own(x), y, round=number)
        require_alike(play(agent, asking), before, "answers before and after unknown instances", remedy)


def check_no_example_is_shown(trial: Trial) -> None:
    """Require that what is printed of a predictor depends on no instance and no label."""
    one, other = trial.fresh(), trial.fresh()
    for x, y in trial.events:
        one.learn_one(own(x), y)
    for x, y in reversed(trial.events):
        other.learn_one(own(x), not y)
    for name, show in (("repr", repr), ("str", str)):
        if show(one) != show(other):
            raise Unmet(
                f"a {name} that tells nothing of the examples", "one that does", "show the parameters alone"
            )


CHECKS: list[Callable[[Trial], None]] = [
    check_answers_are_bits,
    check_predicting_changes_nothing,
    check_asking_again_changes_no_answer,
    check_instances_are_left_alone,
    check_instances_are_not_kept,
    check_unhashable_instances_are_refused,
    check_unknown_instances_break_nothing,
    check_unknown_instances_teach_nothing,
    check_no_example_is_shown,
]
