"""The NATS adapter on a real server: in order, from the stored place on, and through the server's death."""

from __future__ import annotations

import gc
import json
import socket
import threading

import livefaults
import livestreams
import natsserver
import pytest
from nats.js.api import DiscardPolicy, RetentionPolicy

from streamlearn.errors import BrokerError, LostError, ParameterError, StreamlearnError
from streamlearn.live import Outgoing, Pump, Runner, Sink, Source, Store, pump
from streamlearn.live.brokers import nats, natsconnection, natssink, natssubjects


@pytest.fixture
def server(tmp_path):
    with natsserver.NatsServer(tmp_path / "nats") as running:
        running.create("events", "reports.*", "labels")
        running.create("decided", "decisions", "dead")
        yield running


def started(server, subjects, positions=None, **options):
    source = nats.Source(server.url, subjects, **options)
    source.start(positions or {})
    return source


def send(server, subject, values):
    server.send([(subject, b"%d" % value) for value in values])


def test_the_adapters_are_what_the_pump_needs():
    assert isinstance(nats.Source("nats://127.0.0.1:1", ["a"]), Source)
    assert isinstance(nats.Sink("nats://127.0.0.1:1", "a"), Sink)


def test_messages_come_in_order_and_go_on_after_the_stored_position(server):
    send(server, "reports.a", range(50))
    source = started(server, ["reports.*"])
    first = livefaults.all_of(source, 50)
    assert livefaults.numbers(first) == list(range(50))
    assert [message.position for message in first] == [(i,) for i in range(1, 51)]
    assert {message.partition for message in first} == {"events"}
    assert source.lag() == 0
    assert source.fetch(10, 0.01) == []
    source.start({"events": first[29].position})
    assert livefaults.numbers(livefaults.all_of(source, 20)) == list(range(30, 50))
    source.close()


def test_two_subjects_of_one_stream_keep_its_order(server):
    for i in range(20):
        send(server, ("reports.a", "labels", "reports.b")[i % 3], [i])
    source = started(server, ["reports.a", "labels"])
    assert livefaults.numbers(livefaults.all_of(source, 14)) == [i for i in range(20) if i % 3 != 2]
    source.close()


def test_subjects_of_two_streams_are_both_read(server):
    server.create("more", "more.>")
    send(server, "labels", range(30))
    send(server, "more.a.b", range(100, 130))
    source = started(server, ["labels", "more.>"])
    found = livefaults.all_of(source, 60)
    for partition, first in (("events", 0), ("more", 100)):
        mine = [message for message in found if message.partition == partition]
        assert livefaults.numbers(mine) == list(range(first, first + 30))
    assert source.lag() == 0
    source.close()


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        ("a", "b", False),
        ("a.*", "a.*", True),
        ("a.*", "a.>", False),
        ("a.b", "a.*", False),
    ],
)
def test_wildcards_mean_what_they_mean_to_nats(pattern, subject, matches):
    assert natssubjects.matches(pattern.split("."), subject) is matches


def test_where_to_begin(server):
    send(server, "labels", range(10))
    end, fifth = started(server, ["labels"], begin="end"), started(server, ["labels"], begin="5")
    assert end.fetch(10, 0.01) == []
    send(server, "labels", [10])
    assert livefaults.numbers(livefaults.all_of(end, 1)) == [10]
    assert livefaults.numbers(livefaults.all_of(fifth, 7)) == list(range(4, 11))
    end.close()
    fifth.close()
    with pytest.raises(ParameterError, match="begin must be 'beginning', 'end' or a sequence"):
        nats.Source(server.url, ["labels"], begin="yesterday")
    with pytest.raises(ParameterError, match="at least one"):
        nats.Source(server.url, [])


def test_what_expired_unread_or_is_gone_is_an_error(server):
    send(server, "labels", range(10))
    server.run(lambda stream: stream.purge_stream("events", seq=8))
    with pytest.raises(LostError, match=r"begins at sequence 8 and was read up to 3.*--skip-lost") as lost:
        started(server, ["labels"], {"events": (3,)})
    assert lost.value.positions == {"events": (7,)}
    source = started(server, ["labels"], lost.value.positions)
    assert livefaults.numbers(livefaults.all_of(source, 3)) == [7, 8, 9]
    with pytest.raises(StreamlearnError, match="ends at sequence 10 and was read up to 11") as anew:
        source.start({"events": (11,)})
    assert not isinstance(anew.value, LostError)
    source.close()


