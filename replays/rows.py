"""Rows of a log in chunks of columns: what every reader yields, whatever the format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from streamlearn.errors import StreamError
from streamlearn.priors.base import Floats
from streamlearn.replays.cells import Clock, Instants, Wrong, is_empty
from streamlearn.replays.columns import Columns

Id: TypeAlias = str | int
"""An episode's id: text, or a whole number where the format knows numbers."""
Places: TypeAlias = npt.NDArray[np.intp]
Unit: TypeAlias = Literal["line", "row"]
"""What messages call a row's place."""
Role: TypeAlias = Literal["value", "episode", "time"]

NOWHERE: Id = ""
"""The episode of a row whose id cannot be read; no log has an empty id, for that is malformed."""


class Runs(NamedTuple):
    """Consecutive rows of one episode, run by run.

    Attributes
    ----------
    ids
        The episode of each run; neighbours differ.
    starts
        The place of each run's first row; the first is 0.
    """

    ids: list[Id]
    starts: Places


UNNAMED = Runs([NOWHERE], np.zeros(1, dtype=np.intp))
"""One run of rows whose episodes are not named."""


class Chunk(NamedTuple):
    """Some consecutive rows of a log; never empty.

    Attributes
    ----------
    values
        Shape (rows,). Malformed rows keep their place, as NaN.
    times
        Shape (rows,), or None without a time column.
    runs
        Which episodes the rows belong to; without an episode column, :data:`UNNAMED`.
    lines
        Where each row is in its file.
    """

    values: Floats
    times: Instants | None
    runs: Runs
    lines: Sequence[int]


class Record(NamedTuple):
    """One row with all its cells.

    Attributes
    ----------
    line
        Where it is in its file.
    cells
        What each column holds: text in CSV, else what the format knows.
    fault
        What is wrong with the row as a whole; None if nothing.
    """

    line: int
    cells: dict[str, Any]
    fault: str | None


class Complaint(NamedTuple):
    """What is wrong with a row.

    Attributes
    ----------
    role
        The column to blame, None for the row as a whole.
    reason
        What is wrong in kind, without the value.
    """

    role: Role | None
    reason: str


Complaints: TypeAlias = dict[int, Complaint]
"""By the row's place in its chunk."""


def blame(complaints: Complaints, role: Role, wrong: Wrong) -> None:
    """Add what is wrong with a column; a row already complained about keeps its first complaint.

    Examples
    --------
    >>> from streamlearn.replays import rows
    >>> complaints = {}
    >>> rows.blame(complaints, "value", {3: "is NaN"})
    >>> complaints
    {3: Complaint(role='value', reason='is NaN')}
    """
    for place, reason in wrong.items():
        complaints.setdefault(place, Complaint(role, reason))


class Reading:
    """One pass over a log: what it tolerates and what it has met so far.

    Parameters
    ----------
    log
        What messages call the log.
    unit
        What its rows are called there: ``"line"`` or ``"row"``.
    columns
        The columns read.
    strict
        Whether a malformed row is an error; else it is counted.

    Attributes
    ----------
    rows
        Rows read, the malformed ones included.
    skipped
        Malformed rows by reason.
    skipped_episodes
        Episodes left out, because of a malformed row or of another length.
    leftover_rows
        Rows after the last whole episode, where rows are cut by their place.
    unplaced
        Malformed rows whose episode cannot be read.
    chronological
        Whether every episode so far began no earlier than the one before; True without times.
    """

    def __init__(self, log: str, unit: Unit, columns: Columns, *, strict: bool) -> None:
        self.log = log
        self.columns = columns
        self.strict = strict
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self.skipped_episodes = 0
        self.leftover_rows = 0
        self.unplaced = 0
        self.chronological = True
        self._unit = unit

    def place(self, line: int) -> str:
        """Return where a row is, as messages say it."""
        return f"{self.log}, {self._unit} {line}"

    def chunk(
        self,
        values: Floats,
        times: Instants | None,
        runs: Runs,
        lines: Sequence[int],
        complaints: Complaints,
    ) -> Chunk:
        """Return a chunk of rows, its malformed ones dealt with.

        Parameters
        ----------
        values, times, runs, lines
            As in :class:`Chunk`; malformed rows may have any value and time.
        complaints
            The malformed rows.

        Raises
        ------
        StreamError
            At the first malformed row, if strict.
        """
        self.rows += len(values)
        self._settle(complaints, lines)
        values[list(complaints)] = np.nan
        return Chunk(values, times, runs, lines)

    def _settle(self, complaints: Complaints, lines: Sequence[int]) -> None:
        if complaints and self.strict:
            first = min(complaints)
            role, reason = complaints[first]
            column = None if role is None else getattr(self.columns, role)
            subject = "the row" if role is None else f"field {column!r}"
            raise StreamError(f"{self.place(lines[first])}: {subject} {reason}; {_remedy(role)}")
        self.skipped.update(f"{role or 'row'} {reason}" for role, reason in complaints.values())


def _remedy(role: Role | None) -> str:
    bound = {
        "value": "give a finite number >= 0",
        "episode": "give text or a whole number",
        "time": "give only numbers or only ISO 8601 times (--time '' keeps the order of the file)",
        None: "mend it",
    }
    return f'{bound[role]}, or leave such rows out with on_error="skip" (--on-error skip)'


def runs_of(ids: Sequence[Id]) -> Runs:
    """Return the runs of equal ids.

    Examples
    --------
    >>> from streamlearn.replays.rows import runs_of
    >>> runs_of(["a", "a", "b"])
    Runs(ids=['a', 'b'], starts=array([0, 2]))
    """
    keys = np.empty(len(ids), dtype=object)
    keys[:] = ids
    starts = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))
    return Runs(keys[starts].tolist(), starts)


def chunk_of_cells(
    reading: Reading,
    clock: Clock,
    columns: Sequence[list[Any] | None],
    numbers: Callable[[list[Any]], tuple[Floats, Wrong]],
    *,
    lines: Sequence[int],
    complaints: Complaints,
) -> Chunk:
    """Return a chunk of rows of text or JSON.

    Parameters
    ----------
    reading
        The pass.
    clock
        What reads the times of this pass.
    columns
        The cells of the value, episode and time columns; None where there is no such column.
    numbers
        What reads the values.
    lines, complaints
        As for :meth:`Reading.chunk`.

    Raises
    ------
    StreamError
        As :meth:`Reading.chunk`.
    """
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
    return isinstance(cell, str | int) and not isinstance(cell, bool)


def _fault(cell: object) -> str:
    return "is empty" if is_empty(cell) else "is neither text nor a whole number"
