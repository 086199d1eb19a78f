"""What a reporter answers, what it refuses, and that a refusal costs and tells nothing."""

from __future__ import annotations

import copy
import math
import traceback
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Channel, Key, Report, rounding
from streamlearn.channels import OUT_OF
from streamlearn.errors import BudgetError, ParameterError, PrivateValueError, ReportError
from streamlearn.reporters import Ledger, Reporter, ReportingPlan

LN3 = (OUT_OF // 4, 3 * OUT_OF // 4)  # e^ε = 3 exactly, which no double ε states


def rr(stage=1, threshold=0.5, epsilon=1.0):
    return Channel.randomized_response(stage, threshold, epsilon)


def law(below, above, stage=1, epsilon=math.inf):
    return Channel(stage, 0.5, below, above, above, epsilon)


def reporter(max_epsilon=1.0, seed=1, **limits):
    return Reporter(max_epsilon, key=Key.from_seed(seed), **limits)


# --- answers


def test_a_report_carries_round_bit_and_event():
    one = reporter()
    report = one.report(value=0.7, channel=rr(stage=4), event_id="a17")
    assert report == Report(round=4, bit=report.bit, event_id="a17")
    assert report.bit in {0, 1}
    (entry,) = one.ledger.entries
    assert (entry.event_id, entry.tag, entry.bit) == ("a17", rr(stage=4).tag, report.bit)
    assert entry.epsilon == rr().realised_epsilon


def test_the_bit_is_the_channels_for_a_draw_of_event_and_law():
    # The proof's Lemma 1 speaks of this very string.
    key = Key.from_seed(1)
    one = Reporter(math.inf, key=key)
    for i in range(200):
        channel = rr(stage=i % 3 + 1, threshold=i / 200, epsilon=0.3)
        draw = key.uniform64(f"report/{channel.tag}/event/{i}", channel.round)
        report = one.report(value=0.5, channel=channel, event_id=f"event/{i}")
        assert report.bit == channel.bit(0.5, draw)


@pytest.mark.parametrize("value", [None, 0.2, -3.0, "text", math.nan])
@pytest.mark.parametrize("bit", [0, 1])
def test_a_constant_is_answered_without_reading_the_value(value, bit):
    one = reporter(0.0)
    channel = Channel.constant(3, bit=bit)
    assert one.report(value=value, channel=channel, event_id="a17") == Report(3, bit, "a17")
    assert one.ledger.entries == ()
    assert one.ledger.total == 0.0


def test_a_non_private_channel_is_the_indicator_where_it_is_allowed():
    one = reporter(math.inf)
    channel = rr(epsilon=math.inf)
    bits = [one.report(value=v, channel=channel, event_id=str(v)).bit for v in (0.0, 0.49, 0.5, 0.51, 1e308)]
    assert bits == [0, 0, 1, 1, 1]
    assert one.ledger.spent("0.0") == one.ledger.total == math.inf
    assert one.ledger.spent("never asked") == 0.0


@given(st.floats(0, 1e308) | st.integers(0, 2**70))
def test_any_finite_number_from_zero_up_is_a_value(value):
    one = Reporter(math.inf, key=Key.from_seed(1))
    expected = int(value >= 0.5)
    assert one.report(value=value, channel=rr(epsilon=math.inf), event_id="a").bit == expected


@pytest.mark.parametrize(
    "value", [np.float64(0.7), np.float32(0.7), np.float16(0.7), np.int64(3), np.uint8(1), 5e-324]
)
def test_numpys_numbers_are_values(value):
    one = reporter(math.inf)
    assert one.report(value=value, channel=rr(epsilon=math.inf), event_id="a").bit == int(value >= 0.5)


def test_a_value_is_compared_as_a_double_whatever_its_type():
    # numpy would compare float32 with a double threshold in single precision.
    threshold = math.nextafter(float(np.float32(0.1)), 1)
    one = reporter(math.inf)
    assert one.report(value=np.float32(0.1), channel=rr(1, threshold, math.inf), event_id="a").bit == 0


# --- asked again


@pytest.mark.parametrize("second", [0.7, 0.1, None, "text", math.nan])
def test_the_same_question_gets_the_same_bit_and_spends_nothing(second):
    one = reporter()
    for event in map(str, range(20)):
        first = one.report(value=0.7, channel=rr(), event_id=event)
        before = one.ledger.total, one.ledger.entries
        # Equal law, another object, and another declared ε: the law is the integers.
        for channel in (rr(), law(*rounding.randomized_response(1.0))):
            assert one.report(value=second, channel=channel, event_id=event) == first
        assert (one.ledger.total, one.ledger.entries) == before


def test_the_same_question_is_answered_even_past_the_limit():
    one = reporter(1.0)
    first = one.report(value=0.7, channel=rr(), event_id="a")
    one.max_epsilon = 0.0
    assert one.report(value=0.7, channel=rr(), event_id="a") == first


def test_another_key_or_event_may_answer_otherwise_and_the_same_key_never_does():
    bits = {
        (seed, event): reporter(seed=seed).report(value=0.7, channel=rr(epsilon=0.1), event_id=event).bit
        for seed in range(20)
        for event in "ab"
    }
    assert set(bits.values()) == {0, 1}
    for (seed, event), bit in bits.items():
        assert reporter(seed=seed).report(value=0.7, channel=rr(epsilon=0.1), event_id=event).bit == bit


def test_a_reporter_makes_itself_a_key():
    one, two = Reporter(1.0), Reporter(1.0)
    assert isinstance(one.key, Key)
    assert one.key != two.key


# --- limits


def test_two_halves_fit_one_and_a_third_question_does_not():
    one = reporter(1.0)
    for stage in (1, 2):
        one.report(value=0.7, channel=rr(stage, epsilon=0.5), event_id="a")
    assert one.ledger.spent("a") <= 1.0
    with pytest.raises(BudgetError):
        one.report(value=0.7, channel=rr(3, epsilon=1e-9), event_id="a")
    one.report(value=0.7, channel=rr(3, epsilon=0.5), event_id="b")


def test_ten_tenths_fit_one():
    # Although ten times the double 0.1 is more than 1: what counts is what the integers spend.
    assert 10 * Fraction(0.1) > 1
    one = reporter(1.0)
    for stage in range(1, 11):
        one.report(value=0.7, channel=rr(stage, epsilon=0.1), event_id="a")
    assert 0.999 < one.ledger.spent("a") <= 1.0


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_limit_is_exact_to_the_last_bit(count):
    channels = [law(*LN3, stage=i) for i in range(1, count + 1)]
    exact = count * Fraction(channels[0].realised_epsilon)
    nearest = float(exact)
    enough = nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
    one = reporter(enough)
    for channel in channels:
        one.report(value=0.7, channel=channel, event_id="a")
    assert one.ledger.spent("a") == enough
    other = reporter(math.nextafter(enough, 0))
    for channel in channels[:-1]:
        other.report(value=0.7, channel=channel, event_id="a")
    with pytest.raises(BudgetError):
        other.report(value=0.7, channel=channels[-1], event_id="a")


def test_floating_sums_would_let_one_too_many_pass():
    # 1 and 2^-54 of it: a sum of doubles forgets the second.
    big, small = law(*rounding.randomized_response(1.0)), law(OUT_OF // 2, OUT_OF // 2 + 1, stage=2)
    one = reporter(big.realised_epsilon)
    assert big.realised_epsilon + small.realised_epsilon == big.realised_epsilon
    one.report(value=0.7, channel=big, event_id="a")
    with pytest.raises(BudgetError):
        one.report(value=0.7, channel=small, event_id="a")


def test_what_counts_is_what_the_integers_spend_not_what_is_declared():
    assert reporter(1.1).report(value=0.7, channel=law(*LN3, epsilon=1000.0), event_id="a").bit in {0, 1}
    with pytest.raises(BudgetError):
        reporter(1.09).report(value=0.7, channel=law(*LN3, epsilon=1.1), event_id="a")


@pytest.mark.parametrize("pair", [(0, 1), (OUT_OF - 1, OUT_OF), (0, OUT_OF)])
@pytest.mark.parametrize("limit", [0.0, 1.0, 1e308])
def test_a_channel_that_hides_nothing_is_refused_under_any_finite_limit(pair, limit):
    one = reporter(limit)
    with pytest.raises(BudgetError) as caught:
        one.report(value=0.7, channel=law(*pair), event_id="a")
    assert caught.value.asked == math.inf
    with pytest.raises(BudgetError):
        reporter(math.inf, total_epsilon=limit).report(value=0.7, channel=law(*pair), event_id="a")
    assert reporter(math.inf).report(value=0.7, channel=law(*pair), event_id="a").bit in {0, 1}


def test_a_question_that_spends_nothing_fits_a_limit_of_zero():
    one = reporter(0.0, total_epsilon=0.0)
    bits = {one.report(value=0.7, channel=rr(epsilon=0.0), event_id=str(i)).bit for i in range(50)}
    assert bits == {0, 1}
    assert one.ledger.total == 0.0


def test_the_lifetime_limit_counts_all_events():
    one = reporter(1.0, total_epsilon=2.5)
    for event in "ab":
        one.report(value=0.7, channel=rr(), event_id=event)
    with pytest.raises(BudgetError, match=r"total_epsilon = 2\.5") as caught:
        one.report(value=0.7, channel=rr(), event_id="c")
    assert caught.value.spent == one.ledger.total
    assert caught.value.limit == 2.5
    one.report(value=0.7, channel=rr(epsilon=0.5), event_id="c")
    assert one.ledger.total <= 2.5


def test_a_refusal_spends_nothing_and_says_what_is_left():
    one = reporter(1.0)
    one.report(value=0.7, channel=rr(1, epsilon=0.75), event_id="a")
    before = copy.deepcopy(one.state_dict())
    with pytest.raises(BudgetError, match=r"max_epsilon = 1\.0") as caught:
        one.report(value=0.7, channel=rr(2, epsilon=0.5), event_id="a")
    error = caught.value
    assert error.spent == one.ledger.spent("a") == rr(epsilon=0.75).realised_epsilon
    assert error.asked == rr(epsilon=0.5).realised_epsilon
    assert error.limit == 1.0
    assert error.left == 1.0 - error.spent
    assert one.state_dict() == before
    # The question is not burnt: with a higher limit it is answered, once.
    one.max_epsilon = 1.25
    one.report(value=0.7, channel=rr(2, epsilon=0.5), event_id="a")


class Unreadable:
    """A value that notices being looked at."""

    def __float__(self):
        raise AssertionError("the value was read")

    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __float__
    __hash__ = None


def test_a_refusal_does_not_look_at_the_value():
    one = reporter(0.5)
    with pytest.raises(BudgetError) as caught:
        one.report(value=Unreadable(), channel=rr(), event_id="a")
    said = {str(caught.value)}
    for value in (0.0, 0.5, 1e308, math.nan, None, -1.0):
        with pytest.raises(BudgetError) as caught:
            one.report(value=value, channel=rr(), event_id="a")
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("limit", [-1.0, math.nan, "1", None, True])
def test_a_limit_is_a_privacy_level(limit):
    with pytest.raises(ParameterError, match="max_epsilon must be"):
        Reporter(limit)
    with pytest.raises(ParameterError, match="total_epsilon must be"):
        Reporter(1.0, total_epsilon=limit)
    one = reporter()
    with pytest.raises(ParameterError, match="max_epsilon must be"):
        one.max_epsilon = limit
    assert one.max_epsilon == 1.0


# --- values, names and other arguments

NO_VALUES = [
    *(
        -1.25e-7,
        -987654321.5,
        -1,
        -math.inf,
        math.inf,
        math.nan,
        "0.7319",
        b"0.7319",
        True,
        np.True_,
        None,
        [0.7319],
    ),
    *(
        0.7319 + 1j,
        {"bid": 0.7319},
        10**400,
        np.array([0.7319]),
        np.array(0.7319),
        np.datetime64("2026-01-01"),
    ),
]


@pytest.mark.parametrize("value", NO_VALUES, ids=lambda value: type(value).__name__)
def test_what_is_no_value_is_refused_spends_nothing_and_is_never_quoted(value):
    one = reporter()
    with pytest.raises(PrivateValueError, match="value must be") as caught:
        one.report(value=value, channel=rr(), event_id="a17")
    told = "".join(traceback.format_exception(caught.value))
    for fragment in ("7319", "987654321", "1.25e-07", "2026-01-01", "00000"):
        assert fragment not in told
    for fragment in ("nan", "inf", "True", "-1", repr(value) if value is not None else "None;"):
        assert fragment not in str(caught.value)
    assert one.ledger.entries == ()
    assert one.report(value=0.7, channel=rr(), event_id="a17").bit in {0, 1}


def test_no_error_of_a_good_value_quotes_it_either():
    secret = 0.731946528
    one = reporter(1.0, total_epsilon=1.5)
    one.report(value=secret, channel=rr(), event_id="a")
    for channel, event in ((rr(2), "a"), (rr(), "b"), (rr(), ""), (None, "a")):
        with pytest.raises((BudgetError, ReportError, ParameterError)) as caught:
            one.report(value=secret, channel=channel, event_id=event)
        assert "7319" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("event_id", ["", None, 1.0, True, b"a", ("a",), math.nan])
def test_an_event_has_a_name(event_id):
    for channel in (rr(), Channel.constant(1, bit=0)):
        with pytest.raises(ReportError, match="event_id"):
            reporter().report(value=0.7, channel=channel, event_id=event_id)


def test_half_a_character_is_no_name():
    with pytest.raises(ReportError, match="lone surrogate"):
        reporter().report(value=0.7, channel=rr(), event_id="\ud800")


def test_a_number_is_the_name_it_is_written_as():
    one = reporter()
    first = one.report(value=0.7, channel=rr(), event_id=17)
    for name in ("17", np.int64(17), np.str_("17")):
        report = one.report(value=0.1, channel=rr(), event_id=name)
        assert report == first
        assert type(report.event_id) is str
    assert one.ledger.spent(17) == one.ledger.spent("17") > 0


@pytest.mark.parametrize("channel", [None, 0.5, "ask", ReportingPlan([rr()]), Report(1, 1)])
def test_only_channels_are_answered(channel):
    with pytest.raises(ParameterError, match="channel must be a Channel"):
        reporter().report(value=0.7, channel=channel, event_id="a")


def test_a_key_is_a_key():
    with pytest.raises(ParameterError, match="key must be a Key, got bytes"):
        Reporter(1.0, key=b"0" * 32)


def test_nothing_secret_shows_in_the_repr():
    one = reporter(1.0, total_epsilon=7)
    one.report(value=0.7319, channel=rr(), event_id="a17")
    assert (
        repr(one) == "Reporter(max_epsilon=1, total_epsilon=7, ledger=Ledger(events=1, answers=1, total=1))"
    )
    assert repr(Reporter(math.inf)).startswith("Reporter(max_epsilon=inf, total_epsilon=inf")


def test_the_package_offers_its_three_names():
    import streamlearn.reporters

    assert streamlearn.reporters.__all__ == ["Ledger", "Reporter", "ReportingPlan"]
    assert isinstance(reporter().ledger, Ledger)
