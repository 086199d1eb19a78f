"""Everything a live run must not forget, in one sqlite file: agents, positions, what is still to be published.

One transaction a batch: the states of the agents, the place in the source and the outbox change together or not at all.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

import msgspec

from streamlearn.errors import ParameterError, StateError, StreamlearnError
from streamlearn.live import database, schema
from streamlearn.live.messages import Message, Position
from streamlearn.live.places import Place, Places
from streamlearn.live.states import States
from streamlearn.randomness import Key

Durability = Literal["full", "normal"]
Channel = Literal["decision", "dead"]
TABLES: Final = (
    "facts",
    "positions",
    "sessions",
    "recent",
    "outbox",
    "counters",
    "ledger",
    "events",
    "ahead",
)


class Outgoing(NamedTuple):
    """A message that waits to be published.

    Parameters
    ----------
    number
        Its place in the outbox; later ones are greater.
    channel
        ``"decision"`` or ``"dead"``.
    id, key
        Its name, the same whenever it is published again; and the key it belongs to.
    payload
        JSON.

    Examples
    --------
    >>> from streamlearn.live import Outgoing
    >>> Outgoing(1, "decision", "0f", "job 1", b"{}").payload
    b'{}'
    """

    number: int
    channel: Channel
    id: str
    key: str
    payload: bytes


class Store:
    """The memory of a live run.

    Parameters
    ----------
    path
        The sqlite file, made where there is none, readable by its owner alone: it holds the run's secret key.
        ``":memory:"`` for tests.
    run
        The run's name, from which the ids of its decisions are made; a random one by default. A store keeps its own.
    durability
        ``"full"``: what was committed survives a power cut. ``"normal"``: it survives a killed process, and a power
        cut may undo the last batches, whole.

    Raises
    ------
    StateError
        If the file is no store, is damaged, is newer than this version, or belongs to another run.
    StreamlearnError
        If it cannot be opened or written.
    ParameterError
        If ``durability`` is neither.

    Examples
    --------
    >>> from streamlearn.live import Store
    >>> with Store(":memory:", run="example") as store:
    ...     store.positions()
    {}
    """

    def __init__(self, path: str | Path, *, run: str | None = None, durability: Durability = "full") -> None:
        if durability not in {"full", "normal"}:
            raise ParameterError(f"durability must be 'full' or 'normal', got {durability!r}")
        self.path = str(path)
        self._published = 0
        self._acknowledged: dict[str, Position] = {}
        self._owing = False  # whether there is something to forget
        self._db, self.made = database.opened(self.path)
        self._states, self._places = States(self._db), Places(self._db)
        try:
            schema.bring_up_to_date(self._db, self.path)  # first: another program's file is left as it is
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute(f"PRAGMA synchronous = {durability}")
            if self.path != ":memory:":
                database.make_private(self.path)
            self.run = self._named(run)
            self._version = self._data_version()
        except BaseException:
            self._db.close()
            if self.made:
                database.remove(self.path)
            raise

    def _named(self, run: str | None) -> str:
        if run is not None and not (run and run.isprintable()):
            raise ParameterError("run must be a name of at least one character, all of them printable")
        with self.transaction():
            kept = self.kept("run")
            if kept is None:
                if not self.empty(*TABLES):  # under a new name it would publish all again
                    raise database.damaged(self._db.path)
                kept = run if run is not None else Key.generate().fingerprint
                self.keep("run", kept)
        if run is not None and run != kept:
            raise StateError(
                f"run is {run!r} and {self.path} belongs to run {kept!r}; leave run out, or name another file"
            )
        return kept

    # --- transactions

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes within it together, or none; other processes wait.

        Examples
        --------
        >>> from streamlearn.live import Store
        >>> store = Store(":memory:", run="example")
        >>> with store.transaction():
        ...     store.advance({"reports": (17,)})
        >>> store.positions()
        {'reports': (17,)}
        """
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._forget()
            self._db.execute("COMMIT")
            self._owing = False
        except BaseException:
            if self._db.in_transaction:  # a full disk ends it at once
                self._db.execute("ROLLBACK")
            self._states.forget()
            raise

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Within a transaction, undo what is done here if it raises."""
        self._db.execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK TO attempt")
            raise
        finally:
            self._db.execute("RELEASE attempt")

    def execute(self, statement: str, row: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Run one statement on the tables."""
        return self._db.execute(statement, tuple(row))

    def empty(self, *tables: str) -> bool:
        """Return whether nothing is in any of these tables."""
        return all(self._db.execute(f"SELECT 1 FROM {it} LIMIT 1").fetchone() is None for it in tables)  # noqa: S608 - our own words

    def catch_up(self) -> bool:
        """Return whether another process has written to the store since this was last asked."""
        before, self._version = self._version, self._data_version()
        if before == self._version:
            return False
        self._states.forget()
        self._states.fold()  # or each of two that take turns would read the other's whole journal again and again
        return True

    def _data_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    # --- small facts

    def kept(self, name: str) -> str | None:
        """Return a fact about the run, None where there is none."""
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if row is not None and type(row[0]) is not str:
            raise database.damaged(self._db.path)
        return None if row is None else row[0]

    def keep(self, name: str, value: str) -> None:
        """Keep a fact about the run."""
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def secret(self) -> Key:
        """Return the run's secret key, made at its first use: after a restart all draws are the same.

        Examples
        --------
        >>> from streamlearn.live import Store
        >>> store = Store(":memory:")
        >>> store.secret() == store.secret()
        True
        """
        kept = self.kept("secret")
        if kept is None:
            with self.transaction():
                kept = self.kept("secret")
                if kept is None:
                    kept = Key.generate().secret.hex()
                    self.keep("secret", kept)
        with database.sound(self._db.path):
            secret = bytes.fromhex(kept)
        if len(secret) != len(Key.generate().secret):
            raise database.damaged(self._db.path)
        return Key(secret)

    # --- where in the source

    def positions(self) -> dict[str, Position]:
        """Return the last position processed, by partition; of a group, the last with none left before it."""
        return self._places.positions()

    def advance(self, positions: Mapping[str, Position]) -> None:
        """Move on to these positions: all up to there was processed, or never will be."""
        self._places.advance(positions)

    def begin(self, positions: Mapping[str, Position]) -> None:
        """Keep where partitions begin; of those that have a position nothing changes."""
        if positions:
            with self.transaction():
                self._places.advance(dict(positions) | self.positions())

    def processed(self, messages: Iterable[Message]) -> set[Place]:
        """Return the places of those messages, of partitions that a group reads or has read, that were processed."""
        return self._places.processed(messages)

    def go_ahead(self, places: Iterable[Place]) -> None:
        """Remember messages of a group that were processed ahead of their partition's position."""
        self._places.go_ahead(places)

    def acknowledged(self, positions: Mapping[str, Position]) -> None:
        """Take note that a group has nothing left up to these positions. It is written with the next transaction.

        A process that is killed before, or that is told late, leaves the positions where they were; that costs room.
        """
        self._acknowledged |= positions
        self._owing = True

    # --- agents

    def session(self, key: str) -> bytes | None:
        """Return the saved session of a key, None for a new one."""
        return self._states.find(key)

    def save_sessions(self, sessions: Mapping[str, bytes]) -> None:
        """Save sessions by their keys."""
        self._states.save(sessions)

    def sessions(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over all keys and their saved sessions, in the order of the keys."""
        return iter(self._states)

    # --- what goes out

    def send(self, messages: Iterable[tuple[Channel, str, str, bytes]]) -> None:
        """Put (channel, id, key, payload) in the outbox."""
        self._db.executemany("INSERT INTO outbox (channel, id, key, payload) VALUES (?, ?, ?, ?)", messages)

    def unpublished(self, most: int) -> list[Outgoing]:
        """Return the oldest messages of the outbox that are not known to be published."""
        rows = self._db.execute(
            "SELECT number, channel, id, key, payload FROM outbox WHERE number > ? ORDER BY number LIMIT ?",
            (self._published, most),
        )
        with database.sound(self._db.path):
            return msgspec.convert(rows.fetchall(), list[Outgoing])

    def newest(self) -> int:
        """Return the number of the latest message in the outbox, 0 where it is empty."""
        with database.sound(self._db.path):
            return int(self._db.execute("SELECT coalesce(max(number), 0) FROM outbox").fetchone()[0])

    def published(self, number: int) -> None:
        """Take note that the outbox up to ``number`` is out. It is forgotten with the next transaction.

        A process that is killed before publishes these messages again, under the same ids.
        """
        self._published = max(self._published, number)
        self._owing = True

    def flush(self) -> None:
        """Forget what was published, at once; costs nothing where there is nothing to forget."""
        if self._owing:
            with self.transaction():
                pass

    @contextlib.contextmanager
    def publishing(self) -> Iterator[bool]:
        """Be the only process that publishes from this store; False while another one does, which will see to it."""
        if self.path == ":memory:":
            yield True
            return
        import fcntl  # noqa: PLC0415 - POSIX only

        with open(f"{self.path}-publishing", "a", opener=database.private) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def _forget(self) -> None:
        """Forget what is done with: what was published, and what its group will not hand out again."""
        self._places.catch_up(self._acknowledged)
        if self._published:
            self._db.execute("DELETE FROM outbox WHERE number <= ?", (self._published,))

    # --- counts

    def count(self, counts: Mapping[str, int]) -> None:
        """Add to counters."""
        self._db.executemany(
            "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
            counts.items(),
        )

    def counters(self) -> dict[str, int]:
        """Return all counters by name."""
        rows = self._db.execute("SELECT name, count FROM counters ORDER BY name").fetchall()
        with database.sound(self._db.path):
            return dict(msgspec.convert(rows, list[tuple[str, int]]))

    def spend(self, answers: Mapping[tuple[str, int, float], int]) -> None:
        """Write into the ledger how often each (mechanism, round) of a price ε was answered."""
        rows = [
            (mechanism, number, epsilon, count) for (mechanism, number, epsilon), count in answers.items()
        ]
        self._db.executemany(
            "INSERT INTO ledger VALUES (?, ?, ?, ?) "
            "ON CONFLICT (mechanism, round) DO UPDATE SET answers = answers + excluded.answers",
            rows,
        )

    def ledger(self) -> list[tuple[str, int, float, int]]:
        """Return (mechanism, round, ε of one answer, answers), in order."""
        rows = self._db.execute(
            "SELECT mechanism, round, epsilon, answers FROM ledger ORDER BY mechanism, round"
        ).fetchall()
        with database.sound(self._db.path):
            return msgspec.convert(rows, list[tuple[str, int, float, int]])

    # --- ends

    @classmethod
    def copied(cls, path: str | Path, *, run: str | None = None) -> Self:
        """Return a copy in memory, to try things on; the file is only read. Of no file, a new store.

        Raises
        ------
        StateError
            As for the constructor.
        """
        store = cls(":memory:", run=run)
        if Path(path).exists():
            store._db.path = str(path)
            database.read(path, lambda db: db.backup(store._db))
            schema.bring_up_to_date(store._db, str(path))
            store.run = store._named(run)
        return store

    def close(self) -> None:
        """Forget what was published, and close the file."""
        with contextlib.suppress(StreamlearnError):
            self.flush()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
