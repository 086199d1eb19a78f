"""Whatever a plan's file holds, what is read is certified."""

from __future__ import annotations

import functools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planfields import GONE, PLANS, edited, really_certified

from streamlearn.errors import PlanError
from streamlearn.planning import Plan

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
