"""SOA and its subsampled form: mistake bounds, exact joint privacy, late labels, saved states."""

from __future__ import annotations

import copy
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import ensemble

from streamlearn import Guarantee, Key, hypotheses, state
from streamlearn.agents import SOA, SubsampledSOA
from streamlearn.errors import InstanceError, LabelError, ParameterError, RoundError, StateError
from streamlearn.hypotheses import Thresholds
from streamlearn.replays import replay

CLASSES = [
    hypotheses.Point3(),
    hypotheses.Points(domain=6),
    hypotheses.Thresholds(7),
    hypotheses.Intervals(5),
    hypotheses.SingletonsOrEmpty(domain=4),
    hypotheses.Finite(np.array(list(itertools.product([False, True], repeat=3)))),
]


def _instances(cls):
    return [x for x in range(10) if cls.knows(x)]


def _functions(cls):
    """Return every function of a class on its domain, found by following version spaces."""
    found = [((), cls.version_space())]
    for x in _instances(cls):
        found = [
            ((*labels, y), kept)
            for labels, space in found
            for y in (False, True)
            if (kept := space.restrict(x, y))
        ]
    return [dict(zip(_instances(cls), labels, strict=True)) for labels, _ in found]


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_at_most_d_mistakes_on_every_realisable_stream(cls):
    # Depth-first over everything an adversary can do: repeated instances only repeat known labels.
    def worst(learner, left):
        most = 0
        for x in left:
            for y in (False, True):
                if learner._space.restrict(x, y) is None:
                    continue
                after = copy.copy(learner)
                wrong = learner.predict_one(x) != y
                after._space = learner._space.restrict(x, y)
                most = max(most, wrong + worst(after, [other for other in left if other != x]))
        return most

    instances = _instances(cls)
    depth = worst(SOA(cls), instances if len(instances) <= 5 else instances[:5])
    assert depth <= cls.dimension == SOA(cls).mistake_bound
    if len(instances) <= 5:
        assert depth == cls.dimension  # some adversary forces them all


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_long_realisable_streams(cls):
    rng = np.random.default_rng(1)
    instances = _instances(cls)
    for f in _functions(cls):
        stream = [(x, f[x]) for x in rng.choice(instances, 60).tolist()]
        result = replay(stream, SOA(cls))
        assert result.mistakes <= cls.dimension


class Scripted(Key):
    """A key whose draws are written down beforehand: retain at these rounds, not at others."""

    def __init__(self, retained):
        super().__init__(bytes(32))
        self.retained = retained

    def uniform64(self, purpose, round):  # noqa: A002 - the real key's name
        assert purpose == "SubsampledSOA/retain"
        return 0 if round in self.retained else 2**64 - 1


def _law(cls, stream, gamma):
    """Return the exact law of the real agent's predictions: every outcome of every draw."""
    law = {}
    rounds = range(1, len(stream) + 1)
    for size in range(len(stream) + 1):
        for retained in itertools.combinations(rounds, size):
            agent = SubsampledSOA(cls, gamma, key=Scripted(set(retained)))
            output = []
            for x, y in stream:
                output.append(agent.predict_one(x))
                agent.learn_one(x, y)
            weight = gamma**size * (1 - gamma) ** (len(stream) - size)
            law[tuple(output)] = law.get(tuple(output), 0.0) + weight
    return law


def _delta(first, second, left_out, epsilon):
    """Return the hockey-stick divergence of two laws without one coordinate."""
    reduced = []
    for law in (first, second):
        marginal = {}
        for output, weight in law.items():
            rest = output[:left_out] + output[left_out + 1 :]
            marginal[rest] = marginal.get(rest, 0.0) + weight
        reduced.append(marginal)
    p, q = reduced
    return sum(max(0.0, p.get(o, 0.0) - math.exp(epsilon) * q.get(o, 0.0)) for o in p.keys() | q.keys())


@pytest.mark.parametrize("gamma", [0.25, 0.5])
def test_joint_privacy_is_exactly_gamma(gamma):
    # All neighbouring streams of POINT3 at T = 3, realisable or not, and all outputs of the others.
    examples = list(itertools.product([1, 2, 3], [False, True]))
    cls = hypotheses.Point3()
    laws = {stream: _law(cls, stream, gamma) for stream in itertools.product(examples, repeat=3)}
    worst = dict.fromkeys((0.0, 0.5, 2.0), 0.0)
    for stream, law in laws.items():
        for i, example in itertools.product(range(3), examples):
            neighbour = (*stream[:i], example, *stream[i + 1 :])
            for epsilon in worst:
                worst[epsilon] = max(worst[epsilon], _delta(law, laws[neighbour], i, epsilon))
    # No ε buys anything: whoever is retained may be seen. And no more than γ.
    assert list(worst.values()) == pytest.approx([gamma] * 3, abs=1e-12)


