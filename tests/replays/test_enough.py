"""How many episodes are enough: held-out values against an oracle, and the figures of THEORY-stopping §7."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from streamlearn.agents import LDPOptimalStopper
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError
from streamlearn.priors import Empirical
from streamlearn.replays import evaluate_policy
from streamlearn.replays.enough import LearningCurve, Spread, held_out_value, learning_curve, share_of


def build(laws):
    return LDPOptimalStopper(laws, epsilon=1.0)


def uniform(episodes, stages=4, seed=1):
    return np.random.default_rng(seed).uniform(size=(episodes, stages))


def every_outcome(plan, values):
    """The expected reward of one episode, by going through all strings of reports."""
    total = 0.0
    for bits in itertools.product((0, 1), repeat=len(values)):
        chance = 1.0
        for bit, value, channel in zip(bits, values, plan, strict=True):
            one = channel.weight(value) / OUT_OF
            chance *= one if bit else 1.0 - one
        total += chance * next((value for bit, value in zip(bits, values, strict=True) if bit), 0.0)
    return total


def test_held_out_value_is_that_of_all_strings_of_reports():
    plan, later = build([scipy.stats.uniform()] * 4).plan, uniform(20)
    expected = np.mean([every_outcome(plan, values.tolist()) for values in later])
    assert held_out_value(plan, later) == pytest.approx(expected, rel=1e-14)


def test_the_curve_compares_with_all_that_was_learned():
    learned, later = uniform(30), uniform(50, seed=2)
    curve = learning_curve(learned, later, build, sizes=[5, 30], resamples=8)
    best = build([Empirical(stage) for stage in learned.T])
    assert (curve.episodes, curve.scored, curve.sizes) == (30, 50, (5, 30))
    assert curve.plug_in == best.value
    assert curve.held_out == held_out_value(best.plan, later)


def test_a_size_is_drawn_with_replacement_and_scored_on_the_later_part():
    learned, later = uniform(30), uniform(50, seed=2)
    curve = learning_curve(learned, later, build, sizes=[5, 7], resamples=3, seed=9)
    generator = np.random.default_rng(9)
    for size, found in zip((5, 7), curve.shares, strict=True):
        drawn = [learned[generator.integers(30, size=size)] for _ in range(3)]
        plans = [build([Empirical(stage) for stage in values.T]).plan for values in drawn]
        shares = np.array([held_out_value(plan, later) for plan in plans]) / curve.held_out
        assert found.mean == pytest.approx(shares.mean(), rel=1e-14)
        assert found.low == pytest.approx(np.quantile(shares, 0.05), rel=1e-14)
        assert found.high == pytest.approx(np.quantile(shares, 0.95), rel=1e-14)
    differences = [[every_outcome(plan, v) for v in later.tolist()] for plan in plans]
    ideal = [every_outcome(build([Empirical(stage) for stage in learned.T]).plan, v) for v in later.tolist()]
    variance = np.mean([np.var(np.subtract(rewards, ideal)) for rewards in differences])
    assert curve.noise == pytest.approx(np.sqrt(variance / 50) / curve.held_out, rel=1e-9)


def test_the_same_seed_gives_the_same_curve_and_groups_are_obeyed():
    learned, later = uniform(40), uniform(40, seed=2)
    once, again = (learning_curve(learned, later, build, resamples=4, pooled=True) for _ in range(2))
    assert once == again
    assert once == learning_curve(learned, later, build, resamples=4, groups=[[1, 2, 3, 4]])
    assert once != learning_curve(learned, later, build, resamples=4, pooled=True, seed=1)
    assert once != learning_curve(learned, later, build, resamples=4)


def test_where_every_value_is_known_one_episode_is_enough():
    curve = learning_curve(np.full((300, 3), 2.0), np.full((9, 3), 2.0), build, resamples=4)
    assert curve.sizes == (10, 20, 50, 100, 200, 300)
    assert curve.least == 10
    assert (curve.held_out, curve.plug_in, curve.noise) == (2.0, 2.0, 0.0)
    assert curve.shares[0] == Spread(1.0, 1.0, 1.0)


def test_nothing_to_gain_is_kept_whole():
    curve = learning_curve(np.zeros((20, 3)), np.zeros((9, 3)), build, resamples=4)
    assert (curve.held_out, curve.least, curve.noise) == (0.0, 10, 0.0)
    assert share_of(np.array([0.0, 1.0]), 0.0).tolist() == [1.0, np.inf]


@pytest.mark.parametrize(
    ("lows", "least"),
    [((0.5, 0.99, 0.999), 20), ((0.995, 0.98, 0.999), 50), ((1.0, 1.0, 0.98), None), ((1.0, 1.0, 1.0), 10)],
)
def test_enough_is_where_the_low_end_stays_within_one_percent(lows, least):
    shares = tuple(Spread(1.0, low, 1.0) for low in lows)
    assert LearningCurve(50, 9, 1.0, 1.0, (10, 20, 50), shares, 0.0).least == least


def test_a_longer_log_is_drawn_from_up_to_5000_episodes_or_200000_values():
    for shape, largest in [((6000, 1), 5000), ((3000, 100), 2000)]:
        values = np.ones(shape)
        curve = learning_curve(values, values[:1], build, resamples=1)
        assert curve.sizes[-1] == largest


@pytest.mark.parametrize("arguments", [{"sizes": [0]}, {"sizes": [2.5]}, {"resamples": 0}])
def test_arguments_outside_their_bounds(arguments):
    with pytest.raises(ParameterError):
        learning_curve(uniform(5), uniform(5), build, **arguments)


def test_there_must_be_something_to_score_on():
    with pytest.raises(ParameterError, match="no episode"):
        learning_curve(uniform(5), uniform(0), build)


# --- figures


def shares_of_optimum(law, stages, draws, episodes, pooled):
    """Over logs: the plug-in value, and the true value of its plan, as shares of W."""
    priors = [law] * stages
    best = build(priors).value
    generator = np.random.default_rng(7)
    found = []
    for _ in range(draws):
        log = law.rvs(size=episodes if pooled else (episodes, stages), random_state=generator)
        stopper = build([log] * stages if pooled else list(log.T))
        found.append((stopper.value / best, evaluate_policy(stopper, priors).mean / best))
    return np.array(found).T


@pytest.mark.parametrize("law", [scipy.stats.uniform(), scipy.stats.expon(), scipy.stats.pareto(2.5)])
def test_100_values_give_0997_of_the_optimum(law):
    # THEORY-stopping §7: 0.997 to 0.999, to its rounding. The mean over 200 logs is known to five standard errors.
    _, shares = shares_of_optimum(law, 10, 200, 100, pooled=True)
    error = shares.std() / np.sqrt(len(shares))
    assert shares.mean() - 5 * error > 0.995
    assert 0.9965 < shares.mean() < 0.9995
    assert shares.max() <= 1.0 + 1e-12  # no plan beats the optimum


def test_the_plug_in_value_is_biased_up_and_the_held_out_one_is_not():
    plug_in, shares = shares_of_optimum(scipy.stats.uniform(), 10, 100, 20, pooled=False)
    assert (plug_in.mean() - 1.0) > 5 * plug_in.std() / np.sqrt(len(plug_in))
    assert shares.max() <= 1.0 + 1e-12
