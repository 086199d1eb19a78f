"""Each edit of a plan, in a file or by hand, has its message; a state keeps its plan's digest."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from planfields import GONE, PLANS, STRANGE, edited, really_certified

from streamlearn import Key
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor
from streamlearn.errors import PlanError, StateError
from streamlearn.hypotheses import Point3
from streamlearn.planning import Plan

KEY = Key.from_seed(1)


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
