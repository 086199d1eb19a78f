"""A part that fails in the middle of a round: its error comes through, and nothing more until a state is loaded."""

from __future__ import annotations

import copy
import pickle

import livestreams
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.base import Classifier

from streamlearn import Guarantee, Key, state
from streamlearn.agents import SOA, Combine, Replacement
from streamlearn.errors import RoundError, StateError
from streamlearn.hypotheses import Thresholds
from streamlearn.live import Runner, Store
from streamlearn.prediction import Predictor
from streamlearn.rounds import Rounds

KEY = Key.from_seed(3)
LATE = 2
OPS = ("_predict", "_learn", "give_up")


class PartError(Exception):
    """What a part raises."""


class Part(Predictor):
    """Of streamlearn's kind: says whether an odd number of labels were 1, and fails when it is told to."""

    kind = "Part"
    parameters_digest = "part"

    def __init__(self):
        self._unlearned()
        self.seen = []
        self.fails = None

    guarantee = Guarantee("joint", 0.0, 0.0, "event")

    def at(self, place):
        if self.fails == place:
            raise PartError(place)

    def _predict(self, x):
        self.at("_predict")
        return sum(y for _, y in self.seen) % 2 == x % 2

    def _learn(self, x, y, round):  # noqa: A002, ARG002
        self.at("_learn")
        self.seen.append([x, y])

    def give_up(self, round):  # noqa: A002
        self.at("give_up")
        super().give_up(round)

    def state_dict(self):
        return {"seen": list(self.seen), "rounds": msgspec.to_builtins(self._rounds.state())}

    def load_state_dict(self, state):
        self.seen = [list(it) for it in state["seen"]]
        self._rounds = Rounds.restored(msgspec.convert(state["rounds"], type(self._rounds.state())))


class Stranger(Classifier):
    """Not of streamlearn's kind."""

    def __init__(self):
        self.seen = []
        self.fails = None

    at = Part.at
    predict_one = Part._predict

    def learn_one(self, x, y):
        self._learn(x, y, None)

    _learn = Part._learn


def combine(first=Part, second=Part):
    return Combine(first(), second(), D=1, key=KEY, max_delay=LATE)


def replacement(first=Part, second=Part):
    shape = {"epsilon": 8.0, "delta": 0.09, "key": KEY, "max_delay": LATE}
    return Replacement(first(), second(), 1, **shape)


def nested():
    return Combine(combine(), SOA(Thresholds(4)), D=1, key=KEY.derive("outer"), max_delay=LATE)


def calls(agent):
    return [
        lambda: agent.predict_one(1),
        lambda: agent.predict_one(1, round=0),
        lambda: agent.predict_one(1, round=10**6),
        lambda: agent.predict_proba_one(1),
        lambda: agent.learn_one(1, True),
        lambda: agent.learn_one(1, True, round=0),
        lambda: agent._taught(1, True),
        lambda: agent.give_up(0),
        agent.state_dict,
        lambda: state.dumps(agent),
    ]


def test_all_is_refused_with_the_part_named_and_a_remedy():
    agent = combine()
    agent.predict_one(1, round=0)
    saved, kept = agent.state_dict(), pickle.dumps(agent)
    agent.second.fails = "_learn"
    with pytest.raises(PartError, match="_learn"):
        agent.learn_one(1, True, round=0)
    agent.second.fails = None
    assert (agent.first.seen, agent.second.seen) == ([[1, True]], [])
    copies = [agent, copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]  # noqa: S301 - written here
    for each in copies:
        for call in calls(each):
            with pytest.raises(
                StateError,
                match=r"^second, a Part, failed in the middle of a round.*; load the last state of this ",
            ):
                call()
        with pytest.raises(StateError, match="malformed state"):
            each.load_state_dict({})
        with pytest.raises(StateError, match="second, a Part"):  # as before
            each.state_dict()
    agent.load_state_dict(saved)
    assert state.dumps(agent) == state.dumps(pickle.loads(kept))  # noqa: S301 - written here
    agent.learn_one(1, True, round=0)
    assert agent.first.seen == agent.second.seen == [[1, True]]
    assert agent.clone().predict_one(1) in {True, False}


