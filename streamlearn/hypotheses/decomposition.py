"""Decomposition trees, decomposition dimension and essential hypotheses (Definitions 8 and 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.hypotheses.decompositiontree import DecompositionTree
from streamlearn.hypotheses.irreducibility import Sets
from streamlearn.hypotheses.labelling import Labelling
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.hypotheses.points import SingletonClass


class _Query(NamedTuple):
    """An instance that divides a set of rows, and its two parts."""

    instance: Any
    zeros: int
    ones: int


class _Decomposition:
    """The (p, d)-valid trees below every node that a tree may have: a set of rows at a depth.

    A query that all rows of a node answer alike is left out. Without it a tree stays valid, as every condition bounds
    depths from above, and has the same leaves but for an empty one; so neither ρ nor C changes.
    """

    def __init__(self, sets: Sets, p: int, d: int) -> None:
        self.sets = sets
        self.p = p
        self.d = d
        self._ranks: dict[tuple[int, int], int] = {}
        self._essential: dict[tuple[int, int], frozenset[int]] = {}
        self._irreducible: dict[int, bool] = {}

    def rank(self, rows: int, depth: int) -> int:
        """Return the smallest possible largest dimension of the leaves; d + 1 where no tree is valid."""
        found = self._ranks.get((rows, depth))
        if found is None:
            found = self._ranks[rows, depth] = self._rank(rows, depth)
        return found

    def _rank(self, rows: int, depth: int) -> int:
        q = self.sets.dimension(rows)
        if depth > self.p * ((2 << self.d - q) - 1):
            return self.d + 1
        queries = self._queries(rows)
        if depth + min(len(queries), rows.bit_count() - 1) <= self.p:
            return 0  # asking until one hypothesis is left stays within every bound
        best = q if self._may_end(rows, depth, q) else self.d + 1
        for query in queries:
            if best == 0:
                break
            first = self.rank(query.zeros, depth + 1)
            if first < best:
                best = min(best, max(first, self.rank(query.ones, depth + 1)))
        return best

    def essential(self, rows: int, depth: int, rank: int) -> frozenset[int]:
        """Return SOA's answers at the leaves of dimension ``rank`` that all valid trees have in common.

        The trees are those without a leaf of higher dimension; there must be one. The subtrees of a query are chosen
        independently, so what all choices have in common is the union of what they have on either side.
        """
        found = self._essential.get((rows, depth))
        if found is None:
            found = self._essential[rows, depth] = self._in_common(rows, depth, rank)
        return found

    def _in_common(self, rows: int, depth: int, rank: int) -> frozenset[int]:
        q = self.sets.dimension(rows)
        if q < rank:
            return frozenset()
        common: frozenset[int] | None = None
        if q == rank and self._may_end(rows, depth, q):
            common = frozenset({self.sets.answers(rows)})
        for query in self._queries(rows):
            if common is not None and not common:
                break
            if max(self._ranks_below(query, depth)) <= rank:
                here = self.essential(query.zeros, depth + 1, rank) | self.essential(
                    query.ones, depth + 1, rank
                )
                common = here if common is None else common & here
        return common or frozenset()

    def tree(self, rows: int, depth: int) -> DecompositionTree:
        """Return a valid tree whose leaves have the smallest possible dimension."""
        q, rank = self.sets.dimension(rows), self.rank(rows, depth)
        if q == rank and self._may_end(rows, depth, q):
            return DecompositionTree(q, self.labelling(self.sets.answers(rows)))
        query = min(
            (query for query in self._queries(rows) if max(self._ranks_below(query, depth)) <= rank),
            key=lambda query: max(query.zeros.bit_count(), query.ones.bit_count()),
        )
        parts = self.tree(query.zeros, depth + 1), self.tree(query.ones, depth + 1)
        return DecompositionTree(q, self.labelling(self.sets.answers(rows)), query.instance, *parts)

    def labelling(self, answers: int) -> Labelling:
        """Return the function that is 1 at some columns, given as bits."""
        return Labelling(x for place, x in enumerate(self.sets.finite.domain) if answers >> place & 1)

    def _ranks_below(self, query: _Query, depth: int) -> tuple[int, int]:
        return self.rank(query.zeros, depth + 1), self.rank(query.ones, depth + 1)

    def _may_end(self, rows: int, depth: int, q: int) -> bool:
        """Return whether a node may be a leaf."""
        if depth > self.p * ((1 << self.d - q) - 1):
            return False
        found = self._irreducible.get(rows)
        if found is None:
            found = self._irreducible[rows] = self.sets.irreducible(rows, self.p << self.d - q)
        return found

    def _queries(self, rows: int) -> list[_Query]:
        """Return the instances that divide a set, one for each way it is divided."""
        self.sets.spend()
        found: dict[int, _Query] = {}
        for instance, ones in zip(self.sets.finite.domain, self.sets.columns, strict=True):
            part = rows & ones
            if part and part != rows:
                found.setdefault(min(part, rows ^ part), _Query(instance, rows ^ part, part))
        return list(found.values())


def decomposition_tree(cls: HypothesisClass, p: int, *, d: int | None = None) -> DecompositionTree:
    """Return an optimal (p, d)-valid decomposition tree of a class (Definition 8).

    Parameters
    ----------
    cls
        The class G.
    p
        At least 1.
    d
        The Littlestone dimension of the class H that G is part of; by default G is all of it.

    Raises
    ------
    ParameterError
        If ``cls`` is no hypothesis class, ``p`` is not a whole number >= 1, or ``d`` is less than the dimension of
        ``cls``.
    SizeError
        If the class is neither one of points nor small enough to be worked through.

    Examples
    --------
    >>> from streamlearn.hypotheses import Points, Thresholds, decomposition_tree
    >>> print(decomposition_tree(Thresholds(3), 3))
    2?
    ├─0─ 3?
    │    ├─0─ Ldim 0
    │    └─1─ Ldim 0
    └─1─ 1?
         ├─0─ Ldim 0
         └─1─ Ldim 0
    >>> print(decomposition_tree(Points(), 3))
    Ldim 1
    """
    p, d = _checked(cls, p, d)
    if _stays_whole(cls, p, d):
        return DecompositionTree(1, Labelling(()))
    found = _Decomposition(Sets(cls.as_finite()), p, d)
    return found.tree(found.sets.everything, 0)


def decomposition_dimension(cls: HypothesisClass, p: int, *, d: int | None = None) -> int:
    """Return the decomposition dimension ρ_p of a class (Definition 8).

    It is the least dimension that the largest leaf of a (p, d)-valid decomposition tree can have.

    Parameters
    ----------
    cls
        The class G.
    p
        At least 1.
    d
        The Littlestone dimension of the class H that G is part of; by default G is all of it.

    Raises
    ------
    ParameterError, SizeError
        As :func:`decomposition_tree`.

    Notes
    -----
    Closed form for points, with or without the empty function, n functions in all, d = 1: below the root at most one
    node of each depth, that of the labels 0, has dimension 1; it may not be a leaf. For n <= p + 1 asking p instances
    leaves single functions, so ρ = 0. Otherwise two are left after p queries, the deepest a node of dimension 1 may
    be, so no tree but the root alone is valid; it is, since n >= p + 2 makes the class p-irreducible. So ρ = 1, and
    SOA of the whole class, the constant 0, is the one essential hypothesis.

    Examples
    --------
    >>> from streamlearn.hypotheses import Points, decomposition_dimension
    >>> decomposition_dimension(Points(4), 2), decomposition_dimension(Points(4), 3)
    (1, 0)
    """
    p, d = _checked(cls, p, d)
    if _stays_whole(cls, p, d):
        return 1
    found = _Decomposition(Sets(cls.as_finite()), p, d)
    return found.rank(found.sets.everything, 0)


def essential_hypotheses(cls: HypothesisClass, p: int, *, d: int | None = None) -> frozenset[Labelling]:
    """Return the essential hypotheses C_p of a class (Definition 9).

    They are what SOA answers at the leaves of dimension ρ_p, in common to all optimal decomposition trees. They need
    not belong to the class, and there may be none.

    Parameters
    ----------
    cls
        The class G.
    p
        At least 1.
    d
        The Littlestone dimension of the class H that G is part of; by default G is all of it.

    Raises
    ------
    ParameterError, SizeError
        As :func:`decomposition_tree`.

    Examples
    --------
    >>> from streamlearn.hypotheses import Labelling, Points, essential_hypotheses
    >>> essential_hypotheses(Points(), 5) == {Labelling([])}
    True
    >>> len(essential_hypotheses(Points(4), 3))
    4
    """
    p, d = _checked(cls, p, d)
    if _stays_whole(cls, p, d):
        return frozenset({Labelling(())})
    found = _Decomposition(Sets(cls.as_finite()), p, d)
    everything = found.sets.everything
    rank = found.rank(everything, 0)
    if rank == 0:  # every leaf of an optimal tree is one hypothesis, and each is at one
        answers = {found.sets.answers(1 << row) for row in range(found.sets.finite.size)}
    else:
        answers = set(found.essential(everything, 0, rank))
    return frozenset(map(found.labelling, answers))


def _checked(cls: HypothesisClass, p: int, d: int | None) -> tuple[int, int]:
    own = check_class(cls).dimension
    if d is not None and check_whole("d", d, 0) < own:
        raise ParameterError(f"d must be at least {own}, the dimension of the class itself, got {d}")
    return check_whole("p", p, 1), own if d is None else int(d)


def _stays_whole(cls: HypothesisClass, p: int, d: int) -> bool:
    """Return whether the class is one of points too many to be divided (closed form)."""
    return isinstance(cls, SingletonClass) and d == cls.dimension == 1 and cls.size >= p + 2
