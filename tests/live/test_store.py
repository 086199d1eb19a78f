"""What a store keeps: all of a transaction or nothing, for its owner alone, and never another program's file."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import subprocess
import sys

import livestreams
import pytest

from streamlearn import Key
from streamlearn.errors import ParameterError, StateError, StreamlearnError
from streamlearn.live import Outgoing, Runner, Store, schema


def test_a_store_goes_on_where_it_was_left(tmp_path):
    path = tmp_path / "run.db"
    with Store(path) as store:
        run, secret = store.run, store.secret()
        with store.transaction():
            store.advance({"a": (1, 2), "b": (7,)})
            store.send([("decision", "id", "key", b"{}"), ("dead", "id2", "log", b"{}")])
            store.count({"x": 1})
    with Store(path) as store:
        assert (store.run, store.secret()) == (run, secret)
        assert store.positions() == {"a": (1, 2), "b": (7,)}
        assert store.unpublished(10) == [
            Outgoing(1, "decision", "id", "key", b"{}"),
            Outgoing(2, "dead", "id2", "log", b"{}"),
        ]
        assert store.unpublished(1)[0].number == 1
        with store.transaction():
            store.count({"x": 2, "y": 1})
        assert store.counters() == {"x": 3, "y": 1}


def test_two_runs_have_different_names_and_secrets(tmp_path):
    with Store(tmp_path / "a.db") as one, Store(tmp_path / "b.db") as two:
        assert one.run != two.run
        assert one.secret() != two.secret()


def test_a_transaction_that_fails_changes_nothing(tmp_path):
    with Store(tmp_path / "run.db") as store:
        with contextlib.suppress(KeyError), store.transaction():
            store.advance({"a": (1,)})
            store.save_sessions({"key": b"{}"})
            raise KeyError
        assert store.positions() == {}
        assert store.session("key") is None


def test_an_attempt_that_fails_undoes_itself_alone():
    store = Store(":memory:")
    with store.transaction():
        store.count({"kept": 1})
        with contextlib.suppress(KeyError), store.attempt():
            store.count({"undone": 1})
            raise KeyError
        with store.attempt():
            store.count({"also": 1})
    assert store.counters() == {"kept": 1, "also": 1}


def test_what_was_published_is_forgotten_with_the_next_transaction(tmp_path):
    path = tmp_path / "run.db"
    with Store(path) as store:
        with store.transaction():
            store.send([("decision", f"id{i}", "key", b"{}") for i in range(3)])
        store.published(2)
        assert [it.number for it in store.unpublished(10)] == [3]
        with Store(path) as other:  # as a process after a kill finds it
            assert [it.number for it in other.unpublished(10)] == [1, 2, 3]
        store.flush()
        with Store(path) as other:
            assert [it.number for it in other.unpublished(10)] == [3]
        store.published(3)
        with store.transaction():  # numbers are never given twice
            store.send([("decision", "id", "key", b"{}")])
        assert [it.number for it in store.unpublished(10)] == [4]


def test_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "run.db"
    with Store(path) as store:
        store.secret()
        with store.publishing():
            pass
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


PUBLISHES = """
import sys
from streamlearn.live import Store
with Store(sys.argv[1]) as store, store.publishing() as allowed:
    print(allowed)
"""


def another_process_publishes(path):
    done = subprocess.run(
        [sys.executable, "-c", PUBLISHES, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip() == "True"


def test_one_process_at_a_time_publishes(tmp_path):
    path = tmp_path / "run.db"
    with Store(path) as store:
        with store.publishing() as allowed:
            assert allowed
            assert not another_process_publishes(path)
        assert another_process_publishes(path)


def test_another_connections_writes_are_noticed(tmp_path):
    with Store(tmp_path / "run.db") as one, Store(tmp_path / "run.db") as two:
        with one.transaction():
            assert one.catch_up()  # the other was opened
            one.count({"x": 1})
        with one.transaction():
            assert not one.catch_up()  # its own do not count
        with two.transaction():
            two.save_sessions({"a": b"{}"})
        with one.transaction():
            assert one.catch_up()
            assert one.session("a") == b"{}"
            assert not one.catch_up()


def test_a_copy_is_of_its_own(tmp_path):
    with Store(tmp_path / "run.db") as store:
        Runner(livestreams.stopper, store).process(livestreams.numbered(livestreams.reports(3)))
        before = livestreams.outcome(store)
        copy = Store.copied(tmp_path / "run.db")
        assert livestreams.outcome(copy) == before
        assert copy.run == store.run
        runner = Runner(livestreams.stopper, copy)
        runner.process([livestreams.message(1000, {"key": "new", "round": 1, "bit": 0})])
        copy.close()
        assert livestreams.outcome(store) == before


def test_a_copy_of_nothing_is_a_new_store_and_makes_no_file(tmp_path):
    assert Store.copied(tmp_path / "none.db", run="a").run == "a"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "notes.txt").write_text("notes " * 1000)
    with pytest.raises(StateError, match=r"notes\.txt: is no store"):
        Store.copied(tmp_path / "notes.txt")


def test_a_run_keeps_its_name(tmp_path):
    Store(tmp_path / "run.db", run="a").close()
    Store(tmp_path / "run.db", run="a").close()
    with pytest.raises(StateError, match=r"run is 'b' and .*run\.db belongs to run 'a'"):
        Store(tmp_path / "run.db", run="b")


def test_durability_is_what_was_asked_for(tmp_path):
    for name, level in (("full", 2), ("normal", 1)):
        with Store(tmp_path / f"{name}.db", durability=name) as store:
            assert store.execute("PRAGMA synchronous").fetchone() == (level,)
            assert store.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(ParameterError, match="durability must be 'full' or 'normal', got 'off'"):
        Store(tmp_path / "off.db", durability="off")
    assert not (tmp_path / "off.db").exists()


def test_another_programs_file_is_refused_and_left_alone(tmp_path):
    text, database = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("some notes, long enough to be mistaken for a database\n" * 100)
    with sqlite3.connect(database) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    for path in (text, database):
        before = path.read_bytes()
        with pytest.raises(StateError, match="name another file"):
            Store(path)
        assert path.read_bytes() == before, path.name


def test_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "run.db"
    with Store(path) as store:
        store.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
    with pytest.raises(
        StateError, match=f"format {schema.FORMAT + 1} is newer than {schema.FORMAT}.*upgrade"
    ):
        Store(path)


@pytest.mark.parametrize("place", ["missing/run.db", ".", "run\0.db"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, place):
    with pytest.raises(StreamlearnError, match="cannot be opened"):
        Store(tmp_path / place)


def test_the_secret_is_kept_and_never_shown():
    store = Store(":memory:")
    secret = store.secret()
    assert isinstance(secret, Key)
    assert secret.secret.hex() not in repr(store) + repr(secret) + repr(vars(store))
