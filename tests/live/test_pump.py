"""The pump: nothing leaves before it is committed, brokers may come and go, and what was decided gets out."""

from __future__ import annotations

import io
import threading

import livestreams
import pytest
import structlog
from structlog.testing import capture_logs

from streamlearn.errors import BrokerError, LostError, StreamlearnError
from streamlearn.live import Message, Pump, Runner, Sink, Source, Store, pump
from streamlearn.live.brokers import pipe


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.0)


class ListSource:
    """Messages of a list; a call fails whenever ``failing`` says so."""

    ended = False
    shared = False

    def __init__(self, messages, failing=lambda _: False):
        self.messages = messages
        self.failing = failing
        self.place = None
        self.log = []

    def _call(self, name):
        if self.failing(name):
            self.log.append(f"{name} failed")
            raise BrokerError("the broker is away")
        self.log.append(name)

    def start(self, positions):
        self._call("start")
        done = positions.get("log", (0,))
        self.place = sum(message.position <= done for message in self.messages)

    def fetch(self, most, patience):
        assert patience > 0
        self._call("fetch")
        taken = self.messages[self.place : self.place + most]
        self.place += len(taken)
        self.ended = not taken
        return taken

    def acknowledge(self, messages):
        self._call("acknowledge")
        self.acknowledged = [message.position for message in messages]
        return {"log": messages[-1].position}

    def lag(self):
        return len(self.messages) - self.place

    def close(self):
        self.log.append("close")


class ListSink:
    def __init__(self, failing=lambda _: False, before=lambda: None):
        self.failing, self.before = failing, before
        self.published = []
        self.closed = False

    def publish(self, messages):
        self.before()
        half = len(messages) // 2
        self.published += messages[:half]
        if self.failing("publish"):
            raise BrokerError("the broker is away")
        self.published += messages[half:]

    def close(self):
        self.closed = True


def every(number):
    """Every so many calls fail."""
    calls = iter(range(1, 10**9))
    return lambda _: next(calls) % number == 0


def ids(sink):
    """What a reader who knows duplicates by their ids finds, in the order of first appearance."""
    return list(dict.fromkeys((it.id, it.payload) for it in sink.published))


BODIES = livestreams.reports(30)
WHOLE = [
    (it.id, it.payload)
    for it in livestreams.run_whole(livestreams.stopper, livestreams.numbered(BODIES)).unpublished(1000)
]


def new_pump(source, sink, dead=None, store=None, **options):
    runner = Runner(livestreams.stopper, store or Store(":memory:", run="test"))
    return Pump(runner, source, sink, dead or ListSink(), **options)


@pytest.mark.parametrize("batch", [1, 7, 20])
@pytest.mark.parametrize("rare", [3, 4, 5])
def test_brokers_that_fail_lose_and_repeat_nothing(batch, rare):
    sink = ListSink(every(rare))
    source = ListSource(livestreams.numbered(BODIES), every(rare))
    new_pump(source, sink, batch=batch).run()
    assert ids(sink) == WHOLE
    assert "fetch failed" in source.log
    assert source.log[-1] == "close"
    assert sink.closed


def test_nothing_is_published_before_it_is_committed(tmp_path):
    path = tmp_path / "run.db"
    with Store(path, run="test") as store:

        def batches_so_far():
            return source.log.count("fetch")

        seen = []

        def before():
            with Store(path) as other:
                seen.append((other.positions()["log"][0], batches_so_far()))

        sink = ListSink(before=before)
        source = ListSource(livestreams.numbered(BODIES))
        new_pump(source, sink, store=store, batch=10).run()
    assert seen
    assert all(position == min(10 * batches, len(BODIES)) for position, batches in seen)


def test_what_a_killed_run_left_unpublished_goes_out_first():
    store = Store(":memory:", run="test")
    Runner(livestreams.stopper, store).process(livestreams.numbered(BODIES))
    sink, source = ListSink(), ListSource([])
    new_pump(source, sink, store=store).run()
    assert ids(sink) == WHOLE
    store.flush()
    assert store.unpublished(1000) == []


