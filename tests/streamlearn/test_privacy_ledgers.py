"""A book of what happened: prices, budgets that refuse beforehand, and a file that outlives versions."""

from __future__ import annotations

import functools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Channel, Guarantee, privacy
from streamlearn.errors import BudgetError, ParameterError, StateError
from streamlearn.privacy import Answered, Budget, Ledger, Recorded
from streamlearn.privacy.spending import parts

LAW = Channel.randomized_response(1, 0.5, 1.0).tag
OTHER = Channel.randomized_response(2, 0.25, 0.5).tag
EVENTS = st.one_of(
    st.builds(
        Answered,
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["s", "t"]),
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from([LAW, OTHER]),
    ),
    st.builds(
        Recorded,
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["s", "t"]),
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from(["joint", "central"]),
        st.sampled_from([0.0, 0.25, 1.0]),
        st.sampled_from([0.0, 1e-6]),
    ),
)


def test_several_streams_and_several_reports_add_up():
    ledger = Ledger()
    ledger.record(Answered("ann", "job 1", "a", LAW))
    ledger.record(Answered("ann", "job 2", "b", LAW))
    ledger.record(Answered("ann", "job 2", "c", OTHER))
    ledger.record(Answered("bob", "job 2", "d", OTHER))
    assert ledger.spent("ann").epsilon == pytest.approx(2.5, abs=1e-12)
    assert ledger.spent("ann").notion == "local"
    assert ledger.spent("bob").epsilon <= 0.5
    assert ledger.spent("cid") == Guarantee("local", 0.0, 0.0, "person")


def test_records_of_one_stream_are_a_group_and_streams_compose():
    ledger = Ledger()
    for stream, event in [("s", "1"), ("s", "2"), ("t", "3")]:
        ledger.record(Recorded("ann", stream, event, "joint", 0.5, 1e-6))
    pair, single = (
        privacy.group(Guarantee("joint", 0.5, 1e-6, "event"), 2),
        Guarantee("joint", 0.5, 1e-6, "person"),
    )
    assert ledger.spent("ann") == privacy.compose([pair, single])


def test_notions_are_brought_to_the_weakest():
    happened = [Answered("ann", "s", "1", LAW), Recorded("ann", "t", "2", "central", 1.0)]
    assert {it.notion for it in parts(happened)} == {"central"}
    happened.append(Recorded("ann", "u", "3", "joint", 1.0))
    assert {it.notion for it in parts(happened)} == {"joint"}
    assert {it.unit for it in parts(happened)} == {"person"}


def test_what_is_written_again_costs_nothing():
    ledger = Ledger(Budget(1.0))
    assert ledger.record(Answered("ann", "s", "1", LAW))
    before = ledger.to_json()
    assert not ledger.record(Answered("ann", "s", "1", LAW))
    assert ledger.to_json() == before


def test_a_budget_refuses_before_it_is_spent():
    ledger = Ledger(Budget(1.25))
    ledger.record(Answered("ann", "s", "1", LAW))
    before = ledger.to_json()
    with pytest.raises(BudgetError, match=r"budget.epsilon = 1.25; leave it out") as refused:
        ledger.record(Answered("ann", "s", "2", OTHER))
    error = refused.value
    assert (error.parameter, error.limit) == ("epsilon", 1.25)
    assert (error.spent, error.asked, error.left) == pytest.approx((1.0, 0.5, 0.25), abs=1e-12)
    assert ledger.to_json() == before
    assert ledger.record(Answered("bob", "s", "2", OTHER))  # another person's budget is another


def test_a_budget_of_delta_is_one_too():
    ledger = Ledger(Budget(10.0, 1.5e-6))
    ledger.record(Recorded("ann", "s", "1", "joint", 1.0, 1e-6))
    with pytest.raises(BudgetError, match=r"budget.delta = 1.5e-06") as refused:
        ledger.record(Recorded("ann", "t", "1", "joint", 1.0, 1e-6))
    assert refused.value.parameter == "delta"
    assert refused.value.left == pytest.approx(5e-7)


def test_a_tighter_accountant_lets_more_happen():
    law = Channel.randomized_response(1, 0.5, 0.1).tag
    exact = functools.partial(privacy.compose, method="moments", delta=1e-2)
    basic, tight = Ledger(Budget(2.0, 1e-2)), Ledger(Budget(2.0, 1e-2), accountant=exact)
    room = {}
    for ledger in (basic, tight):
        room[ledger] = 0
        try:
            for event in range(60):
                ledger.record(Answered("ann", "s", str(event), law))
                room[ledger] += 1
        except BudgetError:
            continue
    assert room[basic] == 20
    assert room[tight] > 25


