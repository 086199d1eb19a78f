"""The Redis adapter on a real server: alone or in a group, from the stored place on, and through the server's death."""

from __future__ import annotations

import contextlib
import json
import threading

import livefaults
import livestreams
import pytest
import redisserver

from streamlearn.errors import BrokerError, LostError, ParameterError, StreamlearnError
from streamlearn.live import Outgoing, Pump, Runner, Sink, Source, Store, pump
from streamlearn.live.brokers import redis, redisentries


@pytest.fixture
def server(tmp_path):
    with redisserver.RedisServer(tmp_path / "redis") as running:
        yield running


def started(server, streams, positions=None, **options):
    source = redis.Source(server.url, streams, **options)
    source.start(positions or {})
    return source


def send(server, stream, values):
    return server.send(stream, [b"%d" % value for value in values])


def test_the_adapters_are_what_the_pump_needs():
    assert isinstance(redis.Source("redis://127.0.0.1:1/0", ["a"]), Source)
    assert isinstance(redis.Sink("redis://127.0.0.1:1/0", "a"), Sink)


def test_entries_come_in_order_and_go_on_after_the_stored_position(server):
    entries = send(server, "reports", range(50))
    source = started(server, ["reports"])
    first = livefaults.all_of(source, 50)
    assert livefaults.numbers(first) == list(range(50))
    assert [f"{it.position[0]}-{it.position[1]}".encode() for it in first] == entries
    assert all(it.ordered and it.partition == "reports" for it in first)
    assert source.fetch(10, 0.01) == []
    assert source.lag() == 0
    source.start({"reports": first[29].position})
    assert livefaults.numbers(livefaults.all_of(source, 20)) == list(range(30, 50))
    source.close()


def test_two_streams_are_both_read_and_one_may_come_later(server):
    send(server, "one", range(30))
    source = started(server, ["one", "two"])
    first = livefaults.all_of(source, 30)
    send(server, "two", range(100, 130))
    both = first + livefaults.all_of(source, 30)
    for stream, start in (("one", 0), ("two", 100)):
        assert livefaults.numbers([it for it in both if it.partition == stream]) == list(
            range(start, start + 30)
        )
    source.close()


def test_an_entry_names_its_key_and_one_without_a_message_is_an_empty_one(server):
    server.client.xadd("reports", {"data": "1", "key": "job 1"})
    server.client.xadd("reports", {"other": "1"})
    source = started(server, ["reports"])
    assert [(it.data, it.key) for it in livefaults.all_of(source, 2)] == [(b"1", "job 1"), (b"", None)]
    source.close()


def test_where_to_begin(server):
    entries = send(server, "reports", range(10))
    end, fifth = (
        started(server, ["reports"], begin="end"),
        started(server, ["reports"], begin=entries[4].decode()),
    )
    assert end.fetch(10, 0.01) == []
    send(server, "reports", [10])
    assert livefaults.numbers(livefaults.all_of(end, 1)) == [10]
    assert livefaults.numbers(livefaults.all_of(fifth, 6)) == list(range(5, 11))
    end.close()
    fifth.close()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"streams": []}, "at least one"),
        ({"begin": "yesterday"}, "begin must be 'beginning', 'end' or the id"),
        ({"group": "g"}, "belong together"),
        ({"consumer": "c"}, "belong together"),
        ({"group": "g", "consumer": "c", "idle": 0.0}, "idle must be a number of seconds > 0"),
        ({"url": "http://127.0.0.1:1"}, "url must be redis://"),
        ({"url": "redis://127.0.0.1:1/0?bogus=1"}, "url must be redis://"),
        ({"url": "redis://127.0.0.1:1/0?protocol=3"}, "url must be redis://"),
    ],
)
def test_arguments_are_checked(arguments, complaint):
    with pytest.raises(ParameterError, match=complaint):
        redis.Source(**{"url": "redis://127.0.0.1:1/0", "streams": ["a"]} | arguments)


