"""Whatever is given to a plan, an error says what is wrong; whatever a plan's file holds, what is read is certified."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import Key
from streamlearn.accounting import combining
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor
from streamlearn.errors import ParameterError, PlanError, SizeError, StateError
from streamlearn.hypotheses import Point3, Points, Thresholds
from streamlearn.planning import Plan, candidate_plan, modes, paper_plan, private_plan
from streamlearn.planning.asking import check_target
from streamlearn.planning.modes import scheme_for
from streamlearn.rounding import OUT_OF
from streamlearn.selection import scheme

KEY = Key.from_seed(1)

# --- arguments

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


def asked(make, **fixed):
    return lambda **changes: make(**({"cls": Point3(), "epsilon": 8.0, "delta": 1e-2} | fixed | changes))


def built(make):
    usual = {"hypotheses": Point3(), "epsilon": 8.0, "delta": 1e-2, "key": KEY}
    return lambda **changes: make(**(usual | changes))


RULE = {
    "delay": lambda **changes: combining.smallest_delay(**({"epsilon": 4.0, "delta": 1e-2} | changes)),
    "delta": lambda **changes: combining.rule_delta(**({"D": 4, "epsilon": 1.0} | changes)),
    "epsilon": lambda **changes: combining.rule_epsilon(**({"D": 4, "delta": 1e-2} | changes)),
    "bound": lambda **changes: combining.expected_bound(**({"mistakes": 4, "D": 9} | changes)),
}
# What takes an argument, its name, and which of the strange ones it takes all the same.
ARGUMENTS = [
    *((explicit, name, ()) for name in ("epsilon", "eta", "batch", "acceptance", "beta")),
    (explicit, "ramp", (LOW,)),  # integers out of 2^64
    *((explicit, name, (None,)) for name in ("mode", "candidates", "delays")),
    (explicit, "max_delay", ()),
    *((asked(candidate_plan), name, ()) for name in ("cls", "epsilon", "delta", "max_delay")),
    *((asked(candidate_plan), name, (None,)) for name in ("mode", "beta")),
    *((asked(private_plan), name, ()) for name in ("cls", "epsilon", "delta", "max_delay", "split")),
    (asked(private_plan), "mode", (None,)),
    *(
        (asked(paper_plan), name, ())
        for name in ("cls", "epsilon", "delta", "sample_constant", "group_constant", "delay_constant")
    ),
    *(
        (built(agent), name, ())
        for agent in (CandidateReplacementPredictor, PrivatePredictor)
        for name in ("hypotheses", "epsilon", "delta", "max_delay")
    ),
    *((built(agent), "plan", (None,)) for agent in (CandidateReplacementPredictor, PrivatePredictor)),
    (RULE["delay"], "epsilon", (math.inf,)),
    (RULE["delay"], "delta", ()),
    (RULE["delay"], "max_delay", ()),
    (RULE["delta"], "D", ()),
    (RULE["delta"], "epsilon", (math.inf,)),
    (RULE["delta"], "max_delay", ()),
    (RULE["epsilon"], "D", ()),
    (RULE["epsilon"], "delta", ()),
    (RULE["epsilon"], "max_delay", ()),
    (RULE["bound"], "mistakes", (HUGE,)),
    (RULE["bound"], "D", ()),
    (RULE["bound"], "max_delay", ()),
]


@pytest.mark.parametrize(("make", "name", "taken"), ARGUMENTS)
def test_a_strange_argument_is_named_with_its_bound_and_a_remedy(make, name, taken):
    said = "cls" if name == "hypotheses" else name
    for value in STRANGE:
        if any(value is one for one in taken):
            make(**{name: value})
            continue
        with pytest.raises(ParameterError) as caught:
            make(**{name: value})
        text = str(caught.value)
        if value is None and "give epsilon and delta" in text:
            continue  # predictors may be given a plan in place of these
        assert re.match(f"{said} must |delay 1 must ", text), (value, text)
        assert "; " in text or said == "cls", (value, text)  # the remedy


@pytest.mark.parametrize("agent", [CandidateReplacementPredictor, PrivatePredictor])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_level_beside_a_plan_is_the_plans_own(agent, name):
    plan = (private_plan if agent is PrivatePredictor else candidate_plan)(Point3(), 1.0, 1e-2)
    own = getattr(plan, name)
    for value in (own, np.float64(own), None):
        assert getattr(agent(Point3(), plan=plan, key=KEY, **{name: value}), name) == own
    for value in STRANGE:
        if value is not None:
            with pytest.raises(ParameterError, match=rf"^{name} must be {own}, as the plan has it, got .*; "):
                agent(Point3(), plan=plan, key=KEY, **{name: value})
    with pytest.raises(ParameterError, match=r"^max_delay must be 0, as the plan has it, got 1; "):
        agent(Point3(), plan=plan, key=KEY, max_delay=1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.99e-3, 1e-3), (20.01, 1e-3), (1.0, 0.99e-15), (1.0, 0.1)])
@pytest.mark.parametrize("agent", [CandidateReplacementPredictor, PrivatePredictor])
def test_the_bounds_are_those_that_are_documented(agent, epsilon, delta):
    assert "0.001 <= ε <= 20 and 1e-15 <= δ < 1/10" in agent.__doc__
    with pytest.raises(
        ParameterError, match=r"must lie in \[(0.001, 20\] .*; try 1.0|1e-15, 1/10\) .*; try 1e-6)"
    ):
        agent(Point3(), epsilon, delta)


def test_the_bounds_themselves_are_within():
    for epsilon in (1e-3, 20.0):
        for delta in (1e-15, math.nextafter(0.1, 0.0)):
            check_target(Point3(), epsilon, delta)


def test_numpys_numbers_are_numbers():
    plain = explicit(candidates=1, delays=[63], max_delay=0)
    numpys = explicit(
        epsilon=np.float64(3.0), eta=np.float32(0.5), batch=np.int64(30), ramp=np.array([0.1, 0.5, 0.9]),
        acceptance=[*np.array(plain.acceptance[:-1], dtype=np.uint64), OUT_OF], beta=np.float64(1e-3),
        candidates=np.uint8(1), delays=np.array([63]), max_delay=np.int32(0),
    )  # fmt: skip
    assert numpys == plain
    assert numpys.to_json() == plain.to_json()
    half = np.array([2**62, 2**63], dtype=np.uint64)  # integers out of 2^64, as an array
    assert explicit(ramp=half, eta=np.int64(1)).ramp == (2**62, 2**63)
    usual = {"epsilon": np.int64(8), "delta": np.float64(1e-2), "max_delay": np.int64(0)}
    assert private_plan(Point3(), **usual) is private_plan(Point3(), 8.0, 1e-2)
    assert candidate_plan(Point3(), **usual, beta=np.float64(1e-2)) is candidate_plan(Point3(), 8.0, 1e-2)
    assert PrivatePredictor(Point3(), **usual).plan is private_plan(Point3(), 8.0, 1e-2)
    assert paper_plan(Point3(), np.int64(1), np.float64(1e-6), sample_constant=np.int64(1)) == paper_plan(
        Point3(), 1.0, 1e-6
    )
    assert RULE["delta"](D=np.int64(4), epsilon=np.float32(0.5), max_delay=np.int8(1)) == RULE["delta"](
        epsilon=0.5, max_delay=1
    )
    assert RULE["bound"](mistakes=np.int64(4), D=np.int64(9)) == 30


@pytest.mark.parametrize("make", [private_plan, candidate_plan])
@pytest.mark.parametrize(
    ("cls", "number"),
    [(Point3(), r"10\^990 mistakes, with 1,026"), (Thresholds(2**60 - 1), r"10\^\(10\^300\)")],
)
def test_the_papers_mode_is_refused_with_the_number(make, cls, number):
    with pytest.raises(SizeError, match=rf"^the paper's own plan cannot run: .*{number}.*; .*Plan\.explicit"):
        make(cls, 1.0, 1e-6, mode="paper")


@pytest.mark.parametrize("agent", [CandidateReplacementPredictor, PrivatePredictor])
def test_the_papers_plan_is_refused_with_its_number(agent):
    with pytest.raises(
        SizeError, match=r"10\^990 mistakes.*private_plan and candidate_plan make one that can"
    ):
        agent(Point3(), plan=paper_plan(Point3(), 1.0, 1e-6))
    with pytest.raises(
        ParameterError, match=r"^plan must be a Plan, got str; private_plan .*paper_plan states"
    ):
        agent(Point3(), plan="paper")


def test_a_scheme_is_made_once(monkeypatch):
    modes._made.cache_clear()
    asked_for = []
    monkeypatch.setattr(modes, "scheme", lambda *given: asked_for.append(given) or scheme(*given))
    cls = Thresholds(2)
    for _ in range(3):
        candidate_plan(cls, 8.0, 1e-2).certify(cls)
    assert asked_for == [(cls, None), (cls, "options")]


# --- what a plan's file may hold

PLANS = [
    (private_plan(Point3(), 8.0, 1e-2), Point3()),
    (candidate_plan(Thresholds(7), 8.0, 1e-2), Thresholds(7)),
    (candidate_plan(Point3(), 8.0, 1e-2, mode="direct", max_delay=2), Point3()),
    (private_plan(Points(), 8.0, 1e-2), Points()),
]
GONE = object()
HOSTILE = [
    None, True, False, -1, 0, 1, 2, 3, 10**9, 2**50, 2**63, 10**40, -(10**40), 10**400, 0.5, -1.5, 1e-9, 1e-300, 5e-324,
    1e300, math.nan, math.inf, -math.inf, "", "x", "1", "-1", "9" * 5000, "options", "direct", "groups", "paper", [],
    {}, ["1"], ["9" * 30], ["-1"], [1], [10**40], [1.5], ["1"] * 20_000, [1] * 20_000, GONE,
]  # fmt: skip


def places(data, before=()):
    """Yield the path of every field, and of the first, middle and last entries of a list."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield (*before, name)
            yield from places(value, (*before, name))
        yield (*before, "another")
    elif isinstance(data, list):
        for place in {0, len(data) // 2, len(data) - 1}:
            yield (*before, place)


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


def read_or_refuse(text, cls, original):
    try:
        plan = Plan.from_json(text, cls)
    except PlanError:
        return
    really_certified(plan, cls)
    assert plan.crossover is None or 0.8 < plan.crossover / original.crossover < 1.25


@pytest.mark.parametrize(("plan", "cls"), PLANS)
def test_what_is_really_certified(plan, cls):
    really_certified(plan, cls)


@given(st.sampled_from(PLANS), st.data())
@settings(max_examples=400)
def test_one_field_replaced_is_refused_or_certified(made, data):
    plan, cls = made
    path = data.draw(st.sampled_from(list(places(json.loads(plan.to_json())))))
    read_or_refuse(edited(plan.to_json(), path, data.draw(st.sampled_from(HOSTILE))), cls, plan)


@given(st.sampled_from(PLANS), st.data())
@settings(max_examples=25)
def test_one_number_moved_is_refused_or_certified(made, data):
    plan, cls = made
    fields = json.loads(plan.to_json())
    numbers = [
        path
        for path in places(fields)
        if path[-1] != "another"
        and isinstance(functools.reduce(lambda inner, step: inner[step], path, fields), int | float)
    ]
    path = data.draw(st.sampled_from(numbers))
    value = functools.reduce(lambda inner, step: inner[step], path, fields)
    factor = data.draw(st.sampled_from([0.5, 0.9, 0.999, 1.001, 1.1, 2.0]))
    moved = round(value * factor) if isinstance(value, int) else value * factor
    read_or_refuse(edited(plan.to_json(), path, moved), cls, plan)


FLAT = [str(2**63)] * 3
WHOLE = json.loads(PLANS[0][0].to_json())
HEAD_START = WHOLE["combination"]["head_start"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("acceptance",), WHOLE["acceptance"] * 2, "acceptance must rise from 0"),
        (("acceptance",), WHOLE["acceptance"][::-1], "acceptance must rise from 0"),
        (("acceptance",), FLAT, "acceptance must rise from 0"),
        (("acceptance",), WHOLE["acceptance"][1:], "acceptance must rise from 0"),
        (
            ("acceptance",),
            ["0", *FLAT, str(2**64)],
            r"combination\.delta must be .*: .* acceptance \(at alpha\)",
        ),
        (("acceptance",), ["0", str(2**64)], r"combination\.delta must be kept, and no δ below 1 is, got"),
        (("acceptance",), ["0", str(2**63), str(2**62), str(2**64)], "acceptance must rise"),
        (("ramp",), WHOLE["ramp"][::-1], "ramp must rise"),
        (("ramp",), WHOLE["ramp"] * 2, "ramp must rise"),
        (("ramp",), FLAT, r"combination\.delta must be .*: .* the ends of ramp cost 0\.5"),
        (("ramp",), ["0", *WHOLE["ramp"]], "ramp must rise within 1"),
        (("ramp",), [*WHOLE["ramp"], str(2**64)], "ramp must rise within 1"),
        (
            ("combination", "head_start"),
            WHOLE["combination"]["head_start"] - 1,
            r"combination\.rule_delta must be at least 0\.0.*head_start = ",
        ),
        (("combination", "head_start"), 0, r"combination\.head_start must be a whole"),
        (("combination", "rule_delta"), 0.5, r"rule_delta must be at most delta = 0\.01, got 0\.50"),
        (("combination", "gamma"), 1.0, r"combination\.gamma must lie"),
        (("candidates",), 2**50, "candidates must be at most 1, got"),
        (("candidates",), 10**9, "candidates must be at most 1, got"),
        (("dimension",), 2, "dimension must be 1, that of Point3\\(\\), got 2"),
        (("cut_from",), 2, "cut_from must be null, got 2"),
        (("cut_from",), 1, "cut_from must"),
        (("delays",), [1] * 20_000, "delays cannot be used: delays must be 1 whole"),
        (("delays",), [WHOLE["delays"][0] - 1], "delay 1 must be at least"),
        (("eta",), 1e-6, "eta must lie in"),
        (("beta",), 5e-324, "beta must be at least 1e-300"),
        (("order",), 1e7, "order must lie in"),
        (("mode",), "paper", "cut_from must be 1026, got None: .* mode paper takes 1026"),
        (("mode",), "best", "mode cannot be used"),
        (("crossover",), 1e-300, "crossover must be its own"),
        (("crossover",), 0.4, "crossover must be its own"),
        (("crossover",), 7.0, "crossover must lie"),
        (("combination",), GONE, "malformed"),
        (("combination",), {}, "malformed"),
        (("another",), 1, "malformed"),
        (("class_digest",), "Points()", "not for"),
    ],
)
def test_each_edit_has_its_message(path, value, message):
    with pytest.raises(PlanError, match=message):
        Plan.from_json(edited(PLANS[0][0].to_json(), path, value), Point3())


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Plan)])
def test_a_plan_made_by_hand_is_checked_like_one_that_is_read(field):
    plan = PLANS[0][0]
    for value in STRANGE:
        if value is None and field in ("combination", "crossover", "cut_from"):
            continue
        with pytest.raises(PlanError):
            dataclasses.replace(plan, **{field: value}).certify(Point3())
        if field in WHOLE["combination"]:
            parts = dataclasses.replace(plan.combination, **{field: value})
            with pytest.raises(PlanError):
                dataclasses.replace(plan, combination=parts).certify(Point3())


