"""Mirror: exact privacy by enumeration through its own answers, its shape, its parameters."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from streamlearn import Guarantee, Key
from streamlearn.agents.mirror import Mirror
from streamlearn.errors import ParameterError
from streamlearn.rounding import OUT_OF

ROUNDS = 8
EPSILONS = [0.0, 0.25, 0.5, 1.0, 2.0]
SINE = [math.sin(math.pi * j / 10) ** 2 for j in range(1, 5)]


class Coin(Key):
    """A key whose every draw is the same number."""

    def __init__(self, draw):
        super().__init__(bytes(32))
        self.draw = draw

    def uniform64(self, purpose, round):  # noqa: A002, ARG002
        return self.draw


def law(mirror, index):
    """The probability of yes on an active round, out of 2^64, found by bisection on the draw that `answer` sees."""
    low, high = -1, OUT_OF  # yes at low, no at high
    while high - low > 1:
        middle = (low + high) // 2
        if mirror.answer(index, Coin(middle), "mirror", 1):
            low = middle
        else:
            high = middle
    return high


def output_law(probabilities, stream, changed):
    """The law of all answers but one round's: an array of shape (2,)*(T-1), inactive rounds always answer no."""
    index = 0
    joint = np.ones(())
    for place, active in enumerate(stream):
        index += active
        if place != changed:
            yes = probabilities[index - 1] if active else 0.0
            joint = np.multiply.outer(joint, [1.0 - yes, yes])
    return joint


def enumerated(mirror, epsilons):
    """The largest hockey-stick divergences over all neighbouring activity streams of T rounds."""
    probabilities = [law(mirror, index) / OUT_OF for index in range(1, ROUNDS + 1)]
    worst = np.zeros(len(epsilons))
    for changed in range(ROUNDS):
        for rest in itertools.product((0, 1), repeat=ROUNDS - 1):
            p, q = (
                output_law(probabilities, (*rest[:changed], bit, *rest[changed:]), changed) for bit in (0, 1)
            )
            for first, second in ((p, q), (q, p)):
                gaps = [np.maximum(first - math.exp(epsilon) * second, 0.0).sum() for epsilon in epsilons]
                worst = np.maximum(worst, gaps)
    return worst


@pytest.mark.parametrize(
    ("ramp", "delay"),
    [
        (SINE, 1),
        ([0.1, 0.2, 0.5, 0.9], 1),
        ([0.1, 0.2, 0.5, 0.9], 2),
        ([0.5], 3),
        ([0.01, 0.6, 0.61], 2),
        ([0.2, 0.3, 0.4, 0.5, 0.6, 0.99], 1),
    ],
)
def test_exact_delta_is_the_worst_over_all_neighbouring_streams(ramp, delay):
    mirror = Mirror.from_ramp(ramp, delay)
    exact = [mirror.exact_delta(epsilon) for epsilon in EPSILONS]
    assert enumerated(mirror, EPSILONS) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("ramp", [SINE, [0.5], [0.2, 0.3, 0.4, 0.5, 0.6, 0.99]])
def test_without_a_delay_no_round_stands_before_the_ramp_and_the_promise_is_kept(ramp):
    mirror = Mirror.from_ramp(ramp, 0)
    exact = np.array([mirror.exact_delta(epsilon) for epsilon in EPSILONS])
    assert np.all(enumerated(mirror, EPSILONS) <= exact + 1e-12)


@pytest.mark.parametrize(
    ("ramp", "epsilon", "delta"),
    [
        (SINE, 0.0, 0.496311438),
        (SINE, 0.25, 0.424781261),
        (SINE, 1.0, 0.227402716),
        ([0.1, 0.2, 0.5, 0.9], 0.5, 0.407453577),
    ],
)
def test_values_known_in_closed_form(ramp, epsilon, delta):
    assert Mirror.from_ramp(ramp, 1).exact_delta(epsilon) == pytest.approx(delta, abs=1e-9)


def test_one_random_switch_time_does_not_work():
    # Uniform over m positions: hiding the last round before the switch costs 1/m at every ε up to 1.
    m = 7
    switch = [Fraction(1, m)] * m

    def law_of_answers(active, changed):
        answers = {}
        for time, mass in enumerate(switch, 1):
            index, seen = 0, []
            for place, bit in enumerate(active):
                index += bit
                if place != changed:
                    seen.append(bool(bit) and index >= time)
            answers[tuple(seen)] = answers.get(tuple(seen), 0) + mass
        return answers

    worst = dict.fromkeys((0.0, 0.5, 1.0), 0)
    for changed in range(m + 1):
        rest = (1,) * m
        laws = [law_of_answers((*rest[:changed], bit, *rest[changed:]), changed) for bit in (0, 1)]
        for first, second in (laws, laws[::-1]):
            for epsilon, most in worst.items():
                gaps = (mass - math.exp(epsilon) * second.get(seen, 0) for seen, mass in first.items())
                worst[epsilon] = max(most, float(sum(max(gap, 0) for gap in gaps)))
    assert all(delta >= 1 / m for delta in worst.values())
    # The ramp of the same length does far better at the same ε.
    ramp = [math.sin(math.pi * j / (2 * (m + 1))) ** 2 for j in range(1, m + 1)]
    assert Mirror.from_ramp(ramp, 0).exact_delta(1.0) < 1 / m


