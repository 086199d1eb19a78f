"""Points: functions that are 1 at one instance; with or without the function that is 1 nowhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from streamlearn.hypotheses.base import HypothesisClass, VersionSpace, read_plain, unreadable
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.instances import NOTHING, from_plain, key, to_plain, whole
from streamlearn.hypotheses.options import Covering, ListedOptions, Options, PointOptions, check_instances
from streamlearn.hypotheses.parameters import check_cells, check_domain

MOST_WEIGHED = 1 << 20
"""Points that a selection weighs one and all; of more, it is cheaper to weigh only those that are in its batch."""


class Excluded:
    """A set of instances that grows one by one. Immutable: the larger set is a new one, made in constant time.

    All sets of one line share their members' order; each counts the first ``len`` of them as its own.

    Parameters
    ----------
    order
        The members with their places, counted from 0; those from ``length`` on belong to larger sets only.
    length
        How many are members.
    """

    __slots__ = ("_length", "_order")

    def __init__(self, order: dict[Hashable, int], length: int) -> None:
        self._order = order
        self._length = length

    @classmethod
    def of(cls, members: Iterable[Hashable]) -> Excluded:
        """Return a set of given members."""
        order: dict[Hashable, int] = {}
        for member in members:
            order.setdefault(member, len(order))
        return cls(order, len(order))

    def __contains__(self, x: Hashable) -> bool:
        return self._order.get(x, self._length) < self._length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Hashable]:
        return itertools.islice(self._order, self._length)

    def adding(self, x: Hashable) -> Excluded:
        """Return the set with one member more, which must not be a member yet."""
        length = self._length
        latest = len(self._order) == length  # else a larger set of the line shares the order
        order = self._order if latest else {member: place for place, member in enumerate(self)}
        order[x] = length
        return Excluded(order, length + 1)


class UnseenSpace(VersionSpace):
    """The version space while every label was 0: all points but those excluded, and the empty function if it belongs.

    It must remember every instance labelled 0, as each could still be asked again: its memory grows with their number.

    Parameters
    ----------
    hypotheses
        The class.
    excluded
        The instances that were labelled 0.
    """

    __slots__ = ("_excluded", "_hypotheses", "_left")

    def __init__(self, hypotheses: SingletonClass, excluded: Excluded) -> None:
        self._hypotheses = hypotheses
        self._excluded = excluded
        self._left = hypotheses.size - len(excluded)

    @property
    def dimension(self) -> int:
        """1, or 0 where only one hypothesis is left."""
        return int(self._left >= 2)

    def predict(self, x: Any) -> bool:
        """Return 0, unless x is one of the last two: then label 0 does not leave the dimension."""
        return self._left <= 2 and self._undecided(self._hypotheses.instance(x))

    def restrict(self, x: Any, y: bool) -> VersionSpace | None:
        """Return the functions among these that say ``y`` at ``x``; None when there is none."""
        instance = self._hypotheses.instance(x)
        if instance is NOTHING:
            return self
        if instance in self._excluded:
            return None if y else self
        if y:
            return PointSpace(self._hypotheses, instance)
        return UnseenSpace(self._hypotheses, self._excluded.adding(instance)) if self._left > 1 else None

    def to_plain(self) -> dict[str, Any]:
        """Return the instances labelled 0."""
        return {"excluded": [to_plain(instance) for instance in self._excluded]}

    def options(self) -> Options:
        """Return the points that are left; where SOA says 1 at the last two, what excludes one of them."""
        hypotheses, listed = self._hypotheses, self._hypotheses.listed
        if self._left > 2 and (listed is None or not self._excluded):
            return PointOptions(listed, self._undecided_instance, lambda point: PointSpace(hypotheses, point))
        domain = hypotheses.domain
        assert domain is not None  # noqa: S101 - without a domain more than two are left
        check_instances(domain, repr(hypotheses))
        return ListedOptions(self, (x for x in range(1, domain + 1) if x not in self._excluded))

    def pivot(self) -> int:
        """Return an instance that is undecided."""
        return next(x for x in itertools.count(1) if x not in self._excluded)

    def _undecided_instance(self, x: Any) -> Hashable:
        instance = self._hypotheses.instance(x)
        return instance if self._undecided(instance) else NOTHING

    def _undecided(self, instance: Hashable) -> bool:
        return instance is not NOTHING and instance not in self._excluded


class PointSpace(VersionSpace):
    """The version space once an instance was labelled 1: that point alone.

    Parameters
    ----------
    hypotheses
        The class.
    point
        The instance.
    """

    __slots__ = ("_hypotheses", "_point")

    def __init__(self, hypotheses: SingletonClass, point: Hashable) -> None:
        self._hypotheses = hypotheses
        self._point = point

    @property
    def dimension(self) -> int:
        """0: one hypothesis is left."""
        return 0

    def predict(self, x: Any) -> bool:
        """Return whether ``x`` is the point."""
        return bool(self._hypotheses.instance(x) == self._point)

    def restrict(self, x: Any, y: bool) -> PointSpace | None:
        """Return the space itself, or None where the point does not say ``y`` at ``x``."""
        instance = self._hypotheses.instance(x)
        return self if instance is NOTHING or bool(instance == self._point) is bool(y) else None

    def options(self) -> ListedOptions:
        """Return none: one hypothesis is left."""
        return ListedOptions(self, ())

    def to_plain(self) -> dict[str, Any]:
        """Return the point."""
        return {"point": to_plain(self._point)}


class SingletonClass(HypothesisClass):
    """What the classes of points share.

    Parameters
    ----------
    domain
        The number of instances 1..m, or None for all hashables.

    Attributes
    ----------
    size
        The number of hypotheses, ``math.inf`` without a domain.
    """

    __slots__ = ("domain", "size")

    with_empty: bool
    """Whether the function that is 1 nowhere belongs."""

    def __init__(self, domain: int | None = None) -> None:
        self.domain = None if domain is None else check_domain(type(self).__name__, "domain", domain)
        self.size: float = math.inf if self.domain is None else self.domain + self.with_empty

    @property
    def dimension(self) -> int:
        """1, or 0 where the class has one hypothesis."""
        return int(self.size >= 2)

    def instance(self, x: Any) -> Hashable:
        """Return the instance ``x`` stands for, ``NOTHING`` if it is none."""
        if self.domain is None:
            return key(x)
        n = whole(x)
        return n if n is not None and 1 <= n <= self.domain else NOTHING

    def version_space(self) -> UnseenSpace:
        """Return all hypotheses."""
        return UnseenSpace(self, Excluded.of(()))

    def default(self, x: Any) -> bool:
        """Return what the public default says: the empty function, else the point 1, else a point never met."""
        return not self.with_empty and self.domain is not None and self.instance(x) == 1

    def knows(self, x: Any) -> bool:
        """Return whether ``x`` is an instance: a whole number in 1..m, or without a domain any hashable."""
        return self.instance(x) is not NOTHING

    def identity(self, x: Any) -> Hashable:
        """Return the instance that ``x`` stands for: a whole number where there is a domain."""
        return self.instance(x)

    def from_plain(self, data: Any) -> VersionSpace:
        """Return the version space that ``to_plain`` wrote."""
        saved = read_plain(data, dict[str, Any], repr(self))
        if saved.keys() == {"point"}:
            return PointSpace(self, self._saved(saved["point"]))
        if saved.keys() != {"excluded"}:
            raise unreadable(repr(self))
        listed = [self._saved(entry) for entry in read_plain(saved["excluded"], list[Any], repr(self))]
        excluded = Excluded.of(listed)
        if len(excluded) != len(listed) or len(excluded) >= self.size:
            raise unreadable(repr(self))
        return UnseenSpace(self, excluded)

    def as_finite(self) -> Finite:
        """Return the class as a table, the empty function last."""
        if self.domain is None:
            return super().as_finite()
        check_cells(self.domain + 1, self.domain, repr(self))
        return Finite(
            np.eye(self.domain + self.with_empty, self.domain, dtype=bool), range(1, self.domain + 1)
        )

    @property
    def listed(self) -> int | None:
        """The number of points if a selection weighs them all; None if only those in its batch."""
        return self.domain if self.domain is not None and self.domain <= MOST_WEIGHED else None

    def coverings(self) -> list[Covering]:
        """Return the one case: all mistakes are at one instance and support one option; the others are false."""
        if self.dimension == 0:
            return []
        return [Covering(1, 0 if self.listed is None else self.listed - 1)]

    def _saved(self, entry: Any) -> Hashable:
        instance = self.instance(from_plain(entry))
        if instance is NOTHING:
            raise unreadable(repr(self))
        return instance

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.domain is None else self.domain})"


class Points(SingletonClass):
    """The functions 1[x = j] that are 1 at one instance.

    Parameters
    ----------
    domain
        m for the instances 1..m, j among them; None for all hashables: strings, numbers, tuples, dicts of several
        features (one feature stands for its value).

    Raises
    ------
    ParameterError
        If ``domain`` is neither None nor a whole number >= 1.

    Notes
    -----
    As long as every label is 0, n functions are left: those of the instances not labelled yet. An undecided instance
    has the labels 1, which leaves one function, and 0, which leaves n - 1; so the dimension is 1 for n >= 2, and
    label 0 keeps it iff n >= 3. So SOA says 0 at an undecided instance unless n <= 2.
    A version space remembers the instances labelled 0 (memory grows with them); once one is labelled 1, that one only.
    Without a domain the public default is the point at an instance that no stream holds: 0 everywhere.

    Examples
    --------
    >>> from streamlearn.hypotheses import Points
    >>> space = Points().version_space()
    >>> space.dimension, space.predict("anna")
    (1, False)
    >>> space.restrict("anna", True).predict("anna")
    True
    >>> Points(2**60).dimension
    1
    """

    __slots__ = ()

    with_empty = False


class Point3(Points):
    """The three points 1[x = 1], 1[x = 2], 1[x = 3] on the instances 1, 2, 3 (Definition 5).

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> Point3().dimension, [Point3().default(x) for x in (1, 2, 3)]
    (1, [True, False, False])
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(3)

    def __repr__(self) -> str:
        return "Point3()"


class SingletonsOrEmpty(SingletonClass):
    """The functions that are 1 at one instance, and the function that is 1 nowhere.

    Parameters
    ----------
    domain
        As of :class:`Points`.

    Raises
    ------
    ParameterError
        If ``domain`` is neither None nor a whole number >= 1.

    Notes
    -----
    As for :class:`Points`, with n counting the empty function too, which is the public default.

    Examples
    --------
    >>> from streamlearn.hypotheses import SingletonsOrEmpty
    >>> space = SingletonsOrEmpty(2).version_space()
    >>> space.dimension, space.restrict(1, False).restrict(2, False).dimension
    (1, 0)
    """

    __slots__ = ()

    with_empty = True
