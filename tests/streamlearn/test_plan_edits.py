"""Every field of a saved plan, made wrong in every way: the refusal names it, says the bound and what to do."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest

from streamlearn.accounting.combining import rule_delta
from streamlearn.errors import PlanError
from streamlearn.hypotheses import Point3, Points, Thresholds
from streamlearn.planning import Combination, Plan

NUMBERS = {
    "epsilon": 3.0, "eta": 0.05, "batch": 1600, "beta": 1.0, "ramp": [i / 200 for i in range(1, 200)],
    "acceptance": [i / 100 for i in range(101)],
}  # fmt: skip


def combined(cls):
    """A plan with a combination, without the search for a good one."""
    part = Plan.explicit(cls, **NUMBERS)
    rule = rule_delta(500, 1.0)
    parts = Combination(part.epsilon, part.delta, 1e-3, 1.0, rule, 500)
    whole = dataclasses.replace(part, epsilon=4.0, delta=part.delta + rule + 0.0011, combination=parts)
    whole.certify(cls)
    return whole, cls


PLANS = {
    "combined": combined(Point3()),
    "options": (Plan.explicit(Thresholds(7), **NUMBERS), Thresholds(7)),
    "stable": (Plan.explicit(Points(), **NUMBERS), Points()),
    "direct": (Plan.explicit(Point3(), mode="direct", max_delay=2, **NUMBERS), Point3()),
    "groups": (Plan.explicit(Point3(), mode="groups", delays="paper", **NUMBERS), Point3()),
    "cut": (Plan.explicit(Thresholds(7), candidates=1, **NUMBERS), Thresholds(7)),
    "paper": (Plan.explicit(Point3(), mode="paper", candidates=2, delays="paper", **NUMBERS), Point3()),
}
GONE = object()
WRONG = {
    "zero": 0, "negative": -1, "huge": 10**400, "large": 1e300, "nan": math.nan, "inf": math.inf, "text": "x",
    "true": True, "null": None, "missing": GONE, "empty": [], "object": {},
}  # fmt: skip
HARMLESS = {
    ("crossover", "null"), ("cut_from", "null"), ("cut_from", "missing"), ("max_delay", "zero"), ("beta", "zero"),
    ("combination", "null"),
}  # fmt: skip
"""What is as good as what it takes the place of, in some plans."""


def edited(plan, path, value):
    data = json.loads(plan.to_json())
    parent = data[path[0]] if len(path) > 1 else data
    parent[path[-1]] = value
    if value is GONE:
        del parent[path[-1]]
    return json.dumps(data)


def refusal(text, cls):
    """The message of a refusal; None where the plan is read."""
    try:
        Plan.from_json(text, cls)
    except PlanError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("wrong", WRONG)
def test_each_field_that_is_wrong_is_named_with_a_bound_and_a_remedy(name, wrong):
    plan, cls = PLANS[name]
    fields = json.loads(plan.to_json())
    assert refusal(json.dumps(fields), cls) is None
    for path in [(field,) for field in fields] + [
        ("combination", field) for field in fields["combination"] or ()
    ]:
        message = refusal(edited(plan, path, WRONG[wrong]), cls)
        if message is None:
            assert (path[-1], wrong) in HARMLESS or fields[path[0]] is WRONG[wrong], path
            continue
        assert ".".join(path) in message or f", in field {path[-1]}" in message, message
        assert re.search(
            "must |JSON is malformed|not a private plan|is not 1 or 2, those read|the plan is for", message
        )
        assert "; " in message, message


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("field", ["delays", "acceptance", "ramp"])
def test_a_list_of_another_length_or_order_is_named(name, field):
    plan, cls = PLANS[name]
    good = json.loads(plan.to_json())[field]
    for bad in (good[:-1], good[:-2], good * 2, good[1:], good[::-1], [*good[:-1], None], [*good[:-1], "x"]):
        message = refusal(edited(plan, (field,), bad), cls)
        if message is None:  # a ramp or acceptance that is another, no worse; or a single delay turned round
            assert field == "ramp" or bad == good
        else:
            assert re.search(rf"\b{field}\b", message), message
            assert "; " in message, message


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("options", ("batch",), "1600", r"batch must be a whole number in 1\.\.2\^50: expected `int`, "),
        ("options", ("batch",), GONE, r"batch must be a whole .*: object missing required field `batch`; "),
        ("options", ("eta",), math.nan, r"JSON is malformed: .* in field eta; "),
        ("options", ("eta",), 19.0, r"delta must be kept, and no δ below 1 is, got 0\.0.*eta and batch 0, and .* 0\.9"),
        ("options", ("order",), 500.0, r"delta must be .* at order = 500 0\.9"),
        ("options", ("ramp",), [str(2**63)] * 3, r"delta must be .*the ends of ramp cost 0\.8"),
        ("stable", ("batch",), 40, r"delta must be .*: .* eta and batch 0\.7"),
        ("options", ("delta",), 0.01, r"delta must be at least 0\.04\d*, got 0\.01: at ε = 3 acceptance .*; the "),
        ("options", ("batch",), 10**9, r"delay 1 must be at least 2000000098, got 3298"),
        ("options", ("candidates",), 4, r"candidates must be at most 3, got 4: mode options takes no more for"),
        ("options", ("candidates",), 2, r"cut_from must be 3, got None: candidates is 2, and mode options takes 3; "),
        ("combined", ("combination", "rule_epsilon"), 1.5, r"combination\.rule_epsilon must be at most epsilon = 4\.0"),
        ("combined", ("combination", "head_start"), 20, r"rule_delta must be at least .*head_start = 20 "),
        ("combined", ("combination", "gamma"), 0.9, r"rule_delta must be at most delta = 0\.\d+, got 0\.9"),
        ("combined", ("combination", "gamma"), None, r"combination\.gamma must lie in \(0, 1\): expected `float`"),
        ("combined", ("combination", "gamma"), GONE, r"combination\.gamma must .*missing required field `gamma`; "),
        ("combined", ("ramp",), ["1", "2.5"], r"plan's ramp must rise within .*, got '2\.5'; the plan was edited"),
        ("combined", ("ramp",), ["1", "9" * 21], r"plan's ramp must rise within .*, got '9{12}"),
        ("combined", ("beta",), 1e-40, r"batch must be at least \d+, got 1600: with eta = 0\.05 .* beta = 1e-40"),
        ("combined", ("class_digest",), "Points()", r"the plan is for Points\(\), its class_digest, .*; give that"),
    ],
)  # fmt: skip
def test_what_is_said(name, path, value, message):
    plan, cls = PLANS[name]
    assert re.search(message, refusal(edited(plan, path, value), cls))


def test_a_plan_is_saved_whole_and_a_file_that_is_none_is_named(tmp_path):
    plan, cls = PLANS["combined"]
    file = tmp_path / "plan.json"
    plan.save(file)
    assert Plan.load(file, cls) == Plan.load(str(file), cls) == plan
    assert file.read_text() == plan.to_json() + "\n"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(
        PlanError, match=r"plan .*missing\.json: cannot be read .*; give a file that plan --out"
    ):
        Plan.load(tmp_path / "missing.json", cls)
    file.write_text("{")
    with pytest.raises(PlanError, match=r"plan .*plan\.json: malformed private plan"):
        Plan.load(file, cls)
