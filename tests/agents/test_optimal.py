"""The optimal stopper against reference values, exact search and finite differences."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import UNIFORMS, discrete_instances, enumerate_outcomes, mixed

from streamlearn import Guarantee, policy, priors, recursion
from streamlearn.agents import LDPOptimalStopper, OptimalStopper
from streamlearn.errors import ParameterError, PriorError

# The reference values are given to 18 digits; the recursion rounds a few times per stage over ten stages.
CLOSE = 64 * np.finfo(float).eps

REFERENCE_A = {0.0: 0.5, 0.5: 0.562022157571122825, 1.0: 0.621897751356224999, 5.0: 0.850956213631354436}
REFERENCE_C = {0.0: 2.0, 0.5: 2.0, 1.0: 2.01927491807706932, 5.0: 2.73673144120103303}


@pytest.mark.parametrize(("epsilon", "expected"), [*REFERENCE_A.items(), (math.inf, 0.861098212205711971)])
def test_value_of_ten_uniforms(epsilon, expected):
    assert LDPOptimalStopper(UNIFORMS, epsilon).value == pytest.approx(expected, rel=CLOSE)


@pytest.mark.parametrize(("epsilon", "expected"), [*REFERENCE_C.items(), (math.inf, 2.78659968762001728)])
def test_value_of_the_mixed_instance(epsilon, expected):
    assert LDPOptimalStopper(mixed(), epsilon).value == pytest.approx(expected, rel=CLOSE)


def test_cases_of_the_mixed_instance():
    letters = {"skip": "J", "ask": "R", "accept": "A"}
    assert "".join(letters[case] for case in LDPOptimalStopper(mixed(), 1.0).cases) == "JJJRJJAJAA"


def test_stopping_time_and_variance_of_ten_uniforms():
    stopper = LDPOptimalStopper(UNIFORMS, 1.0)
    exact = policy.evaluate(stopper.plan, priors.as_priors(UNIFORMS))
    assert exact.mean == pytest.approx(stopper.value, rel=CLOSE)
    assert exact.mean_stop == pytest.approx(2.2406772317327, rel=1e-13)  # given to 14 digits
    assert exact.variance == pytest.approx(
        0.07809109876278885, rel=1e-12
    )  # a difference of two figures near 0.4


def _best_by_search(laws, growth):
    """Return W_1 by trying, at each stage, every subset of values to answer 1 on: exact rationals."""
    p, w = growth / (1 + growth), Fraction(0)
    for law in reversed(laws):
        atoms = [(Fraction(v), Fraction(law.atom(v))) for v in law.atoms.tolist()]
        mean = sum(v * q for v, q in atoms)
        best = max(w, mean)
        for size in range(len(atoms) + 1):
            for chosen in itertools.combinations(range(len(atoms)), size):
                worth = w
                for i, (value, weight) in enumerate(atoms):
                    worth += weight * (p if i in chosen else 1 - p) * (value - w)
                best = max(best, worth)
        w = best
    return w


@given(discrete_instances(), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(3), Fraction(50)]))
@settings(max_examples=60, deadline=None)
def test_no_binary_channel_does_better(laws, growth):
    # Theorem 4.4 says thresholds suffice; the search tries all subsets, in exact arithmetic.
    stopper = LDPOptimalStopper(laws, math.log(growth))
    assert stopper.value == pytest.approx(float(_best_by_search(laws, growth)), rel=1e-13, abs=1e-15)


@given(discrete_instances(), st.floats(0, 60))
@settings(max_examples=60, deadline=None)
def test_value_is_what_the_plan_yields(laws, epsilon):
    stopper = LDPOptimalStopper(laws, epsilon)
    mean, second, stop_law = enumerate_outcomes(stopper.plan, laws)
    exact = policy.evaluate(stopper.plan, laws)
    assert mean == pytest.approx(stopper.value, rel=1e-13, abs=1e-15)
    assert exact.mean == pytest.approx(mean, rel=1e-13, abs=1e-15)
    assert exact.variance == pytest.approx(max(0.0, second - mean**2), rel=1e-9, abs=1e-12)
    assert exact.stop_law.tolist() == pytest.approx(stop_law, abs=1e-13)


def test_one_person_is_taken_unasked():
    stopper = LDPOptimalStopper([scipy.stats.expon(scale=3.0)], 1.0)
    assert (stopper.value, stopper.cases) == (3.0, ["accept"])


def test_a_worthless_stage_is_skipped():
    assert LDPOptimalStopper([0.0, 1.0, 0.0], 1.0).cases == ["skip", "accept", "skip"]


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_an_exact_tie_asks_nobody(epsilon):
    # Proposition 5.3's instance ties at every stage; float noise must not make it spend anybody's privacy.
    q = 0.01
    worth = 1 + math.exp(-epsilon) * (1 - q) / q
    instance = [priors.Discrete([0.0, worth], [1 - q, q])] * 9 + [1.0]
    stopper = LDPOptimalStopper(instance, epsilon)
    assert stopper.value == 1.0
    assert "ask" not in stopper.cases
    assert stopper.guarantee == Guarantee.local(0.0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_iid_limits(epsilon):
    w = LDPOptimalStopper([scipy.stats.uniform()] * 2000, epsilon).value
    assert w == pytest.approx(1 / (1 + math.exp(-epsilon / 2)), rel=1e-13)
    w = LDPOptimalStopper([scipy.stats.expon()] * 20_000, epsilon).value
    limit = 1 + scipy.special.lambertw(math.expm1(epsilon) / math.e).real
    assert w == pytest.approx(limit, rel=1e-12)


def test_filling_a_run_changes_nothing():
    law, twin = priors.Uniform(0.0, 1.0), priors.Uniform(0.0, 1.0)
    same = recursion.solve([law] * 400, [1.0] * 400)
    alternating = recursion.solve([law, twin] * 200, [1.0] * 400)  # other objects: no run to fill
    assert same == alternating


@given(discrete_instances(), st.lists(st.floats(0, 40), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_grid_agrees_with_single_levels(laws, levels):
    grid = recursion.solve_grid(laws, levels)
    for column, level in enumerate(levels):
        expected = recursion.solve(laws, [level] * len(laws)).values
        assert grid[:, column].tolist() == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_grid_fills_runs():
    laws = priors.as_priors([scipy.stats.uniform()] * 3000)
    grid = recursion.solve_grid(laws, [0.5, 1.0])
    assert grid[0, 1] == pytest.approx(recursion.solve(laws, [1.0] * 3000).values[0], rel=CLOSE)
    assert grid[-1].tolist() == [0.0, 0.0]


def test_marginal_price_is_the_derivative():
    # Central differences of a smooth value: error h² times a third derivative below 1, plus rounding / h.
    levels = [0.8, 1.2, 2.0, 0.6, 1.0, 3.0, 2.0, 1.5, 1.1, 1.0]
    step = 1e-5
    prices = LDPOptimalStopper(mixed(), levels).marginal_prices
    for i in range(10):
        up, down = levels.copy(), levels.copy()
        up[i] += step
        down[i] -= step
        slope = (LDPOptimalStopper(mixed(), up).value - LDPOptimalStopper(mixed(), down).value) / (2 * step)
        assert prices[i] == pytest.approx(slope, abs=1e-9)
    assert (prices > 0).any()


def test_asking_begins_at_the_break_even_level():
    base = LDPOptimalStopper(mixed(), 1.0)
    for i, level in enumerate(base.break_even_epsilons):
        if not 0 < level < 30:
            continue
        for factor, expected in ((1 - 1e-6, False), (1 + 1e-6, True)):
            # Only person i's own level moves, so its threshold stays where it was.
            levels = [1.0] * 10
            levels[i] = level * factor
            assert (LDPOptimalStopper(mixed(), levels).cases[i] == "ask") is expected


def test_break_even_is_infinite_where_asking_never_helps():
    assert LDPOptimalStopper([1.0, 0.5], 1.0).break_even_epsilons.tolist() == [math.inf, math.inf]


def test_each_person_has_its_own_level():
    levels = [0.5, 2.0, 1.0, 4.0, 0.1, 3.0, 0.7, 1.0, 2.5, 1.0]
    plan = LDPOptimalStopper(UNIFORMS, levels).plan
    for channel, level in zip(plan, levels, strict=True):
        assert channel.realised_epsilon <= level
        assert channel.case != "ask" or channel.epsilon == level


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 1000.0, math.inf])
def test_extreme_levels_do_not_overflow(epsilon):
    stopper = LDPOptimalStopper(mixed(), epsilon)
    assert math.isfinite(stopper.value)
    assert stopper.plan.epsilon <= epsilon


def test_the_optimum_without_privacy_promises_nothing():
    stopper = OptimalStopper(UNIFORMS)
    assert stopper.guarantee == Guarantee.none()
    assert stopper.value == LDPOptimalStopper(UNIFORMS, math.inf).value
    assert stopper.clone().thresholds.tolist() == stopper.thresholds.tolist()


@pytest.mark.parametrize(
    ("instance", "epsilon", "error", "words"),
    [
        ([], 1.0, PriorError, "n = 0"),
        ([1.0, scipy.stats.norm()], 1.0, PriorError, "stage 2"),
        ([scipy.stats.pareto(1.0)], 1.0, PriorError, "stage 1"),
        ([math.nan], 1.0, PriorError, "stage 1"),
        ([1.0], -0.1, ParameterError, "epsilon"),
        ([1.0], math.nan, ParameterError, "epsilon"),
        ([1.0], "1", ParameterError, "epsilon"),
        ([1.0, 2.0], [1.0], ParameterError, "1 entries"),
        ([1.0, 2.0], [1.0, -1.0], ParameterError, r"epsilon\[1\]"),
        ([1.0], None, ParameterError, "epsilon"),
    ],
)
def test_bad_input_is_named(instance, epsilon, error, words):
    with pytest.raises(error, match=words):
        LDPOptimalStopper(instance, epsilon)


def _asks_without_privacy(laws, i):
    levels = [1.0] * len(laws)
    levels[i] = math.inf
    return LDPOptimalStopper(laws, levels).cases[i] == "ask"


def test_rounding_is_not_taken_for_a_finite_break_even():
    laws = [priors.Discrete([3, 5], [0.6, 0.4]), priors.Discrete([2, 3], [0.46, 0.54]), 0.0]
    assert LDPOptimalStopper(laws, 1.0).break_even_epsilons[0] == math.inf


def test_break_even_is_finite_exactly_where_asking_can_help():
    rng = np.random.default_rng(7)
    for _ in range(100):
        laws = [priors.Discrete(np.sort(rng.choice(9, 2, replace=False)), [0.46, 0.54]) for _ in range(3)]
        for i, level in enumerate(LDPOptimalStopper(laws, 1.0).break_even_epsilons):
            assert math.isfinite(level) is _asks_without_privacy(laws, i)