def refused(call, message):
    """Refused for good: trying again does not help."""
    with pytest.raises(StreamlearnError, match=message) as caught:
        call()
    assert not isinstance(caught.value, BrokerError)


def test_the_end_is_told_to_be_stored_and_kept_through_a_loss(server):
    send(server, "labels", range(3))
    source = nats.Source(server.url, ["labels"], begin="end")
    begun = source.start({})
    assert begun == {"events": (3,)}
    send(server, "labels", range(3, 6))
    assert source.start(begun) == {}
    assert livefaults.numbers(livefaults.all_of(source, 3)) == [3, 4, 5]
    source.close()


@pytest.mark.parametrize("begin", ["2", "12", "9999999999999999999"])
def test_a_beginning_that_the_stream_does_not_have_is_refused(server, begin):
    send(server, "labels", range(10))
    server.run(lambda stream: stream.purge_stream("events", seq=3))
    refused(lambda: started(server, ["labels"], begin=begin), "has sequences 3 to 10, and is to begin at")
    source = started(server, ["labels"], begin="3")
    assert livefaults.numbers(livefaults.all_of(source, 8)) == list(range(2, 10))
    source.close()


def test_what_expires_while_it_is_read_is_an_error(server):
    server.create("small", "small.*", max_msgs=20)
    send(server, "small.a", range(20))
    whole, part = started(server, ["small.*"]), started(server, ["small.a"])
    assert (
        livefaults.numbers(whole.fetch(5, 0.01)) == livefaults.numbers(part.fetch(5, 0.01)) == list(range(5))
    )
    send(server, "small.a", range(20, 40))
    refused(
        lambda: whole.fetch(10, 0.01), "at sequence 21 and was read up to 5: messages between expired unread"
    )
    refused(lambda: part.fetch(10, 0.01), "messages between, perhaps of its subjects, expired unread")
    whole.close()
    part.close()


@pytest.mark.parametrize("late", [False, True])
def test_a_run_may_go_on_without_what_expired(server, late):
    """It expired before the run goes on, or after its first batch."""
    server.create("small", "small.*", max_msgs=20)
    bodies = livestreams.reports(20)
    sent = [json.dumps(body).encode() for body in bodies]
    server.send([("small.a", data) for data in sent[:20]])
    store, source = Store(":memory:", run="test"), nats.Source(server.url, ["small.*"])
    if late:
        Runner(livestreams.stopper, store).process([livestreams.message(1, bodies[0])])
        source.start({})
        fetch = source.fetch

        def overtaken(_, patience):
            source.fetch = fetch
            first = fetch(7, patience)
            server.send([("small.a", data) for data in sent[20:]])
            return first

        source.fetch = overtaken
    else:
        source.start({})
        Runner(livestreams.stopper, store).process(source.fetch(7, 1.0))
        server.send([("small.a", data) for data in sent[20:]])
    told = livestreams.run_skipping(store, source, livestreams.Nowhere(), sent[-1])
    assert told == [
        f"stream 'small' begins at sequence {len(sent) - 19} and was read up to 7: messages between expired unread"
    ]
    read = livestreams.numbered(bodies)
    whole = livestreams.run_whole(livestreams.stopper, read[:7] + read[-20:])
    assert list(store.sessions()) == list(whole.sessions())


def test_the_beginning_may_expire_before_it_is_read(server):
    server.create("small", "small", max_msgs=20)
    send(server, "small", range(20))
    source = started(server, ["small"])
    send(server, "small", range(20, 40))
    assert livefaults.numbers(livefaults.all_of(source, 20)) == list(range(20, 40))
    source.close()


