"""Classes whose hypotheses are numbered: a version space is the set of the numbers left, as bits of an integer."""

from __future__ import annotations

import abc
import re
from collections.abc import Sequence
from typing import Any

from streamlearn.errors import SizeError
from streamlearn.hypotheses.base import HypothesisClass, VersionSpace, read_plain, unreadable
from streamlearn.hypotheses.options import Covering, RowOptions, bounded_coverings, row_coverings

MOST_ANSWERS = 1_000
"""Answers a version space remembers; beyond, all are forgotten."""


class EnumeratedClass(HypothesisClass):
    """A finite class that says which of its hypotheses answer 1 at an instance, and how rich a set of them is.

    Attributes
    ----------
    size
        The number of hypotheses; they are numbered from 0, and the public default is number 0.
    """

    __slots__ = ()

    size: int

    @abc.abstractmethod
    def ones(self, x: Any) -> int | None:
        """Return the hypotheses that say 1 at ``x``, as bits; None for an unknown instance."""

    @abc.abstractmethod
    def dimension_of(self, rows: int) -> int:
        """Return the Littlestone dimension of a nonempty set of hypotheses, given as bits."""

    @abc.abstractmethod
    def reaches(self, rows: int, d: int) -> bool:
        """Return whether a set of hypotheses, given as bits, has Littlestone dimension at least d."""

    @abc.abstractmethod
    def pivot_of(self, rows: int) -> Any:
        """Return an instance as :meth:`VersionSpace.pivot`, for a set of at least two hypotheses."""

    @abc.abstractmethod
    def divisions(self) -> Sequence[int]:
        """Return for each instance of the domain the hypotheses that say 1 there, as bits.

        Raises
        ------
        SizeError
            If there are too many instances.
        """

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""
        return self.dimension_of((1 << self.size) - 1)

    def version_space(self) -> EnumeratedSpace:
        """Return all hypotheses."""
        return EnumeratedSpace(self, (1 << self.size) - 1)

    def default(self, x: Any) -> bool:
        """Return what hypothesis 0 says; False at an unknown instance."""
        ones = self.ones(x)
        return ones is not None and bool(ones & 1)

    def identity(self, x: Any) -> int:
        """Return the hypotheses that say 1 at an instance, as bits: all that tells it apart from others."""
        return self.ones(x) or 0

    def knows(self, x: Any) -> bool:
        """Return whether ``x`` is an instance of the domain."""
        return self.ones(x) is not None

    def says_one(self, rows: int, ones: int) -> bool:
        """Return whether SOA of some hypotheses says 1, given those of them that do: label 0 loses the dimension."""
        zeros = rows ^ ones
        return not (zeros and self.reaches(zeros, self.dimension_of(rows)))

    def coverings(self) -> Sequence[Covering]:
        """Return how well options cover: exactly where that ends soon, else what holds for any class."""
        divisions = self.divisions()
        try:
            return row_coverings((1 << self.size) - 1, divisions, self.says_one)
        except SizeError:  # an exact dimension that would not end
            return bounded_coverings(len(divisions))

    def from_plain(self, data: Any) -> EnumeratedSpace:
        """Return the version space that ``to_plain`` wrote."""
        text = read_plain(data, str, self.digest)
        rows = int(text, 16) if re.fullmatch("[0-9a-f]+", text) else 0
        if not 0 < rows < 1 << self.size:
            raise unreadable(self.digest)
        return EnumeratedSpace(self, rows)


class EnumeratedSpace(VersionSpace):
    """A nonempty set of the hypotheses of an enumerated class.

    Parameters
    ----------
    hypotheses
        The class.
    rows
        The hypotheses left, as bits.
    """

    __slots__ = ("_answers", "_dimension", "_hypotheses", "_rows")

    def __init__(self, hypotheses: EnumeratedClass, rows: int) -> None:
        self._hypotheses = hypotheses
        self._rows = rows
        self._dimension: int | None = None  # worked out when first asked
        self._answers: dict[int, bool] = {}

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the hypotheses left."""
        if self._dimension is None:
            self._dimension = self._hypotheses.dimension_of(self._rows)
        return self._dimension

    def predict(self, x: Any) -> bool:
        """Return the answer of the standard optimal algorithm: 0 iff label 0 leaves the dimension."""
        ones = self._hypotheses.ones(x)
        if ones is None:
            return False
        ones &= self._rows
        answer = self._answers.get(ones)
        if answer is None:
            zeros = self._rows ^ ones
            answer = not (zeros and self._hypotheses.reaches(zeros, self.dimension))
            if len(self._answers) >= MOST_ANSWERS:  # the stumps of many features divide in ever new ways
                self._answers.clear()
            self._answers[ones] = answer
        return answer

    def restrict(self, x: Any, y: bool) -> EnumeratedSpace | None:
        """Return the hypotheses among these that say ``y`` at ``x``; None when there is none."""
        ones = self._hypotheses.ones(x)
        if ones is None:
            return self
        kept = self._rows & ones if y else self._rows & ~ones
        if kept == self._rows:
            return self
        return EnumeratedSpace(self._hypotheses, kept) if kept else None

    def options(self) -> RowOptions:
        """Return the largest sets that options leave."""
        hypotheses, rows = self._hypotheses, self._rows
        return RowOptions(
            rows,
            hypotheses.divisions(),
            lambda ones: hypotheses.says_one(rows, ones),
            hypotheses.ones,
            lambda left: EnumeratedSpace(hypotheses, left),
        )

    def to_plain(self) -> str:
        """Return the hypotheses left as the digits of a hexadecimal number, hypothesis 0 the last bit."""
        return f"{self._rows:x}"

    def pivot(self) -> Any:
        """Return an instance both of whose labels leave a dimension of at least ``dimension - 1``."""
        return self._hypotheses.pivot_of(self._rows)
