"""Labels that come late, out of order, twice or never."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import rounds as module
from streamlearn.errors import RoundError, StateError
from streamlearn.rounds import Rounds, RoundsState, Runs


def test_without_numbers_labels_are_counted():
    rounds = Rounds()
    assert [rounds.answer(None) for _ in range(3)] == [1, 2, 3]


@given(st.permutations(range(8)))
def test_any_order_is_answered_once(order):
    rounds = Rounds()
    for number in range(8):
        rounds.ask(number)
    assert [rounds.answer(number) for number in order] == list(order)
    for number in order:
        with pytest.raises(RoundError, match="no label is awaited"):
            rounds.answer(number)


def test_first_asked_is_first_answered():
    rounds = Rounds()
    for number in (5, 3, 9):
        rounds.ask(number)
        rounds.ask(number)
    assert [rounds.answer(None), rounds.answer(9), rounds.answer(None), rounds.answer(None)] == [
        5,
        9,
        3,
        "unnumbered/1",
    ]


@pytest.mark.parametrize("number", [-1, 1.0, "1", True])
def test_a_round_is_a_whole_number(number):
    with pytest.raises(RoundError, match="whole number"):
        Rounds().ask(number)


def test_labels_that_never_come_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(module, "MOST_PENDING", 3)
    rounds = Rounds()
    for number in range(10):
        rounds.ask(number)
    assert rounds.state().pending == [7, 8, 9]
    with pytest.raises(RoundError):
        rounds.answer(6)
    assert rounds.answer(None) == 7


def test_a_round_is_closed_once_it_is_answered_or_given_up(monkeypatch):
    monkeypatch.setattr(module, "MOST_PENDING", 2)
    rounds = Rounds()
    for number in (1, 2, 3):
        rounds.ask(number)
    rounds.answer(2)
    for number in (1, 2):
        with pytest.raises(RoundError, match=f"round {number} was answered before, or given up"):
            rounds.ask(number)
    rounds.ask(3)
    assert rounds.answer(None) == 3
    assert rounds.answer(None) == "unnumbered/1"


@given(st.lists(st.one_of(st.none(), st.integers(0, 6)), max_size=20))
def test_no_two_rounds_share_an_identity(numbers):
    rounds = Rounds()
    identities = []
    for number in numbers:
        with contextlib.suppress(RoundError):
            if number is not None:
                rounds.ask(number)
            identities.append(rounds.answer(number))
    assert len(set(map(str, identities))) == len(identities)


@given(st.lists(st.integers(0, 12), unique=True))
def test_runs_are_a_set(numbers):
    runs = Runs()
    for i, number in enumerate(numbers):
        runs.add(number)
        assert [n for n in range(14) if n in runs] == sorted(numbers[: i + 1])
        assert all(low[1] + 1 < high[0] for low, high in itertools.pairwise(runs.runs))


def test_rounds_in_order_take_one_run_and_sparse_ones_are_capped(monkeypatch):
    rounds = Rounds()
    for number in range(1000):
        rounds.ask(number)
        rounds.answer(number)
    assert rounds.state().closed == [[0, 999]]
    monkeypatch.setattr(module, "MOST_RUNS", 3)
    for number in range(2000, 2100, 10):
        rounds.ask(number)
        rounds.answer(number)
    assert rounds.state().closed == [[2070, 2070], [2080, 2080], [2090, 2090]]


def test_numbers_may_be_of_any_integer_type():
    rounds = Rounds()
    rounds.ask(np.int64(3))
    assert rounds.state().pending == [3]
    assert type(rounds.answer(np.int64(3))) is int


@pytest.mark.parametrize(
    "state",
    [
        RoundsState(0, 0, [[1, 2], [3, 3]], []),
        RoundsState(0, 0, [[2, 1]], []),
        RoundsState(0, 0, [[1]], []),
        RoundsState(0, 0, [], [-1]),
        RoundsState(0, 0, [], [1, 1]),
        RoundsState(0, 0, [[1, 2]], [2]),
        RoundsState(1, 2, [[1, 2]], []),
        RoundsState(-1, None, [], []),
        RoundsState(0, None, [[1, 2]], []),
        RoundsState(1, 1, [], []),
    ],
)
def test_rounds_that_are_not_possible_are_refused(state):
    with pytest.raises(StateError, match="not possible"):
        Rounds.restored(state)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=30))
def test_a_restored_copy_goes_on_alike(steps):
    rounds = Rounds()
    for asks, number in steps:
        twin = Rounds.restored(rounds.state())
        for one in (rounds, twin):
            if asks:
                with contextlib.suppress(RoundError):  # it may be closed
                    one.ask(number)
            else:
                one.answer(None)
        assert twin.state() == rounds.state()
