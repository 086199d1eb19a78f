"""Littlestone dimension and SOA straight from their definitions: hypotheses are tuples of bits, classes frozensets."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st

from streamlearn.hypotheses import Finite


def restrict(rows, place, y):
    """Return the hypotheses that say y at a place."""
    return frozenset(h for h in rows if h[place] == y)


@cache
def dimension(rows):
    """Return the Littlestone dimension, -1 for no hypothesis: 1 + the best place's worse label."""
    if not rows:
        return -1
    best = 0
    for place in range(len(next(iter(rows)))):
        parts = restrict(rows, place, False), restrict(rows, place, True)
        if all(parts):
            best = max(best, 1 + min(map(dimension, parts)))
    return best


def soa(rows, place):
    """Return the paper's SOA: 0 iff label 0 leaves the dimension."""
    return dimension(restrict(rows, place, False)) != dimension(rows)


def rows_of(finite: Finite):
    """Return the hypotheses of a table."""
    return frozenset(map(tuple, finite.table.tolist()))


def selected(finite: Finite, bits: int):
    """Return the hypotheses of a table at the ones of a number."""
    return frozenset(tuple(row) for number, row in enumerate(finite.table.tolist()) if bits >> number & 1)


@st.composite
def tables(draw, most_rows, most_columns, fewest_rows=1):
    """Draw tables of different rows, sparse and dense ones."""
    width = draw(st.integers(1, most_columns))
    numbers = st.integers(0, 2**width - 1)
    if draw(st.booleans()):
        numbers = st.tuples(numbers, numbers).map(lambda pair: pair[0] & pair[1])
    rows = draw(
        st.lists(numbers, min_size=min(fewest_rows, 2**width - 1), max_size=most_rows, unique=True).filter(
            bool
        )
    )
    return np.array([[row >> place & 1 for place in range(width)] for row in rows], dtype=bool)
