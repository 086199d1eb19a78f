"""One pass over a log, from its bytes to whole episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streamlearn.errors import StreamError
from streamlearn.replays import grouped, grouping, tables
from streamlearn.replays.columns import Columns
from streamlearn.replays.grouped import Finished
from streamlearn.replays.grouping import Episodes, Grouper
from streamlearn.replays.rows import Chunk, Id, Reading, Unit
from streamlearn.replays.sources import DamagedError, Source
from streamlearn.replays.tables import Format, Table


class Settings(NamedTuple):
    """What every pass over a log has in common.

    Attributes
    ----------
    source
        Where the log is.
    form
        Its format, None to tell it from the content.
    unit
        What messages call a row's place.
    columns
        The columns used.
    horizon
        The length of every episode, None for that of the first.
    sort
        Whether rows are sorted in memory.
    strict
        Whether malformed rows and episodes of another length are errors.
    """

    source: Source
    form: Format | None
    unit: Unit
    columns: Columns
    horizon: int | None
    sort: bool
    strict: bool


def opened(source: Source, form: Format | None) -> Table:
    """Open a log for one pass.

    Raises
    ------
    StreamError, MissingExtraError
        As :func:`streamlearn.replays.tables.open_table`.
    """
    try:
        return tables.open_table(source, form)
    except DamagedError as damage:
        raise damaged(source, damage, rows=0) from None


def damaged(source: Source, damage: DamagedError, rows: int) -> StreamError:
    """Return the error for compressed bytes that break off after so many rows."""
    return StreamError(f"{source.name}: {damage} after {rows} whole rows; copy or pack it again")


class Pass:
    """One pass over a log.

    Parameters
    ----------
    settings
        What was asked for.

    Attributes
    ----------
    reading
        What it has met so far.
    finished
        What it remembers of episodes that have ended.
    horizon
        The length of every episode, None until it is known.
    """

    def __init__(self, settings: Settings) -> None:
        self.reading = _reading(settings)
        self.finished = Finished(None if settings.source.once else lambda: _ids(settings))
        self.horizon = settings.horizon
        self._settings = settings

    def episodes(self, table: Table) -> Iterator[Episodes]:
        """Yield the whole episodes of an opened log.

        Raises
        ------
        StreamError
            At the first thing that is wrong with the log, after the episodes before.
        """
        try:
            yield from self._grouped(table.chunks(self.reading))
        except DamagedError as damage:
            raise damaged(self._settings.source, damage, self.reading.rows) from None

    def _grouped(self, chunks: Iterator[Chunk]) -> Iterator[Episodes]:
        reading, sort = self.reading, self._settings.sort
        named = self._settings.columns.episode is not None
        if sort:
            chunks = grouping.sort(grouping.placed(chunks, reading) if named else chunks)
        if self.horizon is None:
            self.horizon, chunks = grouping.find_horizon(chunks, reading, shuffled=sort)
        if not named:
            chunks = grouping.number(chunks, self.horizon)
        elif not sort:
            chunks = grouped.checked(grouping.placed(chunks, reading), self.finished, reading)
        return Grouper(reading, self.horizon, leftover=not named).episodes(chunks)


def _reading(settings: Settings) -> Reading:
    return Reading(settings.source.name, settings.unit, settings.columns, strict=settings.strict)


def _ids(settings: Settings) -> Iterator[list[Id]]:
    """Yield the ids of a log that can be read again, chunk by chunk."""
    reading = _reading(settings)
    chunks = opened(settings.source, settings.form).chunks(reading)
    return (ids for _, ids in grouped.begun(grouping.placed(chunks, reading)))
