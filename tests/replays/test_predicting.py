"""Replaying predictors: against river's harness where both apply, and where river's has faults."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, dummy, evaluate, linear_model, metrics, naive_bayes

from streamlearn import Key
from streamlearn.agents import SOA, LDPOptimalStopper, PrivatePredictor, SubsampledSOA
from streamlearn.errors import ParameterError, StreamError
from streamlearn.hypotheses import Point3, Thresholds
from streamlearn.replays import replay, replay_many
from streamlearn.reporters import Reporter


class Recorder:
    """Predicts the number of labels learned so far, and writes down what happens."""

    def __init__(self):
        self.log = []
        self.learned = 0

    def predict_one(self, x):
        self.log.append(("predict", x))
        return self.learned

    def learn_one(self, x, _):
        self.log.append(("learn", x))
        self.learned += 1


@pytest.mark.parametrize("delay", [None, 0, 1, 7, 2000])
@pytest.mark.parametrize(
    "model", [linear_model.Perceptron, naive_bayes.GaussianNB, linear_model.ALMAClassifier]
)
def test_scores_are_rivers(model, delay):
    stream = list(datasets.Phishing())
    ours = replay(stream, model(), delay=delay)
    accuracy = metrics.Accuracy()
    evaluate.progressive_val_score(stream, model(), accuracy, delay=delay)
    # river leaves out events on which a model abstains; none of these does after its first label.
    missing = ours.rounds - int(accuracy.cm.n_samples)
    assert missing <= max(1, min(delay or 0, len(stream)))
    assert accuracy.get() * accuracy.cm.n_samples == pytest.approx(ours.rounds - ours.mistakes)


def test_metrics_are_observers():
    seen = metrics.Accuracy()
    result = replay(datasets.Phishing(), linear_model.Perceptron(), observers=[seen])
    assert seen.get() == pytest.approx(result.score)


def test_with_a_constant_delay_labels_come_after_that_many_events():
    recorder = Recorder()
    replay([(i, 0) for i in range(4)], recorder, delay=2)
    calls = [f"{what[0]}{x}" for what, x in recorder.log]
    assert calls == ["p0", "p1", "l0", "p2", "l1", "p3", "l2", "l3"]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_any_delays_keep_to_time(delays):
    recorder = Recorder()
    stream = [({"at": i, "lag": lag}, 0) for i, lag in enumerate(delays)]
    replay(stream, recorder, moment="at", delay="lag")
    position = {(what, x["at"]): i for i, (what, x) in enumerate(recorder.log)}
    assert len(position) == 2 * len(delays)
    for i, lag in enumerate(delays):
        assert position["predict", i] < position["learn", i]
        for j in range(i + 1, len(delays)):
            assert (position["learn", i] < position["predict", j]) is (i + lag <= j)


def test_moments_out_of_order_do_not_block():
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    times = [start + dt.timedelta(hours=h) for h in (5, 0, 1, 9)]
    recorder = Recorder()
    replay([({"t": t}, 0) for t in times], recorder, moment=lambda x: x["t"], delay=dt.timedelta(hours=1))
    learned = [times.index(x["t"]) for what, x in recorder.log if what == "learn"]
    assert learned == [1, 2, 0, 3]  # by due time; river would wait for the first


def test_the_stream_is_left_alone():
    weights = [({"a": 1.0}, True, {"w": 2.0}) for _ in range(3)]
    replay(weights, linear_model.LogisticRegression())
    replay(weights, linear_model.LogisticRegression())
    assert all(more == {"w": 2.0} for _, _, more in weights)


def test_figures():
    stream = [(x, x in {2, 5, 6}) for x in range(10)]
    result = replay(stream, Recorder(), delay=None)
    # It predicts the count of labels: equal to the label only at 0 (0 = False).
    assert result.rounds == 10
    assert result.wrong.tolist() == [i for i, (_, y) in enumerate(stream) if i != y]
    counts, mistakes = result.curve(points=5)
    assert mistakes.tolist() == [sum(w < c for w in result.wrong) for c in counts]
    assert result.interval.low <= result.score <= result.interval.high
    assert "mistakes in 10 rounds" in result.summary()


def test_informative_rounds():
    class Stream(list):
        informative = np.array([1, 3])

    result = replay(Stream([(x, x % 2) for x in range(6)]), Recorder())
    assert result.informative_mistakes == sum(w in {1, 3} for w in result.wrong)


def test_bad_arguments():
    with pytest.raises(StreamError, match="empty"):
        replay([], Recorder())
    with pytest.raises(ParameterError, match="delay must be >= 0"):
        replay([(1, 0)], Recorder(), delay=-1)
    with pytest.raises(ParameterError, match="moment needs a delay"):
        replay([({"t": 1}, 0)], Recorder(), moment="t")
    with pytest.raises(ParameterError, match="for stoppers"):
        replay([(1, 0)], Recorder(), Reporter(max_epsilon=1.0))
    with pytest.raises(ParameterError, match="for predictors"):
        replay([[1.0]], LDPOptimalStopper([1.0], 1.0), delay=1)


@pytest.mark.parametrize("delay", [None, 7])
@pytest.mark.parametrize("metric", [metrics.Accuracy, metrics.F1])
def test_observers_see_what_rivers_metrics_see(metric, delay):
    # NoChange abstains until its first label: neither harness shows that to a metric.
    stream = list(datasets.Phishing())
    ours, rivers = metric(), metric()
    replay(stream, dummy.NoChangeClassifier(), delay=delay, observers=[ours])
    evaluate.progressive_val_score(stream, dummy.NoChangeClassifier(), rivers, delay=delay)
    assert ours.get() == rivers.get()
    panel = metric()
    agents = {"a": dummy.NoChangeClassifier(), "b": dummy.NoChangeClassifier()}
    replay_many(stream, agents, delay=delay, observers={"a": [panel]})
    assert panel.get() == rivers.get()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delay": True}, "delay must be a number of events"),
        ({"delay": float("nan")}, "event 0: the label's delay must be >= 0, and not NaN"),
        ({"delay": -1.5}, "event 0: the label's delay must be >= 0"),
        ({"delay": lambda x, _: 1 - 3 * x["a"]}, "event 1: the label's delay must be >= 0"),
        ({"delay": "nope"}, "event 0 has no feature 'nope'"),
        ({"delay": dt.timedelta(1)}, "event 0: a delay must go with the moment"),
    ],
)
def test_delays_that_are_none(options, message):
    stream = [({"a": i}, 0) for i in range(3)]
    with pytest.raises((ParameterError, StreamError), match=message):
        replay(stream, Recorder(), **options)


def test_what_is_no_agent_or_no_stream_is_said():
    with pytest.raises(ParameterError, match="agent 'NoneType' must have predict_one and learn_one"):
        replay([(1, 0)], None)
    with pytest.raises(StreamError, match="the stream must be iterable, got int"):
        replay(5, Recorder())
    with pytest.raises(StreamError, match="event 0 must be a pair"):
        replay([1, 2], Recorder())
    with pytest.raises(ParameterError, match="must be a list, got Accuracy"):
        replay([(1, 0)], Recorder(), observers=metrics.Accuracy())


# --- several agents in one pass ----------------------------------------------------------------------------


DELAYS = [
    {}, {"delay": 0}, {"delay": 1}, {"delay": 5}, {"delay": lambda x, _: (x["a"] * 7) % 11},
    {"delay": "a", "moment": lambda x: x["a"]},
]  # fmt: skip


@pytest.mark.parametrize("options", DELAYS)
def test_side_by_side_is_each_alone(options):
    stream = [({"a": i * 37 % 101}, (i * 37 % 101) >= 60) for i in range(400)]
    makers = {
        "soa": lambda: SOA(Thresholds(101)),
        "subsampled": lambda: SubsampledSOA(Thresholds(101), 0.05, Key.from_seed(3)),
        "river": linear_model.Perceptron,
    }
    together = replay_many(stream, {name: make() for name, make in makers.items()}, **options)
    for name, make in makers.items():
        alone = replay(stream, make(), **options)
        assert together[name].wrong.tolist() == alone.wrong.tolist()
        assert together[name].rounds == alone.rounds == 400


def test_labels_that_overtake_each_other_reach_their_rounds():
    stream = [({"a": i}, i % 2 == 1) for i in range(50)]
    agent = Numbered()
    replay(stream, agent, delay=lambda x, _: (x["a"] * 7) % 13)
    assert sorted(agent.answered) == list(range(1, 51))
    assert all(agent.asked[r] == agent.answered[r] == r - 1 for r in agent.answered)
    late = Numbered()
    replay(stream, late, delay=4)
    assert late.asked == late.answered == {r: r - 1 for r in range(1, 51)}


class Numbered(SOA):
    """Notes which instance every round was asked and answered with."""

    def __init__(self):
        super().__init__(Thresholds(60))
        self.asked, self.answered = {}, {}

    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        self.asked[round] = x["a"]
        return super().predict_one(x, round=round, **kwargs)

    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        self.answered[round] = x["a"]
        super().learn_one(x, y, round=round, **kwargs)


@pytest.mark.parametrize("delay", [None, 3, lambda _, y: 2 + y])
def test_delayed_rounds_draw_as_undelayed_ones_do(delay):
    # The same examples are retained whether labels are late or not, so after the stream the same is known.
    stream = [(i * 37 % 101, (i * 37 % 101) >= 60) for i in range(300)]
    agent = SubsampledSOA(Thresholds(101), 0.05, Key.from_seed(3))
    replay(stream, agent, delay=delay)
    at_once = SubsampledSOA(Thresholds(101), 0.05, Key.from_seed(3))
    replay(stream, at_once)
    assert [agent.predict_one(x) for x in range(1, 102)] == [at_once.predict_one(x) for x in range(1, 102)]


def test_metrics_by_name():
    stream = list(datasets.Phishing())
    seen = {"a": [metrics.Accuracy()], "b": [metrics.F1()]}
    agents = {"a": linear_model.Perceptron(), "b": naive_bayes.GaussianNB(), "c": linear_model.Perceptron()}
    results = replay_many(stream, agents, observers=seen)
    assert seen["a"][0].get() == pytest.approx(results["a"].score)
    alone = metrics.F1()
    replay(stream, naive_bayes.GaussianNB(), observers=[alone])
    assert seen["b"][0].get() == alone.get()
    assert results["a"].wrong.tolist() == results["c"].wrong.tolist()


def test_a_bound_counts_on_labels_that_come_at_once():
    stream = [(x, x >= 4) for x in range(1, 8)]
    assert replay(stream, SOA(Thresholds(7)), delay=1).mistake_bound == 3
    assert replay(stream, SOA(Thresholds(7)), delay=2).mistake_bound is None
    result = replay(stream, SOA(Thresholds(7)))
    assert result.as_dict()["mistake_bound"] == 3
    assert result.as_dict()["curve"]["mistakes"][-1] == result.mistakes


def test_a_bound_that_pays_for_late_labels_is_said():
    paying = PrivatePredictor(Point3(), 5.0, 0.01, key=Key.from_seed(1), max_delay=3)
    bound = paying.mistake_bound
    assert replay([(1, True)] * 20, paying, delay=3).mistake_bound == bound
    assert replay([(1, True)] * 20, PrivatePredictor(Point3(), 5.0, 0.01), delay=1).mistake_bound < bound


def test_bad_arguments_for_many():
    pair = {"soa": SOA(Thresholds(7))}
    with pytest.raises(ParameterError, match="agents is empty"):
        replay_many([(1, 0)], {})
    with pytest.raises(ParameterError, match="of one kind"):
        replay_many([(1, 0)], {**pair, "stopper": LDPOptimalStopper([1.0], 1.0)})
    with pytest.raises(ParameterError, match="observers are given for 'other'"):
        replay_many([(1, 0)], pair, observers={"other": []})
    with pytest.raises(ParameterError, match="reference is for stoppers"):
        replay_many([(1, 0)], pair, reference=LDPOptimalStopper([1.0], 1.0))
    with pytest.raises(ParameterError, match="for predictors"):
        replay_many([[1.0]], {"stopper": LDPOptimalStopper([1.0], 1.0)}, delay=1)
    for delay in (None, 3):
        with pytest.raises(StreamError, match="event 1 must be a pair"):
            replay([(1, 0), (1, 0, {})], SOA(Thresholds(7)), delay=delay)
