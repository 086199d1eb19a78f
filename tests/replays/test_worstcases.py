"""The families of worst cases, in exact arithmetic and down to the smallest parameter."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from streamlearn import bounds, recursion
from streamlearn.errors import ParameterError
from streamlearn.priors import PointMass
from streamlearn.replays import benchmarks, synthetic
from streamlearn.rounding import check_epsilons

LEVELS = [0.0, 0.5, 1.0, 40.0, 1000.0, math.inf, [0.3, 2.0, 1.0, 5.0], [2.0, 0.0, math.inf, 0.1]]
PARAMETERS = [1.0, 0.5, 1e-2, 1e-5, 1e-16, 1e-150]
ULPS = 2 * 2.0**-52


def online(priors, epsilon):
    return recursion.solve(priors, check_epsilons(epsilon, len(priors))).values[0]


def exact_law(prior):
    return list(zip(map(Fraction, prior.atoms.tolist()), map(Fraction, prior.probs.tolist()), strict=True))


def exact_value(priors, xs):
    """W of Theorem 4.4 in fractions; V at x = 0."""
    w = Fraction(0)
    for prior, x in zip(reversed(priors), reversed(xs), strict=True):
        law = exact_law(prior)
        asked = sum(p * (max(v, w) + x * min(v, w)) for v, p in law) / (1 + x)
        w = max(sum(p * v for v, p in law), w, asked)
    return w


def exact_prophet(priors):
    return sum(
        math.prod((p for _, p in outcome), start=Fraction(1)) * max(v for v, _ in outcome)
        for outcome in itertools.product(*map(exact_law, priors))
    )


@pytest.mark.parametrize("parameter", PARAMETERS)
@pytest.mark.parametrize("epsilon", LEVELS, ids=str)
def test_w_is_one_on_every_family(epsilon, parameter):
    for instance in (
        synthetic.prop53(4, epsilon, parameter),
        synthetic.prop56(4, epsilon, parameter),
        synthetic.theorem63(epsilon, parameter),
    ):
        assert abs(online(instance, epsilon) - 1.0) <= ULPS


@pytest.mark.parametrize("n", [2, 10, 1000])
@pytest.mark.parametrize("q", [0.3, 1e-9])
def test_the_tie_holds_for_many_persons(n, q):
    assert abs(online(synthetic.prop53(n, 0.7, q), 0.7) - 1.0) <= ULPS
    assert abs(online(synthetic.prop56(n, 0.7, q), 0.7) - 1.0) <= ULPS


@pytest.mark.parametrize("k", [1, 2, 4, 64])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 32), Fraction(1, 1024)])
def test_a_tie_is_exact_where_its_numbers_are(k, q):
    instance, xs = synthetic.prop53(4, math.log(k), float(q)), [Fraction(1, k)] * 4
    wanted = 1 + Fraction(1, k) * (1 - q) / q
    assert float(instance[0].upper) == pytest.approx(float(wanted), rel=2**-51)
    law = [(Fraction(0), 1 - q), (wanted, q)]
    asked = sum(p * (max(v, 1) + xs[0] * min(v, 1)) for v, p in law) / (1 + xs[0])
    assert asked == 1
    assert float(abs(exact_value(instance, xs) - 1)) <= 2**-50


@pytest.mark.parametrize("q", [0.25, 1e-3])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, math.inf, [0.3, 2.0, 1.0, 5.0]], ids=str)
def test_what_others_get_on_prop53_and_prop56(epsilon, q):
    xs = [math.exp(-level) for level in check_epsilons(epsilon, 4)]
    instance = synthetic.prop53(4, epsilon, q)
    assert benchmarks.online(instance) == pytest.approx(float(exact_value(instance, [0] * 4)), rel=1e-14)
    # taking the first value that is not 0, as the proof does
    assert benchmarks.online(instance) >= 1 + sum(x * (1 - q) ** i for i, x in enumerate(xs[:-1], 1)) - 1e-12
    instance = synthetic.prop56(4, epsilon, q)
    assert benchmarks.prophet(instance) == pytest.approx(float(exact_prophet(instance)), rel=1e-13)
    rest = sum(xs[:-1]) - min(xs[:-1])
    low = 1 + (1 - q * q) + (1 - q * q) * (1 - q) * rest * (1 - q)
    assert low - 1e-12 <= benchmarks.prophet(instance) <= 2 + rest


@pytest.mark.parametrize("epsilon", LEVELS, ids=str)
def test_the_ratios_tend_to_their_bounds_from_above(epsilon):
    before = math.inf
    for at in (1e-1, 1e-3, 1e-6, 1e-9):
        first, second = synthetic.prop53(4, epsilon, at), synthetic.prop56(4, epsilon, at)
        over_v = online(first, epsilon) / benchmarks.online(first) / bounds.w_over_v(4, epsilon) - 1
        over_m = online(second, epsilon) / benchmarks.prophet(second) / bounds.w_over_m(4, epsilon) - 1
        assert min(over_v, over_m) >= -1e-15
        assert max(over_v, over_m) <= min(6 * at, before)
        before = max(over_v, over_m, 1e-15)


@pytest.mark.parametrize("a", [1.0, 0.25, 1e-6])
def test_long_shot(a):
    instance = synthetic.long_shot(5, a)
    assert instance[0] == PointMass(1.0)
    assert instance[2:] == [PointMass(0.0)] * 3
    assert benchmarks.online(instance) == pytest.approx(1.0, rel=ULPS)
    assert benchmarks.prophet(instance) == pytest.approx(2.0 - a, rel=1e-15)


@pytest.mark.parametrize("a", [0.25, 1e-6])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, math.inf, [5.0, 0.5, 2.0, 1.0], [0.0, 1.0]], ids=str)
def test_the_private_prophet_on_theorem63(epsilon, a):
    """Only one person's report can matter, so L is what a stopper gets who hears that person before the 1."""
    instance = synthetic.theorem63(epsilon, a)
    levels = check_epsilons(epsilon, len(instance))
    place = next(i for i, law in enumerate(instance) if law.upper > 1)
    assert levels[place] == max(levels[1:])
    p = 1 / (1 + math.exp(-levels[place]))
    prophet = recursion.solve([instance[place], instance[0]], [levels[place], 0.0]).values[0]
    assert prophet == pytest.approx(2 * p - (2 * p - 1) * a, rel=1e-15)
    bound = bounds.w_over_l(len(instance), epsilon)
    assert bound <= 1 / prophet * (1 + 1e-15)
    assert 1 / prophet <= bound * (1 + a)


