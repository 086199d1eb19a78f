"""Live streams for tests: what is sent, what a whole run comes to, and what can go wrong on the way."""

from __future__ import annotations

import json
import random

import structlog
import structlog.testing

from streamlearn import Channel, Key
from streamlearn.agents import LDPOptimalStopper, SubsampledSOA
from streamlearn.base import Stopper
from streamlearn.errors import InstanceError
from streamlearn.hypotheses import Thresholds
from streamlearn.live import Message, Pump, Runner, Store
from streamlearn.priors import Uniform
from streamlearn.state import register
from streamlearn.telemetry import LIVE_MESSAGES_LOST

# Its stages skip, ask, ask, ask and accept.
STOPPER = LDPOptimalStopper([0.01, *[Uniform(0.0, 1.0)] * 4], epsilon=1.0)


def stopper(_key):
    return STOPPER.clone()


def predictor(key):
    return SubsampledSOA(Thresholds(100), 0.5, Key.from_seed(1).derive(key))


def message(position, body, **fields):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Message("log", (position,), data, **fields)


def numbered(bodies):
    """Messages of one log, in order."""
    return [message(position, body) for position, body in enumerate(bodies, 1)]


def outcome(store):
    """All that a run must come to, whatever happened on the way."""
    return {
        "sessions": list(store.sessions()),
        "ledger": store.ledger(),
        "outbox": [(it.channel, it.id, it.key, it.payload) for it in store.unpublished(10**6)],
    }


def run_whole(factory, messages, batch=1000, **options):
    """The store of an undisturbed run."""
    store = Store(":memory:", run="test")
    runner = Runner(factory, store, **options)
    for start in range(0, len(messages), batch):
        runner.process(messages[start : start + batch])
    return store


def run_skipping(store, source, sink, last=None, batch=1000):
    """Run until the message that holds ``last``, going on without what is lost; return the losses it told of."""
    pump = Pump(Runner(stopper, store), source, sink, sink, batch, skip_lost=True)
    process = pump.runner.process

    def counted(messages):
        decided = process(messages)
        if any(message.data == last for message in messages):
            pump.stop()
        return decided

    pump.runner.process = counted
    structlog.configure()
    with structlog.testing.capture_logs() as events:
        pump.run()
    told = [it["reason"] for it in events if it["event"] == LIVE_MESSAGES_LOST]
    assert pump.runner.summary.counts.get("losses", 0) == store.counters().get("losses", 0) == len(told)
    return told


class Nowhere:
    """A sink that keeps nothing."""

    def publish(self, messages):
        pass

    def close(self):
        pass


def reports(keys, seed=0, stopper=STOPPER):
    """Reports of all rounds of all keys, interleaved at random, each key's in order."""
    draw = random.Random(seed)
    waiting = {f"job {key}": 0 for key in range(keys)}
    bodies = []
    while waiting:
        key = draw.choice(sorted(waiting))
        waiting[key] += 1
        number = waiting[key]
        case = stopper.cases[number - 1]
        bit = int(draw.random() < 0.25) if case == "ask" else int(case == "accept")
        bodies.append({"key": key, "round": number, "bit": bit, "event_id": f"{key}/{number}"})
        if number == stopper.horizon:
            del waiting[key]
    return bodies


def examples(keys, rounds, seed=0):
    """Instances and labels of several streams: labels late, out of order, before their instance, or missing."""
    draw = random.Random(seed)
    bodies = []
    for number in range(rounds):
        for key in range(keys):
            name = {"key": f"site {key}", "event_id": f"e{number}"}
            x = draw.randrange(100)
            at = draw.random()
            bodies.append((number, {**name, "x": x}))
            if draw.random() < 0.9:
                bodies.append(
                    (number + draw.choice([-0.5, 0.1, 3, 7]) + at / 9, {**name, "y": x >= 40 + key})
                )
    return [body for _, body in sorted(bodies, key=lambda it: it[0])]


@register("OnlyAsking")
class OnlyAsking(Stopper):
    """A stopper that takes nobody if nobody says so: its last stage asks like the others."""

    def __init__(self, horizon):
        self.priors = [0.5] * horizon
        self._begin(["ask"] * horizon)

    value = 0.5
    thresholds = ()

    def _channel(self, number):
        return Channel.randomized_response(number, 0.5, 1.0)


@register("Picky")
class Picky(SubsampledSOA):
    """A predictor that fails on some instances, after it has changed, and says what they hold."""

    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x, y, **kwargs)
        if x == 66:
            raise RuntimeError(f"cannot learn from {x}")

    def predict_one(self, x, **kwargs):
        answer = super().predict_one(x, **kwargs)
        if isinstance(x, dict):
            raise InstanceError("x must be a number")
        return answer
