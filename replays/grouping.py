"""From chunks of rows to episodes of one length, whatever the format of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from streamlearn.errors import StreamError
from streamlearn.priors.base import Floats
from streamlearn.replays.cells import Instants
from streamlearn.replays.columns import shown
from streamlearn.replays.rows import NOWHERE, Chunk, Id, Places, Reading, Runs, runs_of

Mask: TypeAlias = npt.NDArray[np.bool_]

_MOST_IN_DOUBT = 1000
"""Episodes held in search of one whose length is beyond doubt."""


class Episodes(NamedTuple):
    """Whole episodes of one length.

    Attributes
    ----------
    ids
        Length k.
    values
        Shape (k, n).
    """

    ids: list[Id]
    values: Floats


def number(chunks: Iterable[Chunk], horizon: int) -> Iterator[Chunk]:
    """Cut rows into episodes by their place: the first ``horizon`` rows are episode 0, and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.grouping import number
    >>> from streamlearn.replays.rows import UNNAMED, Chunk
    >>> chunk = Chunk(np.zeros(5), None, UNNAMED, range(5))
    >>> [cut.runs for cut in number([chunk, chunk], horizon=3)]
    [Runs(ids=[0, 1], starts=array([0, 3])), Runs(ids=[1, 2, 3], starts=array([0, 1, 4]))]
    """
    passed = 0
    for chunk in chunks:
        rows = len(chunk.values)
        first = passed // horizon
        last = (passed + rows - 1) // horizon
        starts = np.arange(first, last + 1) * horizon - passed
        starts[0] = 0
        yield chunk._replace(runs=Runs(list(range(first, last + 1)), starts))
        passed += rows


def sort(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield all rows in one chunk, those of an episode together, in memory.

    Without times, episodes come in order of first appearance and rows stay in their order. With times,
    rows are ordered by time and episodes by their first time. Without episodes, rows are ordered by time.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays import grouping, rows
    >>> chunk = rows.Chunk(np.arange(3.0), None, rows.runs_of(["b", "a", "b"]), range(3))
    >>> next(grouping.sort([chunk])).values
    array([0., 2., 1.])
    """
    codes: dict[Id, int] = {}
    kept = [(chunk.values, chunk.times, _owners(chunk, codes)) for chunk in chunks]
    if not kept:
        return
    values, times = _joined([(values, times) for values, times, _ in kept])
    owners = np.concatenate([owners for _, _, owners in kept])
    del kept
    ids = list(codes)
    if times is None:
        order = np.argsort(owners, kind="stable")
    else:
        earlier_first = _by_first_time(owners, times)
        ids = [ids[owner] for owner in np.argsort(earlier_first)]
        owners = earlier_first[owners]
        order = np.lexsort((times, owners))
        times = times[order]
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners))[:-1]))
    yield Chunk(values[order], times, Runs(ids, starts), range(len(order)))


def _owners(chunk: Chunk, codes: dict[Id, int]) -> Places:
    """Return the number of each row's episode, in order of first appearance."""
    owners = np.array([codes.setdefault(known, len(codes)) for known in chunk.runs.ids])
    return np.repeat(owners, _counts(chunk))