def test_other_subjects_may_expire_and_messages_be_deleted(server):
    server.create("small", "small.*", max_msgs=20)
    source, all_subjects = started(server, ["small.a"]), started(server, ["small.*"])
    send(server, "small.a", [0])
    assert (
        livefaults.numbers(livefaults.all_of(source, 1))
        == livefaults.numbers(livefaults.all_of(all_subjects, 1))
        == [0]
    )
    send(server, "small.b", range(18))
    server.run(lambda stream: stream.delete_msg("small", 3))
    assert len(livefaults.all_of(all_subjects, 17)) == 17
    send(server, "small.b", range(40))
    send(server, "small.a", [1])
    assert livefaults.numbers(livefaults.all_of(source, 1)) == [1]
    source.close()
    all_subjects.close()


@pytest.mark.parametrize("retention", [RetentionPolicy.INTEREST, RetentionPolicy.WORK_QUEUE])
def test_a_stream_that_forgets_what_it_delivered_is_refused(server, retention):
    server.create("work", "work", retention=retention)
    refused(lambda: started(server, ["work"]), "make it with retention 'limits'")


def test_a_wildcard_stands_for_the_subjects_of_all_streams(server):
    for name in "ab":
        server.create(name, f"more.{name}")
    source = started(server, ["more.*"], begin="end")
    for name in "ab":
        send(server, f"more.{name}", [ord(name)])
    server.create("c", "more.c")
    send(server, "more.c", [1])
    assert sorted(livefaults.numbers(livefaults.all_of(source, 2))) == [97, 98]
    source.start({"a": (1,), "b": (0,)})  # the third, made meanwhile, from its beginning
    found = livefaults.all_of(source, 2)
    assert {message.partition: message.data for message in found} == {"b": b"98", "c": b"1"}
    source.close()


def test_messages_that_look_like_answers_of_the_server_are_messages(server):
    for status in ("100", "404", "503"):
        server.run(lambda stream, status=status: stream.publish("labels", b"", headers={"Status": status}))
    source = started(server, ["labels"])
    assert [message.data for message in livefaults.all_of(source, 3)] == [b"", b"", b""]
    source.close()


def test_lag_counts_what_waits(server):
    send(server, "labels", range(9))
    source = started(server, ["labels"])
    assert source.lag() == 9
    source.fetch(4, 0.01)
    assert source.lag() == 5
    source.close()
    assert source.lag() is None


def test_a_subject_without_a_stream_is_an_error_with_its_remedy(server):
    source, sink = nats.Source(server.url, ["nowhere"]), nats.Sink(server.url, "nowhere")
    with pytest.raises(StreamlearnError, match=r"no stream.*'nowhere'.*nats stream add"):
        source.start({})
    with pytest.raises(StreamlearnError, match=r"no stream.*'nowhere'"):
        sink.publish([Outgoing(1, "decision", "id", "key", b"{}")])
    source.close()
    sink.close()


def test_what_is_published_again_is_known_by_its_id(server):
    sink = nats.Sink(server.url, "decisions")
    messages = [Outgoing(i, "decision", f"id{i}", "key", b"%d" % i) for i in range(300)]
    sink.publish(messages[:200])
    sink.publish(messages[100:])
    sink.close()
    assert server.read("decided") == [({"Nats-Msg-Id": f"id{i}"}, b"%d" % i) for i in range(300)]


def test_an_idle_connection_is_made_anew(server, monkeypatch):
    sink = nats.Sink(server.url, "decisions")
    message = Outgoing(1, "decision", "id", "key", b"{}")
    sink.publish([message])
    server.kill()
    server.restart()
    monkeypatch.setattr(natssink, "IDLE", 0.0)
    sink.publish([message])  # the first attempt already
    sink.close()
    assert len(server.read("decided")) == 1


def test_a_server_that_is_away_is_worth_trying_again(server):
    source, sink = started(server, ["labels"]), nats.Sink(server.url, "decisions")
    message = Outgoing(1, "decision", "id", "key", b"{}")
    sink.publish([message])
    server.kill()
    with pytest.raises(BrokerError):
        source.fetch(10, 0.01)
    with pytest.raises(BrokerError):
        sink.publish([message])
    with pytest.raises(BrokerError):
        source.start({})
    server.restart()
    livefaults.poll(lambda: source.start({}) == {})
    livefaults.poll(lambda: [sink.publish([message])])
    assert len(server.read("decided")) == 1
    source.close()
    sink.close()


