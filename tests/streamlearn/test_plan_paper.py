"""Mode "paper" with explicit numbers: it runs, its privacy is certified from them, of mistakes nothing is promised."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selecting import law

from streamlearn import Key
from streamlearn.accounting import moments
from streamlearn.agents import CandidateReplacementPredictor
from streamlearn.errors import ParameterError, PlanError, SizeError, StateError
from streamlearn.hypotheses import Finite, Point3, Points, Thresholds, essential_hypotheses
from streamlearn.planning import Plan
from streamlearn.planning.certificate import ALL_ORDERS
from streamlearn.selection import Mistake, sampled, scheme
from streamlearn.selection.exponential import base
from streamlearn.selection.sampled import SampledScheme
from streamlearn.selection.select import select

CUBE = Finite(np.array(list(itertools.product([False, True], repeat=2))))
SMALL = {
    "epsilon": 3.0, "eta": 0.05, "batch": 1600, "ramp": [i / 200 for i in range(1, 200)],
    "acceptance": [i / 100 for i in range(101)], "beta": 1.0, "mode": "paper", "candidates": 1, "delays": "paper",
}  # fmt: skip


def small(cls=None, **changes):
    return Plan.explicit(Point3() if cls is None else cls, **(SMALL | changes))


# --- the plan


def test_an_explicit_plan_of_the_papers_is_certified_and_promises_no_mistakes():
    plan = small()
    assert (plan.kind, plan.mode, plan.candidates, plan.cut_from) == ("paper", "paper", 1, 1026)
    assert plan.delays == (9 * (4 * 1600 + 1),)
    assert (plan.mistake_bound, plan.expected_mistakes) == (None, None)
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (3.0, plan.delta)
    # 1 - (1-b)(1-p_1) are apart, and little else.
    assert 1 - (1 - 0.01) * (1 - 0.005) <= plan.delta < 0.02
    plan.certify(Point3())
    assert "no bound is promised: 1 candidates of the 1,026 that mode paper takes" in plan.explain()
    assert "D_1 = 57,609 to D_N = 57,609, as given" in plan.explain()
    assert "favoured here: subsampled SOA (no bound" in plan.explain()


@pytest.mark.parametrize("changes", [{}, {"candidates": 3}, {"delays": None}, {"max_delay": 5}])
def test_it_survives_json(changes):
    plan = small(**changes)
    again = Plan.from_json(plan.to_json(), Point3())
    assert again == plan
    assert again.digest == plan.digest


def test_more_candidates_cost_privacy_and_only_as_many_as_there_are():
    deltas = [small(candidates=n, eta=0.01, batch=6000).delta for n in (1, 2, 4)]
    assert deltas == sorted(set(deltas))
    assert deltas[0] < 0.02 < deltas[2] < 0.1


def test_an_edited_plan_is_not_certified():
    plan = small()
    for changes in ({"eta": 0.5}, {"batch": 100}, {"delta": plan.delta / 1.2}, {"epsilon": 0.5}):
        with pytest.raises(PlanError, match=r"delta must be|delays cannot be used"):
            dataclasses.replace(plan, **changes).certify(Point3())
    for changes in ({"cut_from": None}, {"cut_from": 2}, {"candidates": 2, "delays": (10**6, 10**7)}):
        with pytest.raises(PlanError):
            dataclasses.replace(plan, **changes).certify(Point3())
    with pytest.raises(PlanError, match="crossover must be its own"):
        Plan.from_json(json.dumps(json.loads(plan.to_json()) | {"crossover": 1e-4}), Point3())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"candidates": None}, ParameterError, r"candidates must be .* in 1\.\.1000 .*own N is 1,026; try 1"),
        ({"candidates": 1026}, ParameterError, r"candidates must be a whole number in 1\.\.1000, got 1026"),
        ({"candidates": 0}, ParameterError, "candidates must be"),
        ({"candidates": 20}, ParameterError, r"delays must be at most 2\^50, .* about 10\^23; take fewer"),
        ({"delays": "9^j"}, ParameterError, "delays must be a list"),
        ({"delays": [100]}, ParameterError, "delay 1 must be at least 3298, got 100"),
        ({"batch": 2**17 + 1}, ParameterError, "K must be at most 131,072 in mode paper, got 131,073"),
        ({"eta": 1e-5}, ParameterError, r"eta must lie in \[5e-05, 10\]"),
        ({"eta": 11.0}, ParameterError, r"eta must lie in \[5e-05, 10\]"),
        ({"cls": Thresholds(2**60 - 1)}, SizeError, "hypotheses"),
        ({"cls": Thresholds(16)}, SizeError, "at most 16 hypotheses .* has 17 and 16; take a smaller class"),
    ],
)
def test_what_cannot_run_is_refused_with_the_number(changes, error, message):
    with pytest.raises(error, match=message):
        small(**changes)


def test_the_papers_delays_serve_every_mode():
    plan = Plan.explicit(Thresholds(7), **(SMALL | {"mode": "options", "candidates": None, "batch": 200}))
    assert plan.delays == tuple(9**j * 801 for j in (1, 2, 3))
    assert plan.kind == "tight"
    assert plan.mistake_bound == 199 + 9**3 * 801 + 199
    assert "B = K' - 1 + D_N + P + L = 584,327" in plan.explain()


# --- the agent


def test_the_agent_runs_with_it_and_goes_on_as_if_never_saved():
    plan = small(batch=200, eta=0.4)
    stream = [(2, True)] * 12_000

    def agent():
        return CandidateReplacementPredictor(Point3(), plan=plan, key=Key.from_seed(3))

    whole, first, second = agent(), agent(), agent()
    answers = []
    for place, (x, y) in enumerate(stream):
        if place == 700:
            second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        running = first if place < 700 else second
        answers.append(whole.predict_one(x))
        assert running.predict_one(x) == answers[-1]
        whole.learn_one(x, y)
        running.learn_one(x, y)
    assert not any(answers[:7000])  # D_1 = 7,209 disagreements come first
    assert all(answers[-4000:])
    assert whole.mistake_bound is None
    assert whole.guarantee == plan.guarantee


# --- the selection's privacy


def lists_of(small, rows, level):
    selector = small.start(1.0, 2 * len(rows))
    selector.restore({"candidates": [], "groups": [f"{row:x}" for row in rows], "level": level})
    return selector.lists


def exact(small, rows, eta):
    """The law of a run with one candidate, from the weights: what is chosen at which level, or nothing."""
    weight, k = base(eta / 4.0) / 2**20, len(rows)
    found, left = {}, 1.0
    for level in range(small.dimension + 1):
        counts = {}
        for entries in lists_of(small, rows, level):
            for entry in entries:
                counts[entry] = counts.get(entry, 0) + 1
        nothing = weight ** (3 * k)
        total = nothing + sum(weight ** (4 * count) for count in counts.values())
        for entry, count in counts.items():
            found[level, entry] = left * weight ** (4 * count) / total
        left *= nothing / total
    found["nothing"] = left
    return found


def hockey_stick(one, two, epsilon):
    return sum(max(0.0, chance - math.exp(epsilon) * two.get(place, 0.0)) for place, chance in one.items())


def test_the_whole_selection_keeps_its_certificate_on_neighbours():
    """One candidate, both levels, k = 12 groups: of every third mixture, all ways in which two groups change."""
    cls, k, eta = Point3(), 12, 1.0
    used = SampledScheme(cls, candidates=1)
    kinds = [
        0b111,
        *(
            ones if y else 0b111 ^ ones
            for x in (1, 2, 3)
            if (ones := cls.as_finite().ones(x))
            for y in (0, 1)
        ),
    ]
    kinds = sorted(set(kinds))
    mixtures = [list(mix) for mix in itertools.combinations_with_replacement(kinds[:4], k)]
    laws = {tuple(mix): exact(used, mix, eta) for mix in mixtures}
    excess = used.excess_delta(eta, 2 * k)
    assert excess < 0.05
    worst = {}
    for mix in mixtures[::3]:
        for gone in set(itertools.combinations(mix, 2)):
            rest = list(mix)
            for one in gone:
                rest.remove(one)
            for new in itertools.combinations_with_replacement(kinds[:4], 2):
                other = tuple(sorted([*rest, *new]))
                for epsilon in (0.0, 2.0, 4.0, 8.0):
                    found = hockey_stick(laws[tuple(mix)], laws[other], epsilon)
                    worst[epsilon] = max(worst.get(epsilon, 0.0), found)
    for epsilon, found in worst.items():
        certified, _ = moments.best(np.asarray(used.log_moment(ALL_ORDERS, eta)), ALL_ORDERS, epsilon)
        assert found <= certified + excess
    assert worst[2.0] > 0.1  # so there is something to hide


def test_the_laws_above_are_those_of_select():
    used, eta = SampledScheme(Point3(), candidates=1), 1.0
    rows = [0b111] * 3 + [0b001] * 2 + [0b110] * 4
    expected = exact(used, rows, eta)
    left = 1.0
    for level in (0, 1):
        entries = lists_of(used, rows, level)
        drawn = law(lambda key, e=entries, s=level: select(e, 2.0 * eta, key, "audit", s), "audit")
        for entry, chance in drawn.items():
            if entry is not None:
                assert float(chance) * left == pytest.approx(expected[level, entry], rel=1e-9)
        left *= float(drawn[None])
    assert left == pytest.approx(expected["nothing"], rel=1e-9)


MISTAKES = st.sampled_from([(x, y) for x in (1, 2, 3) for y in (False, True)])


@given(
    st.lists(MISTAKES, min_size=12, max_size=12), st.integers(0, 11), MISTAKES, st.integers(0, 11), MISTAKES
)
@settings(max_examples=200)
def test_two_changed_rounds_change_two_groups_at_most(batch, one, first, two, second):
    other = list(batch)
    other[one], other[two] = first, second
    groups = []
    for records in (batch, other):
        selector = SampledScheme(Point3(), candidates=1).start(1.0, 12)
        selector.advance([Mistake(t, x, y) for t, (x, y) in enumerate(records, 1)], Key.from_seed(5))
        groups.append(selector.to_plain()["groups"])
    assert sum(a != b for a, b in zip(*groups, strict=True)) <= 2


@pytest.mark.parametrize("cls", [Point3(), CUBE, Thresholds(6)])
def test_lists_are_the_essential_hypotheses_of_what_is_left(cls):
    used = SampledScheme(cls, candidates=1)
    finite = cls.as_finite()
    for rows in range(1, 1 << finite.size):
        part = Finite(finite.table[[row for row in range(finite.size) if rows >> row & 1]], finite.domain)
        for level in range(used.dimension + 1):
            found = used.essential(rows, level)
            assert len(found) <= used.list_size
            wanted = essential_hypotheses(part, 2**level, d=cls.dimension)
            assert {tuple(bool(says >> i & 1) for i in range(len(finite.domain))) for says in found} == {
                tuple(map(h, finite.domain)) for h in wanted
            }
    assert used.essential(0, 0) == ()


# --- the selector


def run(mistakes, eta=2.0, batch=40):
    selector = scheme(Point3(), "paper").start(eta, batch)
    assert not selector.exhausted
    selector.advance([Mistake(t, *m) for t, m in enumerate(mistakes, 1)], Key.from_seed(1))
    return selector


def test_where_nothing_is_in_many_lists_the_run_ends_with_the_first_candidate():
    selector = run([(1, False), (1, True)] * 10 + [(2, True), (3, True)] * 10, eta=8.0)
    assert selector.to_plain()["candidates"] == [None]
    assert selector.to_plain()["level"] == 2
    assert selector.exhausted
    assert [selector.candidate()(x) for x in (1, 2, 3)] == [Point3().default(x) for x in (1, 2, 3)]
    again = scheme(Point3(), "paper").from_plain(selector.to_plain(), 8.0, 40)
    assert again.to_plain() == selector.to_plain()
    assert again.exhausted
    with pytest.raises(ParameterError, match="no further candidate"):
        again.advance([], Key.from_seed(1))


def test_a_saved_run_goes_on_alike_and_an_edited_one_is_refused():
    selector = run([(2, True)] * 40)
    saved = selector.to_plain()
    used = scheme(Point3(), "paper")
    again = used.from_plain(json.loads(json.dumps(saved)), 2.0, 40)
    assert [again.candidate()(x) for x in (1, 2, 3, 4)] == [False, True, False, False]
    for one in (selector, again):
        one.advance([Mistake(t, 3, True) for t in range(41, 81)], Key.from_seed(2))
    assert again.to_plain() == selector.to_plain()
    for changes in (
        {"level": 3}, {"level": -1}, {"level": 2}, {"level": None}, {"groups": saved["groups"][1:]},
        {"groups": ["8"] * 20}, {"groups": ["x"] * 20}, {"groups": ["-1"] * 20}, {"candidates": [None]},
        {"candidates": ["8"]}, {"candidates": ["0"] * 1001}, {"candidates": None}, {"more": 1},
    ):  # fmt: skip
        with pytest.raises(StateError):
            used.from_plain(saved | changes, 2.0, 40)


def test_unknown_instances_tell_nothing():
    selector = run([("nobody", True)] * 40)
    assert set(selector.to_plain()["groups"]) == {"7"}


def test_its_limits_are_those_documented():
    assert SampledScheme(Points(16), candidates=1000).steps == 1000
    with pytest.raises(ParameterError, match=r"candidates must be a whole number in 1\.\.1000"):
        SampledScheme(Point3(), candidates=1001)
    with pytest.raises(ParameterError, match="promises nothing of mistakes"):
        SampledScheme(Point3(), candidates=1).batch(0.5, 0.1)
    for eta in (4e-5, 10.5):
        with pytest.raises(ParameterError, match=r"eta must be a number in 5e-05\.\.10 in mode paper"):
            SampledScheme(Point3(), candidates=1).start(eta, 4)
    assert sampled.MOST_BATCH == 2**17
