"""serve and inspect, as processes: pipes and files, signals and kills, and nothing private anywhere."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess

import kafkaserver
import livefaults
import livestreams
import natsserver
import pytest
import redisserver
from liveserving import BODIES, PRIORS, lines, serve, start

SECRET = "0.73519"  # noqa: S105 - somebody's value, that must not come out anywhere


def whole():
    """The payloads of an undisturbed run named test."""
    return [
        it.payload
        for it in livestreams.run_whole(livestreams.stopper, livestreams.numbered(BODIES)).unpublished(99)
    ]


def test_lines_in_decisions_out_and_the_same_again_changes_nothing(tmp_path):
    command = (PRIORS, "--store", "run.db", "--run", "test")
    out, err = serve(tmp_path, *command, sent=lines(BODIES))
    assert out.splitlines() == whole()
    assert "run test:" in err
    assert "40 decisions" in err
    again, err = serve(tmp_path, *command, sent=lines(BODIES))
    assert again == b""


def test_a_predictor_keeps_its_secret_draws_over_a_restart(tmp_path):
    bodies = livestreams.examples(2, 60)
    command = ("--agent", "subsampled", "--class", "thresholds:100", "--gamma", "0.5", "--store")
    once, _ = serve(tmp_path, *command, "whole.db", "--run", "a", sent=lines(bodies))
    assert len(once.splitlines()) == 120
    first, _ = serve(tmp_path, *command, "cut.db", "--run", "a", sent=lines(bodies[:77]))
    second, _ = serve(tmp_path, *command, "cut.db", sent=lines(bodies[70:]))
    assert len((first + second).splitlines()) == 120
    assert {json.loads(line)["id"] for line in (first + second).splitlines()} == {
        json.loads(line)["id"] for line in once.splitlines()
    }


def test_a_run_from_file_to_file_survives_a_kill(tmp_path):
    log, decided = tmp_path / "reports.jsonl", tmp_path / "decided.jsonl"
    log.write_bytes(lines(BODIES[:100]))
    command = (PRIORS, "--store", "run.db", "--run", "test", "--batch", "7",
               "--source", f"file:{log}", "--sink", f"file:{decided}")  # fmt: skip
    with start(tmp_path, *command, stderr=subprocess.DEVNULL) as process:
        livefaults.poll(lambda: decided.exists() and decided.stat().st_size > 0)
        process.kill()
    with log.open("ab") as file:
        file.write(lines(BODIES[100:]))
    with start(tmp_path, *command, stderr=subprocess.DEVNULL) as process:
        livefaults.poll(lambda: len(decided.read_bytes().splitlines()) == 40)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert decided.read_bytes().splitlines() == whole()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_all_published(tmp_path, number):
    with start(
        tmp_path, PRIORS, "--store", "run.db", "--run", "test",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdin.write(lines(BODIES))
        process.stdin.flush()
        decided = [process.stdout.readline().strip() for _ in whole()]
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert decided == whole()
    assert out == b""
    assert b"40 decisions" in err


def test_what_cannot_be_used_is_told_without_what_it_holds(tmp_path):
    bad = [b"{" + SECRET.encode(), json.dumps({"key": "a", "round": 1, "bit": float(SECRET)}).encode()]
    out, err = serve(
        tmp_path, PRIORS, "--store", "run.db", "--run", "test", "--dead", "file:dead.jsonl",
        sent=b"\n".join(bad) + b"\n" + lines(BODIES),
    )  # fmt: skip
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert [letter["position"] for letter in letters] == [[1, 1], [1, 2]]
    assert out.splitlines() == whole()
    everything = (
        out.decode()
        + err
        + "".join(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir() if path.is_file())
    )
    assert SECRET not in everything
    _, err = serve(tmp_path, PRIORS, "--store", "run.db", sent=bad[0] + b"\n")
    assert '"reason":' in err


def test_a_dry_run_changes_nothing(tmp_path):
    log = tmp_path / "reports.jsonl"
    log.write_bytes(lines(BODIES[:100]))
    command = (PRIORS, "--store", "run.db", "--run", "test", "--source", f"file:{log}")
    serve(tmp_path, *command, "--until-idle", "0.1")
    log.write_bytes(lines(BODIES))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
    out, _ = serve(tmp_path, *command, "--dry-run")
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
    assert {name: data for name, data in after.items() if data} == {
        name: data for name, data in before.items() if data
    }
    real, _ = serve(tmp_path, *command, "--until-idle", "0.1")
    assert out == real
    assert out


def test_where_a_new_run_begins(tmp_path):
    log = tmp_path / "reports.jsonl"
    log.write_bytes(lines(BODIES[:100]))
    command = (PRIORS, "--source", f"file:{log}", "--until-idle", "0.1", "--store")
    out, _ = serve(tmp_path, *command, "end.db", "--from", "end")
    assert out == b""
    place = len(lines(BODIES[:50]))
    serve(tmp_path, *command, "middle.db", "--from", str(place))
    _, err = serve(tmp_path, *command, "middle.db", "--from", "beginning", code=1)
    assert "--from is for a new run" in err
    assert str(len(lines(BODIES[:100]))) in err


def test_a_stopper_publishes_its_plan(tmp_path):
    serve(tmp_path, PRIORS, "--store", "run.db", "--publish-plan", "file:plan.jsonl")
    plan = json.loads((tmp_path / "plan.jsonl").read_text())
    assert plan == json.loads(livestreams.STOPPER.plan.to_json())


def test_health_and_plan_are_served_meanwhile(tmp_path):
    import urllib.request

    with start(
        tmp_path, PRIORS, "--store", "run.db", "--http", "127.0.0.1:0", "--log", "json",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        told = process.stderr.readline().decode()
        address = told.split("http://")[1].split("/")[0].split('"')[0].strip()
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=10) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"http://{address}/plan", timeout=10) as answer:
            assert json.load(answer) == json.loads(livestreams.STOPPER.plan.to_json())
        process.stdin.close()
        process.wait(timeout=30)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "needs the priors"),
        ((PRIORS, "--agent", "clever"), "--agent 'clever' is unknown"),
        ((PRIORS, "--class", "thresholds:5"), "--class is for soa"),
        ((PRIORS, "--source", "ftp://host/x"), "an address is one of"),
        ((PRIORS, "--source", "nats://host/x"), "needs a host and a port"),
        ((PRIORS, "--source", "redis://:open-sesame@host:70000/0/x"), "a port (1 to 65535)"),
        ((PRIORS, "--source", "file:nowhere.jsonl"), "cannot be read"),
        ((PRIORS, "--sink", "file:."), "cannot be written"),
        ((PRIORS, "--http", "nonsense"), "--http must be HOST:PORT"),
        ((PRIORS, "--key", "bit"), "--key must name"),
        ((PRIORS, "--group", "g"), "group"),
        (("--agent", "soa"), "needs --class"),
        (
            ("--agent", "soa", "--class", "thresholds:5", "--publish-plan", "-"),
            "--publish-plan is for stoppers",
        ),
    ],
)
def test_a_users_mistake_is_one_line(tmp_path, arguments, complaint):
    _, err = serve(tmp_path, *arguments, "--store", "run.db", "--log", "off", code=1)
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert "open-sesame" not in err


@pytest.mark.parametrize(
    ("option", "source", "place"),
    [
        ("--sink", "file:log", "file:./log"),
        ("--dead", "nats://127.0.0.1:1/jobs.>", "nats://localhost:1/jobs.dead"),
        ("--publish-plan", "redis://:open-sesame@h:1/0/a,b", "redis://:open-sesame@h:1/0/b"),
    ],
)
def test_a_run_that_would_feed_itself_is_refused(tmp_path, option, source, place):
    (tmp_path / "log").write_bytes(lines(BODIES))
    _, err = serve(
        tmp_path, PRIORS, "--store", "run.db", "--log", "off", "--source", source, option, place, code=1
    )
    assert err.startswith(f"error: {option} writes to where --source reads")
    assert "open-sesame" not in err
    assert {path.name for path in tmp_path.iterdir()} == {"log"}


def test_a_file_that_is_standard_input_and_output_is_refused(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(lines(BODIES))
    for streams in (("--sink", "file:log"), ()):
        with (
            log.open("rb") as reader,
            log.open("ab") as writer,
            start(
                tmp_path, PRIORS, "--store", "run.db", *streams,
                stdin=reader, stdout=writer, stderr=subprocess.PIPE,
            ) as process,
        ):  # fmt: skip
            _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert b"--sink writes to where --source reads" in err
    assert log.read_bytes() == lines(BODIES)


def test_a_beginning_that_is_refused_leaves_no_store(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(lines(BODIES))
    command = (PRIORS, "--store", "run.db", "--log", "off", "--until-idle", "0.1", "--source")
    for begin, complaint in (("7", "no line begins at byte 7"), ("1e9", "--from must be"), ("999999", "has")):
        _, err = serve(tmp_path, *command, f"file:{log}", "--from", begin, code=1)
        assert complaint in err
    serve(tmp_path, *command, "-", "--from", "end", code=1)
    serve(tmp_path, *command, "file:nowhere", code=1)
    assert {path.name for path in tmp_path.iterdir()} == {"log"}
    serve(tmp_path, *command, f"file:{log}", "--from", "end")
    assert (tmp_path / "run.db").exists()


@pytest.mark.parametrize("broker", ["nats", "kafka"])
def test_a_beginning_that_a_broker_refuses_leaves_no_store(tmp_path, broker):
    with contextlib.ExitStack() as stack:
        if broker == "nats":
            server = stack.enter_context(natsserver.NatsServer(tmp_path / "nats"))
            server.create("events", "reports")
            source = f"{server.url}/reports"
        else:
            server = stack.enter_context(kafkaserver.KafkaServer())
            server.create("reports")
            source = f"kafka://{server.servers}/reports"
        command = (PRIORS, "--store", "run.db", "--log", "off", "--until-idle", "0", "--source", source)
        _, err = serve(tmp_path, *command, "--from", "17", code=1)
        assert "is to begin at" in err
        assert not list(tmp_path.glob("run.db*"))
        serve(tmp_path, *command)
        assert list(tmp_path.glob("run.db"))


def test_messages_that_are_gone_stop_a_run_unless_it_may_skip_them(tmp_path, run):
    with redisserver.RedisServer(tmp_path / "redis") as server:
        entries = server.send("reports", [json.dumps(body) for body in BODIES[:20]])
        command = (
            PRIORS, "--store", "run.db", "--run", "test", "--source", f"{server.url}/reports",
            "--until-idle", "0", "--log", "json",
        )  # fmt: skip
        serve(tmp_path, *command)
        server.send("reports", [json.dumps(body) for body in BODIES[20:]])
        server.client.xtrim("reports", maxlen=len(BODIES) - 30, approximate=False)
        _, err = serve(tmp_path, *command, code=1)
        assert "trimmed unread. To go on without them, use --skip-lost" in err
        out, err = serve(tmp_path, *command, "--skip-lost")
        _, again = serve(tmp_path, *command)
    (told,) = (json.loads(line)["reason"] for line in err.splitlines() if '"live.messages_lost"' in line)
    assert told.startswith(
        f"stream 'reports' was read up to entry {entries[-1].decode()}, which is no longer there"
    )
    assert told.endswith("trimmed unread")
    assert "1 losses" in err
    assert "1 losses" in again
    read = livestreams.numbered(BODIES)
    left = livestreams.run_whole(livestreams.stopper, read[:20] + read[30:])
    counters = json.loads(run("inspect", "run.db", "--json").stdout)["counters"]
    assert counters == left.counters() | {"losses": 1}
    first = livestreams.run_whole(livestreams.stopper, read[:20]).unpublished(99)
    assert out.splitlines() == [it.payload for it in left.unpublished(99)][len(first) :]


def test_two_pipes_at_once_want_two_stores(tmp_path):
    command = (PRIORS, "--store", "run.db", "--run", "test", "--log", "off")
    with start(
        tmp_path, *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as first:
        first.stdin.write(lines(BODIES[:100]))
        first.stdin.flush()
        early = livestreams.run_whole(livestreams.stopper, livestreams.numbered(BODIES[:100])).unpublished(99)
        out = [first.stdout.readline().strip() for _ in early]
        second, err = serve(tmp_path, *command, sent=lines(BODIES[100:]), code=1)
        assert second == b""
        assert "run.db: another process reads a pipe into this store" in err
        serve(tmp_path, PRIORS, "--store", "other.db", sent=lines(BODIES[:10]))
        serve(tmp_path, *command, "--source", "file:/dev/null", "--until-idle", "0")
        rest, _ = first.communicate(lines(BODIES[100:]), timeout=60)
    assert out + rest.splitlines() == whole()
    telling = (*command[:-1], "json")
    with start(tmp_path, *telling, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        assert b"live.started" in first.stderr.readline()
        serve(tmp_path, *command, sent=b"", code=1)
        first.kill()  # and the store is free again
        first.communicate()
    serve(tmp_path, *command, sent=lines(BODIES))


def test_other_agents_and_other_files_are_refused(tmp_path):
    serve(tmp_path, PRIORS, "--store", "run.db")
    _, err = serve(tmp_path, "5*uniform(0,1)", "--store", "run.db", "--log", "off", code=1)
    assert "belongs to a LDPOptimalStopper" in err
    (tmp_path / "notes.txt").write_text("notes " * 1000)
    _, err = serve(tmp_path, PRIORS, "--store", "notes.txt", code=1)
    assert "is no store" in err


def test_inspect_shows_a_run_and_changes_nothing(tmp_path, run):
    serve(tmp_path, PRIORS, "--store", "run.db", "--run", "test", sent=lines(BODIES))
    before = (tmp_path / "run.db").read_bytes()
    shown = run("inspect", "run.db", "--key", "job 1").stdout
    found = json.loads(run("inspect", "run.db", "--key", "job 1", "--json").stdout)
    assert (tmp_path / "run.db").read_bytes() == before
    assert found["run"] == "test"
    assert found["keys"] == 40
    assert found["positions"] == {"-": [1, len(BODIES)]}
    assert found["counters"]["decisions"] == 40
    assert found["key"]["stopped"] is True
    assert found["ledger"]["answers"] == sum(it["answers"] for it in found["ledger"]["entries"]) > 40
    assert found["ledger"]["most_epsilon"] == livestreams.STOPPER.plan.epsilon
    for text in ("run: test", "keys: 40", "40 decisions", "position: - at 1-"):
        assert text in shown
    assert "there is no such file" in run("inspect", "none.db", code=1).stderr
    assert "is not one of this run's" in run("inspect", "run.db", "--key", "nobody", code=1).stderr
    (tmp_path / "notes.txt").write_text("notes " * 1000)
    assert "is no store" in run("inspect", "notes.txt", code=1).stderr


def test_inspect_works_while_a_run_does(tmp_path, run):
    with start(
        tmp_path,
        PRIORS,
        "--store",
        "run.db",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        process.stdin.write(lines(BODIES))
        process.stdin.flush()
        assert process.stdout.readline()
        found = json.loads(run("inspect", "run.db", "--json").stdout)
        assert found["counters"]["decisions"] == 40
        process.terminate()
        process.communicate(timeout=30)
