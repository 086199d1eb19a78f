"""What a recorded stream yields: formats, columns, grouping, order and counts."""

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlearn.errors import MissingExtraError, ParameterError, StreamError
from streamlearn.replays import Episode, RecordedStream, read_stream
from streamlearn.replays.streams import EpisodeBatch

ROWS = [("a", 3.0), ("a", 1.5), ("b", 0.0), ("b", 2.0), ("c", 4.25), ("c", 7.0)]
EPISODES = {"a": [3.0, 1.5], "b": [0.0, 2.0], "c": [4.25, 7.0]}


def csv_bytes(rows=ROWS, header="auction,bid", delimiter=",") -> bytes:
    lines = [header, *(delimiter.join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def jsonl_bytes(rows=ROWS, names=("auction", "bid")) -> bytes:
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def parquet_bytes(**columns) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def feed_stdin(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def listed(stream: RecordedStream) -> dict:
    return {episode.id: episode.values.tolist() for episode in stream}


FORMATS = {
    "csv": csv_bytes(),
    "semicolon": csv_bytes(header="auction;bid", delimiter=";"),
    "tab": csv_bytes(header="auction\tbid", delimiter="\t"),
    "bom and crlf": b"\xef\xbb\xbf" + csv_bytes().replace(b"\n", b"\r\n"),
    "no line feed at the end": csv_bytes().removesuffix(b"\n"),
    "blank lines": b"\n\n" + csv_bytes().replace(b"\n", b"\n\n"),
    "quoted": csv_bytes(header='"auction","bid"'),
    "spaces after commas": csv_bytes(header="auction, bid", delimiter=", "),
    "jsonl": jsonl_bytes(),
    "jsonl with blank lines": b"\n" + jsonl_bytes().replace(b"\n", b"\r\n \n"),
    "csv.gz": gzip.compress(csv_bytes()),
    "csv.gz in members": gzip.compress(csv_bytes()[:17]) + gzip.compress(csv_bytes()[17:]) + b"\0" * 9,
    "jsonl.gz": gzip.compress(jsonl_bytes()),
}
PARQUET = parquet_bytes(auction=[row[0] for row in ROWS], bid=[row[1] for row in ROWS])


@pytest.mark.parametrize("data", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "standard input"])
def test_every_text_format_gives_the_same_episodes(tmp_path, monkeypatch, data, piped):
    log = tmp_path / "log.dat"  # the name says nothing: content decides
    log.write_bytes(data)
    feed_stdin(monkeypatch, data)
    stream = read_stream("-" if piped else log)
    assert stream.columns == ("bid", "auction", None)
    assert listed(stream) == EPISODES
    assert (stream.horizon, stream.rows, stream.skipped, stream.skipped_episodes) == (2, 6, {}, 0)


@pytest.mark.parametrize("data", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("block", [1, 5, 16])
def test_every_text_format_in_blocks_of_a_few_bytes(tmp_path, monkeypatch, data, block):
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", block)
    log = tmp_path / "log"
    log.write_bytes(data)
    assert listed(read_stream(log)) == EPISODES


IDS = {
    "text": pa.array(["a", "a", "b", "b", "c", "c"]),
    "large text": pa.array(["a", "a", "b", "b", "c", "c"], pa.large_string()),
    "text view": pa.array(["a", "a", "b", "b", "c", "c"], pa.string_view()),
    "category": pa.array(["a", "a", "b", "b", "c", "c"]).dictionary_encode(),
    "int64": pa.array([-1, -1, -2, -2, 9, 9]),
    "uint64": pa.array([1, 1, 2, 2, 2**64 - 1, 2**64 - 1], pa.uint64()),
    "date": pa.array([1, 1, 2, 2, 3, 3], pa.date32()),
    "float": pa.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
}
EXPECTED_IDS = {
    "int64": [-1, -2, 9],
    "uint64": [1, 2, 2**64 - 1],
    "date": ["1970-01-02", "1970-01-03", "1970-01-04"],
    "float": ["1", "2", "3"],
}


@pytest.mark.parametrize("kind", IDS)
def test_parquet_ids_of_every_kind(tmp_path, kind):
    log = tmp_path / "log"
    log.write_bytes(parquet_bytes(episode=IDS[kind], value=[value for _, value in ROWS]))
    found = listed(read_stream(log))
    assert found == dict(zip(EXPECTED_IDS.get(kind, "abc"), EPISODES.values(), strict=True))
    assert all(type(known) in {int, str} for known in found)


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint32(),
        pa.float16(),
        pa.float32(),
        pa.decimal128(21, 2),
        pa.dictionary(pa.int8(), pa.int64()),
    ],
    ids=str,
)
def test_parquet_values_of_every_kind(tmp_path, kind):
    log = tmp_path / "log"
    values = pa.array([3, 1, 0, 2], pa.int64()).cast(pa.float32() if kind == pa.float16() else pa.int64())
    values = values.dictionary_encode() if pa.types.is_dictionary(kind) else values.cast(kind)
    log.write_bytes(parquet_bytes(value=values))
    assert listed(read_stream(log, horizon=2)) == {0: [3.0, 1.0], 1: [0.0, 2.0]}


def test_format_overrides_the_content(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"{value}\n1\n2\n")
    assert listed(read_stream(log, format="csv", value="{value}", horizon=2)) == {0: [1.0, 2.0]}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("auction,bid", ("bid", "auction", None)),
        ("Auction_ID,Bid,TS", ("Bid", "Auction_ID", "TS")),
        ("session-id,wage,date", ("wage", "session-id", "date")),
        ("jobid,weight", ("weight", "jobid", None)),  # the only column of numbers left
        ("price,name,name2", ("price", None, None)),
    ],
)
def test_columns_are_detected(tmp_path, header, expected):
    log = tmp_path / "log.csv"
    cells = {"date": "2024-01-01", "TS": "7", "name": "x", "name2": "y"}
    log.write_text(header + "\n" + ",".join(cells.get(name, "1") for name in header.split(",")) + "\n")
    assert read_stream(log, horizon=1).columns == expected


