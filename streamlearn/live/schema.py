"""The tables of a live run's store, and how an older file is brought up to date."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from streamlearn.errors import StateError
from streamlearn.live.database import Database

APPLICATION: Final = 0x73_74_6C_6E
"""sqlite's application id of our files: "stln"."""

# Step i brings format i to i + 1. A step that was released is never changed.
STEPS: Final = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE positions (partition TEXT PRIMARY KEY, position BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE sessions (key TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE outbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL,
        payload BLOB NOT NULL
    );
    CREATE TABLE counters (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE ledger (
        mechanism TEXT, round INTEGER, epsilon REAL NOT NULL, answers INTEGER NOT NULL,
        PRIMARY KEY (mechanism, round)
    ) WITHOUT ROWID;
    CREATE TABLE events (
        key TEXT, event_id TEXT, round INTEGER, x BLOB, y INTEGER, number INTEGER NOT NULL,
        PRIMARY KEY (key, event_id)
    ) WITHOUT ROWID;
    CREATE INDEX events_pending ON events (key, round) WHERE x IS NOT NULL;
    CREATE INDEX events_by_age ON events (number);
    """,
    """
    CREATE TABLE unacknowledged (partition TEXT, position BLOB, PRIMARY KEY (partition, position)) WITHOUT ROWID;
    """,
    """
    CREATE TABLE recent (number INTEGER PRIMARY KEY, states BLOB NOT NULL);
    """,
    # Under another name: a process of an older version that still runs beside this one must fail, not mistake it.
    """
    CREATE TABLE ahead (partition TEXT, place BLOB, PRIMARY KEY (partition, place)) WITHOUT ROWID;
    INSERT INTO ahead SELECT partition, sortable(position) FROM unacknowledged;
    DROP TABLE unacknowledged;
    """,
)
FORMAT: Final = len(STEPS)


def sortable(position: Iterable[int]) -> bytes:
    """Return a position as bytes that compare as positions do.

    Examples
    --------
    >>> from streamlearn.live.schema import sortable
    >>> sortable((7,)) < sortable((7, 9)) < sortable((7, 10)) < sortable((300,))
    True
    """
    return b"".join(number.to_bytes(8, "big") for number in position)


def bring_up_to_date(db: Database, path: str) -> None:
    """Make the tables of a new file, or those an older file lacks, in one transaction.

    Raises
    ------
    StateError
        If the file is newer than this version, or is another program's.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        found = format_of(db, path)
        db.create_function("sortable", 1, lambda position: sortable(json.loads(position)))
        for step in STEPS[found:]:
            for statement in filter(str.strip, step.split(";")):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
    except BaseException:
        if db.in_transaction:  # a full disk ends it at once
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def format_of(db: Database, path: str) -> int:
    """Return the format of a file of ours, 0 for an empty one.

    Raises
    ------
    StateError
        If the file is newer than this version, or is another program's.
    """
    found, application, tables = (
        int(db.execute(question).fetchone()[0])
        for question in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    if application != APPLICATION and (found or application or tables):
        raise StateError(f"{path}: is another program's database; name another file")
    if found > FORMAT:
        raise StateError(
            f"{path}: format {found} is newer than {FORMAT}, the newest read here; upgrade streamlearn"
        )
    return found