@pytest.mark.parametrize("delay", [0, 1, 5])
def test_no_then_the_ramp_then_yes(delay):
    mirror = Mirror.from_ramp([0.25, 0.5, 0.625], delay)
    laws = [law(mirror, index) for index in range(1, delay + 6)]
    assert laws == [0] * delay + [OUT_OF // 4, OUT_OF // 2, OUT_OF * 5 // 8, OUT_OF, OUT_OF]
    assert laws == [mirror.below(index) for index in range(1, delay + 6)]
    assert mirror.length == 3
    assert mirror.thresholds == tuple(laws[delay : delay + 3])


def test_a_certified_mirror_keeps_its_promise():
    mirror = Mirror(1.0, 1e-3, delay=4)
    assert mirror.guarantee == Guarantee("joint", 1.0, 1e-3, "event")
    assert mirror.exact_delta(1.0) <= 1e-3
    assert mirror.length <= 80
    assert list(mirror.ramp) == sorted(mirror.ramp)
    assert all(
        low + high == OUT_OF for low, high in zip(mirror.thresholds, mirror.thresholds[::-1], strict=True)
    )


def test_a_given_ramp_promises_what_it_keeps():
    assert Mirror.from_ramp([0.5], 0).guarantee.delta == pytest.approx(0.5)
    mirror = Mirror.from_ramp([0.1, 0.2, 0.5, 0.9], 0, epsilon=0.5)
    assert mirror.guarantee == Guarantee("joint", 0.5, mirror.exact_delta(0.5), "event")


def test_draws_are_keyed_by_the_round_and_not_by_the_index():
    mirror = Mirror.from_ramp([0.4, 0.6], 0)
    key = Key.from_seed(3)
    for sequence in range(1, 200):
        draw = key.uniform64("mirror", sequence)
        for index in (1, 2):
            assert mirror.answer(index, key, "mirror", sequence) is (draw < mirror.thresholds[index - 1])
    assert [mirror.answer(1, key, "a", t) for t in range(64)] != [
        mirror.answer(1, key, "b", t) for t in range(64)
    ]


def test_it_cannot_be_changed():
    mirror = Mirror.from_ramp([0.4, 0.6], 3)
    with pytest.raises(AttributeError):
        mirror.delay = 4
    with pytest.raises(AttributeError):
        del mirror.delay
    with pytest.raises(ValueError, match="read-only"):
        mirror.ramp[0] = 0.5
    assert copy.deepcopy(mirror) == pickle.loads(pickle.dumps(mirror)) == Mirror.from_ramp([0.4, 0.6], 3)  # noqa: S301
    assert len({mirror, Mirror.from_ramp([0.4, 0.6], 3), Mirror.from_ramp([0.4, 0.6], 2)}) == 2
    assert (
        repr(Mirror(1, 0.1, 2)) == f"Mirror(epsilon=1, delta=0.1, delay=2, length={Mirror(1, 0.1, 2).length})"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        (0.0, 1e-3, 1),
        (-1.0, 1e-3, 1),
        (math.inf, 1e-3, 1),
        (math.nan, 1e-3, 1),
        ("1", 1e-3, 1),
        (1.0, 0.0, 1),
        (1.0, 1.0, 1),
        (1.0, math.nan, 1),
        (1.0, True, 1),
        (1.0, 0.1, -1),
        (1.0, 0.1, 1.5),
        (1.0, 0.1, True),
    ],
)
def test_bad_parameters(arguments):
    with pytest.raises(ParameterError):
        Mirror(*arguments)


@pytest.mark.parametrize(
    "ramp",
    [[], [0.0, 0.5], [0.5, 1.0], [0.5, 0.5], [0.6, 0.4], [math.nan], ["0.5"], [None], 0.5, "0.5", [True]],
)
def test_bad_ramps(ramp):
    with pytest.raises(ParameterError):
        Mirror.from_ramp(ramp, 0)


def test_bad_epsilon_and_delay_of_a_given_ramp():
    with pytest.raises(ParameterError):
        Mirror.from_ramp([0.5], -1)
    with pytest.raises(ParameterError):
        Mirror.from_ramp([0.5], 0, epsilon=-1.0)
    with pytest.raises(ParameterError):
        Mirror.from_ramp([0.5], 0).exact_delta(-0.5)
