"""Intervals of 1..m, the empty one among them.

Proof: ``intervals.proof.md`` beside this file.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from streamlearn.hypotheses.base import HypothesisClass, VersionSpace, read_plain, unreadable
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.instances import whole
from streamlearn.hypotheses.options import (
    MOST_INSTANCES,
    Covering,
    ListedOptions,
    bounded_coverings,
    check_instances,
)
from streamlearn.hypotheses.parameters import check_cells, check_domain

MOST_EXACT = 12
"""The largest m whose coverings are worked out exactly, as a table."""


class OpenSpace(VersionSpace):
    """The intervals that avoid every instance labelled 0, as long as none is labelled 1; the empty one among them.

    Parameters
    ----------
    starts, ends
        The first and last instances of the gaps between the instances labelled 0, from left to right.
    weights
        The gaps' lengths plus one, in increasing order.
    m
        The largest instance.
    """

    __slots__ = ("_ends", "_m", "_starts", "_weights", "dimension")

    dimension: int

    def __init__(
        self, starts: tuple[int, ...], ends: tuple[int, ...], weights: tuple[int, ...], m: int
    ) -> None:
        self._starts = starts
        self._ends = ends
        self._weights = weights
        self._m = m
        self.dimension = gaps_dimension(*_largest(weights))

    @classmethod
    def of(cls, gaps: list[tuple[int, int]], m: int) -> Self:
        """Return the space of some gaps, given from left to right."""
        weights = sorted(end - start + 2 for start, end in gaps)
        return cls(tuple(start for start, _ in gaps), tuple(end for _, end in gaps), tuple(weights), m)

    def predict(self, x: Any) -> bool:
        """Return the answer of the standard optimal algorithm."""
        gap = self._gap(x)
        if gap is None:
            return False
        n, place = gap
        weight, left = self._weight(place), n - self._starts[place] + 1
        others = list(self._weights[-3:])
        if weight in others:
            others.remove(weight)
        return gaps_dimension(*_largest(sorted([*others, left, weight - left]))) < self.dimension

    def restrict(self, x: Any, y: bool) -> VersionSpace | None:
        """Return the intervals among these that hold ``x`` (y true) or do not; None when there is none."""
        n = whole(x)
        if n is None or not 1 <= n <= self._m:
            return self
        gap = self._gap(n)
        if gap is None:
            return None if y else self
        _, place = gap
        start, end = self._starts[place], self._ends[place]
        if y:
            return EndsSpace(start, n, n, end, self._m)
        kept = [(s, e) for s, e in ((start, n - 1), (n + 1, end)) if s <= e]
        at = bisect_left(self._weights, self._weight(place))
        weights = self._weights[:at] + self._weights[at + 1 :]
        for s, e in kept:
            at = bisect_left(weights, e - s + 2)
            weights = (*weights[:at], e - s + 2, *weights[at:])
        starts = (*self._starts[:place], *(s for s, _ in kept), *self._starts[place + 1 :])
        ends = (*self._ends[:place], *(e for _, e in kept), *self._ends[place + 1 :])
        return OpenSpace(starts, ends, weights, self._m)

    def options(self) -> ListedOptions:
        """Return an option at each undecided instance."""
        _check_instances(self._m)
        gaps = zip(self._starts, self._ends, strict=True)
        return ListedOptions(self, (x for start, end in gaps for x in range(start, end + 1)))

    def to_plain(self) -> dict[str, Any]:
        """Return the gaps, from left to right."""
        return {"gaps": [[start, end] for start, end in zip(self._starts, self._ends, strict=True)]}

    def pivot(self) -> int:
        """Return an instance both of whose labels leave a dimension of at least ``dimension - 1``."""
        # By the proof it splits a power of two off one of the two longest gaps.
        places = sorted(range(len(self._starts)), key=self._weight)[-2:]
        candidates = (
            self._starts[place] + (1 << j) - 1
            for place in places
            for j in range(self._weight(place).bit_length())
            if 1 << j < self._weight(place)
        )
        wanted = self.dimension - 1
        return next(
            x for x in candidates
            if all(part is not None and part.dimension >= wanted for part in map(self.restrict, (x, x), (False, True)))
        )  # fmt: skip

    def _gap(self, x: Any) -> tuple[int, int] | None:
        """Return ``x`` as a number and the place of the gap it lies in; None where it lies in none."""
        n = whole(x)
        if n is None:
            return None
        place = bisect_right(self._starts, n) - 1
        return (n, place) if place >= 0 and n <= self._ends[place] else None

    def _weight(self, place: int) -> int:
        return self._ends[place] - self._starts[place] + 2


class EndsSpace(VersionSpace):
    """The intervals a..b with first <= a <= p and q <= b <= last: some instance was labelled 1.

    Parameters
    ----------
    first, p, q, last
        The bounds of the two ends.
    m
        The largest instance.
    """

    __slots__ = ("_first", "_last", "_m", "_p", "_q")

    def __init__(self, first: int, p: int, q: int, last: int, m: int) -> None:
        self._first = first
        self._p = p
        self._q = q
        self._last = last
        self._m = m

    @property
    def dimension(self) -> int:
        """``floor(log2(p - first + 1)) + floor(log2(last - q + 1))``."""
        return _log2(self._p - self._first + 1) + _log2(self._last - self._q + 1)

    def predict(self, x: Any) -> bool:
        """Return the answer of the standard optimal algorithm: each end is a threshold of its own."""
        n = whole(x)
        if n is None:
            return False
        if n < self._p:
            return self._p - n < 1 << _log2(self._p - self._first + 1)
        return n - self._q < 1 << _log2(self._last - self._q + 1)

    def restrict(self, x: Any, y: bool) -> EndsSpace | None:
        """Return the intervals among these that hold ``x`` (y true) or do not; None when there is none."""
        n = whole(x)
        if n is None or not 1 <= n <= self._m:
            return self
        first, p, q, last = self._first, self._p, self._q, self._last
        if n < first or n > last:
            return None if y else self
        if p <= n <= q:
            return self if y else None
        if n < p:
            return EndsSpace(first, n, q, last, self._m) if y else EndsSpace(n + 1, p, q, last, self._m)
        return EndsSpace(first, p, n, last, self._m) if y else EndsSpace(first, p, q, n - 1, self._m)

    def options(self) -> ListedOptions:
        """Return at most four options, two at each place where SOA changes; each end's mistakes lie on one side."""
        low = self._p - (1 << _log2(self._p - self._first + 1))  # SOA says 0 up to here, if that is undecided
        high = self._q + (1 << _log2(self._last - self._q + 1))  # and from here on
        left = (x for x in (low, low + 1) if self._first <= x < self._p)
        right = (x for x in (high - 1, high) if self._q < x <= self._last)
        return ListedOptions(self, (*left, *right))

    def to_plain(self) -> dict[str, Any]:
        """Return the bounds of the two ends."""
        return {"ends": [self._first, self._p, self._q, self._last]}

    def pivot(self) -> int:
        """Return an instance that halves the choices of one end."""
        if self._p > self._first:
            return (self._first + self._p - 1) // 2
        return (self._q + self._last + 2) // 2


