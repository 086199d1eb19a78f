"""What the schemes that weigh every hypothesis of a finite class share."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamlearn.errors import StateError
from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.hypotheses.enumerated import EnumeratedClass
from streamlearn.hypotheses.parameters import check_cells
from streamlearn.priors.base import Floats
from streamlearn.selection.base import Candidate, Scheme, Selector, range_moment
from streamlearn.selection.exponential import check_eta
from streamlearn.selection.tables import table_of

_LEAST_INSTANCES = 1 << 9  # counted for each hypothesis, so that at most 65,536 are weighed


class CountingScheme(Scheme):
    """Weigh the hypotheses of a finite class; try none twice.

    Parameters
    ----------
    cls
        The class; it is worked through as a table, unless it numbers its hypotheses.

    Raises
    ------
    SizeError
        If it is too large for that.
    """

    def __init__(self, cls: HypothesisClass) -> None:
        # A class that numbers its hypotheses needs no table, and knows instances that a table would not hold.
        self.hypotheses: EnumeratedClass = cls if isinstance(cls, EnumeratedClass) else table_of(cls)
        check_cells(self.hypotheses.size, _LEAST_INSTANCES, cls.digest)
        self.steps = self.hypotheses.size - 1

    @abc.abstractmethod
    def widths(self) -> Floats:
        """Return for each call how far apart the changes of two scores can be; shape (steps,)."""

    def log_moment(self, z: Floats, eta: float) -> Floats:
        """Return the sum of the calls' log-moments: z(z+1)(width·η)²/8 each."""
        return range_moment(z, check_eta(eta) * math.sqrt(float(np.sum(self.widths() ** 2))))

    def needed(self, beta: float) -> float:
        """Return ln(N(N+1) / 2β): what e^(η·gap) must reach, as call j must avoid the j hypotheses tried before."""
        return math.log(max(self.steps, 1) * (self.steps + 1) / 2.0) - math.log(beta)


class CountingSelector(Selector):
    """A run over the rows of a table.

    Parameters
    ----------
    hypotheses
        The class.
    num
        The weight of a score, out of 2^20.
    batch
        K.
    """

    def __init__(self, hypotheses: EnumeratedClass, num: int, batch: int) -> None:
        self.steps = hypotheses.size - 1
        self.batch = batch
        self._num = num
        self._hypotheses = hypotheses
        self._rows: list[int] = []
        self.candidates: list[Candidate] = []
        self._choose(0)

    @property
    def exhausted(self) -> bool:
        """Whether N candidates were found."""
        return len(self._rows) > self.steps

    def wrong(self, x: Any, y: bool) -> int:
        """Return the hypotheses that an example contradicts, as bits; none for an unknown instance."""
        ones = self._hypotheses.ones(x)
        if ones is None:
            return 0
        return (1 << self._hypotheses.size) - 1 ^ ones if y else ones

    def _choose(self, row: int) -> None:
        self._rows.append(row)
        hypotheses = self._hypotheses
        self.candidates.append(lambda x: bool((hypotheses.ones(x) or 0) >> row & 1))

    def _restore(self, rows: Sequence[int]) -> None:
        if (
            not rows
            or rows[0] != 0
            or len(rows) > self.steps + 1
            or not all(0 <= row <= self.steps for row in rows)
        ):
            raise StateError("the saved candidates are not possible; the state was edited")
        for row in rows[1:]:
            self._choose(row)


def bit_counts(sets: dict[int, int], size: int) -> list[int]:
    """Return for each of ``size`` hypotheses how many sets hold it.

    Parameters
    ----------
    sets
        Sets of hypotheses, as bits, and how many there are of each.

    Examples
    --------
    >>> from streamlearn.selection.counting import bit_counts
    >>> bit_counts({0b011: 2, 0b110: 1}, 3)
    [2, 3, 1]
    """
    totals = np.zeros(size, dtype=np.int64)
    for rows, times in sets.items():
        packed = np.frombuffer(rows.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
        totals += times * np.unpackbits(packed, count=size, bitorder="little").astype(np.int64)
    counts: list[int] = totals.tolist()
    return counts
