"""Two hundred kills a broker, senders that repeat and shuffle: the same decisions, states and ledgers, exactly."""

from __future__ import annotations

import json

import kafkaserver
import livefaults
import livestreams
import msgspec
import natsserver
import pytest
import redisserver

from streamlearn.live import Store

KILLS = 200
SENT = {
    "stopper": livestreams.reports(300, seed=4),
    "predictor": livestreams.examples(4, 200, seed=4),
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


def troubled(kind):
    return livefaults.troubled(SENT[kind], shuffle=kind == "stopper")


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
            assert store.counters() == whole_run(kind, troubled(kind)).counters()
    assert sorted(set(published)) == decisions
    if not twice:
        assert len(published) == len(decisions)


def killed(tmp_path, kind, server_url, source, **troubles):
    """Kill a run on one broker again and again; its decisions and dead letters go to places of these names."""
    livefaults.survive(
        kind,
        store=str(tmp_path / "run.db"),
        source=f"{server_url}{source}",
        sink=f"{server_url}decisions",
        dead=f"{server_url}dead",
        kills=KILLS,
        **troubles,
    )


def records(kind):
    return [json.dumps(body).encode() for body in troubled(kind)]


def restarting(server):
    """Kill the broker itself, and start it again on its data, while a life is at work."""

    def trouble(number):
        if number % 40 == 20:
            server.kill()
            server.restart()

    return trouble


@pytest.mark.parametrize("kind", SENT)
def test_a_run_on_files_survives_kills(tmp_path, kind):
    (tmp_path / "events").write_bytes(b"".join(data + b"\n" for data in records(kind)))
    killed(tmp_path, kind, f"file:{tmp_path}/", "events")
    check(kind, tmp_path / "run.db", (tmp_path / "decisions").read_bytes().splitlines(), twice=False)


@pytest.mark.parametrize("kind", SENT)
def test_a_run_on_nats_survives_kills(tmp_path, kind):
    with natsserver.NatsServer(tmp_path / "nats") as server:
        for name, subject in (("events", "reports.*"), ("decided", "decisions"), ("dead", "dead")):
            server.create(name, subject)
        server.send([("reports.a", data) for data in records(kind)])
        killed(tmp_path, kind, f"{server.url}/", "reports.*", between=restarting(server))
        check(kind, tmp_path / "run.db", [data for _, data in server.read("decided")], twice=False)


@pytest.mark.parametrize(("kind", "members"), [("stopper", 0), ("predictor", 0), ("stopper", 2)])
def test_a_run_on_redis_survives_kills(tmp_path, kind, members):
    """Alone, or as a group of two that share one store."""
    group = [{"group": "hiring", "consumer": f"member {i}"} for i in range(members)]
    with redisserver.RedisServer(tmp_path / "redis") as server:
        server.send("events", records(kind))
        killed(tmp_path, kind, f"{server.url}/", "events", options=group or None, between=restarting(server))
        decided = [fields[b"data"] for fields in server.read("decisions")]
        check(kind, tmp_path / "run.db", decided, twice=False, ordered=not group)


@pytest.mark.parametrize("kind", SENT)
def test_a_run_on_kafka_survives_kills(tmp_path, kind):
    """A decision may be in a topic twice: Kafka knows no duplicates of a process before. Then both are the same."""
    with kafkaserver.KafkaServer() as server:
        for topic in ("events", "decisions", "dead"):
            server.create(topic)
        server.send("events", [(0, None, data) for data in records(kind)])
        killed(tmp_path, kind, f"kafka://{server.servers}/", "events", between=restarting(server))
        decided = [record.value() for record in server.read("decisions", server.length("decisions"))]
        check(kind, tmp_path / "run.db", decided, twice=True)
