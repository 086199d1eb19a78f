"""The command ``plan`` as a user meets it."""

from __future__ import annotations

import json

import pytest

from streamlearn.hypotheses import Point3
from streamlearn.planning import candidate_plan, private_plan


def test_the_explanation(run):
    plan = private_plan(Point3(), 1.0, 1e-4)
    assert run("plan", "--class", "point3", "--delta", "1e-4").stdout == plan.explain() + "\n"


def test_json(run):
    found = json.loads(run("plan", "-c", "point3", "--delta", "1e-4", "--alone", "--json").stdout)
    assert found == json.loads(json.dumps(candidate_plan(Point3(), 1.0, 1e-4).figures()))
    assert found["expected_mistakes"] is None


def test_late_labels_cost_more(run):
    prompt, late = (
        json.loads(run("plan", "-c", "point3", "--delta", "1e-4", "--max-delay", p, "--json").stdout)
        for p in (0, 20)
    )
    assert late["mistake_bound"] > prompt["mistake_bound"]


def test_the_papers_constants_are_refused_with_the_number(run):
    done = run("plan", "-c", "point3", "--paper", code=1)
    assert "10^990 mistakes" in done.stderr
    assert "9^N" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-c", "point3", "--epsilon", "0"], "epsilon must lie in"),
        (["-c", "point3", "--delta", "0.5"], "delta must lie in"),
        (["-c", "point3", "--mode", "best"], "mode must be one of"),
        (["-c", "point3", "--split", "even"], "split must be"),
        (["-c", "point3", "--max-delay", "-1"], "max_delay must"),
        (["-c", "points:1"], "cls must have a Littlestone dimension of at least 1"),
        (["-c", "nothing"], "cannot use the class"),
    ],
)
def test_mistakes_end_in_one_line(run, arguments, message):
    import re

    assert re.search(message, run("plan", *arguments, code=1).stderr)
