"""SOA's mistake bound against an adversary that tries everything."""

from __future__ import annotations

from functools import cache

import littlestone as oracle
import pytest
from hypothesis import given

from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Point3,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
)


def worst(cls):
    """The most mistakes that any realisable sequence of examples extracts from SOA."""
    finite = cls.as_finite()

    @cache
    def most(rows, space):
        best = 0
        for place, x in enumerate(finite.domain):
            for y in (False, True):
                left = oracle.restrict(rows, place, y)
                mistake = space.predict(x) != y
                if left == rows:
                    assert not mistake, "a label that all hypotheses agree on must be predicted"
                elif left:
                    best = max(best, mistake + most(left, space.restrict(x, y)))
        return best

    return most(oracle.rows_of(finite), cls.version_space())


@pytest.mark.parametrize(
    "cls",
    [
        Point3(),
        Points(2),
        Points(5),
        SingletonsOrEmpty(4),
        Thresholds(6),
        Thresholds(7),
        Intervals(4),
        Intervals(5),
        Conjunctions(["a", "b", "c"], 2),
        Conjunctions(["a", "b", "c"], 3),
        Stumps({"u": [1.0, 2.0, 3.0]}),
        Stumps({"u": [1.0, 2.0], "v": [0.0]}),
    ],
    ids=repr,
)
def test_the_adversary_gets_exactly_the_dimension(cls):
    # At most d by SOA's own bound; and no algorithm can do with fewer than d.
    assert worst(cls) == cls.dimension


@given(oracle.tables(10, 5))
def test_the_adversary_gets_exactly_the_dimension_of_a_table(table):
    finite = Finite(table)
    assert worst(finite) == finite.dimension
