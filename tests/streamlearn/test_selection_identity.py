"""Instances of one identity are one instance: whichever of them a stream holds, the same candidates are selected."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal

import numpy as np
import pytest

from streamlearn import Key
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor
from streamlearn.errors import SizeError
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    HypothesisClass,
    Intervals,
    Points,
    Stumps,
    Thresholds,
)
from streamlearn.planning import Plan, private_plan
from streamlearn.selection import Mistake, scheme

KEY = Key.from_seed(3)
MODES = ["options", "direct", "groups"]


class Words(HypothesisClass):
    """The points of four words in whatever case: a class of one's own, given as a table and an identity."""

    dimension = 1

    def _known(self, x):
        return isinstance(x, str) and x.lower() in {"a", "b", "c", "d"}

    def as_finite(self):
        return Finite(np.eye(4, dtype=bool), ["a", "b", "c", "d"])

    def version_space(self):
        return self.as_finite().version_space()

    def from_plain(self, data):
        return self.as_finite().from_plain(data)

    def identity(self, x):
        return x.lower()

    def knows(self, x):
        return self._known(x)

    def default(self, x):
        return self._known(x) and x.lower() == "a"

    def __repr__(self):
        return "Words()"


def numbers(n):
    return [
        n,
        float(n),
        np.int64(n),
        np.float32(n),
        Decimal(n),
        {"x": n},
        {"y": float(n)},
        *[True] * (n == 1),
    ]


def savable(same):
    """Without decimals, which JSON cannot carry: no class of all hashables can save one."""
    return [x for x in same if not isinstance(x, Decimal)]


def in_a_cell(low, high):
    return [low, np.float64(low), low + (high - low) / 3, math.nextafter(high, -math.inf)]


def stump_instances():
    """Of each cell of two features: other values within it, and further features, some that no key can hold."""
    edges = [[-9.0, 0.0, 1.0, 9.0], [-9.0, 5.0, 9.0]]
    cells = [list(itertools.pairwise(points)) for points in edges]
    return [
        [
            {"a": a, "b": b, **more}
            for a, b in zip(in_a_cell(*of_a), reversed(in_a_cell(*of_b)), strict=True)
            for more in ({}, {"more": "x"}, {"more": math.nan}, {"more": [1]})
        ]
        for of_a in cells[0]
        for of_b in cells[1]
    ]


def conjunction_instances():
    bits = [[0, False, 0.0, np.int8(0), -0.0], [1, True, 1.0, np.int8(1), Decimal(1)]]
    return [
        [
            {"p": p, "q": q, **more}
            for p, q in zip(bits[i], reversed(bits[j]), strict=True)
            for more in ({}, {"more": "x"}, {"more": math.nan}, {"more": [1]})
        ]
        for i in range(2)
        for j in range(2)
    ]


CASES = {
    "stumps": (Stumps({"a": [0.0, 1.0], "b": [5.0]}), stump_instances()),
    "conjunctions": (Conjunctions(["p", "q"], k=2), conjunction_instances()),
    "intervals": (Intervals(4), [numbers(n) for n in range(1, 5)]),
    "thresholds": (Thresholds(6), [numbers(n) for n in range(1, 7)]),
    "points": (Points(4), [numbers(n) for n in range(1, 5)]),
    "any points": (Points(), [savable(numbers(n)) for n in range(1, 5)]),
    "finite": (Finite(np.eye(4, dtype=bool), [1, 2, 3, 4]), [numbers(n) for n in range(1, 5)]),
    "words": (Words(), [[word, word.upper()] for word in "abcd"]),
}


def supported():
    for name, (cls, _) in CASES.items():
        for mode in MODES:
            try:
                scheme(cls, mode)
            except SizeError:
                assert (name, mode) in {("any points", "direct"), ("any points", "groups")}
                continue
            yield name, mode


SUPPORTED = list(supported())


def streams(instances, count=12, rounds=60):
    """Streams of (identity, label), and the instance of each round, as the first of its kind and as any."""
    draws = random.Random(7)
    for number in range(count):
        says = [draws.random() < 0.5 for _ in instances]
        noise = draws.choice([0.0, 0.3])
        places = [draws.randrange(len(instances)) for _ in range(rounds)]
        labels = [says[place] ^ (draws.random() < noise) for place in places]
        plain = [instances[place][0] for place in places]
        other = [draws.choice(instances[place]) for place in places]
        yield number, labels, plain, other


def trace(agent, instances, labels, selector):
    """What the agent answers and what its selection holds, round by round."""
    told = []
    for x, y in zip(instances, labels, strict=True):
        told.append((agent.predict_one(x), selector(agent)))
        agent.learn_one(x, y)
    return told


@pytest.mark.parametrize("name", CASES)
def test_the_cases_are_of_one_identity_each(name):
    cls, instances = CASES[name]
    assert all(cls.knows(x) for same in instances for x in same)
    kinds = [{cls.identity(x) for x in same} for same in instances]
    assert all(len(kind) == 1 for kind in kinds)
    assert len(set.union(*kinds)) == len(instances)


@pytest.mark.parametrize(("name", "mode"), SUPPORTED)
def test_a_predictor_selects_alike_from_instances_of_one_identity(name, mode):
    cls, instances = CASES[name]
    shape = {"eta": 1.0, "batch": 4, "ramp": [0.5], "acceptance": [0.0, 1.0], "beta": 1.0, "mode": mode}
    plan = Plan.explicit(cls, epsilon=5.0, **shape)
    advanced = 0
    for number, labels, plain, other in streams(instances):
        traces = [
            trace(
                CandidateReplacementPredictor(cls, plan=plan, key=KEY.derive(f"{number}")),
                given,
                labels,
                lambda agent: (agent._selector.to_plain(), agent._chosen),
            )
            for given in (plain, other)
        ]
        assert traces[0] == traces[1]
        advanced += traces[0][-1][1][1]
    assert advanced


@pytest.mark.parametrize(("name", "mode"), SUPPORTED)
def test_a_selector_advances_alike_on_instances_of_one_identity(name, mode):
    """Without the predictor's past, which keeps one instance of each identity: every raw instance is read."""
    cls, instances = CASES[name]
    for number, labels, plain, other in streams(instances, count=30, rounds=24):
        runs = []
        for given in (plain, other):
            run = scheme(cls, mode).start(eta=0.5, K=24)
            batch = [Mistake(t, x, y) for t, (x, y) in enumerate(zip(given, labels, strict=True), 1)]
            run.advance(batch, KEY.derive(f"{number}"))
            runs.append((run.to_plain(), [run.candidate()(x) for same in instances for x in same]))
        assert runs[0] == runs[1]


def test_an_unknown_instance_does_not_decide_what_a_known_one_supports():
    cls = Stumps({"a": [0.0, 1.0]})
    known = [Mistake(2, {"a": 5.0}, True), Mistake(3, {"a": 5.0}, True)]
    selector = scheme(cls).start(eta=0.5, K=4)
    assert selector.scores(known)
    assert selector.scores([Mistake(1, {"b": 5.0}, True), *known]) == selector.scores(known)


def test_a_private_predictor_answers_alike():
    cls, instances = CASES["stumps"]
    plan = private_plan(cls, 20.0, 0.09)
    for number, labels, plain, other in streams(instances, count=3, rounds=400):
        agents = [PrivatePredictor(cls, plan=plan, key=KEY.derive(f"{number}")) for _ in range(2)]
        traces = [
            trace(agent, given, labels, lambda whole: whole.combined.first._selector.to_plain())
            for agent, given in zip(agents, (plain, other), strict=True)
        ]
        assert traces[0] == traces[1]
