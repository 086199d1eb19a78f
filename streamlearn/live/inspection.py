"""What a store holds, read beside a run that goes on. Nothing in the file changes, and its secret is never read."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec

from streamlearn.errors import ParameterError, StateError, StreamlearnError
from streamlearn.live.messages import Position
from streamlearn.live.schema import APPLICATION, FORMAT
from streamlearn.live.store import Store

Figures: TypeAlias = dict[str, Any]


def inspect(path: str | Path, key: str | None = None) -> Figures:
    """Return what a store holds, as plain JSON types.

    Parameters
    ----------
    path
        The store's file. A run may hold it meanwhile; all figures are of one moment.
    key
        Also say where the agent of this key is.

    Returns
    -------
    dict
        ``run``, ``agent`` (None before the first run), ``format``, ``positions``, ``keys``, ``counters``, ``outbox``
        (messages that are not known to be published), ``unacknowledged``, ``events`` and ``ledger``.

    Raises
    ------
    StateError
        If the file is no store, or of a newer format.
    StreamlearnError
        If it cannot be read.
    ParameterError
        If there is no such key.

    Examples
    --------
    >>> from streamlearn.live import Store
    >>> from streamlearn.live.inspection import inspect
    >>> with Store("run.db", run="example") as store, store.transaction():
    ...     store.advance({"reports": (17,)})
    >>> figures = inspect("run.db")
    >>> figures["run"], figures["positions"], figures["keys"]
    ('example', {'reports': [17]}, 0)
    """
    with _reading(path) as db:
        found = _figures(db)
        if key is not None:
            found["key"] = _key_figures(db, key)
    return found


def copy_of(path: str | Path, *, run: str | None = None) -> Store:
    """Return a copy of a store in memory, to try things on; of a file that is not there, a new one.

    Parameters
    ----------
    path
        The store's file.
    run
        The run's name, as for :class:`~streamlearn.live.Store`.

    Raises
    ------
    StateError, StreamlearnError
        As :func:`inspect`, or if the store belongs to another run.

    Examples
    --------
    >>> from streamlearn.live.inspection import copy_of
    >>> with copy_of("missing.db", run="example") as store:
    ...     store.run
    'example'
    """
    if not Path(path).exists():
        return Store(":memory:", run=run)
    with tempfile.TemporaryDirectory() as folder:  # readable by its owner alone, as the store is
        twin = str(Path(folder, "run.db"))
        with _reading(path) as db, contextlib.closing(sqlite3.connect(twin)) as target:
            db.backup(target)
        try:
            with Store(twin, run=run, durability="normal") as store:
                return store.copy()
        except StateError as error:
            raise StateError(str(error).replace(twin, str(path))) from None


@contextlib.contextmanager
def _reading(path: str | Path) -> Iterator[sqlite3.Connection]:
    """Open a store to read it as it is at one moment."""
    try:
        with contextlib.closing(_opened(Path(path))) as db:
            db.execute("BEGIN")
            _check_format(db, path)
            yield db
    except sqlite3.OperationalError as error:
        raise StreamlearnError(f"{path}: cannot be read ({error}); name the file of a live run") from None
    except sqlite3.DatabaseError:
        raise StateError(f"{path}: is no store of a live run; name another file") from None


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StreamlearnError(f"{path}: is no file; name the file of a live run (serve --store)")
    # Whoever holds a store has its log beside it. Without one nobody writes, and sqlite needs no files of its own.
    held = path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path.absolute()))}?mode=ro" + ("" if held else "&immutable=1")
    return sqlite3.connect(address, uri=True, isolation_level=None)


def _check_format(db: sqlite3.Connection, path: str | Path) -> None:
    found, application = (_number(db, f"PRAGMA {name}") for name in ("user_version", "application_id"))
    if application != APPLICATION:
        raise StateError(f"{path}: is no store of a live run; name another file")
    if found > FORMAT:
        raise StateError(
            f"{path}: format {found} is newer than {FORMAT}, the newest read here; upgrade streamlearn"
        )


def _figures(db: sqlite3.Connection) -> Figures:
    facts = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('run', 'agent')").fetchall())
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {
        "run": facts.get("run"),
        "agent": facts.get("agent"),
        "format": _number(db, "PRAGMA user_version"),
        "positions": {
            partition: list(msgspec.json.decode(position, type=Position))
            for partition, position in db.execute("SELECT * FROM positions ORDER BY partition")
        },
        "keys": _number(db, "SELECT count(*) FROM sessions"),
        "counters": dict(db.execute("SELECT name, count FROM counters ORDER BY name").fetchall()),
        "outbox": _number(db, "SELECT count(*) FROM outbox"),
        # Format 1 had none.
        "unacknowledged": _number(db, "SELECT count(*) FROM unacknowledged")
        if "unacknowledged" in tables
        else 0,
        "events": {
            "open": _number(db, "SELECT count(*) FROM events WHERE x IS NOT NULL"),
            "early_labels": _number(db, "SELECT count(*) FROM events WHERE round IS NULL"),
            "ended": _number(db, "SELECT count(*) FROM events WHERE x IS NULL AND round IS NOT NULL"),
        },
        "ledger": _ledger(db),
    }


def _ledger(db: sqlite3.Connection) -> Figures:
    """Return who was asked for what: all answers, the most that one of them spent, and each mechanism's rounds."""
    rows = db.execute("SELECT mechanism, round, epsilon, answers FROM ledger ORDER BY mechanism, round")
    entries = [
        {"mechanism": mechanism, "round": number, "epsilon": epsilon, "answers": answers}
        for mechanism, number, epsilon, answers in rows
    ]
    return {
        "answers": sum(entry["answers"] for entry in entries),
        "most_epsilon": max((entry["epsilon"] for entry in entries), default=0.0),
        "entries": entries,
    }


def _key_figures(db: sqlite3.Connection, key: str) -> Figures:
    """Return where one agent is. What it has learned, and the ids of people's events, stay in the store."""
    row = db.execute("SELECT state FROM sessions WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise ParameterError(f"key {key!r} is not in the store; the messages of this run name others")
    try:
        saved = msgspec.json.decode(row[0], type=_Saved)
        body = _Body() if saved.asked is not None else msgspec.json.decode(saved.agent.body, type=_Body)
    except msgspec.MsgspecError:
        raise StateError(f"the saved session of key {key!r} cannot be read; restore the store") from None
    found: Figures = {"key": key, "agent": saved.agent.kind}
    if saved.asked is None:
        early = sorted(map(int, saved.early)) if isinstance(saved.early, dict) else []
        return {**found, "round": body.round, "stopped": body.stopped, "early_rounds": early}
    return {**found, "asked": saved.asked, "open": saved.open, "early_labels": saved.early}


class _Body(msgspec.Struct):
    round: int | None = None
    stopped: bool | None = None


class _Agent(msgspec.Struct):
    kind: str
    body: msgspec.Raw


class _Saved(msgspec.Struct):
    """What may be shown of either kind of session."""

    agent: _Agent
    asked: int | None = None
    open: int | None = None
    early: int | dict[str, Any] = 0


def _number(db: sqlite3.Connection, question: str) -> int:
    return int(db.execute(question).fetchone()[0])
