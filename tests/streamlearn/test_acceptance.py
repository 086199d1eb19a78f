"""The ramp of acceptance: exactly (α, b)-close, and not a step longer than it must be."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import pytest

from streamlearn.accounting import acceptance
from streamlearn.errors import ParameterError, SizeError
from streamlearn.rounding import OUT_OF

CASES = [(1.0, 0.1), (0.05, 1e-8), (0.3, 1e-3), (5.0, 1e-6), (1e-3, 0.2), (0.05, 2.0**-64)]


def below_exp(alpha):
    """A fraction below e^α by less than 1e-50 of it: the exponential's own series, in integers."""
    with mpmath.workdps(80):
        return Fraction(int(mpmath.floor(mpmath.exp(mpmath.mpf(alpha)) * 10**60)), 10**60)


@pytest.mark.parametrize(("alpha", "b"), CASES)
def test_neighbours_are_exactly_close(alpha, b):
    levels = acceptance.ramp(alpha, b)
    assert (levels[0], levels[-1]) == (0, OUT_OF)
    factor, mass = below_exp(alpha), Fraction(b) * OUT_OF
    for low, high in itertools.pairwise(levels):
        assert low < high
        assert high <= factor * low + mass
        assert OUT_OF - low <= factor * (OUT_OF - high) + mass


@pytest.mark.parametrize(("alpha", "b"), [(1.0, 0.1), (0.3, 1e-3), (0.05, 1e-8)])
def test_no_shorter_ramp_exists(alpha, b):
    """Whatever its levels, after i steps a ramp is no higher than this one and a few roundings."""
    exact = [Fraction(0)]
    factor, mass = below_exp(alpha), Fraction(b)
    while exact[-1] < 1:
        g = exact[-1]
        exact.append(
            min(factor * g + mass, 1 - (1 - g - mass) / factor, Fraction(1)).limit_denominator(10**40)
        )
    levels = acceptance.ramp(alpha, b)
    assert len(levels) - len(exact) in (0, 1)
    assert len(levels) - 1 == pytest.approx(acceptance.width(alpha, b), abs=2)


@pytest.mark.parametrize(("alpha", "b"), CASES)
def test_the_mass_is_what_it_was_built_with(alpha, b):
    levels = acceptance.ramp(alpha, b)
    apart = int(Fraction(b) * OUT_OF)
    assert acceptance.mass(levels, alpha) <= apart
    assert acceptance.mass(levels, 0.8 * alpha) > apart  # a smaller α does not do


def test_the_mass_of_some_levels_by_hand():
    assert acceptance.mass([0, OUT_OF // 2, OUT_OF], 1.0) == OUT_OF // 2
    assert acceptance.mass([0, OUT_OF], 3.0) == OUT_OF
    assert acceptance.ramp(0.5, 0.6)[1:] == (int(Fraction(0.6) * OUT_OF), OUT_OF)  # two steps, since b > 1/2
    # from 1/4 to 1/2 at α = 0: a quarter is apart
    assert acceptance.mass([OUT_OF // 4, OUT_OF // 2], 0.0) in (OUT_OF // 4, OUT_OF // 4 + 1)


def test_a_long_ramp():
    levels = acceptance.ramp(2e-4, 1e-9)
    assert len(levels) > 100_000
    assert acceptance.mass(levels, 2e-4) <= int(Fraction(1e-9) * OUT_OF)


@pytest.mark.parametrize(
    ("alpha", "b"), [(0.0, 0.1), (float("nan"), 0.1), (701.0, 0.1), (1.0, 0.0), (1.0, 1.0)]
)
def test_bad_input(alpha, b):
    with pytest.raises(ParameterError, match=r"^(alpha|b) must lie in"):
        acceptance.ramp(alpha, b)


def test_what_would_not_end():
    with pytest.raises(SizeError, match="take a larger ε"):
        acceptance.ramp(1e-9, 1e-15)
