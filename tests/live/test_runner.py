"""A run comes to what an undisturbed run comes to: whatever is sent twice, comes late, is malformed or killed."""

from __future__ import annotations

import contextlib
import itertools
import json
import random

import livestreams
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import Key
from streamlearn.agents import CandidateReplacementPredictor, LDPOptimalStopper
from streamlearn.errors import ParameterError, StateError, StreamlearnError
from streamlearn.hypotheses import Thresholds
from streamlearn.live import Runner, Store

SECRET = "0.73519"  # noqa: S105 - somebody's value, that must not come out anywhere

KINDS = {
    "stopper": (livestreams.stopper, livestreams.reports(6)),
    "predictor": (livestreams.predictor, livestreams.examples(3, 30)),
}


def new_runner(factory=livestreams.stopper, **options):
    return Runner(factory, Store(":memory:", run="test"), **options)


def letters(runner):
    return [msgspec.json.decode(it.payload) for it in runner.store.unpublished(1000) if it.channel == "dead"]


# --- what is decided


def test_a_stopper_decides_once_as_it_would_alone():
    bodies = livestreams.reports(40)
    runner = new_runner()
    decided = {it.key: it for it in runner.process(livestreams.numbered(bodies))}
    for key in {body["key"] for body in bodies}:
        mine = [body for body in bodies if body["key"] == key]
        first = next(body for body in mine if body["bit"] == 1)
        found = decided.pop(key)
        assert (found.take, found.round, found.event_id) == (True, first["round"], first["event_id"])
    assert decided == {}
    counts = runner.store.counters()
    assert counts["decisions"] == 40
    assert counts["reports"] + counts["after_decision"] == len(bodies)


def test_nobody_taken_is_a_decision_too():
    agent = livestreams.OnlyAsking(2)
    runner = new_runner(lambda _: agent.clone())
    decided = runner.process(
        livestreams.numbered(
            [{"key": "a", "round": number, "bit": 0, "event_id": f"e{number}"} for number in (1, 2)]
        )
    )
    assert [(it.take, it.round, it.event_id) for it in decided] == [(False, 2, "e2")]


def test_predictions_are_those_of_a_replay():
    rounds = [(x, x >= 37) for x in random.Random(5).choices(range(100), k=300)]
    bodies = []
    for number, (x, y) in enumerate(rounds):
        bodies += [
            {"key": "a", "event_id": f"e{number}", "x": x},
            {"key": "a", "event_id": f"e{number}", "y": y},
        ]
    runner = new_runner(livestreams.predictor)
    decided = runner.process(livestreams.numbered(bodies))
    agent = livestreams.predictor("a")
    expected = []
    for number, (x, y) in enumerate(rounds):
        expected.append(agent.predict_one(x, round=number))
        agent.learn_one(x, y, round=number)
    assert [it.prediction for it in decided] == expected
    saved = msgspec.json.decode(runner.store.session("a"))
    assert saved["agent"] == agent.state_dict()
    assert 0 < sum(expected) < 300


def test_instance_and_label_in_one_message_are_asked_before_they_teach():
    apart, together = new_runner(livestreams.predictor), new_runner(livestreams.predictor)
    rounds = list(enumerate(random.Random(6).choices(range(100), k=100)))
    one = [{"key": "a", "event_id": f"e{i}", "x": x, "y": int(x >= 50)} for i, x in rounds]
    two = [part for body in one for part in ({**body, "y": None}, {**body, "x": None})]
    first, second = apart.process(livestreams.numbered(two)), together.process(livestreams.numbered(one))
    assert first == second
    assert apart.store.session("a") == together.store.session("a")


# --- whatever happens on the way


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("most_agents", [1, 2, 1000])
def test_batches_and_evictions_change_nothing(kind, batch, most_agents):
    factory, bodies = KINDS[kind]
    messages = livestreams.numbered(bodies)
    whole = livestreams.outcome(livestreams.run_whole(factory, messages))
    cut = livestreams.outcome(livestreams.run_whole(factory, messages, batch=batch, most_agents=most_agents))
    assert cut == whole


