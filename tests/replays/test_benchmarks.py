"""Benchmarks: reference values, the order they stand in, limits in ε, and laws of many values rounded to cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.agents import LDPOptimalStopper, StaticStopper
from streamlearn.errors import ParameterError, PriorError
from streamlearn.priors import Discrete, Empirical, Exponential, Pareto, PointMass, Uniform
from streamlearn.prophets.cells import between
from streamlearn.replays import benchmarks

STUCK = [  # coordinate ascent from one start ends below the optimum here
    Discrete([0, 1, 10], [0.6, 0.3, 0.1]),
    Discrete([0.5, 1, 2], [0.2, 0.5, 0.3]),
    Discrete([0, 3, 5], [0.7, 0.2, 0.1]),
]


@st.composite
def instances(draw, most=3):
    laws = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, most))
        values = sorted(draw(st.lists(st.integers(0, 40), min_size=size, max_size=size, unique=True)))
        weights = np.array(draw(st.lists(st.integers(1, 20), min_size=size, max_size=size)), dtype=float)
        laws.append(Discrete(values, weights / weights.sum()))
    levels = st.sampled_from([0.0, 0.1, 1.0, 3.0, 9.0, math.inf])
    return laws, draw(st.one_of(levels, st.lists(levels, min_size=len(laws), max_size=len(laws))))


def test_the_instance_on_which_one_ascent_gets_stuck():
    best = benchmarks.private_prophet(STUCK, 4.0)
    assert best.value == pytest.approx(2.688691645621, abs=1e-12)
    assert (best.status, best.discretised, best.gap) == ("certified", False, 0.0)
    binary = benchmarks.binary_prophet(STUCK, 4.0)
    assert (binary.value, binary.status) == (pytest.approx(2.680327573338, abs=1e-12), "certified")
    assert benchmarks.ldp_online(STUCK, 4.0) == pytest.approx(2.193688101083, abs=1e-12)
    assert best.value < benchmarks.interactive_prophet(STUCK, 4.0) < 1.005 * best.value


def test_the_channels_attain_the_value():
    best = benchmarks.private_prophet(STUCK, 4.0)
    assert [len(one.values) for one in best.channels] == [3, 3, 3]
    # All reports that can come, with their chances: the prophet takes the largest posterior mean.
    grid = np.meshgrid(*[np.arange(len(one.means)) for one in best.channels], indexing="ij")
    means = np.max([one.means[index] for one, index in zip(best.channels, grid, strict=True)], axis=0)
    chances = np.prod([one.weights[index] for one, index in zip(best.channels, grid, strict=True)], axis=0)
    assert float((means * chances).sum()) == pytest.approx(best.value, rel=1e-12)
    for law, one in zip(STUCK, best.channels, strict=True):
        assert one.epsilon <= 4.0 * (1 + 1e-12)
        joint = one.probabilities * law.probs
        assert joint.sum(axis=1) == pytest.approx(one.weights)
        assert joint @ law.atoms / joint.sum(axis=1) == pytest.approx(one.means)
        assert one.probabilities.sum(axis=0) == pytest.approx(np.ones(3))


@settings(max_examples=40, deadline=None)
@given(instances())
def test_the_order_they_stand_in(instance):
    laws, epsilon = instance
    rows = [
        benchmarks.static(laws, epsilon),
        benchmarks.ldp_online(laws, epsilon),
        benchmarks.binary_prophet(laws, epsilon).value,
        benchmarks.private_prophet(laws, epsilon).value,
        benchmarks.private_prophet(laws, epsilon).upper_bound,
        benchmarks.interactive_prophet(laws, epsilon),
        benchmarks.prophet(laws),
    ]
    for less, more in itertools.pairwise(rows):
        assert less <= more * (1 + 1e-7) + 1e-9
    assert rows[1] <= benchmarks.online(laws) * (1 + 1e-12) <= rows[-1] * (1 + 1e-11)
    most = max(epsilon) if isinstance(epsilon, list) else epsilon
    half = (1 + math.exp(-most)) / 2
    assert benchmarks.ldp_online(laws, most) >= half * rows[3] * (1 - 1e-12)  # Theorem 6.3


@settings(max_examples=30, deadline=None)
@given(instances())
def test_without_privacy_and_without_reports(instance):
    laws, _ = instance
    for found in (benchmarks.private_prophet(laws, math.inf), benchmarks.private_prophet(laws, 1000.0)):
        assert found.value == pytest.approx(benchmarks.prophet(laws), rel=1e-9)
    silent = benchmarks.private_prophet(laws, 0.0)
    assert silent.value == pytest.approx(max(law.mean for law in laws), rel=1e-12)
    assert silent.certified


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("a", [0.5, 0.1, 1e-6])
def test_the_worst_case_of_theorem_6_3(epsilon, a):
    p = 1 / (1 + math.exp(-epsilon))
    laws = [PointMass(1.0), Discrete([0.0, 1 / a], [1 - a, a])]
    found = benchmarks.private_prophet(laws, epsilon)
    assert found.value == pytest.approx(2 * p - (2 * p - 1) * a, rel=1e-12)
    assert benchmarks.binary_prophet(laws, epsilon).value == pytest.approx(found.value, rel=1e-12)
    assert benchmarks.ldp_online(laws, epsilon) == pytest.approx(1.0)


def test_of_one_person_nothing_can_be_learned_that_helps():
    for law in (Uniform(0, 1), Exponential(2.0), STUCK[0]):
        for epsilon in (0.0, 1.0, math.inf):
            found = benchmarks.private_prophet([law], epsilon)
            assert found.value == pytest.approx(law.mean, rel=1e-9)
            assert found.upper_bound == pytest.approx(law.mean, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_twenty_persons_of_eight_values_are_bounded_within_half_a_percent(epsilon):
    rng = np.random.default_rng(int(10 * epsilon))
    for _ in range(2):
        laws = [Discrete(np.sort(rng.exponential(size=8)), rng.dirichlet(np.ones(8))) for _ in range(20)]
        found = benchmarks.private_prophet(laws, epsilon)
        assert found.value <= found.upper_bound <= 1.005 * found.value
        assert found.value >= benchmarks.binary_prophet(laws, epsilon).value * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-8, 2e-6, 1e-5, 1e-3, 30.0, 40.0, 700.0])
def test_levels_near_nothing_and_near_everything(epsilon):
    rng = np.random.default_rng(7)
    laws = [Discrete(np.sort(rng.exponential(size=8)), rng.dirichlet(np.ones(8))) for _ in range(8)]
    found = benchmarks.private_prophet(laws, epsilon)
    assert found.value <= found.upper_bound <= found.value * (1 + 1e-4)
    near = benchmarks.prophet(laws) if epsilon > 1 else max(law.mean for law in laws)
    assert found.value == pytest.approx(near, rel=2e-3)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**500, 2.0**1019])
def test_the_unit_of_values_does_not_matter(unit):
    scaled = [Discrete(law.atoms * unit, law.probs) for law in STUCK]
    for benchmark in (benchmarks.private_prophet, benchmarks.binary_prophet):
        assert benchmark(scaled, 4.0).value == pytest.approx(unit * benchmark(STUCK, 4.0).value, rel=1e-14)
    assert benchmarks.interactive_prophet(scaled, 4.0) == pytest.approx(
        unit * benchmarks.interactive_prophet(STUCK, 4.0), rel=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 50.0, math.inf])
def test_no_bound_is_above_the_prophet_without_privacy(epsilon):
    for laws in ([Pareto(1.1, 1.0)] * 5, [PointMass(3.0)] * 2, [Discrete([0, 1, 3], [0.5, 0.25, 0.25])] * 9):
        assert benchmarks.interactive_prophet(laws, epsilon) <= benchmarks.prophet(laws) * (1 + 1e-14)
    assert benchmarks.private_prophet([0.0, 0.0], epsilon).value == 0.0


# --- laws of many values


@pytest.mark.parametrize(
    "law",
    [
        Uniform(0, 1),
        Exponential(1.0),
        Pareto(2.5, 1.0),
        Empirical(np.random.default_rng(3).gamma(2.0, size=500)),
    ],
)
@pytest.mark.parametrize("cells", [2, 5, 16])
def test_a_rounded_law_lies_between_in_the_convex_order(law, cells):
    laws = between(law, cells)
    assert laws.rounded
    assert laws.below.mean == pytest.approx(law.mean, rel=1e-12)
    assert laws.above.mean + laws.cut == pytest.approx(law.mean, rel=1e-12)
    assert len(laws.below.atoms) <= cells + 1
    for t in np.linspace(0.0, 3.0 * law.mean, 200).tolist():
        assert (
            laws.below.stop_loss(t) <= law.stop_loss(t) + 1e-12 <= laws.above.stop_loss(t) + laws.cut + 2e-12
        )


def test_more_cells_bring_the_bounds_nearer():
    laws, epsilon = [Uniform(0, 1), Exponential(0.5), Pareto(2.5, 0.3), PointMass(0.6)], [1.0, 2.0, 0.5, 1.0]
    found = [benchmarks.private_prophet(laws, epsilon, cells=cells) for cells in (4, 8, 24)]
    assert all(one.discretised for one in found)
    assert found[0].gap > found[1].gap > found[2].gap
    assert found[2].gap < 0.004
    highest, lowest = max(one.value for one in found), min(one.upper_bound for one in found)
    assert highest <= lowest
    # Rounded finely, the law itself is between the bounds of the coarse ones.
    assert all(one.value <= found[2].upper_bound and found[2].value <= one.upper_bound for one in found)


def test_a_law_of_few_values_is_taken_as_it_is():
    assert not between(Discrete(range(16), [1 / 16] * 16), 4).rounded
    assert between(Discrete(range(17), [1 / 17] * 17), 4).rounded
    assert not between(Discrete(range(17), [1 / 17] * 17), 17).rounded


# --- the simple ones, and what is refused


def test_w_and_static_are_those_of_the_agents():
    laws, epsilons = [Uniform(0, 1), Exponential(1.0), 0.7], [1.0, 0.5, 2.0]
    assert benchmarks.ldp_online(laws, epsilons) == LDPOptimalStopper(laws, epsilons).value
    assert benchmarks.static(laws, epsilons) == StaticStopper(laws, epsilons).value
    assert benchmarks.online(laws) == benchmarks.ldp_online(laws, math.inf)


def test_scipys_laws_and_lists_are_priors_too():
    laws = [scipy.stats.uniform(), [0.1, 0.9, 0.9], 0.5]
    assert (
        benchmarks.prophet(laws)
        >= benchmarks.private_prophet(laws, 1.0).value
        >= benchmarks.ldp_online(laws, 1.0)
    )


@pytest.mark.parametrize(
    "function",
    [
        benchmarks.ldp_online,
        benchmarks.static,
        benchmarks.private_prophet,
        benchmarks.binary_prophet,
        benchmarks.interactive_prophet,
    ],
)
def test_bad_input(function):
    with pytest.raises(ParameterError, match="epsilon"):
        function([1.0], -1.0)
    with pytest.raises(ParameterError):
        function([1.0, 2.0], [1.0])
    with pytest.raises(PriorError, match="n = 0"):
        function([], 1.0)
    with pytest.raises(PriorError, match="stage 2"):
        function([1.0, Pareto(1.0, 1.0)], 1.0)
    if function not in {benchmarks.ldp_online, benchmarks.static}:
        for cells in (1, 65, True, 8.0, "8"):
            with pytest.raises(ParameterError, match="cells must be a whole number in"):
                function([1.0], 1.0, cells=cells)
