"""Faults that the search found and that no short mutation finds again."""

from __future__ import annotations

import contextlib

import fuzzagents
import fuzzdecoders
import msgspec
import pytest

from streamlearn.errors import MessageError, ParameterError, StateError
from streamlearn.live import web
from streamlearn.live.predictors import instance

DEEP = b"[" * 10_000


@pytest.mark.parametrize("decode", [fuzzdecoders.stopping, fuzzdecoders.predicting])
def test_a_saved_session_nested_too_deeply_is_refused(decode):
    with pytest.raises(StateError, match="cannot be read"):
        decode(b'{"agent":{"a":' + DEEP)


@pytest.mark.parametrize(
    "address", [":" + "9" * 5_000, "[[:21", "[::1:80", "::1]:80", ":65536", ":", "a:b:80"]
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ParameterError, match="HOST:PORT"):
        web.parse(address)


def test_an_instance_nested_nearly_too_deeply_to_be_read_is_refused():
    for deep in range(1_000, 500, -10):  # the first ones cannot be read, the last ones can be used
        with contextlib.suppress(MessageError):
            instance(fuzzdecoders.read_example(b'{"event_id":"a","x":' + b"[" * deep + b"]" * deep + b"}").x)
    nested = []
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(MessageError, match="x: nested too deeply"):
        instance(nested)


def test_half_a_character_for_a_memo_is_refused():
    agent = fuzzagents.fresh("CandidateReplacementPredictor")
    state = msgspec.json.decode(fuzzagents.saved("CandidateReplacementPredictor"))
    state["body"]["rounds"]["waiting"][0]["memo"] = (
        "\ud800"  # json.loads gives it for the escape, msgspec refuses it
    )
    with pytest.raises(StateError):
        agent.load_state_dict(state)
