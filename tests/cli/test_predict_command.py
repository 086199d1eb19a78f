"""The command ``predict`` as a user meets it."""

from __future__ import annotations

import json

import pytest

from streamlearn import Key
from streamlearn.agents import SOA, SubsampledSOA
from streamlearn.hypotheses import Stumps, Thresholds
from streamlearn.replays import replay, synthetic

BUNDLED = ("predict", "bundled:image-segments", "--class", "stumps", "--sample", 300)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{i * 37 % 101 + 1},{int(i * 37 % 101 >= 60)},{i},{i + i * 7 % 13}" for i in range(400)]
    path.write_text("x,y,asked,answered\n" + "\n".join(rows) + "\n")
    return path


def examples():
    return [(i * 37 % 101 + 1, i * 37 % 101 >= 60) for i in range(400)]


def test_real_data_with_and_without_privacy(run):
    out = run(*BUNDLED, "--agent", "soa", "--agent", "subsampled", "--gamma", 0.5, "--gamma", 0.05).stdout
    for text in ("2010 events", "soa", "γ = 0.5", "(0, 0.05)-joint differential privacy", "not scored"):
        assert text in out
    assert "no hypothesis of the class" not in out


def test_the_figures_are_those_of_the_library(run):
    found = json.loads(
        run(*BUNDLED, "-a", "soa", "-a", "subsampled", "-g", 0.5, "--seed", 3, "--json").stdout
    )
    events = list(synthetic.image_segments())
    cls = Stumps.from_sample(x for x, _ in events[:300])
    assert found["dimension"] == cls.dimension
    soa = replay(events[300:], SOA(cls))
    assert found["results"]["soa"]["mistakes"] == soa.mistakes <= cls.dimension
    private = replay(events[300:], SubsampledSOA(cls, 0.5, Key.from_seed(3)))
    assert found["results"]["subsampled, γ = 0.5"]["mistakes"] == private.mistakes
    assert found["results"]["soa"]["contradictions"] == 0


def test_the_private_predictors_run_beside_the_others(run, log):
    arguments = (
        "--instance",
        "x",
        "--class",
        "thresholds:101",
        "--json",
        "-a",
        "candidates",
        "-a",
        "private",
    )
    found = json.loads(run("predict", log, *arguments, "--epsilon", 2, "--delta", 1e-3).stdout)["results"]
    # A stream so short teaches them nothing: both say what the first, public candidate says.
    public = SOA(Thresholds(101)).release()
    expected = sum(public(x) != y for x, y in examples())
    assert [found[name]["mistakes"] for name in ("candidates", "private")] == [expected, expected]
    assert found["private"]["guarantee"] == "(2, 0.001)-joint differential privacy per event"
    assert "epsilon must lie in" in run("predict", log, *arguments, "--epsilon", 0, code=1).stderr


def test_what_nothing_realises_is_said(run):
    out = run("predict", "bundled:phishing", "--class", "stumps", "--sample", 300, "--cuts", 3).stdout
    assert "no hypothesis of the class agrees with all labels" in out


def test_a_log_of_ones_own(run, log):
    arguments = ("--instance", "x", "--class", "thresholds:101", "--json")
    expected = replay(examples(), SOA(Thresholds(101))).mistakes
    assert json.loads(run("predict", log, *arguments).stdout)["results"]["soa"]["mistakes"] == expected
    assert (
        json.loads(run("predict", "-", *arguments, text=log.read_text()).stdout)["results"]["soa"]["rounds"]
        == 400
    )


@pytest.mark.parametrize(
    ("options", "delay"),
    [
        (["--delay", 7], 7),
        (["--time", "asked", "--delay", 7], 7),
        (["--time", "asked", "--labelled", "answered"], lambda x, _: ((x - 1) * 71 % 101) * 7 % 13),
    ],
)
def test_delays(run, log, options, delay):
    arguments = ("--instance", "x", "--class", "thresholds:101", "--json")
    found = json.loads(run("predict", log, *arguments, *options).stdout)["results"]["soa"]
    if callable(delay):  # by the event's number, which these instances do not tell
        stream = [({"x": x, "lag": i * 7 % 13}, y) for i, (x, y) in enumerate(examples())]
        expected = replay(stream, _OnX(), delay="lag").mistakes
    else:
        expected = replay(examples(), SOA(Thresholds(101)), delay=delay).mistakes
    assert found["mistakes"] == expected
    assert found["mistake_bound"] is None


