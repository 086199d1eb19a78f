"""A reporter's memory survives its file exactly, and a file that is not one is refused."""

from __future__ import annotations

import copy
import json
import math
import pickle
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import Channel, Key
from streamlearn.errors import BudgetError, StateError, StreamlearnError
from streamlearn.reporters import Reporter

LIMITS = [(0.0, 0.0), (1.0, math.inf), (math.inf, math.inf), (0.1 + 0.2, 1e308), (5e-324, 2.5)]


def channels(count=5):
    return [Channel.randomized_response(i, i / 7, 0.1 * i) for i in range(1, count + 1)]


def used(max_epsilon=1.0, total_epsilon=math.inf):
    reporter = Reporter(max_epsilon, key=Key.from_seed(3), total_epsilon=total_epsilon)
    for event in ("a", "ε/∞", "17"):
        for channel in channels():
            try:
                reporter.report(value=0.7, channel=channel, event_id=event)
            except BudgetError:
                break
    return reporter


@pytest.mark.parametrize("limits", LIMITS)
def test_the_memory_survives_its_file(tmp_path, limits):
    reporter = used(*limits)
    path = tmp_path / "reporter.json"
    reporter.save(path)
    again = Reporter.load(path)
    assert (again.max_epsilon, again.total_epsilon) == limits
    assert again.key == reporter.key
    assert again.ledger.entries == reporter.ledger.entries
    assert again.ledger.total == reporter.ledger.total
    assert again.ledger.spent("a") == reporter.ledger.spent("a")
    assert again.state_dict() == reporter.state_dict()
    assert "null" not in path.read_text()


def test_the_file_is_its_owners_alone_and_plain_json(tmp_path):
    path = tmp_path / "reporter.json"
    path.write_text("")
    path.chmod(0o644)
    used().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == used().state_dict()
    assert [entry.name for entry in tmp_path.iterdir()] == ["reporter.json"]


def test_a_reporter_that_was_loaded_goes_on_as_if_it_had_never_stopped(tmp_path):
    through, stopped = used(), used()
    stopped.save(tmp_path / "memory")
    stopped = Reporter.load(str(tmp_path / "memory"))
    for channel in channels(12):
        for event in ("a", "new"):
            answers = []
            for reporter in (through, stopped):
                try:
                    answers.append(reporter.report(value=0.3, channel=channel, event_id=event))
                except BudgetError as error:
                    answers.append((error.spent, error.asked, error.limit))
            assert answers[0] == answers[1]


def test_a_crash_before_the_answer_was_kept_repeats_the_bit(tmp_path):
    # The answer never reached the disk, and was not sent either: the next run gives the same one.
    path = tmp_path / "memory"
    used().save(path)
    bits = set()
    for _ in range(3):
        reporter = Reporter.load(path)
        report = reporter.report(value=0.7, channel=channels()[0], event_id="new")
        bits.add((report.bit, reporter.ledger.total))
    assert len(bits) == 1


def test_loading_into_a_reporter_takes_its_key_and_answers():
    reporter = Reporter(1.0)
    reporter.load_state_dict(used().state_dict())
    assert reporter.state_dict() == used().state_dict()


@pytest.mark.parametrize("limits", [(2.0, math.inf), (0.5, math.inf), (1.0, 3.0), (math.inf, math.inf)])
def test_a_state_kept_under_other_limits_is_refused_naming_both(limits):
    reporter = Reporter(*limits[:1], total_epsilon=limits[1], key=Key.from_seed(8))
    before = reporter.state_dict()
    with pytest.raises(StateError, match=r"max_epsilon=1\.0, total_epsilon=inf.*same limits") as caught:
        reporter.load_state_dict(used().state_dict())
    assert f"{limits[0]}, {limits[1]}" in str(caught.value)
    assert reporter.state_dict() == before


def test_copies_and_pickles_hold_the_same_memory():
    for twin in (copy.deepcopy(used()), pickle.loads(pickle.dumps(used()))):  # noqa: S301 - made here
        assert twin.state_dict() == used().state_dict()


