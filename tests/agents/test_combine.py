"""Combine: the real agent's exact privacy and mistakes, its use with late labels, parts, saved states."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.dummy import NoChangeClassifier
from river.linear_model import LinearRegression, LogisticRegression
from river.preprocessing import StandardScaler

from streamlearn import Guarantee, Key, hypotheses, state
from streamlearn.agents import (
    SOA,
    CandidateReplacementPredictor,
    Combine,
    PrivatePredictor,
    Replacement,
    SubsampledSOA,
)
from streamlearn.errors import ParameterError, RoundError, StateError
from streamlearn.prediction import Predictor

STUMPS = hypotheses.Stumps({"a": [0.5, 1.5], "b": [1.0]})


class Echo(Predictor):
    """Says what the instance tells it to; ``place`` is the position of its bit."""

    def __init__(self, place=0):
        self.place = place
        self._unlearned()
        self.seen = []

    kind = "Echo"
    guarantee = Guarantee("joint", 0.0, 0.0, "event")
    parameters_digest = "echo"

    def _predict(self, x):
        return x[self.place]

    def _learn(self, x, y, round):  # noqa: A002
        self.seen.append((x, y, round))

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


ONE = Echo()
KEY = Key.from_seed(9)


def candidates(key):
    return CandidateReplacementPredictor(hypotheses.Point3(), 5.0, 0.01, key=key)


def replacement(key):
    return Replacement(Echo(), Echo(1), 2, epsilon=8.0, delta=0.09, key=key)


def private(key):
    return PrivatePredictor(hypotheses.Point3(), 5.0, 0.01, key=key)


class Coins(Key):
    """A key that writes down the chances it is asked for, and answers as it is told."""

    __slots__ = ("answer", "asked")

    def __init__(self, secret=bytes(32)):
        super().__init__(secret)
        self.asked = []
        self.answer = True

    def bernoulli(self, numerator, denominator, purpose, round):  # noqa: A002
        self.asked.append((Fraction(numerator, denominator), purpose, round))
        return self.answer


def build(cls=Combine, key=None, **given):
    return cls(Echo(0), Echo(1), key=key or Key.from_seed(1), **given)


RECORDS = {"agree": ((True, True), True), "first": ((True, False), True), "second": ((True, False), False)}


@functools.cache
def laws(cls, D, stream):  # noqa: N803
    """The chances of answering True, round by round, of the real agent; they depend on the stream alone."""
    key = Coins()
    agent = build(cls, key, D=D)
    chances = []
    for name in stream:
        x, y = RECORDS[name]
        before = len(key.asked)
        agent.predict_one(x)
        asked = key.asked[before:]
        chances.append(float(asked[0][0]) if asked else 1.0)
        agent.learn_one(x, y)
    return tuple(chances)


def audit(D, T, epsilon, cls=Combine):  # noqa: N803
    """The exact δ over all neighbouring streams of T records, the changed round's output left out."""
    worst, level = 0.0, math.exp(epsilon)
    for i in range(T):
        for rest in itertools.product(RECORDS, repeat=T - 1):
            changed = [laws(cls, D, (*rest[:i], name, *rest[i:])) for name in RECORDS]
            for one, other in itertools.permutations(changed, 2):
                if one[i + 1 :] == other[i + 1 :]:
                    continue
                p, q = [1.0], [1.0]
                for a, b in zip(one[i + 1 :], other[i + 1 :], strict=True):  # earlier rounds are alike
                    p = [w * c for w in p for c in (a, 1 - a)]
                    q = [w * c for w in q for c in (b, 1 - b)]
                worst = max(worst, sum(max(a - level * b, 0.0) for a, b in zip(p, q, strict=True)))
    return worst


def first_moves(D, T, epsilon):  # noqa: N803
    """As :func:`audit`, when the first record is the changed one and all others are disagreements."""
    worst, level = 0.0, math.exp(epsilon)
    for rest in itertools.product(["first", "second"], repeat=T - 1):
        for one, other in itertools.permutations(RECORDS, 2):
            p, q = [1.0], [1.0]
            for a, b in zip(
                laws(Combine, D, (one, *rest))[1:], laws(Combine, D, (other, *rest))[1:], strict=True
            ):
                p = [w * c for w in p for c in (a, 1 - a)]
                q = [w * c for w in q for c in (b, 1 - b)]
            worst = max(worst, sum(max(a - level * b, 0.0) for a, b in zip(p, q, strict=True)))
    return worst


