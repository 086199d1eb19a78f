"""Where there is no plan: a refusal has the number, the bound, and a remedy that was tried."""

from __future__ import annotations

import re

import pytest

from streamlearn.errors import SizeError
from streamlearn.hypotheses import Point3, Thresholds
from streamlearn.planning import asking, candidate_plan, private_plan, remedies, search

MAKES = [candidate_plan, private_plan]


@pytest.fixture(autouse=True)
def _nothing_remembered():
    yield
    for made in (asking._candidate_plan, asking._private_plan):
        made.cache_clear()


def refusal(make, cls, epsilon, delta):
    for made in (asking._candidate_plan, asking._private_plan):
        made.cache_clear()
    with pytest.raises(SizeError) as refused:
        make(cls, epsilon, delta)
    return str(refused.value)


def set_both(monkeypatch, name, value):
    for module in (search, remedies):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("make", MAKES)
def test_chances_too_coarse_for_an_epsilon(make, monkeypatch):
    set_both(monkeypatch, "UNITS", 1e-13)  # as if chances were integers out of far fewer
    text = refusal(make, Thresholds(7), 0.5, 1e-5)
    assert re.match(r"no plan keeps epsilon = 0.5 and delta = 1e-05: each of 3 candidates may take ", text)
    has, needs = (float(re.search(rf"{name} (\S+?)[,:]", text)[1]) for name in ("delta/N =", "takes about"))
    assert has == pytest.approx(1e-5 / 3, rel=0.05)
    assert needs > has
    enough = float(re.search(r"take an epsilon of (\S+) or more", text)[1])
    assert make(Thresholds(7), enough, 1e-5).epsilon == enough


def test_chances_too_coarse_for_a_delta_at_any_epsilon(monkeypatch):
    set_both(monkeypatch, "LEAST_CHANCE", 1e-4)
    text = refusal(candidate_plan, Point3(), 10.0, 1e-5)
    enough = float(re.search(r"take a delta of (\S+) or more", text)[1])
    assert candidate_plan(Point3(), 10.0, enough).delta == enough


@pytest.mark.parametrize("make", MAKES)
def test_a_little_above_what_is_too_coarse_there_is_a_plan(make):
    cls = Thresholds(2**12 - 1)
    assert (
        make(cls, 1.0, 1e-15).certified_delta(cls) <= 1e-15
    )  # a tenth of δ/N is below 2^-60 for many splits


def test_a_proposal_without_a_ramp(monkeypatch):
    monkeypatch.setattr(asking, "LONGEST_RAMP", 2_000)
    text = refusal(candidate_plan, Point3(), 0.11, 1e-5)
    assert "no ramp of up to 2,000 rounds was found that keeps delta = " in text
    assert float(re.search(r"tried has (\S+) rounds", text)[1].replace(",", "")) > 2_400
    enough = float(re.search(r"take an epsilon of (\S+) or more", text)[1])
    assert candidate_plan(Point3(), enough, 1e-5).mirror_length <= 2_400


def test_where_nothing_helps_no_level_is_named(monkeypatch):
    set_both(monkeypatch, "LEAST_CHANCE", 0.5)
    assert refusal(candidate_plan, Point3(), 19.0, 0.05).endswith("take a smaller class")
