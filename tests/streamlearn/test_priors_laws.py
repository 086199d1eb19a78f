"""Every closed form against mpmath, its own shape (decreasing, convex, ...) and its own samples."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from streamlearn.errors import PriorError
from streamlearn.priors import (
    Beta,
    Exponential,
    Gamma,
    LogNormal,
    Normal,
    Pareto,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from streamlearn.priors.functions import SCALAR

EPS = 2.0**-52
INF = math.inf

# ---------------------------------------------------------------------------------------------------------
# The oracle: partial moments E[Z^k; Z > z], k = 0, 1, 2, of X = loc + scale·Z, in 60 digits. The stop-loss
# transform is then a plain difference, whose cancellation 60 digits outlast.


def _gamma(shape, scale, loc):
    return (
        loc,
        scale,
        0,
        INF,
        lambda k, z: mpmath.gammainc(mpf(shape) + k, z, mpmath.inf) / mpmath.gamma(mpf(shape)),
    )


def _weibull(shape, scale, loc):
    return (
        loc,
        scale,
        0,
        INF,
        lambda k, z: mpmath.gammainc(1 + mpf(k) / mpf(shape), z ** mpf(shape), mpmath.inf),
    )


def _pareto(alpha, minimum, loc):
    def above(k, z):
        return mpf(alpha) / (mpf(alpha) - k) * z ** (k - mpf(alpha)) if alpha > k else mpmath.inf

    return loc, minimum, 1, INF, above


def _beta(a, b, lower, upper):
    def above(k, z):
        return mpmath.betainc(mpf(b), mpf(a) + k, 0, 1 - z) / mpmath.beta(mpf(a), mpf(b))

    return lower, mpf(upper) - mpf(lower), 0, 1, above


def _upper_tail(z):
    return mpmath.erfc(z / mpmath.sqrt(2)) / 2


def _density(z):
    return mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)


def _normal_above(k, z):
    return (_upper_tail(z), _density(z), z * _density(z) + _upper_tail(z))[k]


def _normal(mean, sd):
    return mean, sd, -INF, INF, _normal_above


def _truncated(mean, sd, lower, upper):
    alpha = (mpf(lower) - mpf(mean)) / mpf(sd)
    if upper == INF:
        return mean, sd, alpha, INF, lambda k, z: _normal_above(k, z) / _upper_tail(alpha)
    beta = (mpf(upper) - mpf(mean)) / mpf(sd)

    def between(k, z):  # from whichever side the tails are small
        mass = _upper_tail(-beta) - _upper_tail(-z) if beta < 0 else _upper_tail(z) - _upper_tail(beta)
        return (mass, _density(z) - _density(beta), z * _density(z) - beta * _density(beta) + mass)[k]

    return mean, sd, alpha, beta, lambda k, z: between(k, z) / between(0, alpha)


def _lognormal(mu, sigma, loc):
    def above(k, z):
        depth = mpmath.log(z) / mpf(sigma) if z > 0 else -mpmath.inf
        return mpmath.exp(k * k * mpf(sigma) ** 2 / 2) * _upper_tail(depth - k * mpf(sigma))

    return loc, mpmath.exp(mpf(mu)), 0, INF, above


FORMULAS = {
    Uniform: lambda lower, upper: _beta(1, 1, lower, upper),
    Exponential: lambda scale, loc: _gamma(1, scale, loc),
    Gamma: _gamma,
    Weibull: _weibull,
    Pareto: _pareto,
    Beta: _beta,
    Normal: _normal,
    TruncatedNormal: _truncated,
    LogNormal: _lognormal,
}


def exact(law, t):
    """Return (S(t), P(X > t), E[X²; X > t]) in 60 digits."""
    loc, scale, start, end, above = FORMULAS[type(law)](*law._parameters)
    loc, scale = mpf(loc), mpf(scale)
    z = (mpf(t) - loc) / scale
    inside = min(max(z, mpf(start)), mpf(end))
    mass, first, second = (above(k, inside) for k in range(3))
    excess = scale * (first - z * mass) if z < end else mpf(0)
    if second == mpmath.inf:
        return excess, mass, second
    return excess, mass, loc * loc * mass + 2 * loc * scale * first + scale * scale * second


# ---------------------------------------------------------------------------------------------------------
# The bar. A float t stands for every number within half of its last place, so a formula is called accurate
# if its result is exact at a place within c last places of t (and of the law's own loc, from which the
# place is measured), up to c last places of the result itself. S, P(X > .) and E[X²; X > .] decrease, so
# that means: between the exact values at t + δ and t - δ. c is what the functions underneath allow.


def last_places(law, t):
    few = 12  # arithmetic, exp, erfc: about one last place each, a handful of them in a formula
    if isinstance(law, Gamma | Weibull):
        # z^shape turns an error of z into one shape times as large. scipy's own tests of gammaincc accept
        # 1e-13 relative, about 500 last places, and more for large shapes.
        return 500 + 8 * law._parameters[0]
    if isinstance(law, Pareto):
        return few + law._parameters[0]
    if isinstance(law, Beta):
        return 2 * few + sum(law._parameters[:2])  # scipy's betainc loses a few more when a shape is small
    if isinstance(law, TruncatedNormal):
        return 64  # a sum of 64 terms, divided by a probability
    if isinstance(law, LogNormal):
        # The logarithm is wrong by half of its own last place: as if t were moved by |ln t| last places.
        return few + abs(math.log(max(float(t) - law._loc, 1e-300) / law._scale))
    return few


def brackets(law, t):
    """Return the lowest and the highest acceptable S(t), P(X > t) and E[X²; X > t]."""
    relative = mpf(last_places(law, t) * EPS)
    step = relative * (abs(mpf(t)) + abs(mpf(law._loc)))
    slack = mpf(10) ** -300 * (1 + mpf(law._scale) ** 2)  # down there floats have few digits or none
    after, before = exact(law, mpf(t) + step), exact(law, mpf(t) - step)
    # Moving loc by δ moves every value too, and so E[X²; X > t] by 2δ·E[X; X > t].
    slacks = (slack, slack, slack + 2 * step * abs(before[0] + mpf(t) * before[1]))
    low = [value * (1 - relative) - extra for value, extra in zip(after, slacks, strict=True)]
    high = [value * (1 + relative) + extra for value, extra in zip(before, slacks, strict=True)]
    return low, high


LAWS = [
    *(Uniform(*p) for p in ((0, 1), (-3, 2), (1e6, 1e6 + 1), (2, 5))),
    *(Exponential(*p) for p in ((1, 0), (2.5, 1), (1e-3, 7))),
    *(
        Gamma(*p)
        for p in (
            (2, 1, 0),
            (0.1, 1, 0),
            (0.5, 3, 0),
            (1.5, 1, 2),
            (7.3, 2, 0),
            (60.2, 0.1, 0),
            (1000.5, 1, 0),
        )
    ),
    *(Weibull(*p) for p in ((1.5, 1, 0), (0.5, 1, 0), (2, 1, 1), (7, 1, 0), (30, 2, 0), (0.2, 1, 0))),
    *(Pareto(*p) for p in ((2.5, 1, 0), (1.01, 1, 0), (3, 2, 1), (1.5, 1, 0), (50, 1, -1))),
    *(
        Beta(*p)
        for p in (
            (2, 5, 0, 1),
            (0.5, 0.5, 0, 1),
            (2.5, 5.5, 0, 1),
            (0.1, 3, 0, 1),
            (2, 50, 0, 1),
            (3, 2, 1, 4),
        )
    ),
    *(Normal(*p) for p in ((0, 1), (1, 2), (100, 3))),
    *(LogNormal(*p) for p in ((0, 0.5, 0), (1, 2, 0), (0, 0.05, 0), (-1, 1, 2), (3, 5, 0))),
    *(TruncatedNormal(*p) for p in ((1, 1), (-3, 1), (-10, 1), (-1000, 1), (50, 1))),
    *(
        TruncatedNormal(*p)
        for p in ((0.5, 0.25, 0, 1), (1, 1, 0, 3), (-6, 1, 0, 1), (8, 1, 0, 2), (1000, 1, 0, 3))
    ),
    *(
        TruncatedNormal(*p)
        for p in ((2, 5, 1, 1.5), (0, 1, 0, 50), (0, 1, -INF, 1), (0, 1, -INF, -6), (3, 2, -INF, INF))
    ),
]


def places(law):
    """Values in the bulk, in both tails, at and around the ends of the support."""
    spread = math.sqrt(law.variance) if law.variance < INF else law.mean
    middle = law.mean
    found = [middle + spread * k for k in (-6, -2, -1, -0.3, 0, 0.5, 2, 4.1, 6, 12, 30)]
    if law.lower > -INF:
        width = min(law.upper, law.mean) - law.lower
        found += [0.0, law.lower, *(law.lower + width * f for f in (1e-8, 1e-3, 0.1))]
    if law.upper < INF:
        found += [law.upper, *(law.upper - (law.upper - middle) * f for f in (0.3, 1e-2, 1e-6))]
    return sorted({float(t) for t in found})


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_values_are_exact_at_a_neighbour_of_t(law):
    with mpmath.workdps(60):
        grid = np.array(places(law))
        excesses, masses = law.stop_losses(grid), law.survivals(grid)
        for t, excess, mass in zip(grid.tolist(), excesses, masses, strict=True):
            low, high = brackets(law, t)
            assert low[0] <= mpf(law.stop_loss(t)) <= high[0]
            assert low[0] <= mpf(excess) <= high[0]
            assert low[1] <= mpf(law.survival(t)) <= high[1]
            assert low[1] <= mpf(mass) <= high[1]
            if t >= max(law.lower, 0.0):
                assert low[2] <= law.second_moment_above(t) <= high[2]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_mean_and_variance(law):
    with mpmath.workdps(60):
        bottom = law.lower if law.lower > -INF else law._loc - 60 * law._scale  # where nothing is left below
        excess, _, second = exact(law, bottom)
        mean = mpf(bottom) + excess
        c = (
            last_places(law, law.mean) + 100
        )  # the mean of a support cut off 2 to 4 sd out is a difference of that loss
        magnitude = abs(mean) + (abs(mpf(law._loc)) if law.lower == -INF else 0)
        assert abs(mpf(law.mean) - mean) <= c * EPS * magnitude
        if second == mpmath.inf:
            assert law.variance == INF
        else:
            # A difference of E[X²] and E[X]² in some closed forms: accurate on the scale of the former.
            assert abs(mpf(law.variance) - (second - mean**2)) <= 8 * c * EPS * second


def test_a_far_tail_keeps_its_digits_where_the_exact_place_is_a_float():
    # Here t, t - loc and all steps are exact, so nothing hides behind the neighbours of t.
    with mpmath.workdps(60):
        for law, t in (
            (Normal(0, 1), 8.0),
            (Normal(0, 1), 30.0),
            (Exponential(1), 700.0),
            (Pareto(2.5), 1e30),
        ):
            reference = exact(law, t)[0]
            assert abs(mpf(law.stop_loss(t)) - reference) <= 4 * EPS * reference
        law = Beta(2, 5)
        reference = exact(law, 1 - 2.0**-20)[0]
        assert abs(mpf(law.stop_loss(1 - 2.0**-20)) - reference) <= 32 * EPS * reference


def test_closed_forms_agree_with_a_sum_of_the_density():
    # The oracle above shares its partial moments with the textbook; this one only knows the density.
    densities = {
        Gamma(2.5): lambda x: x**1.5 * mpmath.exp(-x) / mpmath.gamma(2.5),
        Weibull(1.5): lambda x: 1.5 * x**0.5 * mpmath.exp(-(x**1.5)),
        LogNormal(0, 0.5): lambda x: _density(mpmath.log(x) / 0.5) / (0.5 * x),
        TruncatedNormal(1, 1): lambda x: _density(x - 1) / _upper_tail(mpf(-1)),
        Beta(2, 5): lambda x: 30 * x * (1 - x) ** 4,
    }
    for law, density in densities.items():
        for t in (0.25, 0.75):
            end = 1 if isinstance(law, Beta) else mpmath.inf
            cuts = [t, end] if end == 1 else [t, 2, 5, end]
            reference = mpmath.quad(lambda x, t=t, density=density: (x - t) * density(x), cuts)
            assert law.stop_loss(t) == pytest.approx(float(reference), rel=1e-12)  # quad's own accuracy


# ---------------------------------------------------------------------------------------------------------
# Shape, for laws and places that hypothesis chooses. tolerance() is the bar above turned into a number: a
# change of t by δ changes S by at most δ·P(X > t - δ) <= δ·(P(X > t) + a neighbour's), bounded by P at t - δ.

shapes = st.floats(0.2, 20.0)
scales = st.floats(1e-3, 1e3)
locs = st.floats(0.0, 1e3)


usable_laws = st.one_of(
    st.builds(lambda loc, scale: Uniform(loc, loc + scale), locs, scales),
    st.builds(Exponential, scales, locs),
    st.builds(Gamma, shapes, scales, locs),
    st.builds(Weibull, shapes, scales, locs),
    st.builds(Pareto, st.floats(1.05, 20.0), scales, locs),
    st.builds(lambda a, b, loc, scale: Beta(a, b, loc, loc + scale), shapes, shapes, locs, scales),
    st.builds(LogNormal, st.floats(-7.0, 7.0), st.floats(0.01, 3.0), locs),
    st.builds(Normal, st.floats(-1e3, 1e3), scales),
    st.builds(
        lambda depth, scale, loc, width: TruncatedNormal(
            loc + depth * scale, scale, loc, loc + width * scale
        ),
        st.floats(-5.0, 5.0),
        scales,
        locs,
        st.sampled_from([INF, 0.1, 3.0]),
    ),
)


@st.composite
def laws_and_places(draw, count):
    law = draw(usable_laws)
    spread = math.sqrt(law.variance) if law.variance < INF else law.mean
    numbers = st.floats(-10.0, 40.0).map(lambda k: law.mean + k * spread)
    special = st.sampled_from([0.0, law.mean, *(end for end in (law.lower, law.upper) if math.isfinite(end))])
    return law, sorted(draw(st.lists(numbers | special, min_size=count, max_size=count)))


def reach(law, t):
    return last_places(law, t) * EPS * (abs(t) + abs(law._loc))


def tolerance(law, t):
    step = reach(law, t)
    return last_places(law, t) * EPS * law.stop_loss(t) + step * law.survival(t - step)


@given(laws_and_places(3))
def test_stop_loss_decreases_no_faster_than_t_grows_and_is_convex(drawn):
    law, (t, u, v) = drawn
    at_t, at_u, at_v = (law.stop_loss(place) for place in (t, u, v))
    slack = tolerance(law, t) + tolerance(law, u) + tolerance(law, v)
    assert min(at_t, at_u, at_v) >= 0.0
    assert at_u <= at_t + slack
    assert at_t - at_u <= (u - t) + slack
    if t < v:
        share = (v - u) / (v - t)
        assert at_u <= share * at_t + (1.0 - share) * at_v + slack + 4 * EPS * at_t


@given(laws_and_places(2))
def test_minus_the_slope_is_the_survival_function(drawn):
    # S(t) - S(u) is the integral of a decreasing function, so it lies between the end values times u - t:
    # exact for every t < u, and as narrow as one likes when they are close.
    law, (t, u) = drawn
    for far in (u, t + 1e-3 * (u - t)):
        fall = law.stop_loss(t) - law.stop_loss(far)
        width = far - t
        slack = tolerance(law, t) + tolerance(law, far) + last_places(law, t) * EPS * width
        step = reach(law, t) + reach(law, far)
        assert width * law.survival(far + step) - slack <= fall <= width * law.survival(t - step) + slack


@given(laws_and_places(1))
def test_ends(drawn):
    law, (t,) = drawn
    if law.lower >= 0.0:
        assert law.stop_loss(0.0) == law.mean
        assert law.survival(-1.0) == 1.0
    if t < law.lower:
        assert law.stop_loss(t) == law.mean - t
    if law.upper < INF:
        assert law.stop_loss(law.upper) == 0.0
        assert law.survival(law.upper) == 0.0
    assert law.stop_loss(1e300) <= 1e300 ** (1 - 1.05) * 1e4 * 21  # the heaviest tail drawn above
    assert law.survival(1e300) <= 1e300**-1.05 * 1e4**1.05
    assert law.atom(t) == 0.0
    assert law.atoms.size == 0


@given(laws_and_places(5))
def test_arrays_are_scalars(drawn):
    law, given_places = drawn
    grid = np.array(given_places)
    for t, one in zip(given_places, law.stop_losses(grid), strict=True):
        assert abs(one - law.stop_loss(t)) <= tolerance(law, t)
    for t, one in zip(given_places, law.survivals(grid), strict=True):
        step = reach(law, t)
        relative = last_places(law, t) * EPS
        assert law.survival(t + step) * (1 - relative) <= one <= law.survival(t - step) * (1 + relative)
    assert law.stop_losses(np.broadcast_to(grid, (2, 5))).shape == (2, 5)
    assert law.survivals(grid[:0]).shape == law.stop_losses(grid[:0]).shape == (0,)


@given(laws_and_places(2))
def test_second_moment_above(drawn):
    law, (t, u) = drawn
    if law.variance == INF:
        assert law.second_moment_above(t) == INF
        return
    whole = law.variance + law.mean**2
    slack = 8 * (last_places(law, law.mean) + 100) * EPS * (whole + law._loc**2)
    bottom = law.lower if law.lower > -INF else law.mean - 40 * math.sqrt(law.variance)
    below_zero = 4 * EPS * bottom**2 if law.lower == -INF else 0.0  # where its three terms cancel
    assert abs(law.second_moment_above(bottom) - whole) <= slack + below_zero
    if t >= max(law.lower, 0.0):
        # Between t and u every x² lies between t² and u².
        between = law.second_moment_above(t) - law.second_moment_above(u)
        mass = law.survival(t) - law.survival(u)
        rounding = slack + last_places(law, t) * EPS * (u * u) * law.survival(t)
        assert t * t * mass - rounding <= between <= u * u * mass + rounding
        whole_above = law.stop_loss(t) + t * law.survival(t)
        assert abs(law.mean_above(t) - whole_above) <= 4 * EPS * whole_above
    far_below = 4 * EPS * abs(bottom - 1.0) if law.lower == -INF else 0.0
    assert abs(law.mean_above(bottom - 1.0) - law.mean) <= far_below


# ---------------------------------------------------------------------------------------------------------
# Samples


SAMPLED = [law for law in LAWS if law.mean < INF]
DRAWS = 20_000


@pytest.mark.parametrize("law", SAMPLED, ids=repr)
def test_samples_follow_the_law(law):
    # Dvoretzky-Kiefer-Wolfowitz: sup |F_n - F| > √(ln(2/α)/2n) with probability <= α, whatever F. All laws
    # together raise a false alarm with probability <= 1e-6; the seed is fixed besides.
    alpha = 1e-6 / len(SAMPLED)
    bound = math.sqrt(math.log(2 / alpha) / (2 * DRAWS))
    draws = np.sort(law.sample(np.random.default_rng(20), DRAWS))
    assert draws.min() >= law.lower
    assert draws.max() <= law.upper
    below = 1.0 - law.survivals(draws)
    ranks = np.arange(DRAWS) / DRAWS
    assert max(np.max(below - ranks), np.max(ranks + 1 / DRAWS - below)) <= bound
    assert law.sample(np.random.default_rng(1), (2, 3)).shape == (2, 3)


# ---------------------------------------------------------------------------------------------------------
# Objects


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_equal_when_built_alike_and_survives_copying(law):
    again = type(law)(*law._parameters)
    assert again == law
    assert hash(again) == hash(law)
    assert eval(repr(law), dict(vars(sys.modules[__name__])) | {"inf": INF}) == law  # noqa: S307 - our own repr
    for twin in (pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):  # noqa: S301 - our own pickle
        assert twin == law
        assert twin.stop_loss(law.mean) == law.stop_loss(law.mean)
    assert law != "a law"


def test_different_laws_are_unequal():
    assert Uniform(0, 1) != Uniform(0, 2)
    assert Exponential(1, 0) != Gamma(1, 1, 0)
    assert len({Beta(1, 2), Beta(1, 2, 0, 1), Beta(2, 1)}) == 2


def test_scalars_are_python_floats():
    for law in LAWS:
        t = law.mean * 1.01 + 0.1
        numbers = (law.mean, law.variance, law.lower, law.upper, law.stop_loss(t), law.survival(t))
        assert {type(number) for number in (*numbers, law.second_moment_above(t), law.mean_above(t))} == {
            float
        }


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Uniform(1, 1), "lower must be < upper"),
        (lambda: Uniform(0, INF), "upper must be finite"),
        (lambda: Uniform(0, float("nan")), "upper is NaN"),
        (lambda: Uniform("0", 1), "lower must be one real number, got str"),
        (lambda: Exponential(0), "scale must be > 0"),
        (lambda: Exponential(True), "scale must be one real number, got bool"),
        (lambda: Exponential(10**400), "scale must be finite"),
        (lambda: Gamma(-1), "shape must be > 0"),
        (lambda: Weibull(0), "shape must be > 0"),
        (lambda: Pareto(0), "alpha must be > 0"),
        (lambda: Beta(0, 1), "a must be > 0"),
        (lambda: Beta(1, 1, 2, 1), "lower must be < upper"),
        (lambda: Normal(0, 0), "sd must be > 0"),
        (lambda: LogNormal(0, -1), "sigma must be > 0"),
        (lambda: TruncatedNormal(0, 1, 2, 1), "lower must be < upper"),
        (lambda: TruncatedNormal(INF, 1), "mean must be finite"),
    ],
)
def test_parameters_are_checked(build, named):
    with pytest.raises(PriorError, match=named):
        build()


@pytest.mark.parametrize(
    ("law", "named"),
    [
        (Normal(0, 1), "stage 4: .*negative support.*TruncatedNormal"),
        (Uniform(-1, 1), "stage 4: .*negative support"),
        (Pareto(1.0), "stage 4: the mean is infinite"),
        (Pareto(0.5), "stage 4: the mean is infinite"),
        (LogNormal(800, 1), "stage 4: the mean is infinite"),
        (Weibull(1e-3), "stage 4: the mean is infinite"),
    ],
)
def test_unusable_laws_are_named(law, named):
    with pytest.raises(PriorError, match=named):
        law.check_usable("stage 4")


def test_rounding_goes_neither_below_zero_nor_above_one():
    for law, t in ((Gamma(1e5), 112633.92136579), (Beta(1e5, 1e5), 0.54289626)):
        assert law._excess(t, SCALAR) < 0.0  # a difference of two tails just above the smallest float
        assert law.stop_loss(t) == law.stop_losses(np.array([t]))[0] == 0.0
    law = Pareto(3, 1e-3, 16.0)  # (lower - loc)/scale rounds to more than 1
    assert law.survival(law.lower) == 1.0
    assert law.stop_loss(law.lower) == law.mean - law.lower


def test_an_infinite_mean_has_infinite_stop_loss():
    law = Pareto(1.0)
    assert law.stop_loss(0.0) == law.stop_loss(3.0) == INF
    assert law.survival(2.0) == 0.5


def test_importing_priors_loads_neither_scipy_nor_river():
    code = (
        "import sys, streamlearn.priors as p; law = p.Uniform(0, 1); law.stop_loss(.5); p.as_priors([law, 1.0, [2.0]]);"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in {'scipy', 'river', 'pandas'}))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
