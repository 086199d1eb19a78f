"""Figures of stopping: what is drawn, said and tabled is what the stopper and its plan say."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from instances import UNIFORMS, mixed

from streamlearn.agents import LDPOptimalStopper, StaticStopper
from streamlearn.bounds import w_over_l, w_over_m, w_over_v
from streamlearn.errors import MissingExtraError, ParameterError
from streamlearn.priors import as_priors
from streamlearn.replays import benchmarks, evaluate_policy
from streamlearn.replays.drawings import STYLES, Drawing, across
from streamlearn.replays.figures import Band, Benchmark, Curve, price_drawing, price_of_privacy
from streamlearn.replays.inlinesvg import inline_svg
from streamlearn.replays.levelplans import level_plan, runs, spread
from streamlearn.replays.prophetfigure import Between, Gap, gap_drawing
from streamlearn.replays.stoppingfigures import privacy_drawing, stopping_law_drawing, thresholds_drawing

LEVELS = (0.0, 1.0, 2.0, 5.0)  # at 0 nobody of the mixed priors is asked
MIXED = as_priors(mixed())


def plans(agent=LDPOptimalStopper, priors=MIXED, levels=LEVELS):
    return [level_plan(f"ε = {level:g}", agent(priors, level), priors) for level in levels]


def drawn(drawing, panel):
    """The axes on which one panel has drawn itself."""
    return list(drawing.figures())[panel].axes[0]


def lines(axes):
    """The labelled lines of axes: their points and the lines."""
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def points(line):
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


def legend_texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


# --- plans by level


def test_a_plan_without_recorded_shares_has_the_exact_ones():
    for plan, level in zip(plans(), LEVELS, strict=True):
        stopper = LDPOptimalStopper(MIXED, level)
        exact = evaluate_policy(stopper, MIXED)
        assert math.fsum(plan.asked) == pytest.approx(exact.mean_asked, rel=1e-12, abs=1e-15)
        assert plan.stop_law.tolist() == exact.stop_law.tolist()
        assert plan.cases == list(stopper.cases)
        assert plan.break_even.tolist() == stopper.break_even_epsilons.tolist()
        assert all((share > 0) == (case == "ask") for share, case in zip(plan.asked, plan.cases, strict=True))


def test_recorded_shares_are_kept_and_only_the_optimal_stopper_has_prices():
    shares = [0.25] * 10
    plan = level_plan("x", StaticStopper(MIXED, 1.0), MIXED, shares)
    assert plan.asked.tolist() == shares
    assert plan.break_even is None
    assert plan.marginal is None


def test_runs_and_spread():
    assert list(runs(["skip", "ask", "ask", "accept"])) == [("skip", 1, 1), ("ask", 2, 3), ("accept", 4, 4)]
    many = plans(levels=np.linspace(0.0, 4.0, 9))
    chosen = [plan.label for plan in spread(many)]
    assert len(chosen) == 4
    assert chosen[-1] == "ε = 4"
    assert all("ask" in plan.cases for plan in spread(many))
    nobody = plans(levels=(0.0,))
    assert spread(nobody) == nobody


# --- thresholds and cases


def test_thresholds_are_drawn_where_somebody_is_asked_and_nowhere_else():
    found = plans()
    axes = drawn(thresholds_drawing("t", found, unit="bid", source="some priors"), 0)
    by_label = lines(axes)
    assert list(by_label) == ["ε = 1", "ε = 2", "ε = 5"] == legend_texts(axes)
    for plan in found[1:]:
        x, y = points(by_label[plan.label])
        assert x.tolist() == list(range(1, 11))
        asks = np.array([case == "ask" for case in plan.cases])
        assert np.array_equal(y[asks], LDPOptimalStopper(MIXED, plan.epsilon).thresholds[asks])
        assert np.isnan(y[~asks]).all()
    assert "(bid)" in axes.get_ylabel()
    assert "Theorem 4.4" in axes.get_ylabel()
    assert axes.get_xlabel().splitlines() == ["stage i, in the order of arrival", "some priors"]


def test_every_level_has_a_row_of_its_cases():
    found = plans()
    axes = drawn(thresholds_drawing("t", found), 1)
    bars = [bar for container in axes.containers for bar in container if math.isfinite(bar.get_y())]
    rows = {}
    for bar in bars:
        place = round(bar.get_y() + bar.get_height() / 2)
        stages = range(round(bar.get_x() + 0.5), round(bar.get_x() + 0.5 + bar.get_width()))
        rows.setdefault(place, {}).update(dict.fromkeys(stages, (bar.get_facecolor(), bar.get_hatch())))
    looks = {}
    for place, plan in enumerate(found):
        assert sorted(rows[place]) == list(range(1, 11))
        for stage, case in enumerate(plan.cases, start=1):
            looks.setdefault(case, set()).add(rows[place][stage])
    assert all(len(look) == 1 for look in looks.values())
    assert len(set.union(*looks.values())) == 3  # told apart by colour, and by hatch in grey print
    assert len({hatch for look in looks.values() for _, hatch in look}) == 3
    assert [label.get_text() for label in axes.get_yticklabels()] == [plan.label for plan in found]
    assert sorted(legend_texts(axes)) == ["accept, ask nothing", "ask for a random bit", "skip, ask nothing"]


def test_the_words_and_the_table_say_the_plan():
    found = plans(levels=(1.0,))
    drawing = thresholds_drawing("t", found)
    assert drawing.words == (
        "At ε = 1, stages 1 to 3 skip unasked, stage 4 asks, stages 5 to 6 skip unasked, stage 7 accepts unasked, "
        "stage 8 skips unasked, stages 9 to 10 accept unasked; the threshold is 2 at stage 4."
    )
    assert drawing.columns == ["stage", "ε = 1: case", "threshold"]
    assert [row[1] for row in drawing.rows] == found[0].cases
    assert [row[2] for row in drawing.rows if row[1] == "ask"] == [found[0].thresholds[3]]
    assert all(math.isnan(row[2]) for row in drawing.rows if row[1] != "ask")


# --- where the privacy goes


def test_shares_break_even_levels_and_prices_are_the_stoppers():
    found = plans()
    drawing = privacy_drawing("p", found, unit="bid", source="some priors", asked="7 episodes")
    shares, levels, prices = (drawn(drawing, panel) for panel in range(3))
    for plan in found[1:]:
        stopper = LDPOptimalStopper(MIXED, plan.epsilon)
        assert points(lines(shares)[plan.label])[1].tolist() == plan.asked.tolist()
        drawn_levels = points(lines(levels)[plan.label])[1]
        exact = stopper.break_even_epsilons
        assert np.array_equal(drawn_levels[np.isfinite(exact)], exact[np.isfinite(exact)])
        assert np.isnan(drawn_levels[np.isinf(exact)]).all()
        assert points(lines(prices)[plan.label])[1].tolist() == stopper.marginal_prices.tolist()
    dashed = [
        line for line in levels.get_lines() if line.get_linestyle() == "--" and len(line.get_xdata()) == 2
    ]
    assert [line.get_ydata()[0] for line in dashed] == [plan.epsilon for plan in found[1:]]
    assert "7 episodes" in shares.get_ylabel()
    assert "(bid per ε)" in prices.get_ylabel()
    assert any(text.startswith("never pays: stage") for text in legend_texts(levels))


def test_the_table_of_privacy_holds_what_is_drawn():
    plan = plans(levels=(5.0,))[0]
    drawing = privacy_drawing("p", [plan])
    assert drawing.columns == ["stage", "ε = 5: asked", "break-even ε", "dW/dε"]
    assert [row[2:] for row in drawing.rows] == [
        list(pair) for pair in zip(plan.break_even, plan.marginal, strict=True)
    ]
    assert [row[1] for row in drawing.rows] == [f"{share:.1%}" for share in plan.asked]


def test_other_stoppers_have_no_prices_to_draw():
    drawing = privacy_drawing("p", plans(StaticStopper, levels=(1.0,)))
    assert len(drawing.panels) == 1
    assert drawing.columns == ["stage", "ε = 1: asked"]
    assert "worth most" not in drawing.words


# --- stopping-time law


def test_the_law_is_that_of_the_policy_with_nobody_aside():
    drawing = stopping_law_drawing("s", plans(priors=as_priors(UNIFORMS)), source="some priors")
    axes = drawn(drawing, 0)
    for place, level in enumerate(LEVELS[1:]):
        law = evaluate_policy(LDPOptimalStopper(UNIFORMS, level), UNIFORMS).stop_law
        x, y = points(lines(axes)[f"ε = {level:g}"])
        assert (x.tolist(), y.tolist()) == (list(range(1, 11)), law[:-1].tolist())
        alone = [line for line in axes.get_lines() if line.get_label().startswith("_")][place]
        assert alone.get_xdata()[0] > 10.4  # no stage
        assert alone.get_ydata()[0] == law[-1]
        assert [row[1 + place] for row in drawing.rows] == [f"{share:.1%}" for share in law]
    assert axes.get_xticklabels()[-1].get_text() == "nobody"
    assert [row[0] for row in drawing.rows] == [*map(str, range(1, 11)), "nobody"]


# --- the gap to prophets


def gap(levels=(0.0, 1.0, 5.0), sure=(True, False, True)):
    w = np.array([LDPOptimalStopper(UNIFORMS, level).value for level in levels])
    upper = np.where(sure, w * 1.02, w * 1.05)
    return Gap(
        np.array(levels), 10, benchmarks.prophet(UNIFORMS), benchmarks.online(UNIFORMS), w,
        private=Between(w * 1.02, upper, np.array(sure)), binary=Between(w * 1.01, w * 1.01, np.array([True] * 3)),
        interactive=w * 1.06, static=w * 0.99,
    )  # fmt: skip


def test_values_of_the_gap_are_drawn_and_uncertain_ones_are_hollow():
    found = gap()
    axes = drawn(gap_drawing("g", found, unit="bid", source="some priors"), 0)
    by_label = lines(axes)
    assert set(by_label["prophet M: mean maximum"].get_ydata()) == {found.prophet}
    assert set(by_label["best without privacy V"].get_ydata()) == {found.online}
    assert points(by_label["interactive upper bound of L (ours)"])[1].tolist() == found.interactive.tolist()
    assert points(by_label["optimal stopper W, Theorem 4.4"])[1].tolist() == found.ldp_online.tolist()
    assert points(by_label["one channel for all"])[1].tolist() == found.static.tolist()
    blue = [line for line in axes.get_lines() if line.get_color() == STYLES[0][0] and len(line.get_xdata())]
    through, filled, hollow = (points(line)[1].tolist() for line in blue)
    assert through == found.private.value.tolist()
    assert filled == found.private.value[[0, 2]].tolist()
    assert hollow == found.private.value[[1]].tolist()
    assert [line.get_markerfacecolor() for line in blue[1:]] == [STYLES[0][0], "none"]
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.max() == found.private.upper.max()
    assert any(label.startswith("hollow") for label in legend_texts(axes))


def test_nothing_is_hollow_where_all_is_certified():
    labels = legend_texts(drawn(gap_drawing("g", gap(sure=(True, True, True))), 0))
    assert not any(label.startswith("hollow") for label in labels)


def test_shares_of_the_gap_lie_above_their_worst_cases():
    found = gap()
    axes = drawn(gap_drawing("g", found), 1)
    by_label = lines(axes)
    assert points(by_label["W/M"])[1] == pytest.approx(found.ldp_online / found.prophet)
    assert points(by_label["W/V"])[1] == pytest.approx(found.ldp_online / found.online)
    assert points(by_label["W/L"])[1] == pytest.approx(found.ldp_online / found.private.upper)
    dashed = [
        line for line in axes.get_lines() if line.get_linestyle() == "--" and len(line.get_xdata()) == 200
    ]
    for line, worst in zip(dashed, (w_over_m, w_over_v, w_over_l), strict=True):
        assert line.get_ydata() == pytest.approx([worst(10, level) for level in points(line)[0].tolist()])
    assert [line.get_color() for line in dashed] == [by_label[f"W/{name}"].get_color() for name in "MVL"]


def test_the_table_and_words_of_the_gap():
    found = gap()
    drawing = gap_drawing("g", found)
    assert drawing.columns == [
        "ε",
        "W",
        "W/V",
        "W/M",
        "L ≥",
        "L ≤",
        "B ≥",
        "B ≤",
        "interactive ≤",
        "one channel",
    ]
    middle = dict(zip(drawing.columns, drawing.rows[1], strict=True))
    assert (middle["L ≥"], middle["L ≤"]) == (found.private.value[1], found.private.upper[1])
    assert middle["W/M"] == found.ldp_online[1] / found.prophet
    assert "the private prophet gets 0.868" in drawing.words  # certified at ε = 5
    assert "between" in gap_drawing("g", gap(sure=(False, True, True))).words
    bare = Gap(found.epsilons, 10, found.prophet, found.online, found.ldp_online)
    assert gap_drawing("g", bare).columns == ["ε", "W", "W/V", "W/M"]
    assert "private prophet" not in gap_drawing("g", bare).words


# --- the price of privacy


def test_benchmarks_join_the_price_of_privacy_in_no_agents_colour():
    levels, rewards = np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.6, 0.8])
    curve = Curve("optimal", levels, Band(rewards, rewards - 0.1, rewards + 0.1), Band(*[rewards / 0.86] * 3))
    prophet = Benchmark("private prophet L", levels, rewards + 0.05)
    drawing = price_drawing(
        "p", [curve], optimum=0.86, maximum=0.91, horizon=10, benchmarks=[prophet], unit="bid", source="a log"
    )
    left, right = (drawn(drawing, panel) for panel in range(2))
    assert points(lines(left)["private prophet L"])[1].tolist() == prophet.rewards.tolist()
    assert points(lines(right)["private prophet L"])[1] == pytest.approx(prophet.rewards / 0.86)
    assert lines(left)["private prophet L"].get_color() not in [colour for colour, _ in STYLES]
    assert points(lines(left)["optimal"])[1].tolist() == rewards.tolist()
    band = left.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (rewards[0] - 0.1, rewards[-1] + 0.1)
    assert not right.collections  # exact: no band
    worst = points(lines(right)["optimal, worst case of all priors (Theorem 5.1)"])
    assert worst[1] == pytest.approx(np.exp(worst[0]) / (9 + np.exp(worst[0])))
    assert "(bid)" in left.get_ylabel()
    assert "a log" in left.get_xlabel()
    assert drawing.rows[1] == ["1", "optimal", 0.6, 0.6 / 0.86]


# --- what all share


def test_panels_keep_their_legends_below_the_axis_label():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for drawing in (thresholds_drawing("t", plans()), gap_drawing("g", gap()), privacy_drawing("p", plans())):
        for figure in drawing.figures():
            FigureCanvasAgg(figure).draw()
            (axes,) = figure.axes
            legend, label = axes.get_legend().get_window_extent(), axes.xaxis.label.get_window_extent()
            assert legend.y1 <= label.y0
            assert legend.y0 >= 0
            assert legend.x1 <= figure.bbox.x1
            assert axes.yaxis.label.get_window_extent().y1 <= figure.bbox.y1
            assert axes.yaxis.label.get_window_extent().y0 >= 0


def test_a_whole_drawing_is_written_with_the_log_s_name_as_it_is(tmp_path):
    drawing = thresholds_drawing("of a$b$.csv", plans(), source="priors of a$b$.csv", unit="$")
    drawing.save(tmp_path / "f.svg")
    text = (tmp_path / "f.svg").read_text()
    assert text.count("of a$b$.csv") == 3  # matplotlib notes each text it draws as a comment
    assert "($)" in text
    for axes in (figure.axes[0] for figure in drawing.figures()):
        written = [axes.xaxis.label, axes.yaxis.label, *axes.get_legend().get_texts()]
        assert not any(label.get_parse_math() for label in written)  # else $b$ is a formula
    assert [file.name for file in tmp_path.iterdir()] == ["f.svg"]
    with pytest.raises(ParameterError, match="must end in"):
        drawing.save(tmp_path / "f.txt")


def test_figures_need_levels_and_matplotlib(monkeypatch, tmp_path):
    empty = Gap(np.array([]), 3, 1.0, 1.0, np.array([]))
    for draw in (thresholds_drawing, privacy_drawing, stopping_law_drawing):
        with pytest.raises(ParameterError, match="at least one privacy level"):
            draw("x", [])
    with pytest.raises(ParameterError, match="at least one privacy level"):
        gap_drawing("x", empty)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plot"):
        gap_drawing("g", gap()).save(tmp_path / "f.png")
    with pytest.raises(MissingExtraError, match="plot"):
        price_of_privacy(tmp_path / "f.png", "x", [], optimum=1.0, maximum=1.0, horizon=2)


def test_a_long_source_is_wrapped():
    assert all(len(line) <= 60 for line in across("x", "priors of " + "many " * 40).splitlines())


def test_a_long_horizon_still_draws(tmp_path):
    priors = as_priors(UNIFORMS) * 30
    found = plans(priors=priors, levels=(0.5, 1.0))
    for drawing in (
        thresholds_drawing("t", found),
        privacy_drawing("p", found),
        stopping_law_drawing("s", found),
    ):
        drawing.save(tmp_path / "f.png")
        assert len(drawing.rows) >= 300
    assert len(drawn(thresholds_drawing("t", found), 0).get_xticks()) <= 11


# --- SVG for a page


def svg(drawing, panel=0, prefix="f"):
    return inline_svg(list(drawing.figures())[panel], prefix, "a name", "words")


def test_inline_svg_takes_the_page_s_ink_and_has_no_style_or_stranger_ids():
    text = svg(thresholds_drawing("t", plans()), panel=1)
    assert "style=" not in text
    assert "#000000" not in text
    assert "currentColor" in text
    assert "xlink" not in text
    assert text.startswith("<svg viewBox=")
    assert 'role="img" aria-label="a name" aria-describedby="words"' in text
    assert "<text" in text  # letters stay letters
    assert STYLES[0][0].lower() in text.lower()


def test_inline_svg_is_the_same_each_time_and_its_ids_are_its_own():
    drawing = gap_drawing("g", gap())
    assert svg(drawing) == svg(drawing)
    assert svg(drawing, prefix="a").replace('"a-', '"b-').replace("#a-", "#b-") == svg(drawing, prefix="b")


def test_letters_no_font_has_are_no_warning():
    odd = Drawing("x", [lambda axes: axes.set_xlabel("價格")], "", [], [])
    assert "價格" in svg(odd)
