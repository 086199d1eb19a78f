"""The private predictor: its parts, its promises, its states."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from river import datasets, evaluate, metrics, preprocessing

from streamlearn import Key, state
from streamlearn.agents import (
    SOA,
    CandidateReplacementPredictor,
    Combine,
    PrivatePredictor,
    SubsampledSOA,
)
from streamlearn.checks.sizes import deep_size
from streamlearn.errors import ParameterError, PlanError, RoundError, StateError
from streamlearn.hypotheses import Finite, Point3, Stumps, Thresholds
from streamlearn.planning import candidate_plan, private_plan
from streamlearn.replays import replay

CUBE = Finite(np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=bool))


def test_it_is_the_combination_that_its_plan_says():
    key = Key.from_seed(3)
    whole = PrivatePredictor(CUBE, 2.0, 1e-3, key=key)
    plan, parts = whole.plan, whole.plan.combination
    alone = dataclasses.replace(plan, epsilon=parts.epsilon, delta=parts.delta, combination=None)
    by_hand = Combine(
        CandidateReplacementPredictor(CUBE, plan=alone, key=key.derive("candidates")),
        SubsampledSOA(CUBE, parts.gamma, key.derive("subsampled")),
        parts.head_start,
        key=key.derive("rule"),
    )
    stream = [(i % 3, i % 3 == 1) for i in range(6000)]
    assert replay(stream, whole).wrong.tolist() == replay(stream, by_hand).wrong.tolist()


@pytest.mark.parametrize("cls", [Point3(), CUBE, Thresholds(2**60 - 1)])
def test_the_budget_is_never_overdrawn(cls):
    plan = private_plan(cls, 1.0, 1e-6)
    parts = plan.combination
    assert parts.epsilon + parts.rule_epsilon <= plan.epsilon
    assert parts.delta + parts.gamma + parts.rule_delta <= plan.delta
    whole = PrivatePredictor(cls, plan=plan, key=Key.from_seed(1))
    assert (whole.guarantee.epsilon, whole.guarantee.delta) == (1.0, 1e-6)
    assert whole.combined.first.guarantee.epsilon == parts.epsilon
    assert whole.combined.second.guarantee.delta == parts.gamma
    inner = whole.combined.guarantee  # as certified from the head start alone
    assert inner.epsilon <= 1.0
    assert inner.delta <= 1e-6


def test_mistakes_stop_growing():
    # At δ = 1e-3 the whole is expected to err at most 3,020 times, and on this stream errs ever more rarely.
    stream = [(2, True)] * 6000
    for seed in range(3):
        result = replay(stream, PrivatePredictor(Point3(), 1.0, 1e-3, key=Key.from_seed(seed)))
        assert 0 < result.mistakes <= result.mistake_bound
        assert (result.wrong >= 3000).sum() < (result.wrong < 3000).sum() / 4


@pytest.mark.parametrize("delay", [3, lambda x, _: (x["x"] * 7) % 4])
def test_late_labels_within_max_delay_are_all_learned(delay):
    cls = Thresholds(30)
    stream = [({"x": i * 7 % 30 + 1}, i * 7 % 30 >= 11) for i in range(500)]
    agent = PrivatePredictor(cls, 2.0, 1e-3, key=Key.from_seed(2), max_delay=3)
    replay(stream, agent, delay=delay)
    assert not agent.combined._waiting
    assert agent.combined._sequence == 500
    assert agent.combined.first._resolved == 500
    first, second = agent.combined.right
    assert first + second <= 500


@pytest.mark.parametrize("make", [SOA, SubsampledSOA, None])
def test_labels_that_never_come_leave_nothing_behind(make):
    if make is None:
        agent = PrivatePredictor(CUBE, 2.0, 1e-3, key=Key.from_seed(1), max_delay=3)
    else:
        part = SOA(CUBE) if make is SOA else SubsampledSOA(CUBE, 0.5, Key.from_seed(2))
        agent = Combine(part, SOA(CUBE), 4, key=Key.from_seed(1), max_delay=3)
    sizes = []
    for number in range(3000):
        agent.predict_one(number % 3, round=number)
        if number in {100, 2999}:
            sizes.append(deep_size(agent))
    assert sizes[1] <= sizes[0]
    with pytest.raises(RoundError, match="no label is awaited for round 2995"):
        agent.learn_one(1, True, round=2995)
    agent.give_up(2997)
    with pytest.raises(RoundError, match="no label is awaited for round 2997"):
        agent.learn_one(0, True, round=2997)
    agent.learn_one(0, True)  # the oldest still awaited: 2996
    agent.learn_one(1, True, round=2999)
    agent.learn_one(2, True)  # 2998
    agent.predict_one(0, round=3000)
    assert deep_size(agent) <= sizes[0]


@pytest.mark.parametrize("place", [0, 5, 700, 1500])
def test_a_restored_copy_goes_on_alike(place):
    stream = [({"x": i % 3}, i % 3 == 1) for i in range(2000)]
    agent = PrivatePredictor(CUBE, 8.0, 1e-2, key=Key.from_seed(4))
    for x, y in stream[:place]:
        agent.learn_one(x, y)
    copy = state.loads(state.dumps(agent), agent.clone())
    for x, y in stream[place:]:
        assert agent.predict_one(x) == copy.predict_one(x)
        agent.learn_one(x, y)
        copy.learn_one(x, y)
    assert state.dumps(agent) == state.dumps(copy)


def test_a_state_of_another_key_or_plan_is_refused():
    agent = PrivatePredictor(Point3(), 1.0, 1e-3, key=Key.from_seed(1))
    for other in (
        PrivatePredictor(Point3(), 1.0, 1e-3, key=Key.from_seed(2)),
        PrivatePredictor(Point3(), 2.0, 1e-3, key=Key.from_seed(1)),
    ):
        with pytest.raises(StateError, match="parameters"):
            other.load_state_dict(agent.state_dict())


def test_it_runs_in_rivers_harness_and_pipelines():
    events = list(datasets.ImageSegments())[:300]
    cls = Stumps({"rawblue-mean": [0.1, 0.3], "hue-mean": [-0.1]})
    model = preprocessing.Normalizer() | PrivatePredictor(cls, 4.0, 1e-2, key=Key.from_seed(1))
    stream = [(x, y == "sky") for x, y in events]
    accuracy = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    assert accuracy.cm.n_samples == 300


def test_on_real_data_the_public_hypothesis_answers_until_mistakes_add_up():
    stream = [(x, y == "sky") for x, y in datasets.ImageSegments()]
    cls = Stumps({"rawblue-mean": [25.0, 50.0, 100.0], "value-mean": [50.0, 100.0]})
    private = replay(stream, PrivatePredictor(cls, 1.0, 1e-6, key=Key.from_seed(1)))
    public = SOA(cls).release()
    # 2,310 rounds are too few to learn anything with δ = 1e-6: the plan promises no fewer mistakes than that.
    assert private.mistake_bound > len(stream)
    assert private.mistakes == sum(public(x) != y for x, y in stream)


def test_bad_arguments():
    with pytest.raises(ParameterError, match="give epsilon and delta"):
        PrivatePredictor(Point3(), 1.0)
    with pytest.raises(PlanError, match="candidate replacement alone"):
        PrivatePredictor(Point3(), plan=candidate_plan(Point3(), 1.0, 1e-3))
    plan = private_plan(Point3(), 1.0, 1e-3)
    with pytest.raises(ParameterError, match=r"delta must be 0\.001, as the plan has it, got 0\.01"):
        PrivatePredictor(Point3(), 1.0, 0.01, plan=plan)
    for spoilt in (
        dataclasses.replace(plan, eta=plan.eta * 1.2),
        dataclasses.replace(plan, ramp=plan.ramp[::2]),
        dataclasses.replace(plan, acceptance=(0, *plan.acceptance[1:-1:2], plan.acceptance[-1])),
        dataclasses.replace(
            plan,
            combination=dataclasses.replace(
                plan.combination, head_start=plan.combination.head_start * 4 // 5
            ),
        ),
        dataclasses.replace(
            plan, combination=dataclasses.replace(plan.combination, gamma=2 * plan.combination.gamma)
        ),
    ):
        with pytest.raises(PlanError):
            PrivatePredictor(Point3(), plan=spoilt)
