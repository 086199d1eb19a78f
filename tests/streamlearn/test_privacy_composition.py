"""What promises add up to: against the exact law of randomised responses, and against dp_accounting."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import Guarantee, privacy
from streamlearn.errors import ParameterError
from streamlearn.privacy.composition import _worst

BOTH = ["moments", "pld"]


def optimal_delta(epsilons, deltas, target):
    """The least δ of the composition (Kairouz, Oh and Viswanath; Murtagh and Vadhan), by enumeration."""
    total = 0.0
    for signs in itertools.product([1, -1], repeat=len(epsilons)):
        loss = sum(sign * it for sign, it in zip(signs, epsilons, strict=True))
        chance = math.prod(
            (math.exp(it) if sign > 0 else 1.0) / (1.0 + math.exp(it))
            for sign, it in zip(signs, epsilons, strict=True)
        )
        total += chance * max(0.0, -math.expm1(target - loss))
    return 1.0 - math.prod(1.0 - it for it in deltas) * (1.0 - total)


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=6), st.sampled_from([0.0, 1e-6, 1e-3]))
@settings(max_examples=40)
def test_levels_are_added(epsilons, delta):
    parts = [Guarantee("joint", it, delta, "event") for it in epsilons]
    found = privacy.compose(parts)
    assert Fraction(found.epsilon) >= sum(map(Fraction, epsilons))
    assert found.epsilon <= math.fsum(epsilons) * (1 + 2**-51)
    assert Fraction(found.delta) >= len(parts) * Fraction(delta)
    assert (found.notion, found.unit) == ("joint", "event")


@given(
    st.lists(st.tuples(st.floats(0.01, 2.0), st.sampled_from([0.0, 1e-7, 1e-5])), min_size=1, max_size=8),
    st.sampled_from([1e-3, 1e-2]),
)
@settings(max_examples=25, deadline=None)
def test_the_least_level_is_certified_and_near_the_optimum(levels, delta):
    epsilons, deltas = zip(*levels, strict=True)
    parts = [Guarantee("local", *level) for level in levels]
    found = {method: privacy.compose(parts, method=method, delta=delta).epsilon for method in BOTH}
    for epsilon in found.values():
        assert optimal_delta(epsilons, deltas, epsilon) <= delta * (1 + 1e-9)
        assert epsilon <= privacy.compose(parts).epsilon
    assert optimal_delta(epsilons, deltas, found["pld"] * (1 - 1e-3) - 1e-4) >= delta or found["pld"] == 0.0
    assert found["pld"] <= found["moments"] * (1 + 1e-5)


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 100), (0.5, 30), (1.0, 10), (0.02, 2000)])
def test_an_independent_accountant_agrees(epsilon, times):
    theirs = peer.from_randomized_response(
        2.0 / (1.0 + math.exp(epsilon)), 2, value_discretization_interval=epsilon / 5000
    ).self_compose(times)
    found = privacy.compose([Guarantee.local(epsilon)] * times, method="pld", delta=1e-6).epsilon
    assert found == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=2e-3)


def test_a_hundred_reports_against_the_binomial_law():
    """100 reports at ε = 0.1: the exact ε at δ = 1e-6 is 4.7745676."""
    found = privacy.compose([Guarantee.local(0.1)] * 100, method="pld", delta=1e-6)
    assert 4.7745675 <= found.epsilon <= 4.77458
    assert privacy.compose([Guarantee.local(0.1)] * 100, method="moments", delta=1e-6).epsilon < 5.1


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.0), (0.0, 0.25), (1.0, 0.0), (2.5, 1e-3), (40.0, 0.5)]
)
def test_the_worst_mechanism_has_exactly_its_level(epsilon, delta):
    loss = _worst(epsilon, delta)
    assert delta <= loss.enumerate(epsilon) <= delta + 1e-13
    if epsilon:
        assert loss.enumerate(epsilon * (1 - 1e-6)) > delta
    assert loss.reverse().enumerate(epsilon / 2) == pytest.approx(loss.enumerate(epsilon / 2), rel=1e-12)


def test_the_unit_of_the_whole_can_be_said():
    parts = [Guarantee.local(1.0), Guarantee.local(1.0, unit="event")]
    with pytest.raises(ParameterError, match="per event, report; say by unit= what the whole is about"):
        privacy.compose(parts)
    assert privacy.compose(parts, unit="person") == Guarantee("local", 2.0, 0.0, "person")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"guarantees": []}, "must hold at least one"),
        (
            {"guarantees": [Guarantee.local(1.0), Guarantee("joint", 1.0)]},
            "bring them to one by privacy.convert",
        ),
        ({"method": "best"}, "method must be 'basic', 'moments' or 'pld'"),
        ({"delta": 0.1}, "delta is for methods"),
        ({"method": "pld"}, r"delta must lie in \(0.002, 1\).*got None; try 0.004"),
        ({"method": "moments", "delta": 0.002}, r"delta must lie in \(0.002, 1\)"),
        ({"method": "pld", "delta": math.nan}, r"delta must lie in"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        privacy.compose(**{"guarantees": [Guarantee("local", 1.0, 1e-3)] * 2} | arguments)


@pytest.mark.parametrize("method", BOTH)
def test_what_promises_nothing_makes_the_whole_promise_nothing(method):
    parts = [Guarantee("local", 1.0), Guarantee("local", math.inf)]
    assert privacy.compose(parts, method=method, delta=0.5).epsilon == math.inf
    assert privacy.compose(parts) == Guarantee("local", math.inf, 1.0)


@pytest.mark.parametrize("method", BOTH)
def test_a_large_delta_needs_no_epsilon_at_all(method):
    assert privacy.compose([Guarantee.local(0.01)] * 2, method=method, delta=0.5).epsilon == 0.0
