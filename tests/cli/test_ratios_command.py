"""The command ratios as a user meets it: real processes."""

from __future__ import annotations

import json

import pytest

from streamlearn import bounds

NAMES = ["V/M", "W/V", "W/M", "W/B", "W/L"]


def test_the_table(run):
    out = run("ratios", "--n", 10, "-e", 1).stdout
    lines = {line[:3]: line.split() for line in out.splitlines() if line[:3] in NAMES}
    assert "worst cases over 10 persons, ε = 1" in out
    for name, bound in (("V/M", 0.5), ("W/V", bounds.w_over_v(10, 1.0)), ("W/M", bounds.w_over_m(10, 1.0)),
                        ("W/B", bounds.w_over_b(10, 1.0)), ("W/L", bounds.w_over_l(10, 1.0))):  # fmt: skip
        assert lines[name][1] == lines[name][5] == f"{bound:.6g}"  # the bound, and measured at 1e-8
        assert float(lines[name][2]) > float(lines[name][3]) > bound
    low, high = bounds.prop56_lower(10, 1.0), bounds.prop56_upper(10, 1.0)
    assert f"the paper on W/M: between {low:.6g} and {high:.6g}" in out
    assert "without privacy" in out


def test_the_table_takes_several_levels_and_one_per_person(run):
    found = json.loads(run("ratios", "-e", "1,0.5,2", "-e", 0, "-e", "inf", "--json").stdout)
    assert [(entry["n"], entry["epsilon"]) for entry in found] == [
        (3, [1.0, 0.5, 2.0]),
        (10, 0.0),
        (10, None),
    ]
    assert [row["name"] for row in found[0]["rows"]] == NAMES
    assert "paper_w_over_m" not in found[0]
    assert found[1]["paper_w_over_m"] == [0.1, 0.1]
    worst = {row["name"]: row for row in found[0]["rows"]}
    assert worst["W/M"]["bound"] == bounds.w_over_m(3, [1.0, 0.5, 2.0])
    assert worst["W/M"]["source"] == "ours"
    assert worst["W/M"]["measured"][-1] == pytest.approx(worst["W/M"]["bound"], rel=1e-7)
    assert worst["W/M"]["parameters"][-1] == 1e-8


def test_ones_own_priors(run):
    priors = "1; discrete(0:0.75,4:0.25)"
    out = run("ratios", priors, "-e", 1).stdout
    assert "2 persons, ε = 1" in out
    assert f"{1 / 1.75:.6g}" in out  # V/M
    assert f"{bounds.w_over_v(2, 1.0):.6g}" in out
    (entry,) = json.loads(run("ratios", priors, "-e", 1, "--json").stdout)
    rows = {row["name"]: row for row in entry["rows"]}
    assert list(rows) == NAMES
    assert rows["V/M"]["low"] == rows["V/M"]["high"] == pytest.approx(1 / 1.75)
    assert rows["W/L"]["low"] >= rows["W/L"]["bound"] == bounds.w_over_l(2, 1.0)


def test_what_is_only_bounded_is_shown_as_an_interval(run):
    out = run("ratios", "2*uniform(0,1)", "-e", 1).stdout
    (line,) = [line for line in out.splitlines() if line.startswith("W/L")]
    low, high = map(float, line.split()[1:4:2])
    assert bounds.w_over_l(2, 1.0) < low < high < 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--n", 0), "n must be a whole number >= 1"),
        (("--n", 10**7), "n must be at most 100,000"),
        (("-e", "-1"), "epsilon must be >= 0"),
        (("-e", "nan"), "epsilon must be >= 0"),
        (("-e", "abc"), "--epsilon 'abc' is not a number"),
        (("--n", 3, "-e", "1,2"), "epsilon has 2 entries and n is 3"),
        (("1; 2", "-e", "1,2,3"), "epsilon has 3 entries and there are 2 priors"),
        (("1; 2", "--n", 2), "give priors or --n, not both"),
        (("nonsense(1)",), "nonsense"),
        (("",), ""),
    ],
)
def test_mistakes_end_in_one_line(run, arguments, named):
    assert named in run("ratios", *arguments, code=1).stderr


def test_help_ends_with_an_example(run):
    assert "Example: streamlearn ratios" in run("ratios", "--help").stdout


def test_one_person_has_nothing_to_lose(run):
    out = run("ratios", "--n", 1).stdout
    assert [line.split()[1:6] for line in out.splitlines() if line[:3] in NAMES] == [["1"] * 5] * 5
    assert "the paper on" not in out
