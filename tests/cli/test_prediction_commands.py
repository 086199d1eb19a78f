"""dimension, adversary and bounds: in this process for the figures, as real processes for files, pipes and errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from streamlearn import Key, bounds, cli
from streamlearn.agents import SOA
from streamlearn.hypotheses import Conjunctions, Stumps, Thresholds
from streamlearn.replays import replay
from streamlearn.replays.synthetic import littlestone_adversary, point3_adversary

COMMANDS = ("dimension", "adversary", "bounds")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in this process; return what it printed on standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["streamlearn", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == code, printed.err
        return printed

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Run a command that must be refused in one line, without a file left behind; return the line."""

    def call(*arguments):
        before = sorted(tmp_path.iterdir())
        printed = run(*arguments, code=1)
        assert printed.out == ""
        assert printed.err.startswith("error: ")
        assert printed.err.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == before
        return printed.err

    return call


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- as a user meets them


def process(*arguments, cwd, code=0):
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "streamlearn", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env=environment, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_an_example_that_runs(command, tmp_path):
    shown = " ".join(process(command, "--help", cwd=tmp_path).stdout.split())
    *_, example = shown.partition(f"Example: streamlearn {command}")
    arguments = [
        argument for argument in example.split() if argument != "--measure"
    ]  # which takes half a minute
    process(command, *arguments, cwd=tmp_path)


def test_a_stream_on_standard_output_is_the_file(tmp_path):
    draw = ("adversary", "-c", "thresholds:100", "-T", "500", "--seed", 3, "--out")
    piped, written = process(*draw, "-", cwd=tmp_path), process(*draw, "s.jsonl", cwd=tmp_path)
    assert piped.stdout == (tmp_path / "s.jsonl").read_text()
    assert piped.stderr == written.stdout  # the account never mixes with the stream
    assert written.stderr == ""


def test_a_closed_pipe_ends_a_long_stream_quietly(tmp_path):
    command = [sys.executable, "-m", "streamlearn", "adversary", "-c", "point3", "-T", "1e12", "--out", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as running:
        assert json.loads(running.stdout.readline()).keys() == {"x", "y"}
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 1


def test_a_mistake_is_one_line_in_a_real_process(tmp_path):
    error = process("dimension", "-c", "threshold:3", cwd=tmp_path, code=1).stderr
    assert error.startswith("error: cannot use the class 'threshold:3'")
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_usage_exits_with_2(run, command):
    run(command, "--nope", code=2)
    run(command, code=2)  # --class is needed


# --- dimension


def test_dimension_prints_tree_and_decomposition(run):
    out = run("dimension", "--class", "thresholds:3", "--tree", "--p", 3).out
    assert out == (
        "Littlestone dimension of thresholds:3: 2\n"
        "decomposition dimension ρ_3: 0\n"
        "essential hypotheses C_3: 4\n"
        "  1 nowhere\n  1 at 3\n  1 at 2, 3\n  1 at 1, 2, 3\n"
        "a shattered tree:\n"
        "2?\n├─0─ 3?\n│    ├─0─ ·\n│    └─1─ ·\n└─1─ 1?\n     ├─0─ ·\n     └─1─ ·\n"
    )


@pytest.mark.parametrize(
    ("name", "p", "dimension", "rank", "essential"),
    [
        ("point3", 1, 1, 1, [[]]),
        ("points:4", 3, 1, 0, [[1], [2], [3], [4]]),
        ("points", 5, 1, 1, [[]]),  # no table of them: closed form
        ("points:2^60", 7, 1, 1, [[]]),
        ("singletons-or-empty:2", 2, 1, 0, [[], [1], [2]]),
    ],
)
def test_dimension_as_json(run, name, p, dimension, rank, essential):
    found = json.loads(run("dimension", "-c", name, "--p", p, "--json").out)
    assert found == {
        "class": name, "dimension": dimension, "p": p, "decomposition_dimension": rank, "essential": essential,
    }  # fmt: skip


def test_dimension_of_a_huge_class_and_its_tree(run):
    found = json.loads(run("dimension", "-c", "thresholds:2^60", "--tree", "--json").out)
    assert found["dimension"] == 60
    assert "… 54 more levels" in found["tree"]


def test_dimension_of_tables(run, tmp_path):
    table = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    np.save(tmp_path / "t.npy", table)
    np.savetxt(tmp_path / "t.csv", table, fmt="%d", delimiter=",")
    for name in ("t.npy", "t.csv"):
        assert "finite:" in run("dimension", "-c", f"finite:{name}").out
        assert json.loads(run("dimension", "-c", f"finite:{name}", "--json").out)["dimension"] == 2


def test_many_essential_hypotheses_are_cut_and_counted(run):
    out = run("dimension", "-c", "thresholds:30", "--p", 40).out
    assert "essential hypotheses C_40: 31" in out
    assert "  … 11 more; --json lists all" in out
    assert (
        len(json.loads(run("dimension", "-c", "thresholds:30", "--p", 40, "--json").out)["essential"]) == 31
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-c", "thresholds:0"], "m must be a whole number >= 1"),
        (["-c", "finite:missing.csv"], "missing.csv.*cannot be read"),
        (["-c", "thresholds:1e6", "--p", 2], "1000001 hypotheses on 1000000 instances; at most"),
        (["-c", "point3", "--p", 0], "p must be a whole number >= 1"),
        (["-c", "conjunctions:a,b,c,d,e,f,g,h,i,j,k,l,m,n:14"], "Conjunctions of at most 14 of 14 features"),
    ],
)
def test_dimension_refuses_in_one_line(refused, arguments, named):
    assert re.search(named, refused("dimension", *arguments))


