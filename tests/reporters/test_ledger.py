"""Sums of ε are exact, and what is shown of them is rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamlearn import Channel
from streamlearn.errors import StateError
from streamlearn.reporters import Ledger
from streamlearn.reporters.ledger import Entry

levels = st.floats(0, 1e308) | st.sampled_from([0.0, 5e-324, 2.0**-54, 0.1, 1.0, 1.7976931348623157e308])


def filled(epsilons, event="a"):
    ledger = Ledger()
    for i, epsilon in enumerate(epsilons):
        ledger.add(Entry(event, f"law {i}", 1, epsilon))
    return ledger


@given(st.lists(levels, max_size=8))
@example([1.0, 2.0**-54])
@example([0.1] * 10)
@example([5e-324, 5e-324])
@example([1.7976931348623157e308] * 2)
def test_the_sum_is_exact_and_shown_as_the_next_double_up(epsilons):
    exact = sum(map(Fraction, epsilons), Fraction(0))
    shown = filled(epsilons).total
    assert exact <= shown
    assert shown == 0 or math.nextafter(shown, 0) < exact
    assert filled(epsilons).spent("a") == shown


@given(st.lists(levels, max_size=8), levels, levels | st.just(math.inf))
@example([0.5], 0.5, 1.0)
@example([0.5, 2.0**-54], 0.5, 1.0)
@example([0.1] * 9, 0.1, 1.0)
def test_what_fits_is_decided_by_the_exact_sum(epsilons, more, limit):
    fits = sum(map(Fraction, [*epsilons, more]), Fraction(0)) <= limit
    ledger = filled(epsilons)
    assert ledger.fits_event("a", more, limit) == fits
    assert ledger.fits_total(more, limit) == fits
    assert ledger.fits_event("b", more, limit) == (more <= limit)


@given(st.lists(levels, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(epsilons, random):
    shuffled = random.sample(epsilons, len(epsilons))
    assert filled(shuffled).total == filled(epsilons).total


def test_an_infinite_price_fits_an_infinite_limit_only():
    ledger = filled([math.inf, 1.0, math.inf])
    assert ledger.total == ledger.spent("a") == math.inf
    assert ledger.fits_event("a", math.inf, math.inf)
    for limit in (0.0, 1.7976931348623157e308):
        assert not ledger.fits_event("b", math.inf, limit)
        assert not ledger.fits_event("a", 0.0, limit)
        assert not ledger.fits_total(0.0, limit)
        assert ledger.fits_event("b", 0.0, limit)


def test_events_are_counted_apart_and_together():
    ledger = Ledger()
    ledger.add(Entry("a", "law 1", 1, 0.5))
    ledger.add(Entry("b", "law 1", 0, 0.25))
    ledger.add(Entry("a", "law 2", 0, 0.125))
    assert (ledger.spent("a"), ledger.spent("b"), ledger.spent("c"), ledger.total) == (
        0.625,
        0.25,
        0.0,
        0.875,
    )
    assert [(entry.event_id, entry.tag, entry.bit) for entry in ledger.entries] == [
        ("a", "law 1", 1),
        ("b", "law 1", 0),
        ("a", "law 2", 0),
    ]
    assert ledger.find("a", "law 2") == Entry("a", "law 2", 0, 0.125)
    assert ledger.find("b", "law 2") is None
    assert repr(ledger) == "Ledger(events=2, answers=3, total=0.875)"


def test_answers_are_written_without_their_price_and_priced_anew():
    channels = [Channel.randomized_response(i, 0.1 * i, 0.3 * i) for i in range(1, 4)]
    ledger = Ledger()
    for channel in channels:
        ledger.add(Entry("a", channel.tag, 1, channel.realised_epsilon))
    written = ledger.answers()
    assert written == [["a", channel.tag, 1] for channel in channels]
    again = Ledger.from_answers(written)
    assert again.entries == ledger.entries
    assert again.total == ledger.total


GOOD = Channel.randomized_response(1, 0.5, 1.0).tag


@pytest.mark.parametrize(
    "tag",
    [
        "",
        "law",
        GOOD + "/0",
        GOOD.replace("1/0x", "0/0x", 1),  # round 0
        GOOD.replace("0x1.0000000000000p-1", "0.5"),  # another spelling of one half
        GOOD.replace("0x1.0000000000000p-1", "0x2.0000000000000p-2"),
        GOOD.replace("0x1.0000000000000p-1", "nan"),
        GOOD.replace("0x1.0000000000000p-1", "inf"),
        GOOD.replace("0x1.0000000000000p-1", "0x1p99999"),
        GOOD.upper(),
        GOOD + " ",
        " " + GOOD,
        "0" + GOOD,
        GOOD.replace("/", "|"),
        "1/0x1.0000000000000p-1/2/1/1",  # out of order
        "1/0x1.0000000000000p-1/1/2/10000000000000001",  # above 2^64
        "1/0x1.0000000000000p-1/-1/2/3",
        "1/0x1.0000000000000p-1/0x1/2/3",
    ],
)
def test_a_tag_is_read_only_as_it_was_written(tag):
    # A second spelling of one law would let the same question be answered a second time.
    Ledger.from_answers([("a", GOOD, 1)])
    with pytest.raises(StateError, match=r"answers\[1\] is under no channel's tag"):
        Ledger.from_answers([("b", GOOD, 1), ("a", tag, 1)])


def test_an_answer_given_twice_is_refused():
    with pytest.raises(StateError, match=r"answers\[2\] repeats"):
        Ledger.from_answers([("a", GOOD, 1), ("b", GOOD, 1), ("a", GOOD, 0)])
