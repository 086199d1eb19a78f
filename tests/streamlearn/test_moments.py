"""Log-moments against sums in 50 digits, and against laws whose divergence is known exactly."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from streamlearn.accounting import moments
from streamlearn.planning.shape import levels
from streamlearn.rounding import OUT_OF

ORDERS = np.array([0.3, 1.0, 7.5, 60.0])


def exact_pair(p, q, z):
    """ln Σ P^(1+z) Q^(-z) of two laws of a bit."""
    return mpmath.log(p ** (1 + z) * q ** (-z) + (1 - p) ** (1 + z) * (1 - q) ** (-z))


@pytest.mark.parametrize("alpha", [1e-5, 0.003, 0.3, 4.0])
def test_acceptance_is_randomised_response(alpha):
    with mpmath.workdps(50):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(alpha)))
        for z, found in zip(ORDERS, moments.acceptance(ORDERS, alpha), strict=True):
            assert found == pytest.approx(float(exact_pair(p, 1 - p, mpmath.mpf(float(z)))), rel=1e-9)


@pytest.mark.parametrize("ramp", [levels(1e-6, 20.0, 30.0), [OUT_OF // 5, OUT_OF // 3, OUT_OF // 7 * 6]])
def test_mirror_is_the_sum_over_the_ramp(ramp):
    with mpmath.workdps(50):
        p = [mpmath.mpf(level) / OUT_OF for level in ramp]
        for z, found in zip(ORDERS, moments.mirror(ORDERS, ramp), strict=True):
            order = mpmath.mpf(float(z))
            up = sum(exact_pair(a, b, order) for a, b in itertools.pairwise(p))
            down = sum(exact_pair(b, a, order) for a, b in itertools.pairwise(p))
            assert found == pytest.approx(
                float(max(up, down) + order * abs(mpmath.log(p[-1] / (1 - p[0])))), rel=1e-9
            )


def test_a_long_ramp_is_summed_in_blocks(monkeypatch):
    ramp = levels(1e-6, 20.0, 30.0)
    whole = moments.mirror(ORDERS, ramp)
    monkeypatch.setattr(moments, "_BLOCK", 40)
    assert moments.mirror(ORDERS, ramp) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("cut", [0, 700])
def test_gentle_rounds_are_bounded_from_above_and_closely(monkeypatch, cut):
    ramp, orders = levels(1e-6, 100.0, 1e5)[cut:], np.array([0.7, 2.5, 90.0, 100.0])
    bound = moments.mirror(orders, ramp)
    monkeypatch.setattr(moments, "_GENTLE", 0.0)
    exact = moments.mirror(orders, ramp)
    assert np.all(bound >= exact * (1 - 1e-9))
    assert np.all(bound <= exact * (1 + 1e-6))
    assert np.any(bound != exact)


def test_a_step_in_log_odds_is_the_pair_of_laws():
    with mpmath.workdps(50):
        p, q = 1 / (1 + mpmath.exp(2)), 1 / (1 + mpmath.exp(mpmath.mpf("1.5")))
        expected = exact_pair(p, q, mpmath.mpf("7.5"))
    assert moments.step(7.5, np.array([-2.0]), np.array([-1.5]))[0] == pytest.approx(
        float(expected), rel=1e-11
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_delta_is_never_below_the_truth(epsilon):
    """The product of eight laws of a bit: its hockey-stick divergence is a sum over how many are 1."""
    p, q, n = 0.55, 0.45, 8
    truth = sum(
        math.comb(n, k) * max(0.0, p**k * (1 - p) ** (n - k) - math.exp(epsilon) * q**k * (1 - q) ** (n - k))
        for k in range(n + 1)
    )
    orders = np.geomspace(0.05, 100, 200)
    single = np.log(p ** (1 + orders) * q**-orders + (1 - p) ** (1 + orders) * (1 - q) ** -orders)
    found = moments.delta(n * single, orders, epsilon)
    assert truth <= found <= 1.0
    assert found < 6 * truth


def test_delta_falls_with_epsilon_and_rises_with_moments():
    orders = moments.orders(1.0, 1e-6)
    ramp = levels(1e-8, 20.0, 100.0)
    once = moments.mirror(orders, ramp)
    found = [moments.delta(once, orders, epsilon) for epsilon in (0.2, 0.5, 1.0, 2.0)]
    assert found == sorted(found, reverse=True)
    assert moments.delta(once, orders, 1.0) < moments.delta(1.2 * once, orders, 1.0)


def test_allowance_is_the_conversion_turned_round():
    orders = np.array([5.0, 20.0])
    for z in orders:
        allowed = float(moments.allowance(z, 1.0, 1e-5))
        assert moments.delta(np.array([allowed]), np.array([z]), 1.0) == pytest.approx(1e-5, rel=1e-9)


def test_nothing_certified_is_delta_1():
    assert moments.delta(np.array([math.inf, math.nan]), np.array([1.0, 2.0]), 1.0) == 1.0
    assert moments.mirror_mass([]) == OUT_OF
