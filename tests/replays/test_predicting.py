"""Replaying predictors: against river's harness where both apply, and where river's has faults."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, evaluate, linear_model, metrics, naive_bayes

from streamlearn.agents import LDPOptimalStopper
from streamlearn.errors import ParameterError, StreamError
from streamlearn.replays import replay
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
