"""Writing a labelled stream as a log."""

from __future__ import annotations

import contextlib
import csv
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from streamlearn.errors import ParameterError, StreamlearnError

LABEL = "y"
INSTANCE = "x"

Record = dict[str, Any]


def write(stream: Iterable[tuple[Any, bool]], path: str | Path) -> int:
    r"""Write a labelled stream as a log, one round a line, the file whole or not at all.

    A line has the features of x as they are, or x itself under ``x``, and the label under ``y`` as 0 or 1.

    Parameters
    ----------
    stream
        Pairs (x, y); x a number, a text, or a dict of these. It is read once and never held.
    path
        Where to write. The name's end says the format: ``.jsonl`` (JSON Lines) or ``.csv``, which needs the same
        features in every round.

    Returns
    -------
    int
        The rounds written.

    Raises
    ------
    ParameterError
        If the name ends otherwise, or an instance cannot be written.
    StreamlearnError
        If the file cannot be written; ``path`` is then as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays import synthetic
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> synthetic.write([(3, False), (1, True)], log)
    2
    >>> log.read_text()
    '{"x":3,"y":0}\n{"x":1,"y":1}\n'
    """
    target = Path(path)
    write_all = _FORMATS.get(target.suffix)
    if write_all is None:
        raise ParameterError(f"path must end in {' or '.join(_FORMATS)}, got {target.name!r}")
    with _replaced(target) as file:
        return write_all(file, records(stream))


def records(stream: Iterable[tuple[Any, bool]]) -> Iterator[Record]:
    """Yield the rounds as flat records of features and a label.

    Raises
    ------
    ParameterError
        If a round cannot be written.
    """
    for number, (x, y) in enumerate(stream):
        record = {str(name): value for name, value in x.items()} if isinstance(x, dict) else {INSTANCE: x}
        if LABEL in record:
            raise ParameterError(f"round {number} has a feature called {LABEL!r}, as the label is; rename it")
        if not all(value is None or isinstance(value, str | int | float) for value in record.values()):
            raise ParameterError(
                f"round {number} has an instance that is no number, text or dict of these; number the instances"
            )
        yield {**record, LABEL: int(y)}


def write_jsonl(file: IO[str], records: Iterable[Record]) -> int:
    """Write records as JSON Lines, and return how many there were."""
    written = 0
    for record in records:
        file.write(msgspec.json.encode(record).decode() + "\n")
        written += 1
    return written


def _write_csv(file: IO[str], records: Iterable[Record]) -> int:
    rows = csv.writer(file, lineterminator="\n")
    columns: list[str] = []
    written = 0
    for record in records:
        if not written:
            columns = list(record)
            rows.writerow(columns)
        elif record.keys() != set(columns):
            raise ParameterError(f"round {written} has other features than round 0; write .jsonl instead")
        rows.writerow([record[column] for column in columns])
        written += 1
    return written


_FORMATS: dict[str, Callable[[IO[str], Iterable[Record]], int]] = {".jsonl": write_jsonl, ".csv": _write_csv}


@contextlib.contextmanager
def _replaced(target: Path) -> Iterator[IO[str]]:
    """Open a file beside the target that takes its place if all goes well, and goes if not."""
    try:
        if target.exists() and not target.is_file():
            raise StreamlearnError(f"{target}: is not a regular file; choose the name of a file")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise StreamlearnError(
            f"{target}: cannot be written ({error.strerror}); choose a writable place"
        ) from None
