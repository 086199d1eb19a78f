"""Audits of privacy through the public method: exact over every view of an adaptive server, and statistical.

Statistical tests compare counts with exact binomial tails. Every comparison may be off by chance with
probability at most 1e-8, and no test makes more than 100: a false alarm of at most 1e-6 each. Keys are
fixed, so a run that passed once passes again.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import mpmath
import pytest

from streamlearn import Channel, Key
from streamlearn.channels import OUT_OF
from streamlearn.errors import BudgetError
from streamlearn.reporters import Reporter
from streamlearn.rounding import harmonic_pairs

ALARM = 1e-8
EVENTS = 4000


def surprising(count: int, trials: int, probability: float) -> bool:
    """Whether a Binomial(trials, probability) is this far out, on either side, less often than ALARM."""
    from scipy.stats import binom

    lower, upper = binom.cdf(count, trials, probability), binom.sf(count - 1, trials, probability)
    return min(lower, upper) < ALARM / 2


def rr(stage=1, threshold=0.5, epsilon=1.0):
    return Channel.randomized_response(stage, threshold, epsilon)


def harmonic(stage, epsilon, horizon=5):
    below, above = harmonic_pairs([epsilon] * horizon)[stage - 1]
    return Channel(stage, 0.5, below, (below + above) // 2, above, epsilon)


def bits(channel, value, seed=1, events=EVENTS):
    reporter = Reporter(math.inf, key=Key.from_seed(seed))
    return [reporter.report(value=value, channel=channel, event_id=f"e{i}").bit for i in range(events)]


def agreement(one, two):
    return sum(a == b for a, b in zip(one, two, strict=True))


# --- every view of an adaptive server, exactly


class OutOfBitsError(Exception):
    """The scripted key was asked for one draw more than it has."""


class ScriptedKey(Key):
    """A key whose draws make the bits that a test wants, so that every path can be walked."""

    __slots__ = ("asked", "wanted")

    def __init__(self, wanted):
        super().__init__(bytes(32))
        self.wanted = wanted
        self.asked = []

    def uniform64(self, purpose, round):  # noqa: A002 - the overridden name
        if len(self.asked) == len(self.wanted):
            raise OutOfBitsError
        self.asked.append((purpose, round))
        return 0 if self.wanted[len(self.asked) - 1] else OUT_OF - 1


def play(server, values, wanted, limits):
    """The view of one run with the wanted bits, and its probability: exact, by the channels' weights."""
    key = ScriptedKey(wanted)
    reporter = Reporter(limits[0], key=key, total_epsilon=limits[1])
    view, probability = [], Fraction(1)
    for _ in range(6):
        event, channel = server(tuple(view))
        drawn = len(key.asked)
        try:
            answer = reporter.report(value=values[event], channel=channel, event_id=event).bit
        except BudgetError:
            answer = "refused"
        if len(key.asked) > drawn:
            weight = Fraction(channel.weight(values[event]), OUT_OF)
            probability *= weight if answer else 1 - weight
        view.append((event, channel.tag, answer))
    assert len(set(key.asked)) == len(key.asked)  # no draw ever serves twice
    return tuple(view), probability


def views(server, values, limits):
    """The whole law of the view: a dictionary of probabilities that sum to 1."""
    paths, found = [()], Counter()
    while paths:
        wanted = paths.pop()
        try:
            view, probability = play(server, values, wanted, limits)
        except OutOfBitsError:
            paths += [(*wanted, 0), (*wanted, 1)]
            continue
        if probability:
            found[view] += probability
    assert sum(found.values()) == 1
    return found


