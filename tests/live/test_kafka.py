"""Kafka: what is read and written, where it goes on, and what a lost broker comes to."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import defaultdict

import confluent_kafka
import kafkaserver
import livestreams
import pytest
import structlog

from streamlearn import telemetry
from streamlearn.errors import BrokerError, LostError, MissingExtraError, ParameterError, StreamlearnError
from streamlearn.live import Outgoing, Pump, Runner, Sink, Source, Store
from streamlearn.live.brokers import kafka, kafkasink

UNKNOWN_TOPIC_OR_PART, TOPIC_AUTHORIZATION_FAILED = 3, 29
DEADLINE = 60.0
CONFIDENTIAL = "0.73519"


@pytest.fixture(scope="module")
def server():
    with kafkaserver.KafkaServer() as server:
        yield server


@pytest.fixture(scope="module")
def names():
    return (f"topic{number}" for number in itertools.count())


@pytest.fixture
def topic(server, names):
    name = next(names)
    server.create(name, 2)
    return name


@pytest.fixture
def source(server, topic):
    source = kafka.Source(server.servers, [topic])
    yield source
    source.close()


@pytest.fixture(autouse=True)
def nothing_on_stderr(capfd):
    yield
    assert capfd.readouterr().err == ""


def fetched(source, count, most=1000):
    found, deadline = [], time.monotonic() + DEADLINE
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} messages came"
        some = source.fetch(most, patience=0.1)
        assert len(some) <= most
        found += some
    return found


def records(partition, count, first=0):
    return [(partition, f"k{partition}", b"%d" % number) for number in range(first, first + count)]


def positions(messages):
    found = defaultdict(list)
    for message in messages:
        found[message.partition].append(message.position)
    return dict(found)


# --- reading


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_each_partition_of_each_topic_comes_in_order_and_whole(server, topic, names, most):
    other = next(names)
    server.create(other, 1)
    server.send(topic, [*records(0, 20), *records(1, 10)])
    server.send(other, records(0, 5))
    source = kafka.Source(server.servers, [topic, other, topic])
    source.start({})
    found = fetched(source, 35, most)
    source.close()
    expected = {(topic, 0): 20, (topic, 1): 10, (other, 0): 5}
    assert positions(found) == {
        f"{name}/{number}": [(offset,) for offset in range(count)]
        for (name, number), count in expected.items()
    }
    assert all(it.data == b"%d" % it.position and it.key == f"k{it.partition[-1]}" for it in found)
    assert all(it.ordered for it in found)


def test_it_goes_on_after_the_stored_positions(server, topic, source):
    server.send(topic, [*records(0, 5), *records(1, 5)])
    source.start({f"{topic}/0": (2,), f"{topic}/1": (4,), "another/0": (1,)})
    assert positions(fetched(source, 2)) == {f"{topic}/0": [(3,), (4,)]}
    server.send(topic, records(1, 1))
    source.start({f"{topic}/0": (4,), f"{topic}/1": (4,)})
    assert positions(fetched(source, 1)) == {f"{topic}/1": [(5,)]}


def test_the_end_is_told_to_be_stored_and_kept_through_a_loss(server, topic):
    server.send(topic, records(0, 3))
    source = kafka.Source(server.servers, [topic], begin="end")
    begun = source.start({})
    assert begun == {f"{topic}/0": (2,), f"{topic}/1": ()}
    server.send(topic, records(0, 2))
    assert source.start(begun) == {}
    assert positions(fetched(source, 2)) == {f"{topic}/0": [(3,), (4,)]}
    source.close()


def test_it_begins_at_an_offset(server, topic):
    server.send(topic, [*records(0, 5), *records(1, 3)])
    source = kafka.Source(server.servers, [topic], begin="3")
    assert source.start({}) == {f"{topic}/0": (2,), f"{topic}/1": (2,)}
    assert positions(fetched(source, 2)) == {f"{topic}/0": [(3,), (4,)]}
    source.close()


@pytest.mark.parametrize("begin", ["beginning", "end"])
def test_partitions_added_later_are_read_from_their_beginning(server, topic, monkeypatch, begin):
    monkeypatch.setattr(kafka, "REFRESH", 0.0)
    source = kafka.Source(server.servers, [topic], begin=begin)
    source.start({})
    assert source.fetch(10, patience=0.0) == []
    server.delete(topic)
    server.create(topic, 4)
    server.send(topic, [*records(2, 3), *records(3, 1)])
    assert positions(fetched(source, 4)) == {f"{topic}/2": [(0,), (1,), (2,)], f"{topic}/3": [(0,)]}
    source.start({f"{topic}/2": (1,)})  # and again after a loss
    assert positions(fetched(source, 2)) == {f"{topic}/2": [(2,)], f"{topic}/3": [(0,)]}
    source.close()


def test_no_message_is_lost_while_the_brokers_are_slow_to_tell_of_partitions(
    server, topic, source, monkeypatch
):
    monkeypatch.setattr(kafka, "REFRESH", 0.0)
    server.send(topic, records(0, 50))
    source.start({})
    plain = source._asked

    def slow(question, where=None):
        failures = iter(range(20))

        def asked():
            if next(failures, None) is not None:
                raise confluent_kafka.KafkaException(
                    confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT)
                )
            return question()

        return plain(asked, where)

    monkeypatch.setattr(source, "_asked", slow)
    assert positions(fetched(source, 50, most=5)) == {f"{topic}/0": [(i,) for i in range(50)]}


def test_partitions_added_between_two_starts_are_read_from_their_beginning(server, topic):
    source = kafka.Source(server.servers, [topic], begin="end")
    begun = source.start({})
    server.delete(topic)
    server.create(topic, 3)
    server.send(topic, records(2, 2))
    assert source.start(begun) == {}
    assert positions(fetched(source, 2)) == {f"{topic}/2": [(0,), (1,)]}
    source.close()


def test_keys_and_tombstones(server, topic, source):
    value = b'{"round": 1, "bit": 0}'
    sent = [(0, "job ü", value), (0, None, value), (0, b"\xff", value), (0, "job 1", None), (0, "", value)]
    server.send(topic, sent)
    source.start({})
    found = fetched(source, len(sent))
    assert [it.key for it in found] == ["job ü", None, "\udcff", "job 1", ""]
    assert [it.data for it in found] == [value, value, value, b"", value]
    runner = Runner(livestreams.stopper, Store(":memory:", run="test"))
    runner.process(found)
    assert runner.store.counters() == {"dead_letters": 4, "reports": 1}
    reasons = [json.loads(it.payload)["reason"] for it in runner.store.unpublished(9) if it.channel == "dead"]
    assert [it.split()[:3] for it in reasons] == [
        ["no", "key:", "neither"],
        ["its", "broker's", "key"],
        ["empty:", "a", "tombstone,"],
        ["no", "key:", "neither"],
    ]


def test_lag_counts_what_waits(server, topic, source):
    server.send(topic, [*records(0, 5), *records(1, 3)])
    source.start({f"{topic}/1": (0,)})
    assert source.lag() is None
    left = 7
    while left:
        found = fetched(source, 1, most=1)
        left -= len(found)
        lag = source.lag()
        assert lag in {None, left}  # None until both partitions have answered
    assert lag == 0


def test_both_are_what_the_pump_needs(server, source):
    assert isinstance(source, Source)
    assert isinstance(kafka.Sink(server.servers, "decisions"), Sink)
    assert (source.ended, source.shared) == (False, False)


# --- what is refused


def test_a_topic_that_is_not_there_is_named_in_the_end(server, monkeypatch):
    source = kafka.Source(server.servers, ["nosuch"])
    for _ in range(2):
        with pytest.raises(BrokerError, match="does not know the topic 'nosuch' yet"):
            source.start({})
    monkeypatch.setattr(kafka, "TOPIC_PATIENCE", 0.0)
    with pytest.raises(StreamlearnError, match=r"nosuch.*create the topic") as caught:
        source.start({})
    assert not isinstance(caught.value, BrokerError)
    source.close()


def test_a_topic_may_come_late(server, names):
    name = next(names)
    source = kafka.Source(server.servers, [name])
    with pytest.raises(BrokerError):
        source.start({})
    server.create(name)
    server.send(name, records(0, 1))
    source.start({})
    assert len(fetched(source, 1)) == 1
    source.close()


def test_a_topic_that_is_taken_away_is_missed(server, topic, source, monkeypatch):
    monkeypatch.setattr(kafka, "REFRESH", 0.0)
    source.start({})
    server.delete(topic)
    with pytest.raises(BrokerError, match=topic):
        until_raised(lambda: source.fetch(10, patience=0.0))


def test_a_user_who_may_not_read_is_told(server, topic, source):
    server.spoil(topic, TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(StreamlearnError, match=f"{topic}.*let this user use the topic") as caught:
        source.start({})
    assert not isinstance(caught.value, BrokerError)


def until_raised(call):
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        call()


def test_messages_that_expired_unread_stop_the_run(server, topic, source):
    server.send(topic, records(0, 5))
    server.expire(topic, 0, 3)
    name = f"{topic}/0"
    source.start({name: (0,)})
    with pytest.raises(
        LostError, match=f"{name}: offset 1 .* 3 up to 5, not included.*--skip-lost"
    ) as caught:
        until_raised(lambda: source.fetch(10, patience=0.1))
    assert caught.value.positions == {name: (2,)}
    source.start(caught.value.positions)
    assert positions(fetched(source, 2)) == {name: [(3,), (4,)]}


def test_a_run_may_go_on_without_what_expired(server, topic, source):
    bodies = livestreams.reports(20)
    sent = [(0, None, json.dumps(body).encode()) for body in bodies]
    server.send(topic, sent[:20])
    source.start({})
    store = Store(":memory:", run="test")
    Runner(livestreams.stopper, store).process(fetched(source, 7, most=7))
    server.send(topic, sent[20:])
    server.expire(topic, 0, 30)
    name = f"{topic}/0"
    (reason,) = livestreams.run_skipping(store, source, livestreams.Nowhere(), sent[-1][2])
    assert reason.startswith(f"{name}: offset 7 is the next to read, and the broker has 30 up to {len(sent)}")
    read = livestreams.numbered(bodies)
    whole = livestreams.run_whole(livestreams.stopper, read[:7] + read[30:])
    assert list(store.sessions()) == list(whole.sessions())


@pytest.mark.parametrize("begin", ["2", "6"])
def test_a_beginning_that_a_partition_does_not_have_is_refused(server, topic, begin):
    server.send(topic, [*records(0, 5), *records(1, 6)])
    for partition in (0, 1):
        server.expire(topic, partition, 3)
    source = kafka.Source(server.servers, [topic], begin=begin)
    with pytest.raises(
        StreamlearnError, match=f"{topic}/0 has offsets 3 up to 5.* is to begin at {begin}"
    ) as caught:
        source.start({})
    assert not isinstance(caught.value, BrokerError | LostError)
    source.close()
    source = kafka.Source(server.servers, [topic], begin="5")
    source.start({})
    assert positions(fetched(source, 1)) == {f"{topic}/1": [(5,)]}
    source.close()


def test_a_topic_made_anew_stops_the_run(server, topic, source):
    server.send(topic, records(0, 2))
    source.start({f"{topic}/0": (9,)})
    with pytest.raises(
        StreamlearnError, match=f"{topic}/0: offset 10 .* 0 up to 2, not included.*anew"
    ) as caught:
        until_raised(lambda: source.fetch(10, patience=0.1))
    assert not isinstance(caught.value, BrokerError | LostError)


@pytest.mark.parametrize(
    ("topics", "options", "message"),
    [
        ([], {}, "topics"),
        ("reports", {}, "topics"),
        (["reports"], {"begin": "yesterday"}, "begin"),
        (["reports"], {"begin": "9" * 19}, "begin"),
        (["reports"], {"settings": {"sasl.passwort": CONFIDENTIAL}}, "'sasl.passwort'"),
        (["reports"], {"settings": {"security.protocol": CONFIDENTIAL}}, "'security.protocol'"),
        (
            ["reports"],
            {"settings": {"ssl.key.pem": CONFIDENTIAL, "security.protocol": "ssl"}},
            "'ssl.key.pem'",
        ),
    ],
)
def test_what_cannot_be_used_is_named_and_not_quoted(topics, options, message):
    with pytest.raises(ParameterError, match=message) as caught:
        kafka.Source("127.0.0.1:1", topics, **options)
    assert CONFIDENTIAL not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_setting_of_a_sink_is_named_and_not_quoted():
    with pytest.raises(ParameterError, match=r"'compression\.type'") as caught:
        kafka.Sink("127.0.0.1:1", "decisions", {"compression.type": CONFIDENTIAL})
    assert CONFIDENTIAL not in str(caught.value)


def test_a_missing_client_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "confluent_kafka", None)
    with pytest.raises(MissingExtraError, match=r"streamlearn\[kafka\]"):
        kafka.Sink("127.0.0.1:1", "decisions")


# --- writing


def outgoing(count, keys=3):
    return [Outgoing(n, "decision", f"id{n}", f"k{n % keys}", b"%d" % n) for n in range(count)]


def test_decisions_carry_key_and_id_and_keep_the_order_of_a_key(server, topic):
    sink = kafka.Sink(server.servers, topic)
    sent = outgoing(60)
    sink.publish(sent[:25])
    sink.publish([])
    sink.publish(sent[25:])
    sink.close()
    by_key = defaultdict(list)
    for it in server.read(topic, 60):
        ((name, value),) = it.headers()
        assert (name, value) == ("id", f"id{it.value().decode()}".encode())
        by_key[it.key().decode()].append(int(it.value()))
    assert by_key == {f"k{key}": list(range(key, 60, 3)) for key in range(3)}


def test_a_full_queue_is_waited_for(server, topic):
    sink = kafka.Sink(server.servers, topic, {"queue.buffering.max.messages": "5"})
    sink.publish(outgoing(40))
    assert len(server.read(topic, 40)) == 40
    sink.close()


def test_a_sink_without_its_topic_is_refused(server, topic, monkeypatch):
    monkeypatch.setattr(kafkasink, "DELIVERY", 4.0)
    server.spoil(topic, UNKNOWN_TOPIC_OR_PART)
    sink = kafka.Sink(server.servers, topic)
    with pytest.raises(StreamlearnError, match=f"{topic}.*create the topic") as caught:
        sink.publish(outgoing(2))
    assert not isinstance(caught.value, BrokerError)
    sink.close()


def test_a_decision_that_is_too_large_is_refused(server, topic):
    sink = kafka.Sink(server.servers, topic)
    with pytest.raises(StreamlearnError, match=r"max\.message\.bytes"):
        sink.publish([Outgoing(1, "decision", "id", "key", bytes(2_000_000))])
    sink.publish(outgoing(1))
    assert [it.value() for it in server.read(topic, 1)] == [b"0"]
    sink.close()


def test_what_a_lost_broker_did_not_get_is_published_again(server, topic, monkeypatch):
    monkeypatch.setattr(kafkasink, "DELIVERY", 1.0)
    sink = kafka.Sink(server.servers, topic)
    server.kill()
    try:
        with pytest.raises(BrokerError, match=topic):
            sink.publish(outgoing(5))
    finally:
        server.restart()
    sink.publish(outgoing(5))
    assert {it.value() for it in server.read(topic, 5)} == {b"%d" % n for n in range(5)}
    sink.close()


# --- whole runs


class Disturbed:
    """A source or sink before whose calls, counted, something happens; ``calls`` may count those of both."""

    def __init__(self, port, events, calls):
        self.port = port
        self.events = events
        self.calls = calls
        self.ended = self.shared = False
        self.lag = getattr(port, "lag", None)
        self.close = port.close

    def _count(self):
        self.events.pop(next(self.calls), lambda: None)()

    def start(self, positions):
        self._count()
        self.port.start(positions)

    def fetch(self, most, patience):
        self._count()
        return self.port.fetch(most, patience)

    def publish(self, messages):
        self._count()
        self.port.publish(messages)


class Live:
    """A run of stoppers from a topic of reports to one of decisions."""

    def __init__(self, server, names, path, keys=40, partitions=3):
        self.server = server
        self.reports, self.decisions = next(names), next(names)
        server.create(self.reports, partitions)
        server.create(self.decisions, 2)
        self.bodies = livestreams.reports(keys)
        self.partitions = partitions
        self.whole = livestreams.run_whole(livestreams.stopper, livestreams.numbered(self.bodies))
        self.store = Store(path, run="test")
        self.runner = Runner(livestreams.stopper, self.store)

    def send(self, bodies):
        def partition(body):
            return int(body["key"].split()[1]) % self.partitions

        self.server.send(self.reports, [(partition(it), None, json.dumps(it).encode()) for it in bodies])

    def pump(self, events, publishing=None, batch=10):
        """A pump that stops when everything was taken in; events come before calls, or before those of the sink."""
        calls = itertools.count()
        source = Disturbed(kafka.Source(self.server.servers, [self.reports]), events, calls)
        sink = kafka.Sink(self.server.servers, self.decisions)
        own = (events, calls) if publishing is None else (publishing, itertools.count())
        sink = Disturbed(sink, *own)
        pump = Pump(self.runner, source, sink, kafka.Sink(self.server.servers, "dead"), batch=batch)
        process = self.runner.process

        def counted(messages):
            decided = process(messages)
            if self.taken() == len(self.bodies):
                pump.stop()
            return decided

        self.runner.process = counted
        return pump

    def taken(self):
        return sum(offset + 1 for (offset,) in self.store.positions().values())

    def check(self):
        """Everything was decided as in an undisturbed run; what is there twice has the same id and says the same."""
        expected = {it.id.encode(): it.payload for it in self.whole.unpublished(1000)}
        published = self.server.read(self.decisions, len(expected))
        assert {dict(it.headers())["id"]: it.value() for it in published} == expected
        assert {(dict(it.headers())["id"], it.value()) for it in published} == set(expected.items())
        assert list(self.store.sessions()) == list(self.whole.sessions())
        assert self.store.ledger() == self.whole.ledger()
        assert self.store.unpublished(1) == []
        counters = {
            name: self.store.counters().get(name, 0) for name in ("reports", "dead_letters", "redelivered")
        }
        assert counters == {"reports": self.whole.counters()["reports"], "dead_letters": 0, "redelivered": 0}
        self.store.close()
        return len(published) - len(expected)


@pytest.fixture
def live(server, names, tmp_path):
    return Live(server, names, tmp_path / "run.db")


def test_an_undisturbed_run_publishes_every_decision_once(live):
    live.send(live.bodies)
    live.pump({}).run()
    assert live.check() == 0


@pytest.mark.parametrize("call", [0, 1, 2, 5])
@pytest.mark.parametrize("trouble", ["kill", "pause"])
def test_a_broker_lost_at_any_call_changes_nothing(live, server, trouble, call, monkeypatch):
    monkeypatch.setattr(kafka, "PATIENCE", 1.0)
    monkeypatch.setattr(kafkasink, "DELIVERY", 1.0)
    live.send(live.bodies)
    begin, end = {"kill": (server.kill, server.restart), "pause": (server.pause, server.resume)}[trouble]
    live.pump({call: begin, call + 2: end}).run()
    live.check()


@pytest.mark.parametrize("trouble", ["kill", "pause"])
def test_a_broker_lost_while_publishing_doubles_at_most_what_is_known_by_its_id(
    live, server, trouble, monkeypatch
):
    monkeypatch.setattr(kafkasink, "DELIVERY", 1.0)
    live.send(live.bodies)
    begin, end = {"kill": (server.kill, server.restart), "pause": (server.pause, server.resume)}[trouble]
    live.pump({}, {2: begin, 3: end}).run()
    live.check()


def test_a_broker_that_comes_and_goes_while_a_thread_runs(live, server):
    third = len(live.bodies) // 3
    pump = live.pump({})
    server.kill()  # it is absent at the start, too
    with structlog.testing.capture_logs() as events:
        thread = threading.Thread(target=pump.run)
        thread.start()
        try:
            for chunk in (live.bodies[:third], live.bodies[third : 2 * third], live.bodies[2 * third :]):
                until(lambda: lost(events), thread)
                events.clear()
                server.restart()
                aim = live.taken() + len(chunk)
                live.send(chunk)
                until(lambda aim=aim: live.taken() == aim and pump.connected, thread)
                if live.taken() < len(live.bodies):
                    server.kill()
        finally:
            server.restart()
            pump.stop()
            thread.join()
    live.check()


def lost(events):
    return any(event["event"] == telemetry.LIVE_BROKER_LOST for event in events)


def until(reached, thread):
    deadline = time.monotonic() + DEADLINE
    while not reached():
        assert time.monotonic() < deadline
        thread.join(0.01)
