"""Whether a handful of values rules the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamlearn.agents import LDPOptimalStopper
from streamlearn.replays.hill import tail_index
from streamlearn.replays.tails import Tails, tails


def build(laws):
    return LDPOptimalStopper(laws, epsilon=1.0)


def test_with_one_stage_the_share_is_that_of_the_sum():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [9.0], [10.0]])
    found = tails(values, build)
    assert found.value_share == pytest.approx(34 / 40)
    assert found.maximum_share == pytest.approx(34 / 40)


def test_the_largest_are_of_all_stages_and_their_loss_is_that_of_the_plan():
    values = np.ones((40, 3))
    values[3, 1], values[8, 2] = 90.0, 70.0
    values[:3, 0] = 2.0
    without = values.copy()
    without[values > 1.0] = 0.0
    found = tails(values, build)
    before, after = (build(list(log.T)).value for log in (values, without))
    assert found.value_share == pytest.approx(1 - after / before, rel=1e-12)
    assert found.maximum_share == pytest.approx(1 - without.max(axis=1).mean() / values.max(axis=1).mean())
    assert tails(values, build, pooled=True).value_share != found.value_share


def test_a_lottery_is_called_out_and_even_values_are_not():
    lottery = np.zeros((200, 2))
    lottery[:6, 1] = 5.0
    assert "largest values carry" in tails(lottery, build).warnings[0]
    assert tails(np.ones((200, 2)), build).warnings == ()
    assert tails(np.random.default_rng(1).exponential(size=(500, 5)), build).warnings == ()


@pytest.mark.parametrize(("share", "warned"), [(0.10, False), (0.101, True), (math.nan, False)])
def test_the_rule_is_ten_percent(share, warned):
    assert bool(Tails(share, 0.0, math.inf).warnings) is warned
    assert bool(Tails(0.0, share, math.inf).warnings) is warned


@pytest.mark.parametrize(
    ("index", "warned"), [(2.0, True), (2.01, False), (math.nan, False), (math.inf, False)]
)
def test_no_normal_interval_at_a_tail_index_of_two(index, warned):
    found = Tails(0.0, 0.0, index).warnings
    assert [("no normal interval" in warning) for warning in found] == [True] * warned


def ranked(values):
    return tail_index(np.sort(values), len(values))


def test_only_the_largest_are_looked_at_in_any_order():
    values = 1.0 + np.random.default_rng(2).pareto(1.5, size=(3000, 3))
    assert tails(values, build).tail_index == ranked(values.ravel())


def test_hills_estimate():
    # The largest of exact Pareto quantiles are 2^(j/α): each log-ratio is known.
    values = np.array([1.0] * 90 + [2.0**j for j in range(11)])
    mean_log = np.mean([math.log(2.0**j) for j in range(1, 11)])
    assert ranked(values) == pytest.approx((1 - 1 / math.sqrt(10)) / mean_log)
    assert ranked(1000.0 * values) == pytest.approx(ranked(values))


def test_hills_estimate_where_nothing_can_be_said():
    assert math.isnan(ranked(np.ones(3)))
    assert math.isnan(ranked(np.zeros(100)))
    assert ranked(np.ones(100)) == math.inf


def test_pareto_tails_are_told_from_others():
    # Hill's relative standard error is 1/√200 = 7 %: 20 logs of each kind are five and more of them from the rule.
    rng = np.random.default_rng(4)
    for _ in range(20):
        assert ranked(1.0 + rng.pareto(1.2, size=100_000)) <= 2.0
        assert ranked(rng.exponential(size=100_000)) > 2.0


def test_values_that_are_all_zero_raise_nothing():
    found = tails(np.zeros((9, 2)), build)
    assert math.isnan(found.value_share)
    assert found.warnings == ()
