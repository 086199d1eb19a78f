"""Whatever the bytes, a StreamError or episodes; and the same episodes through every format and block size."""

import contextlib
import csv
import gzip
import io
import itertools
import json
import sys
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamlearn.errors import StreamError
from streamlearn.replays import read_stream


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A path that every example writes anew."""
    return tmp_path_factory.mktemp("fuzz") / "log"


def csv_log(rows) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([("episode", "value", "time"), *rows])
    return text.getvalue().encode()


def jsonl_log(rows) -> bytes:
    names = ("episode", "value", "time")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def parquet_log(rows) -> bytes:
    buffer = io.BytesIO()
    ids, values, times = ([row[column] for row in rows] for column in range(3))
    pq.write_table(pa.table({"episode": ids, "value": pa.array(values, pa.float64()), "time": times}), buffer)
    return buffer.getvalue()


LOGS = {
    "csv": csv_log,
    "csv.gz": lambda rows: gzip.compress(csv_log(rows), compresslevel=1),
    "jsonl": jsonl_log,
    "jsonl.gz": lambda rows: gzip.compress(jsonl_log(rows), compresslevel=1),
    "parquet": parquet_log,
}
FORMS = {"csv": "csv", "csv.gz": "csv", "jsonl": "jsonl", "jsonl.gz": "jsonl", "parquet": "parquet"}

# No lone surrogates, for no file can hold them; no blanks in front, for csv takes them for its own.
ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5).filter(
    lambda text: not text.startswith(" ")
)


def read_all(log, **options) -> list:
    with contextlib.suppress(StreamError):
        return [(episode.id, episode.values.tolist()) for episode in read_stream(log, **options)]
    return []


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "horizon": st.integers(1, 3),
        "sort": st.booleans(),
        "on_error": st.sampled_from(["strict", "skip"]),
        "episode": st.sampled_from(["", "episode"]),
        "time": st.sampled_from(["", "time"]),
        "value": st.just("value"),
        "format": st.sampled_from(["csv", "jsonl", "parquet"]),
    },
)
CELLS = st.sampled_from(
    [
        "1",
        "2.5",
        "-1",
        "nan",
        "x",
        "",
        '"',
        '""',
        '"a',
        "\r",
        "\n",
        ",",
        ";",
        "{",
        "}",
        "[",
        ":",
        "null",
        "true",
    ]
) | st.sampled_from(
    [
        '"value"',
        '"episode"',
        "1e999",
        "2024-01-01",
        "2024-01-01T00Z",
        "\x85",
        "\u2028",
        "\ufeff",
        "9" * 5000,
        "[" * 3000,
    ]
)


@given(data=st.binary(max_size=200), options=OPTIONS)
@example(data=b"\x1f\x8b", options={})
@example(data=b"PAR1", options={})
def test_arbitrary_bytes(log, data, options):
    log.write_bytes(data)
    read_all(log, **options)


@given(
    head=st.sampled_from(["episode,value,time\n", "value\n", '{"episode": 1, "value": 2, "time": 3}\n', ""]),
    cells=st.lists(CELLS, max_size=30),
    options=OPTIONS,
    packed=st.booleans(),
)
def test_arbitrary_text_after_a_header(log, head, cells, options, packed):
    data = (head + "".join(cells)).encode()
    log.write_bytes(gzip.compress(data, compresslevel=1) if packed else data)
    episodes = read_all(log, **options)
    values = np.array([value for _, values in episodes for value in values])
    assert np.isfinite(values).all()
    assert (values >= 0).all()


ROWS = [(f"e{i // 2}", i / 4, i) for i in range(40)]


@pytest.mark.parametrize("kind", LOGS)
@settings(max_examples=200)
@given(
    cut=st.integers(0, 4000),
    length=st.integers(0, 30),
    inserted=st.binary(max_size=30),
    options=OPTIONS,
)
def test_damaged_logs(log, kind, cut, length, inserted, options):
    whole = LOGS[kind](ROWS)
    cut %= len(whole) + 1
    log.write_bytes(whole[:cut] + inserted + whole[cut + length :])
    read_all(log, **options)


@st.composite
def grouped_rows(draw):
    """Rows of some episodes of one length, their order in the log and their order in time."""
    horizon = draw(st.integers(1, 4))
    names = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    values = st.floats(0.0, allow_infinity=False, allow_nan=False)
    rows, expected = [], []
    for name in names:
        people = draw(st.lists(values, min_size=horizon, max_size=horizon))
        times = draw(st.permutations(range(horizon)))
        rows += zip([name] * horizon, people, times, strict=True)
        expected.append((name, [people[times.index(instant)] for instant in range(horizon)]))
    return rows, expected


@pytest.mark.parametrize("kind", LOGS)
@given(drawn=grouped_rows())
def test_every_format_gives_back_what_went_in(log, kind, drawn):
    rows, expected = drawn
    log.write_bytes(LOGS[kind](rows))
    found = [
        (episode.id, episode.values.tolist())
        for episode in read_stream(log, value="value", episode="episode", time="time", format=FORMS[kind])
    ]
    assert found == expected


@pytest.mark.parametrize("kind", LOGS)
@settings(max_examples=40)
@given(
    drawn=grouped_rows(),
    block=st.integers(1, 80),
    rows_read=st.integers(1, 7),
    batch=st.integers(1, 7),
    spoiled=st.lists(st.integers(0, 23), max_size=2),
    sort=st.booleans(),
    episode=st.sampled_from(["episode", ""]),
)
def test_the_size_of_blocks_and_batches_changes_nothing(
    log, kind, drawn, block, rows_read, batch, spoiled, sort, episode
):
    rows, expected = drawn
    names = {
        name: f"{place}{name}" for place, (name, _) in enumerate(expected)
    }  # distinct under any stripping
    rows = [(names[name], value, time) for name, value, time in rows]
    for place in spoiled:
        name, _, time = rows[place % len(rows)]
        rows[place % len(rows)] = (name, -1.0, time)
    log.write_bytes(LOGS[kind](rows))
    options = {"value": "value", "episode": episode, "horizon": 2 if episode == "" else None}
    options |= {"sort": sort, "on_error": "skip", "format": FORMS[kind]}

    def outcome(size):
        stream = read_stream(log, **options)
        batches = list(stream.batches(size))
        assert all(1 <= batch.episodes <= size for batch in batches)
        episodes = [pair for batch in batches for pair in zip(batch.ids, batch.values.tolist(), strict=True)]
        return episodes, stream.rows, stream.skipped, stream.skipped_episodes, stream.leftover_rows

    whole = outcome(65536)
    with (
        mock.patch("streamlearn.replays.sources.BLOCK", block),
        mock.patch("streamlearn.replays.parquet._ROWS", rows_read),
    ):
        assert outcome(batch) == whole


@given(
    order=st.lists(st.integers(0, 60), min_size=1, max_size=60),
    block=st.integers(20, 80),
    piped=st.booleans(),
)
def test_an_episode_that_comes_back_is_always_noticed(log, order, block, piped):
    runs = [order[0], *(b for a, b in itertools.pairwise(order) if a != b)]
    data = jsonl_log([(known, 1.0, 0) for known in runs])
    log.write_bytes(data)
    source = "-" if piped else log
    stdin = io.TextIOWrapper(io.BytesIO(data))
    with mock.patch("streamlearn.replays.sources.BLOCK", block), mock.patch.object(sys, "stdin", stdin):
        if len(set(runs)) == len(runs):
            assert [episode.id for episode in read_stream(source, horizon=1)] == runs
        else:
            first = next(place for place, known in enumerate(runs) if known in runs[:place])
            with pytest.raises(StreamError, match=f"line {first + 1}: episode {runs[first]} comes back"):
                list(read_stream(source, horizon=1))


@given(seed=st.integers(0, 1000))
def test_sorting_undoes_any_shuffle(log, seed):
    rows = [(f"e{i // 3}", float(i), i) for i in range(30)]
    shuffled = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]
    log.write_bytes(csv_log(shuffled))
    found = {episode.id: episode.values.tolist() for episode in read_stream(log, sort=True)}
    assert list(found.items()) == [(f"e{i}", [3.0 * i, 3.0 * i + 1, 3.0 * i + 2]) for i in range(10)]
    untimed = {episode.id: episode.values.tolist() for episode in read_stream(log, sort=True, time="")}
    expected: dict = {}
    for name, value, _ in shuffled:
        expected.setdefault(name, []).append(value)
    assert list(untimed.items()) == list(expected.items())
