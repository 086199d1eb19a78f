"""The replacement rule: its two properties for every value of the randomness, and what one record can move."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from river import dummy, linear_model

from streamlearn import Guarantee, Key
from streamlearn.agents import SOA, Mirror, Replacement, SubsampledSOA
from streamlearn.agents.replacement import Link, LinkState, Rule
from streamlearn.errors import ParameterError, SizeError, StateError
from streamlearn.hypotheses import Thresholds
from streamlearn.replays import replay
from streamlearn.rounding import OUT_OF

BOTH, NEITHER, FIRST, SECOND = "both", "neither", "first", "second"
"""Who is right on a round."""

HALF = OUT_OF // 2
RULES = [
    Rule(batch, 2 * (batch + lag) - 2 + width + more, [0, *[HALF] * (width - 1), OUT_OF], [HALF] * ramp, lag)
    for batch, width, ramp, lag, more in itertools.product((1, 2), (1, 2), (0, 1, 2), (0, 1), (0, 1))
    if 2 * (batch + lag) - 2 + width + more <= 4
]


def outcomes(rule, stream):
    """Every pair (W's mistakes, rounds on which W differs from U) that the draws allow, round by round."""
    disagreements = [who for who in stream if who in {FIRST, SECOND}]
    right = sum(who is SECOND for who in disagreements[: rule.delay])
    chance = rule.chance(right) if len(disagreements) >= rule.delay else 0
    accepts = [value for value, possible in ((False, chance < OUT_OF), (True, chance > 0)) if possible]
    for accepted, steps in itertools.product(
        accepts, itertools.product((False, True), repeat=len(rule.ramp))
    ):
        index = 0
        shown = []  # (W is wrong, W differs from U)
        for who in stream:
            switched = False
            if who in {FIRST, SECOND}:
                index += 1
                step = index - rule.delay - rule.max_delay
                switched = accepted and step > 0 and (step > len(steps) or steps[step - 1])
            wrong = who is NEITHER or (who is FIRST and switched) or (who is SECOND and not switched)
            shown.append((wrong, switched))
        yield shown


@pytest.mark.parametrize(
    "rule", RULES, ids=lambda rule: "-".join(map(str, (rule.batch, rule.delay, rule.max_delay)))
)
def test_both_properties_hold_for_every_draw(rule):
    most = rule.batch + rule.max_delay - 1
    bound = most + rule.certain
    least = rule.delay - most - rule.width
    worst = 0
    for stream in itertools.product((BOTH, NEITHER, FIRST, SECOND), repeat=6):
        for shown in outcomes(rule, stream):
            first = second = made = 0
            for who, (wrong, switched) in zip(stream, shown, strict=True):
                if first <= least:
                    assert not switched
                first += who in {NEITHER, SECOND}
                second += who in {NEITHER, FIRST}
                made += wrong
                if second <= most:
                    assert made <= bound
                    worst = max(worst, made)
    assert worst == min(bound, 6)  # the bound is reached wherever a stream is long enough


@pytest.mark.parametrize("rule", RULES)
def test_one_record_moves_the_count_and_every_index_by_at_most_one(rule):
    for stream in itertools.product((BOTH, FIRST, SECOND), repeat=6):
        for place, other in itertools.product(range(6), (BOTH, FIRST, SECOND)):
            neighbour = [*stream[:place], other, *stream[place + 1 :]]
            counts, indices = zip(*map(_counted, (stream, neighbour), (rule, rule)), strict=True)
            assert abs(counts[0] - counts[1]) <= 1
            later = range(place + 1, 6)
            shifts = {indices[0][t] - indices[1][t] for t in later}
            assert len(shifts) <= 1
            assert shifts <= {-1, 0, 1}


def _counted(stream, rule):
    disagreements = [who for who in stream if who is not BOTH]
    indices = list(itertools.accumulate(who is not BOTH for who in stream))
    return sum(who is SECOND for who in disagreements[: rule.delay]), indices


def test_the_chance_rises_over_w_counts():
    rule = Rule(batch=3, delay=10, acceptance=[0, 1, 5, OUT_OF], ramp=[HALF], max_delay=2)
    # D - K' + 1 - w = 10 - 5 + 1 - 3 = 3
    assert [rule.chance(right) for right in range(11)] == [0, 0, 0, 0, 1, 5, *[OUT_OF] * 5]
    assert rule.certain == 10 + 2 + 1


def test_draws_have_the_law_of_the_rule():
    rule = Rule(
        batch=1, delay=3, acceptance=[0, OUT_OF // 4, OUT_OF], ramp=[OUT_OF // 8, OUT_OF // 2], max_delay=1
    )
    key = Key.from_seed(5)
    n = 40_000
    # Hoeffding: off by more than 0.015 with probability below 2 exp(-2 n 0.015^2) = 3e-8 each.
    for right, chance in ((0, 0.0), (1, 0.25), (2, 1.0)):
        assert abs(sum(rule.accepts(right, key, i) for i in range(n)) / n - chance) < 0.015
    for index, chance in ((4, 0.0), (5, 0.125), (6, 0.5), (7, 1.0)):
        assert abs(sum(rule.follows(index, key, i) for i in range(n)) / n - chance) < 0.015


def test_a_link_decides_when_its_last_label_is_known():
    rule = Rule(
        batch=2, delay=3, acceptance=[0, OUT_OF], ramp=[HALF], max_delay=1
    )  # accepts from 3 - 3 + 1 = 1 on
    link = Link(rule, Key.from_seed(1), LinkState(1))
    indices = [link.disagreed() for _ in range(4)]
    link.resolve(indices[0], right=True)
    link.resolve(indices[1], right=False)
    assert link.state.accepted is None
    assert not link.follows()
    link.resolve(indices[2], right=False)
    assert link.state.accepted is True
    link.resolve(indices[3], right=True)  # beyond the first D: counts no more
    assert (link.state.resolved, link.state.right) == (3, 1)
    assert not link.settled
    link.disagreed()
    assert link.settled
    assert link.follows()
    rejected = Link(rule, Key.from_seed(1), LinkState(1, asked=3, resolved=3, right=0))
    assert rejected.rejected
    assert not rejected.follows()


# --- the predictor over two others -------------------------------------------------------------------------


def parts(seed=1):
    cls = Thresholds(20)
    return SOA(cls), SubsampledSOA(cls, 0.3, Key.from_seed(seed).derive("second"))


@pytest.mark.parametrize("late", [0, 2])
def test_the_predictor_is_its_rule(late):
    shown = 0
    for seed in range(40):
        draws = random.Random(seed)
        key = Key.from_seed(seed)
        stream = [(x, draws.random() < 0.5) for x in draws.choices(range(1, 21), k=400)]
        agent = Replacement(*parts(seed), 2, epsilon=12.0, delta=0.09, key=key, max_delay=late)
        first, second = parts(seed)
        answers, bits = [], []
        for t, (x, y) in enumerate(stream):
            answers.append(agent.predict_one(x, round=t) if late else agent.predict_one(x))
            numbered = {"round": t} if late else {}
            bits.append((first.predict_one(x, **numbered), second.predict_one(x, **numbered)))
            for each in (first, second, agent):
                each.learn_one(x, y, **numbered)
        rule = agent.rule
        differing = [t for t, (u, v) in enumerate(bits) if u != v]
        right = sum(bits[t][1] == stream[t][1] for t in differing[: rule.delay])
        accepted = rule.accepts(right, key, 1)
        expected = [u for u, _ in bits]
        for index, t in enumerate(differing, start=1):
            if accepted and rule.follows(index, key, 1):
                expected[t] = bits[t][1]
        assert answers == expected
        shown += answers != [u for u, _ in bits]
        if len(differing) >= rule.delay:
            assert agent.accepted is accepted
    assert shown > 3


def test_any_two_river_classifiers_will_do():
    agent = Replacement(
        dummy.NoChangeClassifier(),
        linear_model.LogisticRegression(),
        50,
        epsilon=4.0,
        delta=1e-3,
        key=Key.from_seed(1),
    )
    stream = [({"a": i % 7 - 3.0}, i % 7 > 3) for i in range(4000)]
    result = replay(stream, agent)
    assert agent.accepted
    alone = replay(stream, linear_model.LogisticRegression())
    assert result.mistakes <= alone.mistakes + agent.rule.certain
    assert agent.guarantee == Guarantee.none()
    with pytest.raises(StateError, match="cannot be saved as JSON"):
        agent.state_dict()


def test_guarantees_add_up():
    cls = Thresholds(20)
    pair = [SubsampledSOA(cls, gamma, Key.from_seed(i)) for i, gamma in enumerate((0.01, 0.02))]
    agent = Replacement(*pair, 5, epsilon=1.0, delta=1e-3, key=Key.from_seed(9))
    assert (agent.guarantee.notion, agent.guarantee.epsilon) == ("joint", 1.0)
    assert agent.guarantee.delta == pytest.approx(0.031, rel=1e-15)
    assert len(agent.rule.ramp) == len(Mirror(0.5, 5e-4, 0).thresholds)


def test_schedules():
    def rule(**more):
        return Replacement(*parts(), 10, epsilon=1.0, delta=1e-3, key=Key.from_seed(1), **more).rule

    first, second = rule(), rule(position=2)
    step = 2 * 10 - 2 + first.width
    assert first.delay == step
    assert second.delay == 2 * step + len(first.ramp)
    least = (4 * math.log(8e3)) ** 2
    assert rule(schedule="paper").delay == 9 * math.ceil(least)
    assert rule(schedule="paper", position=3).delay == 9**3 * math.ceil(least)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"batch": 0}, "batch must be a whole number >= 1"),
        ({"position": 0}, "position must be a whole number >= 1"),
        ({"schedule": "other"}, "schedule must be 'linear' or 'paper'"),
        ({"epsilon": 0.0}, "epsilon must"),
        ({"delta": 1.5}, "delta must"),
        ({"max_delay": -1}, "max_delay must"),
        ({"first": "x"}, "first must be a river classifier"),
        (
            {"key": Key.from_seed(1), "second": SubsampledSOA(Thresholds(3), 0.5, Key.from_seed(1))},
            "draw independently",
        ),
    ],
)
def test_bad_arguments(more, message):
    given = {
        "first": SOA(Thresholds(3)),
        "second": SOA(Thresholds(3)),
        "batch": 2,
        "epsilon": 1.0,
        "delta": 0.01,
    }
    with pytest.raises(ParameterError, match=message):
        Replacement(**(given | more))