WRITES = ("execute", "session", "save_sessions", "advance", "send", "count", "spend")


class KilledError(BaseException):
    """Nobody catches it, as nobody catches a kill."""


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(seed=st.integers(0, 10**9))
def test_a_run_killed_anywhere_comes_to_the_same(kind, seed):
    draw = random.Random(seed)
    factory, bodies = KINDS[kind]
    messages = livestreams.numbered(bodies)
    store = Store(":memory:", run="test")
    begun = 0
    while begun < len(messages):
        runner = Runner(factory, store)
        size = draw.randint(1, 40)
        lethal = killing(store, after=draw.randint(1, 60))
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(KilledError):
            for name, method in lethal.items():
                patch.setattr(store, name, method)
            runner.process(messages[begun : begun + size])
        (begun,) = store.positions().get("log", (0,))
    assert livestreams.outcome(store) == livestreams.outcome(livestreams.run_whole(factory, messages))


def killing(store, after):
    """Let the run die at the given write or read of its store."""
    left = itertools.count(after, -1)

    def wrapped(plain):
        def call(*arguments):
            if next(left) <= 0:
                raise KilledError
            return plain(*arguments)

        return call

    return {name: wrapped(getattr(store, name)) for name in WRITES}


@settings(max_examples=60)
@given(data=st.data())
def test_reports_sent_twice_and_out_of_order_come_to_the_same(data):
    bodies = livestreams.reports(4, seed=data.draw(st.integers(0, 5)))
    copies = data.draw(st.lists(st.sampled_from(range(len(bodies))), max_size=20))
    sent = data.draw(st.permutations([*range(len(bodies)), *copies]))
    store = livestreams.run_whole(
        livestreams.stopper, livestreams.numbered([bodies[i] for i in sent]), batch=5
    )
    whole = livestreams.run_whole(livestreams.stopper, livestreams.numbered(bodies))
    assert {it.payload for it in store.unpublished(1000)} == {it.payload for it in whole.unpublished(1000)}
    assert store.ledger() == whole.ledger()
    assert [ended(state) for _, state in store.sessions()] == [ended(state) for _, state in whole.sessions()]
    assert "dead_letters" not in store.counters()


def ended(state):
    return msgspec.json.decode(state)["agent"]


@settings(max_examples=60)
@given(data=st.data())
def test_examples_sent_twice_change_nothing(data):
    bodies = KINDS["predictor"][1]
    copies = sorted(
        data.draw(st.lists(st.tuples(st.sampled_from(range(len(bodies))), st.integers(0, 50)), max_size=30))
    )
    sent = sorted([(i, 0, i) for i in range(len(bodies))] + [(i + later, 1, i) for i, later in copies])
    store = livestreams.run_whole(
        livestreams.predictor, livestreams.numbered([bodies[i] for _, _, i in sent]), batch=9
    )
    assert livestreams.outcome(store) == livestreams.outcome(
        livestreams.run_whole(livestreams.predictor, livestreams.numbered(bodies))
    )
    assert store.counters().get("duplicates", 0) == len(copies)


def test_a_batch_handed_over_again_is_passed_over():
    bodies = livestreams.reports(3)
    runner = new_runner()
    decided = runner.process(livestreams.numbered(bodies))
    before = livestreams.outcome(runner.store)
    assert runner.process(livestreams.numbered(bodies)) == []
    assert livestreams.outcome(runner.store) == before
    assert decided
    assert runner.store.counters()["redelivered"] == len(bodies)


