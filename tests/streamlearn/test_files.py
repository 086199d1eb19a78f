"""A file is written whole or not at all, and a secret is nobody else's at any moment."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile

import pytest

from streamlearn.errors import StreamlearnError
from streamlearn.files import exclusive, write_atomically


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", ["", "ε = ∞\n", b"\x00\xff", "x" * 10**6])
def test_content_arrives_whole_and_nothing_else_stays(tmp_path, content):
    target = tmp_path / "plan.json"
    for name in (target, str(target)):  # the second time over the first
        write_atomically(name, content)
        assert target.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == ["plan.json"]


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_mode_is_as_asked_even_over_an_open_file(tmp_path, mode):
    target = tmp_path / "memory.json"
    target.write_text("old")
    target.chmod(0o666)
    write_atomically(target, "new", mode=mode)
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_nobody_else_can_read_a_secret_while_it_is_written(tmp_path, monkeypatch):
    seen = []
    replace = os.replace

    def look(source, target):
        seen.append(stat.S_IMODE(os.stat(source).st_mode))  # noqa: PTH116 - a name from mkstemp
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    write_atomically(tmp_path / "memory.json", "secret", mode=0o600)
    assert seen == [0o600]


@pytest.mark.parametrize("failing", ["replace", "chmod", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, failing, error):
    target = tmp_path / "memory.json"
    target.write_text("old")

    def fail(*_):
        raise error

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises((StreamlearnError, KeyboardInterrupt)) as caught:
        write_atomically(target, "new")
    if isinstance(error, OSError):
        assert (
            str(caught.value)
            == f"{target}: cannot be written (No space left on device); choose a writable place"
        )
    assert target.read_text() == "old"
    assert names(tmp_path) == ["memory.json"]


def test_a_folder_that_is_missing_or_a_folder_as_target_is_refused(tmp_path):
    with pytest.raises(StreamlearnError, match="cannot be written"):
        write_atomically(tmp_path / "no" / "plan.json", "")
    with pytest.raises(StreamlearnError, match="not a regular file"):
        write_atomically(tmp_path, "")
    with pytest.raises(StreamlearnError, match="cannot be written"):
        write_atomically(tmp_path / ("x" * 300), "")
    assert names(tmp_path) == []


def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StreamlearnError, match="not a regular file"):
        write_atomically(pipe, "")
    assert pipe.is_fifo()
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    with pytest.raises(StreamlearnError, match="not a regular file"):
        write_atomically(link, "")
    assert link.is_symlink()


def test_the_folder_is_synced_after_the_name_is_there(tmp_path, monkeypatch):
    target = tmp_path / "memory.json"
    synced = []
    fsync = os.fsync

    def look(handle):
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), target.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(target, "new")
    assert synced == [(False, False), (True, True)]


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path):
    target = tmp_path / "memory.json"

    def somebody_else_gets_in():
        with open(tmp_path / ".memory.json.lock", "rb") as other:  # noqa: PTH123 - flock wants a descriptor
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    with exclusive(target):
        assert not somebody_else_gets_in()
    assert somebody_else_gets_in()
    with pytest.raises(ZeroDivisionError), exclusive(target):
        raise ZeroDivisionError
    assert somebody_else_gets_in()
    with (
        pytest.raises(StreamlearnError, match="cannot be locked"),
        exclusive(tmp_path / "no" / "memory.json"),
    ):
        pass


def test_temporary_files_lie_beside_the_target(tmp_path, monkeypatch):
    # Replacing is one step only within one file system.
    folders = []
    mkstemp = tempfile.mkstemp

    def look(*args, **kwargs):
        folders.append(kwargs["dir"])
        return mkstemp(*args, **kwargs)

    monkeypatch.setattr(tempfile, "mkstemp", look)
    write_atomically(tmp_path / "plan.json", "")
    assert folders == [tmp_path]