class _OnX(SOA):
    """SOA on one feature of x."""

    def __init__(self):
        super().__init__(Thresholds(101))

    def predict_one(self, x, **kwargs):
        return super().predict_one(x["x"], **kwargs)

    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x["x"], y, **kwargs)


def test_malformed_rows_are_counted(run, log):
    log.write_text(log.read_text() + "5,maybe,1,2\n")
    arguments = ("predict", log, "--instance", "x", "--class", "thresholds:101")
    assert "line 402: field 'y' is not 0 or 1" in run(*arguments, code=1).stderr
    assert "left out: 1 rows (field 'y' is not 0 or 1" in run(*arguments, "--on-error", "skip").stdout


def test_cut_points_can_be_learned_from_what_is_read_once(run, log):
    arguments = ("--class", "stumps", "--sample", 50, "--features", "x", "--json")
    from_file = json.loads(run("predict", log, *arguments).stdout)
    assert json.loads(run("predict", "-", *arguments, text=log.read_text()).stdout) == from_file
    assert from_file["results"]["soa"]["rounds"] == 350
    timed = json.loads(run("predict", log, *arguments, "--time", "asked", "--labelled", "answered").stdout)
    assert timed["results"]["soa"]["rounds"] == 350


def test_instances_that_the_class_does_not_know_are_said(run, log):
    out = run("predict", log, "--class", "thresholds:101").stdout  # x is a dict of three features here
    assert "the class does not know the instance of 400 labels" in out
    timed = (
        "-",
        "--class",
        "stumps",
        "--sample",
        50,
        "--features",
        "x",
        "--time",
        "asked",
        "--labelled",
        "answered",
    )
    assert "standard input can be read once" in run("predict", *timed, text=log.read_text(), code=1).stderr


def test_a_figure_is_written(run, tmp_path):
    run(*BUNDLED, "--plot", "mistakes.png")
    assert (tmp_path / "mistakes.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "--class", "point3"], "no such file"),
        (
            ["bundled:other", "--class", "point3"],
            "is not bundled; choose bundled:image-segments or bundled:phishing",
        ),
        (["bundled:phishing", "--class", "nonsense"], "there is no class 'nonsense'"),
        (["bundled:phishing", "--class", "stumps"], "--sample N"),
        (["bundled:phishing", "--class", "point3", "--sample", 5], "--class stumps alone"),
        (
            ["bundled:phishing", "--class", "point3", "--agent", "mirror"],
            "choose soa, subsampled, candidates",
        ),
        (["bundled:phishing", "--class", "point3", "--gamma", "0.5"], "name that agent too"),
        (
            ["bundled:phishing", "--class", "point3", "-a", "subsampled", "--gamma", "0"],
            "gamma must lie in (0, 1]",
        ),
        (
            ["bundled:phishing", "--class", "point3", "-a", "subsampled", "--gamma", "nan"],
            "gamma must lie in (0, 1]",
        ),
        (["bundled:phishing", "--class", "point3", "--delay", "soon"], "must be a whole number of events"),
        (["bundled:phishing", "--class", "point3", "--delay", "-1"], "--delay must be >= 0"),
        (["bundled:phishing", "--class", "point3", "--label", "y"], "--label is for logs of your own"),
        (["bundled:phishing", "--class", "point3", "--plot", "x.txt"], "must end in"),
        (["bundled:phishing", "--class", "stumps", "--sample", 5000], "must be less than the 1250 events"),
        (["bundled:phishing", "--class", "stumps", "--sample", 1250], "must be less than the 1250 events"),
        (["log.csv", "--class", "point3", "--label", "z"], "no column 'z' for label"),
        (["log.csv", "--class", "point3", "--labelled", "answered"], "labelled needs time"),
    ],
)
@pytest.mark.usefixtures("log")
def test_mistakes_of_the_user(run, arguments, message):
    assert message in run("predict", *arguments, code=1).stderr
