"""Integers that keep ε: audited with rationals against 60-digit arithmetic, never against themselves."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamlearn import rounding
from streamlearn.errors import ParameterError
from streamlearn.rounding import (
    OUT_OF,
    as_float,
    check_epsilon,
    check_epsilons,
    exp_lower,
    harmonic_pairs,
    keeps,
    randomized_response,
    realised_epsilon,
    realised_ratio,
)

FINITE = [
    *(0.0, 5e-324, 2.2250738585072014e-308, 1e-300, 2.0**-53, 2.0**-52, 2.0**-51, 2.0**-50, 1e-15, 1e-12),
    *(1e-9, 1e-6, 1e-3, 0.1, 0.5, math.log(2), math.nextafter(math.log(2), 1), 1.0, 2.0, math.log(8), 3.0),
    *(5.0, 10.0, 20.0, 30.0, *(36 + i / 4 for i in range(37)), 44.36141955583649, 44.36141955583650),
    *(50.0, 100.0, 699.9, 700.0, 709.78, 710.0, 1000.0, 1e308, *(i / 37 for i in range(1, 400))),
]
HORIZONS = [1, 2, 3, 10, 97]
levels = st.one_of(
    st.floats(0, 50),
    st.floats(0, 1e-12),
    st.floats(0, allow_infinity=True),
    st.sampled_from([*FINITE, math.inf]),
)


def mp(fraction: Fraction | int) -> mpmath.mpf:
    fraction = Fraction(fraction)
    return mpmath.mpf(fraction.numerator) / fraction.denominator


@pytest.fixture(autouse=True)
def sixty_digits():
    # Ratios are compared with e^ε; claim 4 of the proof leaves a gap of 2^-57 between unequal ones.
    with mpmath.workdps(60):
        yield


def pairs_of_ratios(below: int, above: int) -> list[tuple[int, int]]:
    one, zero = (below, above), (OUT_OF - below, OUT_OF - above)
    return [one, one[::-1], zero, zero[::-1]]


def violations(below: int, above: int, epsilon: float) -> int:
    """Count the likelihood ratios above e^ε: both bits, both ways. The oracle of this module."""
    bound = mpmath.inf if math.isinf(epsilon) else mpmath.exp(mpmath.mpf(epsilon))
    found = 0
    for p, q in pairs_of_ratios(below, above):
        if q == 0:
            found += p > 0 and bound != mpmath.inf
        else:
            found += mp(Fraction(p, q)) > bound
    return found


# --- e^ε from below


@given(st.sampled_from(FINITE) | st.floats(0, 750))
@settings(max_examples=1000)
def test_exp_lower_is_below_the_exponential_and_near_it(epsilon):
    lower = exp_lower(epsilon)
    assert lower >= 1
    assert mp(lower) <= mpmath.exp(mpmath.mpf(epsilon))
    if epsilon <= 700:  # claim 1, (1)
        assert mp(lower) >= mpmath.exp(mpmath.mpf(epsilon)) * (1 - mpmath.mpf(2) ** -50)


def test_exp_lower_is_exact_arithmetic():
    assert isinstance(exp_lower(1.0), Fraction)
    assert exp_lower(0.0) == 1


# --- randomized response


def test_randomized_response_has_the_reference_integers():
    assert randomized_response(1.0) == (4961093570831982232, 13485650502877569384)
    assert randomized_response(0.0) == (OUT_OF // 2, OUT_OF // 2)
    assert randomized_response(math.inf) == (0, OUT_OF)
    assert randomized_response(1000.0) == (1, OUT_OF - 1)


def test_randomized_response_keeps_epsilon_on_the_grid():
    for epsilon in [*FINITE, math.inf]:
        below, above = randomized_response(epsilon)
        assert 0 <= below <= above <= OUT_OF
        assert below + above == OUT_OF
        assert violations(below, above, epsilon) == 0, epsilon


@given(levels)
def test_randomized_response_keeps_any_epsilon(epsilon):
    assert violations(*randomized_response(epsilon), epsilon) == 0


def test_randomized_response_could_hardly_be_sharper():
    for epsilon in FINITE:
        below, above = randomized_response(epsilon)
        # Against e^ε itself: claim 5 allows 2^-51, which is 2^13 units of a draw.
        truth = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert 0 <= below - truth * OUT_OF <= 2**13, epsilon
        if below > 2**13:
            assert violations(below - 2**13, above + 2**13, epsilon) > 0, epsilon
        # Against its lower bound: not one unit.
        if below > 1:
            assert Fraction(above + 1, below - 1) > exp_lower(epsilon), epsilon


# --- Proposition 5.7


@pytest.mark.parametrize("horizon", HORIZONS)
def test_harmonic_pairs_of_one_epsilon_keep_it_and_follow_the_theory(horizon):
    for epsilon in [*FINITE[:70], *FINITE[70::20]]:
        pairs = harmonic_pairs([epsilon] * horizon)
        assert len(pairs) == horizon
        assert pairs[-1] == (OUT_OF, OUT_OF)
        growth = exp_lower(epsilon)
        for i, (below, above) in enumerate(pairs[:-1], start=1):
            assert violations(below, above, epsilon) == 0, epsilon
            # THEORY §6, word for word.
            assert below == math.ceil(OUT_OF / (horizon - i + growth))
            assert above == min(math.floor(growth * below), OUT_OF - math.ceil((OUT_OF - below) / growth))


def test_harmonic_pairs_without_privacy_are_the_indicator():
    assert harmonic_pairs([math.inf] * 3) == [(0, OUT_OF), (0, OUT_OF), (OUT_OF, OUT_OF)]


@given(st.lists(levels, min_size=1, max_size=12))
@example([50.0, 0.0, 0.0, 1.0])
@example([math.inf, 0.0, math.inf, 5e-324, 1.0])
def test_harmonic_pairs_keep_every_persons_epsilon(epsilons):
    for (below, above), epsilon in zip(harmonic_pairs(epsilons)[:-1], epsilons[:-1], strict=True):
        assert 0 <= below <= above <= OUT_OF
        assert violations(below, above, epsilon) == 0


@given(st.lists(levels, min_size=2, max_size=12))
@example([45.0, 0.0, 0.0, 1.0])
def test_harmonic_pairs_are_as_near_the_real_numbers_as_the_proof_says(epsilons):
    pairs = harmonic_pairs(epsilons)
    inverse = [Fraction(0) if math.isinf(e) else 1 / exp_lower(e) for e in epsilons]
    for i, ((below, above), epsilon) in enumerate(zip(pairs[:-1], epsilons[:-1], strict=True)):
        weight = 1 + sum(inverse[i:-1])
        if math.isinf(epsilon):
            assert below == 0
            assert abs(above - OUT_OF / weight) <= 2
            continue
        growth = exp_lower(epsilon)
        assert -(2.0**-100) <= below - OUT_OF / (growth * weight) <= 1 + Fraction(1, 2**100)
        assert OUT_OF / weight - 2 <= above <= OUT_OF / weight + growth
        # The largest that is allowed: one unit more and a ratio passes the lower bound of e^ε.
        sharper = realised_ratio(below, above + 1)
        assert sharper is None or sharper > growth


@given(st.lists(levels, min_size=1, max_size=12))
def test_harmonic_pairs_keep_the_guarantee_of_proposition_5_7(epsilons):
    pairs = harmonic_pairs(epsilons)
    passed = Fraction(1)
    weight = 1 + sum(mpmath.exp(-mpmath.mpf(e)) for e in epsilons[:-1])
    floor = (1 - mpmath.mpf(2) ** -50 - len(epsilons) * mpmath.mpf(2) ** -62) / weight
    for below, above in pairs:  # claim 5: whoever is first at the threshold is taken at least this often
        assert mp(passed * Fraction(above, OUT_OF)) >= floor
        passed *= 1 - Fraction(below, OUT_OF)


def test_a_small_epsilon_may_give_the_fair_coin_but_never_more():
    assert realised_epsilon(*randomized_response(1e-16)) == 0.0
    assert 0 < realised_epsilon(*randomized_response(1e-14)) <= 1e-14


# --- the audit can fail


def test_the_audit_catches_rounding_to_nearest():
    caught = 0
    for epsilon in FINITE:
        p = 1 / (1 + math.exp(-min(epsilon, 700)))
        caught += violations(round((1 - p) * OUT_OF), round(p * OUT_OF), epsilon) > 0
    # THEORY §6 found 16563 of 20000.
    assert caught > len(FINITE) // 2


@pytest.mark.parametrize("epsilon", [37.0, 38.5, 45.0])
def test_the_audit_catches_a_comparison_of_doubles(epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    # random() < p: a multiple of 2^-53 is below p in ceil(p·2^53) of 2^53 cases.
    above, below = (math.ceil(q * 2**53) * 2**11 for q in (p, 1 - p))
    assert violations(below, above, epsilon) > 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_the_audit_catches_wrong_last_bits(epsilon):
    below, above = randomized_response(epsilon)
    assert violations(below, above + 2**14, epsilon) > 0
    assert violations(below - 2**14, above, epsilon) > 0


# --- the realised level

counts = st.integers(0, OUT_OF)
EDGES = [1, 2, 3, OUT_OF // 2 - 1, OUT_OF // 2, OUT_OF // 2 + 1, OUT_OF - 3, OUT_OF - 2, OUT_OF - 1]


@given(counts, counts)
def test_realised_epsilon_is_the_logarithm_rounded_up(a, b):
    check_logarithm(min(a, b), max(a, b))


@pytest.mark.parametrize(("below", "above"), [*pairwise(EDGES), (1, OUT_OF - 1), (2, OUT_OF - 1), (7, 7)])
def test_realised_epsilon_is_the_logarithm_rounded_up_at_the_edges(below, above):
    check_logarithm(below, above)


def check_logarithm(below: int, above: int) -> None:
    level = realised_epsilon(below, above)
    if below == above:
        assert level == 0.0
        return
    if below == 0 or above == OUT_OF:
        assert math.isinf(level)
        assert realised_ratio(below, above) is None
        return
    with mpmath.workdps(120):  # 3e-58 is a difference of numbers up to 45
        truth = mpmath.log(max(mp(Fraction(above, below)), mp(Fraction(OUT_OF - below, OUT_OF - above))))
        assert truth <= level  # never less than the truth
        assert math.nextafter(level, 0) < truth + mpmath.mpf("3e-58")  # and the first double there


@given(counts, counts)
def test_the_realised_level_does_not_ask_for_an_order(a, b):
    assert realised_ratio(a, b) == realised_ratio(b, a)
    assert realised_epsilon(a, b) == realised_epsilon(b, a)


def test_the_realised_level_is_never_above_what_was_asked():
    for epsilon in [*FINITE, math.inf]:
        for below, above in (randomized_response(epsilon), *harmonic_pairs([epsilon] * 4)[:-1]):
            assert realised_epsilon(below, above) <= epsilon
            assert keeps(below, above, epsilon)


@given(levels, st.integers(1, 2**20))
def test_keeps_refuses_whatever_the_oracle_refuses(epsilon, more):
    below, above = randomized_response(epsilon)
    wider = max(below - more, 0), above
    assert not (keeps(*wider, epsilon) and violations(*wider, epsilon))


def test_keeps_refuses_one_unit_too_many():
    for epsilon in (0.0, 0.1, 1.0, 5.0):
        below, above = randomized_response(epsilon)
        assert keeps(below, above, epsilon)
        assert not keeps(below - 1, above + 1, epsilon)
    assert keeps(0, OUT_OF, math.inf)
    assert not keeps(0, 1, 1000.0)
    assert not keeps(OUT_OF - 1, OUT_OF, 1000.0)


# --- arguments


@pytest.mark.parametrize("good", [0, 0.0, 1, 0.5, math.inf, np.float32(0.5), np.int64(3), Fraction(1, 3)])
def test_a_number_from_zero_up_is_a_privacy_level(good):
    level = check_epsilon(good)
    assert type(level) is float
    assert level == float(good)


@pytest.mark.parametrize(
    "bad", [-1e-300, -1, math.nan, -math.inf, "0.5", b"1", True, None, 1j, [1.0], 10**400, np.array(1.0)]
)
def test_anything_else_is_not(bad):
    with pytest.raises(ParameterError, match="max_level must be"):
        check_epsilon(bad, "max_level")


def test_one_level_serves_all_and_a_sequence_serves_each():
    assert check_epsilons(1, 3) == [1.0, 1.0, 1.0]
    assert check_epsilons([0, 0.5, math.inf], 3) == [0.0, 0.5, math.inf]
    assert check_epsilons(np.array([0.5, 1.0]), 2) == [0.5, 1.0]
    assert check_epsilons(iter([0.5]), 1) == [0.5]
    assert {type(level) for level in check_epsilons(np.array([0.5, 1.0]), 2)} == {float}


@pytest.mark.parametrize("bad", [[1.0], [1.0] * 3, [], "12", None, math.nan, np.array(1.0)])
def test_a_sequence_of_another_length_or_no_level_is_refused(bad):
    with pytest.raises(ParameterError, match="epsilon"):
        check_epsilons(bad, 2)


def test_a_bad_entry_is_named_by_its_place():
    with pytest.raises(ParameterError, match=r"epsilon\[2\] must be >= 0, got -1"):
        check_epsilons([0.0, 1.0, -1.0], 3)


@pytest.mark.parametrize("text", ["1", b"1", True, np.True_, None, 1j, 10**400, object()])
def test_as_float_gives_none_for_what_is_no_real_number(text):
    assert as_float(text) is None


def test_a_draw_has_64_bits():
    assert rounding.OUT_OF == 2**64
