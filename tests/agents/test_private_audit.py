"""Exact audit of candidate replacement: the law of the real agent on all small streams, against its certificate."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from streamlearn import Key
from streamlearn.agents import replacement
from streamlearn.agents.candidate_replacement import CandidateReplacementPredictor
from streamlearn.hypotheses import Finite, Point3
from streamlearn.planning import Plan
from streamlearn.planning.certificate import candidate_delta
from streamlearn.selection import direct, exponential, options, scheme

UNKNOWN = ("nobody", False)
NOW, LATE, NEVER = "now", "late", "never"
TWO = Finite(np.array([[False], [True]]))
"""Two constant hypotheses: a selection has one option, so only acceptance and Mirror hide anything."""
SQUARE = Finite(np.array(list(itertools.product([0, 1], repeat=2)), dtype=bool))
PAIR = Finite(np.array([[False, False], [True, True], [False, True]]))
POINTS = [(x, y) for x in (1, 2, 3) for y in (False, True)]


class BranchingKey(Key):
    """Gives each new draw the scripted outcome, the first one where the script ends, and keeps its exact chance."""

    __slots__ = ("cells", "chance", "drawn", "script", "sizes")

    def follow(self, script):
        self.script, self.sizes, self.drawn, self.chance, self.cells = script, [], {}, Fraction(1), None

    def branch(self, chances, name):
        possible = [place for place, chance in enumerate(chances) if chance]
        if len(possible) == 1:
            return possible[0]
        if name not in self.drawn:
            place = len(self.sizes)
            number = self.script[place] if place < len(self.script) else 0
            self.sizes.append(len(possible))
            self.drawn[name] = possible[number]
            self.chance *= chances[possible[number]]
        return self.drawn[name]

    def bernoulli(self, numerator, denominator, purpose, round):  # noqa: A002 - Key's own name
        chance = Fraction(numerator, denominator)
        return self.branch([chance, 1 - chance], (purpose, str(round))) == 0

    def below(self, bound, purpose, round):  # noqa: A002 - as above
        assert bound == sum(self.cells)
        cell = self.branch([Fraction(size, bound) for size in self.cells], (purpose, str(round)))
        return sum(self.cells[:cell])


def draw_by_cell(num, scores, rest, key, purpose, step):
    """The real draw, for a key that is told where its outcomes begin."""
    top = max([*scores.values(), 0] if rest else scores.values())
    each = [num**score << 20 * (top - score) for score in [*scores.values(), *[0] * rest]]
    key.cells = each
    return exponential.draw(num, scores, rest, key, purpose, step)


@pytest.fixture(autouse=True)
def told(monkeypatch):
    monkeypatch.setattr(options, "draw", draw_by_cell)
    monkeypatch.setattr(direct, "draw", draw_by_cell)


class Automaton:
    """The agent as a chain over its own saved states, each step with its exact law."""

    def __init__(self, agent):
        self.agent = agent
        self.start = json.dumps(agent.state_dict())
        self.steps = {}

    def step(self, saved, number, example, labels):
        """Return [(chance, answer, state)] of one round and the labels that come after it."""
        name = saved, number, example, labels
        if name not in self.steps:
            found, script = {}, []
            while script is not None:
                self.agent.key.follow(script)
                self.agent.load_state_dict(json.loads(saved))
                answer = self.agent.predict_one(example[0], round=number)
                for asked, x, y in labels:
                    self.agent.learn_one(x, y, round=asked)
                after = answer, json.dumps(self.agent.state_dict())
                found[after] = found.get(after, 0) + self.agent.key.chance
                script = following(script, self.agent.key.sizes)
            assert sum(found.values()) == 1
            self.steps[name] = [(float(chance), *after) for after, chance in found.items()]
        return self.steps[name]


def following(script, sizes):
    """Return the next script in order, None after the last."""
    numbers = [*script, *[0] * (len(sizes) - len(script))]
    while numbers and numbers[-1] == sizes[len(numbers) - 1] - 1:
        numbers.pop()
    if not numbers:
        return None
    numbers[-1] += 1
    return numbers


def laws(plan, cls, alphabet, rounds, *, pattern=None, **wrong):
    """Return the law of the answers to every stream, shape (records,)*rounds + (2,)*rounds.

    ``pattern`` says when each round's label comes, ``wrong`` what of the plan the agent does not keep to.
    """
    late = plan.max_delay
    agent = CandidateReplacementPredictor(cls, plan=plan, key=BranchingKey.from_seed(0), max_delay=late)
    agent.key.follow([])
    agent.plan = dataclasses.replace(plan, **wrong)
    agent.max_delay = agent.plan.max_delay
    chain = Automaton(agent)
    pattern = pattern or (NOW,) * rounds
    table = np.zeros((len(alphabet) ** rounds, 2**rounds))

    def walk(stream, place, reached):
        t = len(stream)
        if t == rounds:
            for (_, answers), chance in reached.items():
                table[place, answers] += chance
            return
        labels = ((t - 1, *stream[-1]),) if t and pattern[t - 1] == LATE else ()
        for number, example in enumerate(alphabet):
            due = (*labels, (t, *example)) if pattern[t] == NOW else labels
            after = {}
            for (saved, answers), chance in reached.items():
                for share, answer, state in chain.step(saved, t, example, due):
                    entry = state, 2 * answers + answer
                    after[entry] = after.get(entry, 0.0) + chance * share
            walk((*stream, example), place * len(alphabet) + number, after)

    walk((), 0, {(chain.start, 0): 1.0})
    return table.reshape((len(alphabet),) * rounds + (2,) * rounds)


def true_delta(law, epsilon):
    """Return the largest hockey-stick divergence of neighbours, the answer of the changed round left out."""
    rounds = law.ndim // 2
    worst = 0.0
    for changed in range(rounds):
        seen = np.moveaxis(law.sum(axis=rounds + changed), changed, 0)
        seen = seen.reshape(len(seen), -1, 2 ** (rounds - 1))
        for one, other in itertools.permutations(seen, 2):
            gap = np.maximum(one - math.exp(epsilon) * other, 0.0).sum(axis=1)
            worst = max(worst, float(gap.max()))
    return worst


def explicit(cls, epsilon=1.0, **changes):
    given = {
        "eta": 0.5,
        "batch": 1,
        "ramp": [0.5],
        "acceptance": [0.0, 0.5, 1.0],
        "beta": 1.0,
        "mode": "options",
    }
    return Plan.explicit(cls, epsilon=epsilon, **given | changes)


def certified(cls, plan, epsilon):
    """Return the best certificate at another ε."""
    return min(
        candidate_delta(
            scheme(cls, plan.mode), epsilon=epsilon, eta=plan.eta, batch=plan.batch, alpha=alpha,
            acceptance=plan.acceptance, ramp=plan.ramp,
        ).delta
        for alpha in np.geomspace(0.05, 5.0, 30).tolist()
    )  # fmt: skip


SHARP = {"ramp": [0.02, 0.98], "acceptance": [0.0, 0.02, 0.98, 1.0], "epsilon": 9.0}
MILD = {"ramp": [0.003, 0.06, 0.5, 0.94, 0.997], "acceptance": [0.0, 0.3, 0.7, 1.0], "epsilon": 9.0}
BITS = [(0, False), (0, True), UNKNOWN]
SOLID = [(x, y) for x in (0, 1) for y in (False, True)]
EPSILONS = (0.0, 0.5, 1.0, 2.0, 4.0, 9.0)
FULL_RAMP = {"ramp": [0.2, 0.8], "acceptance": [0.0, 0.3, 0.7, 1.0], "epsilon": 3.0}


def point3_model(chance, first, rounds):
    """The law on POINT3 with one candidate after ``first``, K = 1, D = 2, ramp (1/2), g = (0, 1/2, 1), by its formula.

    ``chance(x, y, p)`` is the chance that the point p is chosen after a mistake at (x, y).
    """
    table = np.zeros((len(POINTS),) * rounds + (2,) * rounds)
    for numbers in itertools.product(range(len(POINTS)), repeat=rounds):
        stream = [POINTS[number] for number in numbers]
        plain = [first(x) for x, _ in stream]
        wrong = [example for example, said in zip(stream, plain, strict=True) if said is not example[1]]
        if not wrong:
            table[(*numbers, *map(int, plain))] += 1.0
            continue
        for p in (1, 2, 3):
            weight = chance(*wrong[0], p)
            differing = [t for t, (x, _) in enumerate(stream) if plain[t] is not (x == p)]
            accepted = sum((stream[t][0] == p) is stream[t][1] for t in differing[:2]) / 2
            table[(*numbers, *map(int, plain))] += weight * (1.0 - accepted)
            for coin in (False, True):
                said = list(plain)
                for t in (differing[2:3] if coin else []) + differing[3:]:
                    said[t] = not said[t]
                table[(*numbers, *map(int, said))] += weight * accepted / 2
    return table


def direct_chance(r):
    """Return the law of one direct call on POINT3 after one mistake, r the weight of a mistake less."""

    def chance(x, y, p):
        weights = [r ** -float((x == q) is not y) for q in (1, 2, 3)]
        return weights[p - 1] / sum(weights)

    return chance


def test_point3_has_the_law_of_the_reference():
    """THEORY 7: δ(0) = 0.38334561, δ(0.5) = 0.33889707, for h_0 = 0, which is outside POINT3.

    Options start at h_0 = 0, and their law is that of direct selection there: every mistake of h_0 has label 1 and is
    an option. The agent's weights are powers of e^0.5 rounded down to 2^-20, which costs 1e-7.
    """
    plan = explicit(Point3())
    assert (plan.delays, plan.candidates) == ((2,), 1)
    law = laws(plan, Point3(), POINTS, 5)
    rounded = exponential.base(0.5) / 2**20
    np.testing.assert_allclose(
        law, point3_model(direct_chance(rounded), lambda _: False, 5), rtol=0, atol=1e-12
    )
    reference = point3_model(direct_chance(math.exp(0.5)), lambda _: False, 5)
    assert [round(true_delta(reference, epsilon), 8) for epsilon in (0.0, 0.5)] == [0.38334561, 0.33889707]
    assert [round(true_delta(law, epsilon), 8) for epsilon in (0.0, 0.5)] == [0.38334552, 0.33889698]


def test_direct_selection_starts_within_the_class():
    plan = explicit(Point3(), mode="direct", candidates=1)
    law = laws(plan, Point3(), POINTS, 4)
    rounded = exponential.base(0.5) / 2**20
    np.testing.assert_allclose(
        law, point3_model(direct_chance(rounded), lambda x: x == 1, 4), rtol=0, atol=1e-12
    )
    for epsilon in EPSILONS:
        assert true_delta(law, epsilon) <= certified(Point3(), plan, epsilon)


@pytest.mark.parametrize(
    ("cls", "alphabet", "rounds", "changes"),
    [
        (Point3(), [*POINTS, UNKNOWN], 4, FULL_RAMP | {"acceptance": [0.0, 0.5, 1.0]}),
        (Point3(), POINTS, 4, FULL_RAMP | {"mode": "direct"}),
        (PAIR, [*SOLID, UNKNOWN], 5, FULL_RAMP),
        (PAIR, [*SOLID, UNKNOWN], 4, FULL_RAMP | {"mode": "direct"}),
        (SQUARE, [*SOLID, UNKNOWN], 6, FULL_RAMP | {"acceptance": [0.0, 0.5, 1.0], "ramp": [0.5]}),
        (TWO, BITS, 7, FULL_RAMP | {"batch": 2, "ramp": [0.4, 0.6], "acceptance": [0.0, 0.5, 1.0]}),
        (TWO, BITS, 7, SHARP),
        (TWO, BITS, 8, MILD),
    ],
)  # fmt: skip
def test_no_stream_tells_more_than_is_certified(cls, alphabet, rounds, changes):
    plan = explicit(cls, **changes)
    law = laws(plan, cls, alphabet, rounds)
    assert true_delta(law, 0.0) > 0.05  # somebody's answers depend on others
    for epsilon in EPSILONS:
        assert true_delta(law, epsilon) <= certified(cls, plan, epsilon)
    assert true_delta(law, plan.epsilon) <= plan.delta


@pytest.mark.parametrize("pattern", [(NOW, LATE, NEVER, NOW, NOW, LATE, NOW, NOW), (NEVER,) + (NOW,) * 7])
def test_late_and_missing_labels_tell_no_more(pattern):
    plan = explicit(TWO, max_delay=1, **SHARP)
    assert plan.delays == (5,)
    law = laws(plan, TWO, BITS, 8, pattern=pattern)
    assert 0.01 < true_delta(law, 9.0) <= plan.delta
    for epsilon in EPSILONS:
        assert true_delta(law, epsilon) <= certified(TWO, plan, epsilon)


def test_the_certificate_is_nearly_reached():
    """On two hypotheses acceptance and Mirror lose their masses at once: 1 - (1-0.02)², certified is 0.0465."""
    plan = explicit(TWO, **SHARP)
    assert true_delta(laws(plan, TWO, BITS, 7), 9.0) == pytest.approx(1.0 - 0.98**2, abs=1e-12)
    assert plan.delta < 0.047


@pytest.mark.parametrize(
    ("planned", "rounds", "wrong"),
    [
        (
            MILD,
            8,
            {"acceptance": tuple(int(level * 2**64) for level in (0.0, 0.36, 0.7, 1.0))},
        ),  # 20 % too steep
        (SHARP, 7, {"delays": (2,)}),  # a schedule shorter by one
        (SHARP, 6, {"delays": (3,), "ramp": (2**63,)}),  # Mirror without its ramp
        (SHARP, 6, {"max_delay": 1}),  # labels late, and no plan for that
    ],
    ids=["acceptance", "schedule", "ramp", "late"],
)
def test_planted_faults_tell_more_than_is_certified(planned, rounds, wrong):
    plan = explicit(TWO, **planned)
    pattern = (LATE,) * rounds if "max_delay" in wrong else None
    assert true_delta(laws(plan, TWO, BITS, rounds, pattern=pattern, **wrong), plan.epsilon) > plan.delta


def test_a_mirror_with_one_random_switch_time_tells_more(monkeypatch):
    plan = explicit(TWO, **SHARP)
    parts = []
    for switch in range(3):  # yes from the switch-th disagreement after the first D on, uniformly drawn
        monkeypatch.setattr(
            replacement.Rule, "follows", lambda rule, index, _key, _number, s=switch: index - rule.delay > s
        )
        parts.append(laws(plan, TWO, BITS, 7))
    assert true_delta(sum(parts) / 3, plan.epsilon) >= 1 / 3 > plan.delta


@pytest.mark.parametrize("twin", [np.True_, 1 + 0j])
def test_an_unknown_instance_that_equals_a_known_one_changes_no_other_answer(twin):
    """The two streams differ in round 0 alone: every class has such twins (a dict and a frozenset of its items too)."""
    plan = explicit(Point3())
    assert twin == 1
    assert not Point3().knows(twin)
    seen = []
    for first in (twin, "nobody"):
        agent = CandidateReplacementPredictor(Point3(), plan=plan, key=Key.from_seed(1))
        agent.predict_one(first, round=0)
        agent.learn_one(first, False, round=0)
        seen.append([agent.predict_one(1, round=1)])
    assert seen[0] == seen[1]
