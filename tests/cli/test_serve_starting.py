"""How serve starts: what it refuses before it has made or touched anything, where it begins, and how it is ended."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import stat
import subprocess

import kafkaserver
import pytest
from liveserving import BODIES, PRIORS, inside, lines, refused, start

from streamlearn.errors import StreamlearnError
from streamlearn.live import Store
from streamlearn.live.inspection import inspect

QUIET = ("--until-idle", "0", "--log", "off")


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log").write_bytes(lines(BODIES))
    return tmp_path


def serve(folder, *arguments, source="file:log", store="run.db"):
    code, out, err = inside(folder, "serve", PRIORS, "--store", store, "--source", source, *QUIET, *arguments)
    assert code == 0, err
    return out, err


def serve_refused(folder, *arguments, source="file:log", store="run.db"):
    return refused(folder, "serve", PRIORS, "--store", store, "--source", source, *QUIET, *arguments)


# --- an output that is the store


@pytest.mark.parametrize("option", ["--sink", "--dead", "--publish-plan"])
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal", "-pipe", "-publishing"])
def test_an_output_that_is_the_store_is_refused_before_anything_is_made(log, option, end):
    assert f"{option}: this is the store run.db" in serve_refused(log, option, f"file:./run.db{end}")
    assert {it.name for it in log.iterdir()} == {"log"}


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_output_that_is_linked_to_the_store_is_refused_and_the_store_is_whole(log, link):
    serve(log)
    before = inspect(log / "run.db")
    link(log / "run.db", log / "decisions")
    assert "--sink: this is the store" in serve_refused(log, "--sink", "file:decisions")
    assert inspect(log / "run.db") == before


def test_a_store_behind_a_link_is_known_by_its_own_name(log):
    (log / "data").mkdir()
    (log / "run.db").symlink_to("data/real.db")
    for name in ("data/real.db", "data/real.db-wal", "run.db-pipe"):
        assert "--dead: this is the store" in serve_refused(log, "--dead", f"file:{name}")
    assert "--source: this is the store" in serve_refused(log, source="file:data/real.db")
    assert not list((log / "data").iterdir())


def test_a_store_in_a_file_that_others_could_read_is_its_owners_alone(log):
    (log / "run.db").touch(mode=0o666)
    (log / "run.db").chmod(0o666)
    serve(log)
    with Store(log / "run.db") as store:
        store.secret()
        modes = {it.name: stat.S_IMODE(it.stat().st_mode) for it in log.glob("run.db*")}
    assert set(modes.values()) == {0o600}
    assert "run.db-wal" in modes


# --- arguments first


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--http", "abc"), "--http must be HOST:PORT"),
        (("--http", "127.0.0.1:99999"), "--http must be HOST:PORT"),
        (("--from", ""), "--from must be"),
        (("--from", "99999999999999999999999999999"), "--from"),
        (("--run", ""), "--run must be a name"),
        (("--run", "a\nb"), "--run must be a name"),
        (("--sink", "ftp://host/x"), "--sink: an address is one of"),
        (("--dead", "nats://127.0.0.1:1/a\nb"), "--dead: an address"),
        (("--source", "redis://127.0.0.1:1/0/s", "--from", f"{1 << 64}-0"), "--from must be"),
        (("--source", "redis://127.0.0.1:1/99999999999/s"), "--source"),
        (("--key", "bit"), "--key must name"),
    ],
)
def test_an_argument_that_cannot_be_is_named_and_nothing_is_made(log, arguments, complaint):
    assert complaint in serve_refused(log, *arguments)
    assert {it.name for it in log.iterdir()} == {"log"}


def test_a_port_that_is_taken_leaves_no_store_and_publishes_nothing(log):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = serve_refused(log, "--http", f"127.0.0.1:{port}", "--publish-plan", "file:plan")
    assert f"--http 127.0.0.1:{port} cannot be used" in said
    assert not list(log.glob("run.db*"))
    assert (log / "plan").read_bytes() == b""


def test_a_refusal_takes_away_only_a_store_that_was_just_made(log):
    serve(log)
    before = inspect(log / "run.db")
    serve_refused(log, "--http", "1.2.3.4:1")
    assert inspect(log / "run.db") == before


def test_a_full_disk_leaves_no_file(log, monkeypatch):
    from streamlearn.live import schema

    def full(*_):
        raise StreamlearnError("run.db: cannot be used (database or disk is full)")

    monkeypatch.setattr(schema, "bring_up_to_date", full)
    assert "disk is full" in serve_refused(log)
    assert {it.name for it in log.iterdir()} == {"log"}


def test_a_name_that_is_of_a_directory_is_said_to_be(log):
    (log / "folder").mkdir()
    assert "folder: is a directory" in refused(log, "inspect", "folder")
    assert "it is a directory" in serve_refused(log, store="folder")


# --- where it begins


def append(folder, bodies):
    with (folder / "log").open("ab") as file:
        file.write(lines(bodies))


@pytest.mark.parametrize("again", [("--from", "end"), ()])
def test_a_life_that_read_nothing_has_found_the_end(log, again):
    serve(log, "--from", "end")
    assert inspect(log / "run.db")["positions"] == {str(log / "log"): (len(lines(BODIES)),)}
    append(log, [{"key": "later", "round": 1, "bit": 0}])
    _, err = serve(log, "--log", "console", *again)
    assert "1 reports" in err


def test_of_two_partitions_of_kafka_the_silent_one_keeps_its_end(tmp_path):
    with kafkaserver.KafkaServer() as server:
        server.create("reports", 2)
        source = f"kafka://{server.servers}/reports"

        def reports():
            serve(tmp_path, "--from", "end", "--until-idle", "0.5", source=source)
            return inspect(tmp_path / "run.db")["counters"].get("reports", 0)

        assert reports() == 0
        for place, count in ((0, 1), (1, 2)):
            server.send("reports", [(place, f"job {place}", b'{"round": 1, "bit": 0}')])
            assert reports() == count


def test_a_beginning_without_its_broker_is_looked_for_at_the_next_start(log):
    """The word is kept, as the place cannot be: a life that reads nothing but a broken pipe stands for it."""
    with Store(log / "run.db") as store, store.transaction():
        store.keep("begin", "end")
    serve(log)
    assert inspect(log / "run.db")["counters"] == {}
    assert inspect(log / "run.db")["positions"] == {str(log / "log"): (len(lines(BODIES)),)}


# --- how it is ended


def told(process):
    """Iterate over the events it logs."""
    return (json.loads(line) for line in process.stderr if line.startswith(b"{"))


@contextlib.contextmanager
def starting(folder, source):
    """A run that waits for a broker, and says that it has started."""
    with start(
        folder, PRIORS, "--store", "run.db", "--run", "test", "--log", "json", "--source", source,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("nats://127.0.0.1:{}/a", signal.SIGTERM),
        ("redis://127.0.0.1:{}/0/a", signal.SIGINT),
        ("kafka://127.0.0.1:{}/a", signal.SIGTERM),
    ],
)
def test_a_run_that_waits_for_its_first_answer_ends_at_a_signal(tmp_path, source, number):
    """The server accepts and says nothing."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        starting(tmp_path, source.format(silent.getsockname()[1])) as process,
    ):
        events = told(process)
        assert next(events)["event"] == "live.started"
        connection = silent.accept()[0]
        process.send_signal(number)
        assert [it["event"] for it in events] == ["live.stopped"]
        assert process.wait(timeout=60) == 0
        connection.close()


@pytest.mark.parametrize(
    "source", ["nats://127.0.0.1:1/a", "redis://127.0.0.1:1/0/a", "kafka://127.0.0.1:1/a"]
)
def test_a_broker_that_is_awaited_is_told_as_a_warning(tmp_path, source):
    with starting(tmp_path, source) as process:
        events = told(process)
        seen = list(itertools.takewhile(lambda it: it["event"] != "live.broker_lost", events))
        assert [it["event"] for it in seen] == ["live.started"]
        process.send_signal(signal.SIGTERM)
        assert [it["event"] for it in events][-1] == "live.stopped"
        assert process.wait(timeout=60) == 0
    with Store(tmp_path / "run.db") as store:
        assert store.positions() == {}
