"""Logs of labelled examples as streams of pairs (x, y)."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from streamlearn.errors import ParameterError, StreamError
from streamlearn.hypotheses.instances import NOTHING, key
from streamlearn.replays import cells, sources
from streamlearn.replays.cells import Kind
from streamlearn.replays.examplecolumns import ExampleColumns, choose
from streamlearn.replays.passes import damaged, opened
from streamlearn.replays.rows import Record
from streamlearn.replays.schedules import Event
from streamlearn.replays.sources import DamagedError, Source
from streamlearn.replays.tables import Format, Table

_WORDS = {"0": False, "1": True, "false": False, "true": True, "0.0": False, "1.0": True}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL = re.compile(r"-?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_MOST_DIGITS = 4_000  # of a whole number; Python refuses to read 4,301, and as a float many would be one
_SECOND = 1_000_000  # timestamps are read in microseconds


class MalformedError(Exception):
    """What is wrong with a row: the field and the reason, without the value."""

    def __init__(self, field: str | None, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


def read_examples(
    source: str | Path,
    *,
    label: str | None = None,
    positive: str | None = None,
    instance: str | None = None,
    features: Sequence[str] | None = None,
    time: str | None = None,
    labelled: str | None = None,
    on_error: Literal["strict", "skip"] = "strict",
    format: Format | None = None,  # noqa: A002 - the word a user looks for
) -> RecordedExamples:
    r"""Open a log of labelled examples as a stream of pairs (x, y), for predictors.

    Parameters
    ----------
    source
        A path, or ``"-"`` for standard input; CSV, JSONL or Parquet as for :func:`read_stream`.
    label
        Column of the label. Detected: y, label, target, class or outcome.
    positive
        What the label column holds where y is 1; anything else is 0. None: it holds 0 and 1, or false and true.
    instance
        Column that is x itself. None: x is a dict of features, as river's models take it; a class of hashables
        takes a dict of one feature for its value.
    features
        Columns of that dict. None: all that have no other role.
    time
        Column with the moment of an event: numbers, or ISO 8601 dates or timestamps.
    labelled
        Column with the moment at which the label came, of the kind of ``time``. A replay then delays each label as
        it was delayed.
    on_error
        ``"strict"``: a malformed row is an error. ``"skip"``: it is left out and counted.
    format
        ``"csv"``, ``"jsonl"`` or ``"parquet"``: do not tell it from the content.

    Returns
    -------
    RecordedExamples

    Raises
    ------
    StreamError
        If the log cannot be opened or a column is missing; what is wrong further down is raised on iterating.
    ParameterError
        If arguments exclude each other or are outside their bound.

    Notes
    -----
    In CSV a cell that spells a number is one (``007`` and ``1_000`` are text, and so is a whole number of more than
    4,000 digits), an empty one is no feature. The log is read as it is iterated: memory does not grow with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays import read_examples
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("height,name,y\n1.5,ann,0\n2,bob,1\n")
    >>> list(read_examples(log))
    [({'height': 1.5, 'name': 'ann'}, False), ({'height': 2, 'name': 'bob'}, True)]
    >>> list(read_examples(log, instance="name"))
    [('ann', False), ('bob', True)]
    """
    if on_error not in {"strict", "skip"}:
        raise ParameterError(f'on_error must be "strict" or "skip", got {on_error!r}')
    if instance is not None and features is not None:
        raise ParameterError("give instance (x is one column) or features (x is a dict of them), not both")
    if labelled is not None and time is None:
        raise ParameterError("labelled needs time: name the column that says when each event was (--time)")
    found = sources.find(source)
    table = opened(found, format)
    chosen = choose(
        found.name,
        table.names,
        label=label,
        instance=instance,
        features=features,
        time=time,
        labelled=labelled,
    )
    return RecordedExamples(found, format, chosen, positive, on_error == "strict", table)


class RecordedExamples:
    r"""A log of labelled examples, opened by :func:`read_examples`. Iterating yields pairs (x, y).

    A file can be read again and again, standard input or a pipe once. The counts belong to the pass begun last.

    Parameters
    ----------
    source, form, columns, positive, strict, table
        As :func:`read_examples` found them.

    Attributes
    ----------
    columns
        The columns used.
    rows
        Rows read so far, the malformed ones included.
    skipped
        Malformed rows so far, by reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import read_examples, replay
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = log.write_text('{"x": 7, "y": 1}\n{"x": 2, "y": null}\n{"x": 3, "y": 0}\n')
    >>> stream = read_examples(log, on_error="skip")
    >>> replay(stream, SOA(Thresholds(9))).rounds, dict(stream.skipped)
    (2, {"field 'y' is empty": 1})
    """

    def __init__(
        self,
        source: Source,
        form: Format | None,
        columns: ExampleColumns,
        positive: str | None,
        strict: bool,
        table: Table,
    ) -> None:
        self.columns = columns
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self._source = source
        self._form = form
        self._positive = positive
        self._strict = strict
        self._unread: Table | None = table

    def __repr__(self) -> str:
        return f"RecordedExamples({self._source.name!r}, label={self.columns.label!r})"

    @property
    def name(self) -> str:
        """What the log is called: its path."""
        return self._source.name

    @property
    def once(self) -> bool:
        """Whether it can be read only once."""
        return self._source.once

    @property
    def timed(self) -> bool:
        """Whether the log says when events were."""
        return self.columns.time is not None

    @property
    def labels_timed(self) -> bool:
        """Whether the log says when labels came."""
        return self.columns.labelled is not None

    def __iter__(self) -> Iterator[tuple[Any, bool]]:
        """Begin a pass over the log.

        Raises
        ------
        StreamError
            At the first malformed row if strict, and if a pipe has been read before.
        """
        return self._pass(self._example)

    def schedule(self, delay: Any) -> Iterator[Event]:
        """Begin a pass that says when each event was and when its label came.

        Parameters
        ----------
        delay
            How long each label takes: a ``timedelta``, or a number in the unit of the times (seconds, if they are
            timestamps). None: as recorded.

        Raises
        ------
        ParameterError
            If it is none of these, or negative, or the log says itself when labels came.
        StreamError
            As for iterating.
        """
        if delay is not None and self.labels_timed:
            raise ParameterError(
                "the log says when labels came (labelled); give that or a delay (--delay), not both"
            )
        clock = _Moments(delay)

        def event(record: Record) -> Event:
            now = clock.read(self.columns.time, record)
            if delay is not None:
                return now, now + clock.lag, self._example(record)
            due = clock.read(self.columns.labelled, record)
            if due < now:
                raise MalformedError(self.columns.labelled, "is before the event's own time")
            return now, due, self._example(record)

        return self._pass(event)

    def _pass(self, convert: Callable[[Record], Any]) -> Iterator[Any]:
        table, self._unread = self._unread, None
        if table is None:
            if self._source.once:
                raise StreamError(f"{self.name} can be read only once; save it to a file to read it again")
            table = opened(self._source, self._form)
        self.rows = 0
        self.skipped = Counter()
        return self._converted(table, convert)

    def _converted(self, table: Table, convert: Callable[[Record], Any]) -> Iterator[Any]:
        try:
            for record in table.records():
                self.rows += 1
                try:
                    if record.fault is not None:
                        raise MalformedError(None, record.fault)  # noqa: TRY301 - one place deals with all faults
                    converted = convert(record)
                except MalformedError as fault:
                    self._settle(fault, f"{self.name}, {table.unit} {record.line}")
                    continue
                yield converted
        except DamagedError as damage:
            raise damaged(self._source, damage, self.rows) from None

    def _settle(self, fault: MalformedError, place: str) -> None:
        subject = "the row" if fault.field is None else f"field {fault.field!r}"
        if self._strict:
            raise StreamError(
                f'{place}: {subject} {fault.reason}; mend it, or leave such rows out with on_error="skip" '
                "(--on-error skip)"
            ) from None
        self.skipped[f"{subject} {fault.reason}"] += 1

    def _example(self, record: Record) -> tuple[Any, bool]:
        return self._instance(record), self._bit(record)

    def _instance(self, record: Record) -> Any:
        _, instance, features, *others = self.columns
        if instance is not None:
            x = _typed(record.cells.get(instance))
            if x is None or key(x) is NOTHING:
                raise MalformedError(instance, "is empty" if x is None else "is no hashable instance")
            return x
        names = record.cells if features is None else features
        roles = {self.columns.label, *others}
        found = {name: _typed(record.cells.get(name)) for name in names if name not in roles}
        return {name: value for name, value in found.items() if value is not None}

    def _bit(self, record: Record) -> bool:
        name = self.columns.label
        cell = record.cells.get(name)
        if cells.is_empty(cell):
            raise MalformedError(name, "is empty")
        if self._positive is not None:
            return str(cell).strip() == self._positive
        bit = _WORDS.get(str(cell).strip().lower())
        if bit is None:
            raise MalformedError(name, "is not 0 or 1 (name what stands for 1 with positive=, --positive)")
        return bit


def _typed(cell: Any) -> Any:
    """Return what a cell holds; one of text that spells a number plainly is that number, an empty one None."""
    if not isinstance(cell, str):
        return None if isinstance(cell, float) and math.isnan(cell) else cell
    text = cell.strip()
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) <= _MOST_DIGITS else text
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text or None


class _Moments:
    """Reads the times of one pass, all of one kind."""

    def __init__(self, delay: Any) -> None:
        self._kind: Kind | None = None
        self._delay = delay
        if delay is None:
            return
        seconds = delay.total_seconds() if isinstance(delay, dt.timedelta) else delay
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            raise ParameterError(
                "delay must be a number >= 0 in the unit of the log's times, or a timedelta; for delays that differ "
                "name the column that says when labels came (labelled=, --labelled)"
            )

    @property
    def lag(self) -> float:
        """The constant delay, in the unit of the times."""
        if isinstance(self._delay, dt.timedelta):
            seconds = self._delay.total_seconds()
            return seconds if self._kind == "number" else seconds * _SECOND
        return float(self._delay if self._kind == "number" else self._delay * _SECOND)

    def read(self, name: str | None, record: Record) -> float:
        cell = record.cells.get(name or "")
        kind, instant = cells.instant_of(cell.isoformat() if isinstance(cell, dt.date) else cell)
        if kind is None:
            empty = cells.is_empty(cell)
            raise MalformedError(name, "is empty" if empty else "is neither a number nor an ISO 8601 time")
        self._kind = self._kind or kind
        if kind != self._kind:
            raise MalformedError(name, f"is a {kind} among times of another kind")
        return instant
