"""Plans: the table reached, every figure computed anew in another way, and no promise that the integers do not keep."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import mpmath
import numpy as np
import pytest

from streamlearn.accounting import acceptance
from streamlearn.accounting.combining import rule_delta, smallest_delay
from streamlearn.errors import ParameterError, PlanError, SizeError
from streamlearn.hypotheses import Finite, Point3, Points, Thresholds
from streamlearn.planning import Plan, candidate_plan, paper_plan, private_plan
from streamlearn.rounding import OUT_OF
from streamlearn.selection import scheme


def cube(points):
    """All functions on so many points."""
    return Finite(np.array(list(itertools.product([False, True], repeat=points))))


TABLE = [
    (Point3(), 1e-6, 3_261, 11_103),
    (Points(), 1e-6, 4_596, 15_108),
    (cube(3), 1e-6, 28_068, 85_548),
    (cube(6), 1e-6, 122_341, 368_403),
    (Thresholds(2**60 - 1), 1e-6, 4_740_369, 14_223_135),
    (Point3(), 1e-9, 6_026, 20_232),
    (Point3(), 1e-3, 1_175, 4_063),
]


@pytest.mark.parametrize(("cls", "delta", "bound", "total"), TABLE)
def test_the_table_is_reached(cls, delta, bound, total):
    plan = private_plan(cls, 1.0, delta)
    assert plan.mistake_bound <= 0.65 * bound  # more of ε goes to the candidates than in the table
    assert plan.expected_mistakes <= 0.83 * total  # 17 % less at least, by the split
    assert plan.certified_delta(cls) <= delta
    if cls in (Point3(), cube(3)):
        halves = private_plan(cls, 1.0, delta, split="paper")
        assert halves.mistake_bound <= bound
        assert halves.expected_mistakes <= total
        assert halves.certified_delta(cls) <= delta
        assert (halves.combination.epsilon, halves.combination.delta) == (0.5, delta / 4)


def test_a_small_epsilon():
    plan = private_plan(Point3(), 0.1, 1e-6)
    assert plan.certified_delta(Point3()) <= 1e-6
    assert plan.guarantee.epsilon == 0.1
    assert plan.mistake_bound > 20 * private_plan(Point3(), 1.0, 1e-6).mistake_bound


@pytest.mark.parametrize(
    "plan", [candidate_plan(cube(3), 1.0, 1e-4), private_plan(Point3(), 1.0, 1e-6, max_delay=7)]
)
def test_every_figure_by_its_formula(plan):
    n, late = plan.candidates, plan.max_delay
    k, w, length = plan.batch + late, plan.acceptance_width, plan.mirror_length
    assert n == plan.dimension
    assert plan.delays[0] == 2 * k - 2 + w
    assert all(b - a == 2 * k - 2 + w + length + late for a, b in itertools.pairwise(plan.delays))
    assert plan.mistake_bound == k - 1 + n * (2 * k - 2 + w + length + late)
    assert len(plan.ramp) == length
    parts = plan.combination
    if parts is None:
        assert plan.expected_mistakes == math.inf
        return
    failing = plan.beta * plan.dimension * (1 / parts.gamma + late)
    expected = 3 * (plan.mistake_bound + failing) + 2 * parts.head_start + late
    assert plan.expected_mistakes == pytest.approx(expected, rel=1e-12)
    assert parts.head_start == smallest_delay(parts.rule_epsilon, parts.rule_delta, late)
    assert rule_delta(parts.head_start, parts.rule_epsilon, late) <= parts.rule_delta


def test_the_privacy_in_fifty_digits():
    """δ of the candidates by one order of log-moments, summed with mpmath from the plan's own integers."""
    plan = candidate_plan(cube(3), 1.0, 1e-4)
    with mpmath.workdps(50):
        z, alpha, n = mpmath.mpf(plan.order), mpmath.mpf(plan.alpha), plan.candidates
        p = [mpmath.mpf(level) / OUT_OF for level in plan.ramp]
        mirror = sum(
            mpmath.log(a ** (1 + z) * b**-z + (1 - a) ** (1 + z) * (1 - b) ** -z)
            for a, b in itertools.pairwise(p)
        )
        accept = mpmath.log((mpmath.exp((z + 1) * alpha) + mpmath.exp(-z * alpha)) / (1 + mpmath.exp(alpha)))
        select = n * z * (z + 1) * (2 * mpmath.mpf(plan.eta)) ** 2 / 8
        total = select + n * accept + n * mirror
        rest = mpmath.exp(total - z * plan.epsilon + z * mpmath.log(z) - (1 + z) * mpmath.log(1 + z))
        b = mpmath.mpf(acceptance.mass(plan.acceptance, plan.alpha)) / OUT_OF
        delta = rest + n * (p[0] + b)
    found = plan.certified_delta(cube(3))
    assert found <= plan.delta == 1e-4
    assert found == pytest.approx(float(delta), rel=2e-4)
    assert plan.ramp[0] + plan.ramp[-1] == OUT_OF  # so both directions are one


