"""A store that an older format wrote, in the middle of its work, goes on as if nothing had happened.

The files in ``data`` are dumps of stores of format 1, which knew no consumer groups, and of format 2, where the stopper
is in the middle of a group's work. They are never made anew.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import livestreams
import pytest

from streamlearn.live import Runner, Store, schema
from streamlearn.live.inspection import inspect

DATA = Path(__file__).parent / "data"
RUNS = {
    "stopper": (livestreams.stopper, livestreams.reports(6), 14),
    "predictor": (livestreams.predictor, livestreams.examples(2, 12), 25),
}


@pytest.fixture
def old(tmp_path, request):
    """The store of an older format, as a file."""
    path = tmp_path / "run.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript((DATA / f"{request.param}.sql").read_text(encoding="utf-8"))
    return path


@pytest.mark.parametrize(
    ("old", "kind", "number"),
    [
        ("stopper-format-1", "stopper", 1),
        ("predictor-format-1", "predictor", 1),
        ("predictor-format-2", "predictor", 2),
    ],
    indirect=["old"],
)
def test_an_older_store_goes_on(old, kind, number):
    factory, bodies, half = RUNS[kind]
    assert inspect(old)["format"] == number
    assert inspect(old)["positions"] == {"log": (half,)}
    with Store(old) as store:
        runner = Runner(factory, store)
        runner.process(livestreams.numbered(bodies))
        whole = livestreams.run_whole(factory, livestreams.numbered(bodies))
        assert livestreams.outcome(store) == livestreams.outcome(whole)
        assert store.counters()["redelivered"] == half
        message = livestreams.message(1000, {}, ordered=False)
        assert store.processed([message]) == set()
    assert inspect(old)["format"] == schema.FORMAT > 2


@pytest.mark.parametrize("old", ["stopper-format-2"], indirect=True)
def test_what_a_group_had_processed_is_known_and_forgotten_in_order(old):
    """Of 14 messages 5 were acknowledged, and forgotten as format 2 did; their places differ in digits."""
    factory, bodies, _ = RUNS["stopper"]
    messages = [
        livestreams.message(0, body, ordered=False)._replace(
            partition="stream", position=(1700000000000 + i // 12, i % 12)
        )
        for i, body in enumerate(bodies, 1)
    ]
    assert inspect(old)["unacknowledged"] == 9
    with Store(old) as store:
        assert store.processed(messages) == {("stream", it.position) for it in messages[5:14]}
        Runner(factory, store).process(messages[5:])
        whole = livestreams.run_whole(factory, livestreams.numbered(bodies))
        assert livestreams.outcome(store) == livestreams.outcome(whole)
        assert store.counters()["redelivered"] == 9
        store.acknowledged({"stream": messages[9].position})
        store.flush()
        assert store.processed(messages) == {("stream", it.position) for it in messages}
    assert inspect(old)["unacknowledged"] == len(messages) - 10


@pytest.mark.parametrize("old", ["stopper-format-1"], indirect=True)
def test_a_copy_of_an_older_store_is_brought_up_to_date_and_the_file_is_not(old):
    before = old.read_bytes()
    store = Store.copied(old)
    assert store.execute("PRAGMA user_version").fetchone() == (schema.FORMAT,)
    assert store.positions() == {"log": (14,)}
    assert old.read_bytes() == before