def test_what_was_trimmed_unread_or_is_gone_is_an_error(server):
    entries = send(server, "reports", range(10))
    places = [tuple(map(int, entry.split(b"-"))) for entry in entries]
    server.client.xtrim("reports", minid=entries[5], approximate=False)
    with pytest.raises(StreamlearnError, match=r"no longer there.*trimmed unread"):
        started(server, ["reports"], {"reports": places[3]})
    for last in (5, 6):
        source = started(server, ["reports"], {"reports": places[last]})
        assert livefaults.numbers(livefaults.all_of(source, 9 - last)) == list(range(last + 1, 10))
        source.close()
    server.client.xtrim("reports", maxlen=0, approximate=False)
    started(server, ["reports"], {"reports": places[9]}).close()
    with pytest.raises(StreamlearnError, match="made anew") as anew:
        started(server, ["reports"], {"reports": (places[9][0] + 1, 0)})
    assert not isinstance(anew.value, LostError)
    server.client.delete("reports")
    with pytest.raises(StreamlearnError, match="ends at entry 0-0"):
        started(server, ["reports"], {"reports": places[9]})


def test_the_place_of_the_loss_goes_on_with_what_is_left(server):
    entries = send(server, "reports", range(10))
    server.client.xtrim("reports", minid=entries[5], approximate=False)
    with pytest.raises(LostError, match="--skip-lost") as refused:
        started(server, ["reports"], {"reports": (1, 0)})
    source = started(server, ["reports"], refused.value.positions)
    assert livefaults.numbers(livefaults.all_of(source, 5)) == [5, 6, 7, 8, 9]
    source.close()


@pytest.mark.parametrize("group", [{}, {"group": "g", "consumer": "a"}])
@pytest.mark.parametrize("all_gone", [False, True])
def test_a_run_may_go_on_without_what_was_trimmed(server, group, all_gone):
    bodies = livestreams.reports(20)
    sent = [json.dumps(body) for body in bodies]
    entries = server.send("reports", sent[:40])
    store, source = Store(":memory:", run="test"), redis.Source(server.url, ["reports"], **group)
    source.start({})
    first = source.fetch(7, 0.01)
    Runner(livestreams.stopper, store).process(first)
    if group:
        source.acknowledge(first)
    if all_gone:
        server.client.xtrim("reports", maxlen=0, approximate=False)
    else:
        server.client.xtrim("reports", minid=entries[30], approximate=False)
    server.send("reports", sent[40:])
    left = 40 if all_gone else 30

    told = livestreams.run_skipping(store, source, livestreams.Nowhere(), sent[-1].encode(), batch=11)
    assert len(told) == 1
    assert "trimmed" in told[0]
    read = livestreams.numbered(bodies)
    whole = livestreams.run_whole(livestreams.stopper, read[:7] + read[left:])
    assert list(store.sessions()) == list(whole.sessions())
    again = redis.Source(server.url, ["reports"], **group)
    again.start(store.positions())  # the loss was accepted, once and for all
    assert again.fetch(10, 0.01) == []
    assert again.lag() == 0
    again.close()


def test_what_is_no_stream_is_an_error(server):
    server.client.set("text", "hello")
    sink = redis.Sink(server.url, "text")
    message = Outgoing(1, "decision", "id", "key", b"{}")
    for call in (lambda: started(server, ["text"]), lambda: sink.publish([message])):
        with pytest.raises(StreamlearnError, match="'text' with WRONGTYPE; the key holds something else"):
            call()
    sink.close()


def test_a_database_that_the_server_does_not_have_is_named(server):
    for opened in (redis.Source, redis.Sink):
        with contextlib.closing(
            opened(server.url[:-1] + "99", ["a"] if opened is redis.Source else "a")
        ) as there:
            with pytest.raises(
                StreamlearnError, match=r"no database 99 .*'databases', 16 by default"
            ) as caught:
                there.start({}) if opened is redis.Source else there.publish(
                    [Outgoing(1, "decision", "i", "k", b"{}")]
                )
            assert not isinstance(caught.value, BrokerError)


def test_a_refused_user_is_told_without_the_password(server):
    server.client.config_set("requirepass", "open sesame")
    source = redis.Source(server.url.replace("//", "//:guess@"), ["reports"])
    with pytest.raises(StreamlearnError, match="refuses this user") as refused:
        source.start({})
    assert "guess" not in str(refused.value)
    source.close()


def test_what_is_published_again_is_known_by_its_id(server):
    sink = redis.Sink(server.url, "decisions")
    messages = [Outgoing(i, "decision", f"id{i}", f"key{i}", b"%d" % i) for i in range(1300)]
    sink.publish(messages[:1000])
    sink.publish(messages[100:])
    sink.close()
    assert server.read("decisions") == [
        {b"id": b"id%d" % i, b"key": b"key%d" % i, b"data": b"%d" % i} for i in range(1300)
    ]
    assert server.client.zcard("{decisions}:ids") == 1300


