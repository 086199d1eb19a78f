"""A search that is led by the lines it reaches, short enough for every run; and that its watch sees what it should."""

from __future__ import annotations

import json
import os

import fuzzagents
import fuzzdecoders
import fuzzing
import pytest
from fuzzedits import edited
from fuzzing import Decoder, EndlessError, check, explore

from streamlearn import state
from streamlearn.errors import ParameterError, PlanError, StreamlearnError

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "60"))
"""Inputs for each decoder; a long run sets more, or calls ``python -m fuzzing``."""
SLOW = ("stream", "examples", "schedule")


@pytest.mark.parametrize("decoder", fuzzdecoders.DECODERS, ids=str)
def test_no_input_on_the_way_to_new_lines_leads_astray(decoder):
    kept, seen = explore(decoder, ROUNDS // 2 if decoder.name.startswith(SLOW) else ROUNDS)
    assert len(kept) > len(decoder.seeds)
    assert seen


def lines_reached(decoder):
    return len(set().union(*(check(decoder, data) for data in decoder.seeds)))


def test_the_search_reaches_lines_that_the_documents_do_not():
    """Of the readers of plans, whose refusals each lie on lines of their own."""
    decoder = next(it for it in fuzzdecoders.DECODERS if it.name == "reporting plan")
    _, seen = explore(decoder, 1_000)
    assert len(seen) > lines_reached(decoder) + 10


def test_the_search_repeats_itself():
    decoder = next(it for it in fuzzdecoders.DECODERS if it.name == "class")
    assert explore(decoder, 50, seed=3) == explore(decoder, 50, seed=3)


SEED = b'{"format":1,"kind":"a","count":3}'


def toy(fault):
    """A decoder that is right, but for what ``fault`` does with some input."""

    def decode(data):
        plain = json.loads(data) if data[:1] == b"{" and len(data) < 200 else None
        if not isinstance(plain, dict):
            raise PlanError("not an object")
        return fault(plain) or plain

    def guarded(data):
        try:
            return decode(data)
        except (ValueError, RecursionError) as error:
            raise error if isinstance(error, StreamlearnError) else PlanError("not JSON") from None

    return Decoder("toy", guarded, lambda it: json.dumps(it).encode(), (SEED,), discreet=True)


def crashes(plain):
    plain["format"] + 1


def quotes(plain):
    if plain.get("format") != 1:
        raise PlanError(f"format is {fuzzing.SECRET}")


def rambles(plain):
    if plain.get("format") != 1:
        error = PlanError("")
        error.__class__ = RamblingError
        raise error


class RamblingError(PlanError):
    def __str__(self):
        return "x" * 10_000


def forgets(plain):
    plain["count"] = repr(plain.get("count"))


def grows(plain):
    if plain.get("format") != 1:
        bytearray(100_000_000)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (crashes, (KeyError, TypeError)),
        (quotes, AssertionError),
        (rambles, AssertionError),
        (forgets, AssertionError),
        (grows, AssertionError),
    ],
)
def test_a_planted_fault_is_found(fault, error):
    with pytest.raises(error) as caught:
        explore(toy(fault), 300)
    assert fault is forgets or "was given" in caught.value.__notes__[0]


def test_a_decoder_without_fault_passes():
    assert explore(toy(lambda _: None), 300)


def test_a_loop_without_end_is_broken_off():
    """Lines are counted in streamlearn alone, so its own reader of states is made to go round."""
    agent = fuzzagents.fresh("SOA")

    def endless(data):
        while True:
            state.loads(data, agent)

    with pytest.raises(EndlessError):
        check(Decoder("endless", endless, bytes, (), steps=5_000), fuzzagents.saved("SOA"))


def test_errors_of_another_kind_are_noticed():
    def decode(_):
        raise ParameterError("no")

    with pytest.raises(AssertionError, match="ParameterError"):
        check(Decoder("other", decode, bytes, (), errors=PlanError), b"")


def test_edits_do_what_their_names_say():
    data = b'{"a":1,"b":"x"}'
    assert edited(data, ("flip", 0, 0, b"")) == b"z" + data[1:]
    assert edited(data, ("cut", 1, 4, b"")) == b'{1,"b":"x"}'
    assert edited(data, ("double", 1, 6, b"")) == b'{"a":1,"a":1,"b":"x"}'
    assert edited(data, ("truncate", 4, 0, b"")) == b'{"a"'
    assert edited(data, ("insert", 5, 0, b"-")) == b'{"a":-1,"b":"x"}'
    assert edited(data, ("splice", 1, 2, b"cdef")) == b"{ef"
    assert edited(data, ("replace", 1, 0, b"[]")) == b'{"a":[],"b":"x"}'
    assert edited(data, ("drop", 1, 0, b"")) == b'{"a":"b":"x"}'
    assert edited(data, ("repeat", 1, 0, b"")) == b'{"a":1,1,"b":"x"}'
    assert edited(data, ("swap", 0, 1, b"")) == b'{1:"a","b":"x"}'
    assert edited(data, ("nudge", 1, 0, b"")) == b'{"a":2,"b":"x"}'
    assert edited(data, ("nudge", 1, 1, b"")) == b'{"a":0,"b":"x"}'
    assert edited(b"", ("replace", 1, 1, b"x")) == b"x"
