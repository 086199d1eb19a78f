"""From the cells of a column to numbers, with a note of every cell that is not one.

A note says what is wrong in kind. It never quotes the cell: that is a person's own value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from streamlearn.priors.base import Floats

Wrong: TypeAlias = dict[int, str]
"""What is wrong with the cells of a column, by their place in it."""
Instants: TypeAlias = npt.NDArray[np.int64 | np.float64]
"""Times of whatever unit: they are only compared with one another."""
Kind: TypeAlias = Literal["number", "local time", "time with an offset"]

_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def text_number(cell: str) -> float:
    """Return the number a text spells; unlike Python's, its digits may not be grouped with ``_``.

    Raises
    ------
    ValueError
        If it spells none.

    Examples
    --------
    >>> from streamlearn.replays.cells import text_number
    >>> text_number(" 1e3")
    1000.0
    """
    if "_" in cell:
        raise ValueError
    return float(cell)


def json_number(cell: object) -> float:
    """Return a JSON number as a float; text that spells a number is text.

    Raises
    ------
    TypeError
        If it is not a number.

    Examples
    --------
    >>> from streamlearn.replays.cells import json_number
    >>> json_number(3)
    3.0
    """
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise TypeError
    try:
        return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf


def text_values(cells: Sequence[str]) -> tuple[Floats, Wrong]:
    """Return a column of values from text, and what is wrong with which.

    Returns
    -------
    (floats, wrong)
        Shape (n,), finite and >= 0 but for the places in ``wrong``.

    Examples
    --------
    >>> from streamlearn.replays import cells
    >>> cells.text_values(["0.5", "", "-1"])[1]
    {1: 'is empty', 2: 'is negative'}
    """
    if "_" in "".join(cells):
        return _looked_at(cells, text_number)
    try:
        return float_values(list(map(float, cells)))
    except ValueError:
        return _looked_at(cells, text_number)


def json_values(cells: Sequence[object]) -> tuple[Floats, Wrong]:
    """Return a column of values from what JSON holds; as :func:`text_values`.

    Examples
    --------
    >>> from streamlearn.replays import cells
    >>> cells.json_values([0.5, "0.5", None])[1]
    {1: 'is not a number', 2: 'is empty'}
    """
    return _looked_at(cells, json_number)


def float_values(cells: Sequence[float]) -> tuple[Floats, Wrong]:
    """Return a column of values from floats; as :func:`text_values`.

    Examples
    --------
    >>> from streamlearn.replays import cells
    >>> cells.float_values([0.5, -1.0])[1]
    {1: 'is negative'}
    """
    floats = np.array(cells, dtype=np.float64)
    return floats, unusable(floats)


def _looked_at(cells: Sequence[Any], number: Callable[[Any], float]) -> tuple[Floats, Wrong]:
    floats = np.zeros(len(cells))
    wrong: Wrong = {}
    for place, cell in enumerate(cells):
        try:
            floats[place] = number(cell)
        except (TypeError, ValueError):
            wrong[place] = "is empty" if is_empty(cell) else "is not a number"
    return floats, wrong | unusable(floats)


def is_empty(cell: object) -> bool:
    """Return whether nothing was recorded.

    Examples
    --------
    >>> from streamlearn.replays.cells import is_empty
    >>> is_empty(None), is_empty(" "), is_empty(0)
    (True, True, False)
    """
    return cell is None or (isinstance(cell, str) and not cell.strip())


def unusable(floats: Floats) -> Wrong:
    """Return what is wrong with numbers as values: they must be finite and >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.cells import unusable
    >>> unusable(np.array([0.0, np.nan, np.inf]))
    {1: 'is NaN', 2: 'is infinite'}
    """
    places = np.flatnonzero(~((floats >= 0.0) & (floats < np.inf)))
    return {int(place): _fault(floats[place]) for place in places}


def _fault(number: float) -> str:
    if np.isnan(number):
        return "is NaN"
    return "is infinite" if np.isinf(number) else "is negative"


class Clock:
    """Reads a column of times: all numbers, or all ISO 8601 dates and timestamps.

    The first readable cell decides which, and whether timestamps carry an offset: those with and those
    without cannot be compared.

    Examples
    --------
    >>> from streamlearn.replays.cells import Clock
    >>> clock = Clock()
    >>> clock.read(["2024-05-01", "2024-05-02T09:30"])
    (array([1714521600000000, 1714642200000000]), {})
    >>> clock.read(["7", ""])[1]
    {0: 'is a number among times of another kind', 1: 'is empty'}
    """

    def __init__(self) -> None:
        self._kind: Kind | None = None

    def read(self, cells: Sequence[Any]) -> tuple[Instants, Wrong]:
        """Return a column of instants, shape (n,), and what is wrong with which; those are 0."""
        try:
            kind, instants = _alike(cells)
        except (OverflowError, TypeError, ValueError):
            return self._looked_at(cells)
        self._kind = self._kind or kind
        return (instants, {}) if kind == self._kind else self._looked_at(cells)

    def _looked_at(self, cells: Sequence[Any]) -> tuple[Instants, Wrong]:
        wrong: Wrong = {}
        instants: list[int | float] = []
        for place, cell in enumerate(cells):
            kind, instant = instant_of(cell)
            self._kind = self._kind or kind
            if kind is None:
                wrong[place] = "is empty" if is_empty(cell) else "is neither a number nor an ISO 8601 time"
            elif kind != self._kind:
                wrong[place] = f"is a {kind} among times of another kind"
            instants.append(0 if place in wrong else instant)
        return _packed(instants), wrong


def instant_of(cell: Any) -> tuple[Kind | None, int | float]:
    """Return the kind of one time and its place on the axis of that kind; no kind if it is no time.

    Examples
    --------
    >>> from streamlearn.replays.cells import instant_of
    >>> instant_of("7.5"), instant_of("soon")
    (('number', 7.5), (None, 0))
    """
    try:
        kind, instants = _alike([cell.strip() if isinstance(cell, str) else cell])
    except (OverflowError, TypeError, ValueError):
        return None, 0
    return kind, instants.item()


def _alike(cells: Sequence[Any]) -> tuple[Kind, Instants]:
    """Return a column of times of one kind.

    Raises
    ------
    OverflowError, TypeError, ValueError
        If it is not.
    """
    numbers = cells
    if set(map(type, cells)) == {str}:
        try:
            numbers = list(map(int, cells))
        except ValueError:
            try:
                numbers = list(map(float, cells))
            except ValueError:
                return _moments(list(map(dt.datetime.fromisoformat, cells)))
    elif not set(map(type, cells)) <= {int, float}:
        raise TypeError
    instants = _packed(numbers)
    if np.isnan(instants).any():
        raise ValueError
    return "number", instants


def _packed(numbers: Sequence[int | float]) -> Instants:
    """Return an array of int64 where that is exact, else of float64."""
    packed = np.asarray(numbers)
    return packed if packed.dtype == np.int64 else packed.astype(np.float64)


def _moments(moments: list[dt.datetime]) -> tuple[Kind, Instants]:
    """Return microseconds since 1970, of local times or of times with an offset."""
    with_offset = {moment.tzinfo is not None for moment in moments}
    if len(with_offset) > 1:
        raise ValueError
    if with_offset == {True}:
        since = [(moment - _EPOCH) // _MICROSECOND for moment in moments]
        return "time with an offset", np.array(since, dtype=np.int64)
    return "local time", np.array(moments, dtype="datetime64[us]").astype(np.int64)
