"""Live targets: a stopper per key on a broker, beside the plain client that consumes in batches and publishes.

The plain client publishes a message for every one it consumes and decides nothing; ours decodes, decides, commits
each batch to disk, and publishes a decision a key. ``plain, publishing as little`` is the plain client that
publishes no more than ours does.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import scipy.stats

from benchmarks.harness import Target, Timed
from streamlearn import Key
from streamlearn.agents import LDPOptimalStopper
from streamlearn.live import Pump, Runner, Store
from streamlearn.live.brokers import kafka, nats, pipe, redis

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

KEYS, PEOPLE, BATCH = 10_000, 10, 1_000
EVENTS = KEYS * PEOPLE
PARTITIONS = 4
"""Of a topic: the mock of Kafka keeps 5 MB of each, and forgets the oldest messages."""
LEAST = 0.6
"""Of the plain client's rate."""
MOST_PIPE = 40.0
"""Microseconds an event: 25,000 events a second."""


def bodies() -> list[bytes]:
    """Reports of all keys, round by round; nobody is taken before the last."""
    key = Key.from_seed(1)
    bits = [
        [int(i == PEOPLE or key.uniform64("bit", f"{k}/{i}") < 2**58) for k in range(KEYS)]
        for i in range(1, PEOPLE + 1)
    ]
    return [
        json.dumps({"key": f"job {k}", "round": i, "bit": bits[i - 1][k], "event_id": f"{k}/{i}"}).encode()
        for i in range(1, PEOPLE + 1)
        for k in range(KEYS)
    ]


class _Ending:
    """A source that ends with the messages there are."""

    def __init__(self, source: Any, count: int = EVENTS) -> None:
        self._source, self._left = source, count
        self.shared = source.shared

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    @property
    def ended(self) -> bool:
        return self._left <= 0 or self._source.ended

    def fetch(self, most: int, patience: float) -> Any:
        found = self._source.fetch(most, patience)
        self._left -= len(found)
        return found


def ours(folder: Path, source: Callable[[], Any], sink: Callable[[], Any]) -> Callable[[], int]:
    """A whole run on a new store: connect, decide, commit, publish."""
    stopper = LDPOptimalStopper([scipy.stats.uniform()] * PEOPLE, epsilon=1.0)

    def run() -> int:
        place = Path(tempfile.mkdtemp(dir=folder))
        with Store(place / "run.db") as store:
            runner = Runner(lambda _: stopper.clone(), store)
            Pump(runner, _Ending(source()), sink(), pipe.Sink(io.BytesIO()), BATCH).run()
            decided = store.counters()["decisions"]
        shutil.rmtree(place)
        assert decided == KEYS, decided
        return decided

    return run


def plain_nats(url: str, every: int) -> Callable[[], None]:
    import nats as client

    async def work() -> None:
        connection = await client.connect(url)
        stream = connection.jetstream(publish_async_max_pending=1 << 20)
        config = client.js.api.ConsumerConfig(ack_policy=client.js.api.AckPolicy.ALL)
        reader = await stream.pull_subscribe("events", stream="events", config=config)
        left = EVENTS
        while left:
            messages = await reader.fetch(min(BATCH, left), timeout=5)
            left -= len(messages)
            answers = [await stream.publish_async("decisions", message.data) for message in messages[::every]]
            await asyncio.gather(*answers)
            await messages[-1].ack()
        await connection.close()

    return lambda: asyncio.run(work())


def plain_redis(url: str, every: int) -> Callable[[], None]:
    from redis import Redis

    def run() -> None:
        with contextlib.closing(Redis.from_url(url)) as client:
            last, left = b"0", EVENTS
            while left:
                ((_, entries),) = client.xread({"events": last}, count=BATCH)
                left -= len(entries)
                last = entries[-1][0]
                pipeline = client.pipeline(transaction=False)
                for _, fields in entries[::every]:
                    pipeline.xadd("decisions", {"data": fields[b"data"]})
                pipeline.execute()

    return run


def plain_kafka(servers: str, every: int) -> Callable[[], None]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

    def run() -> None:
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "plain", "log_level": 0})
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0})
        with contextlib.closing(consumer):
            consumer.assign([TopicPartition("events", i, OFFSET_BEGINNING) for i in range(PARTITIONS)])
            left = EVENTS
            while left:
                messages = consumer.consume(min(BATCH, left), 0.2)
                left -= len(messages)
                for message in messages[::every]:
                    producer.produce("decisions", message.value())
                producer.flush()

    return run