def test_a_server_that_accepts_and_says_nothing_is_away(monkeypatch):
    monkeypatch.setattr(natsconnection, "CONNECT", 0.1)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        source = nats.Source(f"nats://127.0.0.1:{deaf.getsockname()[1]}", ["labels"])
        with pytest.raises(BrokerError):
            source.start({})
        gc.collect()  # a socket left open is an error now


def test_a_user_who_is_refused_is_told(tmp_path):
    with natsserver.NatsServer(tmp_path / "nats", "u:CONFIDENTIAL") as server:
        server.create("events", "labels")
        started(server, ["labels"]).close()
        for user in ("u:wrong@", ""):
            source = nats.Source(server.url.replace("u:CONFIDENTIAL@", user), ["labels"])
            refused(lambda source=source: source.start({}), "check the credentials")
        gc.collect()


def test_what_a_stream_refuses_is_told(server):
    server.create("tiny", "tiny", max_msg_size=100)
    server.create("full", "full", max_msgs=2, discard=DiscardPolicy.NEW)
    messages = [Outgoing(i, "decision", f"id{i}", "key", b"x" * 200) for i in range(3)]
    tiny, full = nats.Sink(server.url, "tiny"), nats.Sink(server.url, "full")
    refused(lambda: tiny.publish(messages), "NATS refuses a message: message size exceeds maximum allowed")
    with pytest.raises(BrokerError, match="NATS refuses a message: maximum messages exceeded"):
        full.publish(messages)
    server.run(lambda stream: stream.delete_stream("full"))
    server.create("full", "full")
    full.publish(messages)
    server.run(lambda stream: stream.delete_stream("full"))
    with pytest.raises(BrokerError, match="no stream holds the subject any more"):
        full.publish(messages)
    refused(
        lambda: full.publish(messages), "no stream of NATS JetStream holds the subject 'full'; create one"
    )
    tiny.close()
    full.close()


def test_what_the_server_cannot_do_now_is_told(server):
    server.create("busy", "busy", max_consumers=1)
    source = started(server, ["busy"])
    with pytest.raises(BrokerError, match="NATS refuses what is asked of it: maximum consumers"):
        started(server, ["busy"])
    source.close()


def test_a_run_outlives_its_server(server, tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.01)
    bodies = livestreams.reports(200)
    store = Store(tmp_path / "run.db", run="test")
    running = Pump(
        Runner(livestreams.stopper, store),
        nats.Source(server.url, ["reports.*"]),
        nats.Sink(server.url, "decisions"),
        nats.Sink(server.url, "dead"),
        batch=20,
    )
    thread = threading.Thread(target=running.run)
    server.send([("reports.a", json.dumps(body).encode()) for body in bodies[:500]])
    thread.start()
    try:
        livefaults.poll(lambda: running.runner.summary.counts.get("decisions", 0) > 10)
        server.kill()
        server.restart()
        server.send([("reports.a", json.dumps(body).encode()) for body in bodies[500:]])
        livefaults.poll(lambda: running.runner.summary.counts.get("decisions", 0) == 200)
    finally:
        running.stop()
        thread.join(60)
    whole = livestreams.run_whole(livestreams.stopper, livestreams.numbered(bodies))
    assert [data for _, data in server.read("decided")] == [it.payload for it in whole.unpublished(1000)]
    store.close()


def test_a_run_waits_for_its_server(server, tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.01)
    bodies = livestreams.reports(20)
    server.send([("reports.a", json.dumps(body).encode()) for body in bodies])
    server.kill()
    store = Store(tmp_path / "run.db", run="test")
    running = Pump(
        Runner(livestreams.stopper, store),
        nats.Source(server.url, ["reports.*"]),
        nats.Sink(server.url, "decisions"),
        nats.Sink(server.url, "dead"),
    )
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        livefaults.poll(lambda: running._attempts > 1)
        server.restart()
        livefaults.poll(lambda: running.runner.summary.counts.get("decisions", 0) == 20)
    finally:
        running.stop()
        thread.join(60)
    assert len(server.read("decided")) == 20
    store.close()