def test_columns_asked_for_and_columns_refused(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("auction,value,time,mine\n1,5,2,8\n1,6,1,9\n")
    assert listed(read_stream(log, value="mine")) == {"1": [9.0, 8.0]}
    assert listed(read_stream(log, value="mine", time="")) == {"1": [8.0, 9.0]}
    assert listed(read_stream(log, episode="", horizon=1)) == {0: [5.0], 1: [6.0]}
    assert listed(read_stream(log, value="time", time="mine")) == {"1": [2.0, 1.0]}


@pytest.mark.parametrize(
    ("times", "order"),
    [
        (["10", "9", "9"], [1, 2, 0]),  # as numbers, and ties keep their order
        (["1e1", "-2.5", "inf"], [1, 0, 2]),
        ([str(2**53 + 1), str(2**53), "0"], [2, 1, 0]),  # two that are one double
        (["2024-02-01", "2024-01-31T23:59:59.000001", "2024-01-31 23:59:59"], [2, 1, 0]),
        (["2024-01-01T12:00+02:00", "2024-01-01T10:30Z", "2024-01-01T09:00:00-00:30"], [2, 0, 1]),
    ],
)
def test_rows_are_ordered_by_time(tmp_path, times, order):
    values = [5.0, 6.0, 7.0]
    text = tmp_path / "log.csv"
    text.write_bytes(csv_bytes(zip("aaa", values, times, strict=True), "episode,value,time"))
    lines = tmp_path / "log.jsonl"
    lines.write_bytes(jsonl_bytes(zip("aaa", values, times, strict=True), ("episode", "value", "time")))
    columns = tmp_path / "log.parquet"
    columns.write_bytes(parquet_bytes(episode=list("aaa"), value=values, time=times))
    for log in (text, lines, columns):
        assert listed(read_stream(log)) == {"a": [values[place] for place in order]}


@pytest.mark.parametrize(
    "times",
    [
        pa.array([3, 1, 2]),
        pa.array([3, 1, 2], pa.uint64()),
        pa.array([0.3, -0.1, 0.2]),
        pa.array([3, 1, 2], pa.date32()),
        pa.array([3, 1, 2], pa.timestamp("ns", tz="Europe/Paris")),
        pa.array([2**60 + 2, 2**60, 2**60 + 1], pa.timestamp("ns")),  # closer than doubles can tell
    ],
    ids=lambda times: str(times.type),
)
def test_parquet_times_of_every_kind(tmp_path, times):
    log = tmp_path / "log"
    log.write_bytes(parquet_bytes(episode=[1, 1, 1], value=[30.0, 10.0, 20.0], time=times))
    assert listed(read_stream(log)) == {1: [10.0, 20.0, 30.0]}


def test_rows_without_episodes_are_cut_by_their_place(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("bid\n" + "".join(f"{i}\n" for i in range(11)))
    stream = read_stream(log, horizon=4)
    assert listed(stream) == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7]}
    assert (stream.rows, stream.leftover_rows, stream.skipped_episodes) == (11, 3, 0)
    assert listed(read_stream(log, horizon=12)) == {}