def test_dead_letters_have_a_sink_of_their_own():
    sink, dead = ListSink(), ListSink()
    source = ListSource(livestreams.numbered([*BODIES[:50], b"nonsense", *BODIES[50:]]))
    new_pump(source, sink, dead, batch=9).run()
    assert ids(sink) == WHOLE
    (letter,) = dead.published
    assert (letter.channel, letter.key) == ("dead", "log")


class IdleSource(ListSource):
    """Messages of a list, and then an empty answer or two before the end."""

    def __init__(self, messages, idle):
        super().__init__(messages)
        self.idle = idle

    def fetch(self, most, patience):
        taken = super().fetch(most, patience)
        if not taken:
            self.idle()
            self.ended = self.log.count("fetch") > 5
        return taken


def test_an_idle_run_forgets_what_it_has_published(tmp_path):
    """Or the run after a kill, hours later, would publish it again."""
    path, left = tmp_path / "run.db", []
    with Store(path, run="test") as store:

        def look():
            with Store(path) as other:  # as a process after a kill finds it
                left.append((len(other.unpublished(1000)), other._data_version()))

        new_pump(IdleSource(livestreams.numbered(BODIES), look), ListSink(), store=store).run()
    assert [number for number, _ in left][:2] == [len(WHOLE), 0]


def test_an_idle_run_writes_nothing_else(tmp_path):
    with Store(tmp_path / "run.db", run="test") as store, Store(tmp_path / "run.db") as other:
        seen = []
        new_pump(
            IdleSource(livestreams.numbered(BODIES), lambda: seen.append(other._data_version())),
            ListSink(),
            store=store,
        ).run()
    assert len(seen) > 3
    assert len(set(seen[1:])) == 1


