"""The command ``audit`` as a user meets it."""

from __future__ import annotations

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from streamlearn import audit
from streamlearn.agents import CandidateReplacementPredictor
from streamlearn.cli import app
from streamlearn.errors import StreamlearnError
from streamlearn.hypotheses import Point3
from streamlearn.planning import Plan

COINS = """
def noisy(bit, key):
    return bit if key.bernoulli(73, 100, "truth", 1) else 1 - bit

def careless(bit, key):
    return bit if key.uniform64("truth", 1) / 2**64 < 0.75 else 1 - bit

def broken(bit, key):
    return 1 // 0

nothing = 3
"""


@pytest.fixture
def coins(tmp_path):
    (tmp_path / "coins.py").write_text(COINS)


LAWS = "3*uniform(0,1)"


@pytest.mark.parametrize("agent", ["optimal", "static", "single-threshold"])
def test_stoppers_hold(run, agent):
    report = audit.Report.from_json(run("audit", "--agent", agent, "--priors", LAWS, "--json").stdout)
    assert (report.verdict, report.method, report.claim.notion) == ("holds", "exact", "local")
    assert 0.0 < report.bound <= 1.0


def test_a_plan_of_reports_is_tested_against_another_claim(run, tmp_path):
    run("solve", LAWS, "--epsilon", "1", "--plan", "plan.json")
    assert "**holds**" in run("audit", "--plan", "plan.json").stdout
    done = run("audit", "--plan", "plan.json", "--epsilon", "0.9", "--out", "audit.md", code=3)
    assert "**refuted**" in done.stdout
    assert (tmp_path / "audit.md").read_text() == done.stdout
    sampled = ("audit", "--plan", "plan.json", "--statistical", "--samples", "4000", "--seed", "1", "--json")
    one, two = (run(*sampled).stdout for _ in range(2))
    assert one == two
    assert audit.Report.from_json(one).claim.notion == "local"


def test_predictors(run):
    exact = (
        "audit",
        "--agent",
        "subsampled",
        "--class",
        "point3",
        "--gamma",
        "0.25",
        "--horizon",
        "2",
        "--json",
    )
    report = audit.Report.from_json(run(*exact).stdout)
    assert (report.verdict, report.fraction) == ("holds", "1/4")
    sampled = run(*exact, "--statistical", "--samples", "2000", "--seed", "1").stdout
    assert audit.Report.from_json(sampled).verdict == "not refuted"


def test_a_small_plan_is_audited_and_a_large_one_shows_nothing_at_once(run, tmp_path):
    plan = Plan.explicit(
        Point3(),
        epsilon=3.0,
        eta=0.5,
        batch=1,
        ramp=[0.5],
        acceptance=[0.0, 0.5, 1.0],
        beta=1.0,
        mode="options",
    )
    plan.save(tmp_path / "small.json")
    done = run("audit", "--plan", "small.json", "--class", "point3", "--horizon", "4", "--json")
    report = audit.Report.from_json(done.stdout)
    assert report.verdict == "holds"
    assert report.claim == CandidateReplacementPredictor(Point3(), plan=plan).guarantee
    error = run("audit", "--agent", "candidates", "--class", "point3", "--delta", "1e-3", code=1).stderr
    assert "horizon = 3 shows nothing" in error


@pytest.mark.usefixtures("coins")
def test_code_of_ones_own(run, tmp_path):
    good = run("audit", "--mechanism", "coins:noisy", "--epsilon", "1", "--out", "audit.json")
    assert "**holds**" in good.stdout
    assert audit.Report.from_json((tmp_path / "audit.json").read_text()).subject == "coins:noisy"
    run("audit", "--mechanism", "coins:careless", "--epsilon", "1", code=3)
    done = run(
        "audit", "--mechanism", "coins:careless", "--epsilon", "1", "--statistical", "--seed", "1", code=3
    )
    assert "statistical" in done.stdout
    assert json.loads(
        run("audit", "--mechanism", "coins:noisy", "-e", "1", "--inputs", "[0, 1, 0]", "--json").stdout
    )["size"] == 6  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of --agent, --plan and --mechanism, got none"),
        (["--agent", "optimal", "--mechanism", "a:b"], "give one of .*got --agent and --mechanism"),
        (["--agent", "soa", "--class", "point3"], "--agent 'soa' is unknown, or promises no privacy; choose optimal"),
        (["--agent", "optimal"], "--agent optimal needs --priors, such as"),
        (["--agent", "private"], "--agent private needs --class, such as"),
        (["--agent", "optimal", "--priors", LAWS, "--class", "point3"], "--class is for a predictor; leave it out"),
        (["--agent", "optimal", "--priors", LAWS, "--samples", "9"], "--samples is for --statistical"),
        (["--agent", "optimal", "--priors", LAWS, "--epsilon", "-1"], "epsilon must be >= 0"),
        (["--agent", "subsampled", "-c", "point3", "--epsilon", "1"], "--epsilon is not for --agent subsampled"),
        (["--agent", "subsampled", "-c", "point3", "--gamma", "2"], "gamma must lie in"),
        (["--agent", "subsampled", "-c", "point3", "--horizon", "0"], "horizon must"),
        (["--agent", "subsampled", "-c", "point3", "--horizon", "30"], "horizon = 30 with 7 examples"),
        (["--plan", "no.json"], "plan no.json"),
        (["--mechanism", "coins:noisy"], "--mechanism needs --epsilon"),
        (["--mechanism", "coins", "-e", "1"], "--mechanism must be MODULE:FUNCTION"),
        (["--mechanism", "coins:absent", "-e", "1"], r"coins:absent cannot be imported \(AttributeError\)"),
        (["--mechanism", "nowhere:noisy", "-e", "1"], r"cannot be imported \(ModuleNotFoundError\)"),
        (["--mechanism", "coins:nothing", "-e", "1"], "coins:nothing is a int; it must be a function"),
        (["--mechanism", "coins:broken", "-e", "1"], "coins:broken raised ZeroDivisionError"),
        (["--mechanism", "coins:noisy", "-e", "1", "--inputs", "0,1"], "--inputs must be a JSON list"),
        (["--mechanism", "coins:noisy", "-e", "1", "--delta", "2"], "delta must be a number"),
        (["--mechanism", "coins:noisy", "-e", "1", "--statistical", "--inputs", "[1,2,3]"], "--inputs must be two"),
        (["--mechanism", "coins:noisy", "-e", "1", "--out", "no/where.md"], "--out no/where.md must be a file in a"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("coins")
def test_bad_input_is_one_line_that_names_it(tmp_path, monkeypatch, arguments, message):
    """Within this process, since there are many; the first is run as a user does too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "coins", raising=False)
    error = CliRunner().invoke(app, ["audit", *arguments]).exception
    assert isinstance(error, StreamlearnError)
    assert re.search(message, str(error)), error
    assert "\n" not in str(error)


def test_bad_input_ends_in_exit_code_1(run):
    assert "give one of --agent" in run("audit", code=1).stderr
