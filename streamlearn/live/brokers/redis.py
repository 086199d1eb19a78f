"""Redis Streams, by redis-py: read from an entry on, or shared by a consumer group."""

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
    removed,
)
from streamlearn.live.brokers.redisscripts import FORGET_LOST
from streamlearn.live.brokers.redissink import Sink
from streamlearn.live.brokers.stored import checked
from streamlearn.live.messages import Message, Position

__all__ = ["Sink", "Source"]

IDLE: Final = 30.0
"""Seconds after which what a member of a group has not acknowledged is given to another."""


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
        Where the streams, or a new group, start while there is no stored position: ``"beginning"``, ``"end"``, or the
        id of the entry before.
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
        self._own: dict[str, str] = {}
        self._claims: dict[str, str] = {}
        self._next_claim = 0.0
        self._drained = False
        self._told: set[str] = set()
        self._forget_lost: Callable[..., Any] = self._server.client.register_script(FORGET_LOST)

    def start(self, positions: Mapping[str, Position]) -> dict[str, Position]:
        """Connect, anew after a loss, to go on after these positions; a group goes on where it is.

        Returns
        -------
        dict
            Where streams start that had no position: at the id of an entry, or with a third number, behind which
            nothing was there: how many entries the server had removed by then.

        Raises
        ------
        BrokerError
            If the server does not answer.
        LostError
            If entries may have been trimmed unread. Of a group, starting again after the error accepts it.
        StreamlearnError
            If it refuses, or a stream was made anew.
        """
        begun = {}
        begin = "0-0" if positions else self._first
        for stream in self.streams:
            with self._server.asked(f"the stream {stream!r}"):
                if self.shared and self._joined(stream, positions.get(stream)):
                    continue
                place = positions.get(stream)
                if place is None and begin != "0-0":
                    place = begun[stream] = self._begun(stream, begin)
                self._last[stream] = self._place(stream, place)
                if self.shared:
                    self._make_group(stream, self._last[stream])
        self._read = {stream for stream in self.streams if len(positions.get(stream, ())) == 2}
        # A group's member first asks again for what was handed to it and not acknowledged.
        self._own = dict.fromkeys(self.streams, "0") if self.shared else {}
        self._next_claim = 0.0
        return begun

    def _joined(self, stream: str, stored: Position | None) -> bool:
        """Return whether there is the group, which then knows where to go on."""
        redis = self._server.client
        if not redis.exists(stream) or self._group(redis.xinfo_groups(stream)) is None:
            return False
        self._facts(stream, stored)
        if stream in self._told:  # who starts again goes on without what is gone
            self._forget_lost(keys=[stream], args=[self.group])
            self._told.discard(stream)
        self._waiting(stream)
        return True

    def _make_group(self, stream: str, place: str) -> None:
        try:
            self._server.client.xgroup_create(stream, self.group, id=place, mkstream=True)
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
        if stored is not None and newest < checked(stream, stored, 2, 3)[:2]:
            raise StreamlearnError(
                f"stream {stream!r} ends at entry {entry_at(newest)} and was read up to {entry_at(stored)}: it was "
                "made anew; name another store, or restore the stream"
            )
        return newest, info

    def _begun(self, stream: str, begin: str) -> Position:
        """Return the last entry up to where a new run begins, or the place where there is none."""
        newest, info = self._facts(stream, None)
        place = newest if begin == "$" else position_of(begin.encode())
        if place > newest:
            raise StreamlearnError(
                f"stream {stream!r} has entries up to {entry_at(newest)}, and is to begin at {entry_at(place)}, later; "
                "begin at one of these, at the beginning or at the end"
            )
        found = self._server.client.xrevrange(stream, entry_at(place), "-", count=1) if info else []
        return position_of(found[0][0]) if found else (*place, removed(info))

    def _place(self, stream: str, stored: Position | None) -> str:
        """Return the entry to go on after."""
        newest, info = self._facts(stream, stored)
        if stored is None:
            return "0-0"
        place, redis = entry_at(stored), self._server.client
        unread = (
            len(stored) > 2 and removed(info) <= stored[2]
        )  # nothing lay before it, and nothing is gone since
        if newest > stored[:2] and not unread and not redis.xrange(stream, place, place):
            left = place_before(position_of(info["first-entry"][0])) if info["first-entry"] else newest
            if left != stored[:2]:  # else nothing lay between, or the loss was accepted
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

    def feeds_on(self, sink: object) -> bool:
        """Return whether what a sink publishes is read here: in the same database, by whatever name of the server."""
        if not isinstance(sink, Sink) or sink.stream not in self.streams:
            return False
        mine = self._server.identity()
        return mine is not None and mine == sink.server.identity()

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
        if removed(info) > group["entries-read"]:
            self._told.add(stream)
            last = group["last-delivered-id"].decode()
            raise LostError(
                f"stream {stream!r}: entries after {last} were trimmed before the group was given them", {}
            )
        return None if group["lag"] is None else int(group["lag"] + group["pending"])

    def close(self) -> None:
        """Disconnect."""
        self._server.close()