class Bolder(Combine):
    """Counts every success as if it were 1.2."""

    def _chosen(self, bits, sequence):
        right, self.right = self.right, tuple(Fraction(6, 5) * c for c in self.right)
        try:
            return super()._chosen(bits, sequence)
        finally:
            self.right = right


class Anew(Combine):
    """Draws anew whenever it is asked."""

    times = 0

    def _chosen(self, bits, sequence):
        self.times += 1
        return super()._chosen(bits, f"{sequence}/{self.times}")


def test_the_exact_delta_of_the_real_agent_over_all_neighbouring_streams():
    assert audit(4, 4, 0.0) == pytest.approx(first_moves(4, 4, 0.0), abs=1e-12)
    assert audit(4, 6, 0.0) == pytest.approx(0.334998912, abs=1e-9)
    assert audit(4, 6, 0.25) == pytest.approx(0.255621651, abs=1e-9)


def test_the_exact_delta_at_seven_rounds():
    assert first_moves(10, 7, 0.5) == pytest.approx(0.032397829, abs=1e-9)


def test_constants_changed_by_a_fifth_are_caught():
    assert audit(4, 4, 0.0, Bolder) > audit(4, 4, 0.0) + 1e-3


def test_a_rule_that_draws_anew_is_caught():
    def answers(cls, **numbered):
        agent = build(cls, D=4)
        return {agent.predict_one((True, False), **numbered) for _ in range(60)}

    assert len(answers(Combine)) == len(answers(Combine, round=1)) == 1
    assert len(answers(Anew)) == 2


def test_a_round_is_drawn_once_by_its_place_in_the_order_of_asking():
    key = Coins()
    agent = build(key=key, D=3, max_delay=5)
    for number in (70, 30, 70, 30, 5):
        agent.predict_one((True, False), round=number)
    assert key.asked == [(Fraction(1, 2), "combine/choose", sequence) for sequence in (1, 2, 3)]
    agent.predict_one((True, True), round=6)
    assert len(key.asked) == 3  # where both say the same nothing is drawn


@settings(max_examples=60)
@given(
    D=st.integers(1, 6),
    late=st.integers(0, 3),
    stream=st.lists(st.sampled_from(["agree", "first", "second"]), max_size=25),
)
def test_expected_mistakes_are_within_the_bound(D, late, stream):  # noqa: N803
    # Labels are as late as they may be; all come, so the counters, and with them each round's chance, are fixed.
    key = Coins()
    agent = build(key=key, D=D, max_delay=late)
    expected, wrong = 0.0, [0, 0]
    for t, name in enumerate(stream):
        x, y = RECORDS[name]
        if t >= late + 1:
            old_x, old_y = RECORDS[stream[t - late - 1]]
            agent.learn_one(old_x, old_y, round=t - late - 1)
        before = len(key.asked)
        agent.predict_one(x, round=t)
        first = key.asked[before][0] if len(key.asked) > before else 1
        expected += float(1 - first if x[0] == y else first) if x[0] != x[1] else float(x[0] != y)
        wrong[0] += x[0] != y
        wrong[1] += x[1] != y
    assert expected <= agent.expected_bound(min(wrong)) == 3 * min(wrong) + 2 * D + late


def test_a_good_predictor_costs_a_delay_at_most_and_a_bad_one_is_soon_left():
    agent = build(D=4)
    mistakes = 0
    for i in range(2000):
        x, y = (i % 2 == 0, i % 2 == 1), i % 2 == 0
        mistakes += agent.predict_one(x) != y
        agent.learn_one(x, y)
    assert agent.right == (2000, 0)
    assert (
        mistakes <= 20
    )  # 8 are expected at most; by Chernoff 20 or more have a chance below 1e-3 under other keys


def test_counters_see_no_label_later_than_allowed_and_all_others():
    agent = build(D=4, max_delay=2)
    for t in range(3):
        agent.predict_one((True, False), round=t)
    agent.learn_one((True, False), False, round=1)
    assert agent.right == (0, 0)  # round 0 comes first
    answer = agent.predict_one((True, False), round=0)
    agent.predict_one((True, False), round=3)  # round 0 is given up: it counts as answered rightly
    assert agent.right == (int(answer), 1 + int(not answer))
    with pytest.raises(RoundError):
        agent.learn_one((True, False), True, round=0)


