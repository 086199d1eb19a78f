"""A connection to NATS, and the event loop it lives on."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Coroutine
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from streamlearn.errors import BrokerError, MissingExtraError, StreamlearnError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

T = TypeVar("T")
CONNECT: Final = 2.0
ANSWER: Final = 5.0
"""Seconds to wait for a connection, and for an answer; then the broker counts as away."""


class Connection:
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
            If the server does not answer in time, cannot do what is asked, or the connection is lost.
        StreamlearnError
            If it refuses the user.
        """
        if self._loop is None:
            self._loop = asyncio.Runner()
        try:
            return self._loop.run(self._raced(work, patience))
        except (TimeoutError, OSError, self.nats.errors.Error) as error:
            if "authorization" in str(error).lower():  # while connecting it has no type of its own
                raise StreamlearnError(
                    "NATS refuses this user; check the credentials of the address"
                ) from None
            if isinstance(error, self.nats.js.errors.APIError) and error.description:
                raise BrokerError(f"NATS refuses what is asked of it: {error.description}") from None
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
            client: Any = self.nats.aio.client.Client()  # its options are typed too narrowly
            self.client = client  # before it connects, so that close() finds it whatever happens
            await client.connect(
                self.servers.split(","),
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0.05,
                connect_timeout=CONNECT,
                error_cb=_silent,
                disconnected_cb=self._disconnected,
                closed_cb=self._disconnected,
            )
            self._lost.clear()
            self.stream = client.jetstream(timeout=ANSWER, publish_async_max_pending=1 << 20)
        assert self.stream is not None  # noqa: S101 - made with the client
        return self.stream

    async def made(self, stream: str) -> tuple[str, object]:
        """Return what tells a stream from others of its name, whatever the address: when it was made."""
        return stream, (await (await self.open()).stream_info(stream)).created

    async def stream_of(self, subject: str) -> str:
        """Return the name of the stream that holds a subject."""
        stream = await self.open()
        try:
            return await stream.find_stream_name_by_subject(subject)
        except self.nats.js.errors.NotFoundError:
            raise StreamlearnError(
                f"no stream of NATS JetStream holds the subject {subject!r}; create one, as: "
                f"nats stream add NAME --subjects {shlex.quote(subject)}"
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


def _client() -> ModuleType:
    try:
        import nats.js.api  # noqa: PLC0415 - an extra
        import nats.js.errors  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingExtraError(
            'NATS needs nats-py; install it with: pip install "streamlearn[nats]"'
        ) from None
    return nats


async def _silent(error: Exception) -> None:
    """Say nothing: what goes wrong is raised where it matters."""
