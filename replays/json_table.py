"""Reader of JSONL logs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from streamlearn.errors import StreamError
from streamlearn.replays import cells
from streamlearn.replays.cells import Clock
from streamlearn.replays.columns import Columns
from streamlearn.replays.rows import (
    Chunk,
    Complaint,
    Complaints,
    Reading,
    Record,
    Unit,
    chunk_of_cells,
)
from streamlearn.replays.sources import Text

_SAMPLE = 100  # objects looked at to tell which columns are numbers


class JsonTable:
    """Rows of a JSONL file: one object a line, its columns told from the first.

    Parameters
    ----------
    log
        What messages call the log.
    texts
        Its lines; not all blank.

    Raises
    ------
    StreamError
        If there is no object among the first lines.
    """

    unit: Unit = "line"
    rows: int | None = None

    def __init__(self, log: str, texts: Iterator[Text]) -> None:
        first = next(texts)
        self._texts = itertools.chain([first], texts)
        lines = itertools.islice(filter(str.strip, first.text.split("\n")), _SAMPLE)
        self._sample = [row for row in map(_parsed, lines) if isinstance(row, dict)]
        if not self._sample:
            raise StreamError(f"{log}: no JSON object in its first lines; write one object a line")
        self.names = list(self._sample[0])

    def numeric(self) -> list[str]:
        """Return the columns that hold numbers in the first objects, as far as they hold anything."""
        return [name for name in self.names if _are_numbers([row.get(name) for row in self._sample])]

    def chunks(self, reading: Reading) -> Iterator[Chunk]:
        """Yield the rows; can be asked once."""
        decode = _decoder(reading.columns)
        clock = Clock()
        for first, text in self._texts:
            lines = text.removesuffix("\n").split("\n")
            columns = _decoded(decode, lines, reading.columns)
            if columns is not None:
                numbered = range(first, first + len(lines))
                yield chunk_of_cells(
                    reading, clock, columns, cells.float_values, lines=numbered, complaints={}
                )
            elif any(map(str.strip, lines)):
                yield self._looked_at(reading, clock, first, lines)

    def records(self) -> Iterator[Record]:
        """Yield the objects with all their members; can be asked instead."""
        for first, text in self._texts:
            for number, line in enumerate(text.removesuffix("\n").split("\n"), start=first):
                if line.strip():
                    row = _parsed(line)
                    fault = None if isinstance(row, dict) else _misfit(row)
                    yield Record(number, row if isinstance(row, dict) else {}, fault)

    def _looked_at(self, reading: Reading, clock: Clock, first: int, lines: list[str]) -> Chunk:
        """Return a chunk of lines, any of which but not all may be blank or malformed."""
        complaints: Complaints = {}
        rows: list[dict[str, Any]] = []
        written = [(number, line) for number, line in enumerate(lines, start=first) if line.strip()]
        for place, (_, line) in enumerate(written):
            row = _parsed(line)
            if not isinstance(row, dict):
                complaints[place] = Complaint(None, _misfit(row))
                row = {}
            rows.append(row)
        columns = [None if name is None else [row.get(name) for row in rows] for name in reading.columns]
        numbers = [number for number, _ in written]
        return chunk_of_cells(
            reading, clock, columns, cells.json_values, lines=numbers, complaints=complaints
        )


def _parsed(line: str) -> object:
    """Return what a line of JSON holds, None if it is malformed; Python's NaN and Infinity are understood."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _misfit(row: object) -> str:
    return "is malformed JSON" if row is None else "is not a JSON object"


def _are_numbers(column: list[Any]) -> bool:
    held = [cell for cell in column if cell is not None]
    return bool(held) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in held)


def _decoder(columns: Columns) -> Callable[[str], Any] | None:
    """Return what decodes a line into an object with the columns' roles for attributes."""
    kinds = {"value": float, "episode": str | int, "time": int | float | str}
    names = {role: name for role, name in columns._asdict().items() if name is not None}
    try:
        row = msgspec.defstruct("Row", [(role, kinds[role]) for role in names], rename=names, gc=False)
    except ValueError:  # a name with quotes or control characters
        return None
    return msgspec.json.Decoder(row).decode


def _decoded(
    decode: Callable[[str], Any] | None, lines: list[str], columns: Columns
) -> list[list[Any] | None] | None:
    """Return the cells of the columns, or None if a line is blank, malformed or needs a slower look."""
    if decode is None:
        return None
    try:
        rows = [decode(line) for line in lines]
    except (msgspec.MsgspecError, RecursionError):
        return None
    return [
        None if name is None else [getattr(row, role) for row in rows]
        for role, name in columns._asdict().items()
    ]
