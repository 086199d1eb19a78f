"""Entries of Redis Streams: their ids as places, and what they hold as messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from streamlearn.errors import ParameterError
from streamlearn.live.messages import Message, Position


def entry_of_begin(begin: str) -> str:
    """Return where to begin, as Redis writes it.

    Raises
    ------
    ParameterError
        If it is neither ``"beginning"`` nor ``"end"`` nor the id of an entry.
    """
    if begin in {"beginning", "end"}:
        return "0-0" if begin == "beginning" else "$"
    with contextlib.suppress(ValueError):
        return entry_at(position_of(begin.encode()))
    raise ParameterError(
        f"begin must be 'beginning', 'end' or the id of an entry, such as 1700000000000-0; got {begin!r}"
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


def messages_of(stream: str, entries: Iterable[tuple[bytes, Any]], *, ordered: bool) -> list[Message]:
    """Return entries as messages; one that holds none, or was deleted meanwhile, is an empty one."""
    found = []
    for entry, fields in entries:
        held = fields or {}
        key = held.get(b"key")
        name = None
        if key is not None:
            with contextlib.suppress(UnicodeDecodeError):  # two names that are none must not become one
                name = key.decode()
        found.append(Message(stream, position_of(entry), held.get(b"data", b""), name, ordered))
    return found


def milliseconds(seconds: float) -> int:
    """Return a time as Redis takes it; 0 would be for ever."""
    return max(1, round(seconds * 1000))