@settings(max_examples=25)
@given(data=st.data())
def test_a_group_hands_messages_out_again_after_newer_ones(tmp_path_factory, data):
    """Two processes with one store: each message comes to either, or to both, in any order."""
    bodies = livestreams.reports(4, seed=3)
    messages = [livestreams.message(i, body, ordered=False) for i, body in enumerate(bodies)]
    order = data.draw(st.permutations([*range(len(messages)), *range(0, len(messages), 3)]))
    who = data.draw(st.lists(st.integers(0, 1), min_size=len(order), max_size=len(order)))
    path = tmp_path_factory.mktemp("group") / "run.db"
    with Store(path, run="test", durability="normal") as one, Store(path, durability="normal") as two:
        runners = [Runner(livestreams.stopper, one), Runner(livestreams.stopper, two)]
        for position, process in zip(order, who, strict=True):
            runners[process].process([messages[position]])
        whole = livestreams.run_whole(livestreams.stopper, livestreams.numbered(bodies))
        assert {it.payload for it in one.unpublished(1000)} == {it.payload for it in whole.unpublished(1000)}
        assert one.ledger() == whole.ledger()
        assert one.counters()["redelivered"] == len(range(0, len(messages), 3))


def test_what_a_group_processed_stays_known_in_little_room():
    runner = new_runner()
    messages = [
        livestreams.message(i, {"key": "a", "round": i, "bit": 0}, ordered=False) for i in (1, 2, 3, 4)
    ]

    def ahead():
        return runner.store.execute("SELECT count(*) FROM ahead").fetchone()[0]

    runner.process(messages[1:3])
    assert runner.store.processed(messages) == {("log", (2,)), ("log", (3,))}
    assert ahead() == 2
    for position, left in ((2, 1), (1, 1), (3, 0)):  # told late, in between: it never goes back
        runner.store.acknowledged({"log": (position,)})
        runner.store.flush()
        assert ahead() == left
        assert runner.store.processed(messages) == {("log", (i,)) for i in (1, 2, 3)}
    assert runner.store.positions() == {"log": (3,)}


def test_a_partition_that_a_group_has_read_may_be_read_alone_and_the_other_way_round():
    bodies = livestreams.reports(4)
    alone = livestreams.numbered(bodies)
    shared = [it._replace(ordered=False) for it in alone]
    store = Store(":memory:", run="test")
    runner = Runner(livestreams.stopper, store)
    runner.process(shared[2:6])
    store.acknowledged({"log": alone[3].position})
    runner.process(shared[7:9])
    runner.process(alone[4:12])
    runner.process(shared[10:])
    runner.process([*shared[:2], *alone])  # the group had nothing left there
    whole = livestreams.run_whole(livestreams.stopper, alone[2:])
    assert livestreams.outcome(store) == livestreams.outcome(whole)
    counts = store.counters()
    assert counts.pop("redelivered") == 4 + 2 + 2 + len(bodies)
    assert counts == whole.counters()


# --- labels late, early, missing


def test_labels_may_come_late_early_or_never():
    runner = new_runner(livestreams.predictor, most_open=2)

    def send(**body):
        position = runner.store.positions().get("log", (0,))[0] + 1
        return runner.process([livestreams.message(position, {"key": "a", **body})])

    send(event_id="e1", y=1)  # before its instance
    send(event_id="e1", y=0)  # twice: the first one counts
    assert runner.store.counters() == {"early": 1, "duplicates": 1}
    (first,) = send(event_id="e1", x=50)
    assert first.event_id == "e1"
    assert runner.store.counters()["labels"] == 1
    for name in ("e2", "e3", "e4"):  # no label comes; the third has the first given up
        assert len(send(event_id=name, x=10)) == 1
    assert runner.store.counters()["given_up"] == 1
    send(event_id="e2", y=1)
    assert runner.store.counters()["labels"] == 1
    assert runner.store.counters()["duplicates"] == 2
    send(event_id="e4", y=0)
    send(event_id="e3", y=0)
    assert runner.store.counters()["labels"] == 3
    assert send(event_id="e3", x=10) == []  # ended, and still known
    agent = livestreams.predictor("a")
    for number, (x, y) in enumerate([(50, True), (10, None), (10, False), (10, False)]):
        agent.predict_one(x, round=number)
        if number == 0:
            agent.learn_one(x, y, round=0)
    agent.give_up(1)
    agent.learn_one(10, False, round=3)
    agent.learn_one(10, False, round=2)
    assert ended(runner.store.session("a")) == agent.state_dict()


