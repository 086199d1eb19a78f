"""A damaged store is said to be one, by whoever opens it, and nothing of what it holds is quoted."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3

import livestreams
import pytest
from liveserving import BODIES, PRIORS, inside, lines

from streamlearn.errors import StateError, StreamlearnError
from streamlearn.live import Runner, Store
from streamlearn.live.inspection import inspect

SECRET = "hunter2"  # noqa: S105 - what must not come out
FLIPS = 60
LABELS = [{"key": f"site {i}", "event_id": f"e{j}", "y": 1} for i in range(3) for j in range(20)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Stores of a stopper and a predictor, with all their tables filled."""
    folder = tmp_path_factory.mktemp("made")
    for kind, bodies in (("stopper", BODIES), ("predictor", livestreams.examples(3, 20))):
        with Store(folder / f"{kind}.db", run="test") as store:
            runner = Runner(getattr(livestreams, kind), store)
            runner.process(livestreams.numbered([*bodies, b"nonsense"]))
            store.secret()
    (folder / "log").write_bytes(lines(BODIES[:30]))
    code, _, err = inside(
        folder, "serve", PRIORS, "--store", "run.db", "--source", "file:log", "--until-idle", "0"
    )
    assert code == 0, err
    return folder


@pytest.fixture
def store(made, tmp_path, request):
    """A copy of one of them."""
    return shutil.copy(made / f"{getattr(request, 'param', 'stopper')}.db", tmp_path / "run.db")


def change(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def use(path, kind):
    """Open a store and go on with it, whatever comes."""
    with Store(path) as kept:
        runner = Runner(getattr(livestreams, kind), kept)
        kept.positions()
        kept.unpublished(1000)
        bodies = BODIES if kind == "stopper" else livestreams.examples(3, 30) + LABELS
        runner.process([livestreams.message(1000 + number, body) for number, body in enumerate(bodies)])


DAMAGES = [
    ("UPDATE positions SET position = ?", SECRET),
    ("UPDATE positions SET position = ?", b"[1, \xff]"),
    ("UPDATE positions SET position = ?", b"[-1]"),
    ("UPDATE positions SET position = ?", b"[99999999999999999999999]"),
    ("UPDATE positions SET partition = CAST(x'ff' AS TEXT)",),
    ("UPDATE ledger SET answers = ?", SECRET),
    ("UPDATE ledger SET epsilon = ?", SECRET),
    ("UPDATE counters SET count = ?", SECRET),
    ("UPDATE facts SET value = ? WHERE name = 'run'", SECRET.encode()),
    ("DELETE FROM facts WHERE name = 'run'",),
    ("DELETE FROM facts WHERE name = 'agent'",),
    ("DROP TABLE positions",),
    ("DROP TABLE facts",),
    ("DROP TABLE outbox",),
    ("UPDATE outbox SET channel = ?", SECRET),
    ("UPDATE outbox SET payload = ?", SECRET),
    ("UPDATE recent SET states = ?", SECRET.encode()),
    ("PRAGMA user_version = 2",),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_is_damage(store, damage):
    change(store, *damage)
    with pytest.raises(StateError, match=r"run\.db: is damaged; put back a copy") as caught:
        use(store, "stopper")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [it for it in DAMAGES if "outbox SET" not in it[0] and "'agent'" not in it[0]],
)
def test_inspect_says_so_too(store, damage):
    change(store, *damage)
    with pytest.raises(StateError, match=r"run\.db: is damaged; put back a copy") as caught:
        inspect(store, key="job 1")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("store", ["predictor"], indirect=True)
@pytest.mark.parametrize(
    "damage",
    [
        ("UPDATE events SET x = ? WHERE x IS NOT NULL", SECRET),
        ("UPDATE events SET round = ? WHERE x IS NOT NULL", SECRET),
        ("UPDATE events SET number = ?", SECRET),
    ],
)
def test_a_damaged_event_is_not_its_messages_fault(store, damage):
    change(store, *damage)
    with pytest.raises(StateError, match="is damaged") as caught:
        use(store, "predictor")
    assert SECRET not in str(caught.value)
    assert inspect(store)["counters"]["dead_letters"] == 1  # as before


def test_a_session_that_its_agent_cannot_load_is_damage(store):
    with Store(store) as kept, kept.transaction():
        kept.save_sessions({key: saved.replace(b'"round":', b'"hunter2":') for key, saved in kept.sessions()})
    with pytest.raises(StateError) as caught:
        use(store, "stopper")
    assert SECRET not in str(caught.value)


def test_a_secret_that_is_none_is_damage(store):
    for bad in (SECRET, "00"):
        change(store, "UPDATE facts SET value = ? WHERE name = 'secret'", bad)
        with Store(store) as kept, pytest.raises(StateError, match="is damaged"):
            kept.secret()


def test_a_store_without_its_name_is_not_named_anew(store):
    change(store, "DELETE FROM facts")
    for opened in (lambda: Store(store), lambda: Store.copied(store)):
        with pytest.raises(StateError, match="is damaged"):
            opened()
    with contextlib.closing(sqlite3.connect(store)) as db:
        assert db.execute("SELECT count(*) FROM facts").fetchone() == (0,)


def test_bytes_flipped_anywhere_end_a_command_well_or_in_one_line(made, tmp_path):
    """With status 0 where nothing shows: a store carries no checksums."""
    draw = random.Random(5)
    whole = (made / "run.db").read_bytes()
    (tmp_path / "log").write_bytes(lines(BODIES))
    ends = set()
    for _ in range(FLIPS):
        damaged = bytearray(whole)
        for _ in range(draw.choice([1, 8, 64])):
            damaged[draw.randrange(len(damaged)) if draw.random() < 0.8 else draw.randrange(4096)] = (
                draw.randrange(256)
            )
        (tmp_path / "run.db").write_bytes(damaged)
        for command in (
            ("inspect", "run.db", "--key", BODIES[0]["key"]),
            (
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
            ),
        ):
            code, _, err = inside(tmp_path, *command)
            assert code in {0, 1}
            assert code == 0 or (err.startswith("error: ") and err.count("\n") == 1), err
            ends.add((command[0], code))
        for beside in tmp_path.glob("run.db-*"):
            beside.unlink()
    assert ends == {("inspect", 0), ("inspect", 1), ("serve", 0), ("serve", 1)}


def test_random_bytes_are_no_store(tmp_path):
    (tmp_path / "run.db").write_bytes(random.Random(1).randbytes(8192))
    for look in (Store, inspect, Store.copied):
        with pytest.raises(StreamlearnError, match="is no store of a live run"):
            look(tmp_path / "run.db")
