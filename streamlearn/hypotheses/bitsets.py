"""Exact Littlestone dimensions of finite classes: hypotheses are bits of an integer, instances select some of them."""

from __future__ import annotations

from collections.abc import Sequence

from streamlearn.errors import SizeError

MOST_WORK = 200_000_000
"""Work before a question is given up, about a minute: 1 for each division of 1,000 hypotheses looked at, 100 a set."""

MOST_MEMORY = 1 << 27
"""Bytes that the remembered sets may take; beyond, all are forgotten."""


class Bitsets:
    """The sets of hypotheses of one finite class, as integers: bit i stands for hypothesis i.

    Parameters
    ----------
    columns
        For each instance the hypotheses that say 1 there.
    size
        The number of hypotheses; no two of them agree on all instances.
    one_limit
        Whether ``MOST_WORK`` is the limit of all questions together, not of each.

    Notes
    -----
    V has dimension >= d iff some instance divides it into two parts of dimension >= d - 1 each. What keeps the search
    small: dimension d needs 2^d hypotheses, so a part that is too small ends it; d <= 1 is a matter of counting; the
    most even divisions come first, and of each only one of those that divide V alike; an instance that leaves fewer
    than 2 hypotheses on a side serves only d = 1, so it is dropped for all subsets too; and for each V met the best
    bounds from below and from above are kept, as long as they take less than ``MOST_MEMORY``.

    Examples
    --------
    >>> from streamlearn.hypotheses.bitsets import Bitsets
    >>> thresholds = Bitsets([0b1110, 0b1100, 0b1000], 4)
    >>> thresholds.dimension(0b1111), thresholds.dimension(0b0111), thresholds.pivot(0b1111)
    (2, 1, 1)
    """

    __slots__ = (
        "_above", "_below", "_divisions", "_most_known", "_one_limit", "_place", "_price", "_size", "_work",
    )  # fmt: skip

    def __init__(self, columns: Sequence[int], size: int, *, one_limit: bool = False) -> None:
        everything = (1 << size) - 1
        # A division, by its smaller number, and the first instance that makes it.
        self._place: dict[int, int] = {}
        for place, ones in enumerate(columns):
            self._place.setdefault(min(ones, everything ^ ones), place)
        self._place.pop(0, None)
        self._divisions = tuple(self._place)
        self._size = size
        self._below: dict[int, int] = {}
        self._above: dict[int, int] = {}
        self._most_known = MOST_MEMORY // (150 + size // 7)  # an integer, and its entry in a dict
        self._price = 1 + size // 1000  # of a division
        self._one_limit = one_limit
        self._work = 0

    def dimension(self, rows: int) -> int:
        """Return the Littlestone dimension of a nonempty set of hypotheses.

        Raises
        ------
        SizeError
            If that takes more than ``MOST_WORK``.
        """
        self._begin()
        return self._dimension(rows)

    def reaches(self, rows: int, d: int) -> bool:
        """Return whether the dimension of a set of hypotheses is at least d.

        Raises
        ------
        SizeError
            As :meth:`dimension`.
        """
        self._begin()
        return self._reaches(rows, d, self._divisions)

    def pivot(self, rows: int) -> int:
        """Return the place of an instance both of whose labels leave a dimension of at least one less.

        The set must hold two hypotheses.

        Raises
        ------
        SizeError
            As :meth:`dimension`.
        """
        self._begin()
        d = self._dimension(rows) - 1
        return next(
            self._place[ones]
            for ones in self._divisions
            if self._reaches(rows & ones, d, self._divisions)
            and self._reaches(rows & ~ones, d, self._divisions)
        )

    def _begin(self) -> None:
        if not self._one_limit:
            self._work = 0

    def _dimension(self, rows: int) -> int:
        d = self._below.get(rows, 0)
        while self._reaches(rows, d + 1, self._divisions):
            d += 1
        return d

    def _reaches(self, rows: int, d: int, divisions: Sequence[int]) -> bool:
        count = rows.bit_count()
        if count >> d == 0:
            return False
        if d < 2:
            return True
        if d == 2:
            return self._leaves_two_twice(rows, count, divisions)
        if self._below.get(rows, 0) >= d:
            return True
        if self._above.get(rows, d) < d:
            return False
        found = self._divides(rows, count, d, divisions)
        self._remember(rows, d, found)
        return found

    def _leaves_two_twice(self, rows: int, count: int, divisions: Sequence[int]) -> bool:
        """Return whether some division leaves at least two hypotheses on either side."""
        for looked, ones in enumerate(divisions, start=1):
            if 2 <= (rows & ones).bit_count() <= count - 2:
                self._spend(looked)
                return True
        self._spend(len(divisions))
        return False

    def _divides(self, rows: int, count: int, d: int, divisions: Sequence[int]) -> bool:
        self._spend(100 + len(divisions))
        parts: dict[int, int] = {}  # the smaller part of each division of these hypotheses, and its size
        useful = []
        for ones in divisions:
            part = rows & ones
            size = part.bit_count()
            if size + size > count:
                part ^= rows
                size = count - size
            if size >= 2 and part not in parts:
                parts[part] = size
                useful.append(ones)
        even = [(size, part) for part, size in parts.items() if size >> (d - 1)]
        even.sort(reverse=True)
        return any(
            self._reaches(part, d - 1, useful) and self._reaches(rows ^ part, d - 1, useful)
            for _, part in even
        )

    def _remember(self, rows: int, d: int, found: bool) -> None:
        if len(self._below) + len(self._above) >= self._most_known:
            self._below.clear()
            self._above.clear()
        if found:
            self._below[rows] = d
        else:
            self._above[rows] = d - 1

    def _spend(self, divisions: int) -> None:
        self._work += divisions * self._price
        if self._work > MOST_WORK:
            raise SizeError(
                f"the exact Littlestone dimension of {self._size} hypotheses that {len(self._divisions)} instances "
                f"tell apart takes more than {MOST_WORK} steps; use a smaller class or one with a closed form"
            )

    def __reduce__(self) -> tuple[type[Bitsets], tuple[list[int], int]]:
        # What was remembered is not worth carrying, but places must stay.
        columns = [0] * (max(self._place.values(), default=-1) + 1)
        for ones, place in self._place.items():
            columns[place] = ones
        return Bitsets, (columns, self._size)
