"""Plans and what may be given in place of their fields, and an oracle for what a plan keeps."""

from __future__ import annotations

import functools
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from streamlearn.accounting import combining
from streamlearn.hypotheses import Point3, Points, Thresholds
from streamlearn.planning import Plan, candidate_plan, private_plan
from streamlearn.planning.modes import scheme_for
from streamlearn.rounding import OUT_OF

HUGE, LOW = 10**400, np.array([1, 2])
STRANGE = [
    "1", "", b"1", None, True, np.bool_(True), math.nan, np.float64("nan"), math.inf, -math.inf, -1, -0.5, np.int64(-1),
    HUGE, 1j, [1], {}, object(), Decimal("0.5"), LOW, np.array(0.5),
]  # fmt: skip

EXPLICIT = {
    "epsilon": 3.0, "mode": "options", "eta": 0.5, "batch": 30, "ramp": [0.1, 0.5, 0.9],
    "acceptance": [0.0, 0.1, 0.9, 1.0], "beta": 1e-3,
}  # fmt: skip


def explicit(**changes):
    return Plan.explicit(Point3(), **(EXPLICIT | changes))


PLANS = [
    (private_plan(Point3(), 8.0, 1e-2), Point3()),
    (candidate_plan(Thresholds(7), 8.0, 1e-2), Thresholds(7)),
    (candidate_plan(Point3(), 8.0, 1e-2, mode="direct", max_delay=2), Point3()),
    (private_plan(Points(), 8.0, 1e-2), Points()),
]
GONE = object()


def edited(text, path, value):
    data = json.loads(text)
    parent = functools.reduce(lambda inner, step: inner[step], path[:-1], data)
    if value is not GONE:
        parent[path[-1]] = value
    else:
        parent.pop(path[-1], None) if isinstance(parent, dict) else parent.pop(path[-1])
    return json.dumps(data)


def selection_cost(plan):
    """The log-moment of the whole selection by the formula of its mode, and its excess δ."""
    z, n = plan.order, plan.candidates
    if plan.mode == "direct":
        widths = [2.0] + [j + 2.0 for j in range(2, n + 1)]
        return sum(z * (z + 1) * (width * plan.eta) ** 2 / 8 for width in widths), 0.0
    stable = plan.class_digest == Points().digest
    excess = n * (1 + math.exp(plan.eta)) * math.exp(-plan.eta * math.ceil(plan.batch / 2)) if stable else 0.0
    return n * z * (z + 1) * (2 * plan.eta) ** 2 / 8, excess


def kept(plan):
    """δ of candidate replacement at its ε, from the plan's integers alone, by the formulas of the proof."""
    parts = plan.combination
    epsilon, z, n = (plan.epsilon if parts is None else parts.epsilon), plan.order, plan.candidates
    levels = [Fraction(level, OUT_OF) for level in plan.acceptance]
    factor = Fraction(math.exp(plan.alpha))
    b = max(
        max(high - factor * low, (1 - low) - factor * (1 - high)) for low, high in itertools.pairwise(levels)
    )
    p = np.array([int(level) for level in plan.ramp], dtype=object) / OUT_OF
    chance = p.astype(float)
    other = ((OUT_OF - np.array(plan.ramp, dtype=object)) / OUT_OF).astype(float)

    def moment(one, two, not_one, not_two):
        terms = np.logaddexp(
            np.log(one) + z * (np.log(one) - np.log(two)),
            np.log(not_one) + z * (np.log(not_one) - np.log(not_two)),
        )
        return float(terms.sum())

    up = moment(chance[:-1], chance[1:], other[:-1], other[1:])
    down = moment(chance[1:], chance[:-1], other[1:], other[:-1])
    mirror = max(up, down) + z * abs(math.log(chance[-1]) - math.log(other[0]))
    accept = float(np.logaddexp((z + 1) * plan.alpha, -z * plan.alpha) - np.logaddexp(0.0, plan.alpha))
    selection, excess = selection_cost(plan)
    total = selection + n * (accept + mirror)
    rest = math.exp(min(0.0, total - z * epsilon + z * math.log(z) - (1 + z) * math.log1p(z)))
    mass = (1.0 - max(0.0, float(b))) * (1.0 - max(chance[0], other[-1]))
    return 1.0 - mass**n * (1.0 - rest) + excess


def really_certified(plan, cls):
    """Assert that all that a plan says is so."""
    parts, n, late = plan.combination, plan.candidates, plan.max_delay
    assert plan.class_digest == cls.digest
    assert plan.dimension == cls.dimension
    own, claimed = kept(plan), plan.delta
    if parts is not None:
        assert Fraction(parts.epsilon) + Fraction(parts.rule_epsilon) <= Fraction(plan.epsilon)
        assert Fraction(parts.delta) + Fraction(parts.gamma) + Fraction(parts.rule_delta) <= Fraction(
            plan.delta
        )
        assert combining.rule_delta(parts.head_start, parts.rule_epsilon, late) <= parts.rule_delta * (
            1 + 1e-9
        )
        claimed = parts.delta
    assert own <= claimed * (1 + 1e-6)
    step = 2 * (plan.batch + late) - 2 + plan.acceptance_width
    assert len(plan.delays) == n == scheme_for(cls, plan.mode).steps
    assert plan.delays[0] >= step
    later = [step + plan.mirror_length + late] * (n - 1)
    assert all(np.diff(np.array(plan.delays, dtype=object)) >= later)
    assert plan.mistake_bound == plan.batch + 2 * late - 1 + plan.delays[-1] + plan.mirror_length
    if plan.beta < 1.0:
        assert scheme_for(cls, plan.mode).batch(plan.eta, plan.beta) <= plan.batch
    assert plan.explain()
    json.dumps(plan.figures(), allow_nan=False)
    assert Plan.from_json(plan.to_json(), cls) == plan
