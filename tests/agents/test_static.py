"""The static stopper: what one channel for everybody keeps."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import UNIFORMS, discrete_instances, enumerate_outcomes, mixed

from streamlearn import priors
from streamlearn.agents import LDPOptimalStopper, StaticStopper
from streamlearn.errors import ParameterError


@pytest.mark.parametrize(
    ("law", "epsilon", "share"),
    [
        (scipy.stats.uniform(), 1.0, 0.9999),
        (scipy.stats.uniform(), 5.0, 0.987),
        (scipy.stats.expon(), 5.0, 0.975),
    ],
)
def test_share_of_the_optimum(law, epsilon, share):
    kept = StaticStopper([law] * 10, epsilon).value / LDPOptimalStopper([law] * 10, epsilon).value
    assert kept == pytest.approx(share, abs=0.5 * 10.0 ** -len(str(share).split(".")[1]))


def _best_rule(laws, low, high, threshold):
    """Return the best value of any stopping rule on bits with P(1) = low below and high from ``threshold`` on."""
    w = 0.0
    for law in reversed(laws):
        atoms = [(v, law.atom(v)) for v in law.atoms.tolist()]
        options = []
        for accepted in itertools.product([False, True], repeat=2):
            worth = 0.0
            for value, weight in atoms:
                one = high if value >= threshold else low
                take = one * accepted[1] + (1 - one) * accepted[0]
                worth += weight * (take * value + (1 - take) * w)
            options.append(worth)
        w = max(options)
    return w


@given(discrete_instances(), st.floats(0.05, 5), st.floats(0, 1), st.floats(0, 1), st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_randomized_response_dominates_every_channel_at_its_threshold(laws, epsilon, u, v, quarter):
    growth = math.exp(epsilon)
    low = u
    high = low + v * (min(growth * low, 1 - (1 - low) / growth) - low)  # an ε-LDP pair with low <= high
    threshold = quarter / 4
    stopper = StaticStopper(laws, epsilon, threshold=threshold)
    assert stopper.value * (1 + 1e-12) + 1e-15 >= _best_rule(laws, low, high, threshold)


@given(discrete_instances(), st.floats(0, 8))
@settings(max_examples=60, deadline=None)
def test_no_threshold_beats_the_one_found(laws, epsilon):
    # A discrete instance only has its atoms to choose from, and the search tries them all.
    found = StaticStopper(laws, epsilon)
    for t in sorted({v for law in laws for v in law.atoms.tolist()}):
        assert found.value * (1 + 1e-12) + 1e-15 >= StaticStopper(laws, epsilon, threshold=t).value


@given(discrete_instances(), st.floats(0, 8))
@settings(max_examples=60, deadline=None)
def test_value_is_what_the_plan_yields(laws, epsilon):
    stopper = StaticStopper(laws, epsilon)
    assert stopper.value == pytest.approx(enumerate_outcomes(stopper.plan, laws)[0], rel=1e-12, abs=1e-15)
    assert stopper.value <= LDPOptimalStopper(laws, epsilon).value * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
def test_a_dense_search_finds_nothing_better(epsilon):
    found = StaticStopper(mixed(), epsilon)
    top = LDPOptimalStopper(mixed(), epsilon).thresholds[0]
    for t in np.linspace(0.0, 1.5 * top, 97):
        assert StaticStopper(mixed(), epsilon, threshold=t).value <= found.value * (1 + 1e-9)


def test_everybody_has_one_threshold():
    stopper = StaticStopper(UNIFORMS, 1.0)
    assert len(set(stopper.thresholds.tolist())) == 1
    asked = [channel for channel in stopper.plan if channel.case == "ask"]
    assert len({(channel.threshold, channel.below, channel.above) for channel in asked}) == 1


@pytest.mark.parametrize("threshold", [-0.1, math.inf, math.nan, True])
def test_bad_threshold(threshold):
    with pytest.raises(ParameterError, match="threshold"):
        StaticStopper([1.0], 1.0, threshold=threshold)


def test_memory_does_not_grow_with_the_number_of_distinct_laws():
    laws = [priors.Uniform(0.0, 1.0 + i / 2000) for i in range(2000)]
    tracemalloc.start()
    try:
        StaticStopper(laws, 1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Two arrays of 1,024 doubles per law would be 33 MB; the stated bound is 10.5 MB.
    assert peak < 10.5e6