# --- plan: classes it takes without a log


def test_plan_counts_cut_points_where_predict_would_learn_them(run):
    ask = ("plan", "--delta", "1e-4", "--alone", "--json")
    counted = json.loads(run(*ask, "-c", "stumps", "--features", "age, height", "--cuts", 2).out)
    named = json.loads(run(*ask, "-c", "stumps:age=31,60.5;height=1.5,1.8").out)
    assert counted.pop("class") == "Stumps({'age': [1.0, 2.0], 'height': [1.0, 2.0]})"
    del named["class"]
    assert counted == named


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-c", "stumps"], "--class stumps needs the features and how many cut points each has"),
        (["-c", "stumps", "--cuts", 3], "(--features a,b --cuts 3)"),
        (["-c", "Stumps ", "--features", "a"], "the cut points themselves (stumps:FEATURE=c1,c2)"),
        (["-c", "stumps:a=1", "--cuts", 3], "give them with --class stumps alone"),
        (["-c", "point3", "--features", "a"], "give them with --class stumps alone"),
        (["-c", "stumps", "--features", "a,a", "--cuts", 3], "the feature 'a' is given twice"),
        (["-c", "stumps", "--features", "a,", "--cuts", 3], "is not a feature with its cut points"),
        (["-c", "stumps", "--features", "a,b,c", "--cuts", 32768], "fewer cut points"),
        (["-c", "intervals:5000"], "coarsen the points: Intervals(4096), on the command line intervals:4096"),
        (["-c", "intervals:5000", "--mode", "options"], "with (x - 1) * 4096 // 5000 + 1 in place of x"),
    ],
)
def test_plan_refuses_in_one_line(refused, arguments, named):
    assert named in refused("plan", *arguments)


def test_plan_takes_cut_points_within_bounds(run):
    assert "--cuts" in run("plan", "-c", "stumps", "--features", "a", "--cuts", 0, code=2).err


# --- adversary


def test_adversary_writes_algorithm_1_for_point3(run, tmp_path):
    account = run("adversary", "-c", "point3", "-T", 1000, "--p", 1, "--seed", 1, "--out", "s.jsonl").out
    stream = point3_adversary(1000, 1.0, key=Key.from_seed(1))
    assert lines(tmp_path / "s.jsonl") == [{"x": x, "y": int(y)} for x, y in stream]
    assert f"point3: 1000 rounds, {len(stream.informative)} informative" in account
    assert f"path: 1 → {int(stream.bit)}; labels drawn" in account
    forced = float(bounds.algorithm1_lower(1000, 1.0))
    assert (
        f"ε = 0.01, δ = 0 err at least {forced:.6g} times, on average over the draws (Algorithm 1, p = 1)"
        in account
    )


@pytest.mark.parametrize("name", ["points", "points:2^60", "singletons-or-empty:3"])
def test_algorithm_1_is_for_all_points(run, tmp_path, name):
    account = run("adversary", "-c", name, "-T", 100, "--p", 1, "--seed", 1, "--out", "s.jsonl").out
    expected = [{"x": x, "y": int(y)} for x, y in point3_adversary(100, 1.0, key=Key.from_seed(1))]
    assert lines(tmp_path / "s.jsonl") == expected
    assert "(Algorithm 1, p = 1)" in account


