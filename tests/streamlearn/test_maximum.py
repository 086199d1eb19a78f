"""Mean, median and distribution function of the maximum, against enumeration, closed forms and mpmath."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import priors
from streamlearn.errors import PriorError
from streamlearn.maximum import cdf_of_max, expected_max, median_of_max
from streamlearn.priors import (
    Beta,
    Discrete,
    Empirical,
    Exponential,
    Gamma,
    LogNormal,
    Pareto,
    PointMass,
    TruncatedNormal,
    Uniform,
    Weibull,
)

EPS = 2.0**-52

MIXED = [
    Uniform(0, 1),
    Exponential(1),
    LogNormal(0, 0.5),
    Pareto(2.5),
    Discrete([0, 5], [0.9, 0.1]),
    Beta(2, 5),
    Gamma(2),
    Weibull(1.5),
    TruncatedNormal(1, 1),
    PointMass(0.7),
]
"""Instance C of THEORY-stopping §8."""

sixteenths = st.lists(st.integers(0, 16), min_size=1, max_size=3).filter(any)


@st.composite
def small_instances(draw):
    """Up to four laws on whole numbers, as lists of (value, exact probability)."""
    laws = []
    for _ in range(draw(st.integers(1, 4))):
        weights = draw(sixteenths)
        values = draw(st.lists(st.integers(0, 9), min_size=len(weights), max_size=len(weights), unique=True))
        laws.append([(v, Fraction(w, sum(weights))) for v, w in zip(values, weights, strict=True) if w])
    return laws


def law_of_max(laws):
    """Enumerate every outcome."""
    found = {}
    for outcome in itertools.product(*laws):
        top = max(v for v, _ in outcome)
        found[top] = found.get(top, Fraction()) + math.prod(p for _, p in outcome)
    return found


def as_discrete(laws):
    return [Discrete([v for v, _ in law], [float(p) for _, p in law]) for law in laws]


@given(small_instances())
def test_finite_laws_against_enumeration(laws):
    exact, given_priors = law_of_max(laws), as_discrete(laws)
    # 4 laws of 3 probabilities, each rounded once, multiplied: 64 last places.
    mean = float(sum(v * p for v, p in exact.items()))
    assert abs(expected_max(given_priors) - mean) <= 64 * EPS * mean
    for t in (-1.0, *range(10), 2.5):
        below = float(sum(p for v, p in exact.items() if v < t))
        upto = float(sum(p for v, p in exact.items() if v <= t))
        assert abs(cdf_of_max(given_priors, t) - upto) <= 64 * EPS
        assert abs(cdf_of_max(given_priors, t, strict=True) - below) <= 64 * EPS
    reached = [v for v in exact if sum(p for w, p in exact.items() if w <= v) >= Fraction(1, 2)]
    assert median_of_max(given_priors) == min(reached)


@given(small_instances(), st.floats(0.1, 5.0))
def test_finite_laws_with_one_continuous_law(laws, width):
    # E max(D, U) for U uniform on [0, w], by hand: Σ P(D = d)·E max(d, U).
    exact = law_of_max(laws)
    w = Fraction(width)
    mean = sum(p * ((d * d + w * w) / (2 * w) if d < w else Fraction(d)) for d, p in exact.items())
    found = expected_max([*as_discrete(laws), Uniform(0, width)])
    assert abs(found - float(mean)) <= 1e-14 * float(mean)


def test_reference_values():
    assert expected_max([ss.uniform()] * 10) == pytest.approx(10 / 11, rel=4 * EPS)
    assert expected_max(MIXED) == pytest.approx(3.0417512899549893657, rel=4 * EPS)
    assert expected_max([0.7]) == 0.7
    assert expected_max([0.7, 0.9, 0.2]) == 0.9


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 100_000])
def test_iid_closed_forms(n):
    # 1e-14: the integral of 1 - F^n is a sum of a few hundred positive panels, each good to 1e-14 of itself.
    with mpmath.workdps(30):
        exact = {
            Uniform(0, 1): mpmath.mpf(n) / (n + 1),
            Exponential(1): mpmath.harmonic(n),
            **{Pareto(a): n * mpmath.beta(n, 1 - 1 / mpmath.mpf(a)) for a in (1.01, 1.1, 1.5, 2.5)},
            Beta(0.5, 1): mpmath.mpf(n) / (n + 2),  # F = √x
            Beta(20, 1): mpmath.mpf(20 * n) / (20 * n + 1),  # F = x^20
            Weibull(0.5): sum(mpmath.mpf(1) / k for k in range(1, n + 1)) ** 2
            + sum(mpmath.mpf(1) / k**2 for k in range(1, n + 1)),  # the square of an exponential maximum
        }
        for law, mean in exact.items():
            assert expected_max([law] * n) == pytest.approx(float(mean), rel=1e-14), law


def test_one_value_is_its_mean():
    for law in (*MIXED, Exponential(1e-6, 5), Gamma(0.01), LogNormal(0, 3), Beta(0.01, 0.02), Pareto(1.001)):
        assert expected_max([law]) == pytest.approx(law.mean, rel=1e-14)


def test_scales_far_apart():
    assert expected_max([Exponential(1e-6, 5), PointMass(1)]) == pytest.approx(5 + 1e-6, rel=4 * EPS)
    assert expected_max([Exponential(1e-6), Exponential(1e6)]) == pytest.approx(1e6 + 1e-6 - 1 / (1e6 + 1e-6))
    assert expected_max([PointMass(2), Uniform(0, 1)]) == 2.0
    assert expected_max([PointMass(1), Uniform(0, 1)]) == 1.0
    # E max(X, U) for X within 1e-3 of 1 and U uniform on [0, 10] is E[(X² + 100)/20], whatever X's law.
    narrow = LogNormal(0, 1e-4)
    mean = (narrow.variance + narrow.mean**2 + 100) / 20
    assert expected_max([narrow, Uniform(0, 10)]) == pytest.approx(mean, rel=1e-14)


def test_a_mixed_instance_against_mpmath():
    laws = [Gamma(0.5), Beta(0.5, 0.5, 0, 2), Weibull(3), Discrete([0, 1], [0.5, 0.5])]
    with mpmath.workdps(25):
        factors = [
            lambda x: mpmath.gammainc(0.5, 0, x, regularized=True),
            lambda x: 2 / mpmath.pi * mpmath.asin(mpmath.sqrt(x / 2)) if x < 2 else mpmath.mpf(1),
            lambda x: 1 - mpmath.exp(-(x**3)),
            lambda x: mpmath.mpf(1 if x >= 1 else 0.5),
        ]
        exact = mpmath.quad(
            lambda x: 1 - mpmath.fprod(f(x) for f in factors), [0, 0.5, 1, 1.5, 2, 4, 10, 60, 300]
        )
        assert expected_max(laws) == pytest.approx(
            float(exact), rel=1e-13
        )  # scipy's gammaincc is good to that


def test_equal_laws_are_handled_once():
    asked = []

    class Watched(Uniform):
        def survivals(self, t):
            asked.append(t.size)
            return super().survivals(t)

    one = Watched(0, 1)
    expected_max([one])
    alone = len(asked)
    expected_max([one] * 1000)
    assert len(asked) <= 2 * alone
    assert expected_max([Uniform(0, 1)] * 5) == expected_max([Uniform(0, 1) for _ in range(5)])
    many = MIXED * 10_000
    assert expected_max(many) > expected_max(MIXED * 100)
    assert median_of_max(many) > median_of_max(MIXED * 100)


def test_logs_mix_with_everything():
    logs = [Empirical(np.random.default_rng(k).exponential(size=50)) for k in range(3)]
    values = np.concatenate([log.atoms for log in logs])
    grid = np.append(np.sort(values), 16.0)
    # Between two atoms the product of the three step functions is constant, and the uniform's F is t/16.
    steps = np.prod([1.0 - log.survivals(grid[:-1]) for log in logs], axis=0)
    exact = grid[0] + math.fsum(np.diff(grid) - steps * np.diff(grid**2) / 32)
    assert expected_max([*logs, Uniform(0, 16)]) == pytest.approx(exact, rel=1e-14)
    top = max(log.upper for log in logs)
    assert expected_max([*logs, 2 * top]) == 2 * top


def test_a_numerical_law():
    assert expected_max([ss.gompertz(1.0), ss.gompertz(1.0)]) == pytest.approx(
        # The smaller of two has survival S², which is again Gompertz, with shape 2.
        2 * priors.as_prior(ss.gompertz(1.0)).mean - priors.as_prior(ss.gompertz(2.0)).mean,
        rel=1e-12,
    )


# ---------------------------------------------------------------------------------------------------------
# Medians


def test_medians_at_atoms_are_the_atoms():
    coin = Discrete([0, 1], [0.5, 0.5])
    assert median_of_max([coin]) == 0.0
    assert median_of_max([coin, coin]) == 1.0
    assert median_of_max([1.0, Discrete([0, 100], [0.9, 0.1])]) == 1.0
    assert median_of_max([0.7]) == 0.7
    assert median_of_max([Uniform(0, 1), 0.7]) == 0.7
    assert median_of_max([Uniform(0, 1), Discrete([0.1, 0.2], [0.3, 0.7])]) == pytest.approx(0.5, rel=4 * EPS)
    assert median_of_max([Uniform(0, 1), Discrete([0, 5], [0.4, 0.6])]) == 5.0
    # P(max <= 1) is 0.8·0.625 = 1/2, which rounding must not turn into less.
    assert median_of_max([Discrete([1, 2], [0.8, 0.2]), Discrete([1, 3], [0.625, 0.375])]) == 1.0
    assert median_of_max([Discrete([1, 2], [0.9, 0.1]), Discrete([1, 3], [5 / 9, 4 / 9])]) == 1.0


@pytest.mark.parametrize("n", [1, 2, 10, 100_000])
def test_medians_of_iid_values(n):
    with mpmath.workdps(30):
        level = mpmath.mpf(2) ** (-mpmath.mpf(1) / n)  # F at the median
        exact = {
            Uniform(0, 1): level,
            Exponential(1): -mpmath.log1p(-level),
            Pareto(1.1): (1 - level) ** (-1 / mpmath.mpf(1.1)),
            Uniform(3, 4): 3 + level,
        }
        for law, median in exact.items():
            found = median_of_max([law] * n)
            assert found == pytest.approx(float(median), rel=8 * EPS)
            # F^n at the median has slope at most n, and t has a last place.
            assert cdf_of_max([law] * n, found) == pytest.approx(0.5, abs=8 * (n + 1) * EPS * found)


@given(st.lists(st.sampled_from(MIXED), min_size=1, max_size=6))
def test_the_median_splits(laws):
    median = median_of_max(laws)
    # The logarithms of up to six probabilities, each rounded: a few last places of the probability.
    assert cdf_of_max(laws, median) >= 0.5 - 16 * EPS
    assert cdf_of_max(laws, median, strict=True) <= 0.5 + 16 * EPS
    assert cdf_of_max(laws, math.nextafter(median, -math.inf)) <= 0.5 + 16 * EPS


def test_a_flat_stretch_at_one_half_begins_the_median():
    gap = [Uniform(0, 1), Discrete([0, 3], [0.5, 0.5])]  # P(max <= t) = 1/2 for 1 <= t < 3
    assert median_of_max(gap) == pytest.approx(1.0, rel=4 * EPS)


# ---------------------------------------------------------------------------------------------------------
# Distribution function


def test_cdf_of_max():
    assert cdf_of_max(MIXED, 0.69) == 0.0
    assert cdf_of_max(MIXED, 0.7) == 0.0  # the Pareto law begins at 1
    laws = [Uniform(0, 1), 0.7]
    assert cdf_of_max(laws, 0.7) == pytest.approx(0.7, rel=2 * EPS)
    assert cdf_of_max(laws, 0.7, strict=True) == 0.0
    assert cdf_of_max(laws, 1.0) == cdf_of_max(laws, 1.0, strict=True) == 1.0
    assert cdf_of_max([Uniform(0, 1)] * 3, 0.5) == pytest.approx(0.125, rel=4 * EPS)
    assert cdf_of_max([Discrete([0, 5], [0.9, 0.1])] * 2, 5.0, strict=True) == pytest.approx(
        0.81, rel=4 * EPS
    )


@pytest.mark.parametrize("function", [expected_max, median_of_max, lambda laws: cdf_of_max(laws, 0.0)])
def test_unusable_priors_are_named(function):
    with pytest.raises(PriorError, match=r"stage 2: .*negative support"):
        function([1.0, ss.norm()])
    with pytest.raises(PriorError, match="n = 0"):
        function([])
    with pytest.raises(PriorError, match="stage 1: the mean is infinite"):
        function([Pareto(1.0)])