def test_parts_get_every_true_label_and_nothing_else():
    agent = build(D=4, max_delay=1)
    for t in range(3):
        agent.predict_one((True, False), round=t)
    agent.learn_one((True, False), False, round=2)
    agent.learn_one((True, False), True, round=1)
    agent.learn_one((False, True), True)
    assert agent.first.seen == [
        ((True, False), False, 2),
        ((True, False), True, 1),
        ((False, True), True, 0),
    ] or (agent.first.seen[:2] == [((True, False), False, 2), ((True, False), True, 1)])
    assert (
        agent.first.seen == agent.second.seen
    )  # the label of round 0 never came, nor did Combine's own answer


def test_river_models_are_parts_too_and_none_is_false():
    agent = Combine(NoChangeClassifier(), LogisticRegression(), D=4)
    assert agent.predict_one({"a": 1.0}) is False
    for i in range(50):
        agent.predict_one({"a": float(i % 2)}, round=i)
        agent.learn_one({"a": float(i % 2)}, i % 2 == 1, round=i)
    assert agent.predict_one({"a": 1.0}) in {True, False}
    assert agent.guarantee == Guarantee.none()
    with pytest.raises(StateError, match="NoChangeClassifier cannot be saved"):
        agent.state_dict()
    twin = pickle.loads(pickle.dumps(agent))  # noqa: S301 - written here
    other = copy.deepcopy(agent)
    fresh = agent.clone()
    assert fresh.right == (0, 0)
    assert fresh.first is not agent.first
    assert fresh.key == agent.key
    for i in range(50, 80):
        x = {"a": float(i % 3)}
        assert agent.predict_one(x) == twin.predict_one(x) == other.predict_one(x)
        for it in (agent, twin, other):
            it.learn_one(x, i % 2 == 0)
    assert agent.right == twin.right == other.right


def test_the_guarantee_adds_up():
    first, second = (SubsampledSOA(STUMPS, 0.125, Key.from_seed(seed)) for seed in (1, 2))
    agent = Combine(first, second, epsilon=1.0, delta=0.25, key=Key.from_seed(3))
    assert agent.delay == Combine.smallest_delay(1.0, 0.25)
    assert agent.guarantee == Guarantee("joint", 0.5, 0.375, "event")
    assert Combine(first, SOA(STUMPS), D=400).guarantee == Guarantee.none()
    alone = Combine(first, second, D=609).guarantee
    assert alone.delta == pytest.approx(0.25 + 0.5e-6, rel=1e-12)
    assert 0.49 < alone.epsilon <= 0.5001
    assert Combine(first, second, D=1).guarantee.epsilon > 5
    assert Combine(first, second, D=226, delta=1e-3).rule_guarantee.epsilon <= 0.5001
    assert Combine(first, SubsampledSOA(STUMPS, 0.9), D=609, delta=1e-3).guarantee == Guarantee.none()


def test_late_labels_need_a_little_more_delay():
    assert Combine.smallest_delay(1.0, 1e-3) < Combine.smallest_delay(1.0, 1e-3, 16) <= 226 + 16
    assert build(epsilon=1.0, delta=1e-3, max_delay=16).delay == Combine.smallest_delay(1.0, 1e-3, 16)


