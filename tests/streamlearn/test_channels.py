"""A channel is three integers that keep what they promise, or it does not exist."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from itertools import permutations

import mpmath
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Channel, Report
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError
from streamlearn.rounding import realised_epsilon

finite = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, OUT_OF)


@st.composite
def channels(draw):
    """Any law there is: its own realised ε is the least it may promise, but for the caution of ``keeps``."""
    below, at, above = sorted(draw(st.tuples(counts, counts, counts)))
    level = realised_epsilon(below, above)
    promised = draw(st.sampled_from([math.inf, level if level == 0 else level * 1.001 + 1e-9]))
    return Channel(draw(st.integers(1, 10**9)), draw(finite), below, at, above, promised)


def test_randomized_response_has_the_reference_integers():
    channel = Channel.randomized_response(1, 0.5, 1.0)
    assert (channel.below, channel.at, channel.above) == (
        4961093570831982232,
        13485650502877569384,
        13485650502877569384,
    )
    assert channel.epsilon == 1.0
    assert 1.0 - 1e-15 < channel.realised_epsilon <= 1.0


# --- what cannot be built


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("round", 0, "round must be an int >= 1"),
        ("round", -1, "round must be an int >= 1"),
        ("round", 1.0, "round must be an int >= 1"),
        ("round", True, "round must be an int >= 1"),
        ("round", "1", "round must be an int >= 1"),
        ("threshold", math.nan, "threshold of round 1 must be a finite number"),
        ("threshold", math.inf, "threshold of round 1 must be a finite number"),
        ("threshold", -math.inf, "threshold of round 1 must be a finite number"),
        ("threshold", "0.5", "threshold of round 1 must be a finite number"),
        ("threshold", None, "threshold of round 1 must be a finite number"),
        ("threshold", True, "threshold of round 1 must be a finite number"),
        ("threshold", 10**400, "threshold of round 1 must be a finite number"),
        ("below", -1, "0 <= below <= at <= above <= 2\\^64"),
        ("above", OUT_OF + 1, "0 <= below <= at <= above <= 2\\^64"),
        ("below", 0.25, "must be integers"),
        ("at", float(OUT_OF // 2), "must be integers"),
        ("above", "7", "must be integers"),
        ("above", np.uint64(OUT_OF - 1), "must be integers"),
        ("epsilon", -0.1, "epsilon must be >= 0"),
        ("epsilon", math.nan, "epsilon must be >= 0"),
        ("epsilon", "1", "epsilon must be a number"),
        ("epsilon", 0.999, "more than the promised"),
    ],
)
def test_each_bad_field_has_its_message(field, value, said):
    good = msgspec.structs.asdict(Channel.randomized_response(1, 0.5, 1.0))
    assert Channel(**good) == Channel.randomized_response(1, 0.5, 1.0)
    with pytest.raises(ParameterError, match=said):
        Channel(**{**good, field: value})


@pytest.mark.parametrize("order", [p for p in permutations((1, 2, 3)) if p != (1, 2, 3)])
def test_weights_out_of_order_are_refused(order):
    with pytest.raises(ParameterError, match="below <= at <= above"):
        Channel(1, 0.5, *order, epsilon=math.inf)


@pytest.mark.parametrize(
    ("below", "above"), [(0, 1), (0, OUT_OF), (OUT_OF - 1, OUT_OF), (OUT_OF // 3, OUT_OF // 2)]
)
def test_a_channel_that_spends_more_than_it_promises_cannot_exist(below, above):
    with pytest.raises(ParameterError, match="more than the promised"):
        Channel(1, 0.5, below, above, above, 0.1)


@given(counts, counts, st.floats(0, 50))
def test_whatever_exists_keeps_its_promise(a, b, epsilon):
    below, above = min(a, b), max(a, b)
    try:
        channel = Channel(1, 0.5, below, below, above, epsilon)
    except ParameterError:
        return
    assert channel.realised_epsilon <= epsilon
    with mpmath.workdps(60):
        for p, q in ((above, below), (OUT_OF - below, OUT_OF - above)):
            assert q > 0 or p == 0
            assert p <= mpmath.exp(mpmath.mpf(epsilon)) * q


@pytest.mark.parametrize("bit", [2, -1, "1", None, 0.5])
def test_a_constant_is_zero_or_one(bit):
    with pytest.raises(ParameterError, match="must be 0 or 1"):
        Channel.constant(1, bit=bit)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, "1", None])
def test_randomized_response_refuses_what_is_no_level(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be"):
        Channel.randomized_response(1, 0.5, epsilon)


# --- what a channel does


@given(channels())
def test_every_pair_of_values_keeps_the_realised_level(channel):
    # at lies between below and above, so three weights are all there are.
    weights = [channel.weight(math.nextafter(channel.threshold, away)) for away in (-math.inf, math.inf)]
    weights.append(channel.weight(channel.threshold))
    assert weights == [channel.below, channel.above, channel.at]
    if math.isinf(channel.realised_epsilon):
        return
    with mpmath.workdps(60):
        bound = mpmath.exp(mpmath.mpf(channel.realised_epsilon))
        for p in weights:
            for q in weights:
                assert p <= bound * q
                assert OUT_OF - p <= bound * (OUT_OF - q)


@given(channels(), st.integers(0, OUT_OF - 1), finite)
def test_the_bit_is_one_for_exactly_weight_draws(channel, draw, value):
    weight = channel.weight(value)
    assert channel.bit(value, draw) == (draw < weight)
    if weight > 0:
        assert channel.bit(value, weight - 1) == 1
    if weight < OUT_OF:
        assert channel.bit(value, weight) == 0


def test_case_says_whether_anybody_is_asked():
    assert Channel.constant(1, bit=1).case == "accept"
    assert Channel.constant(1, bit=0).case == "skip"
    assert Channel.randomized_response(1, 0.5, 0.0).case == "ask"
    assert Channel.randomized_response(1, 0.5, math.inf).case == "ask"
    assert Channel(1, 0.5, 0, 0, 1, math.inf).case == "ask"
    assert Channel(1, 0.5, OUT_OF - 1, OUT_OF, OUT_OF, math.inf).case == "ask"
    assert Channel.constant(7, bit=1).realised_epsilon == Channel.constant(7, bit=0).realised_epsilon == 0.0


# --- its name


@given(channels(), channels())
def test_two_channels_share_a_tag_iff_they_share_round_threshold_and_weights(one, two):
    def law(channel):
        return channel.round, channel.threshold, channel.below, channel.at, channel.above

    assert (one.tag == two.tag) == (law(one) == law(two))


@given(channels())
def test_a_change_of_any_field_but_epsilon_changes_the_tag(channel):
    law = msgspec.structs.asdict(channel)
    tags = {channel.tag}
    for field, other in {
        "round": channel.round + 1,
        "threshold": math.nextafter(channel.threshold, 0 if channel.threshold else 1),
        "below": channel.below - 1,
        "at": channel.at - 1,
        "above": channel.above + 1,
    }.items():
        changed = {**law, field: other, "epsilon": math.inf}
        if 0 <= changed["below"] <= changed["at"] <= changed["above"] <= OUT_OF:
            tags.add(Channel(**changed).tag)
        else:
            tags.add(field)
    assert len(tags) == 6
    assert Channel(**{**law, "epsilon": math.inf}).tag == channel.tag


def test_the_tag_does_not_depend_on_the_type_of_a_number():
    plain = Channel.randomized_response(1, 1.0, 1.0)
    for one in (1, np.float64(1.0), np.float32(1.0), np.int64(1), Fraction(1)):
        channel = Channel.randomized_response(1, one, one)
        assert channel.tag == plain.tag
        assert channel == plain
        assert type(channel.threshold) is type(channel.epsilon) is float
    assert Channel.randomized_response(1, -0.0, 1.0).tag == Channel.randomized_response(1, 0.0, 1.0).tag


def test_channels_and_reports_are_values():
    channel = Channel.randomized_response(1, 0.5, 1.0)
    assert hash(channel) == hash(Channel.randomized_response(1, 0.5, 1.0))
    assert copy.deepcopy(channel) == channel
    for thing, field in ((channel, "below"), (Report(1, 0), "bit")):
        with pytest.raises(AttributeError):
            setattr(thing, field, 1)