def test_a_group_is_told_after_its_decisions_are_out():
    messages = [livestreams.message(i, body, ordered=False) for i, body in enumerate(BODIES, 1)]
    sink = ListSink(before=lambda: source.log.append("publish"))
    source = ListSource(messages)
    source.shared = True
    running = new_pump(source, sink, batch=50)
    running.run()
    assert source.log[:3] == ["start", "fetch", "publish"]
    assert source.log.count("acknowledge") == -(-len(messages) // 50)
    running.runner.store.flush()
    assert running.runner.store.positions() == {"log": messages[-1].position}
    assert running.runner.store.execute("SELECT count(*) FROM ahead").fetchone() == (0,)
    assert source.acknowledged == [message.position for message in messages[100:]]


def test_stop_ends_it_with_everything_published_even_while_a_broker_is_away():
    away = threading.Event()
    source = ListSource(livestreams.numbered(BODIES), lambda name: name == "fetch" and away.is_set())
    source.fetch = blocking_after(source, away)
    sink = ListSink()
    running = new_pump(source, sink, batch=20)
    thread = threading.Thread(target=running.run)
    thread.start()
    assert away.wait(timeout=30)
    running.stop()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert ids(sink) == WHOLE
    assert not running.connected


def blocking_after(source, away):
    """Go away for good where the messages end."""
    plain = source.fetch

    def fetch(most, patience):
        taken = plain(most, patience)
        if not taken:
            source.ended = False
            away.set()
            raise BrokerError("the broker is away")
        return taken

    return fetch


class TrimmedSource(ListSource):
    """Messages of a list, of which the first are gone: at the start, or once the first batch was fetched."""

    def __init__(self, messages, gone, late):
        super().__init__(messages)
        self.gone, self.late = gone, late

    def start(self, positions):
        super().start(positions)
        if not self.late:
            self._check(positions.get("log", (0,)))

    def fetch(self, most, patience):
        if self.late and self.place:
            self._check(self.messages[self.place - 1].position)
        return super().fetch(most, patience)

    def _check(self, place):
        if place < self.gone:
            raise LostError("log: messages expired unread", {"log": self.gone})


@pytest.mark.parametrize("late", [False, True])
def test_what_is_lost_ends_the_run_and_names_the_way_on(late):
    source = TrimmedSource(livestreams.numbered(BODIES), (50,), late)
    running = new_pump(source, ListSink(), batch=10)
    with pytest.raises(
        LostError, match=r"^log: messages expired unread\. To go on without them, use --skip-lost"
    ):
        running.run()
    assert "losses" not in running.runner.store.counters()
    assert source.log[-1] == "close"


@pytest.mark.parametrize("late", [False, True])
def test_what_is_lost_is_skipped_counted_and_told_if_that_is_allowed(late):
    source = TrimmedSource(livestreams.numbered(BODIES), (50,), late)
    store, sink = Store(":memory:", run="test"), ListSink()
    read = livestreams.numbered(BODIES)
    read = read[: 10 * late] + read[50:]
    told = livestreams.run_skipping(store, source, sink, batch=10)
    assert told == ["log: messages expired unread"]
    assert store.counters()["losses"] == 1
    whole = livestreams.run_whole(livestreams.stopper, read)
    assert store.positions() == whole.positions()
    assert list(store.sessions()) == list(whole.sessions())
    assert ids(sink) == [(it.id, it.payload) for it in whole.unpublished(1000)]


def test_an_error_for_good_ends_the_run_and_is_told():
    def refuse():
        raise StreamlearnError("no such topic")

    store = Store(":memory:", run="test")
    source = ListSource(livestreams.numbered(BODIES))
    with pytest.raises(StreamlearnError, match="no such topic"):
        new_pump(source, ListSink(before=refuse), store=store).run()
    assert source.log[-1] == "close"
    assert len(store.unpublished(1000)) == len(WHOLE)


def test_a_loss_is_told_once_and_the_return_too():
    sink = ListSink()
    failures = iter([False, False, True, True, True, *[False] * 10**4])
    source = ListSource(livestreams.numbered(BODIES), lambda _: next(failures))
    structlog.configure()
    with capture_logs() as events:
        new_pump(source, sink, batch=10).run()
    names = [event["event"] for event in events]
    assert names == ["live.started", "live.broker_lost", "live.broker_back", "live.stopped"]
    assert events[1]["reason"] == "the broker is away"
    assert events[2]["attempts"] == 3
    assert events[3]["decisions"] == 30


def told(running):
    structlog.configure()
    with capture_logs() as events:
        running.run()
    return [(event["event"], event["log_level"]) for event in events]


STARTED, STOPPED = ("live.started", "info"), ("live.stopped", "info")
LOST, BACK = ("live.broker_lost", "warning"), ("live.broker_back", "warning")


def test_one_outage_that_breaks_all_connections_is_told_once():
    """The sink finds out first; the source's connection broke too, and is made anew."""
    publishing, fetching = iter([True, True]), iter([False, True])
    sink = ListSink(lambda _: next(publishing, False))
    source = ListSource(livestreams.numbered(BODIES), lambda name: name == "fetch" and next(fetching, False))
    assert told(new_pump(source, sink, batch=50)) == [STARTED, LOST, BACK, STOPPED]
    assert "fetch failed" in source.log
    assert ids(sink) == WHOLE


def test_the_next_outage_is_told_again():
    failures = iter([False, False, True, False, False, True])
    source = ListSource(livestreams.numbered(BODIES), lambda _: next(failures, False))
    assert told(new_pump(source, ListSink(), batch=10))[1:-1] == [LOST, BACK, LOST, BACK]


def test_a_broker_that_is_not_back_is_not_said_to_be():
    source = ListSource(livestreams.numbered(BODIES), lambda _: running.stop() is None)
    source.shared = True
    running = new_pump(source, ListSink())
    assert told(running) == [STARTED, LOST, STOPPED]


def test_pauses_double_up_to_a_bound_and_are_jittered(monkeypatch):
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.1)
    pauses = []
    for _ in range(2):
        running = new_pump(ListSource([]), ListSink())
        pauses.append([running._pause() for _ in range(12)])
    for several in pauses:
        for attempt, pause in enumerate(several):
            longest = min(10.0, 0.1 * 2**attempt)
            assert longest / 2 <= pause <= longest
    assert pauses[0] != pauses[1]


def test_the_adapters_are_what_the_pump_needs():
    assert isinstance(pipe.Source(io.BytesIO()), Source)
    assert isinstance(pipe.Sink(io.BytesIO()), Sink)
    assert isinstance(ListSource([]), Source)
    assert Message("log", (1,), b"").ordered
