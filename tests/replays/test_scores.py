"""Block sums and bootstrap intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn.replays.scores import MOST_BLOCKS, RESAMPLES, BlockSums, percentile_interval


@given(st.lists(st.integers(0, 700), min_size=1, max_size=12), st.integers(1, 3))
def test_blocks_hold_every_episode_once(sizes, columns):
    rows = np.arange(sum(sizes) * columns, dtype=float).reshape(-1, columns)  # integers: sums are exact
    sums = BlockSums(columns)
    start = 0
    for size in sizes:
        sums.add(rows[start : start + size])
        start += size
    assert sums.episodes == len(rows)
    assert sums.total.tolist() == rows.sum(axis=0).tolist()
    blocks = sums.blocks
    assert blocks.sum(axis=0).tolist() == rows.sum(axis=0).tolist()
    assert len(blocks) <= MOST_BLOCKS + 1


@pytest.mark.parametrize("batch", [1, 7, 1024, 5000])
def test_blocks_are_runs_of_neighbours(batch):
    rows = np.column_stack([np.ones(5000), np.arange(5000.0)])
    sums = BlockSums(2)
    for start in range(0, 5000, batch):
        sums.add(rows[start : start + batch])
    length = 8  # the least power of two with 5000 / length <= 1024
    expected = [rows[start : start + length].sum(axis=0).tolist() for start in range(0, 5000, length)]
    assert sums.blocks.tolist() == expected


def test_memory_does_not_grow():
    sums = BlockSums(1)
    for _ in range(50):
        sums.add(np.ones((10_000, 1)))
    assert sums._boundaries.nbytes <= 8 * (MOST_BLOCKS + 1)


def test_resampling_has_the_variance_of_a_mean():
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=1000), np.ones(1000)])
    sums = BlockSums(2)
    sums.add(rows)
    totals = sums.resampled(np.random.default_rng(2))
    means = totals[:, 0] / totals[:, 1]
    expected = rows[:, 0].std() / math.sqrt(1000)
    # The standard deviation of RESAMPLES normal draws has relative error 1/sqrt(2 RESAMPLES); 5 of them: < 1e-6.
    assert means.std() == pytest.approx(expected, rel=5 / math.sqrt(2 * RESAMPLES))
    assert set(totals[:, 1]) == {1000.0}


def test_interval_covers_at_its_level():
    # 400 logs of 200 episodes: misses ~ binomial(400, about 0.05-0.06); above 60 has probability < 1e-7.
    rng = np.random.default_rng(3)
    misses = 0
    for _ in range(400):
        sums = BlockSums(2)
        sums.add(np.column_stack([rng.exponential(size=200), np.ones(200)]))
        totals = sums.resampled(rng)
        low, high = percentile_interval(totals[:, 0] / totals[:, 1])
        misses += not low < 1.0 < high
    assert 2 <= misses <= 60


def test_no_replicates_give_no_interval():
    assert all(math.isnan(end) for end in percentile_interval(np.array([math.nan, math.inf])))
