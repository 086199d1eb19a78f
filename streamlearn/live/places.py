"""Which messages were processed: a position a partition, and what a group has processed ahead of it.

A group hands messages out in any order, and again: to their owner, and to another while the owner is slow. So of a
partition that a group reads every message that was processed is kept by its place, from the transaction that processed
it until the partition's position has reached it. That position is one up to which the group has nothing left that is
not acknowledged, and a message is acknowledged only after it was processed.

Hence, at any time, a message that was given out was processed if, and only if, it lies at or before the position or is
kept. Whoever processes it asks within the transaction, when nobody else can commit: so it does not matter who holds it,
since when, and what any clock says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from streamlearn.live.database import Database, sound
from streamlearn.live.messages import Message, Position
from streamlearn.live.schema import sortable

Place: TypeAlias = tuple[str, Position]
"""Where a message lies: its partition and position."""


class Places:
    """The account of a store; its owner begins and ends the transactions.

    Parameters
    ----------
    db
        The store's connection.

    Examples
    --------
    >>> from streamlearn.live import Message, Store
    >>> store = Store(":memory:")
    >>> with store.transaction():
    ...     store.advance({"reports": (3,)})
    ...     store.go_ahead([("reports", (5,))])
    >>> sorted(store.processed(Message("reports", (i,), b"", ordered=False) for i in (3, 4, 5)))
    [('reports', (3,)), ('reports', (5,))]
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    def positions(self) -> dict[str, Position]:
        """Return the positions by their partitions."""
        rows = self._db.execute("SELECT partition, position FROM positions").fetchall()
        with sound(self._db.path):
            return {str(partition): _position(saved) for partition, saved in rows}

    def advance(self, positions: Mapping[str, Position]) -> None:
        """Move to these positions, and forget what was ahead and is not any more."""
        rows = [(partition, msgspec.json.encode(position)) for partition, position in positions.items()]
        self._db.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?)", rows)
        reached = [(partition, sortable(position)) for partition, position in positions.items()]
        self._db.executemany("DELETE FROM ahead WHERE partition = ? AND place <= ?", reached)

    def catch_up(self, positions: Mapping[str, Position]) -> None:
        """Move to those of these positions that are later: who tells of them may be late."""
        if positions:
            now = self.positions()
            self.advance({name: it for name, it in positions.items() if it > now.get(name, ())})

    def go_ahead(self, places: Iterable[Place]) -> None:
        """Remember messages that were processed ahead of the position."""
        rows = [(partition, sortable(position)) for partition, position in places]
        self._db.executemany("INSERT OR IGNORE INTO ahead VALUES (?, ?)", rows)

    def processed(self, messages: Iterable[Message]) -> set[Place]:
        """Return the places of those messages that were processed; in order, only of those a group has processed."""
        given = list(messages)
        if all(it.ordered for it in given) and not self._any_ahead():
            return set()  # a reader of an ordered log has its position at hand
        now = self.positions()
        return {
            (it.partition, it.position)
            for it in given
            if it.position <= now.get(it.partition, ()) or self._is_ahead(it)
        }

    def _any_ahead(self) -> bool:
        return self._db.execute("SELECT 1 FROM ahead LIMIT 1").fetchone() is not None

    def _is_ahead(self, message: Message) -> bool:
        row = (message.partition, sortable(message.position))
        found = self._db.execute("SELECT 1 FROM ahead WHERE partition = ? AND place = ?", row)
        return found.fetchone() is not None


def _position(saved: Any) -> Position:
    """Return a position as it was saved.

    Raises
    ------
    ValueError
        If it is none.
    """
    found = msgspec.json.decode(saved, type=Position)
    if not all(0 <= number < 1 << 64 for number in found):
        raise ValueError
    return found
