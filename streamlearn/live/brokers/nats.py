"""NATS JetStream, by nats-py: streams read by their sequence, and publications that the server knows by their ids."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Coroutine, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from streamlearn.errors import BrokerError, MissingExtraError, ParameterError, StreamlearnError
from streamlearn.live.messages import Message, Position
from streamlearn.live.store import Outgoing

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

T = TypeVar("T")
CONNECT: Final = 2.0
ANSWER: Final = 5.0
"""Seconds to wait for a connection, and for an answer; then the broker counts as away."""
MOST_AT_ONCE: Final = 32_000_000
"""Bytes asked for at once: more than a message may have."""
UNUSED: Final = 300.0
"""Seconds after which the server forgets a consumer that nobody asks."""


class _Connection:
    """A connection and the event loop it lives on, which turns only while something is asked of it."""

    def __init__(self, servers: str) -> None:
        self.nats = _client()
        self.servers = servers
        self._loop: asyncio.Runner | None = None
        self._lost = asyncio.Event()
        self.client: Client | None = None
        self.stream: JetStreamContext | None = None

    def run(self, work: Coroutine[Any, Any, T], patience: float = ANSWER) -> T:
        """Do something on the loop.

        Raises
        ------
        BrokerError
            If the server does not answer in time, or the connection is lost.
        """
        if self._loop is None:
            self._loop = asyncio.Runner()
        try:
            return self._loop.run(self._raced(work, patience))
        except (TimeoutError, OSError, self.nats.errors.Error) as error:
            if isinstance(error, self.nats.errors.AuthorizationError):
                raise StreamlearnError(
                    "NATS refuses this user; check the credentials of the address"
                ) from None
            raise BrokerError(f"NATS does not answer ({type(error).__name__})") from None

    async def _raced(self, work: Coroutine[Any, Any, T], patience: float) -> T:
        """Wait for an answer as long as there is a connection that it can come by."""
        answer, loss = asyncio.ensure_future(work), asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({answer, loss}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise TimeoutError
        finally:
            loss.cancel()
            answer.cancel()
            await asyncio.gather(answer, loss, return_exceptions=True)

    async def _disconnected(self) -> None:
        self._lost.set()

    async def open(self) -> JetStreamContext:
        """Return the connection, made where there is none."""
        if self.client is None or not self.client.is_connected:
            self.client = await self.nats.connect(
                self.servers.split(","),
                allow_reconnect=False,
                reconnect_time_wait=0.05,
                connect_timeout=CONNECT,
                error_cb=_silent,
                disconnected_cb=self._disconnected,
                closed_cb=self._disconnected,
            )
            self._lost.clear()
            self.stream = self.client.jetstream(timeout=ANSWER, publish_async_max_pending=1 << 20)
        assert self.stream is not None  # noqa: S101 - made with the client
        return self.stream

    async def stream_of(self, subject: str) -> str:
        """Return the name of the stream that holds a subject."""
        stream = await self.open()
        try:
            return await stream.find_stream_name_by_subject(subject)
        except self.nats.js.errors.NotFoundError:
            raise StreamlearnError(
                f"no stream of NATS JetStream holds the subject {subject!r}; create one, as: "
                f"nats stream add NAME --subjects {subject}"
            ) from None

    def close(self) -> None:
        """Disconnect and stop the loop."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        with contextlib.suppress(Exception):  # it may be broken in any way, and is not needed any more
            if self.client is not None:
                loop.run(asyncio.wait_for(self.client.close(), CONNECT))
        loop.close()
        self._lost = asyncio.Event()
        self.client = self.stream = None


