"""From numbers, samples and scipy's laws to priors; every refusal names the stage and no value."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats as ss

from streamlearn import priors
from streamlearn.errors import PriorError
from streamlearn.priors import as_prior, as_priors

INF = math.inf

# (scipy's law, the same written another way, our law)
CLOSED = [
    (ss.uniform(2, 3), ss.uniform(scale=3, loc=2), priors.Uniform(2, 5)),
    (ss.expon(1, 2), ss.expon(scale=2, loc=1), priors.Exponential(2, 1)),
    (ss.norm(5, 2), ss.norm(loc=5, scale=2), priors.Normal(5, 2)),
    (ss.halfnorm(1, 2), ss.halfnorm(loc=1, scale=2), priors.TruncatedNormal(1, 2, 1)),
    (ss.truncnorm(-1, INF, 1, 1), ss.truncnorm(a=-1, b=INF, loc=1), priors.TruncatedNormal(1, 1)),
    (ss.truncnorm(-1, 2, 3, 2), ss.truncnorm(-1, b=2, loc=3, scale=2), priors.TruncatedNormal(3, 2, 1, 7)),
    (ss.lognorm(0.5, 1, 2), ss.lognorm(s=0.5, loc=1, scale=2), priors.LogNormal(math.log(2), 0.5, 1)),
    (ss.gamma(2.5, 1, 3), ss.gamma(a=2.5, loc=1, scale=3), priors.Gamma(2.5, 3, 1)),
    (ss.erlang(3, 0, 2), ss.erlang(a=3, scale=2), priors.Gamma(3, 2)),
    (ss.chi2(5, 1, 2), ss.chi2(df=5, loc=1, scale=2), priors.Gamma(2.5, 4, 1)),
    (ss.weibull_min(1.5, 1, 2), ss.weibull_min(c=1.5, loc=1, scale=2), priors.Weibull(1.5, 2, 1)),
    (ss.rayleigh(1, 2), ss.rayleigh(loc=1, scale=2), priors.Weibull(2, 2 * math.sqrt(2), 1)),
    (ss.pareto(2.5, 1, 2), ss.pareto(b=2.5, loc=1, scale=2), priors.Pareto(2.5, 2, 1)),
    (ss.lomax(2.5, 1, 2), ss.lomax(c=2.5, loc=1, scale=2), priors.Pareto(2.5, 2, -1)),
    (ss.beta(2, 5, 1, 3), ss.beta(a=2, b=5, loc=1, scale=3), priors.Beta(2, 5, 1, 4)),
    (ss.arcsine(1, 3), ss.arcsine(loc=1, scale=3), priors.Beta(0.5, 0.5, 1, 4)),
    (ss.bernoulli(0.25), ss.bernoulli(p=0.25), priors.Discrete([0, 1], [0.75, 0.25])),
    (ss.randint(2, 5), ss.randint(low=1, high=4, loc=1), priors.Discrete([2, 3, 4], [1 / 3] * 3)),
]


@pytest.mark.parametrize(("law", "by_name", "expected"), CLOSED, ids=lambda law: repr(law)[:40])
def test_scipy_laws_become_closed_forms(law, by_name, expected):
    found = as_prior(law)
    assert found == expected
    assert as_prior(by_name) == expected
    # ... and the closed form is the same law, by scipy's own account. scipy promises about 1e-10 in general.
    places = np.append(law.ppf([0.01, 0.3, 0.5, 0.9, 0.999]), [-1.0, 0.0])
    assert found.survivals(places) == pytest.approx(law.sf(places), rel=1e-10, abs=0)
    assert found.mean == pytest.approx(law.mean(), rel=1e-10)
    assert found.variance == pytest.approx(law.var(), rel=1e-9)
    assert (found.lower, found.upper) == pytest.approx(law.support(), abs=1e-15)


@pytest.mark.parametrize(
    ("law", "size"),
    [
        (ss.binom(10, 0.3), 11),
        (ss.binom(n=10, p=0.3, loc=5), 11),
        (ss.hypergeom(20, 7, 12), 8),
        (ss.boltzmann(0.5, 10), 10),
        (ss.rv_discrete(values=([1.5, 4.0], [0.3, 0.7])), 2),
        (ss.rv_discrete(values=([1.5, 4.0], [0.3, 0.7]))(loc=2), 2),
        (ss.Binomial(n=3, p=0.2), 4),
        (ss.poisson(3.3), None),
        (ss.poisson(mu=3.3, loc=2), None),
        (ss.geom(0.2), None),
        (ss.nbinom(3, 0.1), None),
        (ss.planck(0.5), None),
        (ss.poisson(2000), None),
    ],
    ids=lambda law: getattr(getattr(law, "dist", None), "name", ""),
)
def test_discrete_scipy_laws_become_tables(law, size):
    found = as_prior(law)
    variance = (getattr(law, "var", None) or law.variance)()
    assert isinstance(found, priors.Discrete)
    assert size in {None, found.atoms.size}
    # scipy's pmf and moments are good to about 1e-12.
    assert found.mean == pytest.approx(float(law.mean()), rel=1e-11)
    assert found.variance == pytest.approx(float(variance), rel=1e-10)
    assert found.probs == pytest.approx(law.pmf(found.atoms), rel=1e-9, abs=1e-30)


def test_the_tail_of_an_infinite_table_is_kept_far_beyond_one_float_digit():
    found = as_prior(ss.geom(0.25))
    assert found.stop_loss(100.0) == pytest.approx(0.75**100 / 0.25, rel=1e-9)


def test_the_customary_truncation_at_zero_begins_at_zero():
    # (0 - mean)/sd·sd + mean is often a little off 0, and a support that reaches below 0 would be refused.
    for mean, sd in ((0.05, 0.67), (0.42, 0.05), (1.53, 1.29), (2.64, 2.22), (3.38, 0.67)):
        assert mean + (0 - mean) / sd * sd != 0.0
        assert as_prior(ss.truncnorm((0 - mean) / sd, INF, loc=mean, scale=sd)) == priors.TruncatedNormal(
            mean, sd
        )
    assert as_prior(ss.truncnorm(-1.5, INF, loc=1)).lower == -0.5


def test_laws_without_parameters_need_no_call_and_others_say_so():
    assert as_prior(ss.uniform) == priors.Uniform(0, 1)
    with pytest.raises(PriorError, match=r"scipy.stats.gamma is not frozen; call it: scipy.stats.gamma\(a\)"):
        as_prior(ss.gamma)


def test_numbers_and_samples():
    for number in (1, 1.0, np.float64(1), np.float32(1), np.int8(1)):
        assert as_prior(number) == priors.PointMass(1.0)
    for sample in ([1, 2, 2], (1, 2, 2), np.array([1, 2, 2]), np.array([1.0, 2.0, 2.0])):
        assert as_prior(sample) == priors.Empirical([1.0, 2.0, 2.0])
    law = priors.Gamma(2)
    assert as_prior(law) is law


def test_dataframe_columns_are_samples():
    import pandas as pd

    assert as_prior(pd.Series([1.0, 2.0])) == priors.Empirical([1.0, 2.0])


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        (True, "got an object of type bool; a prior is a number, a sample"),
        (np.True_, "a prior is a number, a sample"),
        (None, "got an object of type NoneType"),
        ("uniform(0,1)", "got an object of type str; .*priors.parse reads priors from text"),
        ({1.0: 0.5}, "got an object of type dict"),
        pytest.param(object(), "got an object of type object", id="object"),
        (priors.Uniform, "got the class Uniform"),
        (np.float64, "got the class float64"),
        (1j, "got an object of type complex"),
        (float("nan"), "value is NaN"),
        (INF, "value must be finite"),
        (np.zeros((2, 2)), "the sample must be one-dimensional"),
        (np.array(3.0), "the sample must be one-dimensional"),
        ([], "the sample is empty"),
        (ss.norm([0, 1], 1), "norm: loc is an array; give one law per stage"),
        (ss.gamma([1, 2]), "gamma: a is an array"),
        (ss.gompertz([1, 2]), "gompertz: c is an array"),
        (ss.uniform(0, -1), "lower must be < upper"),
        (ss.expon(scale=float("nan")), "scale is NaN"),
        (ss.lognorm(1, scale=0), "mu is NaN"),
        (ss.binom(-1, 0.5), "its parameters are out of their bounds"),
        (ss.randint(0, 10**8), "more than 1000000 of its values matter"),
        (ss.zipf(2.5), "more than 1000000 of its values matter"),
        (ss.skellam(3, 2), "negative support"),
        (ss.multivariate_normal([0, 0]), "a prior is a number"),
    ],
    ids=lambda thing: str(thing)[:30],
)
def test_everything_else_is_refused_by_name(thing, named):
    with pytest.raises(PriorError, match=named) as caught:
        as_prior(thing)
    assert caught.value.__cause__ is None
    with pytest.raises(PriorError, match=f"stage 2: .*{named}"):
        as_priors([1.0, thing])


@pytest.mark.parametrize(
    ("law", "named"),
    [
        (ss.norm(0, 1), "negative support; truncate it at 0 .priors.TruncatedNormal for a normal"),
        (ss.logistic(5, 1), "negative support"),
        (ss.uniform(-1, 2), "negative support"),
        (ss.binom(3, 0.5, loc=-1), "negative support"),
        (-0.5, "negative support"),
        (ss.pareto(1.0), "the mean is infinite"),
        (ss.pareto(0.5), "the mean is infinite"),
        (ss.halfcauchy(), "the mean is infinite"),
        (ss.cauchy(), "the mean is (NaN|infinite)"),
        (ss.levy(), "the mean is infinite"),
        (ss.gompertz(-1), "the mean is NaN"),
        ([1.0, 2.0, -98765.0, 98765.0], "entry 3 of the sample is negative"),
        ([1.0, float("nan"), 98765.0], "entry 2 of the sample is NaN"),
        ([98765.0, "98765"], "entry 2 of the sample is not a number"),
        ([98765.0, None], "entry 2 of the sample is not a number"),
    ],
    ids=lambda law: str(law)[:30],
)
def test_unusable_stages_are_named_and_no_entry_is_quoted(law, named):
    with pytest.raises(PriorError, match=f"stage 3: .*{named}") as caught:
        as_priors([1.0, ss.uniform(), law, law, 2.0])
    assert "98765" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("laws", "named"),
    [
        ([], "n = 0"),
        (np.empty(0), "n = 0"),
        (iter(()), "n = 0"),
        (
            priors.Uniform(0, 1),
            r"must be a list, one per stage, got an object of type Uniform; write \[prior\] \* n",
        ),
        (ss.uniform(), "must be a list"),
        (0.7, "must be a list, one per stage, got an object of type float"),
        (np.array(0.7), "must be a list"),
        ("uniform(0,1)", "must be a list, one per stage, got an object of type str"),
        (b"uniform", "must be a list"),
        ({1: ss.uniform()}, "must be a list"),
        ({1.0, 2.0}, "must be a list"),
        (None, "must be a list"),
    ],
    ids=lambda laws: str(laws)[:20],
)
def test_what_is_no_list_of_priors(laws, named):
    with pytest.raises(PriorError, match=named):
        as_priors(laws)


def test_each_object_is_converted_once():
    law, other = ss.uniform(), ss.uniform()
    converted = as_priors([law, 0.5, law, other, 0.5])
    assert converted[0] is converted[2]
    assert converted[3] == converted[0]
    assert as_priors((law,) * 3) == [priors.Uniform(0, 1)] * 3
    log = [1.0, 2.0]
    first, second = as_priors([log, log])
    assert first is second


def test_flat_numbers_are_point_masses_and_rows_are_logs():
    assert (
        as_priors([0.5, 1])
        == as_priors(np.array([0.5, 1.0]))
        == [priors.PointMass(0.5), priors.PointMass(1.0)]
    )
    assert as_priors(np.array([[1.0, 2.0], [3.0, 3.0]])) == [
        priors.Empirical([1, 2]),
        priors.Empirical([3, 3]),
    ]
    assert as_priors(x for x in (0.5, 1.0)) == [priors.PointMass(0.5), priors.PointMass(1.0)]


def test_scipy_stays_unloaded_unless_the_user_loaded_it():
    code = (
        "import sys; from streamlearn.priors import as_prior; from streamlearn.errors import PriorError\n"
        "try: as_prior(object())\n"
        "except PriorError: print('scipy.stats' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"
