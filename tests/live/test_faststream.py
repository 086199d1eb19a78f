"""The recipe of docs/live-faststream.md, as it is written there, on a real server around a real run."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from natsserver import NatsServer

PAGE = (Path(__file__).parents[2] / "docs" / "live-faststream.md").read_text(encoding="utf-8")
WRITTEN = "127.0.0.1:4222"
DEADLINE = 30.0


def recipe(address):
    """What the page's first block of Python defines, for another server."""
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    assert code.count(WRITTEN) == 1
    names = {"__name__": "recipe"}
    exec(compile(code.replace(WRITTEN, address), "live-faststream.md", "exec", dont_inherit=True), names)  # noqa: S102 - running it is the test
    return names


@pytest.fixture
def server(tmp_path):
    with NatsServer(tmp_path / "nats") as found:
        found.create("hiring", "reports", "decisions")
        yield found


@pytest.fixture
def run(server, tmp_path):
    """The page's command, at work."""
    (line,) = re.findall(r"^\$ streamlearn (serve .*)$", PAGE, re.MULTILINE)
    arguments = shlex.split(line.replace(WRITTEN, f"127.0.0.1:{server.port}"))
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlearn", *arguments, "--log", "off"],
        cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(timeout=DEADLINE) == 0


async def until(reached):
    deadline = time.monotonic() + DEADLINE
    while not reached():
        assert time.monotonic() < deadline, "it does not come"
        await asyncio.sleep(0.02)


async def answer(names, reports):
    """Send reports to the recipe's app and wait for the decisions of their keys."""
    broker, decided = names["broker"], names["decided"]
    try:
        await broker.start()
        for report in reports:
            await broker.publish(report, "answers")
        await until(lambda: {it.key for it in decided.values()} >= {it.key for it in reports})
    finally:
        await broker.stop()
    return sorted((it.key, it.take, it.round, it.event_id) for it in decided.values())


@pytest.mark.usefixtures("run")
def test_reports_go_in_and_decisions_come_out_once(server):
    names = recipe(f"127.0.0.1:{server.port}")
    report = names["Report"]
    sent = [
        report(key="job 1", round=1, bit=0, event_id="a17"),
        report(key="job 1", round=2, bit=1, event_id="b18"),
        report(key="job 2", round=1, bit=1, event_id="c19"),
    ]
    # Sent twice: a sender that was restarted.
    assert asyncio.run(answer(names, [*sent, *sent])) == [
        ("job 1", True, 2, "b18"),
        ("job 2", True, 1, "c19"),
    ]
    published = [data for headers, data in server.read("hiring") if "Nats-Msg-Id" in headers]
    assert len(published) == 2


@pytest.mark.usefixtures("run")
def test_a_decision_whose_handler_fails_comes_again(server):
    names = recipe(f"127.0.0.1:{server.port}")
    table = names["decided"]

    class Failing(dict):
        failures = 0

        def setdefault(self, name, value):
            if not Failing.failures:
                Failing.failures += 1
                raise OSError("the table is locked")
            return super().setdefault(name, value)

    names["decided"] = Failing(table)
    reports = [names["Report"](key="job 1", round=1, bit=1, event_id="a17")]
    assert asyncio.run(answer(names, reports)) == [("job 1", True, 1, "a17")]
    assert Failing.failures == 1