def test_without_a_combination_a_plan_is_one_of_candidate_replacement_alone():
    whole = PLANS[0][0]
    with pytest.raises(PlanError, match="crossover must be its own"):  # it was that of the combination
        Plan.from_json(edited(whole.to_json(), ("combination",), None), Point3())
    text = edited(edited(whole.to_json(), ("combination",), None), ("crossover",), None)
    alone = Plan.from_json(text, Point3())
    really_certified(alone, Point3())
    assert (alone.guarantee, alone.expected_mistakes) == (whole.guarantee, math.inf)
    assert CandidateReplacementPredictor(Point3(), plan=alone).guarantee == whole.guarantee
    with pytest.raises(PlanError, match=r"no combination.*private_plan, or give this one to Candidate"):
        PrivatePredictor(Point3(), plan=alone)


def test_the_plan_of_a_part_can_be_saved():
    part = PrivatePredictor(Point3(), plan=PLANS[0][0], key=KEY).combined.first
    assert Plan.from_json(part.plan.to_json(), Point3()) == part.plan


def test_a_state_with_another_plans_digest_is_refused():
    agent = PrivatePredictor(Point3(), plan=PLANS[0][0], key=KEY)
    digest = agent.combined.first.plan.digest
    text = json.dumps(agent.state_dict())
    assert text.count(digest) == 3  # of the whole, of the combined predictor and of its first part
    pieces = text.split(digest)
    for place in range(3):
        digests = [digest] * 3
        digests[place] = "0" * len(digest)
        spoilt = pieces[0] + "".join(a + b for a, b in zip(digests, pieces[1:], strict=True))
        with pytest.raises(StateError, match="parameters"):
            agent.load_state_dict(json.loads(spoilt))
    agent.load_state_dict(json.loads(text))