CHANNELS = [
    *(rr(stage, 0.5, epsilon) for stage in (1, 2) for epsilon in (0.0, 0.2, 0.45, 1.0)),
    *(rr(1, threshold, 0.3) for threshold in (0.2, 0.8)),
    *(harmonic(stage, 0.4) for stage in (1, 3)),
    Channel(3, 0.5, 1, OUT_OF // 2, OUT_OF - 1, 50.0),  # says 44, however it is declared
    Channel(3, 0.5, 0, 0, OUT_OF, math.inf),
    Channel.constant(4, bit=1),
    Channel.constant(4, bit=0),
]


def adversary(seed):
    """A server that chooses event and channel by a whim that depends on everything it saw."""

    def server(view):
        whim = random.Random(f"{seed}/{view}")
        return whim.choice("aaab"), whim.choice(CHANNELS)

    return server


VALUES = [0.1, 0.5, 0.9]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("limits", [(1.0, math.inf), (0.9, 1.2), (0.0, math.inf)])
def test_no_adaptive_server_learns_more_than_the_limit(seed, limits):
    server = adversary(seed)
    laws = {(a, b): views(server, {"a": a, "b": b}, limits) for a in VALUES for b in VALUES}
    with mpmath.workdps(60):
        for (a, b), one in laws.items():
            for (c, d), two in laws.items():
                differing = (a != c) + (b != d)
                bound = mpmath.exp(mpmath.mpf(min(differing * limits[0], limits[1])))
                assert set(one) == set(two)  # whether something is refused depends on no value
                for view, p in one.items():
                    ratio = p / two[view]
                    assert mpmath.mpf(ratio.numerator) / ratio.denominator <= bound


def test_the_exact_audit_sees_a_limit_that_is_not_enforced():
    # The same walk with a limit of 2 must show more than e^1 somewhere, or the audit above says nothing.
    worst = 0
    for seed in range(25):
        one, two = (views(adversary(seed), {"a": a, "b": 0.1}, (2.0, math.inf)) for a in (0.1, 0.9))
        worst = max(worst, *(float(one[view] / two[view]) for view in one))
    assert math.e < worst <= math.e**2


# --- frequencies


@pytest.mark.parametrize(
    "channel",
    [
        rr(epsilon=0.0),
        rr(epsilon=0.1),
        rr(epsilon=1.0),
        rr(epsilon=5.0),
        rr(epsilon=40.0),
        harmonic(1, 1.0),
        harmonic(4, 2.0),
        Channel(1, 0.5, OUT_OF // 10, OUT_OF // 5, OUT_OF // 2, 2.0),
    ],
    ids=lambda channel: f"{channel.below / OUT_OF:.2g}-{channel.above / OUT_OF:.2g}",
)
def test_bits_come_with_the_channels_probabilities(channel):
    weights = {0.3: channel.below, 0.5: channel.at, 0.7: channel.above}
    for seed, (value, weight) in enumerate(weights.items()):
        count = sum(bits(channel, value, seed))
        assert not surprising(count, EVENTS, weight / OUT_OF)


def test_the_statistical_audit_sees_a_wrong_probability():
    # A client that answers with the truth a hundredth too often, at ε = 1.
    channel = rr()
    wrong = Channel(1, 0.5, channel.below, channel.above, channel.above + OUT_OF // 15, 2.0)
    assert surprising(sum(bits(wrong, 0.7)), EVENTS, channel.above / OUT_OF)


# --- independence: agreement of two series of independent bits is binomial

FAIR = 1 - 2 * 0.731058578630005 * (1 - 0.731058578630005)  # p² + (1 - p)² at ε = 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ((rr(1), 0.7, 1), (rr(2), 0.7, 1)),  # two rounds
        ((rr(1, 0.5), 0.7, 1), (rr(1, 0.6), 0.7, 1)),  # two thresholds
        ((rr(1), 0.7, 1), (rr(1), 0.7, 2)),  # two people
    ],
    ids=["rounds", "thresholds", "people"],
)
def test_bits_of_different_questions_are_independent(one, two):
    assert not surprising(agreement(bits(*one), bits(*two)), EVENTS, FAIR)


def test_bits_of_different_levels_are_independent():
    p, q = (1 / (1 + math.exp(-epsilon)) for epsilon in (1.0, 0.5))
    both = agreement(bits(rr(1, 0.5, 1.0), 0.7), bits(rr(1, 0.5, 0.5), 0.7))
    assert not surprising(both, EVENTS, p * q + (1 - p) * (1 - q))


@pytest.mark.parametrize("lag", [1, 2, 7])
def test_bits_of_different_events_are_independent(lag):
    series = bits(rr(), 0.7)
    # Pairs (i, i + lag) overlap; those with i // lag even do not.
    pairs = [(series[i], series[i + lag]) for i in range(EVENTS - lag) if i // lag % 2 == 0]
    assert not surprising(sum(a == b for a, b in pairs), len(pairs), FAIR)


@pytest.mark.parametrize("value", [0.3, 0.55, 0.7])
def test_two_thresholds_do_not_show_whether_the_value_lies_between_them(value):
    # With one draw for both, (1, 0) would come only for values between the thresholds: never at 0.3 or 0.7.
    low, high = rr(1, 0.5), rr(1, 0.6)
    counts = Counter(zip(bits(low, value), bits(high, value), strict=True))
    for outcome in ((0, 0), (0, 1), (1, 0), (1, 1)):
        p = [c.weight(value) / OUT_OF for c in (low, high)]
        expected = math.prod(w if bit else 1 - w for w, bit in zip(p, outcome, strict=True))
        assert not surprising(counts[outcome], EVENTS, expected)


def test_asking_again_does_not_average_the_noise_away():
    reporter = Reporter(1.0, key=Key.from_seed(5))
    answers = {
        event: {reporter.report(value=0.7, channel=rr(), event_id=f"e{event}").bit for _ in range(50)}
        for event in range(200)
    }
    assert all(len(seen) == 1 for seen in answers.values())
    assert not surprising(sum(max(seen) for seen in answers.values()), 200, rr().above / OUT_OF)


def test_the_event_and_the_draw_tell_nothing_of_the_value():
    # One key and event draw one number whatever the value is: bits differ only across the threshold.
    assert bits(rr(), 0.51) == bits(rr(), 0.99)
    assert bits(rr(), 0.49) == bits(rr(), 0.0)