def test_adversary_takes_the_papers_p_for_the_privacy_asked(run, tmp_path):
    account = run(
        "adversary", "-c", "point3", "-T", "3^9", "-e", 1, "--delta", 0.1, "--seed", 5, "--out", "s.csv"
    ).out
    p = float(bounds.paper_probability(3**9, epsilon=1.0, delta=0.1))
    assert p < 0.5
    assert f"p = {p:.6g}" in account
    stream = point3_adversary(3**9, p, key=Key.from_seed(5))
    assert (tmp_path / "s.csv").read_text() == "x,y\n" + "".join(f"{x},{int(y)}\n" for x, y in stream)


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("thresholds:1000", Thresholds(1000)),
        ("conjunctions:a,b,c:3", Conjunctions(["a", "b", "c"], 3)),
        ("stumps:h=1,2,3,4;w=7", Stumps({"h": [1, 2, 3, 4], "w": [7]})),
        ("thresholds:2", Thresholds(2)),
    ],
)
def test_adversary_writes_theorem_2_for_other_classes(run, tmp_path, name, cls):
    account = run("adversary", "-c", name, "-T", 600, "--p", 0.5, "--seed", 2, "--out", "s.jsonl").out
    stream = littlestone_adversary(cls, 600, p=0.5, key=Key.from_seed(2))
    read = lines(tmp_path / "s.jsonl")
    assert read == [{**(x if isinstance(x, dict) else {"x": x}), "y": int(y)} for x, y in stream]
    phases = cls.dimension - 1
    forced = phases * bounds.algorithm1_lower(600 // phases, 0.5) if phases else bounds.repetition_lower(600)
    assert f"err at least {float(forced):.6g} times" in account


def test_adversary_chooses_against_a_law(run, tmp_path):
    draw = (
        "adversary",
        "-c",
        "thresholds:1000",
        "-T",
        2000,
        "--p",
        1,
        "--seed",
        7,
        "--out",
        "s.jsonl",
        "--against",
    )
    account = run(*draw, "soa").out
    assert "labels chosen against an exact law (soa)" in account
    assert "expected mistakes on informative rounds: 8\n" in account  # one a node, the root being the dummy
    stream = [(line["x"], bool(line["y"])) for line in lines(tmp_path / "s.jsonl")]
    assert replay(stream, SOA(Thresholds(1000))).mistakes >= 8
    subsampled = run(*draw, "subsampled:0.25").out
    assert "against an exact law (subsampled:0.25)" in subsampled
    assert float(subsampled.rsplit(":", 1)[1]) > 8
    assert "subsampled:1)" in run(*draw, "subsampled:1").out


def test_a_class_of_large_dimension_is_judged_by_clones(run):
    draw = ("adversary", "-c", "thresholds:2^13", "-T", 30, "--seed", 7, "--out", "s.jsonl", "--against")
    assert "against a law estimated from 32 runs" in run(*draw, "subsampled:0.5").out


def test_without_a_seed_streams_differ(run, tmp_path):
    for name in "ab":
        run("adversary", "-c", "thresholds:2^60", "-T", 1000, "--out", f"{name}.jsonl")
    assert (tmp_path / "a.jsonl").read_text() != (tmp_path / "b.jsonl").read_text()  # 59 fair bits: 2^-59


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-c", "point3", "-T", "0"], "--length must be at least 1"),
        (["-c", "point3", "-T", "1.5"], "--length: '1.5' is not a whole number"),
        (["-c", "point3", "-T", "2^64"], "T must be at most"),
        (["-c", "point3", "-T", "9", "--p", "0"], "--p must lie in (0, 1], got 0"),
        (["-c", "point3", "-T", "9", "--p", "nan"], "--p must lie in (0, 1], got nan"),
        (["-c", "point3", "-T", "9", "-e", "-1"], "epsilon must be a number in [0, 300]"),
        (["-c", "point3", "-T", "9", "--delta", "2"], "delta must be a number in [0, 1]"),
        (["-c", "point3", "-T", "9", "--against", "perceptron"], "choose soa or subsampled:GAMMA"),
        (["-c", "point3", "-T", "9", "--against", "soa:1"], "choose soa or subsampled:GAMMA"),
        (
            ["-c", "point3", "-T", "9", "--against", "subsampled:2"],
            "GAMMA must be a number in (0, 1], got '2'",
        ),
        (
            ["-c", "point3", "-T", "9", "--against", "subsampled:x"],
            "GAMMA must be a number in (0, 1], got 'x'",
        ),
        (
            ["-c", "point3", "-T", "1e6", "--against", "soa"],
            "--length must be at most 5000 with --against soa",
        ),
        (["-c", "points:1", "-T", "9"], "dimension >= 1"),
        (["-c", "stumps:y=1,2", "-T", "9"], "a feature called 'y'"),
        (["-c", "point3", "-T", "9", "--out", "s.txt"], "must end in .jsonl or .csv"),
        (["-c", "point3", "-T", "9", "--out", "none/s.jsonl"], "cannot be written"),
    ],
)
def test_adversary_refuses_in_one_line(refused, arguments, named):
    out = [] if "--out" in arguments else ["--out", "s.jsonl"]
    assert named in refused("adversary", *arguments, *out)


