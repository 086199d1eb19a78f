"""Learning under LDP in simulation: that it is what reporters do, and what it is worth (THEORY-stopping §7)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from streamlearn.agents import LDPOptimalStopper
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError
from streamlearn.replays import evaluate_policy
from streamlearn.replays.enough import held_out_value
from streamlearn.replays.ldplearning import simulate_survey, surveyed_value
from streamlearn.replays.learning import empirical_priors
from streamlearn.surveys import Survey


def build(laws):
    return LDPOptimalStopper(laws, epsilon=1.0)


def test_without_noise_the_counts_are_of_values_at_or_above_the_threshold():
    survey = Survey(0.0, 4.0, math.inf, thresholds=3)
    values = np.repeat([0.5, 1.0, 2.5], 500)
    answers, ones = simulate_survey(survey, values, np.random.default_rng(1))
    assert answers.sum() == 1500
    generator = np.random.default_rng(1)
    asked = generator.integers(3, size=1500)
    assert ones.tolist() == [np.count_nonzero(values[asked == j] >= j + 1.0) for j in range(3)]


def test_the_bits_have_the_channels_law():
    # Hoeffding over the 4 counts: a false alarm has probability below 1e-6.
    survey = Survey(0.0, 5.0, 1.0, thresholds=4)
    answers, ones = simulate_survey(survey, np.full(100_000, 2.5), np.random.default_rng(2))
    chances = np.array([channel.weight(2.5) for channel in survey.plan], dtype=float) / OUT_OF
    assert (np.abs(ones / answers - chances) <= np.sqrt(math.log(8 / 1e-6) / (2 * answers))).all()


def test_where_the_answers_tell_everything_nothing_is_lost():
    # Everybody of a stage has the middle of two thresholds, so that their law is found exactly.
    values = np.tile([2.5, 0.5, 3.5], (60, 1))
    found = surveyed_value(values[:50], values[50:], build, Survey(0.0, 4.0, math.inf, thresholds=3), draws=3)
    assert (found.people, found.epsilon, found.plug_in) == (150, math.inf, 3.5)
    assert (found.shares.low, found.shares.high) == (1.0, 1.0)
    assert found.plug_in == held_out_value(build(empirical_priors(values)).plan, values)


def test_stages_of_a_group_are_surveyed_together():
    values = np.random.default_rng(1).uniform(size=(300, 4))
    seen = []

    def noting(laws):
        seen.append(laws)
        return build(laws)

    survey = Survey(0.0, 1.0, 1.0, thresholds=4)
    surveyed_value(values[:200], values[200:], noting, survey, groups=[[1, 3], [2, 4]], draws=1)
    laws = seen[-1]
    assert laws[0] is laws[2]
    assert laws[1] is laws[3]
    assert laws[0] != laws[1]


def test_the_same_seed_gives_the_same_value():
    values = np.random.default_rng(1).uniform(size=(300, 2))
    survey = Survey(0.0, 1.0, 1.0)
    once, again, other = (
        surveyed_value(values[:200], values[200:], build, survey, draws=3, seed=seed) for seed in (0, 0, 1)
    )
    assert once == again != other


def test_bounds():
    values = np.ones((4, 2))
    with pytest.raises(ParameterError, match="draws"):
        surveyed_value(values, values, build, Survey(0.0, 1.0, 1.0), draws=0)
    with pytest.raises(ParameterError, match="later"):
        surveyed_value(values, values[:0], build, Survey(0.0, 1.0, 1.0))


# --- figures


def shares_of_optimum(law, learn):
    priors = [law] * 10
    best = build(priors).value
    generator = np.random.default_rng(5)
    return np.array([
        evaluate_policy(build([learn(generator)] * 10), priors).mean / best for _ in range(400)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("law", "high"),
    [
        (scipy.stats.uniform(), 1.0),
        (scipy.stats.expon(), 5.0),
        (scipy.stats.gamma(2), 6.0),
        (scipy.stats.lognorm(0.5), 3.0),
    ],
)
def test_10000_people_at_epsilon_1_give_09993_and_beat_100_raw_values(law, high):
    # THEORY-stopping §7: 32 thresholds, ε = 1, 10^4 people, 0.9993 to 0.9999 of W on a range that fits.
    survey = Survey(0.0, high, epsilon=1.0)
    assert survey.guarantee.epsilon <= 1.0

    def surveyed(generator):
        people = law.rvs(size=10_000, random_state=generator)
        return survey.fit_counts(*simulate_survey(survey, people, generator)).prior

    learned = shares_of_optimum(law, surveyed)
    plug_in = shares_of_optimum(law, lambda generator: law.rvs(size=100, random_state=generator))
    error = learned.std() / math.sqrt(len(learned))
    assert learned.mean() - 5 * error > 0.999
    assert 0.9993 < learned.mean() < 0.99995
    gain = learned.mean() - plug_in.mean()
    assert gain > 5 * math.hypot(learned.std(), plug_in.std()) / math.sqrt(len(learned))
