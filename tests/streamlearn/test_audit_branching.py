"""The branching key: whatever a mechanism does with its draws is followed with exact chances, or refused."""

from __future__ import annotations

import math
import operator
import pickle
import random
from collections import Counter
from fractions import Fraction

import pytest

from streamlearn import Key, audit
from streamlearn.audit import BranchingKey, law
from streamlearn.errors import ParameterError, SizeError

N = 2**64


def of(run, given=None):
    return law(lambda _, key: run(key), given)


@pytest.mark.parametrize("bar", [0, 1, 12345, 2**63, N - 1, N])
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_every_comparison_has_its_chance(name, bar):
    compare = getattr(operator, name)
    found = of(lambda key: compare(key.uniform64("u", 1), bar))
    below, at = Fraction(bar, N), Fraction(bar < N, N)
    true = {"lt": below, "le": below + at, "gt": 1 - below - at, "ge": 1 - below, "eq": at, "ne": 1 - at}[
        name
    ]
    assert found.get(True, 0) == true
    assert sum(found.values()) == 1
    # The other way round, as Python reflects it.
    assert of(lambda key: compare(bar, key.uniform64("u", 1))).get(True, 0) == {
        "lt": 1 - below - at, "le": 1 - below, "gt": below, "ge": below + at, "eq": at, "ne": 1 - at,
    }[name]  # fmt: skip


def test_a_float_of_a_draw_is_rounded_as_python_rounds_it():
    """u / 2^64 < 3/4 fails where u is so near that it is rounded to 3/4: 257 times in 2^64, and ties."""
    found = of(lambda key: key.uniform64("u", 1) / 2**64 < 0.75)
    first = 3 * 2**62 - 1
    while first / 2**64 >= 0.75:
        first -= 1
    assert found[True] == Fraction(first + 1, N) < Fraction(3, 4)


@pytest.mark.parametrize(
    "run",
    [
        lambda key: key.below(6, "dice", 1),
        lambda key: key.below(600, "dice", 1) // 100,
        lambda key: (key.below(600, "dice", 1) - 100) // 100 + 1,
        lambda key: "abcdef"[key.below(6, "dice", 1)],
        lambda key: key.below(6, "dice", 1) in {0, 2},
        lambda key: min(range(6), key=lambda face: (key.uniform64("lot", face), face)) < 3,
        lambda key: key.uniform64("u", 1) >> 61,
        lambda key: (key.uniform64("u", 1) * 3 + 1) / 2**64 < 1.5,
        lambda key: str(key.uniform64("u", 1) >> 62) + f"{key.below(70, 'v', 1)}",
        lambda key: len("ab" * key.below(3, "u", 1)),
        lambda key: key.bernoulli(1, 3, "u", 1),
        lambda key: (key.bernoulli(1, 3, "u", 1), key.uniform64("u", 1) < 2**63),
        lambda key: key.derive("a").bernoulli(1, 2, "u", 1) is key.derive("b").bernoulli(1, 2, "u", 1),
    ],
)
def test_the_law_is_that_of_real_keys(run):
    """4,000 keys against every outcome's exact chance, 6 deviations: each is off with probability below 1e-8."""
    exact = of(run)
    assert sum(exact.values()) == 1
    seen = Counter(run(Key.from_seed(seed)) for seed in range(4000))
    assert {*seen} <= {*exact}
    for outcome, chance in exact.items():
        p = float(chance)
        assert abs(seen[outcome] - 4000 * p) < 6 * math.sqrt(4000 * p * (1 - p)) + 12


