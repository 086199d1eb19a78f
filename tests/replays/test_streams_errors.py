"""Each kind of bad log gets its one clear error: the place, what is wrong in kind, the remedy; never a value."""

import bz2
import errno
import gzip
import io
import lzma
import os
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlearn.errors import StreamError
from streamlearn.replays import read_stream

DIGITS = "73519"  # the digits of a private value, to be looked for in every message


def told(source, **options) -> str:
    """The message of the error that reading everything ends in."""
    with pytest.raises(StreamError) as caught:
        for _ in read_stream(source, **options):
            pass
    message = str(caught.value)
    assert DIGITS not in message.replace(str(source), "")
    assert type(caught.value) is StreamError
    return message


def skipped(source, **options) -> tuple[dict, dict, int]:
    stream = read_stream(source, on_error="skip", **options)
    episodes = {episode.id: episode.values.tolist() for episode in stream}
    return episodes, stream.skipped, stream.skipped_episodes


@pytest.fixture
def log(tmp_path):
    """Writes a log and returns its path."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "log"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


CELLS = {
    "-73519": "is negative",
    "nan": "is NaN",
    "inf": "is infinite",
    "-Infinity": "is infinite",
    "1e999": "is infinite",
    "": "is empty",
    "  ": "is empty",
    "EUR 73519": "is not a number",
    "73_519": "is not a number",
    "73519,5": "is not a number",
    "0x73519": "is not a number",
}


@pytest.mark.parametrize(("cell", "reason"), CELLS.items())
def test_values_in_csv(log, cell, reason):
    path = log(f'auction,bid\na,1\na,2\nb,3\nb,"{cell}"\nc,4\nc,5\n')
    message = told(path)
    assert message.startswith(f"{path}, line 5: field 'bid' {reason}; ")
    assert (
        'give a finite number >= 0, or leave such rows out with on_error="skip" (--on-error skip)' in message
    )
    assert skipped(path) == ({"a": [1, 2], "c": [4, 5]}, {f"value {reason}": 1}, 1)


JSON_CELLS = {
    "-73519": "is negative",
    "NaN": "is NaN",
    "-Infinity": "is infinite",
    "1e999": "is infinite",
    "735191" + "0" * 400: "is infinite",
    "null": "is empty",
    '""': "is empty",
    '"73519"': "is not a number",
    "true": "is not a number",
    "[73519]": "is not a number",
}


@pytest.mark.parametrize(("cell", "reason"), JSON_CELLS.items())
def test_values_in_jsonl(log, cell, reason):
    rows = [
        f'{{"auction": "{known}", "bid": {bid}}}\n' for known, bid in zip("aabb", "123" + "x", strict=True)
    ]
    path = log("\n".join(rows).replace("x", cell))  # with blank lines between
    assert told(path).startswith(f"{path}, line 7: field 'bid' {reason}; ")
    assert skipped(path) == ({"a": [1, 2]}, {f"value {reason}": 1}, 1)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [(-73519.0, "is negative"), (float("nan"), "is NaN"), (float("inf"), "is infinite"), (None, "is empty")],
)
@pytest.mark.parametrize("ids", [list("aabbcc"), [1, 1, 2, 2, 3, 3]], ids=["text", "integers"])
def test_values_in_parquet(tmp_path, cell, reason, ids):
    path = tmp_path / "log"
    pq.write_table(pa.table({"auction": ids, "bid": pa.array([1.0, 2.0, cell, 3.0, 4.0, 5.0])}), path)
    assert told(path).startswith(f"{path}, row 3: field 'bid' {reason}; ")
    assert skipped(path) == ({ids[0]: [1, 2], ids[4]: [4, 5]}, {f"value {reason}": 1}, 1)


def test_rows_that_are_not_rows_of_csv(log):
    path = log('auction,bid,note\na,1,"x\ny"\na,2,\nb,3\nb,4,x\nc,5,x,x\nc,6,"x"x\nd,7,x\nd,8,x\n')
    assert told(path).startswith(f"{path}, line 5: the row has too few fields for the header; mend it, or")
    assert skipped(path) == (
        {"a": [1, 2], "d": [7, 8]},
        {
            "row has too few fields for the header": 1,
            "row has too many fields for the header": 1,
            "row cannot be split into fields (its quotes, or a field above 131072 characters)": 1,
        },
        1,  # of c there is not even an id
    )


def test_lines_that_are_not_rows_of_jsonl(log):
    path = log(
        '{"auction": 1, "bid": 1}\n{"auction": 1, "bid": 2}\n'
        '{"auction": 2, "bid": 73519\n{"auction": 2, "bid": 4}\n'
        '[73519]\n{"auction": 3, "bid": 4}\n{"auction": 4, "bid": 5}\n{"bid": 6}\n'
        '{"auction": 5, "bid": 7, "note": NaN}\n{"auction": 5, "bid": 8}\n'
    )
    assert told(path).startswith(f"{path}, line 3: the row is malformed JSON; mend it, or")
    assert skipped(path) == (
        {1: [1, 2], 5: [7, 8]},
        {"row is malformed JSON": 1, "row is not a JSON object": 1, "episode is empty": 1},
        3,
    )


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ('""', "is empty"),
        ("null", "is empty"),
        ("1.5", "is neither text nor a whole number"),
        ("true", "is neither"),
    ],
)
def test_ids(log, cell, reason):
    path = log(f'{{"job": {cell}, "wage": 1}}\n{{"job": 1, "wage": 2}}\n')
    assert told(path).startswith(f"{path}, line 1: field 'job' {reason}")
    path = log("job,wage\n,1\n1,2\n")
    assert told(path).startswith(f"{path}, line 2: field 'job' is empty; give text or a whole number, or")


def test_ids_in_parquet(tmp_path):
    path = tmp_path / "log"
    pq.write_table(pa.table({"job": ["a", "a", "", "b", None, "c"], "wage": [1.0] * 6}), path)
    assert told(path).startswith(f"{path}, row 3: field 'job' is empty")
    assert skipped(path, horizon=1) == ({"b": [1], "c": [1]}, {"episode is empty": 2}, 1)


TIMES = {
    "": "is empty",
    "yesterday": "is neither a number nor an ISO 8601 time",
    "nan": "is neither a number nor an ISO 8601 time",
    "2024-01-01T00:00Z": "is a time with an offset among times of another kind",
    "5": "is a number among times of another kind",
}


@pytest.mark.parametrize(("cell", "reason"), TIMES.items())
def test_times(log, cell, reason):
    path = log(f"auction,bid,date\na,1,2024-01-02\na,2,2024-01-01\nb,3,{cell}\nb,4,2024-01-01\n")
    message = told(path)
    assert message.startswith(
        f"{path}, line 4: field 'date' {reason}; give only numbers or only ISO 8601 times"
    )
    assert "--time '' keeps the order of the file" in message
    assert skipped(path) == ({"a": [2, 1]}, {f"time {reason}": 1}, 1)
    assert len(list(read_stream(path, time=""))) == 2


def test_a_whole_block_of_another_kind_of_time(log, monkeypatch):
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", 16)
    path = log("bid,ts\n" + "1,2024-01-01\n" * 4 + "2,7\n" * 20)
    assert told(path, horizon=1).startswith(f"{path}, line 6: field 'ts' is a number among times of another")


def test_places_are_those_of_the_file(log, monkeypatch):
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", 16)
    monkeypatch.setattr("streamlearn.replays.parquet._ROWS", 2)
    path = log("\n" * 300 + "bid,note\n" + '1,"x\n\ny"\n\n' * 20 + "-1,x\n")
    assert told(path, horizon=1).startswith(f"{path}, line 382: ")
    path = log("\n" * 300 + '{"bid": 1}\n\n' * 20 + '{"bid": -1}\n')
    assert told(path, horizon=1).startswith(f"{path}, line 341: ")
    pq.write_table(pa.table({"bid": [1.0] * 6 + [-1.0]}), path)
    assert told(path, horizon=1).startswith(f"{path}, row 7: ")


def test_times_in_parquet(tmp_path):
    path = tmp_path / "log"
    times = {"ts": pa.array([1.0, float("nan"), None]), "date": pa.array([1, None, 3], pa.date32())}
    pq.write_table(pa.table({"bid": [1.0, 2.0, 3.0], **times}), path)
    assert skipped(path, time="ts", horizon=1)[:2] == ({0: [1]}, {"time is NaN": 1, "time is empty": 1})
    assert skipped(path, time="date", horizon=1)[:2] == ({0: [1], 2: [3]}, {"time is empty": 1})


def test_a_row_is_counted_once_and_keeps_its_place(log):
    path = log("bid,ts\n1,1\n-1,x\n3,3\n4,4\n5,5\n")
    stream = read_stream(path, horizon=2, on_error="skip")
    assert [(episode.id, episode.values.tolist()) for episode in stream] == [(1, [3, 4])]
    assert stream.skipped == {"value is negative": 1}
    assert (stream.rows, stream.skipped_episodes, stream.leftover_rows) == (5, 1, 1)


def test_mixture_of_horizons(log):
    path = log("auction,bid\na,1\na,2\nb,3\nb,4\nb,5\nc,6\nd,7\nd,8\n")
    message = told(path)
    assert message.startswith(f"{path}: episode 'b' has 3 rows and the horizon is 2, a mixture of horizons")
    assert "; give logs of one length, or leave" in message
    assert skipped(path) == ({"a": [1, 2], "d": [7, 8]}, {}, 2)
    assert told(path, horizon=3).startswith(f"{path}: episode 'a' has 2 rows and the horizon is 3, a")
    assert skipped(path, horizon=3) == ({"b": [3, 4, 5]}, {}, 3)


def test_the_length_of_an_episode_is_told_whole_however_it_is_read(log, monkeypatch):
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", 8)
    path = log("auction,bid\n" + "a,1\n" * 3 + "b,1\n" * 40)
    assert "episode 'b' has 40 rows and the horizon is 3" in told(path)


UNREADABLE = {"row has too few fields for the header": 1}


@pytest.mark.parametrize(
    ("rows", "horizon", "episodes", "left_out"),
    [
        # x belongs to a or to b, or to neither: whichever still has the horizon is whole
        ("a1 a2 x b3 b4 c5 c6 c7 d8 d9 d0", 3, {"c": [5, 6, 7], "d": [8, 9, 0]}, 2),
        ("a1 a2 a3 x b4 b5 c6 c7 c8", 3, {"a": [1, 2, 3], "c": [6, 7, 8]}, 1),
        ("a1 x a2 b3 b4 b5", 3, {"b": [3, 4, 5]}, 1),
        ("x a1 b2 b3", 2, {"b": [2, 3]}, 1),
        ("a1 a2 b3 b4 x", 2, {"a": [1, 2], "b": [3, 4]}, 0),
        ("a1 a2 x b3", 2, {"a": [1, 2]}, 1),  # both in doubt: the longest
        ("a1 x b2 b3", 2, {"b": [2, 3]}, 1),
        ("x a1 b2 b3 c4 c5 c6", 2, {"b": [2, 3]}, 2),  # b is beyond doubt, and not the longest
    ],
)
def test_rows_of_unknown_episode(log, monkeypatch, rows, horizon, episodes, left_out):
    path = log("auction,bid\n" + "".join(f"{','.join(row)}\n" for row in rows.split()))
    for block in (1 << 18, 13, 8, 4):
        monkeypatch.setattr("streamlearn.replays.sources.BLOCK", block)
        for options in ({}, {"horizon": horizon}, {"sort": True, "horizon": horizon}):
            assert skipped(path, **options) == (episodes, UNREADABLE, left_out)


def test_rows_of_unknown_episode_when_sorted(log):
    path = log("auction,bid\na,1\nx\nb,2\nb,3\n")
    assert skipped(path, sort=True) == ({"b": [2, 3]}, UNREADABLE, 1)


@pytest.mark.parametrize("sort", [False, True])
def test_a_length_that_stays_in_doubt(log, sort):
    doubtful = "job,wage\n" + "".join(f"{i},1\nx\n" for i in range(2000))
    path = log(doubtful)
    if sort:  # everything is in memory anyway
        assert len(skipped(path, sort=True)[0]) == 2000
    else:
        with pytest.raises(StreamError, match=r"the length of the episodes in doubt; pass horizon="):
            skipped(path)
    assert len(skipped(path, horizon=1, sort=sort)[0]) == 2000
    with pytest.raises(StreamError, match="in doubt"):
        skipped(log("job,wage\nx\nx\n"), sort=sort)
    assert skipped(log("job,wage\nx\nx\n"), horizon=1, sort=sort)[0] == {}


def test_columns_that_are_not_there_or_not_clear(log):
    path = log("auction,bid,price,job,date,time\na,1,2,3,4,5\n")
    listing = "the columns are 'auction', 'bid', 'price', 'job', 'date', 'time'"
    for options, expected in (
        ({"value": "bids"}, f"no column 'bids' for value (--value); {listing}"),
        (
            {"value": "bid", "episode": "job", "time": "when"},
            f"no column 'when' for time (--time); {listing}",
        ),
        ({"value": "bid", "episode": "bid"}, "column 'bid' cannot be both value and episode; name another"),
        (
            {},
            "more than one column could be the episode; name it (episode=, --episode; an empty name for none)",
        ),
        ({"episode": "job"}, "more than one column could be the time; name it (time=, --time; an empty name"),
        (
            {"episode": "job", "time": ""},
            f"more than one column could be the value; name it (value=, --value); {listing}",
        ),
    ):
        assert told(path, **options).startswith(f"{path}: {expected}")
    path = log("name,size,weight\nx,1,2\n")
    assert "more than one column could be the value" in told(path, horizon=1)
    path = log("name,size\nx,y\n")
    assert "no column is clearly the value; name it (value=, --value); the columns are" in told(
        path, horizon=1
    )


def test_without_episodes_a_horizon_is_needed(log):
    path = log("name,bid\nx,1\n")
    message = told(path)
    assert "pass horizon= (--horizon), or name the column (episode=, --episode)" in message
    assert "the columns are 'name', 'bid'" in message
    assert "nothing to sort by" in told(path, horizon=1, sort=True)


def test_headers(log):
    assert "two columns are called 'bid'; rename one" in told(log("bid,bid\n1,2\n"))
    assert "header: column 2 has a number for a name; begin the file with a header" in told(
        log(f"a,{DIGITS}\nb,1\n")
    )
    assert "has a header and no rows" in told(log("auction,bid\n"))
    assert "header: it cannot be split into names; mend" in told(log('auction,"bid"x\n1,2\n'))
    assert "no JSON object in its first lines" in told(log("{73519\n"))
    assert "holds a JSON array; write one object a line" in told(log('[{"bid": 73519}]'))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (bz2.compress(b"bid\n1\n"), "is compressed with bzip2; unpack it first"),
        (lzma.compress(b"bid\n1\n"), "is compressed with xz; unpack it first"),
        (b"\x28\xb5\x2f\xfd\x04\x00\x59", "is compressed with zstd; unpack it first"),
        (gzip.compress(gzip.compress(b"bid\n1\n", mtime=0), mtime=0), "is packed twice; unpack it first"),
        (b"auction,bid\na,1\nb\xe4,2\n", "line 3: not UTF-8; convert the file to UTF-8"),
        ("auction,bid\na,1\n".encode("utf-16"), "line 1: holds a NUL byte"),
        (b"auction,bid\na,1\nb,\x002\n", "line 3: holds a NUL byte"),
        (b"auction,bid\na,1\n" + b"b," + b"1" * (1 << 20) + b"\n", "line 3: longer than 1048576 bytes"),
        (b"bid" * (1 << 19), "line 1: longer than 1048576 bytes"),
    ],
    ids=lambda case: None if isinstance(case, bytes) else case,
)
@pytest.mark.parametrize("on_error", ["strict", "skip"])
def test_files_that_are_no_logs(log, content, expected, on_error):
    path = log(content)
    message = told(path, horizon=1, on_error=on_error)
    assert message.startswith(str(path))
    assert expected in message
    assert "; " in message


def test_a_zip_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "log", "w") as archive:
        archive.writestr("log.csv", "bid\n1\n")
    assert "is a zip archive or a spreadsheet; unpack it first" in told(tmp_path / "log")


def test_a_quote_left_open_is_not_followed_for_ever(log):
    path = log('auction,bid,note\na,1,"x\n' + "b,2,x\n" * 400_000)
    assert "the row cannot be split into fields (its quotes, or a field above 131072 characters)" in told(
        path
    )
    path = log('bid,note\n1,"x\n' + '","\n' * 400_000)
    assert "no row ends in the 1048576 bytes before; close its quotes" in told(
        path, horizon=1, on_error="skip"
    )


def test_paths_that_are_no_files(tmp_path, monkeypatch):
    assert told(tmp_path / "absent") == f"{tmp_path / 'absent'}: no such file; check the path"
    assert told(tmp_path) == f"{tmp_path} is a directory; give one of the files in it"
    assert "cannot be read" in told("a\0b")
    assert "cannot be read" in told("x" * 5000)

    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = tmp_path / "log"
    path.write_text("bid\n1\n")
    monkeypatch.setattr(os, "open", refuse)  # these tests may run as root, whom no mode keeps out
    assert told(path) == f"{path}: no permission to read it; ask its owner or change its mode"


def test_standard_input_that_is_closed_or_empty(monkeypatch):
    closed = io.TextIOWrapper(io.BytesIO(b""))
    closed.close()
    monkeypatch.setattr(sys, "stdin", closed)
    assert told("-").startswith("standard input: cannot be read")
    monkeypatch.setattr(sys, "stdin", None)
    assert told("-").startswith("standard input is not open")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert told("-").startswith("standard input is empty")


def test_truncated_gzip_says_how_many_rows_were_whole(log):
    lines = ["auction,bid", *(f"{i // 2:05d},{(i * 7919) % 10007}" for i in range(60_000))]
    packed = gzip.compress("\n".join(lines).encode())
    path = log(packed[: len(packed) // 2])
    whole = gzip_rows(packed[: len(packed) // 2])
    assert 10_000 < whole < 50_000
    assert told(path) == f"{path}: gzip data are truncated after {whole} whole rows; copy or pack it again"
    stream = read_stream(path)
    ids = []
    with pytest.raises(StreamError, match="truncated"):
        ids.extend(episode.id for episode in stream)
    assert len(ids) == (whole - 1) // 2  # all that were certainly over
    assert told(log(packed[:30])).endswith(
        "gzip data are truncated after 0 whole rows; copy or pack it again"
    )
    damaged = bytearray(packed)
    damaged[-5] ^= 1  # the checksum
    assert "gzip data are corrupt after " in told(log(bytes(damaged)))


def test_truncated_gzip_loses_no_row_it_still_holds(log, monkeypatch):
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", 16)  # far below what one code of zlib stands for
    packed = gzip.compress(b"bid\n" + b"1\n" * 5000)
    for end in range(len(packed) - 8, len(packed) - 24, -1):
        rows = max(gzip_rows(packed[:end]), 0)
        assert f"truncated after {rows} whole rows" in told(log(packed[:end]), horizon=1)


def gzip_rows(packed: bytes) -> int:
    """How many line feeds python's own reader gets out of cut bytes, without the header's."""
    import zlib

    return zlib.decompressobj(wbits=31).decompress(packed).count(b"\n") - 1


def test_truncated_and_corrupt_parquet(tmp_path):
    path = tmp_path / "log"
    pq.write_table(pa.table({"auction": [1, 1, 2, 2], "bid": [1.0, 2.0, 3.0, 4.0]}), path)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:40], b"PAR1", whole[:8] + b"\xff" * 40 + whole[48:]):
        path.write_bytes(damaged)
        assert (
            told(path)
            == f"{path}: truncated or corrupt Parquet, or not Parquet at all; copy or write it again"
        )
    path.write_bytes(b"bid\n1\n")
    assert "not Parquet at all" in told(path, format="parquet")


def test_parquet_through_a_pipe(tmp_path, monkeypatch):
    path = tmp_path / "log"
    pq.write_table(pa.table({"bid": [1.0]}), path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert told("-") == "standard input: Parquet is read from its end; save it to a file and give that"


def test_parquet_columns_of_the_wrong_type(tmp_path):
    path = tmp_path / "log"
    table = {"bid": ["73519", "2"], "job": [[1], [2]], "time": [True, False], "size": [1.0, 2.0]}
    pq.write_table(pa.table(table), path)
    assert "column 'bid' holds 'string', not numbers; name another (value=, --value)" in told(path)
    assert "column 'job' holds" in told(path, value="size")
    assert "column 'time' holds 'bool', not times" in told(path, value="size", episode="", horizon=1)
    pq.write_table(pa.table({"bid": pa.array([], pa.float64())}), path)
    assert "has columns and no rows" in told(path)
    pq.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["bid", "bid"]), path)
    assert "two columns are called 'bid'" in told(path)


def test_long_listings_are_cut(log):
    path = log(
        ",".join(f"column-{i:04d}-{'x' * 100}" for i in range(3000)) + "\n" + ",".join("1" * 3000) + "\n"
    )
    assert len(told(path)) < 1500
