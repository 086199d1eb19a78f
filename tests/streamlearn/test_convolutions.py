"""Convolutions against exact fractions: what they lose is counted, by either way of working them out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.accounting import convolutions
from streamlearn.accounting.convolutions import fold


def exact(laws):
    """The convolution of some laws, in fractions."""
    whole = [Fraction(1)]
    for law in laws:
        longer = [Fraction(0)] * (len(whole) + len(law) - 1)
        for i, left in enumerate(whole):
            for j, right in enumerate(law):
                longer[i + j] += left * Fraction(float(right))
        whole = longer
    return whole


def distance(law, truth):
    """How far a law on the grid is from masses that start at cell 0, in l1."""
    inside = [Fraction(float(mass)) for mass in law.masses]
    before, after = truth[: law.start], truth[law.start + len(inside) :]
    middle = truth[law.start : law.start + len(inside)]
    return sum(before) + sum(after) + sum(abs(a - b) for a, b in zip(inside, middle, strict=True))


def laws_of(rows, cells, smallest, seed):
    """Laws whose masses span many orders of magnitude, as tilted factors do."""
    generator = np.random.default_rng(seed)
    masses = 10.0 ** generator.uniform(smallest, 0.0, (rows, cells))
    return masses / masses.sum(axis=1)[:, None]


@given(st.integers(1, 11), st.integers(2, 5), st.sampled_from([-1.0, -20.0, -320.0]), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_fold_is_as_near_as_it_says(rows, cells, smallest, seed):
    laws = laws_of(rows, cells, smallest, seed)
    law, truth = fold(laws), exact(laws)
    scale = sum(truth)  # the laws add up to 1 but for roundings, which are not the convolution's
    assert distance(law, truth) <= Fraction(np.expm1(law.error)) * scale + Fraction(1, 2**200)


@pytest.mark.parametrize("cells", [2, 3, 16])
def test_narrow_laws_are_convolved_within_what_is_counted(cells):
    laws = laws_of(200, cells, -6.0, cells)
    a, b = laws[:100].T, laws[100:].T
    found, counted = convolutions._term_by_term(a, b)
    lost = sum(
        sum(
            abs(Fraction(float(mass)) - truth)
            for mass, truth in zip(found[:, row], exact([a[:, row], b[:, row]]), strict=True)
        )
        for row in range(100)
    )
    assert 0 < lost <= counted
    assert counted <= 100 * (cells + 3) * convolutions.UNIT  # and not many times more


def test_both_ways_agree():
    a, b = laws_of(50, 9, -8.0, 1).T, laws_of(50, 12, -8.0, 2).T
    terms, few = convolutions._term_by_term(a, b)
    waves, more = convolutions._by_fft(a, b)
    assert few < more
    assert np.abs(terms - waves).sum() <= few + more


def test_blocks_do_not_show(monkeypatch):
    laws = laws_of(1001, 3, -8.0, 3)
    whole = fold(laws)
    monkeypatch.setattr(convolutions, "_BLOCK", 64)
    pieces = fold(laws)
    assert np.array_equal(whole.masses, pieces.masses)
    assert (whole.start, whole.error) == pytest.approx((pieces.start, pieces.error))


def test_cells_that_are_cut_below_are_counted_in_the_start():
    rare = np.array([[1e-15, 1.0 - 1e-15]] * 5)  # the lower cell of each is next to nothing
    law = fold(rare)
    assert law.start + int(law.masses.argmax()) == 5
    assert distance(law, exact(rare)) <= Fraction(np.expm1(law.error))
