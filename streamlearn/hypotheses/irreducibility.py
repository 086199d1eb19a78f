"""Sets of hypotheses that no few examples of their own best answers can weaken (Definition 7)."""

from __future__ import annotations

from streamlearn.errors import SizeError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.hypotheses.bitsets import Bitsets
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.hypotheses.points import SingletonClass

MOST_WORK = 20_000_000
"""Divisions of sets looked at before exact work is given up: about a minute."""

MOST_INSTANCES = 250
"""Instances of a class that is worked through: a search may be as deep as there are instances, two calls each."""


class Sets:
    """The sets of rows of a finite class, as bits: their dimensions, best answers and irreducibility.

    Parameters
    ----------
    finite
        The class.

    Attributes
    ----------
    everything
        The set of all rows.
    columns
        For each instance the rows that say 1 there.

    Raises
    ------
    SizeError
        If the class has more than ``MOST_INSTANCES`` instances; from any method, if the work would not end.
    """

    def __init__(self, finite: Finite) -> None:
        if len(finite.domain) > MOST_INSTANCES:
            raise SizeError(
                f"the class has {len(finite.domain)} instances, at most {MOST_INSTANCES} are worked through; "
                "use a class on a smaller domain"
            )
        self.finite = finite
        self.everything = (1 << finite.size) - 1
        self.columns = [finite.ones(x) or 0 for x in finite.domain]
        self._bitsets = Bitsets(self.columns, finite.size, one_limit=True)
        self._answers: dict[int, int] = {}
        self._work = 0

    def dimension(self, rows: int) -> int:
        """Return the Littlestone dimension of a nonempty set."""
        return self._bitsets.dimension(rows)

    def answers(self, rows: int) -> int:
        """Return the columns at which SOA of a nonempty set says 1, as bits."""
        found = self._answers.get(rows)
        if found is None:
            self.spend()
            q, found = self.dimension(rows), 0
            for place, ones in enumerate(self.columns):
                zeros = rows & ~ones
                if not (zeros and self._bitsets.reaches(zeros, q)):
                    found |= 1 << place
            self._answers[rows] = found
        return found

    def irreducible(self, rows: int, k: int) -> bool:
        """Return whether no k examples labelled by SOA of a nonempty set lower the set's dimension."""
        q, answers = self.dimension(rows), self.answers(rows)
        agreeing = {
            rows & (ones if answers >> place & 1 else ~ones) for place, ones in enumerate(self.columns)
        } - {rows}
        core = rows
        for part in agreeing:
            core &= part
        if core and self._bitsets.reaches(core, q):
            return True
        return k < len(agreeing) and not self._weakened(rows, k, q, agreeing, {})

    def _weakened(self, rows: int, k: int, q: int, agreeing: set[int], firm: dict[int, int]) -> bool:
        """Return whether at most k of the examples bring the dimension below q; ``firm`` holds what k did not."""
        if k <= firm.get(rows, 0):
            return False
        self.spend()
        parts = {rows & part for part in agreeing} - {rows}
        if not all(self._bitsets.reaches(part, q) for part in parts):
            return True
        for part in parts:  # any() would take three calls a level of the little depth there is
            if self._weakened(part, k - 1, q, agreeing, firm):
                return True
        firm[rows] = k
        return False

    def spend(self) -> None:
        """Count that all divisions of a set are looked at.

        Raises
        ------
        SizeError
            If that was too often.
        """
        self._work += len(self.columns)
        if self._work > MOST_WORK:
            raise SizeError(
                f"exact work on {self.finite.size} hypotheses and {len(self.columns)} instances looks at more than "
                f"{MOST_WORK} divisions; use a smaller class"
            )


def is_irreducible(cls: HypothesisClass, k: int) -> bool:
    """Return whether a class is k-irreducible (Definition 7).

    It is if k examples, labelled by SOA of the class itself, never lower the Littlestone dimension.

    Parameters
    ----------
    cls
        The class.
    k
        The number of examples, at least 0.

    Raises
    ------
    ParameterError
        If ``cls`` is no hypothesis class, or ``k`` is not a whole number >= 0.
    SizeError
        If the class is neither one of points nor small enough to be worked through.

    Notes
    -----
    Points, with or without the empty function, n functions in all: SOA says 0 everywhere for n >= 3, so k examples
    leave n - k functions; the class is k-irreducible iff n = 1, k = 0 or n >= k + 2.

    Examples
    --------
    >>> from streamlearn.hypotheses import Points, Thresholds, is_irreducible
    >>> is_irreducible(Points(), 10**9), is_irreducible(Points(4), 2), is_irreducible(Points(4), 3)
    (True, True, False)
    >>> is_irreducible(Thresholds(6), 1), is_irreducible(Thresholds(6), 2)
    (True, False)
    """
    check_class(cls)
    k = check_whole("k", k, 0)
    if isinstance(cls, SingletonClass):
        return cls.size == 1 or k == 0 or cls.size >= k + 2
    sets = Sets(cls.as_finite())
    return sets.irreducible(sets.everything, k)