def test_what_could_not_be_added_is_not_taken_for_known(server):
    """A script that fails keeps what it did before."""
    server.client.set("decisions", "in the way")
    sink = redis.Sink(server.url, "decisions")
    messages = [Outgoing(i, "decision", f"id{i}", "key", b"%d" % i) for i in range(3)]
    with pytest.raises(StreamlearnError, match="WRONGTYPE"):
        sink.publish(messages)
    server.client.delete("decisions")
    sink.publish(messages)
    sink.close()
    assert [fields[b"data"] for fields in server.read("decisions")] == [b"0", b"1", b"2"]


def test_what_is_trimmed_unread_during_a_run_is_an_error(server):
    entries = send(server, "reports", range(10))
    source = started(server, ["reports"])
    assert livefaults.numbers(source.fetch(3, 0.01)) == [0, 1, 2]
    server.client.xtrim("reports", minid=entries[2], approximate=False)
    assert livefaults.numbers(source.fetch(3, 0.01)) == [3, 4, 5]
    server.client.xtrim("reports", minid=entries[7], approximate=False)
    with pytest.raises(StreamlearnError, match="trimmed unread"):
        source.fetch(3, 0.01)
    source.close()


def test_a_stream_emptied_after_it_was_read_is_awaited(server):
    send(server, "reports", range(3))
    source = started(server, ["reports"])
    assert livefaults.numbers(source.fetch(9, 0.01)) == [0, 1, 2]
    server.client.xtrim("reports", maxlen=0, approximate=False)
    assert source.fetch(9, 0.01) == []
    source.close()


def test_the_end_is_told_to_be_stored_and_kept_through_a_loss(server):
    entries = send(server, "reports", range(3))
    source = redis.Source(server.url, ["reports", "none yet"], begin="end")
    begun = source.start({})
    assert begun == {"reports": redisentries.position_of(entries[-1]), "none yet": (0, 0, 0)}
    send(server, "reports", [3])
    assert source.start(begun) == {}
    assert livefaults.numbers(livefaults.all_of(source, 1)) == [3]
    source.close()


def test_a_busy_stream_keeps_no_other_waiting(server):
    send(server, "one", range(50))
    send(server, "two", range(100, 150))
    source = started(server, ["one", "two"])
    found = [number for _ in range(6) for number in livefaults.numbers(source.fetch(1, 0.01))]
    assert sorted(found) == [0, 1, 2, 100, 101, 102]
    source.close()


def test_a_server_that_is_away_is_worth_trying_again(server):
    source, sink = started(server, ["reports"]), redis.Sink(server.url, "decisions")
    message = Outgoing(1, "decision", "id", "key", b"{}")
    sink.publish([message])
    server.kill()
    for call in (lambda: source.fetch(10, 0.01), lambda: sink.publish([message]), lambda: source.start({})):
        with pytest.raises(BrokerError):
            call()
    server.restart()
    livefaults.poll(lambda: source.start({}) == {})
    livefaults.poll(lambda: [sink.publish([message])])
    assert server.client.xlen("decisions") == 1
    source.close()
    sink.close()


def test_a_run_outlives_its_server(server, tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.01)
    bodies = livestreams.reports(200)
    store = Store(tmp_path / "run.db", run="test")
    running = Pump(
        Runner(livestreams.stopper, store),
        redis.Source(server.url, ["reports"]),
        redis.Sink(server.url, "decisions"),
        redis.Sink(server.url, "dead"),
        batch=20,
    )
    thread = threading.Thread(target=running.run)
    server.send("reports", [json.dumps(body) for body in bodies[:500]])
    thread.start()
    try:
        livefaults.poll(lambda: running.runner.summary.counts.get("decisions", 0) > 10)
        server.kill()
        server.restart()
        server.send("reports", [json.dumps(body) for body in bodies[500:]])
        livefaults.poll(lambda: running.runner.summary.counts.get("decisions", 0) == 200)
    finally:
        running.stop()
        thread.join(60)
    whole = livestreams.run_whole(livestreams.stopper, livestreams.numbered(bodies))
    assert [fields[b"data"] for fields in server.read("decisions")] == [
        it.payload for it in whole.unpublished(1000)
    ]
    store.close()


# --- groups


