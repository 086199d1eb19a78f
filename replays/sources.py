"""The bytes of a log, from a file, a pipe or standard input, gzipped or not, in blocks of whole lines."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from streamlearn.errors import StreamError

BLOCK = 1 << 18
"""Bytes read at once."""
LINE_LIMIT = 1 << 20
"""Bytes of the longest line that is read, so that memory stays bounded whatever the file is."""

_HEAD = 16  # bytes: longer than every magic number below
_GZIP = b"\x1f\x8b"
_GZIP_MEMBER = 31  # zlib's code for "one gzip member, checksum verified"
_PARQUET = b"PAR1"
_PACKED = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x04\x22\x4d\x18": "compressed with lz4",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
} | {b"BZh%d1AY&SY" % level: "compressed with bzip2" for level in range(1, 10)}


class DamagedError(StreamError):
    """Compressed bytes end early or are corrupt; whoever counts the rows completes the message."""


class Source(NamedTuple):
    """Where a log is.

    Attributes
    ----------
    name
        What messages call it.
    path
        None for standard input.
    once
        Whether it can be read only once: standard input and pipes.
    """

    name: str
    path: Path | None
    once: bool


class Text(NamedTuple):
    """Whole lines of a log.

    Attributes
    ----------
    line
        Number of the first of them, 1-based.
    text
        The lines, each with its line feed (the last of the file may lack it).
    """

    line: int
    text: str


def find(source: str | Path) -> Source:
    """Return where ``source`` is: ``"-"`` is standard input, anything else a path.

    Raises
    ------
    StreamError
        If there is no such file, or it is a directory.

    Examples
    --------
    >>> from streamlearn.replays import sources
    >>> sources.find("-").once
    True
    """
    if source == "-":
        return Source("standard input", None, once=True)
    path = Path(source)
    with _spoken(str(path)):
        mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise StreamError(f"{path} is a directory; give one of the files in it")
    return Source(str(path), path, once=not stat.S_ISREG(mode))


@contextlib.contextmanager
def _spoken(name: str) -> Iterator[None]:
    """Say the operating system's refusals in one voice."""
    try:
        yield
    except StreamError:
        raise
    except FileNotFoundError:
        raise StreamError(f"{name}: no such file; check the path") from None
    except PermissionError:
        raise StreamError(f"{name}: no permission to read it; ask its owner or change its mode") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path, or a closed standard input
        reason = getattr(error, "strerror", None) or "not an open file"
        raise StreamError(f"{name}: cannot be read ({reason}); check that it is a readable file") from None


def blocks(source: Source) -> Iterator[bytes]:
    """Yield the bytes as they are stored, in non-empty blocks of at most :data:`BLOCK`.

    Raises
    ------
    StreamError
        If the operating system refuses.
    """
    with _spoken(source.name):
        yield from _standard_input() if source.path is None else _stored(source.path)


def _stored(path: Path) -> Iterator[bytes]:
    # A bare descriptor: a file object left in a cycle could be finalised before this generator closes it.
    handle = os.open(path, os.O_RDONLY)
    try:
        while block := os.read(handle, BLOCK):
            yield block
    finally:
        os.close(handle)


def _standard_input() -> Iterator[bytes]:
    binary = getattr(sys.stdin, "buffer", None)  # it is not ours to close
    if binary is None:
        raise StreamError("standard input is not open for bytes; give a file")
    while block := binary.read1(BLOCK):
        yield block


def unpacked(source: Source) -> tuple[bool, Iterator[bytes]]:
    """Return whether the log is Parquet, and its bytes, gunzipped if need be.

    Raises
    ------
    StreamError
        If the log is empty, or packed in a way that has to be undone first.
    """
    head, stored = _peek(blocks(source))
    if head.startswith(_GZIP):
        head, stored = _peek(_gunzip(stored))
        if head.startswith((_GZIP, _PARQUET)):
            raise StreamError(f"{source.name} is packed twice; unpack it first (gunzip)")
    if not head:
        raise StreamError(f"{source.name} is empty; give a log with at least one row")
    for magic, packing in _PACKED.items():
        if head.startswith(magic):
            raise StreamError(f"{source.name} is {packing}; unpack it first")
    return head.startswith(_PARQUET), stored


def _peek(stored: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return enough of the beginning to tell what it is, and everything."""
    head = b""
    while len(head) < _HEAD and (block := next(stored, b"")):  # a pipe may hand over byte by byte
        head += block
    return head, itertools.chain([head] if head else [], stored)


def _gunzip(stored: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what gzip members hold, in blocks of at most :data:`BLOCK`, however much a member inflates to."""
    inflate = zlib.decompressobj(wbits=_GZIP_MEMBER)
    inside = False
    try:
        for block in stored:
            # Between two members, and after the last, there may be padding with zeros.
            rest = block if inside else block.lstrip(b"\0")
            while rest:
                inside = True
                if plain := inflate.decompress(rest, BLOCK):
                    yield plain
                rest = inflate.unconsumed_tail
                if inflate.eof:
                    rest = inflate.unused_data.lstrip(b"\0")
                    inflate = zlib.decompressobj(wbits=_GZIP_MEMBER)
                    inside = False
        while plain := inflate.decompress(b"", BLOCK):  # what zlib still held back
            yield plain
    except zlib.error:
        raise DamagedError("gzip data are corrupt") from None
    if inside and not inflate.eof:
        raise DamagedError("gzip data are truncated")


def lines(stored: Iterator[bytes], name: str) -> Iterator[Text]:
    r"""Yield the log's text in blocks of whole lines.

    Parameters
    ----------
    stored
        Its bytes.
    name
        What messages call the log.

    Raises
    ------
    StreamError
        If a line is not UTF-8, holds a NUL byte or is longer than :data:`LINE_LIMIT`.

    Examples
    --------
    >>> from streamlearn.replays import sources
    >>> list(sources.lines(iter([b"a\nb", b"c\nd"]), "log"))
    [Text(line=1, text='a\n'), Text(line=2, text='bc\n'), Text(line=3, text='d')]
    """
    line = 1
    begun = b""
    for block in stored:
        end = block.rfind(b"\n") + 1
        if len(begun) + (block.find(b"\n") if end else len(block)) > LINE_LIMIT:
            raise StreamError(
                f"{name}, line {line}: longer than {LINE_LIMIT} bytes; end each row with a line feed"
            )
        if not end:
            begun += block
            continue
        whole, begun = begun + block[:end], block[end:]
        yield _decoded(whole, line, name)
        line += whole.count(b"\n")
    if begun:
        yield _decoded(begun, line, name)


def _decoded(whole: bytes, line: int, name: str) -> Text:
    if b"\0" in whole:
        line += whole.count(b"\n", 0, whole.index(b"\0"))
        raise StreamError(
            f"{name}, line {line}: holds a NUL byte, so this is not UTF-8 text; convert it (iconv), "
            "or give CSV, JSONL or Parquet"
        )
    try:
        text = whole.decode()
    except UnicodeDecodeError as error:
        line += whole.count(b"\n", 0, error.start)
        raise StreamError(f"{name}, line {line}: not UTF-8; convert the file to UTF-8 (iconv)") from None
    return Text(line, text.removeprefix("\ufeff") if line == 1 else text)