@contextlib.contextmanager
def brokers(
    folder: Path,
) -> Iterator[dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[int], Any]]]]:
    """Start the brokers and fill them; give each one's source, sink and plain client."""
    import kafkaserver
    import natsserver
    import redisserver

    sent = bodies()
    with (
        natsserver.NatsServer(folder / "nats") as n,
        redisserver.RedisServer(folder / "redis") as r,
        kafkaserver.KafkaServer() as k,
    ):
        n.create("events", "events")
        n.create("decided", "decisions")
        n.send([("events", data) for data in sent])
        r.send("events", sent)
        for topic in ("events", "decisions"):
            k.create(topic, PARTITIONS)
        k.send("events", [(i % KEYS % PARTITIONS, None, data) for i, data in enumerate(sent)])
        yield {
            "NATS": (
                lambda: nats.Source(n.url, ["events"]),
                lambda: nats.Sink(n.url, "decisions"),
                lambda every: plain_nats(n.url, every),
            ),
            "Redis": (
                lambda: redis.Source(r.url, ["events"]),
                lambda: redis.Sink(r.url, "decisions"),
                lambda every: plain_redis(r.url, every),
            ),
            "Kafka": (
                lambda: kafka.Source(k.servers, ["events"]),
                lambda: kafka.Sink(k.servers, "decisions"),
                lambda every: plain_kafka(k.servers, every),
            ),
        }


def targets(folder: Path, running: Any) -> list[Target]:
    """The targets, with brokers that run."""
    found = []
    for name, (source, sink, plain) in running.items():
        mine = Timed(ours(folder, source, sink), EVENTS)
        found.append(
            Target(f"live, {name}", "event", mine, Timed(plain(1), EVENTS), "plain client", None, LEAST)
        )
        found.append(
            Target(f"live, {name}, few publications", "event", mine, Timed(plain(PEOPLE), EVENTS),
                   "plain, publishing as little", None, None)
        )  # fmt: skip
    lines = b"\n".join(bodies())
    through = ours(folder, lambda: pipe.Source(io.BytesIO(lines)), lambda: pipe.Sink(io.BytesIO()))
    found.append(Target("live, pipe", "event", Timed(through, EVENTS), None, "", MOST_PIPE, None))
    return found


MANY_KEYS = """
import resource, tempfile, pathlib
import scipy.stats
from streamlearn.agents import LDPOptimalStopper
from streamlearn.live import Message, Runner, Store

stopper = LDPOptimalStopper([scipy.stats.uniform()] * 10, epsilon=1.0)
with tempfile.TemporaryDirectory() as folder, Store(pathlib.Path(folder) / "run.db") as store:
    runner = Runner(lambda _: stopper.clone(), store)
    for start in range(0, {keys}, 1000):
        runner.process([
            Message("log", (i + 1,), b'{{"key":"job %d","round":1,"bit":0,"event_id":"%d"}}' % (i, i))
            for i in range(start, start + 1000)
        ])
    assert store.counters()["reports"] == {keys}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
MOST_MEMORY = 1_000_000_000
MOST_RESTART = 2.0


def memory_of_keys(keys: int) -> int:
    """Peak resident bytes of a run with so many keys."""
    program = MANY_KEYS.format(keys=keys)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(done.stdout)


def restart_seconds(folder: Path) -> float:
    """Seconds from starting ``streamlearn serve`` on a store that has worked to its next decision."""
    sent = bodies()
    log = folder / "reports.jsonl"
    log.write_bytes(b"\n".join(sent[: EVENTS - KEYS]) + b"\n")
    command = [sys.executable, "-m", "streamlearn", "serve", f"{PEOPLE}*uniform(0,1)", "--epsilon", "1",
               "--source", f"file:{log}", "--store", str(folder / "restart.db"), "--until-idle", "0.2"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    with log.open("ab") as file:
        file.write(b"\n".join(sent[EVENTS - KEYS :]) + b"\n")
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert b'"take":true' in process.stdout.readline()
        seconds = time.perf_counter() - start
        process.communicate()
    return seconds
