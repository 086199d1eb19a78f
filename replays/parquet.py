"""Reader of Parquet logs, in the columns they are stored in. Needs the extra "parquet"."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from streamlearn.errors import MissingExtraError, StreamError
from streamlearn.priors.base import Floats
from streamlearn.replays import cells
from streamlearn.replays.cells import Clock, Instants, Wrong
from streamlearn.replays.columns import Columns, shown
from streamlearn.replays.rows import (
    NOWHERE,
    UNNAMED,
    Chunk,
    Complaints,
    Reading,
    Record,
    Runs,
    Unit,
    blame,
    runs_of,
)
from streamlearn.replays.sources import Source

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError:
    raise MissingExtraError(
        'reading Parquet needs pyarrow; install it with pip install "streamlearn[parquet]"'
    ) from None

_ROWS = 1 << 16  # read at once


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file, and say in one voice whatever is wrong with its bytes."""
    try:
        # Buffering ahead would keep every column read so far until the file is closed.
        with pq.ParquetFile(source.path, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise StreamError(
            f"{source.name}: truncated or corrupt Parquet, or not Parquet at all; copy or write it again"
        ) from None


class ParquetTable:
    """Rows of a Parquet file.

    Parameters
    ----------
    source
        Where it is: a file that can be read again and again.

    Attributes
    ----------
    rows
        How many there are, by the file's own account.

    Raises
    ------
    StreamError
        If it is no whole Parquet file, has no row, or comes through a pipe.
    """

    unit: Unit = "row"

    def __init__(self, source: Source) -> None:
        if source.once:
            raise StreamError(f"{source.name}: Parquet is read from its end; save it to a file and give that")
        self._source = source
        with _opened(source) as file:
            self._schema = file.schema_arrow
            self.rows: int | None = file.metadata.num_rows
        self.names: list[str] = self._schema.names
        if not self.rows:
            raise StreamError(f"{source.name} has columns and no rows; give a log with at least one row")

    def numeric(self) -> list[str]:
        """Return the columns whose type is a number."""
        return [field.name for field in self._schema if _is_number(field.type)]

    def chunks(self, reading: Reading) -> Iterator[Chunk]:
        """Yield the rows; can be asked once."""
        columns = reading.columns
        self._check_types(columns)
        names = [name for name in columns if name is not None]
        clock = Clock()
        first = 1
        with _opened(self._source) as file:
            for batch in file.iter_batches(batch_size=_ROWS, columns=names):
                if not batch.num_rows:
                    continue
                complaints: Complaints = {}
                values, wrong = _values(batch.column(columns.value))
                blame(complaints, "value", wrong)
                runs, times = UNNAMED, None
                if columns.episode is not None:
                    runs, wrong = _runs(batch.column(columns.episode))
                    blame(complaints, "episode", wrong)
                if columns.time is not None:
                    times, wrong = _times(batch.column(columns.time), clock)
                    blame(complaints, "time", wrong)
                lines = range(first, first + batch.num_rows)
                first += batch.num_rows
                yield reading.chunk(values, times, runs, lines, complaints)

    def records(self) -> Iterator[Record]:
        """Yield the rows with all their cells; can be asked instead."""
        first = 1
        with _opened(self._source) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for line, row in enumerate(batch.to_pylist(), start=first):
                    yield Record(line, row, None)
                first += batch.num_rows

    def _check_types(self, columns: Columns) -> None:
        value, episode, time = (name and _plain(self._schema.field(name).type) for name in columns)
        if not _is_number(value):
            raise self._misused(columns.value, value, "numbers", "value=, --value")
        if episode and pa.types.is_nested(episode):
            raise self._misused(columns.episode, episode, "ids", "episode=, --episode")
        if time and not (_is_number(time) or _is_text(time) or _is_date(time)):
            raise self._misused(columns.time, time, "times", "time=, --time, an empty name for none")

    def _misused(self, name: str | None, kind: pa.DataType, needed: str, option: str) -> StreamError:
        return StreamError(
            f"{self._source.name}: column {shown(name)} holds {shown(str(kind))}, not {needed}; "
            f"name another ({option})"
        )


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column once its dictionary is looked up."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _looked_up(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_number(kind: pa.DataType) -> bool:
    kind = _plain(kind)
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_date(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _nulls(column: pa.Array) -> Wrong:
    if not column.null_count:
        return {}
    return dict.fromkeys(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist(), "is empty")


def _values(column: pa.Array) -> tuple[Floats, Wrong]:
    numbers = _looked_up(column).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    floats = np.array(numbers, dtype=np.float64)  # a copy, for arrow's own memory may not be written to
    return floats, cells.unusable(floats) | _nulls(column)


def _runs(column: pa.Array) -> tuple[Runs, Wrong]:
    column = _looked_up(column)
    whole = pa.types.is_integer(column.type)
    if not (whole or _is_text(column.type)):
        column = column.cast(pa.string())
    if column.null_count:
        runs = runs_of([NOWHERE if known is None else known for known in column.to_pylist()])
    else:
        runs = (_runs_of_integers if whole else _runs_of_text)(column)
    if NOWHERE not in runs.ids:
        return runs, {}
    owners = np.repeat(np.array(runs.ids, dtype=object), np.diff(runs.starts, append=len(column)))
    return runs, dict.fromkeys(np.flatnonzero(owners == NOWHERE).tolist(), "is empty")


def _runs_of_integers(column: pa.Array) -> Runs:
    keys = column.to_numpy()
    starts = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))
    return Runs(keys[starts].tolist(), starts)


def _runs_of_text(column: pa.Array) -> Runs:
    encoded = pc.run_end_encode(column)
    ends = encoded.run_ends.to_numpy().astype(np.intp)
    return Runs(encoded.values.to_numpy(zero_copy_only=False).tolist(), np.concatenate(([0], ends[:-1])))


def _times(column: pa.Array, clock: Clock) -> tuple[Instants, Wrong]:
    column = _looked_up(column)
    wrong = _nulls(column)
    if _is_text(column.type):
        return clock.read(column.to_pylist())
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        return column.fill_null(0).to_numpy().astype(np.int64), wrong
    if _is_date(column.type):
        return column.to_numpy(zero_copy_only=False).astype(np.int64), wrong
    times = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    unknown = np.isnan(times)
    return np.where(unknown, 0.0, times), dict.fromkeys(np.flatnonzero(unknown).tolist(), "is NaN") | wrong
