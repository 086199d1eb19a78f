"""A store that an older format wrote, in the middle of its work, goes on as if nothing had happened.

The files in ``data`` are dumps of stores of format 1, which knew no consumer groups. They are never made anew.
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
        db.executescript((DATA / f"{request.param}-format-1.sql").read_text(encoding="utf-8"))
    return path


@pytest.mark.parametrize(("old", "kind"), [(kind, kind) for kind in RUNS], indirect=["old"], ids=list(RUNS))
def test_an_older_store_goes_on(old, kind):
    factory, bodies, half = RUNS[kind]
    assert inspect(old)["format"] == 1
    assert inspect(old)["positions"] == {"log": (half,)}
    with Store(old) as store:
        runner = Runner(factory, store)
        runner.process(livestreams.numbered(bodies))
        whole = livestreams.run_whole(factory, livestreams.numbered(bodies))
        assert livestreams.outcome(store) == livestreams.outcome(whole)
        assert store.counters()["redelivered"] == half
        message = livestreams.message(1000, {}, ordered=False)
        assert store.unacknowledged([message]) == set()
    assert inspect(old)["format"] == schema.FORMAT > 1


@pytest.mark.parametrize("old", ["stopper"], indirect=True)
def test_a_copy_of_an_older_store_is_brought_up_to_date_and_the_file_is_not(old):
    before = old.read_bytes()
    store = Store.copied(old)
    assert store.execute("PRAGMA user_version").fetchone() == (schema.FORMAT,)
    assert store.positions() == {"log": (14,)}
    assert old.read_bytes() == before
