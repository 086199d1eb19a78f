"""Saved sessions are the same whether they lie in the journal or in the table, whoever looks and whatever fails."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.errors import StateError
from streamlearn.live import Store, states
from streamlearn.live.inspection import inspect

KEYS = st.sampled_from(["", "a", "b", "job 1", "\N{SNOWMAN}"])
STATES = st.sampled_from([b"", b"{}", b"{1}", b'{"round":1}', b'{"round":2}', b"\xff"])
STEPS = st.lists(
    st.dictionaries(KEYS, STATES) | st.sampled_from(["fold", "reopen", "fail", "other"]), max_size=12
)


def rows(store):
    return store.execute("SELECT count(*) FROM recent").fetchone()[0]


@settings(max_examples=100)
@given(STEPS, st.sampled_from([1, 3, 50_000]))
def test_the_latest_session_of_every_key_is_found(tmp_path_factory, steps, most):
    path = tmp_path_factory.mktemp("states") / "run.db"
    expected = {}
    with pytest.MonkeyPatch.context() as patched, contextlib.ExitStack() as stack:
        patched.setattr(states, "MOST_RECENT", most)
        store = stack.enter_context(Store(path, durability="normal"))
        for step in steps:
            if step == "fold":
                with store.transaction():
                    store._states.fold()
                assert rows(store) == 0
            elif step == "reopen":
                store.close()
                store = stack.enter_context(Store(path, durability="normal"))
            elif step == "fail":
                with contextlib.suppress(KeyError), store.transaction():
                    store.save_sessions({"a": b"lost"})
                    store._states.fold()
                    store.save_sessions({"b": b"lost"})
                    raise KeyError
            elif step == "other":
                with Store(path, durability="normal") as other, other.transaction():
                    other.save_sessions({"job 1": b"of another process"})
                expected["job 1"] = b"of another process"
                with store.transaction():
                    assert store.catch_up()
            else:
                with store.transaction():
                    store.save_sessions(step)
                expected |= step
            assert list(store.sessions()) == sorted(expected.items())
            assert {key: found for key in ["", "a", "b", "job 1", "\N{SNOWMAN}", "none"]
                    if (found := store.session(key)) is not None} == expected  # fmt: skip
        assert inspect(path)["keys"] == len(expected)


def test_the_journal_is_folded_before_it_outgrows_its_bound(monkeypatch):
    monkeypatch.setattr(states, "MOST_RECENT", 10)
    store = Store(":memory:")
    longest = 0
    for batch in range(20):
        with store.transaction():
            store.save_sessions({f"{batch % 3}/{i}": b"%d" % batch for i in range(4)})
        longest = max(longest, rows(store))
    assert longest == 3  # the third batch of four goes past ten
    assert len(list(store.sessions())) == 12
    assert dict(store.sessions())["1/0"] == b"19"
    assert dict(store.sessions())["2/0"] == b"17"


def test_what_all_sessions_begin_with_is_written_once():
    store = Store(":memory:")
    with store.transaction():
        store.save_sessions({str(i): b"x" * 10_000 + b"%d" % i for i in range(100)})
    ((size,),) = store.execute("SELECT length(states) FROM recent").fetchall()
    assert size < 10_000 + 100 * 10
    assert store.session("7") == b"x" * 10_000 + b"7"


def test_a_damaged_journal_is_said_and_nothing_of_it_is_quoted(tmp_path):
    path = tmp_path / "run.db"
    with Store(path) as store, store.transaction():
        store.save_sessions({"secret": b"{}"})
        store.execute("UPDATE recent SET states = ?", (b"{secret}",))
    with pytest.raises(StateError, match="is damaged; put back a copy") as caught:
        inspect(path)
    with Store(path) as store:
        for look in (lambda: list(store.sessions()), lambda: store.session("a")):
            with pytest.raises(StateError) as other:
                look()
            assert str(other.value) == str(caught.value)
    assert "secret" not in str(caught.value)
