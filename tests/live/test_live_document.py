"""What docs/live.md says is what the code has: metrics, events, paths, messages and limits; and its commands work."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import livestreams
import msgspec
import pytest
from kafkaserver import KafkaServer
from natsserver import NatsServer
from redisserver import RedisServer

from streamlearn import telemetry
from streamlearn.cli import serving
from streamlearn.live import Store, metrics, pump, runner, stoppers, web
from streamlearn.live.brokers import kafka, kafkasink, redis, redisscripts
from streamlearn.live.messages import (
    MOST_BYTES,
    DeadLetter,
    ExampleMessage,
    Prediction,
    ReportMessage,
    StopDecision,
)

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
REPORTS = [
    {"key": "job 1", "round": 1, "bit": 0, "event_id": "a17"},
    {"key": "job 1", "round": 2, "bit": 1, "event_id": "b18"},
]


def section(title):
    """The text under a heading, up to the next of any level."""
    return re.search(rf"^#+ {title}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def rows(head):
    """The rows of the table whose first column has this head, as cells."""
    table = re.search(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[1]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def names(head):
    return [row[0].strip("`") for row in rows(head)]


def test_its_table_names_exactly_the_metrics_there_are():
    exported = {}
    for kind, bodies in (
        ("stopper", livestreams.reports(5)),
        ("predictor", livestreams.examples(2, 5)),
    ):
        work = runner.Runner(getattr(livestreams, kind), Store(":memory:", run="test"), most_open=1000)
        work.process(livestreams.numbered(bodies))
        run = pump.Pump(work, None, None, None)
        run.lag = 0
        _, text = metrics.exposition(run)
        exported |= dict(re.findall(r"^# TYPE (\S+) (\S+)", text.decode(), re.MULTILINE))
    told = {row[0].strip("`"): row[1] for row in rows("metric")}
    assert told == exported
    assert len(names("metric")) == len(told)


def test_its_tables_of_events_and_paths_are_whole():
    events = {
        value for it in (telemetry, pump) for name, value in vars(it).items() if name.startswith("LIVE_")
    }
    assert set(names("event")) == events
    assert set(names("path")) == {*web._ANSWERS, "/events"}


def test_the_counters_of_what_comes_are_counters():
    told = {name for row in rows("what comes") for name in re.findall(r"`(\w+)`", row[-1])}
    assert told <= set(metrics.COUNTERS)
    assert told >= {
        "redelivered",
        "duplicates",
        "early",
        "late",
        "after_decision",
        "given_up",
        "dead_letters",
    }


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Report", ReportMessage),
        ("Example and label", ExampleMessage),
        ("Decision", StopDecision),
        ("Prediction", Prediction),
        ("Dead letter", DeadLetter),
    ],
)
def test_its_examples_are_messages(title, kind):
    lines = re.search(r"```json\n(.*?)```", section(title), re.DOTALL)[1].splitlines()
    assert lines
    for line in lines:
        msgspec.json.decode(line, type=kind)
        assert set(json.loads(line)) <= set(kind.__struct_fields__)


def test_its_limits_are_the_codes():
    for bound, sentence in (
        (MOST_BYTES, "over {:,} bytes"),
        (stoppers.MOST_AHEAD, "up to {:,} rounds ahead"),
        (stoppers.IDS_KEPT, "the latest {:,} rounds"),
        (runner.MOST_OPEN, "`--most-open` ({:,} a key)"),
        (runner.REMEMBERED, "the latest {:,} over all keys"),
        (runner.MOST_AGENTS, "`--most-agents` ({:,})"),
        (redisscripts.KNOWN, "the last {:,} ids"),
        (int(redis.IDLE), "to another after {} seconds"),
        (int(kafka.REFRESH), "found within {} seconds"),
        (int(kafkasink.DELIVERY), "outage of over {} seconds"),
        (int(pump.LONGEST_PAUSE), "pauses of up to {} seconds"),
        (int(web.STALLED), "503 after {} seconds"),
        (web.MOST_LISTENERS, "up to {} listeners"),
    ):
        assert sentence.format(bound) in PAGE, sentence
    assert serving.IDLE == 1.0
    assert "It ends after a second of silence" in PAGE


# --- the commands of its text blocks, on real servers


def command(title, written, real):
    """The serve command of a section, with the server's real address, ending once nothing more comes."""
    (line,) = re.findall(r"^\$ streamlearn (serve .*)$", section(title), re.MULTILINE)
    assert line.count(written) >= 2
    return [*shlex.split(line.replace(written, real)), "--until-idle", "1", "--log", "off"]


def run(folder, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "streamlearn", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "1 decisions, 2 reports, 1 taken" in done.stderr
    assert done.stdout == ""


def check(payload):
    found = json.loads(payload)
    assert (found["key"], found["take"], found["event_id"]) == ("job 1", True, "b18")


def test_its_command_for_nats_works(tmp_path):
    with NatsServer(tmp_path / "nats") as server:
        # As the page's `nats stream add` does, whose program is seldom installed.
        (made,) = re.findall(
            r"^\$ nats stream add (\S+) --subjects (\S+) --retention limits", PAGE, re.MULTILINE
        )
        server.create(made[0], *made[1].split(","))
        server.send([("reports", json.dumps(it).encode()) for it in REPORTS])
        run(tmp_path, command("NATS JetStream", "127.0.0.1:4222", f"127.0.0.1:{server.port}"))
        decided = [(headers, data) for headers, data in server.read(made[0]) if "Nats-Msg-Id" in headers]
        assert len(decided) == 1
        check(decided[0][1])
        assert decided[0][0]["Nats-Msg-Id"] == json.loads(decided[0][1])["id"]


def test_its_commands_for_redis_work(tmp_path):
    with RedisServer(tmp_path / "redis") as server:
        (shown,) = re.findall(r"^\$ redis-cli (XADD .*)$", PAGE, re.MULTILINE)
        server.client.execute_command(*shlex.split(shown)[:-1], json.dumps(REPORTS[0]))
        server.send("reports", [json.dumps(REPORTS[1])])
        run(tmp_path, command("Redis Streams", "127.0.0.1:6379", f"127.0.0.1:{server.port}"))
        (entry,) = server.read("decisions")
        check(entry[b"data"])
    report = json.loads(shlex.split(shown)[-1])
    assert msgspec.convert(report, ReportMessage).round == 1


def test_its_command_for_kafka_works(tmp_path):
    with KafkaServer() as server:
        for topic in ("reports", "decisions"):
            server.create(topic)
        server.send("reports", [(0, it["key"], json.dumps(it).encode()) for it in REPORTS])
        run(tmp_path, command("Kafka", "127.0.0.1:9092", server.servers))
        (record,) = server.read("decisions", 1)
        check(record.value())
        assert dict(record.headers())["id"].decode() == json.loads(record.value())["id"]