def test_residues_and_low_bits_have_exact_chances():
    found = of(lambda key: key.uniform64("u", 1) % 3)
    assert found == {0: Fraction(N // 3 + 1, N), 1: Fraction(N // 3, N), 2: Fraction(N // 3, N)}
    assert of(lambda key: key.uniform64("u", 1) & 3) == dict.fromkeys(range(4), Fraction(1, 4))
    assert of(lambda key: key.uniform64("u", 1) % 2 == key.uniform64("u", 1) % 2) == {True: 1}


def test_three_lots_may_be_equal():
    found = of(
        lambda key: len({(key.uniform64("a", 1) == key.uniform64("a", 2)), key.uniform64("a", 1) is None})
    )
    assert found == {2: Fraction(1, N), 1: 1 - Fraction(1, N)}

    def order(key):
        one, two, three = (key.uniform64("lot", i) for i in range(3))
        return one < two, two < three, one < three

    found = of(order)
    assert sum(found.values()) == 1
    assert (True, True, False) not in found
    distinct = Fraction(N - 1, N) * Fraction(N - 2, N)
    assert found[True, True, True] == distinct / 6


def test_one_purpose_and_round_is_one_draw_of_whatever_kind():
    assert of(lambda key: key.bernoulli(1, 3, "u", 1)) == {True: Fraction(1, 3), False: Fraction(2, 3)}
    found = of(lambda key: (key.uniform64("u", 1) < N // 4, key.bernoulli(1, 2, "u", 1)))
    assert found == {
        (True, True): Fraction(1, 4),
        (False, True): Fraction(1, 4),
        (False, False): Fraction(1, 2),
    }
    assert of(lambda key: key.uniform64("u", 1) is not key.uniform64("u", "1")) == {True: 1}
    assert of(lambda key: key.uniform64("u", 1) == key.uniform64("u", "1")) == {True: 1}


def test_impossible_branches_are_not_taken():
    key = BranchingKey(bytes(32))
    for _ in key.walk.scripts():
        assert not key.bernoulli(0, 5, "u", 1)
        assert key.bernoulli(5, 5, "u", 2)
        assert key.below(1, "one", 1) == 0
    assert key.walk.chance == 1


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda key: float(key.uniform64("u", 1)) < 0.5, "made a float"),
        (lambda key: math.log(key.uniform64("u", 1) + 1) < 3, "made a float"),
        (lambda key: hash(key.uniform64("u", 1)), "used digit by digit"),
        (lambda key: f"{key.uniform64('u', 1)}", "used digit by digit"),
        (lambda key: [0][key.uniform64("u", 1)], "used digit by digit"),
        (lambda key: key.uniform64("u", 1) % 10**6 < 5, "reduced by a modulus"),
        (lambda key: key.uniform64("u", 1) & 6, "masked by something else"),
        (lambda key: key.uniform64("u", 1) * -1 < -5, "scaled by what is no positive number"),
        (lambda key: key.uniform64("u", 1) + key.uniform64("v", 1) < 5, "added to another"),
        (lambda key: (key.uniform64("u", 1) + 1) < key.uniform64("v", 1), "after arithmetic"),
        (
            lambda key: (key.uniform64("u", 1) < 5, key.uniform64("u", 1) < key.uniform64("v", 1)),
            "compared with a",
        ),
        (
            lambda key: (key.uniform64("u", 1) < key.uniform64("v", 1), key.uniform64("u", 1) < 5),
            "with a number",
        ),
        (lambda key: (key.below(100, "u", 1) < 5, key.below(99, "u", 1) < 5), "two different bounds"),
        (lambda key: Key(key.secret).uniform64("u", 1) < 5, "reads the secret of its key"),
        (lambda key: pickle.loads(pickle.dumps(key)), "copied by pickle"),  # noqa: S301
        (lambda key: random.random(), "draws from elsewhere"),  # noqa: ARG005
        (lambda key: next(COUNT), "draws from elsewhere"),  # noqa: ARG005
    ],
)
def test_what_cannot_be_followed_is_refused(run, message):
    with pytest.raises(ParameterError, match=f"cannot be audited exactly: .*{message}"):
        of(run)


COUNT = iter(range(10**9))


def test_a_refusal_that_the_mechanism_catches_is_still_one():
    def careful(key):
        try:
            return float(key.uniform64("u", 1))
        except ValueError:
            return 0.5

    with pytest.raises(ParameterError, match="made a float"):
        of(careful)


def test_an_error_of_the_mechanism_is_its_own():
    with pytest.raises(ZeroDivisionError):
        of(lambda key: 1 // (key.below(2, "u", 1)))


def test_too_many_outcomes_are_refused(monkeypatch):
    monkeypatch.setattr("streamlearn.audit.branching.MOST_PATHS", 100)
    with pytest.raises(SizeError, match="more than 100 outcomes"):
        of(lambda key: [key.uniform64("u", i) < 2**63 for i in range(7)] and 0)


def test_a_chance_that_is_none_is_refused():
    with pytest.raises(ParameterError, match=r"must lie in 0..1"):
        of(lambda key: key.bernoulli(3, 2, "u", 1))


def test_a_mechanism_needs_two_inputs():
    with pytest.raises(ParameterError, match="inputs must be two or more, got 1"):
        audit.exact_mechanism(lambda bit, key: bit, [0], epsilon=1.0)  # noqa: ARG005


def test_floats_at_large_epsilon_break_without_bound():
    """The reason for integers: a random() of 53 bits is always below 1 / (1 + e^-40), which is 1.0."""

    def floating(bit, key):
        random53 = (key.uniform64("u", 1) >> 11) / 2**53
        return bit if random53 < 1.0 / (1.0 + math.exp(-epsilon)) else 1 - bit

    for epsilon, bound in ((1.0, 1.0), (40.0, math.inf)):
        report = audit.exact_mechanism(floating, [0, 1], epsilon=epsilon)
        assert report.refuted  # at ε = 1 in the sixteenth digit
        assert report.bound == pytest.approx(bound)
