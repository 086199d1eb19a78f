"""Long ramps in eight bytes a round: a tuple to whoever reads them, and no longer than they need be."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import re

import numpy as np
import pytest

from streamlearn.errors import PlanError, SizeError
from streamlearn.hypotheses import Finite, Point3
from streamlearn.planning import candidate_plan, private_plan, remedies
from streamlearn.planning.chances import Chances
from streamlearn.rounding import OUT_OF

LEVELS = (1, 2**63, OUT_OF - 1)


def test_chances_are_the_tuple_they_stand_for():
    ramp = Chances(LEVELS)
    assert ramp == LEVELS
    assert hash(ramp) == hash(LEVELS)
    assert tuple(ramp) == tuple(ramp[::-1])[::-1] == LEVELS
    assert type(ramp[1]) is int
    assert pickle.loads(pickle.dumps(ramp)) == copy.deepcopy(ramp) == ramp  # noqa: S301 - our own bytes
    assert ramp not in (LEVELS[:2], list(LEVELS), Chances(LEVELS[:2]))


def test_chances_keep_no_array_of_the_callers():
    own = np.array(LEVELS, dtype=np.uint64)
    ramp = Chances(own)
    own[0] = 7
    assert ramp == LEVELS
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(ramp)[0] = 7


@pytest.mark.parametrize("bad", [[], [0, 5], [5, 4], [0], np.array([3, 2, 4])])
def test_a_plan_refuses_chances_that_do_not_rise(bad):
    plan = candidate_plan(Point3(), 8.0, 1e-2)
    with pytest.raises(PlanError, match="ramp must rise within"):
        dataclasses.replace(plan, ramp=Chances(bad)).certify(Point3())
    dataclasses.replace(plan, ramp=tuple(plan.ramp)).certify(Point3())


def test_a_refusal_for_length_names_an_epsilon_that_will_do(monkeypatch):
    monkeypatch.setattr(remedies, "LONGEST_RAMP", 2_000)
    with pytest.raises(
        SizeError, match=r"a plan lists at most 2,000; take an epsilon of \S+ or more"
    ) as refused:
        candidate_plan(Point3(), 0.11, 1e-5)
    enough = float(re.search(r"epsilon of (\S+) or more", str(refused.value))[1])
    assert 0.11 < enough < 1.0
    assert candidate_plan(Point3(), enough, 1e-5).mirror_length <= 2_000


def test_chances_too_fine_for_the_order_are_not_proposed():
    """Where the first chances are few units, one unit more is a large loss: no price of the ramp made up for it."""
    cube = Finite(np.array(list(itertools.product([False, True], repeat=3))))
    plan = private_plan(cube, 0.05, 1e-15)
    assert plan.certified_delta(cube) <= 1e-15