def test_a_refused_stream_leaves_the_old_file(refused, tmp_path):
    (tmp_path / "s.jsonl").write_text("mine")
    refused("adversary", "-c", "stumps:y=1,2", "-T", 9, "--out", "s.jsonl")
    assert (tmp_path / "s.jsonl").read_text() == "mine"


# --- bounds


def as_json(run, *arguments):
    return json.loads(run("bounds", *arguments, "--json").out)


def test_bounds_of_point3(run):
    found = as_json(run, "-c", "point3", "-T", "1e6", "--delta", 1e-6, "--points", 7)
    lengths = [10**k for k in range(7)]
    assert found["T"] == lengths
    level = {"epsilon": 0.01, "delta": 1e-6}
    expected = {
        "repetition": bounds.repetition_lower(lengths, **level),
        "algorithm1": bounds.algorithm1_lower(lengths, **level),
        "theorem1": bounds.theorem1_lower(lengths, delta=1e-6),
        "forced": bounds.point3_lower(lengths, **level),
        "soa": [1.0] * 7,
        "d/1e-06": [1e6] * 7,
        "trivial": lengths,
    }
    assert {name: curve["values"] for name, curve in found["curves"].items()} == {
        name: list(values) for name, values in expected.items()
    }
    assert list(found["left_out"]) == ["theorem2-paper"]
    assert {curve["kind"] for curve in found["curves"].values()} == {"lower", "upper"}


def test_bounds_of_a_class_of_larger_dimension(run):
    found = as_json(
        run,
        "-c",
        "thresholds:1000",
        "-T",
        10**5,
        "-e",
        0.5,
        "--delta",
        0.1,
        "--gamma",
        0.5,
        "--gamma",
        1,
        "--points",
        2,
    )
    curves = {name: curve["values"] for name, curve in found["curves"].items()}
    level = {"epsilon": 0.5, "delta": 0.1}
    assert curves["forced"] == bounds.littlestone_lower([1, 10**5], 9, **level).tolist()
    assert (
        curves["theorem2-paper"]
        == bounds.littlestone_lower([1, 10**5], 9, **level, constants="paper").tolist()
    )
    assert (curves["soa"], curves["d/0.5"], curves["d/1"]) == ([9, 9], [18, 18], [9, 9])
    assert "epsilon must be at most 0.01" in found["left_out"]["theorem1"]


def test_every_curve_can_be_asked_for(run):
    from streamlearn.replays.boundcurves import NAMES

    one = [name for name in NAMES if name != "theorem2-paper"]
    asked = [part for name in one for part in ("--curve", name)]
    found = as_json(
        run,
        "-c",
        "point3",
        "--delta",
        1e-6,
        "--candidate",
        3261,
        "--head-start",
        654,
        "--constant",
        2,
        *asked,
    )
    assert list(found["curves"]) == [name if name != "subsampled" else "d/1e-06" for name in one]
    assert found["curves"]["theorem3"]["values"] == [11103.0] * 13
    assert found["curves"]["gl21"]["values"][-1] == pytest.approx(2 * 6 * np.log(10))
    assert found["curves"]["stages"]["values"][-1] == 12
    assert as_json(run, "-c", "thresholds:9", "--curve", "theorem2-paper")["curves"].keys() == {
        "theorem2-paper"
    }