@given(st.lists(EVENTS, max_size=12), st.sampled_from([None, Budget(1.0), Budget(3.0, 1e-5)]))
def test_a_ledger_is_its_events_and_never_exceeds_its_budget(happened, budget):
    ledger = Ledger(budget)
    for it in happened:
        before = ledger.spent(it.person)
        try:
            ledger.record(it)
        except BudgetError:
            assert ledger.spent(it.person) == before
            assert it not in ledger.of(it.person)
        else:
            assert it in ledger.of(it.person)
    for person in ("ann", "bob"):
        spent = ledger.spent(person)
        assert budget is None or (spent.epsilon <= budget.epsilon and spent.delta <= budget.delta)
        read = Ledger.from_json(ledger.to_json(), budget)
        assert read.spent(person) == spent
        assert read.of(person) == ledger.of(person)
    assert list(read) == list(ledger)
    assert len(read) == len(ledger) == len(set(ledger))


def test_names_and_fields_stay_what_they_are():
    """Files keep these for good: a change here needs a new name or a new version, never a new meaning."""
    ledger = Ledger()
    ledger.record(Answered("ann", "job 1", "a17", LAW))
    ledger.record(Recorded("ann", "site 1", "e9", "joint", 0.5, 1e-6))
    assert json.loads(ledger.to_json()) == {
        "format": "streamlearn/privacy-ledger",
        "version": 1,
        "events": [
            {"type": "answered", "person": "ann", "stream": "job 1", "event": "a17", "law": LAW},
            {
                "type": "recorded", "person": "ann", "stream": "site 1", "event": "e9", "notion": "joint",
                "epsilon": 0.5, "delta": 1e-6,
            },
        ],
    }  # fmt: skip


def test_what_happened_is_read_also_above_the_budget():
    ledger = Ledger()
    ledger.record(Answered("ann", "s", "1", LAW))
    poor = Ledger.from_json(ledger.to_json(), Budget(0.5))
    assert len(poor) == 1
    with pytest.raises(BudgetError):
        poor.record(Answered("ann", "s", "2", LAW))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (b"", "no privacy ledger"),
        (b"[]", "no privacy ledger"),
        (b"\xff", "no privacy ledger"),
        (b"[" * 100_000, "no privacy ledger"),
        ({"format": "other"}, "format is 'other'"),
        ({"version": 2}, "version 2 is not 1"),
        ({"more": 1}, "no privacy ledger"),
        ({"events": [{"type": "answered", "person": "p", "stream": "s", "event": "e", "law": "1/2"}]},
         r"events\[0\]: tag must be"),
        ({"events": [{"type": "forgotten"}]}, "no privacy ledger"),
        ({"events": [{"type": "recorded", "person": "p", "stream": "s", "event": "e", "notion": "joint",
                      "epsilon": -1}]}, r"events\[0\]: epsilon must be"),
        ({"events": [{"type": "recorded", "person": "", "stream": "s", "event": "e", "notion": "joint",
                      "epsilon": 1}]}, "no privacy ledger"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(wrong, message):
    text = wrong
    if isinstance(wrong, dict):
        text = json.dumps({"format": "streamlearn/privacy-ledger", "version": 1, "events": []} | wrong)
    with pytest.raises(StateError, match=message):
        Ledger.from_json(text)


@pytest.mark.parametrize(
    "wrong",
    [
        "answered",
        Answered("", "s", "e", LAW),
        Answered("p", "s", 3, LAW),
        Answered("p", "s", "e", "law"),
        Recorded("p", "s", "e", "local", 1.0),
        Recorded("p", "s", "e", "joint", math.nan),
        Recorded("p", "s", "e", "joint", math.inf),
        Recorded("p", "s", "e", "joint", 1.0, 2.0),
        Recorded("p", "s" * 513, "e", "joint", 1.0),
    ],
)
def test_what_cannot_be_priced_is_not_written(wrong):
    ledger = Ledger()
    with pytest.raises(ParameterError):
        ledger.record(wrong)
    assert len(ledger) == 0


@pytest.mark.parametrize("budget", [Budget(-1.0), Budget(math.nan), Budget(1.0, 2.0), Budget(1.0, math.nan)])
def test_a_budget_is_a_level(budget):
    with pytest.raises(ParameterError, match=r"budget\.(epsilon|delta) must"):
        Ledger(budget)


def test_nobodys_name_is_shown():
    ledger = Ledger(Budget(2.0))
    ledger.record(Answered("ann", "s", "1", LAW))
    assert repr(ledger) == "Ledger(people=1, events=1, budget=Budget(epsilon=2.0, delta=0.0))"
    ledger.record(Answered("ann", "s", "2", LAW))
    with pytest.raises(BudgetError) as refused:
        ledger.record(Answered("ann", "s", "3", LAW))
    assert "ann" not in str(refused.value)
