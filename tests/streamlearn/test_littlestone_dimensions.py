"""Exact dimensions: THEORY-prediction's reference values, an independent recursion, and refusals."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import littlestone as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.errors import SizeError
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Point3,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
    bitsets,
    littlestone_dimension,
)


def subsets(m, k):
    """The indicator functions of at most k of m points."""
    chosen = [set(c) for j in range(k + 1) for c in itertools.combinations(range(m), j)]
    return Finite([[x in some for x in range(m)] for some in chosen])


def parities(n):
    vectors = list(itertools.product((0, 1), repeat=n))
    return Finite(
        [[sum(a * b for a, b in zip(h, x, strict=True)) % 2 == 1 for x in vectors] for h in vectors]
    )


def everything(n):
    return Finite(np.array(list(itertools.product((False, True), repeat=n))))


@pytest.mark.parametrize("m", [1, 2, 3, 6, 7, 8, 100, 127, 128, 2**60 - 1, 2**60, 2**200])
def test_thresholds(m):
    assert littlestone_dimension(Thresholds(m)) == (m + 1).bit_length() - 1  # floor(log2(m + 1))


def test_intervals():
    assert [Intervals(m).dimension for m in range(1, 13)] == [1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5]


@pytest.mark.parametrize(
    ("cls", "dimension"),
    [
        (Point3(), 1),
        (Points(), 1),
        (Points(1), 0),
        (Points(2), 1),
        (Points(2**60), 1),
        (SingletonsOrEmpty(), 1),
        (SingletonsOrEmpty(1), 1),
        (SingletonsOrEmpty(2**60), 1),
        (subsets(4, 2), 2),
        (subsets(6, 3), 3),
        (Conjunctions(list("abc"), 3), 3),
        (Conjunctions(list("abcd"), 4), 4),
        (Conjunctions(list("abcd"), 0), 0),
        (Conjunctions([f"x{i}" for i in range(15)], 1), 4),  # 16 functions, any of them apart from any others
        (Stumps({"x": [0.5]}), 1),
        (Stumps({"x": range(16), "y": range(16)}), 6),
        (Finite([[True, False]]), 0),
    ],
    ids=repr,
)
def test_reference_values(cls, dimension):
    assert littlestone_dimension(cls) == dimension


@pytest.mark.parametrize("n", range(1, 7))
def test_parities_and_all_functions(n):
    assert parities(n).dimension == n
    assert everything(n).dimension == n


@pytest.mark.parametrize(("m", "k"), [(10, 3), (14, 4), (20, 3)])
def test_small_subsets_cost_k_mistakes(m, k):
    # k mistakes suffice (say 0 until told otherwise), and k points can always be in or out
    assert subsets(m, k).dimension == k


@pytest.mark.parametrize("m", [16, 31, 64, 100, 300])
def test_the_search_agrees_with_closed_forms_on_deep_narrow_classes(m):
    # Columns that look useless high up (one hypothesis against all others) are needed further down.
    assert Thresholds(m).as_finite().dimension == (m + 1).bit_length() - 1
    assert Points(m).as_finite().dimension == 1


@pytest.mark.parametrize("m", [9, 13, 20, 28])
def test_the_search_agrees_with_the_closed_form_of_intervals(m):
    assert Intervals(m).as_finite().dimension == Intervals(m).dimension


def test_the_search_agrees_with_the_closed_form_of_products_of_thresholds():
    # Two thresholds on 12 points each, side by side: the dimensions add up.
    cuts = range(1, 14)
    table = [[x >= a for x in range(1, 13)] + [x >= b for x in range(1, 13)] for a in cuts for b in cuts]
    assert Finite(table).dimension == 2 * math.floor(math.log2(13))


@given(oracle.tables(40, 7))
def test_the_search_is_exact(table):
    finite = Finite(table)
    assert finite.dimension == oracle.dimension(oracle.rows_of(finite))


@given(oracle.tables(24, 6), st.data())
def test_the_search_is_exact_on_every_subset(table, data):
    # In one class, so that bounds remembered from one set serve the next.
    finite = Finite(table)
    for _ in range(5):
        bits = data.draw(st.integers(1, 2**finite.size - 1))
        assert finite.dimension_of(bits) == oracle.dimension(oracle.selected(finite, bits))


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.25, 0.5]))
def test_the_search_is_exact_on_larger_tables(seed, density):
    table = np.unique(np.random.default_rng(seed).random((200, 9)) < density, axis=0)
    finite = Finite(table)
    assert finite.dimension == oracle.dimension(oracle.rows_of(finite))


@given(oracle.tables(24, 6))
def test_pivots_leave_one_less(table):
    finite = Finite(table)
    if finite.dimension:
        place = finite.version_space().pivot()
        rows = oracle.rows_of(finite)
        assert (
            min(oracle.dimension(oracle.restrict(rows, place, y)) for y in (False, True))
            >= finite.dimension - 1
        )


def test_two_thousand_random_hypotheses():
    finite = Finite(np.random.default_rng(1).random((2000, 64)) < 0.5)
    tree_bound = math.floor(math.log2(2000))
    assert finite.dimension == tree_bound  # a shattered tree of that depth was found, and none can be deeper


def test_a_search_that_would_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(bitsets, "MOST_WORK", 2_000)
    finite = Finite(np.random.default_rng(1).random((300, 30)) < 0.3)
    with pytest.raises(SizeError, match=r"300 hypotheses .* 30 instances .* 2000"):
        littlestone_dimension(finite)
    monkeypatch.undo()
    assert finite.dimension >= 4  # what was remembered of the search given up is still right


def test_sets_of_small_dimension_are_work_too(monkeypatch):
    monkeypatch.setattr(bitsets, "MOST_WORK", 199)
    with pytest.raises(SizeError, match="more than 199 steps"):
        littlestone_dimension(Points(200).as_finite())  # each of 200 divisions is looked at, none reaches 2
    monkeypatch.setattr(bitsets, "MOST_WORK", 200)
    assert littlestone_dimension(Points(200).as_finite()) == 1


def test_a_division_of_many_hypotheses_is_more_work(monkeypatch):
    monkeypatch.setattr(bitsets, "MOST_WORK", 2_999)
    columns = [1 << row for row in range(1_000)]
    assert bitsets.Bitsets(columns, 1_999).dimension((1 << 1_000) - 1) == 1
    with pytest.raises(SizeError):
        bitsets.Bitsets(columns, 2_000).dimension((1 << 1_000) - 1)


def test_work_is_limited_for_each_question_or_for_all(monkeypatch):
    monkeypatch.setattr(bitsets, "MOST_WORK", 350)
    columns = [1 << row for row in range(100)]
    for one_limit, asked in ((False, 10), (True, 3)):
        sets = bitsets.Bitsets(columns, 100, one_limit=one_limit)
        for _ in range(asked):
            assert sets.dimension((1 << 100) - 1) == 1
    with pytest.raises(SizeError):
        sets.dimension((1 << 100) - 1)


def test_remembered_bounds_are_limited(monkeypatch):
    monkeypatch.setattr(bitsets, "MOST_MEMORY", 1_600)  # ten sets of 60 hypotheses
    finite = Finite(np.unique(np.random.default_rng(2).random((60, 8)) < 0.5, axis=0))
    rows = oracle.rows_of(finite)
    space, most = finite.version_space(), 0
    for x in range(8):
        assert space.predict(x) == oracle.soa(rows, x)
        most = max(most, len(finite._bitsets._below) + len(finite._bitsets._above))
    assert 5 < most <= 10


def test_what_is_remembered_takes_the_memory_it_may(monkeypatch):
    monkeypatch.setattr(bitsets, "MOST_MEMORY", 1 << 20)
    sets = bitsets.Bitsets([1 << row for row in range(50)], 2_000)
    tracemalloc.start()
    for number in range(20_000):  # distinct sets of 16 hypotheses, each remembered
        sets.reaches((0x7FFF << 1_900) | 1 << number % 1_900 | 1 << number * 7 % 1_899, 3)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 1 << 17 < held < 1.5 * (1 << 20)
