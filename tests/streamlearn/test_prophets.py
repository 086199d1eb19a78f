"""Private prophets: the extreme channels, the best response, the search and the bounds, against exact oracles."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.prophets.binary import any_threshold, thresholded
from streamlearn.prophets.convex import NOBODY, Convex, Largest, larger
from streamlearn.prophets.interactive import any_channel, chords, interactive_upper
from streamlearn.prophets.response import Messages, Person
from streamlearn.prophets.search import ascended, enumerated, largest_of, maximal, undominated
from streamlearn.prophets.staircase import balanced, channel, extreme

LEVELS = [0.0, 1e-12, 1e-6, 0.01, 0.5, 1.0, 4.0, 30.0, 1000.0, math.inf]


def masses(size):
    return st.lists(st.integers(1, 50), min_size=size, max_size=size).map(lambda w: np.array(w) / sum(w))


@st.composite
def persons(draw, most=5):
    size = draw(st.integers(1, most))
    values = draw(st.lists(st.integers(0, 60), min_size=size, max_size=size, unique=True))
    level = draw(st.sampled_from(LEVELS))
    return Person(np.sort(np.array(values, dtype=float)), draw(masses(size)), math.exp(-level))


@st.composite
def largest(draw):
    law = NOBODY
    for _ in range(draw(st.integers(0, 3))):
        size = draw(st.integers(1, 4))
        means = np.sort(
            np.array(draw(st.lists(st.integers(0, 60), min_size=size, max_size=size, unique=True)), float)
        )
        law = larger(law, means, draw(masses(size)))
    return law


def exact_mean_of_max(laws):
    """E max over all outcomes, in fractions."""
    total = Fraction(0)
    for outcome in itertools.product(*[list(zip(means, weights, strict=True)) for means, weights in laws]):
        total += max(Fraction(mean) for mean, _ in outcome) * math.prod(
            Fraction(weight) for _, weight in outcome
        )
    return float(total)


# --- convex functions, laws of maxima


@given(st.data())
def test_the_largest_of_independent_means_is_exact(data):
    laws = []
    for _ in range(data.draw(st.integers(1, 4))):
        size = data.draw(st.integers(1, 3))
        means = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size, unique=True).map(sorted))
        laws.append((np.array(means, float), data.draw(masses(size))))
    law = NOBODY
    for means, weights in laws:
        law = larger(law, means, weights)
    exact = exact_mean_of_max(laws)
    assert law.mean == pytest.approx(exact, rel=1e-13, abs=1e-13)
    for v in (0.0, 0.5, 3.0, 4.25, 11.0):
        with_v = exact_mean_of_max([*laws, (np.array([v]), np.array([1.0]))])
        assert float(law.worth().at(np.array([v]))[0]) == pytest.approx(with_v, rel=1e-13, abs=1e-13)


def test_chords_lie_above_a_convex_function_and_meet_it_at_the_points():
    points, between = np.array([0.0, 0.5, 2.0, 3.0]), np.linspace(0.0, 3.0, 31)
    function = chords(points, np.logaddexp(0.0, points))  # rises by at most 1 a unit
    assert function.at(points) == pytest.approx(np.logaddexp(0.0, points), abs=1e-15)
    assert np.all(function.at(between) >= np.logaddexp(0.0, between) - 1e-15)
    assert function.at(np.array([7.0]))[0] == pytest.approx(
        4.0 + np.logaddexp(0.0, 3.0)
    )  # slope 1 from the last on


# --- channels


@pytest.mark.parametrize("values", [1, 2, 3, 4])
def test_the_extreme_channels_are_the_minimal_balanced_collections(values):
    listed = extreme(values)
    assert len(listed) == [1, 2, 6, 42][values - 1]
    for subsets, weights in listed:
        assert weights.min() > 0
        assert weights @ subsets == pytest.approx(np.ones(values), abs=1e-12)
        assert (
            np.linalg.matrix_rank(subsets.astype(float)) == len(subsets) <= values
        )  # extreme: no other weights
    assert len({frozenset(map(bytes, subsets)) for subsets, _ in listed}) == len(listed)


def test_there_are_1292_for_five_values():
    assert len(extreme(5)) == 1292


@pytest.mark.parametrize("level", LEVELS)
def test_a_channel_adds_up_and_keeps_its_level(level):
    for subsets, weights in extreme(4):
        told = channel(subsets, weights, math.exp(-level))
        assert told.sum(axis=0) == pytest.approx(np.ones(4), abs=1e-12)
        assert np.all(
            told <= np.exp(min(level, 700.0)) * (1 + 1e-12) * told.min(axis=1, keepdims=True) + (level > 700)
        )


@given(persons())
def test_what_a_channel_tells_is_a_law_with_the_persons_mean(person):
    for subsets, weights in extreme(len(person.values)):
        told = person.posterior(channel(subsets, weights, person.least))
        assert told.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert told.weights @ told.means == pytest.approx(person.probs @ person.values, rel=1e-12)
        assert np.all(np.diff(told.means) > 0)
        low, high = person.extreme_means()
        assert low - 1e-9 <= told.means[0]
        assert told.means[-1] <= high + 1e-9


def test_balancing_drops_what_it_does_not_need():
    subsets, weights = balanced(np.array([[1, 1], [1, 0], [0, 1]], dtype=bool)[[0, 1]])
    assert subsets.tolist() == [[True, True]]
    assert weights == pytest.approx([1.0])


# --- the best response


@settings(max_examples=150, deadline=None)
@given(persons(), largest())
def test_the_best_response_is_the_best_extreme_channel(person, others):
    worth = others.worth()
    response = Messages(person).best(worth)
    told = [person.posterior(channel(*one, person.least)) for one in extreme(len(person.values))]
    exact = max(float(one.weights @ worth.at(one.means)) for one in told)
    scale = max(exact, 1.0)
    assert response.value <= exact + 1e-12 * scale  # it is some channel's
    assert response.value >= exact - 1e-8 * scale
    silent = (1 / person.least - 1) * float(person.probs @ person.values) if person.least > 1 - 1e-6 else 0.0
    assert exact - 1e-12 * scale <= response.upper <= exact + 1e-7 * scale + 1.01 * silent


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_search_does_not_depend_on_what_was_sought_before(data):
    person = data.draw(persons(most=8))
    used = Messages(person)
    for _ in range(4):
        worth = data.draw(largest()).worth()
        assert used.best(worth).value == pytest.approx(Messages(person).best(worth).value, rel=1e-9, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(persons(), largest())
def test_one_bit_is_best_spent_on_a_threshold(person, others):
    """All subsets for a bit, not only the upper ones, and all two-message channels made of them."""
    worth, size = others.worth(), len(person.values)
    subsets = [
        np.array(bits) for bits in itertools.product((False, True), repeat=size) if 0 < sum(bits) < size
    ]
    told = [person.posterior(channel(np.array([s, ~s]), np.ones(2), person.least)) for s in subsets]
    told.append(person.threshold(0))
    best = max(float(one.weights @ worth.at(one.means)) for one in told)
    listed = max(float(one.weights @ worth.at(one.means)) for one in thresholded(person))
    assert listed == pytest.approx(best, rel=1e-12, abs=1e-12)


# --- the convex order


@settings(max_examples=60, deadline=None)
@given(persons(most=4), st.lists(largest(), min_size=1, max_size=4))
def test_whatever_the_use_an_undominated_channel_is_best(person, uses):
    kept = undominated(person)
    everything = [person.posterior(channel(*one, person.least)) for one in extreme(len(person.values))]
    assert len(kept) <= len(everything)
    for law in uses:
        worth = law.worth()
        best = max(float(one.weights @ worth.at(one.means)) for one in everything)
        assert max(float(one.weights @ worth.at(one.means)) for one in kept) == pytest.approx(
            best, rel=1e-12, abs=1e-12
        )


def test_no_kept_law_is_below_another():
    person = Person(np.array([0.0, 1.0, 4.0, 9.0]), np.array([0.4, 0.3, 0.2, 0.1]), math.exp(-3.0))
    kept = undominated(person)
    assert 1 < len(kept) < 42
    for one, other in itertools.permutations(kept, 2):
        at = np.concatenate([one.means, other.means])
        losses = [np.maximum(law.means - at[:, None], 0.0) @ law.weights for law in (one, other)]
        assert np.any(losses[0] > losses[1] + 1e-12)
    assert maximal(kept) == list(range(len(kept)))
    assert undominated(Person(np.arange(6.0), np.full(6, 1 / 6), 0.5)) is None  # too many to list


# --- many persons


def brute(crowd):
    """The best of all combinations of extreme channels, none left out."""
    laws = [
        [person.posterior(channel(*one, person.least)) for one in extreme(len(person.values))]
        for person in crowd
    ]
    return max(largest_of(chosen).mean for chosen in itertools.product(*laws))


@settings(max_examples=40, deadline=None)
@given(st.lists(persons(most=3), min_size=1, max_size=3))
def test_enumeration_with_pruning_finds_what_all_combinations_do(crowd):
    found = enumerated([undominated(person) for person in crowd], list(range(len(crowd))))
    exact = brute(crowd)
    assert found.value == pytest.approx(exact, rel=1e-12)
    assert largest_of(found.channels).mean == pytest.approx(found.value, rel=1e-12)
    starts = [person.threshold(0) for person in crowd]
    climbed = ascended([responder(person) for person in crowd], starts)
    assert climbed.value <= exact * (1 + 1e-12)
    assert exact <= interactive_upper(crowd, any_channel) * (1 + 1e-12)


def responder(person):
    messages = Messages(person)

    def respond(worth):
        best = messages.best(worth)
        return person.posterior(channel(best.subsets, best.weights, person.least))

    return respond


@given(persons(most=3), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_persons_alike_are_listed_once_for_every_order(person, many):
    choices = [undominated(person)] * many
    alike, apart = enumerated(choices, [7] * many), enumerated(choices, list(range(many)))
    assert alike.value == pytest.approx(apart.value, rel=1e-12)


def test_too_many_combinations_are_left():
    person = Person(np.arange(4.0), np.array([0.4, 0.3, 0.2, 0.1]), math.exp(-5.0))
    kept = undominated(person)
    assert enumerated([kept] * 30, list(range(30))) is None


def interactive_exactly(crowd, best=0.0):
    """What the interactive prophet gets, over extreme channels: for two or three persons of few values."""
    if not crowd:
        return best
    person, *rest = crowd
    told = [person.posterior(channel(*one, person.least)) for one in extreme(len(person.values))]
    after = {}

    def going_on(mean):
        state = max(best, mean)
        if state not in after:
            after[state] = interactive_exactly(rest, state)
        return after[state]

    return max(sum(w * going_on(m) for m, w in zip(one.means, one.weights, strict=True)) for one in told)


@settings(max_examples=25, deadline=None)
@given(st.lists(persons(most=3), min_size=1, max_size=3))
def test_the_interactive_bound_is_above_the_interactive_prophet_and_near_it(crowd):
    exact = interactive_exactly(crowd)
    bound = interactive_upper(crowd, any_channel)
    assert exact <= bound * (1 + 1e-12)
    assert bound <= exact * 1.005 + 1e-9
    assert interactive_upper(crowd, any_threshold) <= bound * (1 + 1e-7)


def test_a_line_is_worth_itself():
    person = Person(np.array([1.0, 5.0]), np.array([0.5, 0.5]), 0.3)
    line = Convex(np.empty(0), np.array([1.0]), np.array([2.0]))
    assert Messages(person).best(line).value == pytest.approx(5.0)
    assert Largest(np.array([2.0]), np.array([1.0])).mean == 2.0