def test_the_table_names_its_sources(run):
    out = run("bounds", "-c", "point3", "-T", 1000, "--points", 4).out
    assert "point3 (Littlestone dimension 1), ε = 0.01, δ = 0: expected mistakes in T rounds" in out
    for line in (
        "repetition: lower; one label repeated",
        "theorem1: lower; Theorem 1",
        "γ = 0.01: d/γ (Fact 5)",
        "left out: theorem2-paper",
    ):
        assert line in out
    assert "1,000       69.56" in out
    assert "[GL21]" not in out
    assert "its constant is unknown" in run("bounds", "-c", "point3", "--curve", "gl21").out


def test_measured_mistakes_are_those_of_the_agents(run):
    ask = ("-c", "point3", "-T", 100, "--delta", 0.5, "--gamma", 1, "--measure", "--runs", 12, "--seed", 4)
    found = as_json(run, *ask)["measured"]
    assert [series["label"] for series in found["by_length"]] == [
        "SOA, Algorithm 1's streams", "subsampled SOA, Algorithm 1's streams", "subsampled SOA, one label repeated",
    ]  # fmt: skip
    for series in found["by_length"]:
        assert series["places"] == [10, 100]
        assert series["runs"] == [12, 12]
        assert all(0 <= mean <= 1 for mean in series["means"])  # γ = 1 is SOA, and d = 1
    assert found["by_delta"]["series"] == []  # for the figure only
    soa, subsampled, _ = found["by_length"]
    assert soa["means"] == subsampled["means"]  # the same streams
    assert as_json(run, *ask)["measured"] == found
    assert as_json(run, *ask[:-1], 5)["measured"] != found


def test_measured_mistakes_in_the_table(run):
    printed = run("bounds", "-c", "thresholds:100", "-T", 300, "--measure", "--runs", 2)
    assert "measured mistakes (mean ± 2 standard errors), γ = 0.01" in printed.out
    assert "subsampled SOA, Theorem 2's streams" in printed.out
    assert "with γ > δ it may err less often" in printed.out
    assert "measuring" in printed.err


def test_bounds_draws_a_figure(run, tmp_path):
    run("bounds", "-c", "point3", "-T", 100, "--delta", 0.01, "--measure", "--runs", 2, "--plot", "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-c", "point3", "-T", "1e301"], "--length must be at most 1e300"),
        (["-c", "point3", "-e", "nan"], "epsilon must be a number in [0, 300]"),
        (["-c", "point3", "-e", "301"], "epsilon must be a number in [0, 300]"),
        (["-c", "point3", "--delta", "-0.1"], "delta must be a number in [0, 1]"),
        (["-c", "point3", "--gamma", "0"], "--gamma must lie in (0, 1], got 0"),
        (["-c", "point3", "--points", "1"], "--points must be 2 to 1000"),
        (["-c", "point3", "--runs", "1", "--measure"], "--runs must be at least 2"),
        (["-c", "point3", "--curve", "theorem9"], "there is no curve 'theorem9'; choose among repetition"),
        (
            ["-c", "point3", "--curve", "theorem2-paper"],
            "curve theorem2-paper: d must be a whole number >= 2",
        ),
        (["-c", "point3", "--curve", "theorem3"], "give --candidate and --head-start"),
        (["-c", "point3", "--candidate", "-1", "--curve", "theorem3"], "--candidate must be a number >= 0"),
        (["-c", "point3", "--candidate", "9", "--head-start", "nan"], "--head-start must be a number >= 0"),
        (["-c", "point3", "--head-start", "9"], "--head-start needs --candidate"),
        (["-c", "point3", "-e", "1", "--curve", "theorem1"], "ask for algorithm1"),
        (["-c", "thresholds:2", "--curve", "algorithm1"], "ask for repetition"),
        (["-c", "points:1", "--curve", "repetition"], "dimension 0"),
        (["-c", "points:1", "--measure"], "need a class of dimension at least 1"),
        (["-c", "point3", "-e", "0", "--curve", "gl21"], "epsilon must be > 0"),
        (["-c", "point3", "--constant", "-1"], "constant must be a number in [0, inf]"),
        (["-c", "point3", "--plot", "f.txt"], "must end in"),
        (["-c", "point3", "--plot", "none/f.png"], "folder does not exist"),
        (["-c", "point3", "-T", "9", "--plot", "f.png"], "at least 10 rounds|10 to 1e100"),
        (["-c", "point3", "-T", "1e101", "--plot", "f.png"], "10 to 1e100"),
    ],
)
def test_bounds_refuses_in_one_line(refused, arguments, named):
    error = refused("bounds", *arguments)
    assert any(part in error for part in named.split("|")), error
