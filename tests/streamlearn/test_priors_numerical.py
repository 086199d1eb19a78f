"""Numerical priors against the closed forms of the same laws, and the quadrature underneath."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import priors
from streamlearn.errors import PriorError
from streamlearn.priors import Numerical, as_prior
from streamlearn.priors.quadrature import gauss_rule, integrals, refine

INF = math.inf

TWINS = [
    (ss.expon(), priors.Exponential(1)),
    (ss.gamma(0.3), priors.Gamma(0.3)),
    (ss.weibull_min(0.4), priors.Weibull(0.4)),
    (ss.pareto(2.5), priors.Pareto(2.5)),
    (ss.pareto(1.2), priors.Pareto(1.2)),
    (ss.beta(0.1, 0.2), priors.Beta(0.1, 0.2)),
    (ss.beta(2, 5, 1, 3), priors.Beta(2, 5, 1, 4)),
    (ss.lognorm(1.5), priors.LogNormal(0, 1.5)),
    (ss.norm(5, 0.001), priors.Normal(5, 0.001)),
    (ss.uniform(3, 2), priors.Uniform(3, 5)),
    (ss.Normal(mu=3.0, sigma=1.0), priors.Normal(3, 1)),
    (ss.Uniform(a=1.0, b=2.0), priors.Uniform(1, 2)),
]


@pytest.mark.parametrize(("law", "twin"), TWINS, ids=lambda law: repr(law)[:30])
def test_agrees_with_the_closed_form(law, twin):
    found = Numerical(law)
    # The quadrature stops at 14 digits of a panel or 17 of the whole; scipy's sf itself is good to 1e-13.
    near = {"rel": 2e-13, "abs": 1e-15 * (twin.mean - min(twin.lower, 0.0) if twin.lower > -INF else 10)}
    places = np.array([-1.0, 0.0, twin.mean, *twin.sample(np.random.default_rng(7), 20)])
    assert found.stop_losses(places) == pytest.approx(twin.stop_losses(places), **near)
    assert found.survivals(places) == pytest.approx(twin.survivals(places), rel=2e-13, abs=1e-15)
    assert found.stop_loss(places[3]) == found.stop_losses(places[3:4])[0]
    assert found.mean == pytest.approx(twin.mean, rel=2e-13)
    assert (found.lower, found.upper) == (twin.lower, twin.upper)
    if twin.variance < INF:
        assert found.variance == pytest.approx(twin.variance, rel=1e-10)
        second = twin.second_moment_above(twin.mean)
        assert found.second_moment_above(twin.mean) == pytest.approx(second, rel=1e-12)
    else:
        assert found.variance == found.second_moment_above(0.0) == INF
    if found.lower >= 0:
        assert found.stop_loss(0.0) == found.mean
    assert found.stop_losses(places.reshape(-1, 1)).shape == (places.size, 1)
    assert found.atoms.size == 0


def test_laws_without_a_closed_form_become_numerical():
    for law in (
        ss.gompertz(1.0),
        ss.invgamma(3),
        ss.triang(0.3),
        ss.burr12(2, 3),
        ss.fisk(3),
        ss.genpareto(0.3),
    ):
        found = as_prior(law)
        assert isinstance(found, Numerical)
        assert found.mean == pytest.approx(law.mean(), rel=1e-7)  # scipy's own is often an integral
        assert repr(found) == f"Numerical({law.dist.name})"


def test_an_exact_integral():
    found = as_prior(ss.triang(0.5, loc=1, scale=2))  # density x - 1 on [1, 2], 3 - x on [2, 3]
    assert found.stop_loss(2.0) == pytest.approx(1 / 6, rel=1e-13)
    assert found.stop_loss(2.5) == pytest.approx(0.5**3 / 6, rel=1e-13)
    assert found.stop_loss(0.5) == 1.5


def test_a_histogram_and_a_law_of_the_users_own():
    found = as_prior(ss.rv_histogram((np.array([1, 3]), np.array([0.0, 1.0, 2.0])), density=False))
    assert found.mean == pytest.approx(0.25 * 0.5 + 0.75 * 1.5, rel=1e-13)
    assert found.stop_loss(1.0) == pytest.approx(0.75 * 0.5, rel=1e-13)

    class Rising(ss.rv_continuous):
        def _pdf(self, x):
            return 2 * x

    found = as_prior(Rising(a=0, b=1, name="rising")())
    assert found.mean == pytest.approx(
        2 / 3, rel=1e-9
    )  # scipy integrates this density itself, to 1.5e-8 or better


def test_an_inconsistent_law_is_refused():
    class Wrong(ss.rv_continuous):
        def _cdf(self, x):
            return -np.expm1(-x)

        def _stats(self):
            return 2.0, 1.0, None, None

    with pytest.raises(
        PriorError, match=r"stage 1: wrong: its sf integrates to a mean of 1 and its mean\(\) is 2"
    ):
        priors.as_priors([Wrong(a=0, name="wrong")()])


def test_what_is_no_law_is_refused():
    with pytest.raises(
        PriorError, match=r"object has no sf\(\); give a frozen continuous law of scipy.stats"
    ):
        Numerical(object())


def test_an_infinite_mean_has_infinite_stop_loss():
    found = as_prior(ss.halfcauchy())
    assert found.mean == found.stop_loss(1.0) == INF
    assert found.survival(0.0) == 1.0


def test_samples_follow_the_law():
    # Dvoretzky-Kiefer-Wolfowitz: a false alarm with probability <= 1e-7 for each law; the seed is fixed.
    for law in (ss.gompertz(1.0), ss.Normal(mu=1.0, sigma=2.0)):
        found = as_prior(law)
        draws = np.sort(found.sample(np.random.default_rng(9), 5000))
        bound = math.sqrt(math.log(2e7) / (2 * 5000))
        below = 1.0 - found.survivals(draws)
        assert np.max(np.abs(below - (np.arange(5000) + 0.5) / 5000)) <= bound
        assert found.sample(np.random.default_rng(9), (2, 3)).shape == (2, 3)


# ---------------------------------------------------------------------------------------------------------
# Quadrature


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=32), st.floats(-5, 5), st.floats(1e-3, 5))
def test_the_rule_is_exact_for_polynomials(coefficients, start, width):
    # 16 nodes integrate degree 31 exactly; around the panel's start every term is positive, so rounding is
    # a few last places of the result.
    def f(x):
        return np.polynomial.polynomial.polyval((x - start) / width, coefficients)

    exact = math.fsum(c * width / (k + 1) for k, c in enumerate(coefficients))
    got = integrals(f, np.array([start]), np.array([start + width]))[0]
    assert abs(got - exact) <= 1e-13 * exact + 1e-14 * width * abs(start) * sum(coefficients) * 32 / width


def test_the_rule_is_symmetric_and_sums_to_one():
    nodes, weights = gauss_rule(16)
    assert nodes + nodes[::-1] == pytest.approx(np.ones(16), abs=1e-15)
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("f", "edges", "exact"),
    [
        (np.sqrt, [0.0, 1.0], 2 / 3),
        (lambda x: x**-0.9, [0.0, 1.0], 10.0 * (1 - 2.0**-6)),
        (lambda x: np.exp(-1e4 * (x - 0.3) ** 2), [0.0, 1.0], math.sqrt(math.pi) / 100),
        (lambda x: np.where(x < 1 / 3, 1.0, 0.0), [0.0, 1.0], 1 / 3),
        (lambda x: np.exp(-x), [0.0, 1.0, 40.0, 800.0], 1.0),
    ],
)
def test_refinement_reaches_the_integral(f, edges, exact):
    found, parts = refine(f, np.array(edges))
    if exact == 10.0 * (1 - 2.0**-6):
        # So strong a singularity ends at the depth limit: what lies within 2^-61 of it is cut to one rule.
        assert 9.8 < parts.sum() < 10.0
        return
    assert parts.sum() == pytest.approx(exact, rel=1e-13)
    assert found[0] == edges[0]
    assert found[-1] == edges[-1]
    assert (np.diff(found) > 0).all()
    assert parts.size == found.size - 1


def test_a_spike_between_the_nodes_is_found_when_one_says_so():
    spike = lambda x: np.exp(-1e10 * (x - 0.5001) ** 2)  # noqa: E731 - shorter than its name
    cumulated = np.vectorize(lambda x: 0.5 * math.sqrt(math.pi) / 1e5 * (1 + math.erf(1e5 * (x - 0.5001))))

    def seen(a, b):
        exact = cumulated(b) - cumulated(a)
        return np.abs(integrals(spike, a, b) - exact) <= 1e-9 * exact + 1e-20

    edges = np.array([0.0, 1.0])
    exact = math.sqrt(math.pi) / 1e5
    assert refine(spike, edges)[1].sum() < 0.5 * exact
    assert refine(spike, edges, seen)[1].sum() == pytest.approx(exact, rel=1e-12)


def test_noise_does_not_refine_for_ever():
    generator = np.random.default_rng(1)
    found, _ = refine(lambda x: generator.random(x.shape), np.array([0.0, 1.0]))
    assert found.size < 5000
