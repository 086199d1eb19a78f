"""Metrics are the run's figures, under the names that their table gives."""

from __future__ import annotations

import re
import sys

import livestreams
import pytest
from prometheus_client.parser import text_string_to_metric_families

from streamlearn.agents import SOA
from streamlearn.errors import MissingExtraError
from streamlearn.hypotheses import Thresholds
from streamlearn.live import Pump, Runner, Store, metrics
from streamlearn.live.pump import Durations

FACTORIES = {"stopper": livestreams.stopper, "predictor": livestreams.predictor}
BODIES = {"stopper": livestreams.reports(30), "predictor": livestreams.examples(3, 30)}


class Source:
    """A list of batches."""

    shared = False

    def __init__(self, batches):
        self.batches = batches
        self.ended = False

    def start(self, positions):
        pass

    def fetch(self, most, patience):  # noqa: ARG002 - the protocol's
        if not self.batches:
            self.ended = True
            return []
        return self.batches.pop(0)

    def lag(self):
        return sum(map(len, self.batches)) + 5

    def close(self):
        pass


class Sink:
    def publish(self, messages):
        pass

    def close(self):
        pass


def pumped(factory, messages, store=None):
    store = store or Store(":memory:", run="test")
    pump = Pump(Runner(factory, store), Source([messages[:50], messages[50:]]), Sink(), Sink())
    pump.run()
    return pump


def samples(pump):
    _, text = metrics.exposition(pump)
    return {
        (it.name, *(it.labels[label] for label in sorted(it.labels))): it.value
        for family in text_string_to_metric_families(text.decode())
        for it in family.samples
    }


@pytest.mark.parametrize("kind", FACTORIES)
def test_they_are_what_the_store_counted(kind):
    messages = [*livestreams.numbered(BODIES[kind]), livestreams.message(10**6, b"{}")]
    pump = pumped(FACTORIES[kind], messages)
    store, found = pump.runner.store, samples(pump)
    counters = {
        name: found[f"streamlearn_{name}_total",]
        for name, (kinds, _) in metrics.COUNTERS.items()
        if kind in kinds
    }
    assert {name: count for name, count in counters.items() if count} == store.counters()
    answers = {}
    for mechanism, _, _, count in store.ledger():
        answers[mechanism] = answers.get(mechanism, 0) + count
    told = {name[1]: value for name, value in found.items() if name[0] == "streamlearn_answers_total"}
    assert told == answers
    assert found["streamlearn_epsilon_max",] == max(epsilon for _, _, epsilon, _ in store.ledger())
    assert found["streamlearn_messages_total",] == len(messages)
    assert found["streamlearn_lag_messages",] == 5
    assert found["streamlearn_run_info", kind, "test"] == 1
    assert found["streamlearn_batch_seconds_count",] == found["streamlearn_batch_seconds_bucket", "+Inf"] == 2
    assert (found["streamlearn_running",], found["streamlearn_connected",]) == (0, 1)


def test_taken_counts_decisions_that_take_and_survives_a_restart():
    messages = livestreams.numbered(livestreams.reports(30))
    store = Store(":memory:", run="test")
    decided = Runner(livestreams.stopper, Store(":memory:", run="test")).process(messages)
    pumped(livestreams.stopper, messages, store)
    again = samples(pumped(livestreams.stopper, [], store))
    assert again["streamlearn_taken_total",] == sum(it.take for it in decided) > 0
    assert again["streamlearn_decisions_total",] == len(decided)
    assert again["streamlearn_messages_total",] == 0
    assert ("streamlearn_lag_messages",) not in again


def test_their_table_names_them_all():
    told = set(re.findall(r"^(streamlearn_\w+)  ", metrics.__doc__, re.MULTILINE)) - {
        "streamlearn_NAME_total"
    }
    counted = {f"streamlearn_{name}_total" for name in metrics.COUNTERS}
    names = set()
    for kind, factory in FACTORIES.items():
        _, text = metrics.exposition(pumped(factory, livestreams.numbered(BODIES[kind])))
        names |= set(re.findall(r"^# TYPE (\S+)", text.decode(), re.MULTILINE))
    assert names == told | counted


def test_no_promise_is_an_infinite_epsilon():
    messages = livestreams.numbered([{"key": "a", "event_id": "e", "x": 3, "y": 1}])
    pump = pumped(lambda _: SOA(Thresholds(10)), messages)
    assert metrics.figures(pump).epsilon == "inf"
    assert samples(pump)["streamlearn_epsilon_max",] == float("inf")


def test_durations_fall_between_their_bounds():
    took = Durations()
    for bound in took.bounds:
        took = took.plus(bound)
    assert took.plus(1e9).counts == (1,) * (len(took.bounds) + 1)


def test_what_a_thread_holds_never_changes():
    runner = Runner(livestreams.stopper, Store(":memory:", run="test"))
    before = runner.summary
    runner.process(livestreams.numbered(livestreams.reports(5)))
    assert before == ({}, {}, 0.0)
    assert runner.summary.counts == runner.store.counters()


def test_without_prometheus_the_extra_is_named(monkeypatch):
    pump = pumped(livestreams.stopper, [])
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError, match=r'pip install "streamlearn\[metrics\]"'):
        metrics.exposition(pump)
