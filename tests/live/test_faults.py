"""Two hundred kills a broker, cut connections, senders that repeat, shuffle and are late: all the same, exactly."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict

import kafkaserver
import livefaults
import livestreams
import msgspec
import natsserver
import pytest
import redisserver

from streamlearn.live import Store

KILLS = 200
LATE = 50
"""Lives after which each of two parts of the stream comes."""
SENT = {
    "stopper": livestreams.reports(400, seed=4),
    "predictor": livestreams.examples(4, 250, seed=4),
}


def expected(kind):
    """What an undisturbed run comes to: sessions, ledger, and (id, payload) of all decisions."""
    store = whole_run(kind, SENT[kind])
    return agents(store), store.ledger(), sorted((it.id, it.payload) for it in store.unpublished(10**6))


def whole_run(kind, bodies):
    return livestreams.run_whole(livefaults.FACTORIES[kind], livestreams.numbered(bodies))


def agents(store):
    """The agents' states; a session also remembers ids, in the order they came."""
    return [(key, msgspec.json.decode(state)["agent"]) for key, state in store.sessions()]


def sent(kind):
    """What a careless sender sends: at once, and in two parts much later."""
    return livefaults.parted(livefaults.troubled(SENT[kind], shuffle=kind == "stopper"), kind)


def check(kind, path, payloads, *, twice, ordered=True):
    """Compare a run that was killed, and all that its sink holds, with the undisturbed one.

    In an ordered log even the counters are those of a run that was sent as much nonsense and never killed: nothing
    was read twice.
    """
    published = [(json.loads(payload)["id"], payload) for payload in payloads]
    states, ledger, decisions = expected(kind)
    with Store(path) as store:
        assert agents(store) == states
        assert store.ledger() == ledger
        assert store.unpublished(10) == []
        assert "dead_letters" not in store.counters()
        if ordered:
            assert store.counters() == whole_run(kind, list(itertools.chain(*sent(kind)))).counters()
    assert sorted(set(published)) == decisions
    if not twice:
        assert len(published) == len(decisions)
    check_tried(livefaults.tried(path), dict(decisions))


def check_tried(tried, decisions):
    """Whatever was ever published under an id, known to the broker or not, is the undisturbed run's decision."""
    payloads = defaultdict(set)
    for name, payload in tried:
        payloads[name].add(payload)
    assert payloads == {name: {payload} for name, payload in decisions.items()}
    assert len(tried) > len(decisions)  # some were published again


def killed(tmp_path, kind, server_url, source, send, troubles=lambda _: None, options=None):
    """Kill a run on one broker again and again; its decisions and dead letters go to places of these names.

    ``send`` writes messages to the source: some before the run, and some that were withheld while it is at work.
    """
    first, *late = ([json.dumps(body).encode() for body in part] for part in sent(kind))
    send(first)

    def between(number):
        troubles(number)
        if number >= LATE * (3 - len(late)) and late:
            send(late.pop(0))

    livefaults.survive(
        kind,
        store=str(tmp_path / "run.db"),
        source=f"{server_url}{source}",
        sink=f"{server_url}decisions",
        dead=f"{server_url}dead",
        kills=KILLS,
        between=between,
        options=options,
    )
    assert not late


def troubling(server, cable=None):
    """Kill the broker itself, and start it again on its data, while a life is at work; or cut the connections."""

    def trouble(number):
        if number % 40 == 20:
            server.kill()
            server.restart()
        if cable is not None and number % 10 in {4, 5}:  # two members die at a time
            cable.cut_after(100 * number)

    return trouble


@pytest.mark.parametrize("kind", SENT)
def test_a_run_on_files_survives_kills(tmp_path, kind):
    def send(records):
        with (tmp_path / "events").open("ab") as log:
            log.write(b"".join(data + b"\n" for data in records))

    killed(tmp_path, kind, f"file:{tmp_path}/", "events", send)
    check(kind, tmp_path / "run.db", (tmp_path / "decisions").read_bytes().splitlines(), twice=False)


@pytest.mark.parametrize("kind", SENT)
def test_a_run_on_nats_survives_kills(tmp_path, kind):
    with natsserver.NatsServer(tmp_path / "nats") as server, livefaults.Cable(server.port) as cable:
        for name, subject in (("events", "reports.*"), ("decided", "decisions"), ("dead", "dead")):
            server.create(name, subject)

        def send(records):
            server.send([("reports.a", data) for data in records])

        url = f"nats://127.0.0.1:{cable.port}/"
        killed(tmp_path, kind, url, "reports.*", send, troubling(server, cable))
        check(kind, tmp_path / "run.db", [data for _, data in server.read("decided")], twice=False)
        assert cable.cuts


@pytest.mark.parametrize(("kind", "members"), [("stopper", 0), ("predictor", 0), ("stopper", 2)])
def test_a_run_on_redis_survives_kills(tmp_path, kind, members):
    """Alone, or as a group of two that share one store."""
    group = [{"group": "hiring", "consumer": f"member {i}"} for i in range(members)]
    with redisserver.RedisServer(tmp_path / "redis") as server, livefaults.Cable(server.port) as cable:

        def send(records):
            server.send("events", records)

        url = f"redis://127.0.0.1:{cable.port}/0/"
        killed(tmp_path, kind, url, "events", send, troubling(server, cable), group or None)
        decided = [fields[b"data"] for fields in server.read("decisions")]
        check(kind, tmp_path / "run.db", decided, twice=False, ordered=not group)
        assert cable.cuts


@pytest.mark.parametrize("kind", SENT)
def test_a_run_on_kafka_survives_kills(tmp_path, kind):
    """A decision may be in a topic twice: Kafka knows no duplicates of a process before. Then both are the same.

    The mock broker that is killed keeps its process: that cuts the connections.
    """
    with kafkaserver.KafkaServer() as server:
        for topic in ("events", "decisions", "dead"):
            server.create(topic)

        def send(records):
            server.send("events", [(0, None, data) for data in records])

        killed(tmp_path, kind, f"kafka://{server.servers}/", "events", send, troubling(server))
        decided = [record.value() for record in server.read("decisions", server.length("decisions"))]
        check(kind, tmp_path / "run.db", decided, twice=True)
