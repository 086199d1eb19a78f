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
import selectors
import signal
import socket
import sys
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

import livestreams
import pytest

from streamlearn.errors import BrokerError
from streamlearn.live import Pump, Runner, Store, pump
from streamlearn.live.brokers import file, kafkaclient, natsconnection, redisconnection
from streamlearn.live.brokers.addresses import open_sink, open_source

for load in (natsconnection._client, redisconnection.client, kafkaclient.client):
    load()  # once, before lives are forked whose calls are counted
FACTORIES = {"stopper": livestreams.stopper, "predictor": livestreams.predictor}
DEADLINE = 120.0
CALLS = {True: (2.5, 4.5), False: (1.5, 3.9)}
"""Between these powers of ten lies the number of calls of a life: from its start on, or from its first message.

A start takes 1,500 to 30,000 calls, a batch 800 to 2,600: most lives are counted from the first message on, or hardly
any would commit something.
"""
BATCH = 4
IDLE = 25
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
    """A source that ends when nothing more comes; the first messages are told."""

    def __init__(self, source, arrived=lambda: None):
        self._source = source
        self._empty = 0
        self._arrived = arrived
        self.shared = source.shared

    def __getattr__(self, name):
        return getattr(self._source, name)

    @property
    def ended(self):
        return self._source.ended or self._empty >= IDLE

    def fetch(self, most, patience):
        found = self._source.fetch(most, patience)
        self._empty = 0 if found else self._empty + 1
        if found:
            self._arrived()
            self._arrived = lambda: None
        return found


class Recorded:
    """A sink that writes down, before it publishes, the id and payload of all that it tries to publish."""

    def __init__(self, sink, path):
        self._sink = sink
        self._path = path
        self.close = sink.close

    def publish(self, messages):
        tried = b"".join(it.id.encode() + b" " + it.payload + b"\n" for it in messages)
        with Path(self._path).open("ab", buffering=0) as record:
            record.write(tried)
        self._sink.publish(messages)


def tried(store):
    """All (id, payload) that any life of a run tried to publish as decisions, in order."""
    lines = Path(f"{store}-tried").read_bytes().splitlines()
    return [(name.decode(), payload) for name, _, payload in (line.partition(b" ") for line in lines)]


def die_in(calls):
    """Be killed at a function call of that number, from here on."""
    left = iter(range(calls, -1, -1))

    def count(*_):
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


def live(kind, store, source, sink, dead, options, calls, starting):
    """One life: killed at a function call of that number, since its start or its first message; None: to the end."""
    pump.FIRST_PAUSE, pump.LONGEST_PAUSE, pump.PATIENCE = 0.01, 0.1, 0.02
    file.CHUNK = 1 << 10  # or most lives would end while the first chunk is cut into lines
    if starting:
        die_in(calls)
    arrived = (lambda: None) if starting or calls is None else (lambda: die_in(calls))
    opened = open_source(source, **options)
    with Store(store, run="test", durability="normal") as kept:
        runner = Runner(FACTORIES[kind], kept, most_agents=5)
        decided = Recorded(open_sink(sink), f"{store}-tried")
        Pump(runner, UntilIdle(opened, arrived), decided, open_sink(dead), batch=BATCH).run()


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
        lives = []
        for mine in options:
            starting = draw.random() < 0.2
            calls = int(10 ** draw.uniform(*CALLS[starting]))
            work = (kind, store, source, sink, dead, mine, calls, starting)
            lives.append(forks.Process(target=live, args=work, daemon=True))
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
        last = forks.Process(
            target=live, args=(kind, store, source, sink, dead, mine, None, False), daemon=True
        )
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


def parted(bodies, kind, seed=0):
    """Cut a stream into what is sent at once, and two parts that are withheld and sent much later.

    Of stoppers any report may be; what a predictor answers depends on the order of its key's messages, so there it is
    all of one key, from some message on.
    """
    draw = random.Random(seed)
    if kind == "stopper":
        late = [draw.random() < 0.1 for _ in bodies]
    else:
        key, first = draw.choice(sorted({body["key"] for body in bodies})), draw.randrange(len(bodies) // 2)
        late = [body["key"] == key and number >= first for number, body in enumerate(bodies)]
    withheld = [body for body, it in zip(bodies, late, strict=True) if it]
    half = len(withheld) // 2
    return [body for body, it in zip(bodies, late, strict=True) if not it], withheld[:half], withheld[half:]


class Cable:
    """A port of its own that leads to a broker's, and can be cut: all its connections at once, at any moment."""

    def __init__(self, port):
        self._far = port
        self._near = socket.create_server(("127.0.0.1", 0))
        self.port = self._near.getsockname()[1]
        self._lock = threading.Lock()
        self._ends = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._left = float("inf")
        self.cuts = 0

    def __enter__(self):
        self._threads[0].start()
        return self

    def __exit__(self, *exception):
        self._near.shutdown(socket.SHUT_RDWR)
        self._cut()
        for thread in self._threads:
            thread.join()
        self._near.close()

    def cut_after(self, passed):
        """Cut it once so many more bytes have passed: in the middle of whatever is said then."""
        self._left = passed

    def _cut(self):
        with self._lock:
            self._left = float("inf")
            for end in self._ends:
                self.cuts += _shut(end)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self._near.accept()[0]
                try:
                    far = socket.create_connection(("127.0.0.1", self._far))
                except OSError:  # the broker is away
                    near.close()
                    continue
                for end in (near, far):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._ends |= {near, far}
                self._threads.append(threading.Thread(target=self._lead, args=(near, far)))
                self._threads[-1].start()

    def _lead(self, near, far):
        """Pass on what comes, both ways, until one end is shut."""
        with near, far, selectors.DefaultSelector() as waiting, contextlib.suppress(OSError):
            waiting.register(near, selectors.EVENT_READ, far)
            waiting.register(far, selectors.EVENT_READ, near)
            data = b"-"
            while data:
                for key, _ in waiting.select():
                    data = data and key.fileobj.recv(1 << 16)
                    key.data.sendall(data)
                    self._left -= len(data)
                if self._left <= 0:
                    self._cut()
            # Closed by the other side, or cut: both ends are closed on leaving.
        with self._lock:
            self._ends -= {near, far}


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:  # it was already
        return 0
    return 1


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