# --- plans cut short


def cut_short(candidates=1):
    return Plan.explicit(Thresholds(7), **(EXPLICIT | {"candidates": candidates, "mode": None}))


def test_a_plan_cut_short_promises_privacy_and_no_mistakes():
    full, cut = cut_short(3), cut_short(1)
    assert (full.cut_from, cut.cut_from) == (None, 3)
    assert full.mistake_bound == full.batch - 1 + full.delays[-1] + full.mirror_length
    assert full.figures()["mistake_bound"] == full.mistake_bound
    assert cut.mistake_bound is None
    assert cut.expected_mistakes is None
    assert cut.guarantee == full.guarantee  # N is counted in full
    cut.certify(Thresholds(7))
    figures = cut.figures()
    assert [figures[name] for name in ("mistake_bound", "expected_mistakes", "cut_from")] == [None, None, 3]
    assert figures["favoured"] == "subsampled SOA"
    text = cut.explain()
    assert f"privacy: {cut.guarantee}" in text
    assert "no bound is promised: 1 candidates of the 3 that mode options takes" in text
    assert "B =" not in text
    assert "favoured here: subsampled SOA (no bound;" in text
    assert json.loads(cut.to_json())["cut_from"] == 3
    assert "cut_from" not in json.loads(full.to_json())
    assert Plan.from_json(cut.to_json(), Thresholds(7)) == cut
    predictor = CandidateReplacementPredictor(Thresholds(7), plan=cut, key=KEY)
    assert predictor.mistake_bound is None
    assert predictor.guarantee == cut.guarantee


@pytest.mark.parametrize(("candidates", "cut_from"), [(1, None), (1, 2), (1, 4), (3, 4)])
def test_a_plan_says_itself_that_it_is_cut_short(candidates, cut_from):
    plan = dataclasses.replace(cut_short(candidates), cut_from=cut_from)
    with pytest.raises(PlanError, match=r"cut_from must .*; the plan was edited, make it anew"):
        plan.certify(Thresholds(7))


def test_a_combination_cut_short_promises_no_mistakes_either():
    cls = Thresholds(7)
    plan = private_plan(cls, 8.0, 1e-2)
    cut = dataclasses.replace(plan, candidates=1, delays=plan.delays[:1], cut_from=3, crossover=None)
    predictor = PrivatePredictor(cls, plan=cut, key=KEY)
    assert predictor.mistake_bound is predictor.combined.first.mistake_bound is cut.expected_mistakes is None
    assert predictor.guarantee == plan.guarantee
    assert "no bound is promised" in cut.explain()
    assert "D = " in cut.explain()