def test_where_the_special_persons_stand():
    assert synthetic.prop56(4, [1.0, 3.0, 3.0, 9.0], 0.5)[1] == PointMass(1.0)
    assert synthetic.prop56(2, 1.0, 0.5)[0] == PointMass(1.0)
    assert synthetic.prop53(1, 1.0, 0.5) == [PointMass(1.0)]
    assert [law.upper for law in synthetic.theorem63([9.0, 1.0, 2.0, 2.0], 0.5)] == [1.0, 0.0, 2.0, 0.0]
    assert synthetic.theorem63(np.array([9.0, 1.0, 2.0]), 0.5) == synthetic.theorem63([9.0, 1.0, 2.0], 0.5)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: synthetic.prop53(0, 1.0, 0.1), "n must be a whole number >= 1"),
        (lambda: synthetic.prop56(1, 1.0, 0.1), "n must be a whole number >= 2"),
        (lambda: synthetic.long_shot(1, 0.1), "n must be a whole number >= 2"),
        (lambda: synthetic.long_shot(2, 0.0), r"a must be a number in \[1e-150, 1\], got 0.0"),
        (lambda: synthetic.prop53(3, 1.0, 0), r"q must be a number in \[1e-150, 1\], got 0"),
        (lambda: synthetic.prop56(3, 1.0, 1.5), "q must be"),
        (lambda: synthetic.prop56(3, 1.0, math.nan), "q must be"),
        (lambda: synthetic.theorem63(1.0, -0.1), "a must be"),
        (lambda: synthetic.theorem63([1.0], 0.1), "n must be a whole number >= 2, got 1"),
        (lambda: synthetic.theorem63([], 0.1), "n must be a whole number >= 2, got 0"),
        (lambda: synthetic.theorem63("11", 0.1), "epsilon must be a number"),
        (lambda: synthetic.prop53(3, [1.0], 0.1), "epsilon has 1 entries and n is 3"),
        (lambda: synthetic.prop56(3, -1.0, 0.1), "epsilon must be >= 0"),
        (lambda: synthetic.theorem63([1.0, math.nan], 0.1), r"epsilon\[1\] must be >= 0"),
    ],
)
def test_errors_name_the_argument(call, named):
    with pytest.raises(ParameterError, match=named):
        call()
