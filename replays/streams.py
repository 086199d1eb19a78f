"""Recorded streams: a log of values, read episode by episode."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import msgspec

from streamlearn.errors import ParameterError, StreamError
from streamlearn.priors.base import Floats
from streamlearn.replays import columns, sources
from streamlearn.replays.columns import Columns, shown
from streamlearn.replays.passes import Pass, Settings, opened
from streamlearn.replays.rows import Id
from streamlearn.replays.tables import Format, Table

OnError = Literal["strict", "skip"]


class Episode(msgspec.Struct, frozen=True, eq=False):
    """One stopping problem: the people in the order of their arrival.

    Parameters
    ----------
    id
        Its id in the log, or its number from 0 where the log has none.
    values
        The people's values, shape (n,). They are private, and the repr does not show them.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays import Episode
    >>> Episode("a17", np.array([3.0, 1.5]))
    Episode(id='a17', people=2)
    """

    id: Id
    values: Floats

    def __repr__(self) -> str:
        return f"Episode(id={shown(self.id)}, people={len(self.values)})"


class EpisodeBatch(msgspec.Struct, frozen=True, eq=False):
    """Consecutive episodes in columns.

    Parameters
    ----------
    ids
        Their ids, length k.
    values
        The people's values, shape (k, n). They are private, and the repr does not show them.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.streams import EpisodeBatch
    >>> EpisodeBatch(["a17", "a18"], np.array([[3.0, 1.5], [2.0, 0.0]]))
    EpisodeBatch(episodes=2, people=2)
    """

    ids: list[Id]
    values: Floats

    @property
    def episodes(self) -> int:
        """The number of episodes, k."""
        return len(self.ids)

    def __repr__(self) -> str:
        return f"EpisodeBatch(episodes={len(self.values)}, people={self.values.shape[1]})"


def read_stream(
    source: str | Path,
    *,
    value: str | None = None,
    episode: str | None = None,
    time: str | None = None,
    horizon: int | None = None,
    sort: bool = False,
    on_error: OnError = "strict",
    format: Format | None = None,  # noqa: A002 - the word a user looks for
) -> RecordedStream:
    r"""Open a log of private values as a stream of episodes.

    Parameters
    ----------
    source
        A path, or ``"-"`` for standard input. CSV (the delimiter is told from the header: comma,
        semicolon, tab or bar) and JSONL (one object a line), both also gzipped, or Parquet (a file, with
        the extra "parquet"). What it is, is told from its first bytes.
    value
        Column of the private value. Detected: a column called value, bid, price, score, valuation, amount
        or wage, or else the only column of numbers that is not used otherwise.
    episode
        Column of the stopping problem's id. Detected: episode, auction, session, job, problem, trial,
        game, tender or vacancy, with or without an "id" behind. An empty string: use none.
    time
        Column that orders the rows of an episode: numbers, or ISO 8601 dates or timestamps (in text, to
        the microsecond). Detected: time, timestamp, ts, date, datetime or moment. An empty string: keep
        the order of the file.
    horizon
        The length n of every episode. None: that of the first one. Needed where there is no episode
        column: each n consecutive rows are then an episode, with ids 0, 1, 2, ...; rows after the last
        whole one are counted in :attr:`RecordedStream.leftover_rows`.
    sort
        Read everything into memory and group it: episodes in order of first appearance or, with a time
        column, of their first time. Without an episode column: order the rows by time, then cut them.
    on_error
        ``"strict"``: a malformed row, or an episode of another length, is an error. ``"skip"``: such a
        row and the episode it belongs to are left out and counted. If its episode cannot be read, that one
        is short by a row; the horizon is then taken from the first episode away from such rows.
    format
        ``"csv"``, ``"jsonl"`` or ``"parquet"``: do not tell it from the content.

    Returns
    -------
    RecordedStream

    Raises
    ------
    StreamError
        If the log cannot be opened, or its columns are not there or cannot be told; what is wrong further
        down is raised on iterating.
    ParameterError
        If ``horizon``, ``on_error`` or ``format`` is outside its bound.
    MissingExtraError
        If it is Parquet and pyarrow is not installed.

    Notes
    -----
    A value must be a finite number >= 0. A time must be comparable with the others: all numbers, or all
    timestamps with an offset, or all without. Blank lines are no rows. Lines are UTF-8, of at most 1 MiB.

    Memory: one block of rows and the episode that is not over yet, whatever the size of the log, as long as
    the rows of each episode lie together and

    - there is no episode column, or
    - the log is a file whose ids increase (by value or alphabet, or text by length first: a9 before a10).

    Otherwise 8 bytes for each episode that has ended, so that one that comes back is noticed and not taken
    for two. From standard input these are kept from the start; a file is read again up to the first id out of
    order. With ``sort`` the whole log's values, ids and times are held, about 100 bytes a row.
    :attr:`RecordedStream.memory` tells which it is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays import read_stream
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("auction,bid\na,3\na,1.5\nb,0\nb,2\n")
    >>> stream = read_stream(log)
    >>> [(episode.id, episode.values.tolist()) for episode in stream], stream.horizon
    ([('a', [3.0, 1.5]), ('b', [0.0, 2.0])], 2)
    """
    if on_error not in get_args(OnError):
        raise ParameterError(f'on_error must be "strict" or "skip", got {on_error!r}')
    if format is not None and format not in get_args(Format):
        raise ParameterError(f'format must be "csv", "jsonl" or "parquet", got {format!r}')
    if horizon is not None:
        horizon = _at_least_one("horizon", horizon)
    found = sources.find(source)
    table = opened(found, format)
    used = columns.choose(found.name, table.names, table.numeric, value=value, episode=episode, time=time)
    if used.episode is None:
        _check_cut(found.name, table, used, horizon, sort)
    strict = on_error == "strict"
    return RecordedStream(Settings(found, format, table.unit, used, horizon, sort, strict), table)


def _check_cut(log: str, table: Table, used: Columns, horizon: int | None, sort: bool) -> None:
    """Check that a log without an episode column can be cut into episodes."""
    if horizon is None:
        raise StreamError(
            f"{log}: no column is clearly the episode, so rows are cut into episodes of a given length; pass "
            f"horizon= (--horizon), or name the column (episode=, --episode); {columns.listed(table.names)}"
        )
    if sort and used.time is None:
        raise StreamError(
            f"{log}: nothing to sort by; name a column (episode=, --episode or time=, --time), or drop "
            f"sort=True (--sort); {columns.listed(table.names)}"
        )


def _at_least_one(name: str, number: int) -> int:
    try:
        whole = operator.index(number)
    except TypeError:
        whole = 0
    if whole < 1 or isinstance(number, bool):
        raise ParameterError(f"{name} must be a whole number >= 1, got {number!r}")
    return whole


class RecordedStream:
    r"""A log of private values, read episode by episode. Opened by :func:`read_stream`.

    Iterating yields one :class:`Episode` at a time, :meth:`batches` many in columns. A file can be read
    again and again, standard input or a pipe once. The counts below belong to the pass begun last.

    Parameters
    ----------
    settings
        What was asked for.
    table
        The log, opened.

    Attributes
    ----------
    columns
        The columns used, as the named tuple (value, episode, time).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays import read_stream
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("job,wage,comment\n7,30,\n7,25,ok\n8,,\n8,40,\n")
    >>> stream = read_stream(log, on_error="skip")
    >>> stream.columns
    Columns(value='wage', episode='job', time=None)
    >>> list(stream), stream.skipped, stream.skipped_episodes
    ([Episode(id='7', people=2)], {'value is empty': 1}, 1)
    """

    def __init__(self, settings: Settings, table: Table) -> None:
        self.columns = settings.columns
        self._settings = settings
        self._horizon = settings.horizon
        self._stored_rows = table.rows
        self._unread = table if settings.source.once else None
        self._peeked: tuple[EpisodeBatch, Iterator[EpisodeBatch]] | None = None
        self._pass = Pass(settings)

    def __repr__(self) -> str:
        used = ", ".join(f"{role}={name!r}" for role, name in self.columns._asdict().items())
        return f"RecordedStream({self._settings.source.name!r}, {used}, horizon={self.horizon})"

    def __iter__(self) -> Iterator[Episode]:
        """Begin a pass over the log, one episode at a time; errors as for :meth:`batches`."""
        return _one_by_one(self.batches())

    def batches(self, episodes: int = 65536) -> Iterator[EpisodeBatch]:
        r"""Begin a pass over the log, in columns.

        Parameters
        ----------
        episodes
            The most episodes of a batch. It may have fewer: a batch is never waited for.

        Raises
        ------
        StreamError
            If the log was standard input or a pipe and has been read. On iterating, at the first thing
            that is wrong with it, after the episodes before: each message names the place and the remedy.
        ParameterError
            If ``episodes`` is below 1.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from streamlearn.replays import read_stream
        >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
        >>> _ = log.write_text('{"bid": 1}\n{"bid": 2.5}\n{"bid": 0}\n')
        >>> stream = read_stream(log, horizon=2)
        >>> [(batch.ids, batch.values.tolist()) for batch in stream.batches()], stream.leftover_rows
        ([([0], [[1.0, 2.5]])], 1)
        """
        size = _at_least_one("episodes", episodes)
        if self._peeked is None:
            return _cut(self._begin_pass(), size)
        first, rest = self._peeked
        self._peeked = None
        return _cut(itertools.chain([first], rest), size)

    def peek(self) -> Episode:
        """Return the first episode; the next pass begins with it all the same.

        Raises
        ------
        StreamError
            As :meth:`batches`, and if there is no whole episode.
        """
        if self._peeked is None:
            batches = self._begin_pass()
            first = next(batches, None)
            if first is None:
                raise StreamError(f"{self._settings.source.name} has no whole episode; give at least one")
            self._peeked = first, batches
        first, _ = self._peeked
        return Episode(first.ids[0], first.values[0])

    def count_episodes(self) -> int:
        """Return how many episodes a pass yields.

        A strict pass over Parquet of known horizon is counted from the file's own account of its rows;
        anything else by reading the log once. The counts of the pass in progress are left alone.

        Raises
        ------
        StreamError
            As :meth:`batches`, and if the log is standard input or a pipe.
        """
        source = self._settings.source
        if source.once:
            raise StreamError(
                f"{source.name} can be read only once, so its episodes cannot be counted beforehand; "
                "save it to a file and give that"
            )
        rows, horizon = self._stored_rows, self.horizon
        if self._settings.strict and rows is not None and horizon is not None:
            whole, rest = divmod(rows, horizon)
            if not rest or self.columns.episode is None:
                return whole
        counting = Pass(self._settings)
        count = sum(len(ids) for ids, _ in counting.episodes(opened(source, self._settings.form)))
        self._horizon = counting.horizon
        return count

    @property
    def horizon(self) -> int | None:
        """The length n of every episode; None until it is known, from the first one read or peeked at."""
        return self._horizon

    @property
    def rows(self) -> int:
        """Rows read so far, the malformed ones included."""
        return self._pass.reading.rows

    @property
    def skipped(self) -> dict[str, int]:
        """Malformed rows so far, by reason."""
        return dict(self._pass.reading.skipped)

    @property
    def skipped_episodes(self) -> int:
        """Episodes left out so far, because of a malformed row or another length."""
        return self._pass.reading.skipped_episodes

    @property
    def leftover_rows(self) -> int:
        """Rows after the last whole episode, where rows are cut by their place."""
        return self._pass.reading.leftover_rows

    @property
    def name(self) -> str:
        """What the log is called: its path."""
        return self._settings.source.name

    @property
    def chronological(self) -> bool:
        """Whether the episodes read so far began in order of time; True without a time column."""
        return self._pass.reading.chronological

    @property
    def memory(self) -> str:
        """What a pass needs, in a sentence; :func:`read_stream` says why."""
        if self._settings.sort:
            return "the values, ids and times of the whole log are held, because it is sorted"
        block = "one block of rows and the open episode are held, whatever the size of the log"
        if self.columns.episode is None:
            return block
        if self._settings.source.once:
            return f"{block}, and 8 bytes for each finished episode, because the log can be read only once"
        if self._pass.finished.remembers:
            return f"{block}, and 8 bytes for each finished episode, because ids do not increase"
        return f"{block}, as long as ids increase"

    def _begin_pass(self) -> Iterator[EpisodeBatch]:
        source = self._settings.source
        table, self._unread = self._unread, None
        if table is None and source.once:
            raise StreamError(
                f"{source.name} has been read and can be read only once; save it to a file to read it again"
            )
        self._pass = Pass(self._settings)
        return self._passing(self._pass, table or opened(source, self._settings.form))

    def _passing(self, current: Pass, table: Table) -> Iterator[EpisodeBatch]:
        for ids, values in current.episodes(table):
            self._horizon = current.horizon
            yield EpisodeBatch(ids, values)


def _one_by_one(batches: Iterator[EpisodeBatch]) -> Iterator[Episode]:
    for batch in batches:
        yield from map(Episode, batch.ids, batch.values)


def _cut(batches: Iterator[EpisodeBatch], size: int) -> Iterator[EpisodeBatch]:
    for batch in batches:
        for start in range(0, batch.episodes, size):
            yield EpisodeBatch(batch.ids[start : start + size], batch.values[start : start + size])
