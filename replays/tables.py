"""A log opened for one pass, whatever its format."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, Protocol

from streamlearn.errors import StreamError
from streamlearn.replays import sources
from streamlearn.replays.csv_table import CsvTable
from streamlearn.replays.json_table import JsonTable
from streamlearn.replays.rows import Chunk, Reading, Record, Unit
from streamlearn.replays.sources import Source

Format = Literal["csv", "jsonl", "parquet"]


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
        """Yield the rows in columns; can be asked once."""

    def records(self) -> Iterator[Record]:
        """Yield the rows one by one, with all their cells; can be asked instead."""


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
