"""Ratios of a user's own instance, and the table of worst cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamlearn import bounds
from streamlearn.errors import ParameterError, PriorError
from streamlearn.priors import Discrete, Uniform
from streamlearn.replays import benchmarks, synthetic
from streamlearn.replays.ratios import PARAMETERS, Ratio, worst_cases

NAMES = ["V/M", "W/V", "W/M", "W/B", "W/L"]
CERTIFIED = 1e-9
"""What L and B are known to, as a share; V, W and M are exact up to rounding."""


def by_name(rows):
    return {row.name: row for row in rows}


# --- one instance


def test_the_ratios_of_ten_uniforms():
    found = by_name(benchmarks.ratios([Uniform(0, 1)] * 10, epsilon=1.0))
    assert list(found) == NAMES
    w, v, m = 0.621897751356224999, 0.861098212205711971, 10 / 11
    for name, exact in (("V/M", v / m), ("W/V", w / v), ("W/M", w / m)):
        assert found[name].low == found[name].high == pytest.approx(exact, rel=1e-14)
    assert found["W/V"].bound == bounds.w_over_v(10, 1.0)
    assert found["W/L"].bound <= found["W/L"].low <= found["W/L"].high < 1.0
    assert found["W/B"].high > found["W/L"].low
    assert found["W/V"].source == "Theorem 5.1"


def test_where_b_is_less_than_l():
    """The paper's third contribution has it that richer alphabets do not benefit the prophet: here they do."""
    laws = [
        Discrete([0, 1, 10], [0.6, 0.3, 0.1]),
        Discrete([0.5, 1, 2], [0.2, 0.5, 0.3]),
        Discrete([0, 3, 5], [0.7, 0.2, 0.1]),
    ]
    found = by_name(benchmarks.ratios(laws, epsilon=4.0))
    w, b, ell = 2.193688101083, 2.680327573338, 2.688691645621
    assert found["W/B"].low == found["W/B"].high == pytest.approx(w / b, rel=1e-11)
    assert found["W/L"].low == found["W/L"].high == pytest.approx(w / ell, rel=1e-11)
    assert found["W/L"].low < found["W/B"].low * (1 - 1e-3)


def test_one_level_per_person():
    laws, levels = [1.0, Discrete([0, 4], [0.75, 0.25]), Discrete([0, 9], [0.9, 0.1])], [2.0, 0.5, 1.0]
    found = by_name(benchmarks.ratios(laws, levels))
    assert found["W/V"].bound == bounds.w_over_v(3, levels)
    assert found["W/M"].bound == bounds.w_over_m(3, levels)
    assert found["W/L"].bound == found["W/B"].bound == bounds.w_over_l(3, levels)
    assert [row.source for row in found.values()] == [
        "Krengel and Sucheston", "Corollary 5.5", "ours", "ours", "ours",
    ]  # fmt: skip
    # with two values, bits are all there is
    assert found["W/B"].low == pytest.approx(found["W/L"].low, rel=CERTIFIED)
    assert found["W/V"] == by_name(benchmarks.ratios(laws, np.array(levels)))["W/V"]


@pytest.mark.parametrize("seed", range(6))
def test_no_instance_is_below_its_bounds(seed):
    generator = np.random.default_rng(seed)
    laws = [
        Discrete(np.exp(generator.normal(0, 2, 3)), generator.dirichlet(np.full(3, 0.5))) for _ in range(3)
    ]
    levels = generator.choice([0.0, 0.5, 2.0, 20.0, math.inf], 3).tolist()
    for row in benchmarks.ratios(laws, levels):
        assert row.bound * (1 - 1e-12) <= row.high <= 1 + 1e-12
        assert row.low <= row.high


def test_nothing_to_gain_has_no_ratio():
    assert all(math.isnan(row.low) and math.isnan(row.high) for row in benchmarks.ratios([0.0, 0.0], 1.0))


def test_a_prophet_that_is_not_certified_gives_an_interval(monkeypatch):
    class Bounded:
        value, upper_bound, certified = 1.6, 2.0, False

    monkeypatch.setattr(benchmarks, "private_prophet", lambda *_: Bounded)
    row = by_name(benchmarks.ratios([1.0, Discrete([0, 4], [0.75, 0.25])], 1.0))["W/L"]
    assert (row.low, row.high) == (0.5, 0.625)
    assert worst_cases(2, 1.0, [0.25])[-1].measured == (0.5,)


def test_one_person_has_every_ratio_one():
    assert [(row.low, row.high, row.bound) for row in benchmarks.ratios([Uniform(0, 1)], 1.0)] == [
        (pytest.approx(1.0, rel=1e-13), pytest.approx(1.0, rel=1e-13), 1.0)
    ] * 5


