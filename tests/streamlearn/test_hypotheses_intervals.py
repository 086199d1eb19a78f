"""The closed form of intervals (intervals.proof.md): its game of weights played out, and domains too large to list."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.errors import SizeError
from streamlearn.hypotheses import Intervals
from streamlearn.hypotheses.intervals import gaps_dimension


@cache
def played_out(weights):
    """The dimension of some gaps by trying every instance: claim 1 for label 1, recursion for label 0."""
    best = 0
    for place, weight in enumerate(weights):
        others = weights[:place] + weights[place + 1 :]
        for left in range(1, weight):
            if_one = left.bit_length() - 1 + (weight - left).bit_length() - 1
            if if_one >= best:
                best = max(best, 1 + min(if_one, played_out(tuple(sorted((*others, left, weight - left))))))
    return best


def partitions(total, largest):
    """Yield all multisets of weights >= 2 of at most some total, each in increasing order."""
    yield ()
    for weight in range(min(total, largest), 1, -1):
        for rest in partitions(total - weight, weight):
            yield (*rest, weight)


def test_every_set_of_gaps_of_total_weight_up_to_20():
    cases = list(partitions(20, 20))
    assert len(cases) > 600
    for weights in cases:
        assert gaps_dimension(*(0, 0, *weights)[-2:]) == played_out(weights)


@pytest.mark.parametrize(
    "weights", [(40,), (28,), (27,), (12, 24), (11, 24), (20,), (19,), (12, 16), (11, 16)]
)
def test_larger_gaps_at_the_bounds_of_the_formula(weights):
    assert gaps_dimension(*(0, *weights)[-2:]) == played_out(weights)


@pytest.mark.parametrize("m", [300, 2**60, 2**60 + 2**58 - 1, 2**61 - 2, 3 * 2**200])
@settings(max_examples=12)
@given(data=st.data())
def test_pivots_on_large_domains_lose_one_at_a_time(m, data):
    # The dimension can only be right all the way if no label of a pivot costs more than one, down to 0.
    space = Intervals(m).version_space()
    start = space.dimension
    for _ in range(start):
        d, pivot = space.dimension, space.pivot()
        parts = [space.restrict(pivot, y) for y in (False, True)]
        assert min(part.dimension for part in parts) >= d - 1
        assert space.predict(pivot) == (parts[0].dimension < d)
        space = parts[data.draw(st.booleans())]
    assert start >= 2 * m.bit_length() - 4


@given(st.integers(2, 400), st.data())
def test_soa_never_errs_without_losing_dimension(m, data):
    space = Intervals(m).version_space()
    a = data.draw(st.integers(1, m))
    b = data.draw(st.integers(a, m))
    mistakes = 0
    for x in data.draw(st.lists(st.integers(1, m), max_size=30)):
        y = a <= x <= b
        after = space.restrict(x, y)
        if space.predict(x) != y:
            mistakes += 1
            assert after.dimension < space.dimension
        assert after.dimension <= space.dimension
        space = after
    assert mistakes <= Intervals(m).dimension


@pytest.mark.parametrize("m", [4097, 5000, 8192, 2**60 + 1])
def test_too_many_instances_are_refused_with_a_coarser_class(m):
    cls = Intervals(m)
    for refuse in (cls.coverings, cls.version_space().options):
        with pytest.raises(
            SizeError, match=rf"Intervals\({m}\) has {m} instances; .* at most 4096"
        ) as refused:
            refuse()
        message = str(refused.value)
        assert "on the command line intervals:4096" in message
        remedy = re.search(
            r"Intervals\((\d+)\),.* with \(x - 1\) \* (\d+) // (\d+) \+ 1 in place of x", message
        )
        coarse, cells, whole = map(int, remedy.groups())

        def place(x, cells=cells, whole=whole):
            return (x - 1) * cells // whole + 1

        some = sorted({*range(1, min(m, 5000)), *(max(1, m * i // 5000) for i in range(5001))})
        places = list(map(place, some))
        assert places[0] == 1
        assert places[-1] == coarse
        assert set(places) == set(range(1, coarse + 1))
        assert places == sorted(places)
    assert Intervals(coarse).coverings()
    assert Intervals(coarse).version_space().options().count == coarse