def attempts(agent):
    """What reaches parts: asking and teaching with a number and without, and giving up by hand and for another."""
    return {
        "asked": lambda: agent.predict_one(1, round=7),
        "taught": lambda: agent.learn_one(1, True),
        "told": lambda: agent.learn_one(1, True, round=0),
        "given up": lambda: agent.give_up(0),
        "too late": lambda: agent.predict_one(1, round=9),
    }


@pytest.mark.parametrize("make", [combine, replacement])
@pytest.mark.parametrize("kinds", [(Part, Part), (Part, Stranger), (Stranger, Part), (Stranger, Stranger)])
@pytest.mark.parametrize("failing", ["first", "second"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("attempt", ["asked", "taught", "told", "given up", "too late"])
def test_whatever_fails_either_nothing_has_changed_or_nothing_goes_on(make, kinds, failing, op, attempt):
    agent = make(*kinds)
    for number in range({"taught": 0, "too late": LATE + 1}.get(attempt, 1)):
        agent.predict_one(1, round=number)
    getattr(agent, failing).fails = op
    before = pickle.dumps(agent)
    try:
        attempts(agent)[attempt]()
    except PartError:
        pass
    else:  # it was not reached
        assert (agent.first.seen == agent.second.seen) is True
        return
    if agent._failing is None:
        assert pickle.dumps(agent) == before
        assert type(getattr(agent, failing)) is Stranger
        getattr(agent, failing).fails = None
        attempts(agent)[attempt]()
        assert agent.first.seen == agent.second.seen
        return
    with pytest.raises(StateError, match=f"^{failing}, a "):
        agent.predict_one(2)
    changed = [part for part in (agent.first, agent.second) if type(part) is Part or part.seen]
    assert changed  # else it was refused for nothing


def test_a_stranger_that_is_taught_after_another_is_refused_too():
    agent = combine(Stranger, Stranger)
    agent.second.fails = "_learn"
    with pytest.raises(PartError):
        agent.learn_one(1, True)
    with pytest.raises(StateError, match="second, a Stranger, failed"):
        agent.predict_one(1)


def test_a_part_that_refuses_to_give_up_leaves_the_round_awaiting_its_label():
    agent = combine()
    agent.predict_one(1, round=0)
    agent.first.give_up(0)  # behind the back of the whole
    before = pickle.dumps(agent)
    with pytest.raises(RoundError):
        agent.give_up(0)
    assert pickle.dumps(agent) == before
    agent.first._rounds = Rounds.restored(agent.second._rounds.state())
    agent.learn_one(1, True, round=0)
    assert agent.first.seen == agent.second.seen == [[1, True]]


def test_a_round_that_a_part_had_before_is_refused_before_the_other_takes_it_in():
    agent = nested()
    agent.first.second.predict_one(1, round=5)
    agent.first.second.give_up(5)
    before = pickle.dumps(agent)
    with pytest.raises(RoundError, match="round 5 was answered before, or given up"):
        agent.predict_one(1, round=5)
    assert pickle.dumps(agent) == before
    agent.predict_one(1, round=6)
    swapped = Combine(SOA(Thresholds(4)), agent.first, D=1, key=KEY.derive("swapped"), max_delay=LATE)
    before = pickle.dumps(swapped)
    with pytest.raises(RoundError, match="round 5 was answered before, or given up"):
        swapped.predict_one(1, round=5)
    assert pickle.dumps(swapped) == before


def test_an_interrupt_is_a_failure_as_well():
    agent = combine(Stranger, Part)
    agent.first.at = lambda place: (_ for _ in ()).throw(KeyboardInterrupt) if place == "_learn" else None
    with pytest.raises(KeyboardInterrupt):
        agent.learn_one(1, True)
    with pytest.raises(StateError, match="first, a Stranger, failed"):
        agent.predict_one(1)


def test_a_whole_around_a_failed_one_is_refused_too_and_is_saved_and_restored_with_it():
    agent = nested()
    saved = agent.state_dict()
    agent.first.second.fails = "_learn"
    with pytest.raises(PartError):
        agent.learn_one(1, True)
    agent.first.second.fails = None
    for call in calls(agent):
        with pytest.raises(StateError, match="failed in the middle of a round"):
            call()
    agent.load_state_dict(saved)
    agent.learn_one(1, True)
    assert agent.first.first.seen == agent.first.second.seen == [[1, True]]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "show", "teach", "late", "give up", "save"]),
        st.integers(0, 3),
        st.booleans(),
        st.sampled_from([None] * 6 + [(part, op) for part in ("first", "second") for op in OPS]),
    ),
    max_size=40,
)