def steeper(plan):
    """The plan with every fifth round of the ramp left out."""
    return dataclasses.replace(plan, ramp=tuple(p for i, p in enumerate(plan.ramp) if i % 5 != 2))


def narrower(plan):
    return dataclasses.replace(
        plan, acceptance=acceptance.ramp(1.2 * plan.alpha, plan.acceptance[1] / OUT_OF)
    )


FAULTS = {
    "η": lambda plan: dataclasses.replace(plan, eta=1.2 * plan.eta),
    "L": steeper,
    "w": narrower,
    "b": lambda plan: dataclasses.replace(
        plan, acceptance=(0, plan.acceptance[1] * 5 // 4 + int(plan.delta * OUT_OF), *plan.acceptance[2:])
    ),
    "δ": lambda plan: dataclasses.replace(plan, delta=plan.delta / 1.2),
    "ε": lambda plan: dataclasses.replace(plan, epsilon=plan.epsilon / 1.2),
    "K": lambda plan: dataclasses.replace(plan, batch=round(plan.batch / 1.2)),
    "β": lambda plan: dataclasses.replace(plan, beta=plan.beta / 1.2),
    "D_1": lambda plan: dataclasses.replace(plan, delays=(plan.delays[0] - 1, *plan.delays[1:])),
    "N": lambda plan: dataclasses.replace(plan, candidates=plan.candidates + 1, delays=(*plan.delays, 10**9)),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("plan", [candidate_plan(Point3(), 1.0, 1e-5), private_plan(Point3(), 1.0, 1e-6)])
def test_a_changed_plan_is_not_certified(plan, fault):
    plan.certify(Point3())
    with pytest.raises(PlanError):
        FAULTS[fault](plan).certify(Point3())


@pytest.mark.parametrize("field", ["head_start", "gamma", "rule_epsilon"])
def test_a_changed_combination_is_not_certified(field):
    plan = private_plan(Point3(), 1.0, 1e-6)
    parts = plan.combination
    changed = {
        "head_start": round(parts.head_start / 1.2),
        "gamma": 2 * parts.gamma,
        "rule_epsilon": 1.2 * parts.rule_epsilon,
    }
    altered = dataclasses.replace(parts, **{field: changed[field]})
    with pytest.raises(
        PlanError, match=rf"combination\..* must be .*, got .*{field if field == 'head_start' else ''}"
    ):
        dataclasses.replace(plan, combination=altered).certify(Point3())


def test_more_privacy_takes_more_mistakes():
    bounds = [candidate_plan(Point3(), 1.0, delta).mistake_bound for delta in (1e-2, 1e-4, 1e-6)]
    assert bounds == sorted(bounds)
    bounds = [candidate_plan(Point3(), epsilon, 1e-4).mistake_bound for epsilon in (2.0, 1.0, 0.5)]
    assert bounds == sorted(bounds)


def test_late_labels_cost_mistakes():
    prompt, late = (candidate_plan(Point3(), 1.0, 1e-4, max_delay=p) for p in (0, 50))
    assert prompt.mistake_bound + 100 <= late.mistake_bound <= prompt.mistake_bound + 50 * 6


def test_plans_are_cached():
    assert private_plan(Point3(), 1, 1e-6) is private_plan(Point3(), 1.0, 1e-6)


def test_the_crossover():
    low, high = private_plan(Point3(), 1.0, 1e-6), private_plan(Point3(), 1.0, 1e-3)
    assert 5e-5 < low.crossover < 1e-3
    assert low.figures()["favoured"] == "candidate replacement"
    assert high.figures()["favoured"] == "subsampled SOA"
    # On either side of it the real plans agree with what is said.
    for factor, better in ((0.5, True), (2.0, False)):
        delta = factor * low.crossover
        assert (private_plan(Point3(), 1.0, delta).expected_mistakes < 1 / delta) is better


def audit_plan(**changes):
    """The small predictor that is audited by enumeration: N = K = 1, D = 2, ramp (1/2), g = (0, 1/2, 1)."""
    chosen = {
        "epsilon": 0.5, "eta": 0.5, "batch": 1, "ramp": [0.5], "acceptance": [0.0, 0.5, 1.0], "beta": 1.0,
        "candidates": 1, "delays": [2],
    } | changes  # fmt: skip
    return Plan.explicit(Point3(), mode="options", **chosen)


def test_explicit_parameters_are_accounted_for():
    plan = audit_plan()
    assert (plan.delays, plan.mirror_length, plan.acceptance_width, plan.mistake_bound) == ((2,), 1, 2, 3)
    assert 0.33889707 <= plan.delta < 1.0  # its exact δ, by enumeration
    assert plan.delta >= plan.certified_delta(Point3()) > 0.75  # 1 - (1-b)(1-p_1) are apart
    gentle = audit_plan(ramp=np.linspace(0.001, 0.999, 500).tolist(), delays=None, eta=0.01, epsilon=2.0,
                        acceptance=np.linspace(0.0, 1.0, 500).tolist())  # fmt: skip
    assert gentle.delta < 0.02
    gentle.certify(Point3())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 0}, "batch must"),
        ({"candidates": 2}, "candidates must"),
        ({"ramp": []}, "ramp must"),
        ({"ramp": [0.5, 0.4]}, "ramp must rise"),
        ({"ramp": [0.0, 0.5]}, "ramp must hold"),
        ({"acceptance": [0.0, 0.5]}, "acceptance must rise"),
        ({"acceptance": [0.0, math.nan, 1.0]}, "acceptance must hold"),
        ({"delays": [1]}, "delay 1 must be at least 2"),
        ({"delays": [2, 9]}, "delays must be 1"),
        ({"beta": 2}, "beta must"),
        ({"epsilon": 0.0}, "epsilon must"),
        ({"max_delay": -1}, "max_delay must"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        audit_plan(**changes)


@pytest.mark.parametrize("make", [private_plan, candidate_plan, paper_plan])
@pytest.mark.parametrize(
    ("cls", "epsilon", "delta", "message"),
    [
        (Point3(), 0.0, 1e-6, "epsilon must"),
        (Point3(), -1.0, 1e-6, "epsilon must"),
        (Point3(), math.inf, 1e-6, "epsilon must"),
        (Point3(), math.nan, 1e-6, "epsilon must"),
        (Point3(), "1", 1e-6, "epsilon must"),
        (Point3(), 1.0, 0.0, "delta must"),
        (Point3(), 1.0, 0.1, "delta must"),
        (Point3(), 1.0, math.nan, "delta must"),
        (Finite([[True, False]]), 1.0, 1e-6, "cls must have a Littlestone dimension of at least 1"),
        ("point3", 1.0, 1e-6, "cls must be a hypothesis class"),
    ],
)
def test_bad_input(make, cls, epsilon, delta, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        make(cls, epsilon, delta)


def test_other_bad_input():
    with pytest.raises(ParameterError, match=r"^mode must be one of"):
        private_plan(Point3(), 1.0, 1e-6, mode="best")
    with pytest.raises(SizeError):  # direct selection lists the class
        private_plan(Thresholds(2**60 - 1), 1.0, 1e-6, mode="direct")
    with pytest.raises(ParameterError, match="split must be"):
        private_plan(Point3(), 1.0, 1e-6, split="even")
    with pytest.raises(ParameterError, match="beta must"):
        candidate_plan(Point3(), 1.0, 1e-6, beta=1.0)
    with pytest.raises(ParameterError, match="max_delay must"):
        private_plan(Point3(), 1.0, 1e-6, max_delay=1.5)


def test_json_keeps_everything():
    for plan in (private_plan(Point3(), 1.0, 1e-6), candidate_plan(Point3(), 1.0, 1e-4)):
        assert Plan.from_json(plan.to_json(), Point3()) == plan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "version 3 is not 1 or 2"),
        ({"format": "other"}, "not a private plan"),
        ({"delta": 1e-7}, "delta must be at least 9"),
        ({"batch": 0}, "batch must"),
        ({"eta": -1.0}, "eta must"),
        ({"ramp": ["1", "x"]}, "ramp must rise .* got 'x'; "),
        ({"ramp": []}, "ramp must"),
        ({"unknown": 1}, "malformed"),
        ({"delays": []}, "delays"),
    ],
)
def test_edited_json(change, message):
    text = json.dumps(json.loads(candidate_plan(Point3(), 1.0, 1e-4).to_json()) | change)
    with pytest.raises(PlanError, match=message):
        Plan.from_json(text, Point3())


