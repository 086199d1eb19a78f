"""Conversion, groups and subsampling, against exact fractions and against the definition on small mechanisms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Guarantee, privacy
from streamlearn.agents import SubsampledSOA
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import Point3

EPSILONS = st.one_of(st.floats(0.0, 60.0), st.sampled_from([0.0, 1e-300, 1e-12, 1.0, 699.0, 750.0]))
DELTAS = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1e-300, 1e-12]))
RATES = st.one_of(
    st.floats(0.0, 1.0),
    st.integers(-323, 0).map(lambda power: 10.0**power),
    st.sampled_from([0.0, 1e-300, 1.0 - 2.0**-53]),
)

mpmath.mp.dps = 60


@pytest.mark.parametrize(
    ("origin", "wanted"), [("local", "central"), ("local", "joint"), ("central", "joint"), ("joint", "joint")]
)
def test_a_stronger_notion_implies_a_weaker_one(origin, wanted):
    assert privacy.convert(Guarantee(origin, 0.5, 1e-9, "event"), wanted) == Guarantee(
        wanted, 0.5, 1e-9, "event"
    )


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [("joint", "local"), ("joint", "central"), ("central", "local"), ("none", "joint"), ("none", "local")],
)
def test_no_theorem_leads_back(origin, wanted):
    promise = Guarantee.none() if origin == "none" else Guarantee(origin, 0.5)
    with pytest.raises(ParameterError, match=f"a {origin} guarantee implies no {wanted} one: .*; ask for"):
        privacy.convert(promise, wanted)


def test_everything_implies_nothing_and_notions_are_known():
    assert privacy.convert(Guarantee.local(1.0), "none") == Guarantee.none()
    with pytest.raises(ParameterError, match="notion must be one of"):
        privacy.convert(Guarantee.local(1.0), "secret")


@given(EPSILONS, DELTAS, st.integers(1, 40))
def test_a_groups_level_is_rounded_up_and_no_more(epsilon, delta, size):
    found = privacy.group(Guarantee("joint", epsilon, delta, "event"), size)
    exact = mpmath.fsum(mpmath.exp(j * mpmath.mpf(epsilon)) for j in range(size)) * mpmath.mpf(delta)
    assert Fraction(found.epsilon) >= size * Fraction(epsilon)
    assert found.epsilon <= size * epsilon * (1.0 + 2.0**-51)
    assert found.delta >= min(exact, 1)
    assert found.delta <= exact * (1 + mpmath.mpf("1e-11")) + mpmath.mpf("5e-324") or size * epsilon > 700.0
    assert found.unit == "person"


def test_local_reports_are_drawn_anew():
    assert privacy.group(Guarantee("local", 0.5, 1e-6), 3) == Guarantee("local", 1.5, 3e-6, "person")
    assert privacy.group(Guarantee.none(), 2) == Guarantee("none", math.inf, 1.0, "person")


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2"])
def test_a_group_has_a_size(size):
    with pytest.raises(ParameterError, match="size must be a whole number >= 1"):
        privacy.group(Guarantee.local(1.0), size)


@given(EPSILONS, DELTAS, RATES)
def test_proposition_1_is_rounded_up_and_no_more(epsilon, delta, rate):
    found = privacy.subsample(Guarantee("joint", epsilon, delta, "event"), rate)
    exact = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(epsilon)))
    added = 1e-15 * (1.0 + epsilon - math.log(rate)) if rate else 0.0
    assert min(exact, epsilon) <= found.epsilon
    assert found.epsilon <= exact * (1 + mpmath.mpf("1e-14")) + added or (epsilon > 700.0 and rate < 1e-290)
    assert Fraction(found.delta) >= Fraction(rate) * Fraction(delta)
    assert found.delta <= rate * delta * (1.0 + 2.0**-51) + 5e-324


@pytest.mark.parametrize("rate", [7.0972917e-316, 2.1e-322, 1e-305])
def test_where_doubles_are_coarse_it_is_rounded_up_too(rate):
    exact = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(750)))
    assert exact <= privacy.subsample(Guarantee("joint", 750.0), rate).epsilon < 60.0


def test_subsampled_soa_is_the_case_without_a_promise():
    assert SubsampledSOA(Point3(), 0.01).guarantee == privacy.subsample(
        Guarantee("joint", 0.0, 1.0, "event"), 0.01
    )


def divergence(first, second, growth):
    return sum(max(Fraction(0), p - growth * q) for p, q in zip(first, second, strict=True))


LAWS = [
    (Fraction(one, 12), Fraction(two, 12), Fraction(12 - one - two, 12))
    for one, two in itertools.product(range(1, 11), repeat=2)
    if one + two < 12
]


def test_proposition_1_holds_for_mechanisms_with_three_records_and_is_attained():
    """Of all triples of laws on three outcomes: the first record's, the second's, the fixed one's."""
    rate, growth = Fraction(1, 4), Fraction(3, 2)
    amplified = 1 + rate * (growth - 1)
    attained = False
    for laws in itertools.permutations(LAWS[::3], 3):
        delta = max(divergence(p, q, growth) for p, q in itertools.permutations(laws, 2))
        mixed = [[rate * p + (1 - rate) * u for p, u in zip(law, laws[2], strict=True)] for law in laws[:2]]
        spent = max(divergence(*mixed, amplified), divergence(*mixed[::-1], amplified))
        assert spent <= rate * delta
        attained = attained or spent == rate * delta > 0
    assert attained


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "1", None])
def test_a_rate_is_a_probability(rate):
    with pytest.raises(ParameterError, match=r"rate must lie in \[0, 1\]"):
        privacy.subsample(Guarantee("joint", 1.0), rate)


def test_what_promises_nothing_has_to_say_under_which_notion():
    with pytest.raises(
        ParameterError, match="guarantee must name a notion; a mechanism without a promise is"
    ):
        privacy.subsample(Guarantee.none(), 0.5)
