"""Bounds as curves, measured mistakes, and the figure of both: what is drawn is what the functions say."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Key, bounds
from streamlearn.agents import SOA, SubsampledSOA
from streamlearn.errors import MissingExtraError, ParameterError
from streamlearn.hypotheses import Intervals, Point3, Points, SingletonsOrEmpty, Thresholds
from streamlearn.replays import boundcurves, boundfigure, measured
from streamlearn.replays.boundcurves import Setting, curves, grid, usual
from streamlearn.replays.measured import Measured
from streamlearn.replays.synthetic import subsampled_soa_law

POINT3 = Setting(d=1, dummy=True, delta=0.001, gammas=(0.1, 0.5))
KEY = Key.from_seed(11)


# --- curves


@given(st.integers(1, 10**300), st.integers(2, 200))
def test_a_grid_runs_from_1_to_the_longest(longest, points):
    found = grid(longest, points)
    assert found[0] == 1
    assert found[-1] == longest
    assert len(found) <= points
    assert all(low < high for low, high in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("repetition", lambda n: bounds.repetition_lower(n, delta=0.001)),
        ("algorithm1", lambda n: bounds.algorithm1_lower(n, delta=0.001)),
        ("algorithm1-paper", lambda n: bounds.algorithm1_lower(n, delta=0.001, constants="paper")),
        ("theorem1", lambda n: bounds.theorem1_lower(n, delta=0.001)),
        ("theorem1-paper", lambda n: bounds.theorem1_lower(n, delta=0.001, constants="paper")),
        ("forced", lambda n: bounds.point3_lower(n, delta=0.001)),
        ("gl21", lambda n: bounds.quoted("GL21", n, constant=1.0, delta=0.001)),
        ("lwy24", lambda n: bounds.quoted("LWY24", n, constant=1.0, delta=0.001)),
        ("p", lambda n: bounds.paper_probability(n, delta=0.001)),
        ("stages", lambda n: [bounds.stages(t) for t in n]),
        ("trivial", list),
    ],
)
def test_curves_are_the_functions_of_bounds(name, expected):
    lengths = [1, 2, 27, 10**6, 10**40]
    (found,) = curves([name], lengths, POINT3)
    assert found.values.tolist() == [float(value) for value in expected(lengths)]


def test_theorem_2_and_the_forced_curve_take_the_dimension():
    at = Setting(d=7, dummy=False, epsilon=0.5, delta=0.01)
    paper, forced = curves(["theorem2-paper", "forced"], [1, 10**6], at)
    asked = {"epsilon": 0.5, "delta": 0.01}
    assert (
        paper.values.tolist() == bounds.littlestone_lower([1, 10**6], 7, **asked, constants="paper").tolist()
    )
    assert forced.values.tolist() == bounds.littlestone_lower([1, 10**6], 7, **asked).tolist()


def test_leakage_is_that_of_the_last_stage():
    (found,) = curves(["leakage"], [1, 3, 3**30], POINT3._replace(delta=0.05))
    p = bounds.paper_probability(3**30, delta=0.05)
    assert found.values.tolist() == [0.0, 0.0, bounds.leakage(3**30, p, delta=0.05)[29]]
    assert found.values[-1] <= 0.25  # what the paper's p is chosen for


@given(
    st.integers(1, 10**12), st.floats(0, 5), st.floats(0, 0.25), st.integers(1, 50), st.floats(1e-6, 1),
)  # fmt: skip
def test_lower_bounds_stay_below_upper_ones(longest, epsilon, delta, d, gamma):
    at = Setting(d, dummy=True, epsilon=epsilon, delta=max(delta, gamma), gammas=[gamma])
    found, _ = usual([longest], at)
    lower = {curve.name: curve.values[0] for curve in found if curve.kind == "lower"}
    forced = lower["forced"]
    # Up to the rounding of the sums, and of what is added up in another order.
    assert forced <= min(longest, d / gamma) * (1 + 1e-9)
    assert all(value <= forced * (1 + 1e-9) for value in lower.values())


def test_what_does_not_apply_is_left_out_with_its_reason():
    found, left_out = usual([100], Setting(d=1, dummy=False, epsilon=2.0))
    assert [curve.name for curve in found] == ["repetition", "forced", "soa", "d/0.01", "trivial"]
    assert left_out.keys() == {"algorithm1", "theorem1", "theorem2-paper"}
    assert "ask for repetition" in left_out["algorithm1"]
    planned, _ = usual([100], POINT3._replace(candidate=3261.0, head_start=654.0))
    assert planned[-1].name == "theorem3"
    assert planned[-1].values.tolist() == [11103.0]


def test_unknown_curves_are_refused_with_those_there_are():
    with pytest.raises(ParameterError, match=r"no curve 'x'; choose among repetition, .*subsampled"):
        curves(["x"], [1], POINT3)
    assert {name.lower() for name in bounds.QUOTED} < set(boundcurves.NAMES)


# --- measured mistakes


class Always:
    """Predicts 0, whatever it learns."""

    def predict_one(self, x):  # noqa: ARG002
        return False

    def learn_one(self, x, y):
        pass


def test_a_mean_and_its_error_are_over_independent_runs():
    seen, keys = [], set()

    def stream(rounds, key):
        assert rounds == 6
        seen.append(1 + key.uniform64("length", 0) % 6)
        keys.add(key.fingerprint)
        return [(1, True)] * seen[-1]

    def agent(key):
        keys.add(key.fingerprint)
        return Always()

    mean, error = measured.mean_mistakes(stream, agent, 6, 9, KEY)
    assert len(keys) == 18  # each run a stream and an agent of its own
    assert mean == np.mean(seen)
    assert error == pytest.approx(2 * np.std(seen, ddof=1) / 3, rel=1e-12)
    assert measured.mean_mistakes(stream, agent, 6, 9, KEY) == (mean, error)
    assert measured.mean_mistakes(stream, agent, 6, 9, Key.from_seed(12)) != (mean, error)


def test_streams_too_long_are_not_run():
    ran = []

    def stream(rounds, key):  # noqa: ARG001
        ran.append(rounds)
        return [(1, True)]

    found = measured.over_lengths("x", stream, lambda _: Always(), [10, 10**5, 10**5 + 1], KEY, runs=2)
    assert ran == [10, 10, 10**5, 10**5]
    assert found.places.tolist() == [10, 10**5]
    assert found.runs == [2, 2]
    assert measured.over_lengths("x", stream, lambda _: Always(), [10**6], KEY).places.tolist() == []


def test_levels_reach_the_learner():
    asked = []

    def agent(delta, key):  # noqa: ARG001
        asked.append(delta)
        return Always()

    found = measured.over_deltas("x", measured.repeated(Point3()), agent, [0.5, 0.1], 5, KEY, runs=2)
    assert asked == [0.5, 0.5, 0.1, 0.1]
    assert found.places.tolist() == [0.5, 0.1]


@pytest.mark.parametrize(
    "cls", [Point3(), Points(), SingletonsOrEmpty(2), Thresholds(2), Thresholds(40), Intervals(9)]
)
def test_streams_are_realisable_so_soa_errs_at_most_d_times(cls):
    for streams in (measured.hard_streams(cls), measured.repeated(cls)):
        for seed in range(20):
            stream = streams(200, Key.from_seed(seed))
            agent = SOA(cls)
            mistakes = 0
            for x, y in stream:
                assert cls.knows(x)
                mistakes += agent.predict_one(x) != y
                agent.learn_one(x, y)
            assert agent.realisable
            assert mistakes <= cls.dimension


def test_subsampled_soa_errs_as_often_as_its_law_says():
    # Exact mean by the law, and Hoeffding: each run errs 0 to 30 times, so 3,000 runs miss by 30·√(ln(2e6)/6000) = 1.48
    # with probability at most 1e-6.
    law, rounds, runs = subsampled_soa_law(Point3(), 0.1), 30, 3000
    exact = sum(
        (1 - law([((1, bit), before)], 1)) if bit else law([((1, bit), before)], 1)
        for bit in (True, False)
        for before in range(rounds)
    ) / 2  # fmt: skip
    mean, _ = measured.mean_mistakes(
        measured.repeated(Point3()), lambda key: SubsampledSOA(Point3(), 0.1, key), rounds, runs, KEY
    )
    assert abs(mean - exact) <= rounds * math.sqrt(math.log(2e6) / (2 * runs))
    assert exact == pytest.approx((1 - 0.9**30) / 0.2)  # B = 1 only: SOA says 0 until it retains one
    assert exact >= bounds.repetition_lower(rounds, epsilon=0.0, delta=0.1)


# --- the figure


def drawn(at, longest, panel):
    """The lines of one panel by their labels, and its axes."""
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.set(xscale="log", yscale="log")
    if panel == "left":
        boundfigure._lengths_panel(axes, at, grid(longest, 21))
    else:
        boundfigure._deltas_panel(axes, at, longest, np.geomspace(1e-6, 0.25, 21))
    return {line.get_label(): line for line in axes.get_lines()}, axes


def data(lines, start):
    (line,) = [line for label, line in lines.items() if label.startswith(start)]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), line


def test_the_left_panel_shows_our_functions_over_lengths():
    lines, axes = drawn(POINT3, 10**6, "left")
    T = grid(10**6, 21)  # noqa: N806
    expected = {
        "one label repeated": bounds.repetition_lower(T, delta=0.001),
        "Theorem 1 summed": bounds.algorithm1_lower(T, delta=0.001),
        "Theorem 1, closed": bounds.theorem1_lower(T, delta=0.001),
        "T: every round": T,
        "d: SOA": [1] * len(T),
        "d/γ: subsampled SOA, γ = 0.1": [10] * len(T),
        "d/γ: subsampled SOA, γ = 0.5": [2] * len(T),
    }
    for label, values in expected.items():
        x, y, line = data(lines, label)
        assert x.tolist() == T
        assert y == pytest.approx(np.array(values, dtype=float))
        upper = label.startswith(("T:", "d:", "d/γ"))
        assert line.get_linestyle() == ("-" if upper else "--")  # as in the paper: upper solid, lower dashed
    assert len(lines) == len(expected)
    assert "in rounds" in axes.get_xlabel()


def test_the_right_panel_shows_our_functions_over_delta():
    lines, axes = drawn(POINT3, 10**6, "right")
    x, y, line = data(lines, "one label repeated")
    assert y == pytest.approx(bounds.repetition_lower(10**6, delta=x))
    assert "real lower bound" in line.get_label()
    assert data(lines, "Theorem 1 summed")[1] == pytest.approx(bounds.algorithm1_lower(10**6, delta=x))
    assert data(lines, "Theorem 1, closed")[1] == pytest.approx(bounds.theorem1_lower(10**6, delta=x))
    assert data(lines, "[GL21]")[1] == pytest.approx(np.full(21, math.log(10**6)))
    quoted, ours = data(lines, "[LWY24]")[1], bounds.quoted("LWY24", 10**6, constant=1.0, delta=x)
    assert quoted[ours > 0.1] == pytest.approx(ours[ours > 0.1])
    assert np.isnan(quoted[ours <= 0.1]).all()
    assert "constant unknown" in data(lines, "[LWY24]")[2].get_label()
    unnamed = [line for label, line in lines.items() if label.startswith("_")]
    assert any(np.allclose(line.get_ydata(), 1 / x) for line in unnamed if len(line.get_ydata()) == 21)  # d/δ
    assert "Figure 1" in axes.get_title()


def test_a_class_of_larger_dimension_shows_theorem_2_where_it_holds():
    at = Setting(d=5, dummy=False, epsilon=0.1, delta=0.001)
    lines, axes = drawn(at, 10**5, "right")
    x, y, _ = data(lines, "Theorem 2")
    holds = x <= 0.1**2
    paper = bounds.littlestone_lower(10**5, 5, epsilon=0.1, delta=x[holds], constants="paper")
    assert y[holds] == pytest.approx(paper)
    assert np.isnan(y[~holds]).all()
    assert data(lines, "one label repeated at each")[1] == pytest.approx(
        bounds.littlestone_lower(10**5, 5, epsilon=0.1, delta=x)
    )
    assert not any(label.startswith("[") for label in lines)  # quoted for POINT3
    assert "Figure 1" not in axes.get_title()


def test_theorem_3_is_drawn_for_the_delta_of_its_plan_and_above():
    at = POINT3._replace(candidate=3261.0, head_start=654.0)
    x, y, _ = data(drawn(at, 10**6, "right")[0], "Theorem 3")
    assert np.array_equal(np.isnan(y), x < 0.001)
    assert set(y[x >= 0.001]) == {11103.0}
    assert set(data(drawn(at, 10**6, "left")[0], "Theorem 3")[1]) == {11103.0}


def test_the_grey_gap_lies_between_the_best_bounds():
    _, axes = drawn(POINT3, 10**6, "left")
    (gap,) = axes.collections
    corners = gap.get_paths()[0].vertices
    T = np.array(grid(10**6, 21), dtype=float)  # noqa: N806
    upper = np.minimum(T, 1000.0)
    for place, height in zip(T, upper, strict=True):
        assert corners[corners[:, 0] == place, 1].max() == pytest.approx(height)
        assert corners[corners[:, 0] == place, 1].min() == pytest.approx(
            bounds.repetition_lower(place, delta=0.001)
        )


def test_measured_means_are_drawn_with_their_errors():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    found = Measured("SOA", np.array([10.0, 100.0]), np.array([0.0, 2.0]), np.array([0.0, 3.0]), [5, 5])
    (mark,) = boundfigure.marks([found], [])
    boundfigure._mark(axes, mark, 0.01)
    means, _, (bars,) = axes.containers[0]
    assert means.get_ydata().tolist() == [0.01, 2.0]  # a logarithmic axis has no 0
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [
        [0.01, 0.01],
        [pytest.approx(0.01), 5.0],
    ]


def test_the_whole_figure_is_written(tmp_path):
    found = Measured("SOA, some streams", np.array([10.0]), np.array([0.5]), np.array([0.1]), [5])
    boundfigure.bounds_figure(
        tmp_path / "f.svg", "point3", POINT3, 10**4,
        over_lengths=boundfigure.marks([found], []), over_deltas=boundfigure.marks([], [found]), rounds=77,
    )  # fmt: skip
    text = (tmp_path / "f.svg").read_text()  # matplotlib notes each text it draws as a comment
    for part in (
        "point3 (d = 1)",
        "the real lower bound on streams one can run",
        "measured: SOA, some streams",
        "77 rounds",
    ):
        assert part in text
    assert "γ &gt; δ" in text or "γ > δ" in text
    assert [file.name for file in tmp_path.iterdir()] == ["f.svg"]


def test_a_figure_is_refused_before_any_work(tmp_path, monkeypatch):
    for longest in (9, 10**100 + 1):
        with pytest.raises(ParameterError, match="10 to 1e100 rounds"):
            boundfigure.bounds_figure(tmp_path / "f.png", "x", POINT3, longest)
    with pytest.raises(ParameterError, match="must end in"):
        boundfigure.check_figure(tmp_path / "f.txt", 100)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plot"):
        boundfigure.check_figure(tmp_path / "f.png", 100)
    assert list(tmp_path.iterdir()) == []


def test_the_longest_figure_draws_without_a_warning(tmp_path):
    boundfigure.bounds_figure(tmp_path / "f.png", "x", POINT3, 10**100)
    assert (tmp_path / "f.png").stat().st_size > 1000
