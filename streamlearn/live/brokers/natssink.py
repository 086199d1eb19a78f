"""Where decisions go with NATS JetStream: publications that the server knows by their ids."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from streamlearn.errors import BrokerError, StreamlearnError
from streamlearn.live.brokers.natsconnection import ANSWER, Connection
from streamlearn.live.store import Outgoing

if TYPE_CHECKING:
    from nats.aio.msg import Msg

IDLE: Final = 60.0
"""Seconds after which an unused connection is made anew: the server gives up those that leave its pings unanswered."""


class _Answers:
    """What the server says to messages, one answer to each."""

    def __init__(self, awaited: int) -> None:
        self._awaited = awaited
        self._refusals: list[dict[str, Any]] = []
        self.known = 0
        self._done = asyncio.Event()

    async def take(self, message: Msg) -> None:
        if not message.data:
            self._refusals.append({"description": "no stream holds the subject any more"})
        elif b'"error"' in message.data:
            self._refusals += filter(None, [json.loads(message.data).get("error")])
        elif b'"duplicate"' in message.data:
            self.known += bool(json.loads(message.data).get("duplicate"))
        self._awaited -= 1
        if not self._awaited:
            self._done.set()

    async def all_good(self) -> None:
        """Wait for all answers; raise what stands in the first that refuses, worth another try or not."""
        await self._done.wait()
        for refusal in self._refusals:
            kind = StreamlearnError if refusal.get("code") in range(400, 404) else BrokerError
            raise kind(f"NATS refuses a message: {refusal['description']}")


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
        self._connection = Connection(servers)
        self._stream: str | None = None
        self._used = 0.0

    def publish(self, messages: Sequence[Outgoing]) -> int:
        """Publish messages in order, and wait until the stream has them all; return how many it dropped as known.

        Raises
        ------
        BrokerError
            If the server does not answer.
        StreamlearnError
            If no stream holds the subject, or the stream does not take such messages.
        """
        if time.monotonic() - self._used > IDLE:
            self._connection.close()
        try:
            known = self._connection.run(self._publish(messages), 2 * ANSWER)
        except BaseException:
            self._connection.close()
            self._stream = None  # it may be gone
            raise
        self._used = time.monotonic()
        return known

    async def _publish(self, messages: Sequence[Outgoing]) -> int:
        await self._connection.open()
        if self._stream is None:
            self._stream = await self._connection.stream_of(self.subject)
        client: Any = self._connection.client
        inbox, answers = client.new_inbox(), _Answers(len(messages))
        # The client's own publish_async never ends for a message that the server refuses.
        listening = await client.subscribe(inbox, cb=answers.take)
        for message in messages:
            await client.publish(self.subject, message.payload, inbox, headers={"Nats-Msg-Id": message.id})
        await answers.all_good()
        await listening.unsubscribe()
        return answers.known

    def place(self) -> tuple[str, object]:
        """Return the stream that holds the subject, and when it was made."""
        return self._connection.run(self._place())

    async def _place(self) -> tuple[str, object]:
        return await self._connection.made(await self._connection.stream_of(self.subject))

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
