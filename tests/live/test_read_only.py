"""A look at a store leaves no trace, and works where nothing can be written; it says so where it does not."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys

import livestreams
import pytest
from liveserving import BODIES, PRIORS, inside, lines

from streamlearn.errors import StreamlearnError
from streamlearn.live import Runner, Store, database
from streamlearn.live.inspection import inspect


def filled(path):
    with Store(path, run="test") as store:
        Runner(livestreams.stopper, store).process(livestreams.numbered(BODIES[:50]))
        return store.positions(), store.counters()


def names(folder):
    return {it.name for it in folder.iterdir()}


def check(path, expected):
    """Look in both ways, and find what was expected and nothing new beside it."""
    before = {it.name: it.read_bytes() for it in path.parent.iterdir() if not it.name.endswith("-shm")}
    beside = names(path.parent)
    found = inspect(path)
    copy = Store.copied(path)
    assert (found["positions"], found["counters"]) == (copy.positions(), copy.counters()) == expected
    assert names(path.parent) == beside
    assert {it: (path.parent / it).read_bytes() for it in before} == before


def test_a_store_at_rest_is_looked_at_without_a_trace(tmp_path):
    expected = filled(tmp_path / "run.db")
    assert names(tmp_path) == {"run.db"}
    check(tmp_path / "run.db", expected)


def test_a_store_at_work_is_looked_at_too(tmp_path):
    filled(tmp_path / "run.db")
    with Store(tmp_path / "run.db") as store:
        with store.transaction():
            store.count({"more": 1})
        check(tmp_path / "run.db", (store.positions(), store.counters()))


@pytest.mark.parametrize("ends", [("-wal", "-shm"), ("-wal",)])
def test_what_lies_in_the_log_of_a_killed_run_counts(tmp_path, ends):
    filled(tmp_path / "run.db")
    (tmp_path / "killed").mkdir()
    with Store(tmp_path / "run.db") as store:
        with store.transaction():
            store.count({"more": 1})
        expected = store.positions(), store.counters()
        for end in ("", *ends):
            shutil.copy(tmp_path / f"run.db{end}", tmp_path / "killed" / f"run.db{end}")
    check(tmp_path / "killed" / "run.db", expected)


def test_a_look_that_a_writer_disturbs_is_taken_again(tmp_path):
    filled(tmp_path / "run.db")
    looks = []

    def question(db):
        looks.append(db.execute("SELECT sum(count) FROM counters").fetchone()[0])
        if len(looks) == 1:
            with Store(tmp_path / "run.db") as store, store.transaction():
                store.count({"more": 5})
        return looks[-1]

    assert database.read(tmp_path / "run.db", question) == looks[0] + 5
    assert len(looks) == 2


def test_a_dry_run_leaves_no_trace(tmp_path):
    (tmp_path / "log").write_bytes(lines(BODIES))
    command = (
        "serve",
        PRIORS,
        "--store",
        "run.db",
        "--source",
        "file:log",
        "--until-idle",
        "0",
        "--log",
        "off",
    )
    inside(tmp_path, *command)
    before = names(tmp_path)
    assert "-shm" not in "".join(before)
    for look in (("inspect", "run.db"), (*command, "--dry-run")):
        assert inside(tmp_path, *look)[0] == 0
        assert names(tmp_path) == before


LOOKS = """
import sys
from streamlearn.errors import StreamlearnError
from streamlearn.live import Store
from streamlearn.live.inspection import inspect
path = sys.argv[1]
try:
    open(path + "-probe", "w")
except OSError:
    pass
else:
    sys.exit(77)
print(inspect(path)["counters"] == Store.copied(path).counters())
try:
    Store(path)
except StreamlearnError as error:
    print(error)
"""


@pytest.mark.parametrize("log", [False, True])
def test_a_place_that_cannot_be_written_is_read(tmp_path, log):
    folder = tmp_path / "away"
    folder.mkdir()
    filled(folder / "run.db")
    if log:
        with Store(folder / "run.db") as store:
            with store.transaction():
                store.count({"more": 1})
            shutil.copytree(folder, tmp_path / "copy")
        shutil.rmtree(folder)
        (tmp_path / "copy").rename(folder)
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    before = names(folder)
    script = f'mount --bind -o ro {folder} {folder} && mount -o remount,bind,ro {folder}; exec "$0" "$@"'
    words = [sys.executable, "-c", LOOKS, str(folder / "run.db")]
    if os.geteuid() == 0:  # whom no mode keeps from writing
        words = ["unshare", "-m", "sh", "-c", script, *words]
    if shutil.which(words[0]) is None:
        pytest.skip("needs the program unshare")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    folder.chmod(0o755)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this system mounts nothing read-only")
    told = done.stdout.splitlines()
    assert told[0] == "True", done.stderr
    assert "choose a writable place" in told[1]
    assert names(folder) == before


def test_a_store_that_never_rests_is_said_to_be_busy(tmp_path):
    filled(tmp_path / "run.db")

    def question(_):
        with Store(tmp_path / "run.db") as store, store.transaction():
            store.count({"more": 1})

    with pytest.raises(StreamlearnError, match="changes whenever it is read"):
        database.read(tmp_path / "run.db", question)
    assert sqlite3.connect(tmp_path / "run.db").execute("PRAGMA integrity_check").fetchone() == ("ok",)