def test_early_labels_are_bounded():
    runner = new_runner(livestreams.predictor, most_open=2)
    runner.process(livestreams.numbered([{"key": "a", "event_id": f"e{i}", "y": 1} for i in range(4)]))
    assert runner.store.counters() == {"early": 2, "dead_letters": 2}
    assert "2 labels of this key came before their instances" in letters(runner)[0]["reason"]


def test_an_agents_own_bound_on_late_labels_is_kept():
    agent = CandidateReplacementPredictor(
        Thresholds(4), epsilon=1.0, delta=1e-3, key=Key.from_seed(1), max_delay=1
    )
    runner = new_runner(lambda _: agent.clone())
    bodies = [{"key": "a", "event_id": f"e{i}", "x": i % 4} for i in range(5)]
    runner.process(livestreams.numbered([*bodies, {"key": "a", "event_id": "e0", "y": 1}]))
    assert runner.store.counters() == {"predictions": 5, "late": 1}


def test_only_so_many_ended_events_are_remembered():
    runner = new_runner(livestreams.predictor, remember=10)
    bodies = [{"key": "a", "event_id": f"e{i}", "x": i, "y": 0} for i in range(30)]
    runner.process(livestreams.numbered(bodies))
    kept = runner.store.execute("SELECT count(*) FROM events").fetchone()[0]
    assert kept <= 10
    assert runner.process([livestreams.message(100, bodies[29])]) == []
    assert len(runner.process([livestreams.message(101, bodies[0])])) == 1


# --- messages that cannot be used

REPORT = {"key": "a", "round": 2, "bit": 0, "event_id": "e"}
REFUSED = {
    "not JSON": (SECRET.encode() + b"}", "Expected `object`"),
    "cut short": (b'{"key": "a", "round": 1, "value": ' + SECRET.encode(), "truncated"),
    "not quite JSON": (b'{"key": "a", "round": 1, "value": ' + SECRET.encode() + b"x}", "malformed"),
    "not UTF-8": (b'{"key": "\xff"}', "UTF-8"),
    "a list": ([SECRET], "Expected `object`"),
    "a value for a bit": ({**REPORT, "bit": float(SECRET)}, "$.bit"),
    "a bit of 2": ({**REPORT, "bit": 2}, "$.bit"),
    "a bit as text": ({**REPORT, "bit": SECRET}, "$.bit"),
    "no bit": ({"key": "a", "round": 1, "value": SECRET}, "bit"),
    "no round": ({"key": "a", "bit": 1, "value": SECRET}, "round"),
    "round 0": ({**REPORT, "round": 0}, "$.round"),
    "a round past the horizon": ({**REPORT, "round": 73519}, "past the horizon, 5"),
    "a huge round": ({**REPORT, "round": 10**30}, "past the horizon, 5"),
    "no key": ({"round": 1, "bit": 0, "value": SECRET}, "no key"),
    "an empty key": ({**REPORT, "key": ""}, "$.key"),
    "a long key": ({**REPORT, "key": SECRET * 200}, "512"),
    "a long event id": ({**REPORT, "event_id": SECRET * 200}, "512"),
    "a long message": (b'{"key":"' + SECRET.encode() * 200_000, "longer than"),
    "nested deeply": (b'{"key":"a","round":1,"bit":0,"more":' + b"[" * 100_000, "nested"),
    "the constant channel's other bit": ({**REPORT, "round": 1, "bit": 1}, "constant"),
    "the same of a round to come": ({**REPORT, "round": 5, "bit": 0}, "constant"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_message_that_cannot_be_used_is_buried_and_blocks_nothing(name):
    body, reason = REFUSED[name]
    bodies = livestreams.reports(3)
    sent = [*bodies[:4], body, *bodies[4:]]
    runner = new_runner()
    decided = runner.process(livestreams.numbered(sent))
    whole = livestreams.run_whole(livestreams.stopper, livestreams.numbered(bodies))
    assert list(runner.store.sessions()) == list(whole.sessions())
    assert len(decided) == 3
    (letter,) = letters(runner)
    assert letter["partition"], letter["position"] == ("log", [5])
    assert reason in letter["reason"]
    assert SECRET.removeprefix("0.") not in json.dumps(letter)
    assert runner.store.counters()["dead_letters"] == 1


def test_a_second_answer_to_a_round_is_buried_and_a_repeated_one_counted():
    runner = new_runner()
    report = {"key": "a", "round": 2, "bit": 0, "event_id": "e2"}
    runner.process(
        livestreams.numbered(
            [
                {"key": "a", "round": 1, "bit": 0, "event_id": "e1"},
                report,
                report,
                {**report, "event_id": "another"},
                {**report, "round": 4, "event_id": "e4"},
                {**report, "round": 4, "event_id": "e4"},
                {**report, "round": 4, "event_id": "another"},
            ]
        )
    )
    counts = runner.store.counters()
    assert counts == {"reports": 2, "duplicates": 2, "early": 1, "dead_letters": 2}
    assert [letter["position"] for letter in letters(runner)] == [[4], [7]]


EXAMPLE = {"key": "a", "event_id": "e", "x": 5}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"key": "a", "event_id": "e", "other": SECRET}, "neither x nor y"),
        ({"key": "a", "x": SECRET}, "event_id"),
        ({**EXAMPLE, "y": SECRET}, "$.y"),
        ({**EXAMPLE, "y": 2}, "$.y"),
        ({**EXAMPLE, "y": float(SECRET)}, "$.y"),
        ({**EXAMPLE, "x": {"a": {"b": SECRET}}}, "object within"),
        ({**EXAMPLE, "event_id": ""}, "$.event_id"),
    ],
)
def test_an_example_that_cannot_be_used_is_buried(body, reason):
    runner = new_runner(livestreams.predictor)
    assert runner.process(livestreams.numbered([body])) == []
    (letter,) = letters(runner)
    assert reason in letter["reason"]
    assert SECRET not in json.dumps(letter)
    assert list(runner.store.sessions()) in ([], [("a", runner.store.session("a"))])


