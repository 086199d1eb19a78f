"""Which events of a predictor's streams are open and which were answered: on disk, so that memory stays bounded."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from streamlearn.live.database import sound
from streamlearn.live.store import Store
from streamlearn.ordered import instance_from_plain, instance_to_plain


class Event(NamedTuple):
    """What is known of an event.

    Parameters
    ----------
    round
        The round it was asked as; None where only its label has come.
    open
        Whether it awaits its label.
    label
        A label that came before its instance.
    """

    round: int | None
    open: bool
    label: bool | None


class Events:
    """The events of all keys, within the store's transaction.

    Parameters
    ----------
    store
        Where they are kept.
    remember
        How many events are remembered after they ended, the latest: a duplicate of an older one is taken for new.
    """

    def __init__(self, store: Store, remember: int) -> None:
        self._store = store
        self._remember = remember
        self._number: int | None = None

    def find(self, key: str, event_id: str) -> Event | None:
        """Return what is known of an event, None for a new one."""
        row = self._store.execute(
            "SELECT round, x IS NOT NULL, y FROM events WHERE key = ? AND event_id = ?", (key, event_id)
        ).fetchone()
        if row is None:
            return None
        with sound(self._store.path):
            number, waits, label = msgspec.convert(row, tuple[int | None, int, int | None])
        return Event(number, bool(waits), None if label is None else bool(label))

    def open(self, key: str, event_id: str, round: int, x: Any) -> None:  # noqa: A002 - the field's own word
        """Take note that an instance was asked and awaits its label."""
        plain = msgspec.json.encode(instance_to_plain(x))
        self._store.execute(
            "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, NULL, ?)",
            (key, event_id, round, plain, self._next()),
        )

    def instance(self, key: str, event_id: str) -> Any:
        """Return the instance of an open event."""
        row = self._store.execute(
            "SELECT x FROM events WHERE key = ? AND event_id = ?", (key, event_id)
        ).fetchone()
        with sound(self._store.path):
            return instance_from_plain(msgspec.json.decode(row[0]))

    def end(self, key: str, event_id: str, round: int) -> None:  # noqa: A002 - as above
        """Take note that an event was answered, or given up; its instance is forgotten."""
        self._store.execute(
            "INSERT OR REPLACE INTO events VALUES (?, ?, ?, NULL, NULL, ?)",
            (key, event_id, round, self._next()),
        )

    def hold(self, key: str, event_id: str, y: bool) -> None:
        """Keep a label that came before its instance."""
        self._store.execute(
            "INSERT INTO events VALUES (?, ?, NULL, NULL, ?, ?)", (key, event_id, y, self._next())
        )

    def oldest(self, key: str) -> tuple[str, int]:
        """Return the event id and round of the open event asked first."""
        found = self._store.execute(
            "SELECT event_id, round FROM events WHERE key = ? AND x IS NOT NULL ORDER BY round LIMIT 1",
            (key,),
        ).fetchone()
        with sound(self._store.path):
            return msgspec.convert(found, tuple[str, int])

    def forget(self) -> None:
        """Forget what ended longest ago, beyond what is to be remembered."""
        if self._number is not None:
            self._store.execute(
                "DELETE FROM events WHERE number <= ? AND x IS NULL", (self._number - self._remember,)
            )

    def begin(self) -> None:
        """Count anew: another process may have added events, or the last batch was undone."""
        self._number = None

    def _next(self) -> int:
        if self._number is None:
            row = self._store.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()
            with sound(self._store.path):
                (self._number,) = msgspec.convert(row, tuple[int])
        self._number += 1
        return self._number
