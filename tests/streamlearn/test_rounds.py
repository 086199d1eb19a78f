"""Labels that come late, out of order, twice or never."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import rounds as module
from streamlearn.errors import RoundError
from streamlearn.rounds import Rounds


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
    assert [rounds.answer(None), rounds.answer(9), rounds.answer(None), rounds.answer(None)] == [5, 9, 3, 1]


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


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=30))
def test_a_restored_copy_goes_on_alike(steps):
    rounds = Rounds()
    for asks, number in steps:
        twin = Rounds.restored(rounds.state())
        for one in (rounds, twin):
            if asks:
                one.ask(number)
            else:
                one.answer(None)
        assert twin.state() == rounds.state()
