"""Whatever is done to a document, its decoder gives back something it can write, or refuses in its own words."""

from __future__ import annotations

import fuzzagents
import fuzzdecoders
import fuzzing
import pytest
from fuzzedits import FILLERS, KINDS, edited
from fuzzing import SECRET
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import state

PLACES = st.integers(0, 1 << 30)
EDITS = st.lists(
    st.tuples(st.sampled_from(KINDS), PLACES, PLACES, st.sampled_from(FILLERS) | st.binary(max_size=8)),
    min_size=1,
    max_size=4,
)
ROUNDS = dict.fromkeys(("stream", "examples", "schedule"), 20)
"""Examples for decoders that are slow under watch: those of logs."""


def seeds():
    return [
        pytest.param(decoder, seed, id=f"{decoder} {number}")
        for decoder in fuzzdecoders.DECODERS
        for number, seed in enumerate(decoder.seeds)
    ]


@pytest.mark.parametrize(("decoder", "seed"), seeds())
def test_a_document_is_read_and_written_again(decoder, seed):
    found = decoder.decode(seed)
    assert found is not None
    written = decoder.encode(found)
    assert decoder.encode(decoder.decode(written)) == written
    fuzzing.check(decoder, seed)


@pytest.mark.parametrize("decoder", fuzzdecoders.DECODERS, ids=str)
def test_an_edited_document_is_read_or_refused(decoder):
    @settings(max_examples=ROUNDS.get(decoder.name.split()[0], 30))
    @given(seed=st.sampled_from(decoder.seeds), edits=EDITS)
    def run(seed, edits):
        for edit in edits:
            seed = edited(seed, edit)
        fuzzing.check(decoder, seed)

    run()


LONG = [filler for filler in FILLERS if len(filler) > 1_000]


@pytest.mark.parametrize("decoder", fuzzdecoders.DECODERS, ids=str)
def test_what_is_very_long_or_very_deep_costs_no_more_than_its_length(decoder):
    middle = len(decoder.seeds[0]) // 2
    for filler in LONG:
        fuzzing.check(decoder, edited(decoder.seeds[0], ("insert", middle, 0, filler)))
        fuzzing.check(decoder, edited(decoder.seeds[0], ("replace", 3, 0, filler)))
        fuzzing.check(decoder, filler)


def test_every_registered_kind_of_state_is_fuzzed():
    assert set(fuzzagents.AGENTS) >= {
        kind for kind in state.kinds() if state._kinds[kind].__module__.startswith("streamlearn.")
    }
    for name in fuzzagents.AGENTS:
        assert fuzzagents.saved(name) == state.dumps(fuzzagents.loaded(name, fuzzagents.saved(name)))


def test_the_secret_is_in_the_documents_that_hold_values():
    """Otherwise that no error shows it would say nothing."""
    for decoder in fuzzdecoders.DECODERS:
        if decoder.discreet and "message" in decoder.name:
            assert any(SECRET.encode() in seed for seed in decoder.seeds)
