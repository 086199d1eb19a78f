"""The oracle itself: large values, infinite moments, and every law's square excess."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.stats
from instances import mixed

from streamlearn import policy, priors
from streamlearn.agents import LDPOptimalStopper, SingleThresholdStopper
from streamlearn.replays import simulate


def test_the_variance_of_large_values_does_not_cancel():
    laws = [priors.Uniform(1e8, 1e8 + 1)] * 3
    exact = policy.evaluate(LDPOptimalStopper(laws, 0.0).plan, laws)
    # One unit in the last place of 1e8 is 1.5e-8, and the deviations are of order 1.
    assert exact.variance == pytest.approx(1 / 12, rel=1e-6)
    interval = simulate(LDPOptimalStopper(laws, 0.0), episodes=100).interval
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * math.sqrt(1 / 1200), rel=1e-3)


@pytest.mark.parametrize(
    "text", ["1e200;2e200", "exponential(1e200);exponential(1e200)", "weibull(0.01);weibull(0.01)"]
)
def test_huge_values_give_an_infinite_variance_and_no_error(text):
    laws = priors.parse(text)
    for stopper in (LDPOptimalStopper(laws, 1.0), SingleThresholdStopper(laws, 1.0)):
        exact = policy.evaluate(stopper.plan, laws)
        assert math.isfinite(exact.mean)
        assert exact.variance >= 0


@pytest.mark.parametrize("law", priors.as_priors(mixed()), ids=repr)
def test_square_excess_is_the_integral_of_twice_the_stop_loss(law):
    # E((X - t)+)² = 2∫_t^∞ S; the sum of a law's own S over fine panels has relative error of the panels' 4th power.
    for t in (0.0, 0.3, 0.7, 1.0, 2.5):
        if math.isinf(law.variance):
            assert law.square_excess(t) == math.inf
            continue
        points = sorted(
            {
                t,
                *[a for a in law.atoms.tolist() if a > t],
                *[t + 2.0**k for k in range(-6, 7)],
                max(t, law.lower),
            }
        )
        whole = 2 * mpmath.quad(lambda x: law.stop_loss(float(x)), points)
        tail = (
            2 * mpmath.quad(lambda x: law.stop_loss(float(x)), [points[-1], points[-1] * 64, mpmath.inf])
            if law.upper == math.inf
            else 0
        )
        assert law.square_excess(t) == pytest.approx(float(whole + tail), rel=1e-6, abs=1e-9)


def test_square_excess_of_a_numerical_law():
    law, twin = priors.as_prior(scipy.stats.invgauss(0.5)), scipy.stats.invgauss(0.5)
    for t in (0.0, 0.4, 2.0):
        expected = twin.expect(lambda x, t=t: max(x - t, 0.0) ** 2, epsabs=1e-12)
        assert law.square_excess(t) == pytest.approx(expected, rel=1e-6)


def test_square_excess_of_a_sample():
    sample = np.array([0.5, 1.0, 1.0, 4.0])
    assert priors.Empirical(sample).square_excess(0.75) == pytest.approx(
        np.mean(np.maximum(sample - 0.75, 0) ** 2)
    )
    assert priors.PointMass(2.0).square_excess(0.5) == 2.25
