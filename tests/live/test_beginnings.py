"""A new run that begins at the end, or at a place, looks for it once: what comes after that is read."""

from __future__ import annotations

import contextlib
import json

import kafkaserver
import livefaults
import livestreams
import natsserver
import pytest
import redisserver

from streamlearn.errors import BrokerError, LostError, StreamlearnError
from streamlearn.live import Pump, Runner, Store, pump
from streamlearn.live.brokers import kafka, nats, redis, redisentries


class Places:
    """Two partitions or streams of a broker: what is sent to them, and what reads them."""

    def __init__(self, open_source, send):
        self.source = open_source
        self._send = send
        self._sent = 0

    def send(self, place):
        self._sent += 1
        body = {"key": f"job {self._sent}", "round": 1, "bit": int(livestreams.STOPPER.cases[0] == "accept")}
        self._send(place, json.dumps(body).encode())


@contextlib.contextmanager
def places(broker, folder):
    with contextlib.ExitStack() as stack:
        if broker == "kafka":
            server = stack.enter_context(kafkaserver.KafkaServer())
            server.create("reports", 2)
            yield Places(
                lambda begin: kafka.Source(server.servers, ["reports"], begin=begin),
                lambda place, data: server.send("reports", [(place, None, data)]),
            )
        elif broker == "nats":
            server = stack.enter_context(natsserver.NatsServer(folder / "nats"))
            for place in range(2):
                server.create(f"s{place}", f"reports.{place}")
            yield Places(
                lambda begin: nats.Source(server.url, ["reports.*"], begin=begin),
                lambda place, data: server.send([(f"reports.{place}", data)]),
            )
        else:
            server = stack.enter_context(redisserver.RedisServer(folder / "redis"))
            options = {"group": "g", "consumer": "c"} if broker == "redis group" else {}
            yield Places(
                lambda begin: redis.Source(server.url, ["s0", "s1"], begin=begin, **options),
                lambda place, data: server.send(f"s{place}", [data]),
            )


@pytest.fixture(params=["kafka", "nats", "redis", "redis group"])
def two(request, tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "PATIENCE", 0.02)
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.01)
    with places(request.param, tmp_path) as found:
        yield found


def reports(path, source):
    """Run until nothing more comes; return how many reports the run has read in all its lives."""
    with Store(path, run="test") as store:
        quiet = livestreams.Nowhere()
        Pump(Runner(livestreams.stopper, store), livefaults.UntilIdle(source), quiet, quiet).run()
        return store.counters().get("reports", 0)


@pytest.mark.parametrize("again", ["end", "beginning"])
def test_what_comes_after_a_life_that_read_nothing_is_read(two, tmp_path, again):
    """Whether the same command follows, or one without the place where it began."""
    two.send(0)
    assert reports(tmp_path / "run.db", two.source("end")) == 0
    two.send(0)
    two.send(1)
    assert reports(tmp_path / "run.db", two.source(again)) == 2


def test_a_place_that_was_silent_keeps_where_it_began(two, tmp_path):
    two.send(0)
    two.send(1)
    assert reports(tmp_path / "run.db", two.source("end")) == 0
    two.send(0)
    assert reports(tmp_path / "run.db", two.source("end")) == 1
    two.send(1)
    assert reports(tmp_path / "run.db", two.source("end")) == 2


class Dying:
    """A source whose process is killed as soon as it has started, or whose broker is away just then."""

    ended = shared = False

    def __init__(self, source, error):
        self._source = source
        self._error = error

    def start(self, positions):
        self._source.start(positions)
        raise self._error

    def close(self):
        self._source.close()


def test_a_life_that_ends_before_the_place_is_stored_has_read_nothing(two, tmp_path):
    two.send(0)
    with pytest.raises(KeyboardInterrupt):
        reports(tmp_path / "run.db", Dying(two.source("end"), KeyboardInterrupt()))
    assert reports(tmp_path / "run.db", two.source("end")) == 0
    two.send(1)
    assert reports(tmp_path / "run.db", two.source("end")) == 1


def test_while_the_broker_is_away_nothing_is_looked_for(tmp_path, monkeypatch):
    """The end is where it is once the broker is there."""
    monkeypatch.setattr(pump, "FIRST_PAUSE", 0.0)
    log = tmp_path / "log"
    begun = iter([BrokerError("away"), BrokerError("away"), {"log": (2,)}])

    class Late(Dying):
        def start(self, positions):
            answer = next(begun)
            if isinstance(answer, BrokerError):
                assert positions == {}
                raise answer
            return answer

        def fetch(self, *_):
            self.ended = True
            return []

    with Store(log, run="test") as store:
        quiet = livestreams.Nowhere()
        Pump(Runner(livestreams.stopper, store), Late(quiet, None), quiet, quiet).run()
        assert store.positions() == {"log": (2,)}


def test_where_a_run_has_a_position_it_stays():
    store = Store(":memory:")
    store.begin({"a": (3,)})
    store.begin({"a": (9,), "b": ()})
    assert store.positions() == {"a": (3,), "b": ()}


# --- Redis tells by the entry read last whether something was trimmed; where a run begins there may be none


@pytest.fixture
def server(tmp_path):
    with redisserver.RedisServer(tmp_path / "redis") as running:
        yield running


def begun(server, begin):
    source = redis.Source(server.url, ["s"], begin=begin)
    with contextlib.closing(source):
        return source.start({})


def test_a_run_of_redis_begins_at_an_entry_that_is_there(server):
    first, second, third = (redisentries.position_of(it) for it in server.send("s", [b"1", b"2", b"3"]))
    server.client.xdel("s", redisentries.entry_at(second))
    assert begun(server, redisentries.entry_at(second)) == {"s": first}
    assert begun(server, "end") == {"s": third}
    server.client.xdel("s", redisentries.entry_at(first))
    assert begun(server, redisentries.entry_at(second)) == {"s": (*second, 2)}
    server.client.xtrim("s", maxlen=0, approximate=False)
    assert begun(server, "end") == {"s": (*third, 3)}
    later = redisentries.entry_at((third[0] + 1, 0))
    with pytest.raises(StreamlearnError, match=r"and is to begin at .*, later; begin at one of these"):
        begun(server, later)


@pytest.mark.parametrize("left", [3, 1])
def test_what_is_trimmed_after_the_place_where_nothing_lay_is_seen(server, left):
    server.send("s", [b"1", b"2"])
    server.client.xtrim("s", maxlen=0, approximate=False)
    place = begun(server, "end")
    entries = server.send("s", [b"3", b"4", b"5"])
    server.client.xtrim("s", maxlen=left, approximate=False)
    with contextlib.closing(redis.Source(server.url, ["s"])) as source:
        if left == len(entries):
            source.start(place)
            assert [it.data for it in source.fetch(10, 1.0)] == [b"3", b"4", b"5"]
        else:
            with pytest.raises(LostError) as lost:
                source.start(place)
            source.start(lost.value.positions)
            assert [it.data for it in source.fetch(10, 1.0)] == [b"5"]
