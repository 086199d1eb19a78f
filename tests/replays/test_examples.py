"""Logs of labelled examples: what they hold, when labels came, and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn.agents import SOA
from streamlearn.errors import ParameterError, StreamError
from streamlearn.hypotheses import Thresholds
from streamlearn.replays import read_examples, replay, synthetic


@pytest.fixture
def written(tmp_path):
    def write(text, name="log.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_one_log_in_every_format(tmp_path, written):
    rows = [{"a": 1.5, "name": "ann", "y": 0}, {"a": -2.0, "name": "bob", "y": 1}]
    text = "a,name,y\n1.5,ann,0\n-2.0,bob,1\n"
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    table = tmp_path / "log.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    logs = [written(text), written("\n".join(map(json.dumps, rows)), "log.jsonl"), packed, table]
    expected = [({"a": 1.5, "name": "ann"}, False), ({"a": -2.0, "name": "bob"}, True)]
    for log in logs:
        stream = read_examples(log)
        assert list(stream) == expected == list(stream), log
        assert stream.rows == 2
        assert list(read_examples(log, instance="name")) == [("ann", False), ("bob", True)]
        assert list(read_examples(log, features=["a"])) == [({"a": 1.5}, False), ({"a": -2.0}, True)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_reads_what_synthetic_writes(tmp_path, suffix):
    log = tmp_path / f"log{suffix}"
    stream = synthetic.point3_adversary(200, p=1.0)
    synthetic.write(stream, log)
    assert list(read_examples(log, instance="x")) == list(stream)
    segments = list(synthetic.image_segments())
    synthetic.write(segments, log)
    assert list(read_examples(log)) == segments


def test_only_plain_numbers_become_numbers(written):
    cells = {"7": 7, "-7": -7, "007": "007", "1_000": "1_000", "1e3": 1000.0, ".5": 0.5, "-": "-", "nan": "nan",
             "+3": "+3", "1.": 1.0, "e5": "e5", " 2 ": 2}  # fmt: skip
    log = written("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    found = [x for x, _ in read_examples(log, instance="x")]
    assert found == list(cells.values())
    assert list(map(type, found)) == list(map(type, cells.values()))


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive_csv(tmp_path_factory, number):
    log = tmp_path_factory.mktemp("logs") / "log.csv"
    synthetic.write([(number, True)], log)
    ((x, _),) = read_examples(log, instance="x")
    assert x == number


def test_an_empty_cell_is_no_feature(written):
    assert list(read_examples(written("a,b,y\n1,,1\n,2,0\n"))) == [({"a": 1}, True), ({"b": 2}, False)]


@pytest.mark.parametrize("cell", ["true", "TRUE", "1", "1.0"])
def test_labels_have_several_spellings(written, cell):
    assert list(read_examples(written(f"x,label\n3,{cell}\n3,0\n"), instance="x")) == [(3, True), (3, False)]


def test_positive_names_the_label(written):
    log = written("pixel,class\n1,sky\n2,grass\n")
    assert [y for _, y in read_examples(log, positive="sky")] == [True, False]


class Watcher:
    """Writes down what it is asked and taught."""

    def __init__(self):
        self.calls = []

    def predict_one(self, x):
        self.calls.append(f"p{x}")
        return False

    def learn_one(self, x, _):
        self.calls.append(f"l{x}")


TIMED = "x,y,asked,answered\n0,0,2024-01-01T00:00,2024-01-03\n1,0,2024-01-02,2024-01-02\n2,1,2024-01-04,2024-01-05\n"


def test_labels_come_when_they_came(written):
    watcher = Watcher()
    result = replay(read_examples(written(TIMED), instance="x", time="asked", labelled="answered"), watcher)
    assert watcher.calls == ["p0", "p1", "l1", "l0", "p2", "l2"]
    assert result.wrong.tolist() == [2]


@pytest.mark.parametrize("delay", [dt.timedelta(days=1), 86_400, 86_400.0])
def test_a_constant_delay_is_in_seconds_of_timestamps(written, delay):
    watcher = Watcher()
    replay(read_examples(written(TIMED), instance="x", time="asked"), watcher, delay=delay)
    assert watcher.calls == ["p0", "l0", "p1", "l1", "p2", "l2"]
    watcher = Watcher()
    longer = delay + (dt.timedelta(days=1) if isinstance(delay, dt.timedelta) else 86_400)
    replay(read_examples(written(TIMED), instance="x", time="asked"), watcher, delay=longer)
    assert watcher.calls == ["p0", "p1", "l0", "l1", "p2", "l2"]


def test_numbered_times_keep_their_unit(written):
    log = written("x,y,t\n0,0,10\n1,0,12\n2,0,15\n")
    for delay, calls in ((2, "p0 l0 p1 l1 p2 l2"), (3, "p0 p1 l0 l1 p2 l2"), (5, "p0 p1 l0 p2 l1 l2")):
        watcher = Watcher()
        replay(read_examples(log, instance="x", time="t"), watcher, delay=delay)
        assert " ".join(watcher.calls) == calls


def test_without_times_a_delay_counts_events(written):
    watcher = Watcher()
    replay(read_examples(written("x,y\n0,0\n1,0\n2,0\n"), instance="x"), watcher, delay=2)
    assert watcher.calls == ["p0", "p1", "l0", "p2", "l1", "l2"]


def test_times_in_parquet_are_timestamps(tmp_path):
    log = tmp_path / "log.parquet"
    times = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3)]
    pq.write_table(pa.table({"x": [0, 1, 2], "y": [0, 0, 0], "t": times}), log)
    watcher = Watcher()
    replay(read_examples(log, instance="x", time="t"), watcher, delay=dt.timedelta(hours=25))
    assert watcher.calls == ["p0", "p1", "l0", "p2", "l1", "l2"]


MALFORMED = [
    ("x,y\n3,1\n2,\n", "line 3: field 'y' is empty"),
    ("x,y\n3,1\n2,maybe\n", "line 3: field 'y' is not 0 or 1"),
    ("x,y\n3,1\n2\n", "line 3: the row has too few fields"),
    ("x,y\n3,1\n,1\n", "line 3: field 'x' is empty"),
    ('{"x": 3, "y": 1}\n{"x": [2], "y": 1}\n', "line 2: field 'x' is no hashable instance"),
    ('{"x": 3, "y": 1}\n[1]\n', "line 2: the row is not a JSON object"),
    ('{"x": 3, "y": 1}\n{"x": 3\n', "line 2: the row is malformed JSON"),
    ('{"x": 3, "y": 1}\n{"y": 1}\n', "line 2: field 'x' is empty"),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_a_malformed_row_is_an_error_or_left_out(written, text, message):
    log = written(text)
    with pytest.raises(StreamError, match=message):
        list(read_examples(log, instance="x"))
    stream = read_examples(log, instance="x", on_error="skip")
    assert list(stream) == [(3, True)]
    assert stream.rows == 2
    assert sum(stream.skipped.values()) == 1
    assert message.split(": ", 1)[1] in next(iter(stream.skipped))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0,soon,2024-01-02", "'asked' is neither a number nor an ISO 8601 time"),
        ("1,0,,2024-01-02", "'asked' is empty"),
        ("1,0,7,8", "'asked' is a number among times of another kind"),
        ("1,0,2024-01-02,2024-01-01", "'answered' is before the event's own time"),
    ],
)
def test_malformed_times(written, row, message):
    text = "x,y,asked,answered\n0,0,2024-01-01,2024-01-03\n" + row + "\n"
    asked = {"instance": "x", "time": "asked", "labelled": "answered"}
    with pytest.raises(StreamError, match=message):
        replay(read_examples(written(text), **asked), Watcher())
    stream = read_examples(written(text), on_error="skip", **asked)
    assert replay(stream, Watcher()).rounds == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "z"}, "no column 'z' for label"),
        ({"instance": "z"}, "no column 'z' for instance"),
        ({"features": ["x", "z"]}, "no column 'z' for features"),
        ({"instance": "y"}, "no column is clearly the label"),
        ({"instance": "x", "time": "x"}, "cannot be both instance and time"),
    ],
)
def test_columns_that_are_not_there(written, arguments, message):
    with pytest.raises(StreamError, match=message):
        read_examples(written("x,y\n1,0\n"), **arguments)


def test_columns_that_cannot_be_told(written):
    with pytest.raises(StreamError, match="more than one column could be the label"):
        read_examples(written("y,label\n1,0\n"))
    with pytest.raises(StreamError, match="two columns have the same name"):
        read_examples(written("x,x,y\n1,0,1\n"))
    with pytest.raises(StreamError, match="no column is left for x"):
        read_examples(written("y\n1\n"))


def test_bad_arguments(written):
    log = written(TIMED)
    with pytest.raises(ParameterError, match="on_error must be"):
        read_examples(log, on_error="ignore")
    with pytest.raises(ParameterError, match="not both"):
        read_examples(log, instance="x", features=["x"])
    with pytest.raises(ParameterError, match="labelled needs time"):
        read_examples(log, labelled="answered")
    for delay in (-1, True, float("nan"), dt.timedelta(seconds=-1), "answered"):
        with pytest.raises(ParameterError, match="delay must be a number >= 0"):
            replay(read_examples(log, instance="x", time="asked"), Watcher(), delay=delay)
    with pytest.raises(ParameterError, match="not both"):
        replay(read_examples(log, instance="x", time="asked", labelled="answered"), Watcher(), delay=3)
    with pytest.raises(ParameterError, match="moment is for streams of your own"):
        replay(read_examples(log, instance="x"), Watcher(), moment="asked")


def test_no_message_quotes_a_cell(written):
    for text in ("x,y\n1,secret\n", '{"x": 1, "y": "secret"}\n'):
        with pytest.raises(StreamError) as caught:
            list(read_examples(written(text)))
        assert "secret" not in str(caught.value)


def test_a_damaged_log_gives_its_whole_rows_first(tmp_path):
    log = tmp_path / "log.csv.gz"
    # Incompressible enough that cutting the file cuts rows.
    text = "x,y\n" + "".join(f"{i * 7919 % 100_003},{i % 2}\n" for i in range(100_000))
    log.write_bytes(gzip.compress(text.encode())[:-1000])
    seen = []
    with pytest.raises(StreamError, match=r"truncated after [0-9]+ whole rows"):
        seen.extend(iter_into(read_examples(log, instance="x"), seen))
    assert seen == [(i * 7919 % 100_003, i % 2 == 1) for i in range(len(seen))]
    assert len(seen) > 1000


def iter_into(stream, seen):
    for example in stream:
        seen.append(example)
    return []


def test_mistakes_on_a_recorded_stream_are_bounded(tmp_path):
    log = tmp_path / "log.jsonl"
    cls = Thresholds(2**40)
    synthetic.write(
        ((x, x >= 123_456_789_012) for x in (i * 982_451_653 % 2**40 + 1 for i in range(5000))), log
    )
    result = replay(read_examples(log), SOA(cls))
    assert result.mistakes <= result.mistake_bound == 40
