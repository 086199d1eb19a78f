"""Rounds in the order of asking: late labels, those that are given up, questions asked again, saved rounds."""

from __future__ import annotations

import contextlib
import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.errors import InstanceError, LabelError, ParameterError, RoundError, StateError
from streamlearn.ordered import (
    OrderedPredictor,
    OrderedState,
    RoundState,
    check_max_delay,
    instance_from_plain,
    instance_to_plain,
)
from streamlearn.privacy import Guarantee


class Diary(OrderedPredictor[int]):
    """Answers whether an odd number of labels was 1, and writes down what happens."""

    guarantee = Guarantee.none()
    parameters_digest = ""

    def __init__(self, max_delay=0):
        self.max_delay = check_max_delay(max_delay)
        self.asked: list[int] = []
        self.resolved: list[tuple[Any, bool, int]] = []
        self.told: list[tuple[Any, bool, int | None]] = []
        self._begin_rounds()

    def _answer(self, x, sequence):  # noqa: ARG002
        return sum(y for _, y, _ in self.resolved) % 2 == 1, sequence

    def _asked(self, memo):
        self.asked.append(memo)

    def _labelled(self, x, y, number):
        self.told.append((x, y, number))

    def _resolve(self, x, y, memo):
        self.resolved.append((x, y, memo))

    def _memo_to_plain(self, memo):
        return memo

    def _memo_from_plain(self, data):
        if type(data) is not int:
            raise StateError("no memo")
        return data

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def test_labels_take_effect_in_the_order_of_asking():
    diary = Diary(9)
    for number in (40, 10, 30):
        diary.predict_one(f"x{number}", round=number)
    diary.learn_one("x30", 1, round=30)
    diary.learn_one("x10", 0, round=10)
    assert diary.resolved == []
    diary.learn_one("x40", 1, round=40)
    assert diary.resolved == [("x40", True, 1), ("x10", False, 2), ("x30", True, 3)]
    assert diary.told == [("x30", True, 30), ("x10", False, 10), ("x40", True, 40)]  # at once, as they come
    assert diary.asked == [1, 2, 3]


def test_a_label_that_is_too_late_is_given_up_and_counts_as_answered_rightly():
    diary = Diary(1)
    diary.predict_one("a", round=0)
    diary.learn_one("a", 1, round=0)
    assert diary.predict_one("b", round=1) is True
    diary.predict_one("c", round=2)
    diary.learn_one("c", 0, round=2)
    assert len(diary.resolved) == 1
    diary.predict_one("d", round=3)
    assert diary.resolved == [
        ("a", True, 1),
        ("b", True, 2),
        ("c", False, 3),
    ]  # what waited for b has effect too
    assert [told[0] for told in diary.told] == ["a", "c"]  # nobody is told of a label that never came
    with pytest.raises(RoundError, match="max_delay = 1"):
        diary.learn_one("b", 0, round=1)


def test_after_giving_up_a_label_without_number_finds_its_round():
    diary = Diary(1)
    for number in range(2):
        diary.predict_one(number, round=number)
    diary.learn_one(1, 1, round=1)
    diary.predict_one(2, round=2)  # gives up round 0; round 1 had its label
    diary.learn_one(2, 1)
    assert [memo for _, _, memo in diary.resolved] == [1, 2, 3]


def test_a_round_asked_again_repeats_its_answer_and_counts_once():
    diary = Diary(5)
    first = diary.predict_one("a", round=7)
    diary.predict_one("b", round=8)
    diary.learn_one("a", not first, round=7)
    later = diary.predict_one("c", round=9)
    assert later != first
    assert diary.predict_one("b", round=8) is first
    assert diary.predict_one("whatever", round=9) is later
    assert diary.asked == [1, 2, 3]


def test_a_number_is_one_round():
    diary = Diary()
    diary.predict_one("a", round=7)
    diary.learn_one("a", 1, round=7)
    diary.predict_one("b", round=8)
    diary.predict_one("c", round=9)  # gives up round 8
    for number in (7, 8):
        with pytest.raises(RoundError, match=f"round {number} was answered before, or given up"):
            diary.predict_one("a", round=number)
    assert diary.asked == [1, 2, 3]
    diary.learn_one("c", 1, round=np.int64(9))
    assert diary._rounds_state().closed == [[7, 9]]


def test_without_numbers_nothing_changes_until_the_label_comes():
    diary = Diary()
    for _ in range(3):
        assert diary.predict_one("a") is False
    assert diary.asked == []
    diary.learn_one("a", 1)
    assert (diary.asked, diary.resolved, diary.told) == ([1], [("a", True, 1)], [])
    assert diary.predict_one("a") is True


@given(st.integers(0, 3), st.lists(st.booleans(), max_size=12))
def test_a_question_without_number_foretells_the_next_round(max_delay, labelled):
    diary = Diary(max_delay)
    for number, now in enumerate(labelled):
        before = copy.deepcopy(vars(diary))["resolved"]
        foretold = diary.predict_one("x")
        assert diary.resolved == before
        assert diary.predict_one("x", round=number) is foretold
        if now:
            diary.learn_one("x", number % 3 != 0, round=number)