def test_errors_of_an_instance():
    with pytest.raises(ParameterError, match="epsilon has 1 entries and there are 2 priors"):
        benchmarks.ratios([1.0, 2.0], [1.0])
    with pytest.raises(ParameterError, match="epsilon must be >= 0"):
        benchmarks.ratios([1.0, 2.0], -1.0)
    with pytest.raises(PriorError, match="stage 2"):
        benchmarks.ratios([1.0, -2.0], 1.0)


# --- the table


@pytest.mark.parametrize(
    "epsilon", [0.0, 0.5, 3.0, 1000.0, math.inf, [0.5, 3.0, 1.0, 2.0], [0.0, math.inf, 1.0, 0.0]], ids=str
)
def test_every_row_tends_to_its_bound_and_never_falls_below(epsilon):
    rows = worst_cases(4, epsilon)
    assert [row.name for row in rows] == NAMES
    for row in rows:
        assert row.parameters == PARAMETERS
        rounding = CERTIFIED if row.name in {"W/L", "W/B"} else 1e-15
        for parameter, ratio in zip(row.parameters, row.measured, strict=True):
            assert row.bound * (1 - rounding) <= ratio <= row.bound * (1 + 4.0 * parameter + rounding)


def test_the_bounds_of_the_table():
    levels = [0.5, 3.0, 1.0, 2.0]
    wanted = [
        bounds.v_over_m(4), bounds.w_over_v(4, levels), bounds.w_over_m(4, levels),
        bounds.w_over_b(4, levels), bounds.w_over_l(4, levels),
    ]  # fmt: skip
    assert [row.bound for row in worst_cases(4, levels, [0.5])] == wanted


def test_the_table_is_measured_on_the_families_it_names():
    epsilon, q = 1.0, 0.125
    rows = by_name(worst_cases(3, epsilon, [q]))
    families = {
        "V/M": synthetic.long_shot(3, q),
        "W/V": synthetic.prop53(3, epsilon, q),
        "W/M": synthetic.prop56(3, epsilon, q),
        "W/L": synthetic.theorem63(epsilon, q),
        "W/B": synthetic.theorem63(epsilon, q),
    }
    for name, priors in families.items():
        (measured,) = rows[name].measured
        assert measured == pytest.approx(by_name(benchmarks.ratios(priors, epsilon))[name].low, rel=CERTIFIED)
    assert rows["W/M"].family == "1; 1 × (1 + x(1 - q)/q w.p. q); 1/q² w.p. q²"
    assert rows["W/L"].family == rows["V/M"].family == "1; 1/a w.p. a; zeros"


def test_the_table_says_where_the_special_persons_stand():
    rows = by_name(worst_cases(4, [0.5, 3.0, 1.0, 9.0], [0.5]))
    assert rows["W/M"].family == "2 × (1 + x_i(1 - q)/q w.p. q); 1/q² w.p. q²; with 1 as person 2"
    assert rows["W/L"].family == "1; zeros; 1/a w.p. a as person 4"
    assert by_name(worst_cases(4, [3.0, 3.0, 1.0, 2.0], [0.5]))["W/L"].family == "1; 1/a w.p. a; zeros"


def test_one_person_and_two():
    assert {(row.bound, row.measured, row.family) for row in worst_cases(1, 1.0, [0.5])} == {
        (1.0, (1.0,), "1")
    }
    assert [row.family for row in worst_cases(2, 1.0, [0.5])] == [
        "1; 1/a w.p. a", "1 × (1 + x(1 - q)/q w.p. q); 1", "1; 1/q² w.p. q²", "1; 1/a w.p. a", "1; 1/a w.p. a",
    ]  # fmt: skip


def test_errors_of_the_table():
    for n, epsilon, parameters, named in (
        (0, 1.0, [0.5], "n must be a whole number >= 1"),
        (10**6, 1.0, [0.5], "n must be at most 100,000"),
        (3, [1.0], [0.5], "epsilon has 1 entries and n is 3"),
        (3, -1.0, [0.5], "epsilon must be >= 0"),
        (1, math.nan, [0.5], "epsilon must be >= 0"),
        (3, 1.0, [0.0], "must be a number in"),
    ):
        with pytest.raises(ParameterError, match=named):
            worst_cases(n, epsilon, parameters)


def test_a_row_is_plain_data():
    row = benchmarks.ratios([1.0], 1.0)[0]
    assert row == Ratio("V/M", 1.0, 1.0, 1.0, "Krengel and Sucheston")
