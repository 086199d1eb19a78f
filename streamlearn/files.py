"""Writing a file whole or not at all, and keeping others out meanwhile."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from streamlearn.errors import StreamlearnError

_PATIENCE = 30.0  # seconds to wait for a lock


def write_atomically(path: str | Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write ``content`` to ``path`` through a temporary file beside it, so no half-written file is left.

    Parameters
    ----------
    path
        Where to write. An existing file is replaced in one step; a device, pipe or folder is refused.
    content
        Text (written as UTF-8) or bytes.
    mode
        Permission bits of the new file; 0o600 for secrets.

    Raises
    ------
    StreamlearnError
        If the file cannot be written; ``path`` is then as it was.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from streamlearn.files import write_atomically
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "plan.json"
    >>> write_atomically(target, "{}")
    >>> target.read_text()
    '{}'
    """
    target = _resolved(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        if target.exists() and not target.is_file():
            # Replacing would delete the device itself: as root, even /dev/null.
            raise StreamlearnError(f"{target}: is not a regular file; choose the name of a file")
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # noqa: PTH101 - the temporary name is a string from mkstemp
        os.replace(temporary, target)  # noqa: PTH105 - as above
    except OSError as error:
        raise StreamlearnError(
            f"{target}: cannot be written ({error.strerror}); choose a writable place"
        ) from None
    finally:
        # Gone already where all went well; a secret must not stay behind where anything did not.
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - as above
    _sync_folder(target.parent)


def _resolved(path: str | Path) -> Path:
    """Return the file behind a name: replacing a symbolic link would leave two files where there was one."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise StreamlearnError(f"{path!r} is no place for a file ({error}); choose another") from None


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def exclusive(path: str | Path) -> Iterator[None]:
    """Hold a lock on ``path`` (through a file beside it) against other processes that do the same.

    A symbolic link is followed first: two names of one file share one lock.

    Raises
    ------
    StreamlearnError
        If ``path`` is no regular file, the lock file cannot be made, or another process holds it for half a minute.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from streamlearn.files import exclusive
    >>> with exclusive(pathlib.Path(tempfile.mkdtemp()) / "memory.json"):
    ...     pass
    """
    target = _resolved(path)
    if target.exists() and not target.is_file():
        raise StreamlearnError(f"{target}: is not a regular file; choose another place")
    try:
        handle = os.open(target.with_name(f".{target.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise StreamlearnError(
            f"{target}: cannot be locked ({error.strerror}); choose a writable place"
        ) from None
    try:
        _wait_for_lock(handle, target)
        yield
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, target: Path) -> None:
    import fcntl  # noqa: PLC0415 - POSIX only, and only a command-line client needs it

    started = time.monotonic()
    told = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - started
            if waited > _PATIENCE:
                raise StreamlearnError(
                    f"{target}: another process has held its lock for {_PATIENCE:.0f} s; end that one and try again"
                ) from None
            if waited > 1.0 and not told:
                sys.stderr.write(f"waiting for another process that holds {target}\n")
                told = True
            time.sleep(0.02)
        else:
            return
