"""Certificates of ramps and other products: against exact sums of fractions, an independent accountant, the table."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.accounting import convolutions, ramps, rampsearch
from streamlearn.accounting.pld import LossDistribution
from streamlearn.errors import ParameterError, SizeError
from streamlearn.rounding import OUT_OF

TABLE = [(1.0, 1e-3, 80), (1.0, 1e-6, 268), (0.1, 1e-3, 3009), (0.1, 1e-6, 13646)]


def exact(levels, epsilon, backwards=False):
    """δ(ε) of a ramp out of 2^64, in fractions but for e^ε."""
    growth = Fraction(math.exp(epsilon))
    ends = [Fraction(level, OUT_OF) for level in (0, *levels, OUT_OF)]
    outcomes = [(Fraction(1), Fraction(1))]
    for low, high in itertools.pairwise(ends):
        pair = [(1 - low, 1 - high), (low, high)]
        outcomes = [(p * a, q * b) for p, q in outcomes for a, b in pair]
    if backwards:
        outcomes = [(q, p) for p, q in outcomes]
    return float(sum(max(p - growth * q, Fraction(0)) for p, q in outcomes))


rising = st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=7, unique=True).map(sorted)


@given(rising, st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]))
@settings(max_examples=60, deadline=None)
def test_bounds_are_above_the_truth_and_near_it(ramp, epsilon):
    levels = ramps.thresholds(ramp)
    loss = ramps.loss(levels)
    for direction, backwards in ((loss, False), (loss.reverse(), True)):
        truth = exact(levels, epsilon, backwards)
        assert truth <= direction.enumerate(epsilon) <= truth + 1e-12
        assert truth <= direction.delta(epsilon) <= truth + 1e-3 * truth + 1e-4


@given(
    st.lists(st.tuples(*[st.floats(0.01, 1.0)] * 6), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.integers(1, 2),
)
@settings(max_examples=40, deadline=None)
def test_any_finite_pairs(rows, epsilon, times):
    masses = np.array(rows).reshape(-1, 2, 3)
    laws = masses / masses.sum(axis=2, keepdims=True)
    loss = LossDistribution(laws[:, 0], laws[:, 1]).repeat(times)
    assert loss.enumerate(epsilon) - 1e-12 <= loss.delta(epsilon) <= loss.enumerate(epsilon) * 1.001 + 1e-4


@given(rising, st.floats(0.0, 2.0), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_delta_falls_in_epsilon_and_lies_above_the_end_of_the_ramp(ramp, epsilon, more):
    levels = ramps.thresholds(ramp)
    low, high = ramps.certified_delta(levels, epsilon), ramps.certified_delta(levels, epsilon + more)
    assert high <= low + 1e-12
    assert high >= max(ramp[0], 1 - ramp[-1]) * (1 - 1e-9)


def test_directions_of_a_symmetric_ramp_are_equal_and_of_another_not():
    ramp = ramps.build(1e-3, 0.5, 0.1)
    loss = ramps.loss(ramps.thresholds(ramp))
    for epsilon in (0.0, 0.5, 1.0):
        assert loss.delta(epsilon) == pytest.approx(loss.reverse().delta(epsilon), rel=1e-3, abs=1e-6)
    lopsided = ramps.loss(ramps.thresholds([0.1, 0.2, 0.5, 0.7]))
    assert abs(lopsided.enumerate(0.5) - lopsided.reverse().enumerate(0.5)) > 1e-3


def test_the_worse_direction_counts():
    levels = ramps.thresholds([0.01, 0.05, 0.2, 0.4, 0.5])
    both = [exact(levels, 0.3), exact(levels, 0.3, backwards=True)]
    assert ramps.certified_delta(levels, 0.3) == pytest.approx(max(both), abs=1e-12)
    flipped = tuple(OUT_OF - level for level in reversed(levels))
    assert ramps.certified_delta(flipped, 0.3) == pytest.approx(max(both), abs=1e-12)


def peer(levels, epsilon, interval):
    """The bound of dp_accounting, which shares no code with ours."""
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    ends = [level / OUT_OF for level in (0, *levels, OUT_OF)]
    total = None
    for low, high in itertools.pairwise(ends):
        first = {outcome: math.log(p) for outcome, p in ((0, 1 - low), (1, low)) if p > 0}
        second = {outcome: math.log(p) for outcome, p in ((0, 1 - high), (1, high)) if p > 0}
        one = accounting.from_two_probability_mass_functions(
            first, second, value_discretization_interval=interval, symmetric=True
        )
        total = one if total is None else total.compose(one)
    return total.get_delta_for_epsilon(epsilon)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_against_an_independent_accountant(epsilon):
    levels = ramps.thresholds(ramps.build(2e-3, 0.5, 0.06))
    ours = ramps.certified_delta(levels, epsilon)
    theirs = peer(levels, epsilon, 1e-4)
    assert ours <= theirs * (1 + 1e-6)  # theirs is coarser, and also pessimistic
    assert theirs <= ours * 1.01


def peers(levels, epsilon, interval):
    """A lower and an upper bound of dp_accounting on the larger of both directions."""
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    bounds = []
    for pessimistic in (False, True):
        total = None
        for low, high in itertools.pairwise((0, *levels, OUT_OF)):
            laws = [{0: (OUT_OF - t) / OUT_OF, 1: t / OUT_OF} for t in (low, high)]
            first, second = ({k: math.log(p) for k, p in law.items() if p > 0} for law in laws)
            one = accounting.from_two_probability_mass_functions(
                first,
                second,
                pessimistic_estimate=pessimistic,
                value_discretization_interval=interval,
                symmetric=False,
            )
            total = one if total is None else total.compose(one)
        bounds.append(total.get_delta_for_epsilon(epsilon))
    return bounds


@pytest.mark.parametrize(
    ("epsilon", "shape", "cut"),
    [
        (0.1, (2e-2, 0.3, 0.04), 3),
        (0.5, (5e-3, 0.4, 0.06), 0),
        (1.0, (1e-3, 0.4, 0.08), 2),
        (2.0, (1e-4, 0.5, 0.1), 4),
        (4.0, (1e-5, 0.6, 0.15), 0),
        (8.0, (1e-7, 1.2, 0.3), 1),
    ],
)
@pytest.mark.parametrize("flipped", [False, True])
def test_between_the_bounds_of_an_independent_accountant(epsilon, shape, cut, flipped):
    levels = ramps.thresholds(ramps.build(*shape))[cut:]  # without its beginning it is not symmetric
    if flipped:
        levels = tuple(OUT_OF - level for level in reversed(levels))
    least, most = peers(levels, epsilon, 2e-4)
    ours = ramps.certified_delta(levels, epsilon)
    assert least <= ours <= most * (1 + 1e-6)
    assert most - least <= 0.1 * ours


LEVELS = [3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 42.0, 100.0, 500.0]
CHANCES = [0.9, 0.49, 0.1, 1e-3, 1e-6, 1e-9, 2.0**-60]
EASY = {
    0.9: 0.5,
    0.49: 0.5,
    0.1: 1.0,
    1e-3: 5.0,
    1e-6: 8.0,
    1e-9: 12.0,
    2.0**-60: 30.0,
}  # no seconds from here on


def test_every_target_has_a_certified_ramp_and_easier_ones_no_longer_ramp():
    lengths = {}
    for delta in CHANCES:
        for epsilon in [0.5, 1.0, *LEVELS]:
            if epsilon >= EASY[delta]:
                ramp = ramps.shortest(epsilon, delta)
                assert ramps.certified_delta(ramps.thresholds(ramp), epsilon) <= delta
                lengths[epsilon, delta] = ramp.size
    assert len(lengths) > 48
    for (epsilon, delta), length in lengths.items():
        for (other, chance), longer in lengths.items():
            if other <= epsilon and chance <= delta:
                assert length <= 1.1 * longer + 1  # the slack of a search that need not find the best
    # With ε >= ln 1/δ two rounds do: p and 1-p, e^-ε <= p <= δ.
    assert all(n <= 2 for (epsilon, delta), n in lengths.items() if epsilon >= 1.05 * math.log(1 / delta))


@pytest.mark.parametrize("target", [(1e-6, 1e-3), (1e-3, 1e-6), (1e-4, 1e-9), (0.02, 2.0**-60)])
def test_no_ramp_only_where_the_floor_is_too_high(target):
    assert ramps.gaussian_floor(*target) > ramps.LONGEST
    with pytest.raises(SizeError):
        ramps.shortest(*target)


@pytest.mark.parametrize("target", [(0.2, 1e-6), (0.05, 1e-2), (1e-6, 0.02)])
def test_a_refusal_names_a_level_that_will_do(target, monkeypatch):
    monkeypatch.setattr(ramps, "LONGEST", 2_000)
    with pytest.raises(SizeError) as refused:
        rampsearch.Search(*target).run()
    epsilon, delta = target
    found = re.search(r"take epsilon = (\S+) or more, or delta = (\S+) or more", str(refused.value))
    assert f"epsilon = {epsilon:g} and delta = {delta:g}" in str(refused.value)
    for remedy in ((float(found[1]), delta), (epsilon, float(found[2]))):
        ramp = rampsearch.Search(*remedy).run()
        assert ramp.size <= 2_000
        assert ramps.certified_delta(ramps.thresholds(ramp), remedy[0]) <= remedy[1]


@pytest.mark.parametrize(("target", "length"), [((1e-6, 0.1), 142), ((1e-3, 0.1), 141), ((1e-6, 0.3), 12)])
def test_a_tiny_epsilon_takes_no_longer_ramp_than_its_delta_asks_for(target, length):
    ramp = ramps.shortest(*target)
    assert ramp.size <= length
    assert ramps.certified_delta(ramps.thresholds(ramp), target[0]) <= target[1]


@pytest.mark.parametrize("levels", [(3,), (2**40, 2**63, 2**64 - 2**40), (15, 2**63, 2**64 - 15)])
def test_enumeration_is_exact_for_the_smallest_chances_too(levels):
    for epsilon in (1.0, 20.0, 45.0):
        truth = exact(levels, epsilon)
        assert truth <= ramps.loss(levels).enumerate(epsilon) <= truth * (1 + 1e-9) + 1e-280


@pytest.mark.parametrize(("epsilon", "delta", "length"), TABLE)
def test_the_table_is_reached(epsilon, delta, length):
    ramp = ramps.shortest(epsilon, delta)
    levels = ramps.thresholds(ramp)
    assert ramp.size <= length
    assert ramps.certified_delta(levels, epsilon) <= delta
    assert all(low < high for low, high in itertools.pairwise(levels))
    # Sound from the other side: no independent ramp is shorter than this (THEORY-prediction §2).
    assert ramp.size + 1 >= math.pi**2 / (8 * math.log(math.cosh(epsilon / 2) / (1 - delta)))
    assert ramps.shortest(epsilon, delta) is ramp


@pytest.mark.parametrize(("epsilon", "delta", "length"), TABLE[:3])
def test_a_ramp_a_fifth_too_short_is_not_certified(epsilon, delta, length):
    good = ramps.shortest(epsilon, delta)
    places = np.linspace(0.0, good.size - 1.0, length * 4 // 5)
    short = np.interp(places, np.arange(good.size), good)
    assert ramps.certified_delta(ramps.thresholds(short), epsilon) > delta


def test_coarser_grids_are_looser():
    loss = ramps.loss(ramps.thresholds(ramps.shortest(1.0, 1e-6)))
    fine, coarse, coarsest = (loss.delta(1.0, cells=cells) for cells in (1 << 20, 1 << 11, 1 << 9))
    assert fine < coarse < coarsest


def test_errors_of_convolutions_are_counted(monkeypatch):
    # Laws that are cut much too soon lose mass, and the bound must still lie above the truth.
    levels = ramps.thresholds(ramps.build(1e-2, 0.5, 0.15))
    truth = ramps.loss(levels).enumerate(0.7) if len(levels) < 19 else None
    assert truth is not None
    monkeypatch.setattr(convolutions, "CUT", 1e-4)
    assert truth < ramps.loss(levels).delta(0.7) < truth + 0.1


def test_rounding_of_thresholds():
    ramp = ramps.build(1e-9, 0.5, 0.1)
    levels = ramps.thresholds(ramp)
    assert all(low + high == OUT_OF for low, high in zip(levels, reversed(levels), strict=True))
    assert all(
        abs(Fraction(level, OUT_OF) - Fraction(p)) <= Fraction(1, 2**50)
        for level, p in zip(levels, ramp, strict=True)
    )
    assert ramps.thresholds([0.25, 0.5, 1 - 2**-10]) == (OUT_OF // 4, OUT_OF // 2, OUT_OF - OUT_OF // 2**10)


def test_composition_with_randomized_response():
    response = LossDistribution([[0.75, 0.25]], [[0.25, 0.75]])
    mirror = ramps.loss(ramps.thresholds([0.1, 0.2, 0.5, 0.9]))
    whole = response.compose(mirror)
    assert whole.enumerate(0.5) <= whole.delta(0.5) <= whole.enumerate(0.5) * (1 + 1e-3)
    assert whole.delta(0.5) > mirror.enumerate(0.5)
    assert response.delta(math.log(3)) == pytest.approx(0.0, abs=1e-9)
    assert response.enumerate(math.inf) == 0.0


@pytest.mark.parametrize(
    "target", [(0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0), (math.nan, 0.1), (1.0, math.nan)]
)
def test_bad_targets(target):
    with pytest.raises(ParameterError):
        ramps.shortest(*target)


def test_what_is_too_long():
    with pytest.raises(SizeError):
        ramps.shortest(1e-4, 1e-9)
    with pytest.raises(SizeError):
        ramps.loss(ramps.thresholds(ramps.build(1e-3, 0.5, 0.1))).repeat(5).enumerate(1.0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[0.5, 0.5]], [[0.5, 0.4]]),
        ([[0.5, 0.5]], [[1.0]]),
        ([0.5, 0.5], [0.5, 0.5]),
        ([[1.5, -0.5]], [[0.5, 0.5]]),
        ([[math.nan, 0.5]], [[0.5, 0.5]]),
        ([], []),
    ],
)
def test_what_is_no_pair_of_laws(first, second):
    with pytest.raises(ParameterError):
        LossDistribution(first, second)


@pytest.mark.parametrize(("epsilon", "delta"), [(3.0, 0.3), (0.5, 0.9), (1.0, 0.1)])
def test_easy_targets(epsilon, delta):
    ramp = ramps.shortest(epsilon, delta)
    assert ramps.certified_delta(ramps.thresholds(ramp), epsilon) <= delta
    assert ramp.size < 12
