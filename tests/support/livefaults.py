"""Runs that are killed (-9) again and again at random points, on any broker.

A worker is a process of its own, forked from a server that has imported everything, so that a life costs
milliseconds. It kills itself at a function call whose number is drawn beforehand: so points between a commit and a
publication, or in the middle of either, are met as often as they take calls, however fast the machine is.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from multiprocessing import forkserver
from pathlib import Path

import livestreams
import pytest

from streamlearn.errors import BrokerError
from streamlearn.live import Pump, Runner, Store, pump
from streamlearn.live.brokers.addresses import open_sink, open_source

FACTORIES = {"stopper": livestreams.stopper, "predictor": livestreams.predictor}
DEADLINE = 120.0
IDLE = 5
"""Empty answers in a row that end the last life."""


def context():
    """Return where workers are forked from."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["livefaults"])
    with pytest.MonkeyPatch.context() as patch:  # the server does not look where its parent looks
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        forkserver.ensure_running()
    return found


class UntilIdle:
    """A source that ends when nothing more comes."""

    def __init__(self, source):
        self._source = source
        self._empty = 0
        self.shared = source.shared

    def __getattr__(self, name):
        return getattr(self._source, name)

    @property
    def ended(self):
        return self._source.ended or self._empty >= IDLE

    def fetch(self, most, patience):
        found = self._source.fetch(most, patience)
        self._empty = 0 if found else self._empty + 1
        return found


def live(kind, store, source, sink, dead, options, calls):
    """One life: killed at a function call of that number; to the end where that is None."""
    pump.FIRST_PAUSE, pump.LONGEST_PAUSE, pump.PATIENCE = 0.01, 0.1, 0.02
    if calls is not None:
        left = iter(range(calls, -1, -1))

        def count(*_):
            if next(left) == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
    opened = open_source(source, **options)
    with Store(store, run="test", durability="normal") as kept:
        runner = Runner(FACTORIES[kind], kept, most_agents=5)
        Pump(runner, UntilIdle(opened), open_sink(sink), open_sink(dead), batch=8).run()


def survive(
    kind, *, store, source, sink, dead, kills, seed=0, options=None, between=lambda _: None, processes=1
):
    """Run, kill and restart ``kills`` times, then let a last life end; return how many lives were cut.

    ``between`` is called with the number of the life after it has begun: there a test troubles the broker.
    """
    draw = random.Random(seed)
    forks = context()
    cut = 0
    options = options or [{}] * processes
    while cut < kills:
        lives = [
            forks.Process(
                target=live,
                args=(kind, store, source, sink, dead, mine, int(10 ** draw.uniform(2.5, 4.5))),
                daemon=True,
            )
            for mine in options
        ]
        for one in lives:
            one.start()
        between(cut)
        for one in lives:
            one.join(DEADLINE)
            assert one.exitcode in {-signal.SIGKILL, 0}, one.exitcode
            cut += one.exitcode != 0
            ended = one.exitcode == 0
            one.close()
        assert not ended, f"the stream was over after {cut} lives; send more"
    for mine in options:
        last = forks.Process(target=live, args=(kind, store, source, sink, dead, mine, None), daemon=True)
        last.start()
        last.join(DEADLINE)
        assert last.exitcode == 0
        last.close()
    return cut


def troubled(bodies, seed=0, *, shuffle=True):
    """What a careless sender makes of a stream: some messages twice, later, and reports out of order."""
    draw = random.Random(seed)
    places = [(number + draw.expovariate(0.2) * shuffle, body) for number, body in enumerate(bodies)]
    places += [
        (number + draw.expovariate(0.02), body) for number, body in enumerate(bodies) if draw.random() < 0.2
    ]
    return [body for _, body in sorted(places, key=lambda it: it[0])]


def poll(question, deadline=DEADLINE):
    """Ask until the answer is true; brokers that are away do not count."""
    until = time.monotonic() + deadline
    while True:
        with contextlib.suppress(BrokerError):
            answer = question()
            if answer:
                return answer
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)


def all_of(source, count):
    """Fetch until there are so many messages."""
    found = []
    poll(lambda: found.extend(source.fetch(7, 0.02)) or len(found) >= count)
    return found


def numbers(messages):
    """Return what messages that hold whole numbers hold."""
    return [int(message.data) for message in messages]
