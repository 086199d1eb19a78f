"""Redis Streams, by redis-py: read from an entry on, or shared by a consumer group; ids that the sink knows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from streamlearn.errors import LostError, ParameterError, StreamlearnError
from streamlearn.live.brokers.redisconnection import ANSWER, Server, client
from streamlearn.live.brokers.redisentries import (
    entry_at,
    entry_of_begin,
    messages_of,
    milliseconds,
    place_before,
    position_of,
)
from streamlearn.live.brokers.redisscripts import FORGET_LOST, PUBLISH
from streamlearn.live.messages import Message, Position
from streamlearn.live.store import Outgoing

IDLE: Final = 30.0
"""Seconds after which what a member of a group has not acknowledged is given to another."""
PART: Final = 500
"""Messages a step: a script takes some thousands of arguments."""


class Source:
    """Streams, each in order from its stored position on; or shared with other processes by a consumer group.

    An entry's field ``data`` is the message, its field ``key``, where there is one, the broker's key. Alone, nothing
    is acknowledged: positions live in the store. The entry read last must stay in the stream, so trim with
    ``MINID`` or a generous ``MAXLEN``: where it is gone and others came, some may have gone unread, which is an error,
    during a run too. A group is asked for the server's own count of what it read, once a batch.

    In a group every process has a name of its own and all share one store, on one machine. What a process has not
    acknowledged is handed to it again when it comes back, or to another after ``idle`` seconds; where both come to
    process it, the store knows it. A new group goes on after the store's position, where it has one.

    Parameters
    ----------
    url
        ``redis://[user:password@]host:port/DB``.
    streams
        The streams' keys. One that does not exist yet is awaited.
    group, consumer
        The group, made where there is none, and this process's name in it.
    begin
        Where streams without a stored position, or a new group, start: ``"beginning"``, ``"end"``, or the id of the
        entry before.
    idle
        Seconds; longer than a batch takes, or work is done in vain.

    Raises
    ------
    ParameterError
        If there is no stream, a group without a consumer's name, or an argument cannot be used.
    MissingExtraError
        If redis-py is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers import redis
    >>> source = redis.Source("redis://127.0.0.1:6379/0", ["reports"], group="hiring", consumer="first")
    >>> source.shared, source.ended
    (True, False)
    >>> source.close()
    """

    ended = False

    def __init__(
        self,
        url: str,
        streams: Sequence[str],
        *,
        group: str | None = None,
        consumer: str | None = None,
        begin: str = "beginning",
        idle: float = IDLE,
    ) -> None:
        if isinstance(streams, str) or not streams:
            raise ParameterError("streams must be a list of at least one name")
        if (group is None) is not (consumer is None) or "" in {group, consumer}:
            raise ParameterError(
                "group and consumer belong together: the group's name and this process's in it"
            )
        if not 0.0 < idle < float("inf"):
            raise ParameterError(f"idle must be a number of seconds > 0, got {idle!r}")
        self.streams = tuple(dict.fromkeys(streams))
        self.group = group
        self.consumer = consumer
        self.begin = begin
        self.idle = idle
        self.shared = group is not None
        self._first = entry_of_begin(begin)
        self._server = Server(url)
        self._turns = deque(self.streams)
        self._last: dict[str, str] = {}
        self._read: set[str] = set()
        self._ends: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._claims: dict[str, str] = {}
        self._next_claim = 0.0
        self._drained = False
        self._told: set[str] = set()
        self._forget_lost: Callable[..., Any] = self._server.client.register_script(FORGET_LOST)

    def start(self, positions: Mapping[str, Position]) -> None:
        """Connect, anew after a loss, to go on after these positions; a group goes on where it is.

        Raises
        ------
        BrokerError
            If the server does not answer.
        LostError
            If entries may have been trimmed unread. Of a group, starting again after the error accepts it.
        StreamlearnError
            If it refuses, or a stream was made anew.
        """
        for stream in self.streams:
            with self._server.asked(f"the stream {stream!r}"):
                if self.shared:
                    self._join(stream, positions.get(stream))
                else:
                    self._last[stream] = self._place(stream, positions.get(stream))
        self._read = {stream for stream in self.streams if stream in positions}
        # A group's member first asks again for what was handed to it and not acknowledged.
        self._own = dict.fromkeys(self.streams, "0") if self.shared else {}
        self._next_claim = 0.0

    def _join(self, stream: str, stored: Position | None) -> None:
        """Find the group, or make it where the store's account ends."""
        redis = self._server.client
        if redis.exists(stream) and self._group(redis.xinfo_groups(stream)) is not None:
            self._facts(stream, stored)
            if stream in self._told:  # who starts again goes on without what is gone
                self._forget_lost(keys=[stream], args=[self.group])
                self._told.discard(stream)
            self._waiting(stream)
            return
        place = self._first if stored is None else self._place(stream, stored)
        try:
            redis.xgroup_create(stream, self.group, id=place, mkstream=True)
        except client().exceptions.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    def _group(self, groups: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return ours of a stream's groups."""
        return next((it for it in groups if it["name"].decode() == self.group), None)

    def _facts(self, stream: str, stored: Position | None) -> tuple[Position, Mapping[str, Any]]:
        """Return where a stream ends, and what the server says of it; refuse one that ends before what is stored."""
        redis = self._server.client
        info = redis.xinfo_stream(stream) if redis.exists(stream) else {}
        newest = position_of(info["last-generated-id"]) if info else (0, 0)
        if stored is not None and newest < stored:
            raise StreamlearnError(
                f"stream {stream!r} ends at entry {entry_at(newest)} and was read up to {entry_at(stored)}: it was "
                "made anew; name another store, or restore the stream"
            )
        return newest, info

    def _place(self, stream: str, stored: Position | None) -> str:
        """Return the entry to go on after."""
        newest, info = self._facts(stream, stored)
        if stored is None:
            # The end is where it was when first looked for: entries that came during an outage are not passed over.
            return self._ends.setdefault(stream, entry_at(newest)) if self._first == "$" else self._first
        place, redis = entry_at(stored), self._server.client
        if newest > stored and not redis.xrange(stream, place, place):
            left = place_before(position_of(info["first-entry"][0])) if info["first-entry"] else newest
            if left != stored:  # else nothing lay between, or the loss was accepted
                raise LostError(
                    f"stream {stream!r} was read up to entry {place}, which is no longer there: entries after it may "
                    "have been trimmed unread",
                    {stream: left},
                )
        return place

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the next entries.

        Raises
        ------
        BrokerError
            If the server does not answer.
        LostError
            If entries may have been trimmed unread.
        StreamlearnError
            If it refuses.
        """
        patience = min(patience, ANSWER / 2)
        with self._server.asked(f"the streams {', '.join(self.streams)}"):
            found = self._shared(most, patience) if self.shared else self._alone(most, patience)
        self._drained = len(found) < most
        return found

    def _alone(self, most: int, patience: float) -> list[Message]:
        found = self._next(most)
        if not found and self._server.client.xread(self._last, count=1, block=milliseconds(patience)):
            found = self._next(most)
        return found

    def _next(self, most: int) -> list[Message]:
        share, streams = self._shares(most)
        # The entry read last is read once more: while it is there, nothing after it was trimmed.
        places = {name: position_of(self._last[name].encode()) for name in streams}
        after = {
            name: entry_at(place_before(it) if name in self._read else it) for name, it in places.items()
        }
        answer = dict(self._server.client.xread(after, count=share + 1) or ())
        found: list[Message] = []
        for name in streams:
            entries = answer.get(name.encode(), [])
            if name in self._read:
                if entries and position_of(entries[0][0]) == places[name]:
                    entries = entries[1:]
                else:
                    self._place(name, places[name])
            messages = messages_of(name, entries[:share], ordered=True)
            if messages:
                self._last[name] = entry_at(messages[-1].position)
                self._read.add(name)
            found += messages
        return found

    def _shares(self, most: int) -> tuple[int, list[str]]:
        """Return how many entries each of these streams may give: COUNT holds for each. All are first in turn."""
        self._turns.rotate(-1)
        streams = list(self._turns)[:most]
        return most // len(streams), streams

    def _shared(self, most: int, patience: float) -> list[Message]:
        return self._again(most) or self._claimed(most) or self._new(most, patience)

    def _again(self, most: int) -> list[Message]:
        """Return what was handed to this process before and not acknowledged."""
        while self._own:
            stream, after = next(iter(self._own.items()))
            answer = self._server.client.xreadgroup(self.group, self.consumer, {stream: after}, count=most)
            entries = answer[0][1] if answer else []
            if entries:
                self._own[stream] = entries[-1][0].decode()
                return messages_of(stream, entries, ordered=False)
            del self._own[stream]
        return []

    def _claimed(self, most: int) -> list[Message]:
        """Return what others were handed and have not acknowledged for long: they are gone."""
        if not self._claims and time.monotonic() >= self._next_claim:
            self._next_claim = time.monotonic() + self.idle / 2
            self._claims = dict.fromkeys(self.streams, "0-0")
        while self._claims:
            stream, after = next(iter(self._claims.items()))
            cursor, entries, deleted = self._server.client.xautoclaim(
                stream, self.group, self.consumer, milliseconds(self.idle), after, count=most
            )
            if cursor == b"0-0":
                del self._claims[stream]
            else:
                self._claims[stream] = cursor.decode()
            # Redis forgets to whom it gave an entry that was deleted since; a dead letter is to tell of it.
            found = messages_of(stream, [*entries, *((entry, None) for entry in deleted)], ordered=False)
            if found:
                return found
        return []

    def _new(self, most: int, patience: float) -> list[Message]:
        share, streams = self._shares(most)
        answer = self._server.client.xreadgroup(
            self.group, self.consumer, dict.fromkeys(streams, ">"), count=share, block=milliseconds(patience)
        )
        found = (messages_of(stream.decode(), entries, ordered=False) for stream, entries in answer or ())
        return [message for messages in found for message in messages]

    def acknowledge(self, messages: Sequence[Message]) -> dict[str, Position]:
        """Tell the group that messages were processed; return up to where each stream has none that is pending.

        Raises
        ------
        BrokerError
            If the server does not answer.
        """
        by_stream: dict[str, list[str]] = {}
        for message in messages:
            by_stream.setdefault(message.partition, []).append(entry_at(message.position))
        done = {}
        for stream, entries in by_stream.items():
            step = self._server.client.pipeline(transaction=True)  # one moment of the server's
            step.xack(stream, self.group, *entries)
            step.xinfo_groups(stream)
            step.xpending(stream, self.group)
            with self._server.asked(f"the stream {stream!r}"):
                _, groups, pending = step.execute()
            group = self._group(groups)
            if group is not None:
                given, oldest = group["last-delivered-id"], pending["min"]
                done[stream] = place_before(position_of(oldest)) if oldest else position_of(given)
        return done

    def lag(self) -> int | None:
        """Return how many entries a group has not got acknowledged. Alone: 0 if the last fetch took all, or None.

        Raises
        ------
        LostError
            If entries were trimmed that no member of the group was given.
        """
        if not self.shared:
            return 0 if self._drained else None
        with self._server.asked(f"the streams {', '.join(self.streams)}"):
            waiting = [self._waiting(stream) for stream in self.streams]
        return None if None in waiting else sum(it for it in waiting if it is not None)

    def _waiting(self, stream: str) -> int | None:
        """Return what the group has not got acknowledged; refuse to pass over in silence what was lost."""
        redis = self._server.client
        info = redis.xinfo_stream(stream)  # before the group: its count may only grow meanwhile
        group = self._group(redis.xinfo_groups(stream))
        if group is None or group.get("entries-read") is None:
            return None
        removed = info["entries-added"] - info["length"]
        if removed > group["entries-read"]:
            self._told.add(stream)
            last = group["last-delivered-id"].decode()
            raise LostError(
                f"stream {stream!r}: entries after {last} were trimmed before the group was given them", {}
            )
        return None if group["lag"] is None else int(group["lag"] + group["pending"])

    def close(self) -> None:
        """Disconnect."""
        self._server.close()


class Sink:
    """A stream. What is published again is known by its id and not added, exactly: the ids lie beside the stream.

    An entry has the fields ``id``, ``key`` and ``data``, the JSON. The ids of the last 100,000 entries are kept
    under the key ``{STREAM}:ids``, in the same step that adds the entry.

    Parameters
    ----------
    url
        As for :class:`Source`.
    stream
        The stream's key.

    Raises
    ------
    MissingExtraError
        If redis-py is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers import redis
    >>> redis.Sink("redis://127.0.0.1:6379/0", "decisions").close()
    """

    def __init__(self, url: str, stream: str) -> None:
        self.stream = stream
        self._server = Server(url)
        self._publish: Callable[..., Any] = self._server.client.register_script(PUBLISH)

    def publish(self, messages: Sequence[Outgoing]) -> None:
        """Add messages in order.

        Raises
        ------
        BrokerError
            If the server does not answer.
        StreamlearnError
            If it refuses.
        """
        keys = [self.stream, f"{{{self.stream}}}:ids"]
        for start in range(0, len(messages), PART):
            part = messages[start : start + PART]
            arguments = [word for message in part for word in (message.id, message.key, message.payload)]
            with self._server.asked(f"the stream {self.stream!r}"):
                self._publish(keys=keys, args=arguments)

    def close(self) -> None:
        """Disconnect."""
        self._server.close()
