"""Plans with fewer candidates than their mode takes: they promise privacy and no mistakes."""

from __future__ import annotations

import dataclasses
import json

import pytest
from planfields import EXPLICIT

from streamlearn import Key
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor
from streamlearn.errors import PlanError
from streamlearn.hypotheses import Thresholds
from streamlearn.planning import Plan, private_plan

KEY = Key.from_seed(1)


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
