"""The table of legal sequences at the head of streamlearn.base, row by row, for every stopper."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from instances import UNIFORMS, mixed

from streamlearn import Channel, Guarantee, Report, state
from streamlearn.agents import LDPOptimalStopper, OptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.errors import HorizonError, ReportError, StateError

STOPPERS = {
    "optimal": lambda: LDPOptimalStopper(mixed(), 1.0),
    "optimum without privacy": lambda: OptimalStopper(mixed()),
    "static": lambda: StaticStopper(UNIFORMS, 1.0),
    "single threshold": lambda: SingleThresholdStopper(UNIFORMS, 1.0),
}


@pytest.fixture(params=STOPPERS.values(), ids=STOPPERS.keys())
def stopper(request):
    return request.param()


def _quiet(stopper):
    """Return the report that does not stop at this round, where its channel can send one."""
    return Report(stopper.round, int(stopper.channel.case == "accept"))


def _until(stopper, case):
    while stopper.round <= stopper.horizon and stopper.channel.case != case:
        stopper.learn_one(_quiet(stopper))
        if stopper.stopped:
            pytest.skip(f"this plan takes somebody for certain before its first {case}")
    return stopper


def test_waiting_gives_the_channel_of_the_round(stopper):
    assert stopper.channel == stopper.plan[1]
    assert stopper.channel.round == stopper.round == 1
    assert not stopper.stopped


def test_predicting_changes_nothing(stopper):
    _until(stopper, "ask")
    before = stopper.state_dict()
    for bit in (0, 1, 1, 0):
        assert stopper.predict_one(Report(stopper.round, bit)) is (bit == 1)
    assert stopper.state_dict() == before


def test_a_zero_advances_and_a_one_stops(stopper):
    _until(stopper, "ask")
    before = stopper.round
    stopper.learn_one(Report(before, 0))
    assert (stopper.round, stopper.stopped) == (before + 1, False)
    other = _until(stopper.clone(), "ask")
    other.learn_one(Report(other.round, 1))
    assert (other.round, other.stopped) == (before, True)


def test_learning_returns_none(stopper):
    assert stopper.learn_one(_quiet(stopper)) is None


@pytest.mark.parametrize("offset", [-1, 1, 100])
def test_a_report_for_another_round_is_refused(stopper, offset):
    before = stopper.state_dict()
    for call in (stopper.predict_one, stopper.learn_one):
        with pytest.raises(ReportError, match="waits for round 1"):
            call(Report(1 + offset, 0))
    assert stopper.state_dict() == before


@pytest.mark.parametrize("bit", [2, -1, 0.5, 1.0, "1", None, math.nan, True, [1], np.array(1)])
def test_a_bit_is_0_or_1(stopper, bit):
    _until(stopper, "ask")
    before = stopper.state_dict()
    for call in (stopper.predict_one, stopper.learn_one):
        with pytest.raises(ReportError, match="must be 0 or 1"):
            call(Report(stopper.round, bit))
    assert stopper.state_dict() == before


@pytest.mark.parametrize("x", [None, 1, (1, 1, "a"), {"round": 1, "bit": 1}])
def test_only_a_report_is_a_report(stopper, x):
    for call in (stopper.predict_one, stopper.learn_one):
        with pytest.raises(ReportError, match="must be a Report"):
            call(x)


@pytest.mark.parametrize("case", ["accept", "skip"])
def test_a_bit_the_channel_cannot_send_is_refused(case):
    stopper = LDPOptimalStopper([1.0, 0.5] if case == "accept" else [0.5, 1.0], 1.0)
    wrong = Report(1, int(case == "skip"))
    for call in (stopper.predict_one, stopper.learn_one):
        with pytest.raises(ReportError, match="follow the plan"):
            call(wrong)
    assert stopper.round == 1


def test_past_the_horizon():
    stopper = LDPOptimalStopper([0.0, 0.0], 1.0)  # nobody is worth taking
    stopper.learn_one(Report(1, 0))
    stopper.learn_one(Report(2, 0))
    assert (stopper.round, stopper.stopped) == (3, False)
    before = stopper.state_dict()
    for call in (stopper.predict_one, stopper.learn_one):
        with pytest.raises(HorizonError, match="all 2 rounds"):
            call(Report(3, 0))
    with pytest.raises(HorizonError):
        _ = stopper.channel
    assert stopper.state_dict() == before


def test_stopping_is_absorbing(stopper):
    _until(stopper, "ask")
    stopper.learn_one(Report(stopper.round, 1))
    before = stopper.state_dict()
    assert stopper.channel == Channel.constant(stopper.round, bit=0)
    for report in (Report(stopper.round, 1), Report(99, 1), Report(1, 7)):
        assert stopper.predict_one(report) is False
        stopper.learn_one(report)
    assert stopper.state_dict() == before


def test_a_clone_is_fresh_and_built_alike(stopper):
    _until(stopper, "ask")
    stopper.learn_one(Report(stopper.round, 1))
    fresh = stopper.clone()
    assert (fresh.round, fresh.stopped) == (1, False)
    assert fresh.plan == stopper.plan
    assert stopper.stopped
    assert stopper.clone(include_attributes=True).stopped


def test_a_clone_takes_new_parameters():
    stopper = LDPOptimalStopper(UNIFORMS, 1.0)
    assert stopper.clone({"epsilon": 2.0}).value == LDPOptimalStopper(UNIFORMS, 2.0).value
    assert stopper.epsilon == 1.0


def test_arguments_are_stored_under_their_names():
    stopper = SingleThresholdStopper(UNIFORMS, 1.0, "half-max")
    assert (stopper.priors, stopper.epsilon, stopper.threshold) == (UNIFORMS, 1.0, "half-max")


def test_state_survives_and_continues_alike(stopper):
    _until(stopper, "ask")
    stopper.learn_one(Report(stopper.round, 0))
    restored = state.loads(state.dumps(stopper), stopper.clone())
    assert restored.state_dict() == stopper.state_dict()
    assert copy.deepcopy(restored).channel == stopper.channel


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 99}, "newer than"),
        ({"format": 0}, ">= 1"),
        ({"body": {"round": 11, "stopped": True}}, "round must lie in 1..10"),
        ({"kind": "StaticStopper"}, "belongs to a StaticStopper, not to this LDPOptimalStopper"),
        ({"kind": "os.system"}, "unknown kind"),
        ({"parameters": "0"}, "parameters 0"),
        ({"body": {"round": 0, "stopped": False}}, "round must lie in 1..10"),
        ({"body": {"round": 12, "stopped": False}}, "round must lie in 1..10"),
        ({"body": {"round": "1", "stopped": False}}, "malformed"),
        ({"body": {"round": 1}}, "malformed"),
        ({"body": {"round": 1, "stopped": False, "more": 1}}, "malformed"),
        ({"more": 1}, "malformed"),
    ],
)
def test_a_foreign_state_is_refused_and_changes_nothing(change, words):
    stopper = LDPOptimalStopper(UNIFORMS, 1.0)
    stopper.learn_one(Report(1, 0))
    before = stopper.state_dict()
    with pytest.raises(StateError, match=words):
        stopper.load_state_dict(before | change)
    assert stopper.state_dict() == before


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, "null"])
def test_what_is_no_state_is_refused(data):
    with pytest.raises(StateError, match=r"not a saved state|malformed"):
        state.loads(data, LDPOptimalStopper(UNIFORMS, 1.0))


def test_a_state_of_other_priors_is_refused():
    saved = LDPOptimalStopper(UNIFORMS, 1.0).state_dict()
    with pytest.raises(StateError, match="arguments it was saved with"):
        LDPOptimalStopper(UNIFORMS, 1.1).load_state_dict(saved)


def test_two_classes_cannot_share_a_kind():
    with pytest.raises(StateError, match="already belongs"):
        state.register("LDPOptimalStopper")(type("Impostor", (LDPOptimalStopper,), {}))


def test_a_repr_shows_no_logged_value():
    log = np.array([123456.789, 98765.4321])
    for stopper in (LDPOptimalStopper([log, log], 1.0), StaticStopper([log, log], 1.0)):
        for text in (repr(stopper), str(stopper), repr(stopper.plan), repr(stopper.guarantee)):
            assert "123456" not in text
            assert "98765" not in text


def test_the_guarantee_is_what_the_plan_spends():
    stopper = LDPOptimalStopper(UNIFORMS, 1.0)
    assert stopper.guarantee == Guarantee.local(stopper.plan.epsilon)
    assert 0.999 < stopper.guarantee.epsilon <= 1.0