def test_expected_mistakes_are_at_most_d_over_gamma():
    # Each of 400 runs errs until it retains its first example: a geometric number of mistakes, of mean 1/γ = 20 and
    # deviation below 20. The mean of 400 has deviation below 1; 5.2 of them above has probability below 1e-6.
    stream = [(1, True)] * 2_000
    mistakes = [
        replay(stream, SubsampledSOA(hypotheses.Point3(), 0.05, key=Key.from_seed(seed))).mistakes
        for seed in range(400)
    ]
    agent = SubsampledSOA(hypotheses.Point3(), 0.05, key=Key.from_seed(0))
    assert agent.mistake_bound == pytest.approx(20.0)
    assert np.mean(mistakes) <= agent.mistake_bound + 5.2


def test_gamma_one_is_soa():
    stream = [(x, x >= 4) for x in (3, 6, 4, 5, 1, 7)]
    one, other = SOA(hypotheses.Thresholds(7)), SubsampledSOA(hypotheses.Thresholds(7), 1.0)
    assert replay(stream, one).wrong.tolist() == replay(stream, other).wrong.tolist()


def test_guarantees():
    assert SOA(hypotheses.Point3()).guarantee == Guarantee.none()
    assert SubsampledSOA(hypotheses.Point3(), 0.1).guarantee == Guarantee("joint", 0.0, 0.1, "event")


def test_an_unrealisable_stream_goes_on():
    soa = SOA(hypotheses.Point3())
    for x, y in [(1, True), (2, True), (1, False), (3, False)]:
        soa.predict_one(x)
        soa.learn_one(x, y)
    assert (soa.realisable, soa.contradictions) == (False, 2)
    assert soa.predict_one(1) is True  # by what came before
    sub = SubsampledSOA(hypotheses.Point3(), 1.0)
    sub.learn_one(1, True)
    sub.learn_one(2, True)
    assert not sub.realisable
    assert [sub.predict_one(x) for x in (1, 2, 3)] == [hypotheses.Point3().default(x) for x in (1, 2, 3)]


@given(st.permutations(range(6)))
@settings(max_examples=40)
def test_labels_may_come_in_any_order(order):
    cls = hypotheses.Thresholds(7)
    key = Key.from_seed(5)
    stream = [(x, x >= 3) for x in (5, 2, 3, 7, 1, 4)]
    late, prompt = SubsampledSOA(cls, 0.5, key=key), SubsampledSOA(cls, 0.5, key=key)
    for r, (x, y) in enumerate(stream):
        prompt.predict_one(x, round=r)
        prompt.learn_one(x, y, round=r)
        late.predict_one(x, round=r)
    for r in order:
        late.learn_one(*stream[r], round=r)
    assert late._space.to_plain() == prompt._space.to_plain()


def test_predicting_changes_nothing_but_the_rounds_it_is_told():
    agent = SubsampledSOA(hypotheses.Thresholds(7), 0.5, key=Key.from_seed(1))
    before = agent.state_dict()
    assert len({agent.predict_one(4) for _ in range(3)}) == 1
    assert agent.state_dict() == before
    agent.predict_one(4, round=3)
    asked = agent.state_dict()
    agent.predict_one(4, round=3)
    assert agent.state_dict() == asked


@pytest.mark.parametrize("build", [SOA, lambda cls: SubsampledSOA(cls, 0.5, key=Key.from_seed(2))])
@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_a_restored_copy_goes_on_alike(build, cls):
    rng = np.random.default_rng(3)
    agent = build(cls)
    f = _functions(cls)[0]
    for r, x in enumerate(rng.choice(_instances(cls), 12).tolist()):
        twin = state.loads(state.dumps(agent), build(cls))
        assert twin.predict_one(x, round=r) == agent.predict_one(x, round=r)
        twin.learn_one(x, f[x], round=r)
        agent.learn_one(x, f[x], round=r)
        assert twin.state_dict() == agent.state_dict()


