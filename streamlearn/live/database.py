"""The sqlite file of a live run: its owner's alone, and what goes wrong with it said without quoting what it holds."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from streamlearn.errors import StateError, StreamlearnError

T = TypeVar("T")
PATIENCE: Final = 30.0
"""Seconds to wait for another process that writes to the same store."""
SIDES: Final = ("-wal", "-shm", "-journal", "-pipe", "-publishing")
"""How the names end of the files that lie beside a store: sqlite's and ours."""
LOOKS: Final = 20
"""How often a file is read again that changed meanwhile."""
_PASSING: Final = (
    "BUSY",
    "CANTOPEN",
    "FULL",
    "INTERRUPT",
    "IOERR",
    "LOCKED",
    "NOLFS",
    "NOMEM",
    "PERM",
    "READONLY",
    "TOOBIG",
)
"""Troubles of sqlite that are not the file's contents; it names them without quoting any."""


_SENSELESS: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class UnusableError(StreamlearnError):
    """The file cannot be used now."""


class DamagedError(StateError):
    """The file does not hold what a store holds."""


def damaged(path: str | Path) -> DamagedError:
    """Return what to say of a store whose contents make no sense."""
    return DamagedError(f"{path}: is damaged; put back a copy of it, or name another file")


@contextlib.contextmanager
def sound(path: str | Path) -> Iterator[None]:
    """Take what is found within for damage, unless it was said already."""
    try:
        yield
    except StreamlearnError:
        raise
    except (*_SENSELESS, msgspec.MsgspecError):
        raise damaged(path) from None


def _complaint(error: sqlite3.Error, path: str) -> Exception:
    """Return what to say of a complaint of sqlite's."""
    if isinstance(error, sqlite3.ProgrammingError):
        return error  # not the file's fault
    kind = (*getattr(error, "sqlite_errorname", "").split("_"), "", "")[1]
    if kind in _PASSING:
        return UnusableError(
            f"{path}: cannot be used ({error}); nothing of this batch was kept: free space, stop the other "
            "process that holds it, or name another file"
        )
    if kind == "NOTADB":
        return DamagedError(f"{path}: is no store of a live run ({error}); name another file")
    return damaged(path)


def _told(method: Any) -> Any:
    """Return a method of a cursor or connection that complains in our words."""

    @functools.wraps(method)
    def asked(self: Any, *arguments: Any) -> Any:
        try:
            return method(self, *arguments)
        except sqlite3.Error as error:
            raise _complaint(error, getattr(self, "connection", self).path) from None
        except UnicodeDecodeError:  # sqlite quotes what it complains of
            raise damaged(getattr(self, "connection", self).path) from None

    return asked


class _Cursor(sqlite3.Cursor):
    execute = _told(sqlite3.Cursor.execute)
    executemany = _told(sqlite3.Cursor.executemany)
    fetchone = _told(sqlite3.Cursor.fetchone)
    fetchall = _told(sqlite3.Cursor.fetchall)
    __next__ = _told(sqlite3.Cursor.__next__)


class Database(sqlite3.Connection):
    """A connection whose complaints are errors of this package.

    Attributes
    ----------
    path
        The file they name.
    """

    path = ":memory:"
    backup = _told(sqlite3.Connection.backup)

    def execute(self, *question: Any) -> sqlite3.Cursor:
        """Ask one question."""
        found: sqlite3.Cursor = self.cursor(_Cursor).execute(*question)
        return found

    def executemany(self, *questions: Any) -> sqlite3.Cursor:
        """Ask one question of many rows."""
        found: sqlite3.Cursor = self.cursor(_Cursor).executemany(*questions)
        return found


def opened(path: str) -> tuple[Database, bool]:
    """Return a connection, and whether the file was made for it: by us, so that nobody else can ever read it.

    Raises
    ------
    StreamlearnError
        If it cannot be opened.
    """
    if path == ":memory:":
        return _connected(path, path), False
    if Path(path).is_dir():
        raise StreamlearnError(f"{path}: cannot be opened, it is a directory; name a file")
    try:
        os.close(private(path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
        made = True
    except (
        FileExistsError
    ):  # not opened: to close it would give up the locks that this process may have on it
        made = False
    except (OSError, ValueError) as error:
        raise StreamlearnError(f"{path}: cannot be opened ({error}); choose a writable place") from None
    if not os.access(path, os.R_OK | os.W_OK):
        raise StreamlearnError(f"{path}: cannot be opened for writing; choose a writable place")
    return _connected(path, path), made


def _connected(address: str, path: str) -> Database:
    try:
        db = sqlite3.connect(
            address,
            isolation_level=None,
            timeout=PATIENCE,
            check_same_thread=False,
            factory=Database,
            uri=address != path,
        )
    except sqlite3.Error as error:
        raise _complaint(error, path) from None
    db.path = path
    return db


def private(path: str, flags: int) -> int:
    """Open a file for its owner alone."""
    return os.open(path, flags, 0o600)


def remove(path: str | Path) -> None:
    """Remove a store that was made in vain, with the files beside it."""
    for end in ("", *SIDES):
        with contextlib.suppress(OSError):
            Path(f"{path}{end}").unlink()


def make_private(path: str) -> None:
    """Let nobody but its owner read a store, whoever made its file.

    Raises
    ------
    StreamlearnError
        If it belongs to another user.
    """
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            file = Path(path + end)
            if stat.S_IMODE(file.stat().st_mode) & 0o077:
                try:
                    file.chmod(0o600)
                except PermissionError:
                    raise StreamlearnError(
                        f"{file}: others can read it, and it belongs to another user; name a file of your own"
                    ) from None


def read(path: str | Path, question: Callable[[Database], T]) -> T:
    """Ask a store something, and leave no trace: no file beside it, whether a run is at work on it or not.

    Raises
    ------
    StateError
        If it is no store.
    StreamlearnError
        If it cannot be read.
    """
    place = Path(path).absolute()
    for _ in range(LOOKS):
        before = _seen(place)
        try:
            with _reading(place, str(path), before) as db:
                answer = question(db)
        except (UnusableError, DamagedError):
            if _seen(place) == before:
                raise
        else:
            if _seen(place) == before or "-shm" in before:
                return answer
    raise UnusableError(f"{path}: changes whenever it is read; try again")


def _seen(place: Path) -> dict[str, tuple[int, int, int]]:
    """Return which of sqlite's files are there, and what tells whether they were written to."""
    found = {}
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            it = Path(f"{place}{end}").stat()
            if end != "-wal" or it.st_size:
                found[end] = (it.st_ino, it.st_size, it.st_mtime_ns)
    if "-wal" not in found:
        found.pop("-shm", None)
    return found


@contextlib.contextmanager
def _reading(place: Path, path: str, there: dict[str, tuple[int, int, int]]) -> Iterator[Database]:
    """Open a store so that nothing is written. Only where its log lies beside it is there anything to wait for."""
    with contextlib.ExitStack() as stack:
        how = "mode=ro" if "-shm" in there else "mode=ro&immutable=1"
        try:
            if "-wal" in there and "-shm" not in there:  # a copy, of which sqlite would make the third file
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                for end in there:
                    shutil.copyfile(f"{place}{end}", folder / f"store{end}")
                place, how = folder / "store", "mode=rw"
            elif not os.access(place, os.R_OK):
                raise PermissionError("permission denied")
        except OSError as error:
            raise UnusableError(
                f"{path}: cannot be read ({error.strerror or error}); ask its owner"
            ) from None
        yield stack.enter_context(contextlib.closing(_connected(f"{place.as_uri()}?{how}", path)))
