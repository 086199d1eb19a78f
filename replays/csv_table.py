"""Reader of CSV logs."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from streamlearn.errors import StreamError
from streamlearn.replays import cells, sources
from streamlearn.replays.cells import Clock
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

_DELIMITERS = ",;\t|"
_SAMPLE = 100  # rows looked at to tell which columns are numbers
_BLOCKS_A_ROW = sources.LINE_LIMIT // sources.BLOCK  # a quoted field may hold line feeds


class _Records(NamedTuple):
    """Some rows of a CSV file: the cells of the columns read, where each row ends, and what is wrong with it."""

    columns: list[list[str] | None]
    lines: list[int]
    complaints: Complaints


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


class _Reader(Protocol):
    """What :func:`csv.reader` returns."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]:
        """Iterate over the rows."""

    def __next__(self) -> list[str]:
        """Return the next row."""


def _rows(reader: _Reader) -> Iterator[list[str]]:
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
        first = next(texts)
        self._log = log
        self._delimiter = _delimiter(first.text)
        self._before = first.line - 1  # lines
        text = first.text
        blocks = [first]
        self._sample = self._sampled(text)
        while len(self._sample) < 2 and len(text) < sources.LINE_LIMIT and (block := next(texts, None)):
            blocks.append(block)
            text += block.text
            self._sample = self._sampled(text)
        self._texts = itertools.chain(blocks, texts)
        self.names = [name.strip() for name in self._sample.pop(0)]
        self._check_header()
        if not self._sample:
            raise StreamError(f"{log} has a header and no rows; give a log with at least one row")

    def _reader(self, lines: Iterable[str]) -> _Reader:
        return csv.reader(lines, delimiter=self._delimiter, strict=True, skipinitialspace=True)

    def _sampled(self, text: str) -> list[list[str]]:
        """Return the header and the first rows."""
        return list(itertools.islice(_rows(self._reader(io.StringIO(text, newline="\n"))), 1 + _SAMPLE))

    def _check_header(self) -> None:
        if not self.names:
            raise StreamError(f"{self._log}, header: it cannot be split into names; mend its quotes")
        for column, name in enumerate(self.names, start=1):
            if _spells_number(name):  # not shown: without a header it is somebody's value
                raise StreamError(
                    f"{self._log}, header: column {column} has a number for a name; "
                    "begin the file with a header of column names"
                )

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
        for columns, lines, complaints in self._records(places):
            yield chunk_of_cells(
                reading, clock, columns, cells.text_values, lines=lines, complaints=complaints
            )

    def records(self) -> Iterator[Record]:
        """Yield the rows with all their cells, as text; can be asked instead."""
        for columns, lines, complaints in self._records(list(range(len(self.names)))):
            rows = zip(*(column or [] for column in columns), strict=True)
            for place, (line, row) in enumerate(zip(lines, rows, strict=True)):
                fault = complaints[place].reason if place in complaints else None
                yield Record(line, dict(zip(self.names, row, strict=True)), fault)

    def _records(self, places: list[int | None]) -> Iterator[_Records]:
        """Yield the cells in the columns at ``places``, of the rows of about one block of text at a time.

        Rows are taken apart as they come: to hold many makes Python's garbage collector go through them.
        """
        width = len(self.names)
        blank = [""] * width
        feed = _Feed(self._log, self._texts)
        reader = self._reader(feed)
        rows = _rows(reader)
        next(rows)  # the header
        feed.begun = 0
        records, wanted = _emptied(places)
        try:
            for row in rows:
                filled = row
                if len(row) != width:
                    records.complaints[len(records.lines)] = Complaint(None, _misfit(len(row), width))
                    filled = blank
                for take, at in wanted:
                    take(filled[at])
                records.lines.append(self._before + reader.line_num)
                if feed.begun:
                    feed.begun = 0
                    yield records
                    records, wanted = _emptied(places)
        except StreamError:  # from the text; the rows before it are whole
            if records.lines:
                yield records
            raise
        if records.lines:
            yield records


def _emptied(places: list[int | None]) -> tuple[_Records, list[tuple[Callable[[str], None], int]]]:
    """Return records without a row, and for each column read what takes its next cell and where that is."""
    columns: list[list[str] | None] = [None if at is None else [] for at in places]
    wanted = [
        (column.append, at)
        for column, at in zip(columns, places, strict=True)
        if column is not None and at is not None
    ]
    return _Records(columns, [], {}), wanted


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
