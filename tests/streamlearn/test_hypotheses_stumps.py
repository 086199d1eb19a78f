"""Stumps: the halving of stumps.proof.md on large classes, cut points from a sample, and real data."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets

from streamlearn.errors import ParameterError, StateError
from streamlearn.hypotheses import Stumps, enumerated


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.data())
def test_every_version_space_can_be_halved_until_one_is_left(sizes, data):
    stumps = Stumps({f"x{i}": range(size) for i, size in enumerate(sizes)})
    space = stumps.version_space()
    for name in range(data.draw(st.integers(0, 3))):  # some arbitrary examples first
        x = {f"x{i}": data.draw(st.integers(-1, size)) for i, size in enumerate(sizes)}
        space = space.restrict(x, data.draw(st.booleans(), label=str(name))) or space
    while (left := space._rows.bit_count()) > 1:
        x = space.pivot()
        parts = [space.restrict(x, y) for y in (False, True)]
        assert sorted(part._rows.bit_count() for part in parts) == [left // 2, left - left // 2]
        assert space.dimension == int(math.log2(left))  # exact: left < 2^53
        space = parts[data.draw(st.integers(0, 1))]
    assert space.dimension == 0


def test_cut_points_lie_halfway_between_the_values_of_a_sample():
    rows = [{"a": v, "b": 7.0, "c": "x", "d": math.nan if v == 4 else v} for v in (4, 1, 1, 2.5)]
    assert Stumps.from_sample(rows).cuts == {"a": [1.75, 3.25]}
    assert Stumps.from_sample([{"a": 0, "b": 1}, {"a": 1, "b": 1}, {"a": 2}]).cuts == {"a": [0.5, 1.5]}


def test_cut_points_of_a_sample_are_spread_evenly():
    rows = [{"a": v} for v in range(100)]
    assert Stumps.from_sample(rows, cuts=3).cuts == {"a": [16.5, 49.5, 82.5]}
    assert len(Stumps.from_sample(rows, cuts=98).cuts["a"]) == 98
    assert len(Stumps.from_sample(rows, cuts=1_000).cuts["a"]) == 99


@pytest.mark.parametrize("low", [1.0, -5e-324, 0.0, -1.7e308])
def test_cut_points_between_close_or_distant_floats_separate_them(low):
    high = 1.7e308 if low < -1 else math.nextafter(low, math.inf)
    ((cut,),) = Stumps.from_sample([{"a": low}, {"a": high}]).cuts.values()
    assert low < cut <= high


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "0 rows"),
        ([{"a": 1.0}, {"a": 1.0}], "2 rows"),
        ([{"a": "x"}, {"a": "y"}], "longer sample"),
        ([{"a": math.inf}, {"a": 1.0}], "longer sample"),
        ([({"a": 1.0}, True)], "leave out the labels"),
    ],
)
def test_a_sample_without_cut_points_is_refused(rows, message):
    with pytest.raises(ParameterError, match=message):
        Stumps.from_sample(rows)


@pytest.mark.parametrize("cuts", [0, -1, 1.5, True])
def test_a_number_of_cut_points_must_be_whole(cuts):
    with pytest.raises(ParameterError, match="cuts must be a whole number"):
        Stumps.from_sample([{"a": 1}, {"a": 2}], cuts=cuts)


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([1.0], "cuts must be a dict of features with their cut points, got list"),
        ({"a": 5}, "cuts of feature 'a' must be a list of numbers, got one int"),
        ({"a": "12"}, "must be a list of numbers, got one str"),
    ],
)
def test_cut_points_of_another_form_are_refused(cuts, message):
    with pytest.raises(ParameterError, match=message):
        Stumps(cuts)


def test_a_sample_that_is_no_list_is_refused():
    with pytest.raises(ParameterError, match="rows must be a list of dicts of features, got one int"):
        Stumps.from_sample(3)


def test_memory_does_not_grow_with_the_instances_asked():
    stumps = Stumps({f"x{i}": range(50) for i in range(4)})  # over six million cells, hardly two alike
    space = stumps.version_space().restrict(dict.fromkeys(stumps.cuts, 7), True)
    generator = np.random.default_rng(1)

    def ask(times):
        for values in generator.integers(-1, 50, (times, 4)).tolist():
            space.predict({f"x{i}": value for i, value in enumerate(values)})
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    first, last = ask(2_000), ask(8_000)
    tracemalloc.stop()
    assert last - first < 50_000  # 8,000 answers would take over a million
    assert len(space._answers) <= enumerated.MOST_ANSWERS


def test_answers_stay_right_when_they_are_forgotten(monkeypatch):
    monkeypatch.setattr(enumerated, "MOST_ANSWERS", 3)
    stumps = Stumps({"u": range(6), "v": range(5)})
    space = stumps.version_space().restrict({"u": 3, "v": 1}, True)
    answers = {}
    for u, v in [*itertools.product(range(-1, 7), range(-1, 6))] * 2:
        said = space.predict({"u": u, "v": v})
        assert answers.setdefault((u, v), said) == said
        assert len(space._answers) <= 3
    zeros = {x for x in answers if not answers[x]}
    for u, v in answers:
        kept = space.restrict({"u": u, "v": v}, False)
        assert ((u, v) in zeros) == (kept is not None and kept.dimension == space.dimension)


def test_memory_is_linear_in_the_cut_points():
    tracemalloc.start()
    stumps = Stumps({f"x{i}": range(1_000) for i in range(10)})
    space = stumps.version_space().restrict(dict.fromkeys(stumps.cuts, 500.0), True)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert space.dimension == 13
    assert held < 1_000_000  # what each of 10,000 cells says would take 12 million


BAD_CUTS = [
    {},
    *({"a": cuts} for cuts in ([], [1.0, 1.0], [math.nan], [math.inf], ["1"], [10**400], [2**53, 2**53 + 1])),
]


@pytest.mark.parametrize("cuts", BAD_CUTS, ids=str)
def test_bad_cut_points_are_refused(cuts):
    with pytest.raises(ParameterError, match="cut"):
        Stumps(cuts)


def test_numbers_of_any_type_are_instances_and_nothing_else_is():
    stumps = Stumps({"a": [0.5]})
    for value in (1, True, 1.0, np.float32(1), np.int8(1), math.inf, 10**400):
        assert stumps.default({"a": value, "ignored": "x"})
    for x in (
        {"a": math.nan},
        {"a": "1"},
        {"a": None},
        {"b": 1.0},
        {},
        1.0,
        "a",
        None,
        {"a": [1.0]},
        {"a": np.ones(2)},
    ):
        assert not stumps.knows(x)
        assert not stumps.default(x)
        assert stumps.version_space().restrict(x, True).dimension == stumps.dimension


def test_saved_spaces_that_no_examples_leave_are_refused():
    stumps = Stumps({"a": [1.0, 2.0, 3.0]})  # bits 0..2 upwards, 3..5 downwards
    for rows in (0b000101, 0b011011, 0b111110, 0b101000, 0b110011, 0b1000000):
        with pytest.raises(StateError):
            stumps.from_plain(f"{rows:x}")
    for rows in (0b111111, 0b110001, 0b001110, 0b000111, 0b010000):
        assert stumps.from_plain(f"{rows:x}").to_plain() == f"{rows:x}"


def test_sky_is_one_stump_of_the_image_segments():
    events = [(x, y == "sky") for x, y in datasets.ImageSegments()]
    stumps = Stumps.from_sample([x for x, _ in events], cuts=400)
    space, mistakes = stumps.version_space(), 0
    for x, y in events:
        mistakes += space.predict(x) != y
        space = space.restrict(x, y)
        assert space is not None
    assert mistakes <= stumps.dimension
