"""Readers of text logs: from lines to chunks of rows."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from streamlearn.errors import StreamError
from streamlearn.priors.base import Floats
from streamlearn.replays import cells, sources
from streamlearn.replays.cells import Clock, Wrong
from streamlearn.replays.columns import Columns
from streamlearn.replays.rows import (
    NOWHERE,
    UNNAMED,
    Chunk,
    Complaint,
    Complaints,
    Id,
    Reading,
    blame,
    runs_of,
)
from streamlearn.replays.sources import Source, Text

Format = Literal["csv", "jsonl", "parquet"]
Unit = Literal["line", "row"]

_DELIMITERS = ",;\t|"
_SAMPLE = 100  # rows looked at to tell which columns are numbers
_BLOCKS_A_ROW = sources.LINE_LIMIT // sources.BLOCK  # a quoted field may hold line feeds


class Table(Protocol):
    """A log opened for one pass."""

    names: list[str]
    """Its columns."""
    unit: Unit
    """What messages call a row's place."""
    rows: int | None
    """How many rows there are, where the log says so itself."""

    def numeric(self) -> list[str]:
        """Return the columns that look like numbers."""

    def chunks(self, reading: Reading) -> Iterator[Chunk]:
        """Yield the rows; can be asked once."""


def open_table(source: Source, form: Format | None) -> Table:
    """Open a log for one pass, telling its format from its content.

    Parameters
    ----------
    source
        Where it is.
    form
        Its format, None to detect it.

    Raises
    ------
    StreamError
        If it cannot be opened, is empty, has no row, or has no usable header.
    MissingExtraError
        If it is Parquet and pyarrow is not installed.
    """
    is_parquet, stored = sources.unpacked(source)
    if form == "parquet" or (form is None and is_parquet):
        from streamlearn.replays.parquet import ParquetTable  # noqa: PLC0415 - beside pyarrow, an extra

        return ParquetTable(source)
    texts = sources.lines(stored, source.name)
    first = next((block for block in texts if block.text.strip()), None)
    if first is None:
        raise StreamError(f"{source.name} is empty; give a log with at least one row")
    start = first.text.lstrip()[0]
    if form is None and start == "[":
        raise StreamError(f"{source.name} holds a JSON array; write one object a line (JSONL)")
    reader = JsonTable if (form or start) in {"jsonl", "{"} else CsvTable
    return reader(source.name, itertools.chain([first], texts))


class _Records(NamedTuple):
    """Some rows of a CSV file as their cells, each with the number of its last line."""

    rows: list[list[str]]
    lines: list[int]


class _Feed:
    """The lines of a text, one by one, for a reader of rows that may span lines.

    Attributes
    ----------
    begun
        Blocks of text begun since whoever takes the rows set it to 0.
    """

    def __init__(self, log: str, texts: Iterator[Text]) -> None:
        self.begun = 0
        self._log = log
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self._blocks())

    def _blocks(self) -> Iterator[Iterator[str]]:
        for block in self._texts:
            self.begun += 1
            if self.begun > _BLOCKS_A_ROW + 1:
                raise StreamError(
                    f"{self._log}, line {block.line}: no row ends in the {sources.LINE_LIMIT} bytes before; "
                    "close its quotes"
                )
            yield io.StringIO(block.text, newline="\n")