class _Reading:
    """A stream that is read from some sequence on."""

    def __init__(self, stream: str, subjects: Sequence[str], last: int) -> None:
        self.stream = stream
        self.subjects = [subject.split(".") for subject in subjects]
        self.last = last
        self.waiting = 0
        self._inbox = self._ask = ""
        self._delivered = 0
        self._arrived: list[Msg] = []
        self._wanted = 0
        self._done = asyncio.Event()

    async def begin(self, connection: _Connection, begin: str) -> None:
        """Make the consumer: an ephemeral one that acknowledges nothing, since positions live in our store."""
        nats = connection.nats
        stream = await connection.open()
        assert connection.client is not None  # noqa: S101 - just opened
        state = (await stream.stream_info(self.stream)).state
        self._check(state.first_seq, state.last_seq)
        if not self.last and begin == "end":
            self.last = state.last_seq
        elif not self.last and begin != "beginning":
            self.last = max(0, int(begin) - 1)
        policy = nats.js.api.DeliverPolicy.BY_START_SEQUENCE
        config = nats.js.api.ConsumerConfig(
            deliver_policy=policy,
            opt_start_seq=max(self.last + 1, state.first_seq, 1),
            ack_policy=nats.js.api.AckPolicy.NONE,
            inactive_threshold=UNUSED,
            mem_storage=True,
            # The server of Debian 12 filters by one subject at most; several are told apart here.
            filter_subject=".".join(self.subjects[0]) if len(self.subjects) == 1 else None,
        )
        name = (await stream.add_consumer(self.stream, config)).name
        self._ask = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{name}"
        self._inbox = connection.client.new_inbox()
        self._delivered = 0
        await connection.client.subscribe(self._inbox, cb=self._take)

    def _check(self, first: int, last: int) -> None:
        """Refuse to pass over in silence what was lost."""
        if self.last > last:
            raise StreamlearnError(
                f"stream {self.stream!r} ends at sequence {last} and was read up to {self.last}: it was made anew; "
                "name another store, or restore the stream"
            )
        if self.last and first > self.last + 1:
            raise StreamlearnError(
                f"stream {self.stream!r} begins at sequence {first} and was read up to {self.last}: messages between "
                f"expired unread. To go on without them, call store.advance({{{self.stream!r}: ({first - 1},)}}) "
                "within store.transaction(), or name another store"
            )

    async def _take(self, message: Msg) -> None:
        self._arrived.append(message)
        if len(self._arrived) == self._wanted or _status(message):
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
        found = []
        for message in self._arrived:
            status = _status(message)
            if status in {"404", "408", "409"}:  # no messages; none in time; no more bytes
                continue
            if status:
                raise BrokerError(f"NATS answers with status {status}")
            found.append(message)
        return [read for message in found if (read := self._read(message))]

    def _read(self, message: Msg) -> Message | None:
        """Return a message with its place; None for one of a subject nobody asked for."""
        # $JS.ACK.stream.consumer.deliveries.sequence.delivered.time.pending, with two more parts behind ACK and one
        # at the end where the server names its domain.
        parts = message.reply.split(".")
        shift = 2 if len(parts) > 9 else 0
        sequence, delivered = int(parts[5 + shift]), int(parts[6 + shift])
        if delivered != self._delivered + 1:
            raise BrokerError(f"NATS has left out messages of stream {self.stream!r}")
        self._delivered = delivered
        self.waiting = int(parts[8 + shift])
        self.last = sequence
        if len(self.subjects) > 1 and not any(
            _matches(subject, message.subject) for subject in self.subjects
        ):
            return None
        return Message(self.stream, (sequence,), message.data)


