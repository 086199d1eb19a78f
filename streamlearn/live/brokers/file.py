"""JSON lines of a file that others append to, and decisions as lines of another."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import msgspec

from streamlearn.errors import BrokerError, ParameterError, StreamlearnError
from streamlearn.live.brokers.stored import checked
from streamlearn.live.messages import MOST_BYTES, Message, Position
from streamlearn.live.store import Outgoing

CHUNK: Final = 1 << 18
GLANCE: Final = 0.02
"""Seconds between two looks at a file that has nothing new."""
TAIL: Final = 100_000
"""Lines read back to recognise what a run before wrote: no pump may take a larger batch.

Written and not yet known to be is at most what one batch decided: the outbox forgets what was published before, with
the next batch or, where processes share a store, at once.
"""


class Source:
    r"""Lines of a file that grows. A line without its newline is not yet a message.

    Its partition is the file's absolute path, and a position (byte at which the line ends,).

    Parameters
    ----------
    path
        The file.
    begin
        Where to start without a stored position: ``"beginning"``, ``"end"``, or the byte at which a line begins.
    follow
        Wait for further lines. Otherwise the source ends with the file, and a last line needs no newline.

    Raises
    ------
    ParameterError
        If ``begin`` is none of these.

    Examples
    --------
    >>> import pathlib
    >>> from streamlearn.live.brokers import file
    >>> path = pathlib.Path("reports.jsonl")
    >>> path.write_bytes(b'{"round":1}\n{"round":2}\n{"rou')
    29
    >>> source = file.Source(path)
    >>> source.start({})
    {}
    >>> [(message.position, message.data) for message in source.fetch(10, patience=0.0)]
    [((12,), b'{"round":1}'), ((24,), b'{"round":2}')]
    >>> source.close()
    """

    ended = False
    shared = False

    def __init__(self, path: str | Path, *, begin: str = "beginning", follow: bool = True) -> None:
        if begin not in {"beginning", "end"} and not re.fullmatch("[0-9]{1,18}", begin):
            raise ParameterError(
                f"begin must be 'beginning', 'end' or the byte at which a line of the file begins, got {begin!r}"
            )
        self._path = Path(path).absolute()
        self._begin = begin
        self._follow = follow
        self._partition = str(self._path)
        self._file: IO[bytes] | None = None
        self._reset(0)

    def _reset(self, offset: int) -> None:
        self._read = offset  # up to here it was read
        self._end = offset  # up to here it was cut into lines
        self._rest = bytearray()  # of the line in between its beginning
        self._lines: deque[Message] = deque()

    def start(self, positions: Mapping[str, Position]) -> dict[str, Position]:
        """Open the file, to go on after the stored position; return where it begins, if it had none.

        Raises
        ------
        StreamlearnError
            If there is no such file, or no line ends at the position: another file has taken its place.
        """
        self.close()
        try:
            self._file = self._path.open("rb", buffering=0)
        except (OSError, ValueError) as error:
            raise StreamlearnError(
                f"{self._path}: cannot be read ({error}); name a file of JSON lines"
            ) from None
        size = os.fstat(self._file.fileno()).st_size
        stored = positions.get(self._partition)
        begin = "beginning" if positions else self._begin
        offset = self._beginning(begin, size) if stored is None else checked(self._partition, stored, 1)[0]
        self._check(offset, size)
        self._reset(offset)
        self._file.seek(offset)
        return {self._partition: (offset,)} if stored is None and begin != "beginning" else {}

    def _beginning(self, begin: str, size: int) -> int:
        if begin != "end":
            return 0 if begin == "beginning" else int(begin)
        assert self._file is not None  # noqa: S101 - start has opened it
        while size:  # back to where the last whole line ends
            step = min(size, CHUNK)
            found = os.pread(self._file.fileno(), step, size - step).rfind(b"\n")
            size -= step
            if found >= 0:
                return size + found + 1
        return 0

    def _check(self, offset: int, size: int) -> None:
        assert self._file is not None  # noqa: S101 - as above
        if offset > size:
            raise StreamlearnError(
                f"{self._path}: has {size} bytes and is to be read from byte {offset}; it was cut or replaced: put "
                "back the file as it was, or begin with a new store"
            )
        if offset and os.pread(self._file.fileno(), 1, offset - 1) not in {b"\n", b""}:
            raise StreamlearnError(
                f"{self._path}: no line begins at byte {offset}, where it is to be read from; it was replaced or "
                "edited: put back the file as it was, or begin with a new store"
            )

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the next lines, at most ``most``; wait ``patience`` seconds for the first.

        Raises
        ------
        StreamlearnError
            If the file was cut, or another has taken its place.
        """
        deadline = time.monotonic() + patience
        while len(self._lines) < most:
            if self._feed():
                continue
            if self._lines or not self._follow:
                break
            self._check_place()
            wait = min(GLANCE, deadline - time.monotonic())
            if wait <= 0:
                break
            time.sleep(wait)
        taken = [self._lines.popleft() for _ in range(min(most, len(self._lines)))]
        self.ended = not (self._follow or taken)
        return taken

    def _feed(self) -> bool:
        """Read on and cut into lines; return whether there was anything."""
        assert self._file is not None  # noqa: S101 - the pump starts a source before it fetches
        try:
            chunk = self._file.read(CHUNK)
        except OSError as error:
            raise BrokerError(f"{self._path}: cannot be read ({error.strerror})") from None
        if not chunk:
            if not self._follow and self._end < self._read:
                self._cut(b"", self._read)
                return True
            return False
        *lines, rest = chunk.split(b"\n")
        end = self._read
        for line in lines:
            end += len(line) + 1
            self._cut(line, end)
        self._read += len(chunk)
        self._rest += rest[: MOST_BYTES + 1 - len(self._rest)]
        return True

    def _cut(self, line: bytes, end: int) -> None:
        """Take note of a whole line. Of one that is too long its beginning is kept: enough to be refused."""
        data = bytes(self._rest + line)[: MOST_BYTES + 1] if self._rest else line[: MOST_BYTES + 1]
        self._rest.clear()
        self._end = end
        if data.strip():
            self._lines.append(Message(self._partition, (end,), data))

    def _check_place(self) -> None:
        """Refuse to wait at a file that will never grow."""
        assert self._file is not None  # noqa: S101 - as above
        mine = os.fstat(self._file.fileno())
        if mine.st_size < self._read:
            self._check(self._read, mine.st_size)
        try:
            there = self._path.stat()
        except OSError:
            return  # moved away; whoever does it may still write to it
        if (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino) and not self._feed():
            raise StreamlearnError(
                f"{self._path}: another file of {there.st_size} bytes has taken its place, the one before was read to "
                f"byte {self._end}; put back the file as it was, or begin with a new store"
            )

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Do nothing: a file has nobody to tell."""

    def lag(self) -> int | None:
        """Return 0 where all was read; else None: nobody has counted the lines."""
        if self._file is None or self._lines:
            return None
        return 0 if self._end >= os.fstat(self._file.fileno()).st_size else None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Sink:
    r"""Lines at the end of a file: each message once, also where a killed run left half of a batch, or of a line.

    Parameters
    ----------
    path
        The file, made where there is none.

    Raises
    ------
    StreamlearnError
        If it cannot be opened, or is no regular file.

    Notes
    -----
    What a run before wrote is known by the field ``id`` of its lines, the last 100,000 of them.

    Examples
    --------
    >>> import pathlib
    >>> from streamlearn.live import Outgoing
    >>> from streamlearn.live.brokers import file
    >>> decision = Outgoing(1, "decision", "0f", "job 1", b'{"id":"0f","take":true}')
    >>> file.Sink("decisions.jsonl").publish([decision])
    0
    >>> file.Sink("decisions.jsonl").publish([decision])  # by another process
    1
    >>> pathlib.Path("decisions.jsonl").read_bytes()
    b'{"id":"0f","take":true}\n'
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()
        self._inode: tuple[int, int] | None = None
        self._end = 0
        self._known: set[str] = set()
        self._names: deque[str] = deque()
        try:
            new = not self._path.exists()
            with self._path.open("ab"):
                regular = self._path.is_file()
            if new:
                _sync_folder(self._path.parent)
        except (OSError, ValueError) as error:
            raise StreamlearnError(
                f"{self._path}: cannot be written ({error}); choose a writable place"
            ) from None
        if not regular:
            raise StreamlearnError(f"{self._path}: is no regular file; write to a pipe or device through -")

    def publish(self, messages: Sequence[Outgoing]) -> int:
        """Append the payloads that are not there yet, a line each, safe from a power cut; return how many were there.

        Raises
        ------
        BrokerError
            If the file cannot be written now; nothing was.
        """
        try:
            # Opened each time, so that a file that was moved away is made anew.
            with self._path.open("a+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # another run may write to it
                self._catch_up(file)
                fresh = [it for it in messages if not {it.id, _name(it.payload)} & self._known]
                self._append(file, b"".join(it.payload + b"\n" for it in fresh))
        except OSError as error:
            raise BrokerError(
                f"{self._path}: cannot be written ({error.strerror}); free some space, or make the folder writable"
            ) from None
        for message in fresh:
            self._remember(message.id)
        return len(messages) - len(fresh)

    def close(self) -> None:
        """Do nothing: the file is open only while it is written."""

    def _append(self, file: IO[bytes], data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(self._end)
            raise
        self._end += len(data)

    def _catch_up(self, file: IO[bytes]) -> None:
        """Learn what others wrote since, and cut off the half line of one that was killed."""
        found = os.fstat(file.fileno())
        inode = found.st_dev, found.st_ino
        if inode != self._inode or found.st_size < self._end:
            self._inode = inode
            self._end = _tail(file, found.st_size)
        if found.st_size > self._end:
            file.seek(self._end)
            for line in _lines(file):
                if line.endswith(b"\n"):
                    self._end += len(line)
                    self._remember(_name(line))
                else:
                    file.truncate(self._end)

    def _remember(self, name: str) -> None:
        if name not in self._known:
            self._known.add(name)
            self._names.append(name)
            if len(self._names) > TAIL:
                self._known.remove(self._names.popleft())


class _Named(msgspec.Struct):
    id: str


_read_name: Final = msgspec.json.Decoder(_Named).decode


def _name(line: bytes) -> str:
    """Return the id in a line, or what stands for one in a line without."""
    try:
        return _read_name(line).id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return hashlib.blake2b(line.rstrip(b"\n"), digest_size=16).hexdigest()


def _tail(file: IO[bytes], size: int) -> int:
    """Return where the last lines begin, at most TAIL whole ones and a part of one before."""
    start, lines = size, 0
    while start and lines <= TAIL:
        step = min(CHUNK, start)
        start -= step
        lines += os.pread(file.fileno(), step, start).count(b"\n")
    return start


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Iterate over the lines from here to the end, with their newlines; the last may lack it."""
    rest = b""
    while chunk := file.read(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest


def _sync_folder(folder: Path) -> None:
    """Make a new file's name survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