# --- what is no memory


def edited(**changes):
    state = used().state_dict()
    for field, value in changes.items():
        if value is ...:
            del state[field]
        else:
            state[field] = value
    return state


TAG = channels()[0].tag


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "version 2 is not among 1..1.*upgrade"),
        ({"version": 0}, "version 0 is not among"),
        ({"version": "1"}, "Expected `int`"),
        ({"format": "streamlearn/reporting-plan"}, "no reporter's memory"),
        ({"format": ...}, "missing required field `format`"),
        ({"note": 1}, "unknown field `note`"),
        ({"key": "ab"}, "exactly 32 bytes"),
        ({"key": "zz" * 32}, "malformed memory"),
        ({"key": None}, "Expected `str`"),
        ({"key": ...}, "missing required field `key`"),
        ({"max_epsilon": None}, "null"),
        ({"max_epsilon": -1.0}, "max_epsilon must be >= 0"),
        ({"max_epsilon": math.nan}, "max_epsilon must be >= 0"),
        ({"total_epsilon": "much"}, "Invalid enum value"),
        ({"answers": None}, "Expected `array`"),
        ({"answers": [["a", TAG]]}, "malformed memory"),
        ({"answers": [["a", TAG, 2]]}, "Invalid enum value 2"),
        ({"answers": [["a", TAG, 1.0]]}, "malformed memory"),
        ({"answers": [["a", TAG, "1"]]}, "malformed memory"),
        ({"answers": [["a", TAG, 1, 0.0]]}, "malformed memory"),
        ({"answers": [["", TAG, 1]]}, "event_id is empty"),
        ({"answers": [["a", "law", 1]]}, r"answers\[0\] is under no channel's tag"),
        ({"answers": [["a", TAG, 1], ["a", TAG, 1]]}, r"answers\[1\] repeats"),
    ],
)
def test_each_defect_has_its_message(changes, said):
    reporter = Reporter(1.0, key=Key.from_seed(8))
    before = reporter.state_dict()
    with pytest.raises(StateError, match=said):
        reporter.load_state_dict(edited(**changes))
    assert reporter.state_dict() == before


def test_no_message_quotes_the_key():
    secret = used().key.secret.hex()
    for key in (secret + "00", secret[:-2], secret[:-1] + "z", secret.upper() + "g"):
        with pytest.raises(StateError) as caught:
            Reporter(1.0).load_state_dict(edited(key=key))
        assert secret[:16] not in str(caught.value).lower()


def test_the_price_of_an_answer_cannot_be_edited_away():
    state = used().state_dict()
    assert "epsilon" not in json.dumps(state["answers"])
    reporter = Reporter(1.0)
    reporter.load_state_dict(state)
    assert reporter.ledger.total == used().ledger.total


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 10**5, b'"key"'])
def test_a_file_that_is_no_memory_is_refused(tmp_path, content):
    path = tmp_path / "memory"
    path.write_bytes(content)
    with pytest.raises(StateError):
        Reporter.load(path)


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(StateError, match="cannot be read"):
            Reporter.load(path)
    with pytest.raises(StreamlearnError, match="cannot be written"):
        used().save(tmp_path / "no" / "memory")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([TAG, "inf", 0, 1]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
answers = st.lists(st.tuples(st.text(), st.text() | st.just(TAG), st.integers(-1, 2)).map(list), max_size=3)
FIELDS = ["format", "version", "key", "max_epsilon", "total_epsilon", "answers", "note"]


@given(st.dictionaries(st.sampled_from(FIELDS), anything | answers, min_size=1, max_size=3) | anything)
@settings(max_examples=500)
def test_nothing_but_a_state_error_comes_out_of_noise(changes):
    state = edited(**changes) if isinstance(changes, dict) and set(changes) <= set(FIELDS) else changes
    reporter = Reporter(1.0)
    try:
        reporter.load_state_dict(state)
    except StateError:
        return
    assert reporter.state_dict()["answers"] == state["answers"]
