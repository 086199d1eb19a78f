"""Checks that the rows of each episode lie together, in as little memory as can be."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from streamlearn.errors import StreamError
from streamlearn.replays.columns import shown
from streamlearn.replays.rows import Chunk, Id, Reading

Prints = npt.NDArray[np.int64]
"""Fingerprints of ids, 8 bytes each. Two among a million agree by chance with probability 3e-8."""


def _by_value(ids: list[Any]) -> bool:
    return all(map(operator.lt, ids, ids[1:]))


def _by_length(ids: list[Any]) -> bool:
    """Return whether the ids increase with the shorter ones first: a9 before a10."""
    growth = np.diff(list(map(len, ids)))
    return bool((growth >= 0).all()) and all(compress(map(operator.lt, ids, ids[1:]), growth == 0))


_ORDERS: Final = (_by_value, _by_length)
"""Orders in which ids may increase; ids that do in one of them are all different."""


def _increase(ids: list[Id], order: Callable[[list[Any]], bool]) -> bool:
    try:
        return order(ids)
    except TypeError:  # text beside numbers, or numbers by length
        return False


def _prints(ids: list[Id]) -> Prints:
    # By repr, so that 7 and "7" differ, and -1 and -2, which Python hashes alike.
    return np.fromiter(map(hash, map(repr, ids)), np.int64, len(ids))


class _PrintSet:
    """A growing set of fingerprints in sorted arrays, at most one for each power of two."""

    def __init__(self) -> None:
        self._arrays: list[Prints] = []

    def add(self, prints: Prints) -> None:
        """Add fingerprints."""
        if not len(prints):
            return
        array = np.sort(prints)
        while self._arrays and len(self._arrays[-1]) <= 2 * len(array):
            array = np.sort(
                np.concatenate((self._arrays.pop(), array)), kind="stable"
            )  # two sorted runs merge
        self._arrays.append(array)

    def holds(self, prints: Prints) -> npt.NDArray[np.bool_]:
        """Return which fingerprints were added before."""
        held = np.zeros(len(prints), dtype=np.bool_)
        for array in self._arrays:
            nearest = np.searchsorted(array, prints).clip(max=len(array) - 1)
            held |= array[nearest] == prints
        return held


class Finished:
    """The episodes that have ended, so that one that comes back is noticed.

    As long as ids increase nothing needs to be remembered. Once they do not, the fingerprints of all
    earlier ids are needed: they are read again where the log can be, and kept from the start where not.

    Parameters
    ----------
    again
        Returns the ids in order, one chunk of the log at a time, from the start; None if the log can be
        read only once.

    Examples
    --------
    >>> from streamlearn.replays.grouped import Finished
    >>> log = [[1, 2], [5, 3], [4, 2]]
    >>> finished = Finished(lambda: iter(log))
    >>> [finished.returning(ids) for ids in log], finished.remembers
    ([None, None, 1], True)
    """

    def __init__(self, again: Callable[[], Iterator[list[Id]]] | None) -> None:
        self._again = again
        self._orders = list(_ORDERS)
        self._last: list[Id] = []
        self._count = 0
        self._prints = _PrintSet()

    @property
    def remembers(self) -> bool:
        """Whether fingerprints are kept."""
        return self._again is None

    def returning(self, ids: list[Id]) -> int | None:
        """Take in the episodes that begin in the next chunk; return the place of the first that came back.

        Parameters
        ----------
        ids
            Their ids, in order.
        """
        if self._again is not None:
            self._orders = [order for order in self._orders if _increase(self._last + ids, order)]
            if self._orders:
                self._last = ids[-1:] or self._last
                self._count += len(ids)
                return None
            if self._count:
                self._catch_up(self._again())
            self._again = None
        prints = _prints(ids)
        known = self._prints.holds(prints)
        fresh, first = np.unique(prints, return_index=True)
        known[np.setdiff1d(np.arange(len(ids)), first)] = True
        self._prints.add(fresh)
        return int(np.argmax(known)) if known.any() else None

    def _catch_up(self, passed: Iterator[list[Id]]) -> None:
        """Read again the ids that passed while nothing was remembered."""
        missing = self._count
        for ids in passed:
            self._prints.add(_prints(ids[:missing]))
            missing -= len(ids)
            if missing <= 0:
                return


def begun(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Id]]]:
    """Yield each chunk with the ids of the episodes that begin in it.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays import grouped, rows
    >>> chunk = rows.Chunk(np.zeros(3), None, rows.runs_of(["a", "b", "b"]), range(3))
    >>> [ids for _, ids in grouped.begun([chunk, chunk._replace(runs=rows.runs_of(["b", "c", "c"]))])]
    [['a', 'b'], ['c']]
    """
    last: Id | None = None
    for chunk in chunks:
        ids = chunk.runs.ids
        yield chunk, ids[1:] if ids[0] == last else ids
        last = ids[-1]


def checked(chunks: Iterable[Chunk], finished: Finished, reading: Reading) -> Iterator[Chunk]:
    """Yield the chunks as they are, as long as no episode comes back after it has ended.

    Raises
    ------
    StreamError
        If one does.
    """
    for chunk, ids in begun(chunks):
        again = finished.returning(ids)
        if again is not None:
            line = chunk.lines[chunk.runs.starts[again - len(ids)]]
            raise StreamError(
                f"{reading.place(line)}: episode {shown(ids[again])} comes back after it ended, so the "
                "log is not grouped by episode; pass sort=True (--sort), which needs memory for the whole "
                "file"
            )
        yield chunk
