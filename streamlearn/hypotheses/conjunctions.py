"""Conjunctions of a few boolean features."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable
from typing import Any

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.bitsets import Bitsets
from streamlearn.hypotheses.enumerated import EnumeratedClass
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.options import check_instances
from streamlearn.hypotheses.parameters import check_cells, check_list, check_whole


class Conjunctions(EnumeratedClass):
    """The conjunctions of at most k of some boolean features, the empty one (constant 1) among them.

    An instance is a dict that gives each named feature 0 or 1 (of any numeric type) or a boolean; further features
    are ignored.

    Parameters
    ----------
    names
        The features, all different.
    k
        The most features in a conjunction, 0..len(names).

    Attributes
    ----------
    hypotheses
        The conjunctions, each a tuple of names; the first, the empty one, is the public default.

    Raises
    ------
    ParameterError
        If there is no name, one is unhashable, two are equal, or ``k`` is out of range.
    SizeError
        If there are more than 2^25 pairs of a conjunction and an instance (12 features at k = 12 are not, nor are 15
        at k = 3, 20 at k = 1); later, if an exact dimension would not end (15 features at k = 3).

    Notes
    -----
    Dimensions are exact: version spaces are sets of conjunctions, and :class:`~streamlearn.hypotheses.Finite`'s
    search works on them, all 2^n instances on one side. For k = n the dimension is n: keep the conjunction of all
    features true in every positive instance so far; each mistake removes one, so there are at most n mistakes; and
    the n instances with exactly one false feature are shattered. For small k no closed form is known to us.

    Examples
    --------
    >>> from streamlearn.hypotheses import Conjunctions
    >>> rules = Conjunctions(["small", "red", "round"], k=2)
    >>> rules.dimension, rules.size
    (2, 7)
    >>> space = rules.version_space().restrict({"small": 1, "red": 0, "round": 0}, True)
    >>> space.restrict({"small": 0, "red": 1, "round": 1}, False).predict({"small": 1, "red": 0, "round": 1})
    True
    """

    __slots__ = ("_bitsets", "_everything", "_holding", "hypotheses", "k", "names", "size")

    def __init__(self, names: Iterable[Hashable], k: int) -> None:
        self.names = _checked_names(names)
        n = len(self.names)
        self.k = check_whole("k", k, 0)
        if self.k > n:
            raise ParameterError(f"k must be at most {n}, the number of names, got {k}")
        self.size = sum(math.comb(n, j) for j in range(self.k + 1))
        check_cells(self.size, 1 << n, f"Conjunctions of at most {self.k} of {n} features")
        self.hypotheses: list[tuple[Hashable, ...]] = [
            chosen for j in range(self.k + 1) for chosen in itertools.combinations(self.names, j)
        ]
        self._everything = (1 << self.size) - 1
        self._holding = [  # the conjunctions a feature is part of
            sum(1 << number for number, chosen in enumerate(self.hypotheses) if name in chosen)
            for name in self.names
        ]
        self._bitsets: Bitsets | None = None  # made when a dimension is first asked

    def ones(self, x: Any) -> int | None:
        """Return the conjunctions that are true at ``x``, as bits; None for an unknown instance."""
        if not isinstance(x, dict):
            return None
        rows = self._everything
        for name, holding in zip(self.names, self._holding, strict=True):
            value = x.get(name)
            try:
                if value == 0:
                    rows &= ~holding
                elif value != 1:
                    return None
            except (TypeError, ValueError):  # an array of many
                return None
        return rows

    def dimension_of(self, rows: int) -> int:
        """Return the Littlestone dimension of a nonempty set of conjunctions, given as bits."""
        return self._searched().dimension(rows)

    def reaches(self, rows: int, d: int) -> bool:
        """Return whether a set of conjunctions, given as bits, has Littlestone dimension at least d."""
        return self._searched().reaches(rows, d)

    def pivot_of(self, rows: int) -> dict[Hashable, bool]:
        """Return an instance that starts a shattered tree of full depth of a set of conjunctions."""
        return self._instance(self._searched().pivot(rows))

    def divisions(self) -> list[int]:
        """Return for each instance the conjunctions that are true there, as bits."""
        check_instances(1 << len(self.names), self.digest)
        return self._columns()

    def as_finite(self) -> Finite:
        """Return the class as a table over all instances."""
        domain = [self._instance(number) for number in range(1 << len(self.names))]
        return Finite(
            [[all(map(x.get, chosen)) for x in domain] for chosen in self.hypotheses], domain=domain
        )

    def _instance(self, number: int) -> dict[Hashable, bool]:
        """Return the instance whose false features are the bits of a number."""
        return {name: not number >> place & 1 for place, name in enumerate(self.names)}

    def _searched(self) -> Bitsets:
        if self._bitsets is None:
            self._bitsets = Bitsets(self._columns(), self.size)
        return self._bitsets

    def _columns(self) -> list[int]:
        columns = [self._everything]
        for holding in self._holding:  # in the order of _instance
            columns += [rows & ~holding for rows in columns]
        return columns

    def __repr__(self) -> str:
        return f"Conjunctions({list(self.names)!r}, k={self.k})"


def _checked_names(names: Iterable[Hashable]) -> tuple[Hashable, ...]:
    listed = check_list("names", names, "feature names")
    try:
        different = len(set(listed))
    except TypeError:
        raise ParameterError("names must be hashable: the keys of the dicts that are the instances") from None
    if not listed:
        raise ParameterError("names is empty; give at least one feature")
    if different != len(listed):
        raise ParameterError(
            f"names holds {len(listed)} names, {different} of them different; name each once"
        )
    return listed
