"""Long ramps in a plan's file: packed, read back bit for bit, and refused where they are none."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from streamlearn.errors import PlanError
from streamlearn.hypotheses import Point3
from streamlearn.planning import Plan, candidate_plan, saving
from streamlearn.planning.certificate import ALL_ORDERS, candidate_delta, most_order
from streamlearn.planning.chances import Chances
from streamlearn.planning.modes import scheme_for


@pytest.fixture
def plan():
    return candidate_plan(Point3(), 1.0, 1e-4)


def packed(plan, monkeypatch):
    monkeypatch.setattr(saving, "_LISTED", plan.mirror_length - 1)
    return plan.to_json()


def test_a_long_ramp_is_packed_and_read_back(plan, monkeypatch):
    text = packed(plan, monkeypatch)
    file = json.loads(text)
    assert (file["version"], type(file["ramp"])) == (2, str)
    assert Plan.from_json(text, Point3()) == plan
    assert dataclasses.replace(plan, ramp=tuple(plan.ramp)).to_json() == text
    listed = json.loads(candidate_plan(Point3(), 1.0, 1e-4).to_json()) | {"ramp": [str(p) for p in plan.ramp]}
    assert Plan.from_json(json.dumps(listed | {"version": 1}), Point3()) == plan


def test_a_ramp_is_listed_up_to_the_bound(plan, monkeypatch):
    monkeypatch.setattr(saving, "_LISTED", plan.mirror_length)
    file = json.loads(plan.to_json())
    assert (file["version"], type(file["ramp"])) == (1, list)


@pytest.mark.parametrize(
    "spoilt", ["", "AAAA", "x", "é", "AQAAAAAAAAA", "=" * 8, "AQAAAAAAAAA=\n", "-_-_" * 8]
)
def test_what_is_no_packed_ramp_is_refused(plan, spoilt, monkeypatch):
    file = json.loads(packed(plan, monkeypatch))
    with pytest.raises(PlanError, match=r"ramp must rise within 1\.\.2\^64 - 1"):
        Plan.from_json(json.dumps(file | {"ramp": spoilt}), Point3())


def test_bytes_are_the_lowest_first():
    assert Chances.unpacked(Chances([1, 2**63, 2**64 - 1]).packed()) == (1, 2**63, 2**64 - 1)
    assert Chances.unpacked("AQIAAAAAAAA=") == (513,)


def test_no_order_beyond_what_sums_are_good_for_is_used(plan):
    given = {
        "epsilon": plan.epsilon, "eta": plan.eta, "batch": plan.batch, "alpha": plan.alpha,
        "acceptance": plan.acceptance, "ramp": plan.ramp,
    }  # fmt: skip
    used, most = scheme_for(Point3(), "options"), most_order(plan.epsilon, plan.mirror_length)
    assert candidate_delta(used, **given, orders=np.array([1e12])).order == most
    assert candidate_delta(used, **given, orders=ALL_ORDERS).order < most
    assert most_order(plan.epsilon, 10**9) < most


def test_a_plan_at_such_an_order_is_refused(plan):
    edited = dataclasses.replace(plan, epsilon=500.0, order=1e5)
    with pytest.raises(PlanError, match=r"order must be at most 4e\+08/\(ε·\(64 \+ L/2\^14\)\) = 12[0-9]{3}"):
        edited.certify(Point3())