STRANGE = [
    "1",
    b"1",
    None,
    True,
    np.bool_(True),
    math.nan,
    math.inf,
    -1,
    -0.5,
    np.int64(-1),
    10**400,
    1j,
    [1],
    np.ones(2),
]


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("batch", "be a whole number >= 1"),
        ("position", "be a whole number >= 1"),
        ("epsilon", r"be a number in \[2e-06, 1000\]"),
        ("delta", r"be a number in \[2\^-59, 1\)"),
        ("schedule", "be 'linear' or 'paper'"),
        ("max_delay", "be a whole number"),
    ],
)
def test_strange_arguments_are_named_with_their_bound_and_a_remedy(name, bound):
    usual = {"batch": 2, "epsilon": 8.0, "delta": 0.01, "key": Key.from_seed(1)}
    for value in STRANGE:
        with pytest.raises(ParameterError, match=f"^{name} must {bound}.* got .*; "):
            Replacement(*parts(), **(usual | {name: value}))


def test_numpys_numbers_make_the_same_rule():
    usual = {"batch": 2, "epsilon": 8.0, "delta": 0.5, "position": 2, "max_delay": 1, "key": Key.from_seed(1)}
    numpys = {
        "batch": np.int64(2), "epsilon": np.float32(8.0), "delta": np.float64(0.5), "position": np.uint8(2),
        "max_delay": np.int32(1),
    }  # fmt: skip
    plain, other = (Replacement(*parts(), **(usual | more)) for more in ({}, numpys))
    assert plain.rule == other.rule
    assert plain.guarantee == other.guarantee
    assert {type(value) for value in (other.batch, other.position, other.max_delay)} == {int}


@pytest.mark.parametrize(
    "more",
    [{"schedule": "paper", "position": 17}, {"schedule": "paper", "position": 2**50}, {"batch": 2**50}],
)
def test_a_delay_beyond_all_streams_is_refused(more):
    usual = {"batch": 2, "epsilon": 8.0, "delta": 0.01, "key": Key.from_seed(1)}
    with pytest.raises(ParameterError, match="need a delay above 1125899906842624; take smaller ones"):
        Replacement(*parts(), **(usual | more))


def test_the_ends_of_the_bounds_can_be_had():
    for epsilon, delta in ((1e3, 2.0**-59), (1e3, 1.0 - 2.0**-53)):
        assert Replacement(*parts(), 2, epsilon=epsilon, delta=delta).guarantee.delta >= delta
    with pytest.raises(SizeError, match="ramp"):
        Replacement(*parts(), 2, epsilon=2e-6, delta=2.0**-59)
