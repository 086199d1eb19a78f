"""The command ``plan`` as a user meets it."""

from __future__ import annotations

import json

import pytest

from streamlearn import Key
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor
from streamlearn.hypotheses import Point3
from streamlearn.planning import Plan, candidate_plan, private_plan
from streamlearn.replays import replay


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
        (["-c", "point3", "--mode", "paper"], r"10\^990 mistakes.*Plan\.explicit"),
        (
            ["-c", "point3", "--out", "no-such-folder/plan.json"],
            "--out no-such-folder/plan.json must be a file in a",
        ),
        (["-c", "point3", "--out", "."], "--out . must be a file"),
        (["-c", "point3", "--plan", "no-such.json"], "plan no-such.json: cannot be read .*plan --out"),
        (["-c", "point3", "--alone", "--split", "paper"], "--split must not be given with --alone: "),
        *(
            (
                ["-c", "point3", "--paper", *more],
                f"{more[0]} must not be given with --paper: .*; leave out one",
            )
            for more in (
                ["--mode", "direct"],
                ["--alone"],
                ["--split", "paper"],
                ["--max-delay", "1"],
                ["--out", "x"],
            )
        ),
        *(
            (
                ["-c", "point3", "--plan", "x", *more],
                f"{more[0]} must not be given with --plan: .*; leave out one",
            )
            for more in (
                ["--epsilon", "1"],
                ["--delta", "0.1"],
                ["--mode", "direct"],
                ["--alone"],
                ["--paper"],
            )
        ),
    ],
)
def test_mistakes_end_in_one_line(run, arguments, message):
    import re

    assert re.search(message, run("plan", *arguments, code=1).stderr)


# --- saved plans

ASKED = ("-c", "point3", "--epsilon", "8", "--delta", "1e-2", "--alone")


@pytest.fixture
def saved(tmp_path):
    """The file of a private plan, and of one of candidate replacement alone."""
    made = {"private": private_plan(Point3(), 8.0, 1e-2), "candidates": candidate_plan(Point3(), 8.0, 1e-2)}
    for name, plan in made.items():
        plan.save(tmp_path / f"{name}.json")
    return {name: (tmp_path / f"{name}.json", plan) for name, plan in made.items()}


def test_a_plan_is_saved_and_explained_again(run, tmp_path):
    file, plan = tmp_path / "plan.json", candidate_plan(Point3(), 8.0, 1e-2)
    file.write_text("an old plan")
    assert run("plan", *ASKED, "--out", file).stdout == f"{plan.explain()}\n\nplan saved: {file}\n"
    assert file.read_text() == plan.to_json() + "\n"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    assert Plan.load(file, Point3()) == plan
    assert run("plan", "-c", "point3", "--plan", file).stdout == plan.explain() + "\n"
    again = tmp_path / "again.json"
    shown = run("plan", "-c", "point3", "--plan", file, "--json", "--out", again).stdout
    assert json.loads(shown) == json.loads(json.dumps(plan.figures()))
    assert again.read_text() == file.read_text()


def test_a_file_that_is_no_plan_or_not_for_the_class_is_named(run, saved, tmp_path):
    file, plan = saved["candidates"]
    assert (
        f"plan {file}: the plan is for Point3()"
        in run("plan", "-c", "points:4", "--plan", file, code=1).stderr
    )
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(json.loads(plan.to_json()) | {"eta": 20}))
    done = run("plan", "-c", "point3", "--plan", edited, code=1)
    assert f"plan {edited}: the plan's delta must be " in done.stderr
    assert (done.stdout, "Traceback" in done.stderr) == ("", False)
    edited.write_bytes(b"\xff")
    assert "malformed private plan" in run("plan", "-c", "point3", "--plan", edited, code=1).stderr


def test_an_explicit_plan_of_the_papers_mode_is_explained(run, tmp_path):
    plan = Plan.explicit(
        Point3(), mode="paper", candidates=1, epsilon=3.0, eta=0.05, batch=1600, beta=1.0, delays="paper",
        ramp=[i / 200 for i in range(1, 200)], acceptance=[i / 100 for i in range(101)],
    )  # fmt: skip
    plan.save(tmp_path / "plan.json")
    shown = run("plan", "-c", "point3", "--plan", tmp_path / "plan.json").stdout
    assert shown == plan.explain() + "\n"
    assert shown.startswith('plan "paper" for Point3()')


@pytest.mark.parametrize("name", ["private", "candidates"])
def test_predict_follows_a_saved_plan(run, saved, tmp_path, name):
    file, plan = saved[name]
    log = tmp_path / "log.csv"
    log.write_text("x,label\n" + "".join(f"{x},{int(x == 2)}\n" for x in [1, 2, 3] * 40))
    common = ("predict", log, "-c", "point3", "--instance", "x", "--seed", 5, "--json")
    followed = json.loads(run(*common, "--plan", file).stdout)["results"]
    kind = PrivatePredictor if name == "private" else CandidateReplacementPredictor
    wanted = replay([(x, x == 2) for x in [1, 2, 3] * 40], kind(Point3(), plan=plan, key=Key.from_seed(5)))
    assert list(followed) == [name]
    assert (followed[name]["mistakes"], followed[name]["rounds"]) == (wanted.mistakes, 120)
    assert list(json.loads(run(*common, "-a", "soa", "--plan", file).stdout)["results"]) == ["soa", name]
    other = {"private": "candidates", "candidates": "private"}[name]
    refused = run(*common, "-a", other, "--plan", file, code=1).stderr
    assert f"--agent {other} must not be given with --plan {file}, a plan of {name}; leave it out" in refused


@pytest.mark.parametrize("more", [["-e", 1], ["--delta", 0.01], ["--max-delay", 0]])
def test_predict_refuses_figures_beside_a_plan(run, saved, tmp_path, more):
    log = tmp_path / "log.csv"
    log.write_text("x,label\n1,0\n2,1\n")
    file = saved["candidates"][0]
    done = run("predict", log, "-c", "point3", "--instance", "x", "--plan", file, *more, code=1)
    assert "must not be given with --plan: the plan has its own; leave out" in done.stderr
