"""JSON lines through standard input and output, or any binary file objects."""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

from streamlearn.errors import StreamlearnError
from streamlearn.live.messages import MOST_BYTES, Message, Position
from streamlearn.live.store import Outgoing

PARTITION = "-"
CHUNK = 1 << 16


class Source:
    r"""Lines of a pipe. A pipe cannot be read again: what was read and not committed must be sent again.

    Whoever restarts sends again what it is not sure of; reports are known by their rounds, examples by their event
    ids, so nothing counts twice.

    Parameters
    ----------
    file
        A binary file, pipe or socket; standard input by default.

    Examples
    --------
    >>> import io
    >>> from streamlearn.live.brokers import pipe
    >>> source = pipe.Source(io.BytesIO(b'{"round":1}\n{"round":2}'))
    >>> source.start({})
    >>> [message.data for message in source.fetch(10, patience=1.0)], source.ended
    ([b'{"round":1}', b'{"round":2}'], False)
    >>> source.fetch(10, patience=1.0), source.ended
    ([], True)
    """

    ended = False
    shared = False

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = sys.stdin.buffer if file is None else file
        self._rest = bytearray()
        self._lines: deque[bytes] = deque()
        self._session = self._read = 0
        self._dry = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """Begin a session: lines of this one come after those of all before."""
        self._session = (*positions.get(PARTITION, ()), 0)[0] + 1

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the lines there are, at most ``most``; wait ``patience`` seconds for the first."""
        deadline = time.monotonic() + patience
        while len(self._lines) < most and not self._dry:
            wait = 0.0 if self._lines else max(0.0, deadline - time.monotonic())
            if not self._readable(wait):
                break
            self._feed(self._chunk())
        taken = [self._lines.popleft() for _ in range(min(most, len(self._lines)))]
        self.ended = self._dry and not taken
        first = self._read + 1
        self._read += len(taken)
        return [
            Message(PARTITION, (self._session, line), data) for line, data in enumerate(taken, first) if data
        ]

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Do nothing: a pipe has nobody to tell."""

    def lag(self) -> int | None:
        """Return None: a pipe does not know."""
        return None

    def close(self) -> None:
        """Do nothing: the file belongs to whoever opened it."""

    def _readable(self, patience: float) -> bool:
        try:
            return bool(select.select([self._file], [], [], patience)[0])
        except (OSError, ValueError):  # not a file of the system's, or one that never waits
            return True

    def _chunk(self) -> bytes:
        try:
            return os.read(self._file.fileno(), CHUNK)
        except io.UnsupportedOperation:
            return self._file.read(CHUNK)

    def _feed(self, chunk: bytes) -> None:
        """Cut what was read into lines. Of a line that is too long its beginning is kept: enough to be refused."""
        if not chunk:
            self._dry = True
            chunk = b"\n" if self._rest else b""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._lines.append(bytes(self._rest + line)[: MOST_BYTES + 1])
            self._rest.clear()
        self._rest += rest[: MOST_BYTES + 1 - len(self._rest)]


class Sink:
    r"""Lines of a pipe.

    Parameters
    ----------
    file
        A binary file or pipe; standard output by default.

    Examples
    --------
    >>> import io
    >>> from streamlearn.live import Outgoing
    >>> from streamlearn.live.brokers import pipe
    >>> file = io.BytesIO()
    >>> pipe.Sink(file).publish([Outgoing(1, "decision", "0f", "job 1", b'{"take":true}')])
    >>> file.getvalue()
    b'{"take":true}\n'
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = sys.stdout.buffer if file is None else file

    def publish(self, messages: Sequence[Outgoing]) -> None:
        """Write the payloads, a line each.

        Raises
        ------
        StreamlearnError
            If nobody reads any more. What was decided stays in the store.
        """
        try:
            self._file.write(b"".join(message.payload + b"\n" for message in messages))
            self._file.flush()
        except OSError as error:
            raise StreamlearnError(
                f"decisions cannot be written ({error.strerror}); they are kept in the store: run again with a reader"
            ) from None

    def close(self) -> None:
        """Do nothing: the file belongs to whoever opened it."""