def test_json_for_another_class():
    with pytest.raises(PlanError, match="not for"):
        Plan.from_json(candidate_plan(Point3(), 1.0, 1e-4).to_json(), Points())
    with pytest.raises(PlanError, match="malformed"):
        Plan.from_json("{", Point3())


def test_the_explanation_has_every_figure():
    plan = private_plan(cube(3), 1.0, 1e-6)
    text = plan.explain()
    parts = plan.combination
    for figure in (
        plan.batch, plan.mirror_length, plan.acceptance_width, plan.delays[0], plan.delays[-1],
        plan.mistake_bound, parts.head_start, round(plan.expected_mistakes),
    ):  # fmt: skip
        assert f"{figure:,}" in text
    assert "(1, 1e-06)-joint differential privacy per event" in text
    assert "favoured here: candidate replacement" in text


def test_the_papers_own_figures():
    plan = paper_plan(Point3(), 1.0, 1e-6)
    n, candidates = 2**6, 1026  # s = (2·64)·2 = 256, N = 2·2·256 + 2
    groups = candidates**2 * (n + 4 * math.log(100 * candidates * n / (0.25 * 1.25e-7 * 1e-6)))
    assert plan.candidates == candidates
    assert plan.batch == pytest.approx(2 * groups * n, rel=1e-9)
    first = plan.batch + candidates**2 * math.log(32 * candidates / 1e-6) ** 2
    expected = math.log10(2 * first) + candidates * math.log10(9)
    assert plan.log_mistake_bound == pytest.approx(expected, rel=1e-12)
    assert plan.mistake_bound == math.inf
    with pytest.raises(SizeError, match=r"10\^990 mistakes"):
        plan.refuse()
    assert paper_plan(Thresholds(2**60 - 1), 1.0, 1e-6).log_mistake_bound == math.inf
    assert (
        paper_plan(Point3(), 1.0, 1e-6, delay_constant=100.0).log_mistake_bound > plan.log_mistake_bound + 1.9
    )
    with pytest.raises(ParameterError, match="sample_constant"):
        paper_plan(Point3(), 1.0, 1e-6, sample_constant=0.0)


def test_what_a_mode_costs():
    direct = private_plan(cube(3), 1.0, 1e-6, mode="direct")
    assert direct.candidates == scheme(cube(3), "direct").steps
    assert direct.mistake_bound <= 124_154
    assert direct.certified_delta(cube(3)) <= 1e-6