def test_a_group_shares_out_and_hands_out_again_what_was_not_acknowledged(server):
    send(server, "reports", range(30))
    group = {"group": "g", "idle": 0.05}
    one, two = (started(server, ["reports"], consumer=name, **group) for name in ("one", "two"))
    first = one.fetch(10, 0.01)
    assert livefaults.numbers(first) == list(range(10))
    assert not any(it.ordered for it in first)
    assert livefaults.numbers(two.fetch(5, 0.01)) == list(range(10, 15))
    one.acknowledge(first[:5])
    one.start({})  # it comes back: first what it had not acknowledged
    assert livefaults.numbers(one.fetch(10, 0.01)) == list(range(5, 10))
    assert livefaults.numbers(one.fetch(100, 0.01)) == list(range(15, 30))
    one.close()  # and is gone for good: in time all it had goes to the other
    found = set()
    livefaults.poll(
        lambda: (
            found.update(livefaults.numbers(two.fetch(100, 0.01))) or found >= {*range(5, 10), *range(15, 30)}
        )
    )
    two.close()


def test_a_group_begins_where_told_and_is_made_once(server):
    send(server, "reports", range(5))
    late = started(server, ["reports", "none yet"], group="late", consumer="a", begin="end")
    assert late.fetch(10, 0.01) == []
    send(server, "reports", [5])
    assert livefaults.numbers(late.fetch(10, 1.0)) == [5]
    again = started(server, ["reports"], group="late", consumer="b", begin="beginning")
    assert again.fetch(10, 0.01) == []
    again.close()
    late.close()


def test_a_group_that_was_removed_is_an_error(server):
    send(server, "reports", range(5))
    source = started(server, ["reports"], group="g", consumer="a")
    server.client.xgroup_destroy("reports", "g")
    with pytest.raises(StreamlearnError, match="NOGROUP"):
        source.fetch(10, 0.01)
    source.close()


@pytest.mark.parametrize("who", ["same", "other"])
def test_an_entry_deleted_before_it_was_acknowledged_comes_as_an_empty_message(server, who):
    entries = send(server, "reports", range(3))
    first = started(server, ["reports"], group="g", consumer="same")
    first.fetch(10, 0.01)
    first.close()
    server.client.xdel("reports", entries[1])
    again = started(server, ["reports"], group="g", consumer=who, idle=0.001)
    found = []
    livefaults.poll(lambda: found.extend(again.fetch(10, 0.01)) or found)
    assert {it.position: it.data for it in found} == {
        redisentries.position_of(entry): data for entry, data in zip(entries, [b"0", b"", b"2"], strict=True)
    }
    again.close()


def test_a_group_says_how_many_wait_and_what_was_trimmed_before_it_was_given(server):
    entries = send(server, "reports", range(10))
    source = started(server, ["reports"], group="g", consumer="a")
    taken = source.fetch(3, 0.01)
    assert source.lag() == 10
    source.acknowledge(taken)
    assert source.lag() == 7
    server.client.xtrim("reports", minid=entries[3], approximate=False)
    assert source.lag() == 7
    server.client.xtrim("reports", minid=entries[7], approximate=False)
    for _ in range(2):
        with pytest.raises(LostError, match=r"trimmed before the group was given them.*--skip-lost") as lost:
            source.lag()
    assert lost.value.positions == {}
    source.close()
    again = redis.Source(server.url, ["reports"], group="g", consumer="a")
    with pytest.raises(LostError):  # a new process has not accepted it
        again.start({})
    again.start({})
    assert again.lag() == 3
    assert livefaults.numbers(again.fetch(2, 0.01)) == [7, 8]
    assert again.lag() == 3
    send(server, "reports", [10])
    server.client.xtrim("reports", minid=entries[9], approximate=False)
    assert again.lag() == 4  # of entries that were given none is missed, also after the next trimming
    again.close()


# --- a group's members that stall

LABELLED = [{"key": "site 1", "event_id": f"e{i}", "x": 7 * i, "y": i % 2} for i in range(12)]


