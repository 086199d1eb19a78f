"""Draws depend on the key, the purpose and the round, and on nothing else."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Key
from streamlearn.errors import ParameterError

names = st.text(st.characters(exclude_categories=["Cs"]))
rounds = st.integers() | names


@given(st.binary(min_size=32, max_size=32), names, rounds)
def test_a_draw_is_keyed_blake2b_of_length_purpose_and_round(secret, purpose, number):
    name = purpose.encode()
    message = str(len(name)).encode() + b":" + name + b":" + str(number).encode()
    expected = hashlib.blake2b(message, key=secret, digest_size=8).digest()
    assert Key(secret).uniform64(purpose, number) == int.from_bytes(expected, "big")


def test_a_draw_never_changes():
    # Written down once: a saved key must give the same bits in every later version.
    assert Key.from_seed(7).uniform64("report", 1) == 15755225197274065055
    assert Key.from_seed(7).derive("alice").uniform64("report", 1) == 617761439048721892


@given(st.lists(st.tuples(names, names), min_size=2, max_size=2, unique=True))
def test_different_purposes_or_rounds_never_share_a_draw(pairs):
    # Shared input would share the draw for certain; distinct inputs collide with probability 2^-64.
    assert len({Key.from_seed(1).uniform64(*pair) for pair in pairs}) == 2


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("a", "b:c"), ("a:b", "c")),
        (("1:a", "b"), ("1", "a:b")),
        (("", ":"), (":", "")),
        (("a", ""), ("", "a")),
    ],
)
def test_no_spelling_slides_from_the_purpose_into_the_round(one, two):
    assert Key.from_seed(1).uniform64(*one) != Key.from_seed(1).uniform64(*two)


def test_asking_in_another_order_changes_nothing():
    key = Key.from_seed(3)
    forth = [key.uniform64("coin", i) for i in range(50)]
    back = [key.uniform64("coin", i) for i in reversed(range(50))]
    assert forth == back[::-1]
    assert len(set(forth)) == 50


def test_draws_are_uniform_on_64_bits():
    # Each of 64 bit positions over 10 000 draws is Binomial(10 000, 1/2). |count - 5000| > 350 has
    # probability at most 2·exp(-2·350²/10 000) < 5e-11 (Hoeffding), 64 times that < 1e-6. The key is fixed.
    key = Key.from_seed(11)
    draws = [key.uniform64("uniform", i) for i in range(10_000)]
    assert all(0 <= draw < 2**64 for draw in draws)
    for position in range(64):
        assert abs(sum(draw >> position & 1 for draw in draws) - 5000) <= 350
    # Neighbouring rounds and other keys: agreement of top bits is Binomial(·, 1/2) too.
    other = Key.from_seed(12)
    again = [other.uniform64("uniform", i) for i in range(10_000)]
    for one, two in ((draws, draws[1:]), (draws, again)):
        agreement = sum(a >> 63 == b >> 63 for a, b in zip(one, two, strict=False))
        assert abs(agreement - 5000) <= 350


def test_keys_for_parts_are_independent_of_the_root_and_of_each_other():
    root = Key.from_seed(1)
    keys = [
        root,
        root.derive("alice"),
        root.derive("bob"),
        root.derive("alice").derive("bob"),
        root.derive(""),
    ]
    assert len({key.secret for key in keys}) == 5
    assert len({key.uniform64("x", 1) for key in keys}) == 5
    assert root.derive("alice") == Key.from_seed(1).derive("alice")


def test_generated_keys_differ_and_have_all_their_bytes():
    keys = {Key.generate().secret for _ in range(20)}
    assert len(keys) == 20
    assert {len(secret) for secret in keys} == {32}


def test_seeds_give_reproducible_keys():
    assert Key.from_seed(5) == Key.from_seed(5)
    assert len({Key.from_seed(seed).secret for seed in (0, 1, -1, 10**30)}) == 4


@pytest.mark.parametrize("secret", [b"", b"short", bytes(31), bytes(33), "x" * 32, bytearray(32), None, 32])
def test_a_secret_is_32_bytes(secret):
    with pytest.raises(ParameterError, match="secret must be exactly 32 bytes") as caught:
        Key(secret)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("seed", [1.0, "1", None, True, math.nan])
def test_a_seed_is_an_integer(seed):
    with pytest.raises(ParameterError, match="seed must be an integer"):
        Key.from_seed(seed)


def test_a_key_is_a_value_that_does_not_show_itself():
    key = Key.from_seed(9)
    assert repr(key) == str(key) == "Key(<secret>)"
    assert key == Key(key.secret)
    assert key != Key.from_seed(10)
    assert key != key.secret
    assert hash(key) == hash(Key(key.secret))
    for twin in (copy.copy(key), copy.deepcopy(key), pickle.loads(pickle.dumps(key))):  # noqa: S301 - made here
        assert twin == key
        assert twin.uniform64("x", 1) == key.uniform64("x", 1)
