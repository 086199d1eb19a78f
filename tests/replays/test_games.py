"""The online-learning game, beside prediction on the same streams."""

from __future__ import annotations

import pytest
from river import linear_model

from streamlearn import Guarantee, Key
from streamlearn.agents import SOA, SubsampledSOA
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import Point3, Thresholds
from streamlearn.replays import OnlineLearner, replay_many, synthetic


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cls", [Point3(), Thresholds(30)])
def test_these_predictors_err_as_often_when_they_release_their_hypotheses(seed, cls):
    # Prediction and learning differ in what is shown, not in the answers of these two.
    key = Key.from_seed(seed)
    stream = synthetic.realisable(cls, 400, range(1, 4) if isinstance(cls, Point3) else range(1, 31), key=key)
    makers = {"soa": lambda: SOA(cls), "subsampled": lambda: SubsampledSOA(cls, 0.1, Key.from_seed(seed))}
    predicting = replay_many(stream, {name: make() for name, make in makers.items()})
    learning = replay_many(stream, {name: OnlineLearner(make()) for name, make in makers.items()})
    for name in makers:
        assert learning[name].wrong.tolist() == predicting[name].wrong.tolist()
        assert learning[name].guarantee == predicting[name].guarantee
        assert learning[name].mistake_bound == predicting[name].mistake_bound


def test_labels_that_overtake_each_other_draw_alike_in_both_games():
    cls = Thresholds(101)
    stream = [({"x": i * 37 % 101 + 1}, i * 37 % 101 >= 60) for i in range(400)]
    predictor, learner = (SubsampledSOA(cls, 0.05, Key.from_seed(3)) for _ in range(2))
    agents = {"predict": predictor, "learn": OnlineLearner(learner)}
    results = replay_many(stream, agents, delay=lambda x, _: x["x"] * 7 % 13)
    assert results["predict"].wrong.tolist() == results["learn"].wrong.tolist()


def test_the_hypothesis_is_fixed_before_the_instance():
    learner = OnlineLearner(SOA(Thresholds(7)))
    released = learner.agent.release()
    first = [released(x) for x in range(1, 8)]
    learner.learn_one(2, False)
    assert [released(x) for x in range(1, 8)] == first
    assert [learner.predict_one(x) for x in range(1, 8)] != first


def test_who_cannot_release_cannot_play():
    with pytest.raises(ParameterError, match="LogisticRegression has none"):
        OnlineLearner(linear_model.LogisticRegression())


def test_an_agent_that_promises_nothing_promises_nothing():
    class Constant:
        def release(self):
            return lambda _: True

        def predict_one(self, x):  # noqa: ARG002
            return True

        def learn_one(self, x, y):
            pass

    learner = OnlineLearner(Constant())
    assert learner.predict_one(3) is True
    assert learner.guarantee == Guarantee.none()
    assert learner.mistake_bound is None
