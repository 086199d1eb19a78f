"""Worst-case ratios: closed forms, each step of their proofs in exact arithmetic, a search for counterexamples."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import bounds
from streamlearn.errors import ParameterError

LEVELS = [0.0, 0.25, 1.0, 3.0, 1000.0, math.inf]


# --- an instance in exact arithmetic: laws as {value: probability}, privacy as x = e^(-ε), all fractions


def mean(law):
    return sum(p * v for v, p in law.items())


def stop_loss(law, t):
    return sum(p * (v - t) for v, p in law.items() if v > t)


def lesser(law, t):
    """E min(X, t)."""
    return sum(p * min(v, t) for v, p in law.items())


def asking(law, x, t):
    """E φ(X, t) straight from equation 13."""
    truth = 1 / (1 + x)
    return sum(p * (truth * max(v, t) + (1 - truth) * min(v, t)) for v, p in law.items())


def exact_values(laws, xs):
    """W_1 .. W_{n+1} of Theorem 4.4."""
    values = [Fraction(0)]
    for law, x in zip(reversed(laws), reversed(xs), strict=True):
        w = values[0]
        values.insert(0, max(mean(law), w, asking(law, x, w)))
    return values


def largest(laws):
    """E max, by adding up over all outcomes."""
    return sum(
        math.prod((p for _, p in outcome), start=Fraction(1)) * max(v for v, _ in outcome)
        for outcome in itertools.product(*(law.items() for law in laws))
    )


# The minimal balanced collections of subsets of one, two and three values, with their weights.
CHANNELS = {
    1: [[({0}, 1)]],
    2: [[({0, 1}, 1)], [({0}, 1), ({1}, 1)]],
    3: [
        [({0, 1, 2}, 1)],
        [({0}, 1), ({1, 2}, 1)],
        [({1}, 1), ({0, 2}, 1)],
        [({2}, 1), ({0, 1}, 1)],
        [({0}, 1), ({1}, 1), ({2}, 1)],
        [({0, 1}, Fraction(1, 2)), ({0, 2}, Fraction(1, 2)), ({1, 2}, Fraction(1, 2))],
    ],
}


def posteriors(law, x):
    """The laws of the posterior mean under each extreme channel."""
    for messages in CHANNELS[len(law)]:
        scale = 1 / (1 - x + x * sum(w for _, w in messages))
        found = {}
        for more_likely, weight in messages:
            sent = [scale * weight * (1 if place in more_likely else x) for place in range(len(law))]
            chance = sum(q * p for q, p in zip(sent, law.values(), strict=True))
            if chance:
                told = sum(q * p * v for q, (v, p) in zip(sent, law.items(), strict=True)) / chance
                found[told] = found.get(told, 0) + chance
        yield found


def private_prophet(laws, xs):
    choices = [list(posteriors(law, x)) for law, x in zip(laws, xs, strict=True)]
    return max(largest(chosen) for chosen in itertools.product(*choices))


@st.composite
def laws(draw, most=3):
    values = draw(st.lists(st.integers(0, 12), min_size=1, max_size=most, unique=True))
    weights = [draw(st.integers(1, 40)) for _ in values]
    return {
        Fraction(v, draw(st.sampled_from([1, 1, 7]))): Fraction(w, sum(weights))
        for v, w in zip(values, weights, strict=True)
    }


def normalised(instance):
    """Merged values would leave less than 1."""
    return [{v: p / sum(law.values()) for v, p in law.items()} for law in instance]


XS = st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 3), Fraction(4, 5), Fraction(1)])


@st.composite
def instances(draw, persons=4, most=3):
    count = draw(st.integers(2, persons))
    instance = normalised([draw(laws(most)) for _ in range(count)])
    return instance, [draw(XS) for _ in range(count)]


# --- every step of ratios.proof.md, without tolerance


@settings(max_examples=150, deadline=None)
@given(instances())
def test_each_inequality_of_the_bound_on_w_over_m(drawn):
    instance, xs = drawn
    first = exact_values(instance, xs)[0]
    if not first:
        return
    instance = [{v / first: p for v, p in law.items()} for law in instance]
    values = exact_values(instance, xs)
    n, x = len(instance), min(xs[:-1])
    assert values[0] == 1
    losses, lessers = [stop_loss(law, 1) for law in instance], [lesser(law, 1) for law in instance]
    for i in range(n - 1):
        w = values[i + 1]
        assert (1 + xs[i]) * asking(instance[i], xs[i], w) == w + stop_loss(instance[i], w) + xs[i] * lesser(
            instance[i], w
        )
        at_w = stop_loss(instance[i], w) + xs[i] * lesser(instance[i], w)
        at_one = losses[i] + xs[i] * lessers[i]
        assert at_one <= at_w <= (1 + xs[i]) * values[i] - w  # (a)
    assert losses[-1] + x * lessers[-1] <= values[n - 1] == mean(instance[-1])  # (b)
    assert sum(losses) + x * sum(lessers) <= 1 + sum(xs[:-1])  # (c)
    prophet = largest(instance)
    below = 1 - largest([{min(v, 1): Fraction(0) for v in law} | capped(law) for law in instance])
    assert prophet <= 1 + sum(losses) - below  # (d)
    assert sum(lessers) >= 1 - below  # (e)
    assert prophet <= 2 + sum(xs[:-1]) - x


def capped(law):
    """The law of min(X, 1)."""
    found = {}
    for v, p in law.items():
        found[min(v, 1)] = found.get(min(v, 1), 0) + p
    return found


@settings(max_examples=60, deadline=None)
@given(instances(persons=3))
def test_no_private_prophet_passes_w1_and_a_share_of_w2(drawn):
    instance, xs = drawn
    first, second, *_ = exact_values(instance, xs)
    x = min(xs[1:])
    prophet = private_prophet(instance, xs)
    assert first <= prophet <= first + (1 - x) / (1 + x) * second
    assert prophet * (1 + x) <= 2 * first


@settings(max_examples=100, deadline=None)
@given(instances())
def test_each_inequality_of_the_bound_on_the_private_prophet(drawn):
    instance, xs = drawn
    second = exact_values(instance, xs)[1]
    if not second:
        return
    instance = [{v / second: p for v, p in law.items()} for law in instance]
    values = exact_values(instance, xs)
    parts = []
    for i in range(1, len(instance)):
        law, x = instance[i], xs[i]
        gain = max(0, mean(law) - 1, asking(law, x, 1) - 1)
        assert all(gain >= stop_loss(told, 1) for told in posteriors(law, x))  # (f)
        part = (1 + x) * gain
        assert part <= max(0, values[i] - x)  # (g)
        assert part <= values[i] - values[i + 1]
        parts.append(part)
    assert sum(parts) <= 1 - min(xs[1:])


# --- what the paper prints and does not hold (docs/corrections.md)


def test_b2_prints_the_smaller_side():
    """It bounds E φ(E[X | Z], 1) by 1, and the recursion has E φ(X, 1): here 1 exactly, the printed one is less."""
    x, q = Fraction(1, 3), Fraction(1, 10)
    tie = {Fraction(0): 1 - q, 1 + x * (1 - q) / q: q}
    _, asked = posteriors(tie, x)
    assert asking(tie, x, 1) == 1
    assert asking(asked, x, 1) < 1


def test_c22_prints_an_equality_that_is_an_inequality():
    """E φ(X_{n-1}, E X_n) <= W(X_{n-1}, X_n), and less where asking does not pay."""
    x, nothing, one = Fraction(1, 3), {Fraction(0): Fraction(1)}, {Fraction(1): Fraction(1)}
    assert asking(nothing, x, 1) < exact_values([nothing, one], [x, x])[0]


def test_equation_6_and_theorem_63_fail_for_one_person():
    law, x = {Fraction(0): Fraction(9, 10), Fraction(5): Fraction(1, 10)}, Fraction(1, 3)
    assert (
        exact_values([law], [x])[0]
        == exact_values([law], [0])[0]
        == largest([law])
        == private_prophet([law], [x])
    )


# --- the functions against exact sums


@pytest.mark.parametrize("n", [2, 3, 10, 1001])
@pytest.mark.parametrize("k", [1, 2, 7, 1000])
def test_one_level(n, k):
    x = Fraction(1, k)
    epsilon = math.log(k)
    close = {"rel": 2e-15, "abs": 0}
    assert bounds.w_over_v(n, epsilon) == pytest.approx(float(k / (n - 1 + Fraction(k))), **close)
    assert bounds.w_over_m(n, epsilon) == pytest.approx(float(k / (2 * Fraction(k) + n - 2)), **close)
    assert bounds.w_over_l(n, epsilon) == pytest.approx(float((1 + x) / 2), **close)
    assert bounds.prop56_upper(n, epsilon) == pytest.approx(float(k / (2 * Fraction(k) - 2 + n)), **close)
    lower = max(Fraction(1, n), k / (2 * Fraction(k) - 2 + 2 * n))
    assert bounds.prop56_lower(n, epsilon) == pytest.approx(float(lower), **close)


@pytest.mark.parametrize("ks", list(itertools.product([1, 3, 100], repeat=3)))
def test_one_level_per_person(ks):
    xs = [Fraction(1, k) for k in ks]
    levels = [math.log(k) for k in ks]
    close = {"rel": 2e-15, "abs": 0}
    assert bounds.w_over_v(3, levels) == pytest.approx(float(1 / (1 + xs[0] + xs[1])), **close)
    assert bounds.w_over_m(3, levels) == pytest.approx(float(1 / (2 + max(xs[0], xs[1]))), **close)
    assert bounds.w_over_l(3, levels) == pytest.approx(float((1 + min(xs[1], xs[2])) / 2), **close)
    assert bounds.w_over_b(3, levels) == bounds.w_over_l(3, levels)


@pytest.mark.parametrize("epsilon", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_equal_levels_are_one_level(n, epsilon):
    for bound in (bounds.w_over_v, bounds.w_over_m, bounds.w_over_l, bounds.w_over_b):
        one = bound(n, epsilon)
        assert bound(n, [epsilon] * n) == pytest.approx(one, rel=1e-15)
        assert bound(n, np.full(n, epsilon)) == pytest.approx(one, rel=1e-15)
        assert bound(n, np.float64(epsilon)) == one


@pytest.mark.parametrize("epsilon", LEVELS)
def test_one_person_loses_nothing(epsilon):
    assert bounds.v_over_m(1) == 1.0
    for bound in (bounds.w_over_v, bounds.w_over_m, bounds.w_over_l, bounds.w_over_b):
        assert bound(1, epsilon) == bound(1, [epsilon]) == 1.0


@pytest.mark.parametrize("n", [2, 5, 2**53])
def test_no_privacy_and_nothing_but_privacy_are_exact(n):
    assert bounds.w_over_v(n, 0.0) == bounds.w_over_m(n, 0.0) == 1 / n
    assert bounds.w_over_l(n, 0.0) == 1.0
    for free in (1000.0, math.inf):
        assert bounds.w_over_v(n, free) == 1.0
        assert bounds.w_over_m(n, free) == bounds.w_over_l(n, free) == bounds.v_over_m(n) == 0.5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("n", [3, 10, 500])
def test_ours_is_the_papers_upper_bound_and_above_its_lower_one(n, epsilon):
    assert bounds.w_over_m(n, epsilon) == bounds.prop56_upper(n, epsilon)
    assert bounds.w_over_m(n, epsilon) > bounds.prop56_lower(n, epsilon) * (1 + 1e-3)


def test_the_last_level_does_not_matter_to_w_nor_the_first_to_l():
    assert len({bounds.w_over_v(3, [1.0, 2.0, last]) for last in LEVELS}) == 1
    assert len({bounds.w_over_m(3, [1.0, 2.0, last]) for last in LEVELS}) == 1
    assert len({bounds.w_over_l(3, [first, 2.0, 1.0]) for first in LEVELS}) == 1
    assert bounds.w_over_l(3, [0.0, 1.0, 2.0]) == bounds.w_over_l(3, [0.0, 2.0, 1.0])


def test_the_bound_on_private_prophets_is_at_most_theorem_63():
    for epsilon in LEVELS:
        upper = bounds.private_prophet_upper(3.0, 2.0, epsilon)
        assert upper == pytest.approx(
            3.0 + 2.0 * (1 - math.exp(-epsilon)) / (1 + math.exp(-epsilon)), rel=1e-15
        )
        assert bounds.private_prophet_upper(3.0, 3.0, epsilon) == pytest.approx(
            3.0 / bounds.w_over_l(2, epsilon), rel=1e-15
        )


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: bounds.w_over_v(0, 1.0), "n must be a whole number >= 1, got 0"),
        (lambda: bounds.w_over_m(2.0, 1.0), "n must be"),
        (lambda: bounds.w_over_l(True, 1.0), "n must be"),
        (lambda: bounds.v_over_m(-1), "n must be"),
        (lambda: bounds.w_over_m(10**400, 1.0), r"n must be at most 2\^53"),
        (lambda: bounds.prop56_upper(1, 1.0), "n must be a whole number >= 2"),
        (lambda: bounds.w_over_v(3, -1.0), "epsilon must be >= 0, got -1.0; use math.inf"),
        (lambda: bounds.w_over_v(3, math.nan), "epsilon must be >= 0"),
        (lambda: bounds.w_over_v(3, "1"), "epsilon must be a number"),
        (lambda: bounds.w_over_v(1, -1.0), "epsilon must be >= 0"),
        (lambda: bounds.prop56_lower(3, [1.0, 1.0, 1.0]), "epsilon must be a number"),
        (lambda: bounds.w_over_m(3, [1.0, 1.0]), "epsilon has 2 entries and n is 3; give one"),
        (lambda: bounds.w_over_m(3, np.ones(2)), "epsilon has 2 entries and n is 3; give one"),
        (lambda: bounds.w_over_l(2, [1.0, -2.0]), r"epsilon\[1\] must be >= 0"),
        (lambda: bounds.w_over_l(1, {"a": 1.0}), "epsilon must be a number or a list"),
        (lambda: bounds.private_prophet_upper(1.0, 2.0, 1.0), "second must be a number in"),
        (lambda: bounds.private_prophet_upper(math.inf, 2.0, 1.0), "first must be finite"),
        (lambda: bounds.private_prophet_upper(1.0, -2.0, 1.0), "second must be"),
        (lambda: bounds.private_prophet_upper(1.0, 1.0, -1.0), "epsilon must be"),
    ],
)
def test_errors_name_the_argument(call, named):
    with pytest.raises(ParameterError, match=named):
        call()


# --- the search for counterexamples, in floating point and independent of the package's own recursion

SHORT = 1 - 1e-12
"""A ratio is a few dozen roundings of 1e-16 from its true value."""
BOUND_TO = 25.0
"""No parameter of the search grows beyond this: e^25 is as good as a limit."""


def private_value(laws, xs):
    """W of laws (low, high, P(high))."""
    w = 0.0
    for (low, high, chance), x in zip(reversed(laws), reversed(xs), strict=True):
        more = max(low, w) * (1 - chance) + max(high, w) * chance
        less = min(low, w) * (1 - chance) + min(high, w) * chance
        w = max(low * (1 - chance) + high * chance, w, (more + x * less) / (1 + x))
    return w


def expected_largest(laws):
    """E max: from the largest atom down, each is the maximum if everybody else is below it."""
    atoms = [(v, p, i) for i, (low, high, c) in enumerate(laws) for v, p in ((high, c), (low, 1 - c))]
    below, total = [1.0] * len(laws), 0.0
    for v, p, i in sorted(atoms, reverse=True):
        total += v * p * math.prod(below[:i]) * math.prod(below[i + 1 :])
        below[i] = max(below[i] - p, 0.0)
    return total


def told(law, x):
    """The posterior means of randomized response, and of no report."""
    low, high, chance = law
    one = (chance + x * (1 - chance)) / (1 + x)
    up, down = chance * high + x * (1 - chance) * low, x * chance * high + (1 - chance) * low
    average = low * (1 - chance) + high * chance
    return (down / (1 + x) / (1 - one), up / (1 + x) / one, one), (average, average, 0.5)


def w_over_m(laws, xs):
    return private_value(laws, xs) / expected_largest(laws)


def w_over_l(laws, xs):
    """Laws on two values: their extreme channels are those two."""
    choices = itertools.product(*(told(law, x) for law, x in zip(laws, xs, strict=True)))
    return private_value(laws, xs) / max(map(expected_largest, choices))


def unfolded(point, n):
    """Three parameters a person: ln of the mean, logit of low/mean, logit of P(high)."""
    numbers = point.tolist()
    for log_mean, low, logit in zip(numbers[:n], numbers[n : 2 * n], numbers[2 * n :], strict=True):
        average, share, chance = math.exp(log_mean), 1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-logit))
        yield share * average, (1 - share * (1 - chance)) / chance * average, chance


def smallest_found(ratio, xs, seed, starts=2, steps=1500):
    """Climb down from random instances by random steps of many sizes; every ratio seen counts."""
    n, generator = len(xs), np.random.default_rng(seed)
    smallest = math.inf
    for _ in range(starts):
        point = np.concatenate([generator.normal(m, s, n) for m, s in ((0, 0.3), (-3, 2), (0, 2))])
        here = ratio(list(unfolded(point, n)), xs)
        moves = generator.normal(size=(steps, 3 * n)) * 10.0 ** generator.uniform(-4, 0.5, (steps, 1))
        moves *= generator.random((steps, 3 * n)) < generator.choice([0.15, 0.4, 1.0], (steps, 1))
        for move in moves:
            there = np.clip(point + move, -BOUND_TO, BOUND_TO)
            value = ratio(list(unfolded(there, n)), xs)
            smallest = min(smallest, value)
            if value < here:
                point, here = there, value
    return smallest


SEARCHED = [0.5, 1.0, [0.3, 2.0, 1.0, 0.7, 4.0], [3.0, 0.1, 2.0, 5.0, 0.0]]


@pytest.mark.parametrize("epsilon", SEARCHED, ids=str)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_local_search_finds_nothing_below_the_bound_on_w_over_m(n, epsilon):
    levels = epsilon[:n] if isinstance(epsilon, list) else [epsilon] * n
    found, bound = (
        smallest_found(w_over_m, [math.exp(-e) for e in levels], seed=n, starts=5),
        bounds.w_over_m(n, levels),
    )
    assert found >= bound * SHORT
    if n < 4:  # such a search does find the worst case where the instance is small
        assert found <= bound * 1.02


@pytest.mark.parametrize("epsilon", SEARCHED, ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_local_search_finds_nothing_below_the_bound_on_w_over_l(n, epsilon):
    levels = epsilon[:n] if isinstance(epsilon, list) else [epsilon] * n
    found, bound = (
        smallest_found(w_over_l, [math.exp(-e) for e in levels], seed=n),
        bounds.w_over_l(n, levels),
    )
    assert found >= bound * SHORT
    assert found <= bound * 1.02


@pytest.mark.parametrize("epsilon", [0.5, 2.0, [0.3, 2.0, 1.0, 0.7, 4.0]], ids=str)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_neighbourhood_of_the_family_is_close_to_the_bound_and_never_below(n, epsilon):
    levels = epsilon[:n] if isinstance(epsilon, list) else [epsilon] * n
    xs, bound, generator = (
        [math.exp(-e) for e in levels],
        bounds.w_over_m(n, levels),
        np.random.default_rng(n),
    )
    q = 1e-5
    family = [(0.0, 1 + x * (1 - q) / q, q) for x in xs[:-1]] + [(0.0, 1 / q**2, q**2)]
    family[xs.index(min(xs[:-1]))] = (1.0, 1.0, 0.5)
    assert bound * SHORT <= w_over_m(family, xs) <= bound * (1 + n * q)
    for size in (1e-9, 1e-6, 1e-3, 1e-1):
        for _ in range(30):
            factors = np.exp(size * generator.normal(size=(n, 3))).tolist()
            near = [
                tuple(a * b for a, b in zip(law, by, strict=True))
                for law, by in zip(family, factors, strict=True)
            ]
            assert w_over_m(near, xs) >= bound * SHORT
