"""Logs in every format, how they are read to their end, and how what was read is written again."""

from __future__ import annotations

import atexit
import functools
import gzip
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from fuzzing import SECRET, Decoder

from streamlearn.replays import read_examples, read_stream

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz"))
"""Where logs and memories are written to be read."""
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def written(data: bytes, name: str = "input") -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    return path


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def csv_of(rows: list[dict[str, Any]]) -> bytes:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return "\n".join(lines).encode() + b"\n"


def parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


PEOPLE_ROWS = [
    {"episode": f"e{i // 2}", "value": float(SECRET) if i == 3 else i / 4, "time": i} for i in range(6)
]
EXAMPLE_ROWS = [
    {"height": i / 2, "name": SECRET if i == 2 else f"n{i}", "t": i, "due": i + 2, "y": i % 2}
    for i in range(5)
]
FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "csv": csv_of,
    "csv.gz": lambda rows: gzip.compress(csv_of(rows), mtime=0),
    "jsonl": jsonl,
    "jsonl.gz": lambda rows: gzip.compress(jsonl(rows), mtime=0),
    "parquet": parquet,
}

Episodes = list[tuple[Any, list[float]]]


def episodes(data: bytes, *, piped: bool = False, **options: Any) -> Episodes | None:
    """Read a log of values to its end, from a file or from standard input."""
    if piped:
        with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))):
            found = [(it.id, it.values.tolist()) for it in read_stream("-", **options)]
    else:
        found = [(it.id, it.values.tolist()) for it in read_stream(written(data), **options)]
    return found or None


def log_of(found: Episodes) -> bytes:
    return jsonl([{"episode": name, "value": value} for name, values in found for value in values])


Examples = tuple[str, list[tuple[Any, bool]]]


def examples(data: bytes, **options: Any) -> Examples | None:
    """Read a log of examples to its end."""
    stream = read_examples(written(data), **options)
    found = list(stream)
    return (stream.columns.label, found) if found else None


def log_of_examples(found: Examples) -> bytes:
    label, pairs = found
    names = dict.fromkeys(name for x, _ in pairs for name in x)
    return jsonl([{"": None} | {name: x.get(name) for name in names} | {label: int(y)} for x, y in pairs])


def schedule(data: bytes) -> list[Any] | None:
    return list(read_examples(written(data), time="t", labelled="due").schedule(None)) or None


def log_of_schedule(found: list[Any]) -> bytes:
    return jsonl([{"t": now, "due": due, "id": 0, "y": int(y)} for now, due, (_, y) in found])


def of_logs() -> list[Decoder]:
    found = []
    for form, write in FORMATS.items():
        values, labelled = write(PEOPLE_ROWS), write(EXAMPLE_ROWS)
        found += [
            Decoder(f"stream from {form}", episodes, log_of, (values,)),
            Decoder(f"examples from {form}", examples, log_of_examples, (labelled,)),
        ]
    both = csv_of(PEOPLE_ROWS), jsonl(PEOPLE_ROWS)
    skip = functools.partial(episodes, on_error="skip", sort=True, horizon=2)
    return [
        *found,
        Decoder("stream from standard input", functools.partial(episodes, piped=True), log_of, both),
        Decoder("stream with rows left out", skip, log_of, both),
        Decoder(
            "examples with rows left out",
            functools.partial(examples, on_error="skip"),
            log_of_examples,
            (csv_of(EXAMPLE_ROWS), jsonl(EXAMPLE_ROWS)),
        ),
        Decoder("schedule", schedule, log_of_schedule, (csv_of(EXAMPLE_ROWS), jsonl(EXAMPLE_ROWS))),
    ]
