"""Entries of Redis Streams: their ids as places, and what they hold as messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamlearn.errors import ParameterError
from streamlearn.live.messages import Message, Position

_ENTRY: Final = re.compile(r"[0-9]{1,20}(-[0-9]{1,20})?")


def entry_of_begin(begin: str) -> str:
    """Return where to begin, as Redis writes it.

    Raises
    ------
    ParameterError
        If it is neither ``"beginning"`` nor ``"end"`` nor the id of an entry.
    """
    if begin in {"beginning", "end"}:
        return "0-0" if begin == "beginning" else "$"
    if _ENTRY.fullmatch(begin):
        place = position_of(begin.encode())
        if max(place) < 1 << 64:
            return entry_at(place)
    raise ParameterError(
        "begin must be 'beginning', 'end' or the id of an entry, two numbers below 2^64 such as 1700000000000-0; "
        f"got {begin!r}"
    )


def position_of(entry: bytes) -> Position:
    """Return the place of an entry by its id."""
    milliseconds, _, number = entry.partition(b"-")
    return int(milliseconds), int(number or 0)


def entry_at(position: Position) -> str:
    """Return the id of the entry at a place."""
    return f"{position[0]}-{position[1]}"


def place_before(position: Position) -> Position:
    """Return the place just before an entry."""
    milliseconds, number = position
    return (milliseconds, number - 1) if number else (milliseconds - 1, 2**64 - 1)


def removed(info: Mapping[str, Any]) -> int:
    """Return how many entries of a stream are gone, by what the server says of it; 0 where it does not say."""
    return int(info["entries-added"] - info["length"]) if "entries-added" in info else 0


def messages_of(stream: str, entries: Iterable[tuple[bytes, Any]], *, ordered: bool) -> list[Message]:
    """Return entries as messages; one that holds none, or was deleted meanwhile, is an empty one."""
    found = []
    for entry, fields in entries:
        held = fields or {}
        key = held.get(b"key")
        name = None if key is None else key.decode(errors="surrogateescape")  # what is no UTF-8 is said later
        found.append(Message(stream, position_of(entry), held.get(b"data", b""), name, ordered))
    return found


def milliseconds(seconds: float) -> int:
    """Return a time as Redis takes it; 0 would be for ever."""
    return max(1, round(seconds * 1000))
