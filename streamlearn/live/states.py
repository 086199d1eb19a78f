"""The saved sessions of all keys: a table, and before it a journal of what the latest batches changed.

A batch touches many keys. One row of the journal holds all of them and costs far less than a row of the table each;
now and then the journal is folded into the table, which by then takes many changes of one key at once. Both lie in
the same file, and all of it happens within the store's transactions.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from streamlearn.live.database import Database, sound

MOST_RECENT: Final = 50_000
"""Sessions in the journal, repeats included: beyond, it is folded."""

_decode = msgspec.msgpack.Decoder(tuple[bytes, dict[str, bytes]]).decode


class States:
    """Saved sessions by their keys.

    Parameters
    ----------
    db
        The store's connection; its owner begins and ends the transactions.

    Examples
    --------
    >>> from streamlearn.live import Store
    >>> store = Store(":memory:")
    >>> with store.transaction():
    ...     store.save_sessions({"job 2": b"{}", "job 1": b"{}"})
    ...     store.save_sessions({"job 2": b"[]"})
    >>> list(store.sessions()), store.session("job 3")
    ([('job 1', b'{}'), ('job 2', b'[]')], None)
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._recent: dict[str, bytes] | None = None
        self._saved = 0

    def find(self, key: str) -> bytes | None:
        """Return the saved session of a key, None for a new one."""
        found = self._latest().get(key)
        if found is None:
            row = self._db.execute("SELECT state FROM sessions WHERE key = ?", (key,)).fetchone()
            with sound(self._db.path):
                found = None if row is None else memoryview(row[0]).tobytes()
        return found

    def save(self, sessions: Mapping[str, bytes]) -> None:
        """Save sessions, in place of earlier ones of their keys."""
        if not sessions:
            return
        recent = self._latest()
        if self._saved >= MOST_RECENT:
            self.fold()
            recent = self._latest()
        self._db.execute("INSERT INTO recent (states) VALUES (?)", (_packed(sessions),))
        recent.update(sessions)
        self._saved += len(sessions)

    def fold(self) -> None:
        """Move the journal into the table."""
        # In the order of the keys, so that neighbours in the file are written together.
        rows = sorted(self._latest().items())
        self._db.executemany("INSERT OR REPLACE INTO sessions VALUES (?, ?)", rows)
        self._db.execute("DELETE FROM recent")
        self.forget()

    def forget(self) -> None:
        """Read the journal anew when it is next needed: a transaction was undone, or another process has written."""
        self._recent = None

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over all keys and their saved sessions, in the order of the keys."""
        table = dict(self._db.execute("SELECT key, state FROM sessions"))
        return iter(sorted((table | journal(self._db)).items()))

    def _latest(self) -> dict[str, bytes]:
        """Return the journal: the latest session of every key in it."""
        if self._recent is None:
            self._recent, self._saved = _journal(self._db)
        return self._recent


def journal(db: Database) -> dict[str, bytes]:
    """Return what the journal of a store holds: the latest session of every key in it."""
    return _journal(db)[0]


def _journal(db: Database) -> tuple[dict[str, bytes], int]:
    """Return the latest sessions in the journal, and how many it holds in all."""
    latest: dict[str, bytes] = {}
    saved = 0
    for (row,) in db.execute("SELECT states FROM recent ORDER BY number"):
        with sound(db.path):
            sessions = _unpacked(row)
        latest |= sessions
        saved += len(sessions)
    return latest, saved


def _packed(sessions: Mapping[str, bytes]) -> bytes:
    """Return one row; what all its sessions begin with, most of each as a rule, is written once."""
    common = os.path.commonprefix(list(sessions.values()))  # noqa: RUF071 - these are no paths
    size = len(common)
    return msgspec.msgpack.encode((common, {key: state[size:] for key, state in sessions.items()}))


def _unpacked(row: bytes) -> dict[str, bytes]:
    common, rest = _decode(row)
    return {key: common + end for key, end in rest.items()}