def step(agent, number, kind, x, y):
    """One step of a stream, in which ``number`` rounds were asked; what was answered."""
    try:
        if kind == "ask":
            return agent.predict_one(x, round=number)
        if kind == "show":
            return agent.predict_one(x)
        if kind == "teach":
            agent.learn_one(x, y)
        elif kind == "late":
            agent.learn_one(x, y, round=max(0, number - 1 - x))
        elif kind == "give up":
            agent.give_up(max(0, number - 1 - x))
    except RoundError:
        return "refused"
    return None


@settings(max_examples=150)
@given(STEPS, st.sampled_from([combine, replacement]))
def test_a_run_with_failures_answers_as_one_without(steps, make):
    """After each failure the run goes on from its last saved state: what is asked again is answered the same."""
    agent, twin = make(), make()
    saved, since = agent.state_dict(), []
    number = 0
    for kind, x, y, fault in steps:
        if kind == "save":
            saved, since = agent.state_dict(), []
            continue
        expected = step(twin, number, kind, x, y)
        if fault is not None:
            part, op = fault
            getattr(agent, part).fails = op
        try:
            found = step(agent, number, kind, x, y)
        except PartError:
            getattr(agent, fault[0]).fails = None
            if kind != "show":  # which changes nothing
                for call in calls(agent):
                    with pytest.raises(StateError, match=f"^{fault[0]}, a Part, failed"):
                        call()
                agent.load_state_dict(saved)
                assert [step(agent, *again) for *again, _ in since] == [answer for *_, answer in since]
            found = step(agent, number, kind, x, y)
        finally:
            agent.first.fails = agent.second.fails = None
        assert found == expected
        since.append((number, kind, x, y, found))
        number += kind == "ask"
        assert agent.first.seen == agent.second.seen
        assert state.dumps(agent) == state.dumps(twin)


def test_a_live_run_buries_the_message_and_never_saves_a_failed_session():
    def factory(key):
        agent = combine()
        agent.key = KEY.derive(key)
        learn = agent.second._learn

        def fussy(x, y, round):  # noqa: A002
            if x == 13:
                raise PartError
            learn(x, y, round)

        agent.second._learn = fussy
        return agent

    bodies = [
        {"key": key, "event_id": f"{t}", "x": 13 if t == 8 else t % 5, "y": t % 3 == 0}
        for t in range(20)
        for key in "ab"
    ]
    stores = []
    for batch in (1, 7, 1000):
        stores.append(Store(":memory:", run="test"))
        runner = Runner(factory, stores[-1])
        messages = livestreams.numbered(bodies)
        for start in range(0, len(messages), batch):
            runner.process(messages[start : start + batch])
    outcomes = [livestreams.outcome(store) for store in stores]
    for each in outcomes:
        each["outbox"].sort()  # in one batch decisions come before dead letters
    assert outcomes[0] == outcomes[1] == outcomes[2]
    dead = [it for it in stores[0].unpublished(1000) if it.channel == "dead"]
    assert len(dead) == 2
    for key, saved in outcomes[0]["sessions"]:
        restored = factory(key)
        restored.load_state_dict(msgspec.json.decode(saved)["agent"])
        assert len(restored.first.seen) == len(restored.second.seen) == 19