def test_sort_groups_what_is_not_grouped(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("episode,value\nb,1\na,2\nb,3\na,4\n")
    with pytest.raises(StreamError, match=r"line 4: episode 'b' comes back.*sort=True"):
        listed(read_stream(log))
    stream = read_stream(log, sort=True)
    assert list(listed(stream).items()) == [("b", [1, 3]), ("a", [2, 4])]  # by first appearance
    assert "whole log" in stream.memory


def test_sort_with_times_orders_episodes_by_their_first(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("episode,value,time\nb,1,9\na,2,8\nb,3,5\na,4,1\nc,5,1\nc,6,0.5\n")
    assert list(listed(read_stream(log, sort=True)).items()) == [("c", [6, 5]), ("a", [4, 2]), ("b", [3, 1])]


def test_sort_without_episodes_orders_all_rows(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("value,time\n1,5\n2,4\n3,3\n4,2\n5,1\n")
    stream = read_stream(log, sort=True, horizon=2)
    assert listed(stream) == {0: [5, 4], 1: [3, 2]}
    assert stream.leftover_rows == 1
    assert listed(read_stream(log, horizon=2)) == {0: [2, 1], 1: [4, 3]}  # unsorted: within each cut only


def test_batches_are_at_most_as_long_as_asked(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(PARQUET)
    stream = read_stream(log)
    assert [batch.ids for batch in stream.batches(episodes=1)] == [["a"], ["b"], ["c"]]
    batch = next(stream.batches())
    assert isinstance(batch, EpisodeBatch)
    assert batch.ids == ["a", "b"]  # c is not over before the log is
    assert batch.episodes == 2
    assert batch.values.dtype == np.float64
    assert batch.values.tolist() == [EPISODES["a"], EPISODES["b"]]
    batch.values[:] = 0.0  # a batch belongs to whoever asked for it


def test_a_file_can_be_read_again_and_counts_begin_anew(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(csv_bytes([*ROWS, ("d", "x"), ("d", 1)]))
    stream = read_stream(log, on_error="skip")
    for _ in range(2):
        assert listed(stream) == EPISODES
        assert (stream.rows, stream.skipped, stream.skipped_episodes) == (8, {"value is not a number": 1}, 1)
    next(iter(stream))
    assert stream.count_episodes() == 3
    assert stream.skipped_episodes == 0  # the pass begun last has not come so far: counting left it alone


def test_standard_input_is_read_once(monkeypatch):
    feed_stdin(monkeypatch, csv_bytes())
    stream = read_stream("-")
    assert "8 bytes" in stream.memory
    with pytest.raises(StreamError, match=r"standard input.*counted.*save it to a file"):
        stream.count_episodes()
    assert stream.peek().values.tolist() == [3.0, 1.5]
    assert stream.horizon == 2
    assert listed(stream) == EPISODES
    for again in (stream.batches, stream.peek, lambda: iter(stream)):
        with pytest.raises(StreamError, match="read only once; save it to a file"):
            again()


def test_peek_loses_nothing_of_a_file(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(csv_bytes())
    stream = read_stream(log)
    assert stream.horizon is None
    assert stream.peek().id == stream.peek().id == "a"
    assert stream.horizon == 2
    assert listed(stream) == listed(stream) == EPISODES
    short = read_stream(log, episode="", horizon=7)
    with pytest.raises(StreamError, match="no whole episode"):
        short.peek()


def test_parquet_is_counted_from_its_metadata(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.write_bytes(PARQUET)
    cut = read_stream(log, episode="", horizon=4)
    grouped = read_stream(log, horizon=2)
    unknown = read_stream(log)
    skipping = read_stream(log, horizon=2, on_error="skip")
    assert unknown.count_episodes() == skipping.count_episodes() == 3  # by reading
    monkeypatch.setattr("streamlearn.replays.streams.opened", None)  # from here on nothing can be read
    assert cut.count_episodes() == 1
    assert grouped.count_episodes() == 3
    assert unknown.count_episodes() == 3


def test_counting_a_mixture_says_so(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(parquet_bytes(episode=[1, 1, 2], value=[1.0, 2.0, 3.0]))
    with pytest.raises(StreamError, match=r"episode 2 has 1 rows and the horizon is 2"):
        read_stream(log, horizon=2).count_episodes()


@pytest.mark.parametrize(
    "ids",
    [[1, 2, 10], ["1", "2", "10"], ["1", "10", "2"], ["a9", "a10"], ["2024-01-09", "2024-01-10"]],
    ids=str,
)
def test_increasing_ids_are_not_remembered(tmp_path, ids):
    log = tmp_path / "log"
    log.write_bytes(jsonl_bytes([(known, 1.0) for known in ids]))
    stream = read_stream(log, horizon=1)
    assert list(listed(stream)) == ids
    assert stream.memory.endswith("as long as ids increase")


@pytest.mark.parametrize(
    "ids",
    [[2, 1, -1, -2], ["b", "a"], [7, "7"], ["1", "2", "10", "3"], [2**70, 1], ["1", "10", "2", "11"]],
    ids=str,
)
def test_ids_in_no_order_are_remembered(tmp_path, ids):
    log = tmp_path / "log"
    log.write_bytes(jsonl_bytes([(known, 1.0) for known in ids]))
    stream = read_stream(log, horizon=1)
    assert list(listed(stream)) == ids
    assert "8 bytes" in stream.memory


def test_an_id_that_comes_back_is_noticed_however_late(tmp_path, monkeypatch):
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", 64)
    rows = [(i, 1.0) for i in (*range(50, 90), *range(50), *range(90, 120), 60)]
    data = jsonl_bytes(rows)
    log = tmp_path / "log"
    log.write_bytes(data)
    feed_stdin(monkeypatch, data)
    for source in (log, "-"):
        with pytest.raises(StreamError, match=f"line {len(rows)}: episode 60 comes back"):
            listed(read_stream(source))
    log.write_bytes(jsonl_bytes(rows[:-1]))
    assert len(listed(read_stream(log))) == len(rows) - 1


def test_reprs_show_no_value(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("episode,value\nx,73519\nx,73519\n")
    stream = read_stream(log)
    (batch,) = stream.batches()
    assert repr(batch) == "EpisodeBatch(episodes=1, people=2)"
    assert repr(Episode(batch.ids[0], batch.values[0])) == "Episode(id='x', people=2)"
    assert "73519" not in repr(stream)
    assert "value='value', episode='episode', time=None, horizon=2" in repr(stream)


@pytest.mark.parametrize(
    ("option", "given"),
    [("horizon", 0), ("horizon", 2.5), ("horizon", True), ("on_error", "ignore"), ("format", "xml")],
)
def test_options_outside_their_bounds(tmp_path, option, given):
    log = tmp_path / "log"
    log.write_bytes(csv_bytes())
    with pytest.raises(ParameterError, match=f"{option} must be"):
        read_stream(log, **{option: given})
    with pytest.raises(ParameterError, match="episodes must be"):
        read_stream(log).batches(0)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.write_bytes(PARQUET)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "streamlearn.replays.parquet", raising=False)
    with pytest.raises(MissingExtraError, match=r'pip install "streamlearn\[parquet\]"'):
        read_stream(log)


def test_text_is_read_without_pyarrow(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.write_bytes(csv_bytes())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "streamlearn.replays.parquet", raising=False)
    assert listed(read_stream(str(log))) == EPISODES


def test_a_pipe_by_its_path_is_read_once(tmp_path):
    import os
    import threading

    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=Path.write_bytes, args=(fifo, csv_bytes()), daemon=True)
    writer.start()
    stream = read_stream(fifo)
    assert listed(stream) == EPISODES
    writer.join()
    with pytest.raises(StreamError, match="read only once"):
        stream.batches()
