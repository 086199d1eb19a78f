"""The single-threshold stopper: reference values, its promises on random instances, the paper's slips."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import UNIFORMS, discrete_instances, enumerate_outcomes, mixed

from streamlearn import maximum, priors
from streamlearn.agents import LDPOptimalStopper, OptimalStopper, SingleThresholdStopper
from streamlearn.agents.single_threshold import RULES
from streamlearn.errors import ParameterError

CLOSE = 64 * np.finfo(float).eps


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (0.0, 0.997587466933789067),
        (0.5, 1.09417279071551459),
        (1.0, 1.22561233022442653),
        (5.0, 2.27380633683430561),
        (math.inf, 2.34970640672641146),
    ],
)
def test_median_rule_on_the_mixed_instance(epsilon, expected):
    # The threshold is a root found to a few units in the last place, at which the value has slope below 1.
    assert SingleThresholdStopper(mixed(), epsilon).value == pytest.approx(expected, rel=1e-12)


def test_randomised_tie_at_an_atom():
    stopper = SingleThresholdStopper([1.0, priors.Discrete([0.0, 100.0], [0.9, 0.1])], math.inf)
    assert stopper.thresholds.tolist() == [1.0, 1.0]
    assert stopper.accept_at_threshold == pytest.approx(4 / 9, rel=1e-14)
    assert stopper.value == pytest.approx(6.0, rel=1e-14)


def test_the_papers_median_rule_fails_at_an_atom():
    # T = median with ">=": takes the 1 at once, less than half of E[max] = 10.9.
    instance = [1.0, priors.Discrete([0.0, 100.0], [0.9, 0.1])]
    naive = SingleThresholdStopper(instance, math.inf, threshold=1.0)
    half = maximum.expected_max(priors.as_priors(instance)) / 2
    assert naive.value == 1.0
    assert half == pytest.approx(5.45, rel=1e-14)
    for rule in ("median", "median-deterministic", "half-max"):
        assert SingleThresholdStopper(instance, math.inf, rule).value >= half


def test_the_papers_claim_against_the_optimum_fails():
    single = SingleThresholdStopper(UNIFORMS, 5.0)
    optimum = OptimalStopper(UNIFORMS).value
    assert single.value / optimum == pytest.approx(0.8188, abs=5e-5)  # the figure has four digits
    assert single.competitive_ratio == pytest.approx(math.exp(5) / (9 + math.exp(5)), rel=CLOSE)
    assert single.value < single.competitive_ratio * optimum
    # With the optimum's own thresholds the promise holds.
    assert SingleThresholdStopper(UNIFORMS, 5.0, "optimal").value >= single.competitive_ratio * optimum


def _value_without_privacy(stopper, laws):
    """Return E[X_τ] of the rule itself by enumeration: the last stage obeys the rule too."""
    supports = [list(zip(law.atoms.tolist(), [law.atom(v) for v in law.atoms], strict=True)) for law in laws]
    total = 0.0
    for combination in itertools.product(*supports):
        waiting = math.prod(weight for _, weight in combination)
        for (value, _), t in zip(combination, stopper.thresholds, strict=True):
            accept = stopper.accept_at_threshold if value == t else float(value > t)
            total += waiting * accept * value
            waiting *= 1 - accept
    return total


@given(discrete_instances(), st.sampled_from(sorted(RULES)), st.floats(0, 40))
@settings(max_examples=150, deadline=None)
def test_promises_hold(laws, rule, epsilon):
    stopper = SingleThresholdStopper(laws, epsilon, rule)
    alone = _value_without_privacy(stopper, laws)
    prophet = maximum.expected_max(laws)
    slack = 1 + 1e-12  # all figures are sums of a few products of floats
    assert stopper.value * slack >= stopper.competitive_ratio * alone
    if rule == "optimal":
        assert alone * slack >= OptimalStopper(laws).value
    else:
        assert alone * slack >= prophet / 2
    assert stopper.value <= LDPOptimalStopper(laws, epsilon).value * slack


@given(discrete_instances(), st.data())
@settings(max_examples=60, deadline=None)
def test_promise_with_a_level_per_person(laws, data):
    levels = [data.draw(st.floats(0, 20)) for _ in laws]
    stopper = SingleThresholdStopper(laws, levels)
    assert stopper.competitive_ratio == pytest.approx(1 / (1 + sum(math.exp(-e) for e in levels[:-1])))
    assert stopper.value * (1 + 1e-12) >= stopper.competitive_ratio * _value_without_privacy(stopper, laws)
    for channel, level in zip(stopper.plan, levels, strict=True):
        assert channel.realised_epsilon <= level


@given(discrete_instances(), st.sampled_from(sorted(RULES)), st.floats(0, 40))
@settings(max_examples=60, deadline=None)
def test_value_is_what_the_plan_yields(laws, rule, epsilon):
    stopper = SingleThresholdStopper(laws, epsilon, rule)
    assert stopper.value == pytest.approx(enumerate_outcomes(stopper.plan, laws)[0], rel=1e-12, abs=1e-15)


def test_nobody_is_accepted_half_the_time():
    laws = priors.as_priors(mixed())
    stopper = SingleThresholdStopper(laws, math.inf)
    below = [1 - law.survival(t) - law.atom(t) for law, t in zip(laws, stopper.thresholds, strict=True)]
    assert math.prod(below) == pytest.approx(0.5, abs=1e-12)


def test_the_last_person_is_taken_whatever_it_says():
    stopper = SingleThresholdStopper([scipy.stats.expon()] * 3, 1.0)
    assert stopper.cases == ["ask", "ask", "accept"]
    assert SingleThresholdStopper([2.0], 1.0).value == 2.0


@pytest.mark.parametrize("threshold", ["mean", -1.0, math.nan, math.inf, True, None])
def test_unknown_threshold(threshold):
    with pytest.raises(ParameterError, match="threshold"):
        SingleThresholdStopper([1.0, 2.0], 1.0, threshold)


@pytest.mark.parametrize(
    ("laws", "epsilon", "threshold"),
    [
        ([0.7] * 9 + [scipy.stats.uniform()], 1.0, "median"),
        (UNIFORMS, 1.0, 0.0),
        ([scipy.stats.uniform(0, 0.1)] * 3, 1.0, 0.9),
        (UNIFORMS, 0.0, "median"),
    ],
)
def test_nobody_is_asked_what_the_prior_already_says(laws, epsilon, threshold):
    stopper = SingleThresholdStopper(laws, epsilon, threshold)
    for channel, case in zip(stopper.plan, stopper.cases, strict=True):
        assert channel.below == channel.at == channel.above
        assert channel.epsilon == channel.realised_epsilon == 0.0
        assert channel.case == case