class Intervals(HypothesisClass):
    """The functions 1[a <= x <= b] on 1..m, and the constant 0.

    Parameters
    ----------
    m
        The largest instance, at least 1; as large as you like, nothing is listed.

    Raises
    ------
    ParameterError
        If ``m`` is not a whole number >= 1.

    Notes
    -----
    Dimensions are exact and in closed form for every m and every version space (``intervals.proof.md``). Once an
    instance is labelled 1 the ends are two independent thresholds. Before, the dimension depends only on the two
    longest gaps between instances labelled 0; such a space holds those gaps, so its memory and the time of a
    restriction grow with their number (a copy of three tuples). The public default is the constant 0.

    Examples
    --------
    >>> from streamlearn.hypotheses import Intervals
    >>> [Intervals(m).dimension for m in range(1, 13)]
    [1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5]
    >>> Intervals(2**60).dimension
    118
    >>> space = Intervals(10).version_space().restrict(4, False).restrict(7, True)
    >>> space.dimension, space.predict(5), space.predict(9)
    (3, False, True)
    """

    __slots__ = ("m",)

    def __init__(self, m: int) -> None:
        self.m = check_domain("Intervals", "m", m)

    @property
    def dimension(self) -> int:
        """About twice log2(m)."""
        return gaps_dimension(0, self.m + 1)

    def version_space(self) -> OpenSpace:
        """Return all intervals."""
        return OpenSpace.of([(1, self.m)], self.m)

    def default(self, x: Any) -> bool:  # noqa: ARG002 - a constant ignores the instance
        """Return 0, whatever the instance."""
        return False

    def knows(self, x: Any) -> bool:
        """Return whether ``x`` is a whole number in 1..m."""
        n = whole(x)
        return n is not None and 1 <= n <= self.m

    def identity(self, x: Any) -> int | None:
        """Return the whole number that ``x`` stands for, whatever its type."""
        return whole(x)

    def from_plain(self, data: Any) -> VersionSpace:
        """Return the version space that ``to_plain`` wrote."""
        saved = read_plain(data, dict[str, Any], repr(self))
        if saved.keys() == {"ends"}:
            first, p, q, last = read_plain(saved["ends"], tuple[int, int, int, int], repr(self))
            if 1 <= first <= p <= q <= last <= self.m:
                return EndsSpace(first, p, q, last, self.m)
        elif saved.keys() == {"gaps"}:
            gaps = read_plain(saved["gaps"], list[tuple[int, int]], repr(self))
            between = [0, *(bound for start, end in gaps for bound in (start, end + 1)), self.m + 2]
            # Each gap holds something and something lies between each two: neighbours differ.
            if all(low < high for low, high in pairwise(between)):
                return OpenSpace.of(gaps, self.m)
        raise unreadable(repr(self))

    def coverings(self) -> Sequence[Covering]:
        """Return what holds for any class on m instances; exact ones are left to small tables."""
        if self.m <= MOST_EXACT:
            return super().coverings()
        _check_instances(self.m)
        return bounded_coverings(self.m)

    def as_finite(self) -> Finite:
        """Return the class as a table, the constant 0 first."""
        check_cells(self.m * (self.m + 1) // 2 + 1, self.m, repr(self))
        x = np.arange(1, self.m + 1)
        first, last = np.triu_indices(self.m)
        held = (first[:, None] < x) & (x <= last[:, None] + 1)
        return Finite(np.vstack([np.zeros((1, self.m), dtype=bool), held]), domain=x.tolist())

    def __repr__(self) -> str:
        return f"Intervals({self.m})"


def _check_instances(m: int) -> None:
    """Refuse options at too many instances, with a coarser class that will do."""
    most = MOST_INSTANCES
    check_instances(
        m,
        f"Intervals({m})",
        f"coarsen the points: Intervals({most}), on the command line intervals:{most}, "
        f"with (x - 1) * {most} // {m} + 1 in place of x",
    )


def gaps_dimension(second: int, largest: int) -> int:
    """Return the dimension of the intervals within some gaps, the empty one included.

    Parameters
    ----------
    second, largest
        The lengths of the two longest gaps, each plus one; at most 1 stands for no gap.
    """
    if largest < 4:
        return max(largest - 1, 0)
    k = largest.bit_length() - 3  # 2^(k+2) <= largest < 2^(k+3)
    if largest >= 7 << k or (largest >= 6 << k and second >= 3 << k):
        return 2 * k + 4
    if largest >= 5 << k or second >= 3 << k:
        return 2 * k + 3
    return 2 * k + 2


def _largest(weights: Sequence[int]) -> tuple[int, int]:
    """Return the last two of some increasing weights, 0 where there are fewer."""
    second, largest = (0, 0, *weights[-2:])[-2:]
    return second, largest


def _log2(n: int) -> int:
    return n.bit_length() - 1