def picky(key):
    return livestreams.Picky(Thresholds(100), 0.5, Key.from_seed(1).derive(key))


def test_an_agent_that_fails_half_way_leaves_no_trace_of_the_message():
    bodies = [body for body in livestreams.examples(2, 40, seed=2) if body.get("x") != 66]
    poison = [
        {"key": "site 0", "event_id": "p1", "x": 66, "y": 1},
        {"key": "site 1", "event_id": "p2", "x": {"a": 1}},
        {"key": "new", "event_id": "p3", "x": {"a": 1}},
    ]
    sent = [*bodies[:10], poison[0], *bodies[10:20], *poison[1:], *bodies[20:]]
    runner = new_runner(picky)
    runner.process(livestreams.numbered(sent))
    whole = livestreams.run_whole(picky, livestreams.numbered(bodies))
    assert list(runner.store.sessions()) == list(whole.sessions())
    assert runner.store.ledger() == whole.ledger()
    reasons = [letter["reason"] for letter in letters(runner)]
    assert reasons == [
        "the agent refuses it with RuntimeError",  # whatever else it says may be private
        *["the agent refuses it with InstanceError: x must be a number"] * 2,
    ]
    assert runner.store.execute("SELECT count(*) FROM events WHERE event_id LIKE 'p%'").fetchone() == (0,)


def test_a_full_disk_buries_nothing_and_the_batch_can_be_given_again(tmp_path):
    store = Store(tmp_path / "run.db", run="test")
    runner = Runner(livestreams.predictor, store)
    messages = livestreams.numbered([{"key": "a", "event_id": f"e{i}", "x": i, "y": 1} for i in range(2000)])
    store.execute("PRAGMA max_page_count = 20")
    with pytest.raises(StreamlearnError, match=r"run\.db.*full.*free space"):
        runner.process(messages)
    assert store.positions() == {}
    store.execute("PRAGMA max_page_count = 1000000")
    assert len(runner.process(messages)) == 2000
    assert "dead_letters" not in store.counters()
    store.close()


