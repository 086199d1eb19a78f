"""Memory stays flat however long the log, where it is promised to."""

import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlearn.replays import read_stream

PEOPLE = 10
ROWS = 100_000
# A reader that kept the rows of four times as many would keep 300,000 more, at 8 bytes at least: 2.4 MB. What
# may grow is what blocks and rows happen to need when they end in different places.
SLACK = 600_000


def text_log(path, rows, names, form):
    row = {"csv": "{},{}.5\n", "jsonl": '{{"episode": "{}", "value": {}.5}}\n'}[form]
    with path.open("w") as file:
        if form == "csv":
            file.write("episode,value\n")
        file.writelines(row.format(names(i // PEOPLE), i % 97) for i in range(rows))


def parquet_log(path, rows, names):
    ids = pa.array([names(i // PEOPLE) for i in range(rows)])
    pq.write_table(
        pa.table({"episode": ids, "value": np.arange(rows) % 97 + 0.5}), path, row_group_size=50_000
    )


def peak(stream) -> int:
    tracemalloc.start()
    try:
        for _ in stream.batches():
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def growth(tmp_path, monkeypatch):
    """Returns by how many bytes the peak grows when the log is four times as long."""
    monkeypatch.setattr("streamlearn.replays.parquet._ROWS", 1 << 13)  # so that both logs have many blocks

    def measure(form, names, rows=ROWS, **options) -> int:
        peaks = []
        for length in (rows, 4 * rows):
            path = tmp_path / f"{length}"
            if form == "parquet":
                parquet_log(path, length, names)
            else:
                text_log(path, length, names, form)
            stream = read_stream(path, **options)
            peaks.append(peak(stream))
            assert stream.rows == length
        return peaks[1] - peaks[0]

    return measure


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a sixteenth, for logs of a fifth: to be quick."""
    monkeypatch.setattr("streamlearn.replays.sources.BLOCK", 1 << 14)


FEW = ROWS // 5
LITTLE = SLACK // 5


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_grouped_logs_are_read_in_constant_memory(growth, form):
    assert growth(form, str) < SLACK


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.usefixtures("small_blocks")
def test_rows_without_episodes_are_cut_in_constant_memory(growth, form):
    assert growth(form, str, rows=FEW, episode="", horizon=PEOPLE) < LITTLE


@pytest.mark.usefixtures("small_blocks")
def test_grouped_csv_is_read_in_constant_memory(growth):
    assert growth("csv", str, rows=FEW) < LITTLE


@pytest.mark.usefixtures("small_blocks")
def test_ids_in_no_order_cost_little(growth):
    def scattered(episode: int) -> str:
        return f"{episode * 7919 % 1_000_003:x}"

    # 8 bytes an episode, up to four times as many while two arrays are merged and sorted
    assert growth("csv", scattered, rows=FEW) < LITTLE + 4 * 8 * 3 * FEW // PEOPLE


@pytest.mark.usefixtures("small_blocks")
def test_an_episode_that_never_ends_is_not_held(growth):
    assert growth("csv", lambda _: "same", rows=FEW, horizon=PEOPLE, on_error="skip") < LITTLE


@pytest.mark.usefixtures("small_blocks")
def test_sorting_holds_the_log(growth):
    assert growth("csv", str, rows=FEW, sort=True) > 8 * 3 * FEW  # or these tests could not fail


def test_arrow_memory_is_constant_too(tmp_path):
    pool = pa.default_memory_pool()
    peaks = []
    for rows in (ROWS, 4 * ROWS):
        parquet_log(tmp_path / "log", rows, str)
        peaks.append(max(pool.bytes_allocated() for _ in read_stream(tmp_path / "log").batches()))
    # The whole longer log would be 8 MB; row groups of 50,000 rows are 1 MB.
    assert peaks[1] - peaks[0] < 2 * SLACK


@pytest.mark.usefixtures("small_blocks")
def test_standard_input_is_streamed(tmp_path, monkeypatch):
    peaks = []
    for rows in (FEW, 4 * FEW):
        text_log(tmp_path / "log", rows, str, "csv")
        with (tmp_path / "log").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            peaks.append(peak(read_stream("-")))
    assert peaks[1] - peaks[0] < LITTLE + 4 * 8 * 3 * FEW // PEOPLE
