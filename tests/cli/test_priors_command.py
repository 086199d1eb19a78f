"""What ``streamlearn priors`` prints, and groups, tails and drift in the other commands."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from streamlearn import cli
from streamlearn.agents import LDPOptimalStopper
from streamlearn.priors import Empirical


@pytest.fixture
def call(monkeypatch, capsys):
    """Run the command in this process: (standard output, standard error); a mistake must be one line."""

    def called(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["streamlearn", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        assert (end.value.code or 0) == code, err
        if code == 1:
            assert err.startswith("error: ")
            assert err.count("\n") == 1
        return out, err

    return called


def write(path, values):
    rows = [f"{auction},{value!r}" for auction, people in enumerate(values.tolist()) for value in people]
    path.write_text("auction,bid\n" + "\n".join(rows) + "\n")
    return path


VALUES = np.random.default_rng(1).uniform(size=(400, 4))


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "bids.csv", VALUES)


def test_the_table_in_a_process_of_its_own(run, log):
    done = run("priors", log, "--groups", "1-2,3+4", "--ldp", 1, "--range", "0,1")
    for text in (
        "laws learned from 200 earlier episodes",
        "1-2",
        "3-4",
        "expected reward: ",
        "(biased up)",
        "enough: ",
        "tail: the 5 largest values",
        "drift: none found in 200 later episodes",
        "learned from the later part",
        "learned under LDP: 800 people, one bit each at ε = 1",
    ):
        assert text in done.stdout
    assert "values of the log" in done.stderr


def test_json_holds_the_same_figures(call, log):
    out, err = call("priors", log, "--learn", 100, "--json", "--ldp", 1, "--range", "0,1", "--thresholds", 4)
    found = json.loads(out)
    learned = VALUES[:100]
    assert [row["stages"] for row in found["priors"]] == ["1", "2", "3", "4"]
    for row, stage in zip(found["priors"], learned.T, strict=True):
        assert (row["values"], row["mean"]) == (100, pytest.approx(stage.mean()))
        assert row["90%"] == np.sort(stage)[89]
    enough = found["enough"]
    stopper = LDPOptimalStopper([Empirical(stage) for stage in learned.T], 1.0)
    assert (enough["plug_in"], enough["episodes"], enough["scored"]) == (stopper.value, 100, 300)
    assert enough["sizes"] == [10, 20, 50, 100]
    assert len(enough["shares"]) == 4
    assert found["drift"]["later"] == 300
    assert not found["drift"]["found"]
    assert found["ldp"]["people"] == 400
    assert found["ldp"]["epsilon"] <= 1.0
    assert found["ldp"]["plug_in"] == enough["held_out"]
    assert found["change"]["value"] == pytest.approx(stopper.value)
    assert "values of the log" in err


def test_without_ldp_there_is_none(call, log):
    assert json.loads(call("priors", log, "--json", "--pooled")[0])["ldp"] is None


def test_another_agent_and_level_change_the_answer(call, log):
    values = {
        json.loads(call("priors", log, "--pooled", "--json", *how)[0])["enough"]["plug_in"]
        for how in ((), ("-e", "2"), ("-e", "1,1,2,2"), ("-a", "single-threshold"))
    }
    assert len(values) == 4


def test_drift_tails_and_a_short_log_are_warned_of(call, tmp_path):
    values = VALUES.copy()
    values[200:] += 1.0
    values[7, 2] = 500.0
    _, err = call("priors", write(tmp_path / "log.csv", values), "--ldp", 1, "--range", "0,0.5")
    warnings = [line for line in err.splitlines() if line.startswith("warning: ")]
    for text in (
        "largest values carry",
        "values changed after",
        "lie outside --range",
        "later episodes know",
    ):
        assert sum(text in warning for warning in warnings) == 1
    assert "500" not in err


def test_a_log_too_short_to_say_much(call, tmp_path):
    out, err = call("priors", write(tmp_path / "log.csv", np.zeros((12, 2))), "--learn", 5)
    assert "drift: 5 and 7 episodes are too few to find any" in out
    assert "nan" not in out
    assert "only 5 episodes to learn from" in err


def test_replay_warns_too(call, tmp_path):
    values = VALUES.copy()
    values[200:] += 1.0
    values[7, 2] = 500.0
    out, err = call("replay", write(tmp_path / "log.csv", values), "-a", "optimal", "--json")
    assert json.loads(out)["learned_from"] == 200
    assert "warning: the 5 largest values carry" in err
    assert "warning: values changed after the part learned from" in err
    assert "500" not in err


def test_replay_of_a_steady_log_warns_of_nothing(call, log):
    assert "warning" not in call("replay", log, "-a", "optimal", "--json")[1]


def test_solve_replay_and_sweep_take_groups(call, tmp_path):
    values = VALUES * [1.0, 1.2, 1.4, 1.6]
    log = write(tmp_path / "log.csv", values)
    whole = LDPOptimalStopper(
        [Empirical(values[:, :2].ravel())] * 2 + [Empirical(values[:, 2:].ravel())] * 2, 1.0
    )
    assert json.loads(call("solve", "--log", log, "--groups", "1-2,3-4", "--json")[0])["value"] == whole.value
    scores = set()
    for how in ((), ("--pooled",), ("--groups", "1-2,3-4"), ("--groups", "1+3,2+4")):
        results = json.loads(call("replay", log, "-a", "optimal", "--json", *how)[0])["results"]
        scores.add(results["optimal, ε = 1"]["reward"][0])
        swept = json.loads(call("sweep", "--log", log, "-a", "optimal", "-e", 1, "--json", *how)[0])[
            "results"
        ]
        assert swept == results
    assert len(scores) == 4


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--groups", "1-2"], "leave out stage 3"),
        (["--groups", "1-3,3-4"], "stage 3 twice"),
        (["--groups", "1-9"], "stages are 1..4"),
        (["--groups", "1-2,x"], "neither"),
        (["--groups", "4-1"], "neither"),
        (["--groups", "1-999999999"], "neither"),
        (["--groups", ""], "neither"),
        (["--groups", "1-4", "--pooled"], "not both"),
        (["--ldp", "1"], "--range"),
        (["--range", "0,1"], "--ldp"),
        (["--ldp", "1", "--range", "0"], "two numbers"),
        (["--ldp", "1", "--range", "0,1,2"], "two numbers"),
        (["--ldp", "1", "--range", "1,0"], "low < high"),
        (["--ldp", "0", "--range", "0,1"], "epsilon"),
        (["--ldp", "nan", "--range", "0,1"], "epsilon"),
        (["--ldp", "1", "--range", "0,1", "--thresholds", "0"], "thresholds"),
        (["--agent", "lucky"], "--agent"),
        (["--epsilon", "x"], "--epsilon"),
        (["--learn", "400"], "leaves none"),
    ],
)
def test_a_mistake_gets_one_line(call, log, arguments, what):
    assert what in call("priors", log, *arguments, code=1)[1]


def test_groups_are_for_logs(call):
    assert "learned from a log" in call("solve", "4*uniform(0,1)", "--groups", "1-4", code=1)[1]
    assert "learned from a log" in call("sweep", "4*uniform(0,1)", "--pooled", code=1)[1]