def _by_first_time(owners: Places, times: Instants) -> Places:
    """Return each episode's rank by its first time; among equals the one first in the log."""
    _, first = np.unique(owners[np.argsort(times, kind="stable")], return_index=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank


def find_horizon(chunks: Iterator[Chunk], reading: Reading, *, shuffled: bool) -> tuple[int, Iterator[Chunk]]:
    """Return the length of the first episode, and the chunks, none of them lost.

    A row of unknown episode puts the lengths of its neighbours in doubt, where rows were shuffled that of
    all: each episode is then at least so long. The first beyond doubt is taken, if there is none the longest.

    Parameters
    ----------
    chunks
        Rows with those of unknown episode.
    reading
        The pass.
    shuffled
        Whether rows are no longer in the order of the log, and those of unknown episode are gone.

    Raises
    ------
    StreamError
        If very many episodes are in doubt, or no row has an episode.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.columns import Columns
    >>> from streamlearn.replays.grouping import find_horizon
    >>> from streamlearn.replays.rows import Chunk, Reading, runs_of
    >>> chunk = Chunk(np.zeros(6), None, runs_of(["a", "a", "", "b", "c", "c"]), range(6))
    >>> reading = Reading("log", "row", Columns("bid", "auction", None), strict=False)
    >>> find_horizon(iter([chunk]), reading, shuffled=False)[0]
    2
    """
    seen: list[Chunk] = []
    longest = 0
    for episode, (length, certain) in enumerate(_lengths(chunks, seen)):
        if certain and not (shuffled and reading.unplaced):
            return length, _followed(seen, chunks)
        if episode == _MOST_IN_DOUBT and not shuffled:
            longest = 0  # what was seen is held, and memory is not for that
            break
        longest = max(longest, length)
    if longest:
        return longest, _followed(seen, chunks)
    raise StreamError(
        f"{reading.log}: malformed rows leave the length of the episodes in doubt; pass horizon= (--horizon)"
    )


def _followed(seen: list[Chunk], chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield what was seen, letting go of it, and what follows."""
    while seen:
        yield seen.pop(0)
    yield from chunks


def _lengths(chunks: Iterable[Chunk], seen: list[Chunk]) -> Iterator[tuple[int, bool]]:
    """Yield each episode's length, and whether it is beyond doubt; the chunks read go to ``seen``."""
    current, length, in_doubt, after_nowhere = NOWHERE, 0, False, False
    for chunk in chunks:
        seen.append(chunk)
        counts = _counts(chunk).tolist()
        for known, rows in zip(chunk.runs.ids, counts, strict=True):
            if known == NOWHERE:
                in_doubt = after_nowhere = True
                continue
            if known != current:
                if length:
                    yield length, not in_doubt
                current, length, in_doubt = known, 0, after_nowhere
            length += rows
            after_nowhere = False
    if length:
        yield length, not in_doubt


def placed(chunks: Iterable[Chunk], reading: Reading) -> Iterator[Chunk]:
    """Yield the chunks without the rows of unknown episode.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.columns import Columns
    >>> from streamlearn.replays.grouping import placed
    >>> from streamlearn.replays.rows import Chunk, Reading, runs_of
    >>> chunk = Chunk(np.arange(3.0), None, runs_of(["a", "", "a"]), range(3))
    >>> reading = Reading("log", "row", Columns("bid", "auction", None), strict=False)
    >>> next(placed([chunk], reading)).values
    array([0., 2.])
    """
    for chunk in chunks:
        if reading.strict or NOWHERE not in chunk.runs.ids:
            yield chunk
            continue
        owners = np.repeat(np.array(chunk.runs.ids, dtype=object), _counts(chunk))
        kept = np.flatnonzero(owners != NOWHERE)
        reading.unplaced += len(owners) - len(kept)
        if len(kept):
            times = None if chunk.times is None else chunk.times[kept]
            lines = [chunk.lines[row] for row in kept.tolist()]
            yield Chunk(chunk.values[kept], times, runs_of(owners[kept].tolist()), lines)


def _counts(chunk: Chunk) -> Places:
    """Return the number of rows of each run."""
    return np.diff(chunk.runs.starts, append=len(chunk.values))


class Grouper:
    """Puts rows together into episodes, holding no more than the episode that is not yet over.

    Parameters
    ----------
    reading
        The pass: whether it is strict, and where what is left out is counted.
    horizon
        The length of every episode, n.
    leftover
        Whether a short episode at the end is a tail to be left over, not an error.
    """

    def __init__(self, reading: Reading, horizon: int, *, leftover: bool) -> None:
        self._reading = reading
        self._horizon = horizon
        self._leftover = leftover
        self._open: list[Id] = []  # the episode that is not yet over, if there is one
        self._held: list[tuple[Floats, Instants | None]] = []  # its rows
        self._length = 0  # how many are held
        self._begun: Any = None  # when the last whole episode began
        self._dropped = 0  # how many more there were, in an episode that is too long anyway

    def episodes(self, chunks: Iterable[Chunk]) -> Iterator[Episodes]:
        """Yield the whole episodes of the chunks, in order.

        Raises
        ------
        StreamError
            If an episode has another length and the pass is strict.
        """
        for chunk in chunks:
            yield from self._add(chunk)
        if self._leftover and self._length != self._horizon:
            self._reading.leftover_rows = self._length
        elif self._open:
            yield from self._whole(self._open, np.array([0, self._length]), *_joined(self._held))

    def _add(self, chunk: Chunk) -> Iterator[Episodes]:
        ids, starts = chunk.runs
        if ids[:1] == self._open:
            ids, starts = ids[1:], starts[1:]
        if not ids:
            self._hold(chunk.values, chunk.times)
            return
        values, times = _joined([*self._held, (chunk.values, chunk.times)])
        ids = self._open + ids
        starts = np.concatenate((np.zeros(len(self._open), dtype=np.intp), starts + self._length))
        end = starts[-1]
        yield from self._whole(ids[:-1], starts, values, times)
        self._open, self._held, self._length, self._dropped = ids[-1:], [], 0, 0
        self._hold(values[end:], None if times is None else times[end:])

    def _hold(self, values: Floats, times: Instants | None) -> None:
        if self._length > self._horizon:
            self._dropped += len(values)
            return
        self._held.append((values, times))
        self._length += len(values)

    def _whole(
        self, ids: list[Id], bounds: Places, values: Floats, times: Instants | None
    ) -> Iterator[Episodes]:
        """Yield those of some episodes that are whole; all of them have ended."""
        lengths = np.diff(bounds)
        fits = self._fitting(ids, bounds, values)
        self._reading.skipped_episodes += len(ids) - int(fits.sum())
        if not fits.any():
            return
        rows = np.flatnonzero(np.repeat(fits, lengths))
        table = values[rows].reshape(-1, self._horizon)
        if times is not None:
            moments = times[rows].reshape(table.shape)
            table = _in_time(table, moments)
            self._note_order(moments.min(axis=1))
        yield Episodes(list(compress(ids, fits)), table)

    def _note_order(self, begun: Instants) -> None:
        """Note whether episodes go on beginning in order of time."""
        if (self._begun is not None and begun[0] < self._begun) or (begun[1:] < begun[:-1]).any():
            self._reading.chronological = False
        self._begun = begun[-1]

    def _fitting(self, ids: list[Id], bounds: Places, values: Floats) -> Mask:
        """Return which episodes have the right length and no malformed row."""
        lengths = np.diff(bounds)
        fits: Mask = lengths == self._horizon
        if not self._reading.strict:
            usable: Mask = np.logical_and.reduceat(np.isfinite(values[: bounds[-1]]), bounds[:-1])
            return fits & usable
        if not fits.all():
            misfit = int(np.argmin(fits))
            raise self._mixture(ids[misfit], lengths[misfit] + (0 if misfit else self._dropped))
        return fits

    def _mixture(self, episode: Id, length: int) -> StreamError:
        return StreamError(
            f"{self._reading.log}: episode {shown(episode)} has {length} rows and the horizon is "
            f"{self._horizon}, a mixture of horizons; give logs of one length, or leave such "
            'episodes out with on_error="skip" (--on-error skip); rows that are not grouped by episode need '
            "sort=True (--sort)"
        )


def _in_time(table: Floats, times: Instants) -> Floats:
    """Order each episode by time; both of shape (k, n)."""
    if (times[:, 1:] >= times[:, :-1]).all():
        return table
    return np.take_along_axis(table, np.argsort(times, axis=1, kind="stable"), axis=1)


def _joined(held: list[tuple[Floats, Instants | None]]) -> tuple[Floats, Instants | None]:
    """Return consecutive rows as one new array, and their times."""
    values = np.concatenate([values for values, _ in held])
    times = [times for _, times in held if times is not None]
    return values, np.concatenate(times) if times else None