def test_a_label_without_number_is_the_oldest_rounds_and_keeps_its_instance():
    diary = Diary(5)
    diary.predict_one("a", round=3)
    diary.predict_one("b", round=4)
    diary.learn_one("z", 1)
    assert diary.told == [("a", True, 3)]


@pytest.mark.parametrize("wrong", [-1, 0.0, True, "1", [1], 1.5])
def test_a_number_that_is_none_is_refused(wrong):
    diary = Diary(3)
    diary.predict_one("a", round=0)
    diary.predict_one("b", round=1)
    with pytest.raises(RoundError):
        diary.predict_one("c", round=wrong)
    with pytest.raises(RoundError):
        diary.learn_one("c", 1, round=wrong)
    assert (diary.asked, diary.told) == ([1, 2], [])


def test_a_refused_call_changes_nothing():
    diary = Diary(3)
    diary.predict_one("a", round=0)
    diary.predict_one("b", round=1)
    diary.learn_one("b", 1, round=1)
    for call, error in [
        (lambda: diary.learn_one("b", 1, round=1), RoundError),
        (lambda: diary.learn_one("c", 1, round=2), RoundError),
        (lambda: diary.learn_one("a", None, round=0), LabelError),
        (lambda: diary.learn_one(["a"], 1, round=0), InstanceError),
        (lambda: diary.predict_one(["a"], round=5), InstanceError),
    ]:
        with pytest.raises(error):
            call()
    assert (diary.resolved, len(diary.told), len(diary._waiting)) == ([], 1, 2)


def test_a_label_that_cannot_be_taken_note_of_may_be_given_again():
    diary = Diary(3)
    diary.predict_one("a", round=0)

    def refuse(*_):
        raise ParameterError("not now")

    diary._labelled = refuse
    with pytest.raises(ParameterError):
        diary.learn_one("a", 1, round=0)
    del diary._labelled
    diary.learn_one("a", 1, round=0)
    assert diary.resolved == [("a", True, 1)]


def test_the_callers_dict_is_not_kept():
    diary = Diary(3)
    x = {"a": 1}
    diary.predict_one(x, round=0)
    x["a"] = 2
    diary.learn_one(x, 1, round=0)
    assert diary.resolved == [({"a": 1}, True, 1)]


@settings(max_examples=200)
@given(st.integers(0, 4), st.lists(st.tuples(st.integers(-6, 3), st.booleans(), st.booleans()), max_size=40))
def test_every_round_takes_effect_once_in_order_and_sees_all_but_the_last(max_delay, events):
    diary, number = Diary(max_delay), 0
    for offset, y, ask in events:
        if ask:
            diary.predict_one(number, round=number)
            number += 1
            assert len(diary.resolved) >= number - 1 - max_delay
        else:
            with contextlib.suppress(RoundError):
                diary.learn_one("x", y, round=max(0, number + offset))
        assert [memo for _, _, memo in diary.resolved] == list(range(1, len(diary.resolved) + 1))
        assert len(diary.resolved) + len(diary._waiting) == number
        assert len(diary._waiting) <= max_delay + 1
        assert not diary._waiting or diary._waiting[0].label is None
        # A restored predictor has the same rounds.
        again = diary._rounds_from(diary._rounds_state())
        assert [(it.number, it.x, it.answer, it.memo, it.label) for it in again.waiting] == [
            (it.number, it.x, it.answer, it.memo, it.label) for it in diary._waiting
        ]


def saved(number, label=None, x="a"):
    return RoundState(number, x, True, 1, label)


@pytest.mark.parametrize(
    "state",
    [
        OrderedState(9, [saved(number) for number in range(4)], []),  # more than max_delay + 1
        OrderedState(9, [saved(1), saved(1)], []),
        OrderedState(1, [saved(1), saved(2)], []),
        OrderedState(9, [saved(-1)], []),
        OrderedState(9, [saved(1, label=True), saved(2)], []),  # it would have taken effect
        OrderedState(9, [RoundState(1, "a", True, "memo", None)], []),
        OrderedState(9, [saved(1, x={"features": [1]})], []),
        OrderedState(-1, [], []),
        OrderedState(10**40, [], []),
        OrderedState(9, [saved(1)], [[0, 3]]),
        OrderedState(9, [], [[3, 1]]),
    ],
)
def test_saved_rounds_that_are_not_possible_are_refused(state):
    with pytest.raises(StateError):
        Diary(2)._rounds_from(state)


@pytest.mark.parametrize("x", ["a", 3, ("a", (1, None)), {}, {"a": 1.5, "b": None}, {("t", 1): math.inf}])
def test_instances_survive_as_plain_data(x):
    assert instance_from_plain(instance_to_plain(x)) == x


@pytest.mark.parametrize("wrong", [-1, 1.0, True, None, "3", 100_000])
def test_a_lateness_that_is_none_is_refused(wrong):
    with pytest.raises(ParameterError, match="max_delay"):
        check_max_delay(wrong)