def _rows(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield the rows that are not blank; one that cannot be split has no cell."""
    while True:
        try:
            yield from filter(None, reader)
        except csv.Error:
            yield []
        else:
            return


class CsvTable:
    """Rows of a CSV file whose delimiter is told from its header.

    Parameters
    ----------
    log
        What messages call the log.
    texts
        Its lines; not all blank.

    Raises
    ------
    StreamError
        If the first row is not a header of column names, or is the only one.
    """

    unit: Unit = "line"
    rows: int | None = None

    def __init__(self, log: str, texts: Iterator[Text]) -> None:
        self._log = log
        self._records = self._split(texts)
        header = next(self._records)
        self.names = [name.strip() for name in header.rows[0]]
        self._check_header(header.lines[0])
        sample = next(self._records, None)
        if sample is None:
            raise StreamError(f"{log} has a header and no rows; give a log with at least one row")
        self._sample = sample.rows[:_SAMPLE]
        self._records = itertools.chain([sample], self._records)

    def _check_header(self, line: int) -> None:
        if not self.names:
            raise StreamError(f"{self._log}, line {line}: the header cannot be split; mend its quotes")
        for column, name in enumerate(self.names, start=1):
            if _spells_number(name):  # not shown: without a header it is somebody's value
                raise StreamError(
                    f"{self._log}, line {line}: column {column} has a number for a name; "
                    "begin the file with a header of column names"
                )

    def _split(self, texts: Iterator[Text]) -> Iterator[_Records]:
        """Yield the header, then the rows of about one block of text at a time."""
        first = next(texts)
        feed = _Feed(self._log, itertools.chain([first], texts))
        reader = csv.reader(feed, delimiter=_delimiter(first.text), strict=True, skipinitialspace=True)
        before = first.line - 1
        rows: list[list[str]] = []
        lines: list[int] = []
        try:
            for row in _rows(reader):
                rows.append(row)
                lines.append(before + reader.line_num)
                if feed.begun:
                    feed.begun = 0
                    yield _Records(rows, lines)
                    rows, lines = [], []
        except StreamError:  # from the text; the rows before it are whole
            if rows:
                yield _Records(rows, lines)
            raise
        if rows:
            yield _Records(rows, lines)

    def numeric(self) -> list[str]:
        """Return the columns whose first cells spell numbers, as far as they are not empty."""
        columns = zip(*(row for row in self._sample if len(row) == len(self.names)), strict=True)
        return [
            name
            for name, column in zip(self.names, columns, strict=False)
            if any(column) and all(_spells_number(cell) for cell in column if cell)
        ]

    def chunks(self, reading: Reading) -> Iterator[Chunk]:
        """Yield the rows; can be asked once."""
        places = [None if name is None else self.names.index(name) for name in reading.columns]
        clock = Clock()
        for rows, lines in self._records:
            complaints = self._misshapen(rows)
            columns = [None if at is None else [row[at] for row in rows] for at in places]
            yield _chunk(reading, clock, columns, cells.text_values, lines=lines, complaints=complaints)

    def _misshapen(self, rows: list[list[str]]) -> Complaints:
        """Complain about rows that have not a cell for each column, and empty their cells."""
        width = len(self.names)
        complaints: Complaints = {}
        if set(map(len, rows)) != {width}:
            for place, row in enumerate(rows):
                if len(row) != width:
                    complaints[place] = Complaint(None, _misfit(len(row), width))
                    rows[place] = [""] * width
        return complaints


def _misfit(found: int, width: int) -> str:
    if not found:
        return "cannot be split into fields (its quotes, or a field above 131072 characters)"
    return f"has too {'few' if found < width else 'many'} fields for the header"


def _delimiter(text: str) -> str:
    """Return what separates the names of the header: the most frequent candidate outside quotes."""
    first = next(line for line in text.split("\n") if line.strip())
    header = "".join(first.split('"')[::2])
    return max(_DELIMITERS, key=header.count)


def _spells_number(cell: str) -> bool:
    try:
        cells.text_number(cell)
    except ValueError:
        return False
    return True


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
                yield _chunk(reading, clock, columns, cells.float_values, lines=numbered, complaints={})
            elif any(map(str.strip, lines)):
                yield self._looked_at(reading, clock, first, lines)

    def _looked_at(self, reading: Reading, clock: Clock, first: int, lines: list[str]) -> Chunk:
        """Return a chunk of lines, any of which but not all may be blank or malformed."""
        complaints: Complaints = {}
        rows: list[dict[str, Any]] = []
        written = [(number, line) for number, line in enumerate(lines, start=first) if line.strip()]
        for place, (_, line) in enumerate(written):
            row = _parsed(line)
            if not isinstance(row, dict):
                complaints[place] = Complaint(
                    None, "is malformed JSON" if row is None else "is not a JSON object"
                )
                row = {}
            rows.append(row)
        columns = [None if name is None else [row.get(name) for row in rows] for name in reading.columns]
        numbers = [number for number, _ in written]
        return _chunk(reading, clock, columns, cells.json_values, lines=numbers, complaints=complaints)


def _parsed(line: str) -> object:
    """Return what a line of JSON holds, None if it is malformed; Python's NaN and Infinity are understood."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _are_numbers(column: list[Any]) -> bool:
    held = [cell for cell in column if cell is not None]
    return bool(held) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in held)


def _decoder(columns: Columns) -> Callable[[str], Any] | None:
    """Return what decodes a line into an object with the columns' roles for attributes."""
    kinds = {"value": float, "episode": str | int, "time": int | float | str}
    names = {role: name for role, name in columns._asdict().items() if name is not None}
    try:
        row = msgspec.defstruct("Row", [(role, kinds[role]) for role in names], rename=names)
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


def _chunk(
    reading: Reading,
    clock: Clock,
    columns: Sequence[list[Any] | None],
    numbers: Callable[[list[Any]], tuple[Floats, Wrong]],
    *,
    lines: Sequence[int],
    complaints: Complaints,
) -> Chunk:
    """Return a chunk of rows from the cells of its value, episode and time columns."""
    value, episode, time = columns
    values, wrong = numbers(value or [])
    blame(complaints, "value", wrong)
    runs = UNNAMED
    times = None
    if episode is not None:
        ids, wrong = _ids(episode)
        runs = runs_of(ids)
        blame(complaints, "episode", wrong)
    if time is not None:
        times, wrong = clock.read(time)
        blame(complaints, "time", wrong)
    return reading.chunk(values, times, runs, lines, complaints)


def _ids(column: list[Any]) -> tuple[list[Id], Wrong]:
    """Return the ids in a column, and what is wrong with which; those are nowhere."""
    if set(map(type, column)) <= {str, int} and NOWHERE not in column:
        return column, {}
    ids = [cell if _is_id(cell) else NOWHERE for cell in column]
    return ids, {place: _fault(cell) for place, cell in enumerate(column) if ids[place] == NOWHERE}


def _is_id(cell: object) -> bool:
    return cell != NOWHERE and isinstance(cell, str | int) and not isinstance(cell, bool)


def _fault(cell: object) -> str:
    return "is empty" if cells.is_empty(cell) else "is neither text nor a whole number"
