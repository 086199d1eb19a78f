"""NATS JetStream, by nats-py: streams read by their sequence."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from streamlearn.errors import BrokerError, LostError, ParameterError, StreamlearnError
from streamlearn.live.brokers.natsconnection import ANSWER, Connection
from streamlearn.live.brokers.natssink import Sink
from streamlearn.live.brokers.natssubjects import matches
from streamlearn.live.brokers.stored import checked
from streamlearn.live.messages import Message, Position

__all__ = ["Sink", "Source"]

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

MOST_AT_ONCE: Final = 32_000_000
"""Bytes asked for at once: more than a message may have."""
UNUSED: Final = 300.0
"""Seconds after which the server forgets a consumer that nobody asks."""


class _Reading:
    """A stream that is read from some sequence on."""

    def __init__(self, stream: str, subjects: Sequence[str]) -> None:
        self.stream = stream
        self.subjects = [subject.split(".") for subject in subjects]
        self.last = self.waiting = self._delivered = self._wanted = 0
        self._whole = self._anywhere = False
        self._manager: JetStreamContext
        self._inbox = self._ask = ""
        self._arrived: list[Msg] = []
        self._done = asyncio.Event()

    async def begin(self, connection: Connection, after: int | None, begin: str) -> None:
        """Make the consumer: an ephemeral one that acknowledges nothing, since positions live in our store."""
        api = connection.nats.js.api
        self._manager = await connection.open()
        assert connection.client is not None  # noqa: S101 - just opened
        info = await self._manager.stream_info(self.stream)
        state, held = info.state, info.config
        if held.retention not in {None, "limits"}:
            raise StreamlearnError(
                f"stream {self.stream!r} forgets what was delivered, and could not be read again after a crash; "
                "make it with retention 'limits'"
            )
        self._whole = not held.sources and all(self.wants(subject) for subject in held.subjects or [">"])
        self._anywhere = (
            after is None and begin == "beginning"
        )  # wherever that is when the first message comes
        self.last = self._first(begin, state.first_seq, state.last_seq) if after is None else after
        self._check(state.first_seq, state.last_seq)
        # The server of Debian 12 filters by one subject at most; several are told apart here.
        only = ".".join(self.subjects[0]) if len(self.subjects) == 1 else None
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self.last + 1,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=UNUSED,
            mem_storage=True,
            filter_subject=only,
        )
        made = await self._manager.add_consumer(self.stream, config)
        self.waiting = made.num_pending or 0
        self._ask = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{made.name}"
        self._inbox = connection.client.new_inbox()
        await connection.client.subscribe(self._inbox, cb=self._take)

    def _first(self, begin: str, first: int, last: int) -> int:
        """Return the sequence before the one where a stream starts that nothing is stored of."""
        if begin == "beginning":
            return max(0, first - 1)
        if begin == "end":
            return last
        if not max(1, first) <= int(begin) <= last + 1:
            raise StreamlearnError(
                f"stream {self.stream!r} has sequences {max(1, first)} to {last}, and is to begin at {int(begin)}; "
                "begin at one of these, at the beginning or at the end"
            )
        return int(begin) - 1

    def _check(self, first: int, last: int) -> None:
        """Refuse to pass over in silence what was lost."""
        if self.last > last:
            raise StreamlearnError(
                f"stream {self.stream!r} ends at sequence {last} and was read up to {self.last}: it was made anew; "
                "name another store, or restore the stream"
            )
        if first > self.last + 1:
            whose = "" if self._whole else ", perhaps of its subjects,"
            raise LostError(
                f"stream {self.stream!r} begins at sequence {first} and was read up to {self.last}: messages between"
                f"{whose} expired unread",
                {self.stream: (first - 1,)},
            )

    async def _take(self, message: Msg) -> None:
        self._arrived.append(message)
        if len(self._arrived) == self._wanted or _status(message) is not None:
            self._done.set()

    async def fetch(self, client: Client, most: int, patience: float) -> list[Message]:
        """Return what is there at once; where nothing is, wait for one message."""
        return await self._asked(client, {"batch": most, "no_wait": True, "max_bytes": MOST_AT_ONCE}) or (
            await self._asked(client, {"batch": 1, "expires": int(patience * 1e9)}) if patience > 0 else []
        )

    async def _asked(self, client: Client, request: dict[str, Any]) -> list[Message]:
        self._arrived, self._wanted = [], request["batch"]
        self._done.clear()
        await client.publish(self._ask, json.dumps(request).encode(), self._inbox)
        await self._done.wait()
        last, gap, found = self.last, None, []
        for message in self._arrived:
            status = _status(message)
            if status is None:
                before, waited = last, self.waiting
                last = self._place(message)
                if gap is None and last > before + 1 and (self._whole or waited) and not self._anywhere:
                    gap = before
                self._anywhere = False
                found.append((last, message))
            elif status == "404":  # no messages
                self.waiting = 0
            elif status not in {"408", "409"}:  # none in time; no more bytes
                raise BrokerError(f"NATS answers with status {status}")
        if gap is not None:  # deleted one by one, or the stream's limits overtook the reading
            self.last = gap
            state = (await self._manager.stream_info(self.stream)).state
            self._check(state.first_seq, state.last_seq)
        self.last = last
        if len(self.subjects) > 1:
            found = [it for it in found if self.wants(it[1].subject)]
        return [Message(self.stream, (sequence,), message.data) for sequence, message in found]

    def _place(self, message: Msg) -> int:
        """Return the sequence of a message, which the server must have sent in turn."""
        # $JS.ACK.stream.consumer.deliveries.sequence.delivered.time.pending, with two more parts behind ACK and one
        # at the end where the server names its domain.
        parts = message.reply.split(".")
        shift = 2 if len(parts) > 9 else 0
        delivered = int(parts[6 + shift])
        if delivered != self._delivered + 1:
            raise BrokerError(f"NATS has left out messages of stream {self.stream!r}")
        self._delivered = delivered
        self.waiting = int(parts[8 + shift])
        return int(parts[5 + shift])

    def wants(self, subject: str) -> bool:
        """Return whether messages of a subject are asked for."""
        return any(matches(pattern, subject) for pattern in self.subjects)


class Source:
    """Streams of JetStream, each strictly in order. Several subjects of one stream are read in the stream's order.

    Positions live in the store, nothing is acknowledged. What expired unread is an error, never passed over. Of a
    stream that holds other subjects too it cannot be known whose messages expired; any may have been wanted, so give
    a subject that is seldom written a stream of its own. Streams made later, that a wildcard stands for, are found at
    the next start, and read from their beginning.

    Parameters
    ----------
    servers
        ``nats://[user:password@]host:port``; several, separated by commas, for a cluster.
    subjects
        The subjects, with NATS' own wildcards; streams that hold them must exist.
    begin
        Where the streams start while there is no stored position: ``"beginning"``, ``"end"``, or a sequence in digits.

    Raises
    ------
    ParameterError
        If there is no subject, or ``begin`` is none of these.
    MissingExtraError
        If nats-py is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers import nats
    >>> source = nats.Source("nats://127.0.0.1:4222", ["reports.*"], begin="end")
    >>> source.lag() is None, source.ended
    (True, False)
    >>> source.close()
    """

    ended = False
    shared = False

    def __init__(self, servers: str, subjects: Sequence[str], *, begin: str = "beginning") -> None:
        if isinstance(subjects, str) or not subjects:
            raise ParameterError("subjects must be a list of at least one name")
        if begin not in {"beginning", "end"} and not (
            re.fullmatch("[0-9]{1,20}", begin) and int(begin) < 1 << 64
        ):
            raise ParameterError(
                f"begin must be 'beginning', 'end' or a sequence in digits, below 2^64, got {begin!r}"
            )
        self.servers = servers
        self.subjects = tuple(dict.fromkeys(subjects))
        self.begin = begin
        self._connection = Connection(servers)
        self._readings: list[_Reading] = []
        self._turn = 0

    def start(self, positions: Mapping[str, Position]) -> dict[str, Position]:
        """Connect, anew after a loss, to go on after these positions; return where other streams start.

        Raises
        ------
        BrokerError
            If the server does not answer.
        LostError
            If messages after a position expired unread.
        StreamlearnError
            If no stream holds a subject, one was made anew, or would forget messages before a crash is mended.
        """
        self.close()
        try:
            self._readings = self._connection.run(self._begun(positions), 2 * ANSWER)
        except BaseException:
            self.close()
            raise
        if positions or self.begin == "beginning":
            return {}
        return {reading.stream: (reading.last,) for reading in self._readings}

    async def _begun(self, positions: Mapping[str, Position]) -> list[_Reading]:
        by_stream: dict[str, list[str]] = {}
        for subject in self.subjects:
            for stream in await self._streams_of(subject):
                by_stream.setdefault(stream, []).append(subject)
        begin = "beginning" if positions else self.begin
        readings = []
        for stream, subjects in by_stream.items():
            reading = _Reading(stream, subjects)
            after = checked(stream, positions[stream], 1)[0] if stream in positions else None
            await reading.begin(self._connection, after, begin)
            readings.append(reading)
        return readings

    async def _streams_of(self, subject: str) -> list[str]:
        """Return all streams that a subject with wildcards lies in; the client itself names only the first."""
        await self._connection.stream_of(subject)  # says what to do where there is none
        client: Any = self._connection.client
        answer = await client.request(
            "$JS.API.STREAM.NAMES", json.dumps({"subject": subject}).encode(), ANSWER
        )
        return sorted(json.loads(answer.data)["streams"])

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the next messages of the streams, whose turns to be first go round.

        Raises
        ------
        BrokerError
            If the connection is lost, or the server has left out a message.
        LostError
            If messages expired unread.
        """
        return self._connection.run(self._fetch(most, patience), patience + ANSWER)

    async def _fetch(self, most: int, patience: float) -> list[Message]:
        client = self._connection.client
        if client is None or not client.is_connected:
            raise BrokerError("the connection to NATS is lost")
        self._turn += 1
        found: list[Message] = []
        for i in range(len(self._readings)):
            reading = self._readings[(self._turn + i) % len(self._readings)]
            if len(found) < most:
                last = i == len(self._readings) - 1
                found += await reading.fetch(
                    client, most - len(found), patience if last and not found else 0.0
                )
        return found

    def feeds_on(self, sink: object) -> bool:
        """Return whether what a sink publishes is read here: into the same stream, by whatever name of the server."""
        if not isinstance(sink, Sink):
            return False
        place, subject = sink.place(), sink.subject
        return any(
            it.wants(subject) and self._connection.run(self._connection.made(it.stream)) == place
            for it in self._readings
        )

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Do nothing: positions live in the store."""

    def lag(self) -> int | None:
        """Return how many messages waited when the server last spoke of it; None before the start."""
        return sum(reading.waiting for reading in self._readings) if self._readings else None

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
        self._readings = []


def _status(message: Msg) -> str | None:
    """Return the status of an answer that is no message; a message has a place to acknowledge it, whatever it holds."""
    return None if message.reply else (message.headers or {}).get("Status", "")
