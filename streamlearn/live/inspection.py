"""A look into a run's store that changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from streamlearn.errors import ParameterError, StateError
from streamlearn.live import schema
from streamlearn.live.database import Database, damaged, read, sound
from streamlearn.live.places import Places
from streamlearn.live.predictors import PredictorSaved
from streamlearn.live.states import journal
from streamlearn.live.stoppers import StopperSaved


def inspect(path: str | Path, key: str | None = None) -> dict[str, Any]:
    """Return what a run's store holds, without its secret. A run may be at work on it.

    Parameters
    ----------
    path
        The store.
    key
        Also say where the agent of this key is.

    Returns
    -------
    dict
        ``run``, ``agent``, ``format``, ``positions``, ``keys`` (their number), ``counters``, ``events`` (of
        predictors: open, early, ended and remembered), ``outbox``, ``unacknowledged``, ``ledger`` and, where it was
        asked for, ``key``.

    Raises
    ------
    StateError
        If the file is no store, or newer than this version.
    ParameterError
        If the run does not know the key.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.live import Message, Runner, Store
    >>> from streamlearn.live.inspection import inspect
    >>> stopper = LDPOptimalStopper([1.0, 0.5], epsilon=1.0)
    >>> with Store("run.db", run="example") as store:
    ...     runner = Runner(lambda key: stopper.clone(), store)
    ...     decided = runner.process([Message("log", (1,), b'{"key":"job 1","round":1,"bit":1}')])
    >>> found = inspect("run.db", key="job 1")
    >>> found["positions"], found["keys"], found["key"]
    ({'log': (1,)}, 1, {'key': 'job 1', 'round': 1, 'stopped': True, 'early': 0})
    """
    place = Path(path)
    if place.is_dir():
        raise StateError(f"{place}: is a directory; name the file that serve --store named")
    if not place.is_file():
        raise StateError(f"{place}: there is no such file; name the one that serve --store named")
    return read(place, lambda db: _found(db, str(place), key))


def _found(db: Database, path: str, key: str | None) -> dict[str, Any]:
    with sound(path):
        return _contents(db, path, key)


def _contents(db: Database, path: str, key: str | None) -> dict[str, Any]:
    number = schema.format_of(db, path)
    if not number:
        raise StateError(f"{path}: is empty; name the store of a run")
    db.execute("BEGIN")  # one moment of a run that goes on
    facts = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('run', 'agent')"))
    if {type(it) for it in facts.values()} > {str} or "run" not in facts:
        raise damaged(path)
    recent = journal(db) if number > 2 else {}
    found = {
        "run": facts.get("run"),
        "agent": facts.get("agent"),
        "format": number,
        "positions": dict(sorted(Places(db).positions().items())),
        "keys": _count(db, "sessions") + sum(_in_table(db, it) is None for it in recent),
        "counters": _counters(db),
        "events": {
            "open": _count(db, "events WHERE x IS NOT NULL"),
            "early": _count(db, "events WHERE y IS NOT NULL"),
            "ended": _count(db, "events WHERE x IS NULL AND y IS NULL"),
        },
        "outbox": _count(db, "outbox"),
        "unacknowledged": _count(db, "ahead" if number > 3 else "unacknowledged") if number > 1 else 0,
        "ledger": _ledger(db),
    }
    return found if key is None else found | {"key": _session(key, recent.get(key) or _in_table(db, key))}


def _counters(db: Database) -> dict[str, int]:
    rows = db.execute("SELECT name, count FROM counters ORDER BY name").fetchall()
    return dict(msgspec.convert(rows, list[tuple[str, int]]))


def _count(db: Database, what: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])  # noqa: S608 - our own words, above


def _ledger(db: Database) -> dict[str, Any]:
    columns = ("mechanism", "round", "epsilon", "answers")
    rows = db.execute(
        "SELECT mechanism, round, epsilon, answers FROM ledger ORDER BY mechanism, round"
    ).fetchall()
    checked = msgspec.convert(rows, list[tuple[str, int, float, int]])
    entries: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in checked]
    return {
        "answers": sum(entry["answers"] for entry in entries),
        "most_epsilon": max((entry["epsilon"] for entry in entries), default=0.0),
        "entries": entries,
    }


def _in_table(db: Database, key: str) -> bytes | None:
    row = db.execute("SELECT state FROM sessions WHERE key = ?", (key,)).fetchone()
    return None if row is None else memoryview(row[0]).tobytes()


def _session(key: str, state: bytes | None) -> dict[str, Any]:
    if state is None:
        raise ParameterError(f"key {key!r} is not one of this run's; it has sent nothing that could be used")
    if "asked" in msgspec.json.decode(state, type=dict[str, Any]):
        stream = msgspec.json.decode(state, type=PredictorSaved)
        return {"key": key, "asked": stream.asked, "open": stream.open, "early": stream.early}
    problem = msgspec.json.decode(state, type=StopperSaved)
    body = problem.agent["body"]
    return {"key": key, "round": body["round"], "stopped": body["stopped"], "early": len(problem.early)}
