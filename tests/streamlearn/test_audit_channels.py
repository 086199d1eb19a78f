"""Exact audits of channels, their mutations, and independent peers: OpenDP's law, and dp_accounting's compositions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import msgspec
import opendp.prelude as dp
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from streamlearn import Channel, audit
from streamlearn.audit.divergence import exp_below, hockey_stick, log_above, worst_ratio
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError
from streamlearn.rounding import float_above, harmonic_pairs, randomized_response, realised_epsilon

LEVELS = (0.0, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0)


def harmonic(stage, epsilon, horizon=5):
    below, over = harmonic_pairs([epsilon] * horizon)[stage - 1]
    return Channel(stage, 0.5, below, (below + over) // 2, over, epsilon)


CHANNELS = [
    *(Channel.randomized_response(1, 0.5, epsilon) for epsilon in LEVELS),
    *(harmonic(stage, epsilon) for stage in (1, 3, 5) for epsilon in (0.2, 1.0, 4.0)),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: f"{channel.round}-{channel.epsilon:g}")
def test_every_channel_holds_and_its_bound_is_its_epsilon(channel):
    report = audit.exact_channel(channel)
    assert report.verdict == "holds"
    assert report.bound == pytest.approx(realised_epsilon(channel.below, channel.above), rel=1e-15, abs=0.0)
    assert report.bound <= channel.epsilon


def test_an_infinite_epsilon_claims_nothing():
    report = audit.exact_channel(Channel.randomized_response(1, 0.5, math.inf))
    assert (report.verdict, report.bound, report.fraction) == ("holds", math.inf, None)


def mutated(channel, **weights):
    """A channel that did not check its integers."""
    wrong = Channel(
        channel.round, channel.threshold, channel.below, channel.at, channel.above, channel.epsilon
    )
    for name, weight in weights.items():
        msgspec.structs.force_setattr(wrong, name, weight)
    return wrong


@pytest.mark.parametrize("name", ["below", "at", "above"])
@pytest.mark.parametrize(
    "channel",
    [
        *(Channel.randomized_response(1, 0.5, epsilon) for epsilon in (0.1, 1.0, 5.0)),
        harmonic(1, 1.0),
        harmonic(4, 2.0),
    ],
    ids=lambda channel: f"{channel.round}-{channel.epsilon:g}",
)
def test_a_weight_a_fifth_off_is_told(channel, name):
    """Off by a fifth of its distance from 0 or from 2^64, whichever is harmful: further from the others."""
    weight = getattr(channel, name)
    if name == "at" and weight == (channel.below + channel.above) // 2:
        weight = channel.below  # in the middle a fifth is still between the others: start from the end
    lower, higher = weight * 4 // 5, OUT_OF - (OUT_OF - weight) * 4 // 5
    assert any(audit.exact_channel(mutated(channel, **{name: wrong})).refuted for wrong in (lower, higher))


def test_the_fifteenth_digit_is_told():
    below, over = randomized_response(1.0)
    assert not audit.exact_channel(Channel(1, 0.5, below, over, over, 1.0)).refuted
    assert audit.exact_channel(
        mutated(CHANNELS[3], below=below - 4000, above=over + 4000), epsilon=1.0
    ).refuted


def test_what_is_no_channel_is_refused():
    with pytest.raises(ParameterError, match="channel must be a Channel, got tuple"):
        audit.exact_channel((1, 2))
    with pytest.raises(ParameterError, match="epsilon must be >= 0"):
        audit.exact_channel(CHANNELS[0], epsilon=-1.0)


# --- the divergences


def brute_force(one, other, level):
    """The largest P(E) - level·P'(E), event by event."""
    outcomes = sorted({*one, *other})
    return max(
        sum(one.get(o, 0) - level * other.get(o, 0) for o in event)
        for size in range(len(outcomes) + 1)
        for event in itertools.combinations(outcomes, size)
    )


def test_the_hockey_stick_is_the_worst_event():
    one = {0: Fraction(1, 6), 1: Fraction(2, 6), 2: Fraction(3, 6)}
    other = {0: Fraction(3, 7), 2: Fraction(2, 7), 3: Fraction(2, 7)}
    for level in (Fraction(1), Fraction(3, 2), Fraction(4)):
        for pair in ((one, other), (other, one)):
            assert hockey_stick(*pair, level) == brute_force(*pair, level)
    assert hockey_stick(one, other, None) == Fraction(1, 3)
    assert worst_ratio(one, other) is None
    assert worst_ratio({0: Fraction(1)}, other) == Fraction(7, 3)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 20.0, 700.0])
def test_powers_of_e_are_below_and_logarithms_above(epsilon):
    import mpmath

    level = exp_below(epsilon)
    with mpmath.workdps(80):
        true = mpmath.exp(mpmath.mpf(epsilon))
        given = mpmath.mpf(level.numerator) / level.denominator
        assert 0 < (true - given) / true < mpmath.mpf("1e-55")
        ratio = Fraction(10**9 + 1, 3)
        assert mpmath.mpf(log_above(ratio)) >= mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
    assert Fraction(float_above(Fraction(1, 3))) > Fraction(1, 3)


# --- peers


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
def test_opendp_randomized_response_costs_what_the_audit_says(epsilon):
    """OpenDP's own map from its probability to ε, rounded up as ours is, but in its own way."""
    dp.enable_features("contrib")
    below, over = randomized_response(epsilon)
    truthful = math.nextafter(over / OUT_OF, 0.0)
    theirs = dp.m.make_randomized_response_bool(prob=truthful)

    def law(bit, key):
        return bit if key.bernoulli(*truthful.as_integer_ratio(), "truth", 1) else not bit

    report = audit.exact_mechanism(law, [False, True], epsilon=epsilon)
    assert theirs.map(1) == pytest.approx(report.bound, rel=1e-12)
    assert theirs.map(1) >= math.nextafter(report.bound, 0.0)
    assert report.verdict == "holds"
    assert audit.exact_channel(Channel(1, 0.5, below, over, over, epsilon)).bound == pytest.approx(
        theirs.map(1), rel=1e-12
    )


def test_opendp_randomized_response_is_not_refuted_by_samples():
    """Another library's sampler, that draws from the system: it keeps its claim, and the bound comes near it."""
    dp.enable_features("contrib")
    theirs = dp.m.make_randomized_response_bool(prob=0.75)
    report = audit.statistical(lambda bit, _: theirs(bit), False, True, epsilon=theirs.map(1), samples=6_000)
    assert report.verdict == "not refuted"
    assert 0.5 < report.bound < math.log(3.0)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_compositions_cost_what_dp_accounting_says(times):
    """The exact law of several answers against a privacy-loss distribution of its own kind."""

    def answers(bit, key):
        return tuple(bit if key.bernoulli(3, 4, "truth", i) else 1 - bit for i in range(times))

    laws = [audit.law(answers, bit) for bit in (0, 1)]
    theirs = pld.from_randomized_response(0.5, 2, value_discretization_interval=1e-4).self_compose(times)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        ours = float(hockey_stick(laws[0], laws[1], exp_below(epsilon)))
        assert ours <= theirs.get_delta_for_epsilon(epsilon) + 1e-12  # theirs is pessimistic
        assert ours == pytest.approx(theirs.get_delta_for_epsilon(epsilon), abs=times * 1e-4)
