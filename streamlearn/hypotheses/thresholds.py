"""Thresholds on 1..m: what is 0 up to a point and 1 from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlearn.hypotheses.base import HypothesisClass, VersionSpace, read_plain, unreadable
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.instances import whole
from streamlearn.hypotheses.options import Covering, ListedOptions
from streamlearn.hypotheses.parameters import check_cells, check_domain


class ThresholdSpace(VersionSpace):
    """The thresholds a with lo <= a <= hi.

    Parameters
    ----------
    lo, hi
        The least and the largest a.
    m
        The largest instance.
    """

    __slots__ = ("_hi", "_lo", "_m", "_zeros")

    def __init__(self, lo: int, hi: int, m: int) -> None:
        self._lo = lo
        self._hi = hi
        self._m = m
        self._zeros = hi - (1 << (hi - lo + 1).bit_length() - 1)  # SOA says 0 up to here

    @property
    def dimension(self) -> int:
        """``floor(log2(hi - lo + 1))``."""
        return (self._hi - self._lo + 1).bit_length() - 1

    def predict(self, x: Any) -> bool:
        """Return the answer of the standard optimal algorithm: 0 iff ``hi - x >= 2^dimension``."""
        if type(x) is not int:  # the usual case must not pay for the others
            x = whole(x)
            if x is None:
                return False
        return bool(self._zeros < x <= self._m)

    def restrict(self, x: Any, y: bool) -> ThresholdSpace | None:
        """Return the thresholds among these that say ``y`` at ``x``; None when there is none."""
        if type(x) is not int:
            x = whole(x)
        if x is None or not 1 <= x <= self._m:
            return self
        if y:
            if x >= self._hi:
                return self
            return ThresholdSpace(self._lo, x, self._m) if x >= self._lo else None
        if x < self._lo:
            return self
        return ThresholdSpace(x + 1, self._hi, self._m) if x < self._hi else None

    def options(self) -> ListedOptions:
        """Return the two options at the place where SOA changes from 0 to 1; all mistakes lie on one side of it."""
        last = self._zeros
        return ListedOptions(self, (x for x in (last, last + 1) if self._lo <= x < self._hi))

    def to_plain(self) -> list[int]:
        """Return [lo, hi]."""
        return [self._lo, self._hi]

    def pivot(self) -> int:
        """Return the instance that halves the space."""
        return (self._lo + self._hi - 1) // 2


class Thresholds(HypothesisClass):
    """The functions 1[x >= a] on 1..m, a in 1..m+1.

    Parameters
    ----------
    m
        The largest instance, at least 1; as large as you like (2**60, 2**1000), nothing is listed.

    Raises
    ------
    ParameterError
        If ``m`` is not a whole number >= 1.

    Notes
    -----
    The hypotheses left are always those with lo <= a <= hi. Their dimension is D(M) = floor(log2 M), M = hi - lo + 1:
    an instance x divides them into x - lo + 1 that say 1 and hi - x that say 0, any two positive numbers of sum M, so
    D(1) = 0 and D(M) = 1 + max min(D(i), D(M - i)) = 1 + D(floor(M/2)). Hence SOA, which says 0 iff that leaves the
    dimension, says 0 iff hi - x >= 2^D(M) (THEORY-prediction §4). The public default is the constant 0 (a = m + 1).

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds
    >>> Thresholds(2**60).dimension
    60
    >>> space = Thresholds(10).version_space().restrict(3, False)  # a in 4..11
    >>> [x for x in range(1, 11) if not space.predict(x)]
    [1, 2, 3]
    """

    __slots__ = ("m",)

    def __init__(self, m: int) -> None:
        self.m = check_domain("Thresholds", "m", m)

    @property
    def dimension(self) -> int:
        """``floor(log2(m + 1))``."""
        return (self.m + 1).bit_length() - 1

    def version_space(self) -> ThresholdSpace:
        """Return all thresholds."""
        return ThresholdSpace(1, self.m + 1, self.m)

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

    def from_plain(self, data: Any) -> ThresholdSpace:
        """Return the version space that ``to_plain`` wrote."""
        lo, hi = read_plain(data, tuple[int, int], repr(self))
        if not 1 <= lo <= hi <= self.m + 1:
            raise unreadable(repr(self))
        return ThresholdSpace(lo, hi, self.m)

    def coverings(self) -> list[Covering]:
        """Return the one case: all mistakes support one option, and the other is false."""
        return [Covering(1, 1)]

    def as_finite(self) -> Finite:
        """Return the class as a table, a = 1..m+1 down the rows."""
        check_cells(self.m + 1, self.m, repr(self))
        x = np.arange(1, self.m + 1)
        return Finite(x >= np.arange(1, self.m + 2)[:, None], domain=x.tolist())

    def __repr__(self) -> str:
        return f"Thresholds({self.m})"