class Source:
    """Streams of JetStream, each strictly in order. Several subjects of one stream are read in the stream's order.

    Positions live in the store, nothing is acknowledged. What expired unread is an error, never passed over.

    Parameters
    ----------
    servers
        ``nats://[user:password@]host:port``; several, separated by commas, for a cluster.
    subjects
        The subjects, with NATS' own wildcards; streams that hold them must exist.
    begin
        Where streams without a stored position start: ``"beginning"``, ``"end"``, or a sequence in digits.

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
        if begin not in {"beginning", "end"} and not (begin.isascii() and begin.isdigit()):
            raise ParameterError(f"begin must be 'beginning', 'end' or a sequence in digits, got {begin!r}")
        self.servers = servers
        self.subjects = tuple(dict.fromkeys(subjects))
        self.begin = begin
        self._connection = _Connection(servers)
        self._readings: list[_Reading] = []
        self._turn = 0

    def start(self, positions: Mapping[str, Position]) -> None:
        """Connect, anew after a loss, to go on after these positions; streams not named start where told.

        Raises
        ------
        BrokerError
            If the server does not answer.
        StreamlearnError
            If no stream holds a subject, or messages after the position are gone.
        """
        self.close()
        try:
            self._readings = self._connection.run(self._begun(positions), 2 * ANSWER)
        except BaseException:
            self.close()
            raise

    async def _begun(self, positions: Mapping[str, Position]) -> list[_Reading]:
        by_stream: dict[str, list[str]] = {}
        for subject in self.subjects:
            by_stream.setdefault(await self._connection.stream_of(subject), []).append(subject)
        readings = [
            _Reading(stream, subjects, positions.get(stream, (0,))[0])
            for stream, subjects in by_stream.items()
        ]
        for reading in readings:
            await reading.begin(self._connection, self.begin)
        return readings

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the next messages of the streams, whose turns to be first go round.

        Raises
        ------
        BrokerError
            If the connection is lost, or the server has left out a message.
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

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Do nothing: positions live in the store."""

    def lag(self) -> int | None:
        """Return how many messages waited when the last one came; None before."""
        return sum(reading.waiting for reading in self._readings) if self._readings else None

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
        self._readings = []


class Sink:
    """A subject of a stream. Messages carry their ids as ``Nats-Msg-Id``: the server drops those it has already.

    For how long it knows an id is the stream's duplicate window; readers can tell later ones by the id within.

    Parameters
    ----------
    servers
        As for :class:`Source`.
    subject
        The subject; a stream that holds it must exist.

    Raises
    ------
    MissingExtraError
        If nats-py is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers import nats
    >>> sink = nats.Sink("nats://127.0.0.1:4222", "decisions")
    >>> sink.close()
    """

    def __init__(self, servers: str, subject: str) -> None:
        self.servers = servers
        self.subject = subject
        self._connection = _Connection(servers)
        self._stream: str | None = None

    def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish messages in order, and wait until the stream has them all.

        Raises
        ------
        BrokerError
            If the server does not answer.
        StreamlearnError
            If no stream holds the subject.
        """
        try:
            self._connection.run(self._publish(messages), 2 * ANSWER)
        except BaseException:
            self._connection.close()
            self._stream = None  # it may be gone
            raise

    async def _publish(self, messages: Sequence[Outgoing]) -> None:
        stream = await self._connection.open()
        if self._stream is None:
            self._stream = await self._connection.stream_of(self.subject)
        header = self._connection.nats.js.api.Header.MSG_ID
        answers = [
            await stream.publish_async(self.subject, message.payload, headers={header: message.id})
            for message in messages
        ]
        await asyncio.gather(*answers)

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


def _client() -> ModuleType:
    try:
        import nats.js.api  # noqa: PLC0415 - an extra
        import nats.js.errors  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingExtraError(
            "NATS needs nats-py; install it with: pip install 'streamlearn[nats]'"
        ) from None
    return nats


async def _silent(error: Exception) -> None:
    """Say nothing: what goes wrong is raised where it matters."""


def _status(message: Msg) -> str | None:
    """Return the status of an answer that is no message."""
    headers = message.headers
    return headers.get("Status") if headers and not message.data else None


def _matches(pattern: Sequence[str], subject: str) -> bool:
    """Return whether a subject is one that a pattern, cut at its dots, stands for."""
    parts = subject.split(".")
    for i, wanted in enumerate(pattern):
        if wanted == ">":
            return len(parts) > i
        if i >= len(parts) or wanted not in {"*", parts[i]}:
            return False
    return len(parts) == len(pattern)
