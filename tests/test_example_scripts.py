"""The scripts in examples/ run as a user runs them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def private_prediction():
    spec = importlib.util.spec_from_file_location(
        "private_prediction", ROOT / "examples/private_prediction.py"
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_private_prediction_script_draws_and_prints(private_prediction, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(private_prediction, "DELTAS", (1e-3,))
    private_prediction.main(
        ["--out", str(tmp_path / "new"), "--rounds", "2000", "--runs", "2", "--events", "60"]
    )
    assert (tmp_path / "new/private-prediction.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    for agent in ("SOA, not private", "SubsampledSOA", "CandidateReplacementPredictor", "PrivatePredictor"):
        assert printed.count(agent) >= 5  # on three synthetic streams and two real ones
    assert "60 events" in printed


@pytest.mark.parametrize("name", ["one label repeated", "benign: sessions", "Algorithm 1"])
def test_its_streams_are_realisable_and_as_long_as_asked(private_prediction, name):
    cls = private_prediction.Point3()
    for seed in range(5):
        runs = list(private_prediction.STREAMS[name](5000, private_prediction.Key.from_seed(seed)))
        assert sum(times for _, times in runs) == 5000
        agent = private_prediction.SOA(cls)
        for (x, y), _ in runs:
            agent.learn_one(x, y)
        assert agent.realisable


def test_what_is_promised_holds_on_average(private_prediction):
    for name in private_prediction.STREAMS:
        for track in private_prediction.panel(name, 1e-3, 10**6, 2).tracks:
            if not track.label.startswith("SubsampledSOA"):  # its wait has as wide a law as its mean
                assert track.mean[-1] <= track.bound


def test_a_folder_that_cannot_be_written_is_no_traceback(private_prediction, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="error: "):
        private_prediction.main(
            ["--out", str(tmp_path / "file"), "--rounds", "100", "--runs", "1", "--events", "9"]
        )
