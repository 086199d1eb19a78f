"""What the predictors promise of mistakes, on streams of 10^6 rounds: adversarial, adaptive and random ones.

All streams are realisable. Keys and generators are fixed. Over all draws the false-alarm rate of this file is below
3e-7: fewer than 80 runs in which candidate replacement fails with probability β <= 1e-9 each; 28 runs at 1e-9 each
and 4 sums at 1e-8 each for the combining rule; 12 sums at 1e-9 each for subsampled SOA.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
import scipy.stats

from streamlearn import Key, state
from streamlearn.agents import SOA, PrivatePredictor, SubsampledSOA
from streamlearn.hypotheses import Finite, Point3, Points, Thresholds, shattered_tree
from streamlearn.planning import private_plan
from streamlearn.replays import replay
from streamlearn.replays.skipping import replay_runs
from streamlearn.replays.synthetic import (
    littlestone_adversary,
    point3_adversary,
    random_path,
    realisable,
)

ROUNDS = 10**6
KEYS = 2
DELTA = 1e-9
RATE = 1e-3
CHUNK = 64
CUBE = Finite(np.array(list(itertools.product([0, 1], repeat=3)), dtype=bool))
CLASSES = {
    "point3": (Point3(), [1, 2, 3]),
    "points": (Points(), ["ann", "bob", "cy", "dee"]),
    "thresholds": (Thresholds(14), list(range(1, 15))),
    "table": (CUBE, [0, 1, 2]),
}
every_class = pytest.mark.parametrize("name", CLASSES)


@functools.cache
def plan_of(name):
    return private_plan(CLASSES[name][0], 1.0, DELTA)


def private(name, seed):
    return PrivatePredictor(CLASSES[name][0], plan=plan_of(name), key=Key.from_seed(seed))


def candidates(name, seed):
    """The first part of the private predictor: B and β are those of its plan."""
    return private(name, seed).combined.first


def generator(*seeds):
    return np.random.default_rng([7, *seeds])


def adversarial(name, seed):
    """Algorithm 1 for one point; else the tree adversary, each informative example 200 times in a row."""
    draws = generator(1, seed)
    if name == "point3":
        return point3_adversary(ROUNDS, 1.0, generator=draws).runs
    return littlestone_adversary(CLASSES[name][0], ROUNDS, p=1.0, copies=200, generator=draws).runs


def path(name, seed):
    return random_path(CLASSES[name][0], ROUNDS, generator=generator(2, seed)).runs


def sessions(name, seed):
    """Random instances with the labels of a random hypothesis, each for a random while."""
    cls, instances = CLASSES[name]
    draws = generator(3, seed)
    drawn = iter(realisable(cls, ROUNDS, instances, generator=draws))
    runs, left = [], ROUNDS
    while left:
        times = min(left, int(draws.geometric(1e-3)))
        runs.append((next(drawn), times))
        left -= times
    return runs


OBLIVIOUS = (adversarial, path, sessions)


def against(agent, cls, patient, shown):
    """Yield the runs of an adversary that sees all the agent's answers and candidates before each chunk of rounds.

    It goes down a shattered tree. An impatient one contradicts the newest candidate and moves on as soon as another
    is chosen; a patient one contradicts the answer and moves on when it is right. Then what is still wrong is shown.
    """
    tree, path, left = shattered_tree(cls), [], ROUNDS

    def chunk(example, times=CHUNK):
        nonlocal left
        run = (example, min(times, left))
        left -= run[1]
        shown.append(run)
        return run

    for _ in range(cls.dimension):
        chosen, x = len(agent._selector.candidates), tree.instance
        says = agent.predict_one(x) if patient else agent._selector.candidate()(x)
        path.append((x, not says))
        while left and (
            agent.predict_one(x) is says if patient else len(agent._selector.candidates) == chosen
        ):
            yield chunk(path[-1])
        tree = tree.child(not says)
    while left:
        wrong = [(x, y) for x, y in path if agent.predict_one(x) is not y]
        yield chunk(wrong[0]) if wrong else chunk(path[-1], left)


def total_of(runs):
    return sum(times for _, times in runs)


def most_wrong(mean, chance):
    """The most successes, but for a chance, of independent draws of any number whose chances add up to ``mean``.

    Bernstein: their variance is at most the mean, so exp(-t²/(2·mean + 2t/3)) bounds the tail at mean + t.
    """
    log = -math.log(chance)
    return mean + log / 3 + math.sqrt(log * log / 9 + 2 * mean * log)


def test_streams_are_realisable_and_as_long_as_said():
    for name, (cls, _) in CLASSES.items():
        for stream in OBLIVIOUS:
            runs = stream(name, 0)
            assert total_of(runs) == ROUNDS
            space = cls.version_space()
            for (x, y), _ in runs:
                space = space.restrict(x, y)
                assert space is not None


@every_class
def test_candidate_replacement_keeps_its_bound(name):
    plan = plan_of(name)
    assert plan.beta <= 1e-9
    worst = 0
    for stream, seed in itertools.product(OBLIVIOUS, range(KEYS)):
        result = replay_runs(stream(name, seed), candidates(name, seed))
        assert result.rounds == ROUNDS
        assert result.mistakes <= plan.mistake_bound
        worst = max(worst, result.mistakes)
    assert worst > plan.batch  # else none of the streams made it choose


@every_class
@pytest.mark.parametrize("patient", [False, True])
def test_candidate_replacement_keeps_its_bound_against_who_sees_it(name, patient):
    plan, cls = plan_of(name), CLASSES[name][0]
    for seed in range(KEYS):
        agent = candidates(name, 100 + seed)
        shown = []
        result = replay_runs(against(agent, cls, patient, shown), agent)
        assert result.rounds == ROUNDS
        assert plan.mistake_bound / 3 < result.mistakes <= plan.mistake_bound
        space = cls.version_space()
        for x, y in dict(example for example, _ in shown).items():
            space = space.restrict(x, y)
            assert space is not None


@every_class
def test_the_private_predictor_errs_no_more_often_than_expected(name):
    # Whatever the parts do, the chances that the rule errs add up to 3·min + 2D at most (combine.proof.md, 1), and the
    # draws of different rounds and keys are independent.
    plan = plan_of(name)
    mean = 3 * plan.mistake_bound + 2 * plan.combination.head_start  # unless candidate replacement fails
    assert mean <= plan.expected_mistakes
    found = [
        replay_runs(
            stream(name, seed), private(name, 200 + 10 * place + seed), generator=generator(4, place, seed)
        ).mistakes
        for (place, stream), seed in itertools.product(enumerate(OBLIVIOUS), range(KEYS))
    ]
    assert max(found) <= most_wrong(mean, 1e-9)
    assert sum(found) <= most_wrong(mean * len(found), 1e-8)
    # An adversary who saw the answers of another key has no part in these draws.
    spied, shown = candidates(name, 300), []
    replay_runs(against(spied, CLASSES[name][0], False, shown), spied)
    result = replay_runs(shown, private(name, 301), generator=generator(5))
    assert plan.batch < result.mistakes <= most_wrong(mean, 1e-9)


@every_class
def test_soa_and_subsampled_soa_keep_theirs_beside(name):
    # A mistake is retained with probability γ, and then it is one of at most d: so their number is at most that of the
    # trials until d succeed. A sum over keys is at most that until so many times d do.
    cls, _ = CLASSES[name]
    most = KEYS * cls.dimension + scipy.stats.nbinom.isf(1e-9, KEYS * cls.dimension, RATE)
    total = 0
    for stream in OBLIVIOUS:
        subsampled = 0
        for seed in range(KEYS):
            runs = stream(name, seed)
            assert replay_runs(runs, SOA(cls)).mistakes <= cls.dimension
            agent = SubsampledSOA(cls, RATE, Key.from_seed(400 + seed))
            subsampled += replay_runs(runs, agent).mistakes
        assert subsampled <= most
        total += subsampled
    assert total > 0


def test_a_stream_without_runs_is_played_to_its_end():
    cls, instances = CLASSES["table"]
    agent = candidates("table", 500)
    public = cls.version_space()

    def contrary(x):
        return not public.predict(x)

    stream = realisable(cls, ROUNDS, instances, hypothesis=contrary, generator=generator(6))
    result = replay(stream, agent)
    assert result.rounds == ROUNDS
    assert agent.plan.batch < result.mistakes <= agent.plan.mistake_bound
    assert result.wrong[-1] < ROUNDS / 2  # it learned


def test_a_predictor_restored_at_random_rounds_answers_alike():
    plan = plan_of("table")  # but with a γ that retains something in 10^6 rounds
    parts = dataclasses.replace(plan.combination, gamma=RATE)
    plan = dataclasses.replace(plan, delta=plan.delta + RATE, combination=parts)
    runs = sessions("table", 1)
    whole, restored = (PrivatePredictor(CUBE, plan=plan, key=Key.from_seed(600)) for _ in range(2))
    expected = replay_runs(runs, whole)
    cuts = np.sort(generator(8).integers(1, ROUNDS, 4)).tolist()
    wrong, done = [], 0
    for start, end in itertools.pairwise([0, *cuts, ROUNDS]):
        part, at = [], 0
        for example, times in runs:
            first, last = max(at, start), min(at + times, end)
            if first < last:
                part.append((example, last - first))
            at += times
        result = replay_runs(part, restored)
        wrong += [done + first + i for first, times in result.wrong for i in range(times)]
        done += result.rounds
        restored = state.loads(state.dumps(restored), restored.clone())
    assert done == ROUNDS
    assert wrong == [first + i for first, times in expected.wrong for i in range(times)]
    assert restored.state_dict() == whole.state_dict()
    assert len(wrong) > plan.batch
