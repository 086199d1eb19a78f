"""A run that would feed itself is refused, by whatever name its server goes; and one whose name another run has."""

from __future__ import annotations

import contextlib

import kafkaserver
import livefaults
import livestreams
import natsserver
import pytest
import redisserver
import structlog
from structlog.testing import capture_logs

from streamlearn.errors import ParameterError
from streamlearn.live import Pump, Runner, Store, pump
from streamlearn.live.brokers import file
from streamlearn.live.brokers.addresses import open_sink, open_source


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(pump, "PATIENCE", 0.02)


@contextlib.contextmanager
def alias(port):
    """Another address of the same server."""
    with livefaults.Cable(port) as cable:
        yield f"127.0.0.1:{cable.port}"


@contextlib.contextmanager
def server(broker, folder):
    """Two addresses of a broker that has the places jobs.reports, jobs.dead and elsewhere."""
    with contextlib.ExitStack() as stack:
        if broker == "nats":
            found = stack.enter_context(natsserver.NatsServer(folder / "nats"))
            found.create("jobs", "jobs.>")
            found.create("elsewhere", "elsewhere")
            yield f"nats://0:{found.port}", f"nats://{stack.enter_context(alias(found.port))}"
        elif broker == "redis":
            found = stack.enter_context(redisserver.RedisServer(folder / "redis"))
            yield f"redis://0:{found.port}/0", f"redis://{stack.enter_context(alias(found.port))}/0"
        else:
            found = stack.enter_context(kafkaserver.KafkaServer())
            for topic in ("jobs.reports", "jobs.dead", "elsewhere"):
                found.create(topic)
            yield f"kafka://{found.servers}", f"kafka://localhost:{found.servers.split(':')[1]}"


def run(source, sink, dead):
    with Store(":memory:", run="test") as store:
        runner = Runner(livestreams.stopper, store)
        Pump(runner, livefaults.UntilIdle(source), sink, dead).run()


@pytest.mark.parametrize("broker", ["nats", "redis", "kafka"])
def test_what_comes_back_by_another_name_of_the_server_is_refused(broker, tmp_path):
    with server(broker, tmp_path) as (here, there):
        names = "jobs.>" if broker == "nats" else "jobs.reports,jobs.dead"

        def opened(*outputs):
            return open_source(f"{here}/{names}"), *(open_sink(f"{there}/{it}") for it in outputs)

        with pytest.raises(ParameterError, match="the dead letters go to where the source reads"):
            run(*opened("elsewhere", "jobs.dead"))
        with pytest.raises(ParameterError, match="the decisions go to where the source reads"):
            run(*opened("jobs.dead", "elsewhere"))
        run(*opened("elsewhere", "elsewhere"))


def test_another_database_of_redis_is_another_place(tmp_path):
    with server("redis", tmp_path) as (here, there):
        sinks = [open_sink(f"{there[:-1]}1/reports") for _ in range(2)]
        run(open_source(f"{here}/reports"), *sinks)


# --- one name, two runs


def decide(store, sink, source):
    """Decide on the same reports as ever; return what was told of, and how many were there already."""
    structlog.configure()
    with Store(store, run="test") as kept, capture_logs() as events:
        running = Pump(Runner(livestreams.stopper, kept), source, sink, livestreams.Nowhere())
        running.run()
    told = [it for it in events if it["event"] == "live.already_there"]
    assert [(it["run"], it["log_level"]) for it in told] == [("test", "warning")] * len(told)
    return len(told), running.known


@pytest.mark.parametrize("broker", ["nats", "redis", "file"])
def test_two_runs_of_one_name_are_told(broker, tmp_path):
    """The broker takes the decisions of the second for those of the first."""
    log = tmp_path / "log"
    log.write_bytes(b"".join(livestreams.message(0, it).data + b"\n" for it in livestreams.reports(20)))
    with server(broker, tmp_path) if broker != "file" else contextlib.nullcontext(["file:"]) as (address, *_):
        name = address + str(tmp_path / "out") if broker == "file" else f"{address}/elsewhere"
        source = lambda: file.Source(log, follow=False)  # noqa: E731
        assert decide(tmp_path / "first.db", open_sink(name), source()) == (0, 0)
        assert decide(tmp_path / "second.db", open_sink(name), source()) == (1, 20)
        assert decide(tmp_path / "second.db", open_sink(name), source()) == (0, 0)


def test_what_a_killed_run_may_have_published_is_no_sign_of_another(tmp_path):
    out = file.Sink(tmp_path / "out")
    with Store(tmp_path / "run.db", run="test") as store:
        Runner(livestreams.stopper, store).process(livestreams.numbered(livestreams.reports(20)))
        out.publish(store.unpublished(1000))
    (tmp_path / "log").touch()
    assert decide(tmp_path / "run.db", out, file.Source(tmp_path / "log", follow=False)) == (0, 0)