def test_a_state_of_another_class_or_key_is_refused():
    saved = SubsampledSOA(hypotheses.Thresholds(7), 0.5, key=Key.from_seed(2)).state_dict()
    for other in (
        SubsampledSOA(hypotheses.Thresholds(8), 0.5, key=Key.from_seed(2)),
        SubsampledSOA(hypotheses.Thresholds(7), 0.6, key=Key.from_seed(2)),
        SubsampledSOA(hypotheses.Thresholds(7), 0.5, key=Key.from_seed(3)),
        SOA(hypotheses.Thresholds(7)),
    ):
        with pytest.raises(StateError):
            other.load_state_dict(saved)


@pytest.mark.parametrize("y", [None, 2, -1, "yes", 0.5, math.nan, [1]])
def test_labels_are_binary(y):
    agent = SOA(hypotheses.Thresholds(7))
    agent.predict_one(3, round=0)
    before = agent.state_dict()
    with pytest.raises(LabelError, match="y must be 0, 1"):
        agent.learn_one(3, y, round=0)
    assert agent.state_dict() == before


def test_a_label_for_an_unknown_round():
    with pytest.raises(RoundError, match="no label is awaited"):
        SOA(hypotheses.Thresholds(7)).learn_one(3, True, round=5)


@pytest.mark.parametrize("x", [[1], np.array([1]), {1, 2}])
def test_an_unhashable_instance(x):
    agent = SOA(hypotheses.Thresholds(7))
    for call in (agent.predict_one, lambda x: agent.learn_one(x, True)):
        with pytest.raises(InstanceError, match="hashable"):
            call(x)


@pytest.mark.parametrize("x", ["a", 99, -1, None, (1, 2), {"a": 1, "b": 2}, {}])
def test_an_unknown_instance_teaches_nothing(x):
    agent = SOA(hypotheses.Thresholds(7))
    before = agent._space
    assert agent.predict_one(x) in {False, True}
    agent.learn_one(x, True)
    assert agent._space is before or agent._space.to_plain() == before.to_plain()


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.1, math.nan, "1", None, True])
def test_gamma_is_a_probability(gamma):
    with pytest.raises(ParameterError, match="gamma"):
        SubsampledSOA(hypotheses.Point3(), gamma)


def test_bad_classes_and_keys():
    with pytest.raises(ParameterError, match="hypotheses must be"):
        SOA("thresholds")
    with pytest.raises(ParameterError, match="key must be"):
        SubsampledSOA(hypotheses.Point3(), 0.5, key=7)


# --- what review found -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [SOA, lambda cls: SubsampledSOA(cls, 1.0, Key.from_seed(1))])
def test_labels_of_unknown_instances_are_counted_and_nothing_is_realised(make):
    agent = make(Thresholds(9))
    agent.learn_one(3, False)
    assert agent.realisable
    for _ in range(3):
        agent.learn_one({"x": 5, "z": 1}, True)
    assert (agent.unknown, agent.contradictions, agent.realisable) == (3, 0, False)
    assert state.loads(state.dumps(agent), agent.clone()).unknown == 3


@pytest.mark.parametrize("name", ["contradictions", "unknown"])
def test_counts_below_zero_are_refused(name):
    agent = SOA(Thresholds(9))
    saved = agent.state_dict()
    saved["body"][name] = -1
    with pytest.raises(StateError, match="counts must be >= 0"):
        agent.load_state_dict(saved)


@pytest.mark.parametrize("gamma", [Fraction(1, 3), np.float32(0.05), np.float64(0.5), 1])
def test_gamma_of_any_type_gives_plain_figures(gamma):
    agent = SubsampledSOA(Thresholds(9), gamma, Key.from_seed(1))
    assert json.loads(json.dumps([agent.mistake_bound, agent.guarantee.delta]))
    assert str(agent.guarantee).endswith("per event")
    # What is promised is at least the exact chance of retaining, and the bound counts with that chance.
    assert Fraction(agent.guarantee.delta) >= Fraction(agent._retain_below, 2**64)
    assert agent.mistake_bound == pytest.approx(3 / float(gamma), rel=1e-15)


def test_one_number_is_one_event():
    agent = SubsampledSOA(Thresholds(9), 0.5, Key.from_seed(1))
    agent.predict_one(3, round=np.int64(0))
    agent.learn_one(3, True, round=0)
    with pytest.raises(RoundError, match="round 0 was answered before"):
        agent.predict_one(4, round=0)


def test_probabilities_tell_no_more_than_the_bit():
    agent = SOA(Thresholds(9))
    assert agent.predict_proba_one(3) == {True: 1.0, False: 0.0}
    ensemble.BaggingClassifier(model=agent, n_models=2, seed=1).predict_proba_one({"x": 3})