# --- what belongs together


def test_a_store_of_other_agents_is_refused():
    store = Store(":memory:")
    Runner(livestreams.stopper, store)
    with pytest.raises(StateError, match=r"belongs to a LDPOptimalStopper.*this is a LDPOptimalStopper"):
        Runner(lambda _: LDPOptimalStopper([1.0, 0.5], epsilon=1.0), store)
    with pytest.raises(StateError, match="this is a SubsampledSOA"):
        Runner(livestreams.predictor, store)
    Runner(livestreams.stopper, store)


def test_what_is_no_agent_is_refused():
    with pytest.raises(StateError, match="Stopper or a Predictor, got object"):
        new_runner(lambda _: object())


@pytest.mark.parametrize("name", ["most_agents", "most_open", "remember"])
@pytest.mark.parametrize("bound", [0, -1, 1.5, True])
def test_bounds_are_checked(name, bound):
    with pytest.raises(ParameterError, match=f"{name} must be a whole number >= 1"):
        new_runner(**{name: bound})


def test_memory_holds_only_so_many_agents():
    runner = new_runner(most_agents=3)
    runner.process(livestreams.numbered(livestreams.reports(10)))
    assert len(runner._sessions) == 3


def test_the_field_of_the_key_can_be_named_and_the_brokers_key_stands_in():
    runner = new_runner(key_field="job")
    runner.process(
        [
            livestreams.message(1, {"job": "a", "round": 1, "bit": 0}),
            livestreams.message(2, {"round": 1, "bit": 0}, key="b"),
            livestreams.message(3, {"key": "c", "round": 1, "bit": 0}),
        ]
    )
    assert [key for key, _ in runner.store.sessions()] == ["a", "b"]
    with pytest.raises(ParameterError, match="key_field"):
        new_runner(key_field="bit")


def test_the_ledger_counts_what_was_asked_at_its_price():
    bodies = livestreams.reports(20)
    runner = new_runner()
    runner.process(livestreams.numbered(bodies))
    ledger = runner.store.ledger()
    plan = livestreams.STOPPER.plan
    assert {(mechanism, number) for mechanism, number, _, _ in ledger} == {
        (plan.digest, i) for i in (2, 3, 4)
    }
    assert all(epsilon == plan[number].realised_epsilon for _, number, epsilon, _ in ledger)
    stopped = {it["key"]: it["round"] for it in map(msgspec.json.decode, outbox(runner))}
    assert {number: count for _, number, _, count in ledger} == {
        i: sum(stop >= i for stop in stopped.values()) for i in (2, 3, 4)
    }
    assert runner.summary.answers == {plan.digest: sum(answers for *_, answers in ledger)}
    assert runner.summary.epsilon == max(epsilon for _, _, epsilon, _ in ledger)


def outbox(runner):
    return [it.payload for it in runner.store.unpublished(1000) if it.channel == "decision"]


def test_a_brokers_key_is_held_to_the_length_of_any_key():
    runner = new_runner()
    body = {"round": 1, "bit": 0}
    messages = [livestreams.message(i, body, key="k" * (511 + i)) for i in (1, 2)]
    runner.process(messages)
    assert [key for key, _ in runner.store.sessions()] == ["k" * 512]
    (letter,) = letters(runner)
    assert (
        letter["reason"]
        == "its broker's key is longer than 512 characters; name a shorter one in the message"
    )


def test_a_round_too_far_ahead_is_not_kept():
    agent = livestreams.OnlyAsking(5000)
    runner = new_runner(lambda _: agent.clone())
    report = {"key": "a", "bit": 0}
    runner.process(livestreams.numbered([{**report, "round": number} for number in (1, 1002, 1003)]))
    assert runner.store.counters() == {"reports": 1, "early": 1, "dead_letters": 1}
    assert letters(runner)[0]["reason"] == "round is more than 1000 ahead of round 2, which is awaited"
