"""Hostile inputs for decoders, a watch on what decoders do with them, and a search that keeps what reaches new lines.

A longer search than the tests': ``PYTHONPATH=tests/support python -m fuzzing --rounds 100000 [--only NAME]``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuzzedits import FILLERS, KINDS, edited

from streamlearn.errors import StreamlearnError

SECRET = "31415926535897"  # noqa: S105 - no password
"""Stands where a private value stands, as a number and within texts: no error may show it."""
MOST_LETTERS = 2_000
STEPS, STEPS_A_BYTE = 200_000, 40
BYTES, BYTES_A_BYTE = 8_000_000, 120


@dataclass(frozen=True)
class Decoder:
    """What reads, what writes what was read, and documents that can be read.

    ``decode`` returns None where there is nothing to write; ``discreet`` says that no error may quote anything read.
    """

    name: str
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    seeds: tuple[bytes, ...]
    errors: type[StreamlearnError] = StreamlearnError
    discreet: bool = False
    steps: int = STEPS
    bytes: int = BYTES

    def __repr__(self) -> str:
        return self.name


class EndlessError(BaseException):
    """More lines were run than the bound. Nothing but the test catches it."""


Lines = set[tuple[int, int]]


def watched(call: Callable[[], Any], most: int) -> tuple[Any, Lines]:
    """Call, and return what came and which lines of streamlearn ran; after ``most`` lines it is broken off."""
    lines: Lines = set()
    count = 0

    def line(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise EndlessError(f"more than {most} lines")
            lines.add((id(frame.f_code), frame.f_lineno))
        return line

    def call_of(frame: Any, _event: str, _: Any) -> Any:
        return line if frame.f_globals.get("__name__", "").startswith("streamlearn") else None

    before = sys.gettrace()
    sys.settrace(call_of)
    try:
        return call(), lines
    except StreamlearnError as error:
        return error, lines
    finally:
        sys.settrace(before)


def check(decoder: Decoder, data: bytes, *, secret: bool = False) -> Lines:
    """Hold a decoder to its promises on one input, and return the lines that it ran.

    ``secret`` says that the input has :data:`SECRET` where a private value stands, and nowhere else.
    """
    tracemalloc.start()
    try:
        found, lines = watched(lambda: decoder.decode(data), decoder.steps + STEPS_A_BYTE * len(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= decoder.bytes + BYTES_A_BYTE * len(data), f"{decoder}: {peak} bytes for {len(data)}"
    if isinstance(found, Exception):
        text = str(found)
        assert isinstance(found, decoder.errors), f"{decoder}: {type(found)} {text[:200]}"
        assert len(text) <= MOST_LETTERS, f"{decoder}: {text[:200]}"
        assert not (secret or decoder.discreet) or SECRET not in text, f"{decoder}: {text}"
    elif found is not None:
        written = decoder.encode(found)
        assert decoder.encode(decoder.decode(written)) == written, f"{decoder}: {written[:200]!r}"
    return lines


def explore(decoder: Decoder, rounds: int, seed: int = 1) -> tuple[list[bytes], Lines]:
    """Edit inputs for some rounds, keep those that reach new lines; return them and all lines that were reached."""
    draw = random.Random(seed)
    kept = list(decoder.seeds)
    seen: Lines = set().union(*(check(decoder, data) for data in kept))
    for _ in range(rounds):
        data = draw.choice(kept)
        for _ in range(draw.choice((1, 1, 2, 4))):
            filler = draw.choice(kept) if draw.random() < 0.1 else draw.choice(FILLERS)
            data = edited(
                data, (draw.choice(KINDS), draw.randrange(1 << 30), draw.randrange(1 << 30), filler)
            )
        try:
            lines = check(decoder, data)
        except BaseException as fault:
            fault.add_note(f"{decoder} was given {data[:2000]!r} ({len(data)} bytes)")
            raise
        if not lines <= seen and len(data) < 100_000:
            kept.append(data)
        seen |= lines
    return kept, seen


def main() -> None:
    """Search for longer than the tests do."""
    from fuzzdecoders import DECODERS

    parser = argparse.ArgumentParser(description="Search for inputs that lead a decoder astray.")
    parser.add_argument("--rounds", type=int, default=10_000, help="Inputs for each decoder.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="Decoders whose name holds this.")
    asked = parser.parse_args()
    for decoder in (it for it in DECODERS if asked.only in it.name):
        kept, seen = explore(decoder, asked.rounds, asked.seed)
        sys.stdout.write(f"{decoder}: {len(seen)} lines reached, {len(kept)} inputs kept\n")


if __name__ == "__main__":
    from fuzzing import main as run  # one copy of the classes, that which the decoders are made of

    run()
