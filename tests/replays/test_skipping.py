"""Skipped runs end as played ones do: the same wrong rounds and the same state, for every agent."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from river.dummy import NoChangeClassifier

from streamlearn import Key
from streamlearn.accounting.combining import rule_delta
from streamlearn.agents import (
    SOA,
    CandidateReplacementPredictor,
    Combine,
    PrivatePredictor,
    Replacement,
    SubsampledSOA,
)
from streamlearn.errors import InstanceError, LabelError, StreamError
from streamlearn.hypotheses import Point3, Stumps, Thresholds
from streamlearn.planning import Plan
from streamlearn.planning.plan import Combination
from streamlearn.replays import replay, steady
from streamlearn.replays.skipping import RunsResult, replay_runs
from streamlearn.replays.steady import thinned
from streamlearn.replays.synthetic import point3_adversary

STUMPS = Stumps({"a": [1.5, 4.5], "b": [0.25]})


@functools.cache
def small_plan(cls, late=0):
    """A plan that promises nothing, under which all happens within a few rounds."""
    return Plan.explicit(
        cls,
        epsilon=3.0,
        eta=0.5,
        batch=2,
        ramp=[0.2, 0.5, 0.8],
        acceptance=[0.0, 0.5, 1.0],
        beta=1.0,
        max_delay=late,
    )


def candidates(cls, seed, late=0):
    return CandidateReplacementPredictor(
        cls, plan=small_plan(cls, late), key=Key.from_seed(seed), max_delay=late
    )


AGENTS = {
    "soa": lambda cls, seed: SOA(cls),  # noqa: ARG005
    "subsampled": lambda cls, seed: SubsampledSOA(cls, 0.05, Key.from_seed(seed)),
    "candidates": candidates,
    "combined": lambda cls, seed: Combine(
        candidates(cls, seed), SubsampledSOA(cls, 0.05, Key.from_seed(seed + 1)), D=3, key=Key.from_seed(seed + 2)
    ),
    "nested": lambda cls, seed: Combine(
        SubsampledSOA(cls, 0.1, Key.from_seed(seed + 3)),
        Combine(SOA(cls), candidates(cls, seed), D=2, key=Key.from_seed(seed + 1)),
        D=1, key=Key.from_seed(seed + 2),
    ),
    "replacement": lambda cls, seed: Replacement(
        SOA(cls), SubsampledSOA(cls, 0.1, Key.from_seed(seed)), 2, epsilon=8.0, delta=0.1, key=Key.from_seed(seed + 1)
    ),
}  # fmt: skip
# The first instances are known, the last one is not.
CLASSES = {
    "point3": (Point3(), [1, 2, 3, "unknown"]),
    "thresholds": (Thresholds(20), [1, 5, 11, 20, 77]),
    "stumps": (STUMPS, [{"a": 1, "b": 1}, {"a": 3, "b": 0}, {"a": 5, "b": 1}, {"c": 1}]),
}


def listed(runs):
    return [example for example, times in runs for _ in range(times)]


def expanded(result):
    return [first + i for first, times in result.wrong for i in range(times)]


def check_alike(runs, played, skipped):
    """Both see the stream from the state they are in, and end alike."""
    expected = replay(listed(runs), played)
    found = replay_runs(runs, skipped)
    assert found.rounds == expected.rounds
    assert expanded(found) == expected.wrong.tolist()
    assert found.mistakes == expected.mistakes
    assert skipped.state_dict() == played.state_dict()


@st.composite
def run_streams(draw, instances):
    example = st.tuples(st.sampled_from(instances), st.booleans())
    times = st.one_of(st.integers(1, 40), st.integers(40, 300))
    return draw(st.lists(st.tuples(example, times), min_size=1, max_size=6))


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=6, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_skipping_is_replaying(agent, cls, data, seed):
    hypotheses, instances = CLASSES[cls]
    made = AGENTS[agent]
    played, skipped = made(hypotheses, seed), made(hypotheses, seed)
    for _ in range(2):  # from the start, and from wherever that led
        check_alike(data.draw(run_streams(instances)), played, skipped)


def small_private_plan():
    """Its parts disagree for a thousand rounds, and so do neighbours of its streams: δ is nearly 1."""
    alone = Plan.explicit(
        Point3(), epsilon=3.0, eta=0.5, batch=40, ramp=[0.2, 0.5, 0.8], acceptance=[0.0, 0.5, 1.0], beta=1.0
    )
    parts = Combination(
        alone.epsilon,
        alone.delta,
        gamma=1e-3,
        rule_epsilon=1.0,
        rule_delta=rule_delta(30, 1.0, 0),
        head_start=30,
    )
    return dataclasses.replace(alone, epsilon=4.0, delta=1.0, combination=parts)


@pytest.mark.parametrize("most_drawn", [7, 4096])
@pytest.mark.parametrize("seed", [9, 11])
def test_a_private_predictor_ends_alike(seed, most_drawn, monkeypatch):
    monkeypatch.setattr(steady, "_MOST_DRAWN", most_drawn)
    plan = small_private_plan()
    made = [PrivatePredictor(Point3(), plan=plan, key=Key.from_seed(seed)) for _ in range(2)]
    check_alike([((3, False), 100), ((1, True), 300)], *made)
    assert made[0].combined.first.predict_one(1)
    assert not made[0].combined.second.predict_one(1)  # so that the rule is drawn for every round from here
    check_alike(
        [((1, True), 500), ((1, False), 90), ((2, False), 300), ((1, True), 900), ((1, False), 9)], *made
    )
    assert min(made[0].combined.right) > 50


@pytest.mark.parametrize("agent", AGENTS)
def test_labels_of_other_types_are_the_same_labels(agent):
    made = AGENTS[agent]
    played, skipped = made(Point3(), 1), made(Point3(), 1)
    replay(listed([((3, 0), 60), ((1, 1.0), 300), ((3, np.False_), 50)]), played)
    replay_runs([((3, False), 60), ((1, 1), 300), ((3, np.float64(0.0)), 50)], skipped)
    assert skipped.state_dict() == played.state_dict()


@pytest.mark.parametrize("agent", ["soa", "subsampled", "candidates", "combined"])
def test_examples_that_an_agent_refuses_are_refused(agent):
    for example, fault in (((1, 2), LabelError), ((1, None), LabelError), (([1], True), InstanceError)):
        with pytest.raises(fault):
            replay_runs([(example, 100)], AGENTS[agent](Point3(), 1))


def test_the_times_kept_of_an_instance_are_those_of_its_first_rounds():
    plan = Plan.explicit(
        Point3(), epsilon=3.0, eta=0.5, batch=60, ramp=[0.5], acceptance=[0.0, 0.5, 1.0], beta=1.0
    )
    made = [CandidateReplacementPredictor(Point3(), plan=plan, key=Key.from_seed(1)) for _ in range(2)]
    check_alike([((3, False), 25), ((2, False), 90), ((3, False), 25), ((3, False), 40)], *made)


def test_streams_of_algorithm_1_are_taken_as_they_are():
    stream = point3_adversary(3**8, 1.0, key=Key.from_seed(1))
    agent = candidates(Point3(), 1)
    expected = replay(stream, candidates(Point3(), 1))
    assert expanded(replay_runs(stream, agent)) == expected.wrong.tolist()


@pytest.mark.parametrize("label", [True, 1, 1.0])
@pytest.mark.parametrize("agent", ["soa", "subsampled", "candidates"])
def test_a_run_of_any_length_ends(agent, label):
    made = AGENTS[agent]
    result = replay_runs([((1, label), 10**15)], made(Point3(), 5))
    assert result.rounds == 10**15
    assert result.mistakes_by(3000) == replay([(1, True)] * 3000, made(Point3(), 5)).mistakes


def test_a_round_that_awaits_its_label_is_left_to_the_agent():
    for made in (AGENTS["soa"], AGENTS["subsampled"], AGENTS["candidates"], AGENTS["combined"]):
        played, skipped = made(Point3(), 2), made(Point3(), 2)
        for agent in (played, skipped):
            agent.predict_one(2, round=7)
            agent.learn_one(2, False, round=7)
        check_alike([((3, False), 90), ((1, True), 200)], played, skipped)


LATE = {
    "soa": lambda: SOA(Point3()),
    "subsampled": lambda: SubsampledSOA(Point3(), 0.05, Key.from_seed(2)),
    "candidates": lambda: candidates(Point3(), 2, late=3),
    "combined": lambda: Combine(
        candidates(Point3(), 2, late=3), SOA(Point3()), D=3, key=Key.from_seed(3), max_delay=3
    ),
}


@pytest.mark.parametrize("agent", LATE)
def test_no_round_is_skipped_while_others_await_their_labels(agent):
    played, skipped = LATE[agent](), LATE[agent]()
    for each in (played, skipped):
        replay([(1, True)] * 300, each)  # nothing but counts changes from here
        for number in (7, 8, 9):
            each.predict_one(1, round=number)  # the first labels of the run are taken for theirs
    check_alike([((1, True), 200)], played, skipped)


def test_counts_of_a_drawn_run_belong_to_the_part_that_was_right():
    for first_is_right in (True, False):
        parts = [SOA(Point3()), SubsampledSOA(Point3(), 1e-15, Key.from_seed(1))]
        agent = Combine(*parts[:: 1 if first_is_right else -1], D=2, key=Key.from_seed(2))
        replay_runs([((1, True), 500)], agent, generator=np.random.default_rng(1))
        assert agent.right == ((499, 0) if first_is_right else (0, 499))


def test_any_other_model_is_played():
    result = replay_runs([(({"a": 1}, True), 50), (({"a": 1}, False), 20)], NoChangeClassifier())
    assert result.wrong == [(0, 1), (50, 1)]


# --- waits that are drawn at once


def test_thinning_has_the_law_of_the_rounds_one_by_one():
    right, wrong, rounds, draws = 3, 2, 4, 20_000
    chances = [wrong**2 / ((right + j) ** 2 + wrong**2) for j in range(rounds)]
    generator = np.random.default_rng(1)
    found = [frozenset(thinned(right, wrong, rounds, generator)) for _ in range(draws)]
    outcomes = [
        frozenset(places) for k in range(rounds + 1) for places in itertools.combinations(range(rounds), k)
    ]
    expected = [
        draws * math.prod(p if j in outcome else 1 - p for j, p in enumerate(chances)) for outcome in outcomes
    ]
    statistic = sum(
        (found.count(outcome) - mean) ** 2 / mean for outcome, mean in zip(outcomes, expected, strict=True)
    )
    assert statistic < scipy.stats.chi2.isf(1e-6, len(outcomes) - 1)


def test_drawn_waits_have_the_law_of_the_agents_own_draws():
    # SOA is wrong once; the other part until it retains. So round t >= 2 is wrong with probability
    # (1 - γ)^(t-1)·D²/((D + t - 2)² + D²). The mean of 2,000 runs is within 5 standard errors but for 6e-7.
    gamma, D, rounds, runs = 0.05, 2, 60, 2000  # noqa: N806
    generator = np.random.default_rng(2)
    found = []
    for seed in range(runs):
        part = SubsampledSOA(Point3(), gamma, Key.from_seed(seed))
        agent = Combine(SOA(Point3()), part, D=D, key=Key.from_seed(-1 - seed))
        result = replay_runs([((1, True), rounds)], agent, generator=generator)
        state = agent.state_dict()["body"]
        assert state["rounds"]["asked"] == rounds
        assert state["second"]["body"]["rounds"]["unnumbered"] == rounds
        found.append(result.mistakes)
    expected = 1 + sum(
        (1 - gamma) ** (t - 1) * D**2 / ((D + t - 2) ** 2 + D**2) for t in range(2, rounds + 1)
    )
    assert abs(np.mean(found) - expected) < 5 * np.std(found, ddof=1) / math.sqrt(runs)


def test_a_combination_whose_part_is_drawn_has_the_law_of_the_agents_own_draws():
    # The inner one is wrong with chance p_t = D²/((D + t - 2)² + D²) at round t >= 2, though its parts' bits stay. The
    # outer one follows it, where it differs from SOA, with a chance that its past gives: all laws by forward induction.
    D, E, rounds, runs = 3, 2, 40, 500  # noqa: N806
    generator = np.random.default_rng(5)
    found = []
    for seed in range(runs):
        keys = [Key.from_seed(seed).derive(str(i)) for i in range(3)]
        never = SubsampledSOA(Point3(), 1e-15, keys[0])
        inner = Combine(SOA(Point3()), never, D=D, key=keys[1])
        agent = Combine(inner, SOA(Point3()), D=E, key=keys[2])
        found.append(replay_runs([((1, True), rounds)], agent, generator=generator).mistakes)
    law = {0: 1.0}  # by how often the inner one was wrong, where the whole has not been since the first round
    for t in range(2, rounds + 1):
        wrong = D**2 / ((D + t - 2) ** 2 + D**2)
        after = dict.fromkeys(range(t), 0.0)
        for count, chance in law.items():
            followed = E**2 / (E**2 + (E + count) ** 2)
            after[count] += chance * (1 - wrong)
            after[count + 1] += chance * wrong * (1 - followed)
        law = after
    assert scipy.stats.binomtest(found.count(1), runs, sum(law.values())).pvalue > 1e-6


def test_a_wait_is_geometric():
    # Wrong until retained: the mean of 3,000 runs is within 5 standard errors of 1/γ but for 6e-7.
    gamma, runs = 1e-4, 3000
    generator = np.random.default_rng(3)
    found = [
        replay_runs(
            [((1, True), 10**9)], SubsampledSOA(Point3(), gamma, Key.from_seed(seed)), generator=generator
        ).mistakes
        for seed in range(runs)
    ]
    assert abs(np.mean(found) * gamma - 1) < 5 * math.sqrt(1 - gamma) / math.sqrt(runs)


def test_what_was_retained_is_in_the_state():
    agent = SubsampledSOA(Point3(), 1e-6, Key.from_seed(1))
    generator = np.random.default_rng(4)
    replay_runs([((1, True), 10**9)], agent, generator=generator)
    assert agent.predict_one(1)
    assert agent.realisable
    replay_runs([((1, False), 10**9)], agent, generator=generator)
    assert agent.contradictions == 1
    assert replay_runs([((1, True), 10**12)], agent).mistakes in (0, 10**12)  # it learns no more


# --- the result, and what is refused


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=6))
def test_mistakes_by_some_round_are_counted(gaps):
    wrong, at = [], 0
    for gap, times in gaps:
        wrong.append((at + gap, times))
        at += gap + times
    result = RunsResult(at + 3, wrong)
    places = expanded(result)
    assert result.mistakes_by(range(at + 4)).tolist() == [
        sum(place < count for place in places) for count in range(at + 4)
    ]


@pytest.mark.parametrize(
    ("runs", "fault"),
    [
        ([], "no runs"),
        ([(1, True)], "run 0 must be a pair"),
        ([((1, True), 1), ((1, True), 0)], "run 1 must come a whole number >= 1 of times, got 0"),
        ([((1, True), 2.0)], "whole number"),
    ],
)
def test_streams_that_are_none_are_refused(runs, fault):
    with pytest.raises(StreamError, match=fault):
        replay_runs(runs, SOA(Point3()))