KEY = Key.from_seed(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (build, "give D, or both"),
        (lambda: build(epsilon=1.0), "give D, or both"),
        (lambda: build(D=4, epsilon=1.0), "either D or epsilon"),
        (lambda: build(D=0), "D must be"),
        (lambda: build(D=4, delta=2.0), "delta must"),
        (lambda: build(epsilon=-1.0, delta=0.1), "epsilon must"),
        (lambda: build(D=4, max_delay=-1), "max_delay"),
        (lambda: Combine(None, Echo(), D=4), "first must be a river classifier"),
        (lambda: Combine(Echo(), 3, D=4), "second must be a river classifier"),
        (lambda: Combine(LinearRegression(), Echo(), D=4), "first must be a river classifier"),
        (
            lambda: Combine(Echo(), StandardScaler() | LinearRegression(), D=4),
            "second must be a river classifier",
        ),
        (lambda: Combine(ONE, ONE, D=4), "first and second must be two objects"),
        (lambda: Combine(SubsampledSOA(STUMPS, 0.5, KEY), Echo(), D=4, key=KEY), "must draw independently"),
        (lambda: Combine(candidates(KEY), replacement(KEY), D=4), "must draw independently"),
        (
            lambda: Combine(candidates(KEY), StandardScaler() | SubsampledSOA(STUMPS, 0.5, KEY), D=4),
            "independently",
        ),
        (lambda: Combine(private(KEY), candidates(KEY.derive("candidates")), D=4), "must draw independently"),
        (lambda: Combine(Echo(), Echo(), D=4, key=7), "key must be a Key"),
        (lambda: Combine(build(D=4, max_delay=2), Echo(), D=4, max_delay=3), "max_delay of the whole"),
        (lambda: Combine(build(D=4), Echo(), D=4, key=KEY), "independently"),
        (
            lambda: Combine(SubsampledSOA(STUMPS, 0.5, KEY), SubsampledSOA(STUMPS, 0.5, KEY), D=4),
            "independently",
        ),
    ],
)
def test_what_is_no_parameter_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def noisy(max_delay=3):
    first, second = (SubsampledSOA(STUMPS, 0.5, Key.from_seed(seed)) for seed in (1, 2))
    inner = Combine(first, SOA(STUMPS), D=1, key=Key.from_seed(3), max_delay=max_delay)
    return Combine(inner, second, D=2, key=Key.from_seed(4), max_delay=max_delay)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.integers(0, 4)), max_size=30),
    st.integers(0, 29),
)
def test_a_restored_run_goes_on_bit_for_bit_also_nested_and_late(events, cut):
    agent, answers, twins = noisy(), [], []
    for t, (a, b, y, age) in enumerate(events):
        if t == cut:
            twins = [state.loads(state.dumps(agent), noisy())]
        for it in (agent, *twins):
            answers.append(it.predict_one({"a": a, "b": b}, round=t))
            try:
                it.learn_one({"a": a, "b": b}, y, round=t - age)
            except RoundError:
                answers.append(None)
            assert len(it._waiting) <= 4
        if twins:
            assert state.dumps(twins[0]) == state.dumps(agent)


def test_states_that_are_not_possible_are_refused_as_a_whole():
    agent = noisy(0)
    for i in range(9):
        agent.learn_one({"a": i % 3, "b": 0}, i % 3 == 0)
    before = state.dumps(agent)
    for name, wrong in [
        ("first_right", -1),
        ("second_right", 10),
        ("second", {}),
        ("rounds", {"asked": -1, "waiting": []}),
    ]:
        saved = agent.state_dict()
        saved["body"] = saved["body"] | {name: wrong}
        with pytest.raises(StateError):
            agent.load_state_dict(saved)
        assert state.dumps(agent) == before
    with pytest.raises(StateError, match="parameters"):
        noisy(1).load_state_dict(agent.state_dict())


STRANGE = [
    "1",
    b"1",
    True,
    np.bool_(True),
    math.nan,
    -math.inf,
    -1,
    -0.5,
    np.int64(-1),
    10**400,
    1j,
    [1],
    np.ones(2),
]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *(
            (lambda **more: Combine(Echo(0), Echo(1), **({"D": 4} | more)), name)
            for name in ("D", "delta", "max_delay")
        ),
        *(
            (lambda **more: Combine(Echo(0), Echo(1), **({"epsilon": 8.0, "delta": 1e-2} | more)), name)
            for name in ("epsilon", "delta", "max_delay")
        ),
        *(
            (lambda **more: Combine.smallest_delay(**({"epsilon": 8.0, "delta": 1e-2} | more)), name)
            for name in ("epsilon", "delta", "max_delay")
        ),
        (lambda **more: Combine(Echo(0), Echo(1), 4).expected_bound(**more), "mistakes"),
    ],
)
def test_strange_arguments_are_named_with_their_bound_and_a_remedy(make, name):
    for value in STRANGE:
        if name == "mistakes" and type(value) is int and value > 0:  # that many can be made
            continue
        with pytest.raises(ParameterError, match=f"^{name} must .*got .*; "):
            make(**{name: value})


def test_numpys_numbers_make_the_same_rule():
    usual = {"epsilon": 8.0, "delta": 0.5, "max_delay": 1}
    numpys = {"epsilon": np.float32(8.0), "delta": np.float64(0.5), "max_delay": np.int64(1)}
    plain, other = (Combine(Echo(0), Echo(1), key=KEY, **given) for given in (usual, numpys))
    assert (plain.delay, plain.rule_guarantee) == (other.delay, other.rule_guarantee)
    assert Combine.smallest_delay(**numpys) == plain.delay
    assert Combine(Echo(0), Echo(1), np.int64(4)).expected_bound(np.int64(3)) == 17
    assert type(Combine(Echo(0), Echo(1), np.int64(4)).delay) is int