class Member:
    """A process of a group, whose steps a test takes one by one. Of ended events it remembers one, so that it depends
    on the store's account of what was processed."""

    def __init__(self, server, path, name):
        self.source = started(server, ["reports"], group="g", consumer=name)
        self.server = server
        self.store = Store(path, run="test", durability="normal")
        sink, dead = (redis.Sink(server.url, stream) for stream in ("decisions", "dead"))
        self.pump = Pump(Runner(livestreams.predictor, self.store, remember=1), self.source, sink, dead)

    def given(self, numbers):
        """Fetch until it was given these entries."""
        found = []
        livefaults.poll(
            lambda: found.extend(self.source.fetch(len(numbers), 0.001)) or len(found) >= len(numbers)
        )
        assert [json.loads(it.data)["event_id"] for it in found] == [f"e{i}" for i in numbers]
        return found

    def claimed(self, numbers):
        """Take over what another was given, as after a long silence."""

        def silent():
            pending = self.server.client.xpending_range("reports", "g", "-", "+", 100)
            return all(it["time_since_delivered"] > 1 for it in pending)

        livefaults.poll(silent)
        self.source.idle, before = 0.001, self.source.idle
        self.source.start({})
        found = self.given(numbers)
        self.source.idle = before
        return found

    def process(self, messages):
        self.pump._process(messages)

    def finish(self, messages):
        self.pump._publish()
        self.pump._acknowledge(messages)
        self.store.flush()

    def whole(self, numbers, messages=None):
        messages = messages or self.given(numbers)
        self.process(messages)
        self.finish(messages)


@pytest.fixture
def members(server, tmp_path):
    server.send("reports", [json.dumps(body) for body in LABELLED])
    both = [Member(server, tmp_path / "run.db", name) for name in ("one", "two")]
    yield both
    for member in both:
        member.store.close()
        member.source.close()


def check_once(server, store, redelivered=0):
    """Every message was processed once: sessions, ledger and decisions are those of an undisturbed run."""
    whole = livestreams.run_whole(livestreams.predictor, livestreams.numbered(LABELLED), remember=1)
    assert store.ledger() == whole.ledger()
    assert list(store.sessions()) == list(whole.sessions())
    assert store.counters() == whole.counters() | ({"redelivered": redelivered} if redelivered else {})
    assert [it[b"data"] for it in server.read("decisions")] == [it.payload for it in whole.unpublished(100)]


def test_a_member_that_stalls_before_it_commits_processes_nothing_that_another_did_meanwhile(server, members):
    one, two = members
    stalled = one.given([0, 1, 2])
    two.whole([0, 1, 2], two.claimed([0, 1, 2]))
    two.whole(range(3, 12))
    one.process(stalled)
    one.finish(stalled)
    check_once(server, one.store, redelivered=3)


def test_a_member_that_claims_what_its_owner_commits_and_acknowledges_meanwhile_processes_nothing(
    server, members
):
    one, two = members
    slow = one.given([0, 1, 2])
    claimed = two.claimed([0, 1, 2])
    one.process(slow)
    one.finish(slow)
    one.whole(range(3, 12))
    two.process(claimed)
    two.finish(claimed)
    check_once(server, two.store, redelivered=3)


def test_a_group_made_anew_goes_on_where_the_store_is_and_a_stream_made_anew_is_an_error(server, members):
    one, two = members
    one.whole(range(5))
    server.client.xgroup_destroy("reports", "g")
    stored = one.store.positions()
    two.source.start(stored)
    two.whole(range(5, 12))
    check_once(server, two.store)
    server.client.delete("reports")
    with pytest.raises(StreamlearnError, match="was made anew"):
        two.source.start(stored)
    server.client.xadd("reports", {"data": "1"}, id="1-1")
    server.client.xgroup_create("reports", "g", id="0")
    with pytest.raises(StreamlearnError, match="was made anew"):
        two.source.start(stored)


def test_what_the_server_forgot_to_be_acknowledged_is_known(server, members):
    """A server that was cut off from power hands out again what it gave out in its last second, or more."""
    one, two = members
    one.whole(range(12))
    server.client.xgroup_setid("reports", "g", id="0")
    two.whole(range(12))
    check_once(server, two.store, redelivered=12)


def test_the_position_of_a_group_stays_before_what_any_member_holds(members):
    one, two = members
    held = one.given([0, 1, 2])
    two.process(two.claimed([0, 1, 2]))  # not acknowledged yet
    two.whole(range(3, 12))
    assert two.store.positions() == {"reports": redisentries.place_before(held[0].position)}
    assert two.store.execute("SELECT count(*) FROM ahead").fetchone() == (12,)
    two.finish(held)
    assert two.store.execute("SELECT count(*) FROM ahead").fetchone() == (0,)
    assert one.store.processed(held) == {("reports", it.position) for it in held}


def test_a_group_removed_before_it_was_told_is_an_error(server, members):
    one, _ = members
    messages = one.given([0, 1])
    one.process(messages)
    server.client.xgroup_destroy("reports", "g")
    with pytest.raises(StreamlearnError, match="NOGROUP; the group was removed"):
        one.finish(messages)
