"""Options: the examples that may come next for a version space whose standard optimal answers keep failing.

An option of V is an example (x', y') with y' = 1 - SOA_V(x') that some hypotheses of V agree with; taking it leaves
V|(x', y'), of smaller Littlestone dimension. An example supports an option if every hypothesis of V that agrees with
the example is left by the option. So an option that one true example supports is true.

Proof: ``streamlearn/selection/options.proof.md``.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from streamlearn.errors import SizeError
from streamlearn.hypotheses.instances import NOTHING

if TYPE_CHECKING:
    from streamlearn.hypotheses.base import VersionSpace

MOST_INSTANCES = 1 << 12
"""Instances that are gone through for the options of one version space."""

MOST_PAIRS = 1 << 18
"""Instances, times version spaces, that are gone through for exact coverings; beyond, a bound serves."""


class Covering(NamedTuple):
    """How well options cover the mistakes that one hypothesis f lets a candidate make, in one version space.

    Whatever batch of K such mistakes, ``ln(sum over options of e^(eta * support)) >= eta * K / rho + ln(parts)``; and
    at most ``rivals`` options are false of f.

    Parameters
    ----------
    rho
        At least 1.
    rivals
        Options that are false of f, none of which any of these mistakes supports.
    parts
        At least 1: options that share the support.
    """

    rho: int
    rivals: int
    parts: int = 1


class Options(abc.ABC):
    """The options of one version space that a selection chooses from. They depend on nothing but the space.

    Each mistake that the space's standard optimal algorithm can make must support one of them at least; where
    ``count`` is None, exactly one.

    Attributes
    ----------
    count
        How many there are, at places 0..count-1; None where there is no bound, and a place may be any hashable.
    """

    count: int | None

    @abc.abstractmethod
    def supported(self, x: Any, y: bool) -> Iterable[Hashable]:
        """Return the places of the options that an example supports, each once; none if the space excludes it."""

    @abc.abstractmethod
    def take(self, place: Any) -> VersionSpace:
        """Return what the option at a place leaves of the space."""


class ListedOptions(Options):
    """The options at some instances, worked out by restricting. This serves any version space.

    Parameters
    ----------
    space
        The version space.
    instances
        Where to look. Each mistake of ``space.predict`` must support the option at one of them; all instances of the
        domain always do.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.hypotheses.options import ListedOptions
    >>> space = Thresholds(10).version_space()  # SOA says 1 from 4 on: it errs on some of 1..3, or some of 4..10
    >>> options = ListedOptions(space, [3, 4])
    >>> options.count, options.supported(2, True), options.supported(6, False)
    (2, [0], [1])
    >>> options.take(0).to_plain()
    [1, 3]
    """

    def __init__(self, space: VersionSpace, instances: Iterable[Any]) -> None:
        self._space = space
        self._choices: list[tuple[Any, bool, VersionSpace]] = []
        for x in instances:
            y = not space.predict(x)
            left = space.restrict(x, y)
            if left is not None and left.dimension < space.dimension:  # not so where x is unknown
                self._choices.append((x, y, left))
        self.count: int = len(self._choices)

    def supported(self, x: Any, y: bool) -> list[int]:
        """Return the places of the options that an example supports."""
        agreeing = self._space.restrict(x, y)
        if agreeing is None:
            return []
        return [
            place
            for place, (asked, bit, _) in enumerate(self._choices)
            if agreeing.restrict(asked, not bit) is None
        ]

    def take(self, place: int) -> VersionSpace:
        """Return what the option at a place leaves of the space."""
        return self._choices[place][2]


class RowOptions(Options):
    """The options of a set of numbered hypotheses: the largest sets that an option leaves, one option each.

    An option that leaves a subset of what another leaves is left out: what supports it supports the other.

    Parameters
    ----------
    rows
        The hypotheses of the space, as bits.
    divisions
        For each instance, the hypotheses that say 1 there.
    says_one
        Whether the standard optimal algorithm says 1, for the bits of ``rows`` that do.
    ones
        The hypotheses that say 1 at an instance, None where it is unknown.
    space
        Makes a version space of a set.
    """

    def __init__(
        self,
        rows: int,
        divisions: Iterable[int],
        says_one: Callable[[int], bool],
        ones: Callable[[Any], int | None],
        space: Callable[[int], VersionSpace],
    ) -> None:
        self._rows = rows
        self._ones = ones
        self._space = space
        self.left = largest_left(rows, divisions, says_one)
        self.count: int = len(self.left)

    def supported(self, x: Any, y: bool) -> list[int]:
        """Return the places of the options that an example supports."""
        ones = self._ones(x)
        agreeing = 0 if ones is None else self._rows & ones if y else self._rows & ~ones
        if not agreeing:
            return []
        return [place for place, left in enumerate(self.left) if not agreeing & ~left]

    def take(self, place: int) -> VersionSpace:
        """Return what the option at a place leaves of the space."""
        return self._space(self.left[place])


class PointOptions(Options):
    """The options (x, 1) of all points, where the standard optimal algorithm says 0 everywhere.

    Parameters
    ----------
    domain
        m for the instances 1..m, None for all hashables.
    instance
        The instance that something stands for, ``NOTHING`` if none.
    space
        Makes the version space of one point.
    """

    def __init__(
        self,
        domain: int | None,
        instance: Callable[[Any], Hashable],
        space: Callable[[Hashable], VersionSpace],
    ) -> None:
        self.count = domain
        self._instance = instance
        self._space = space

    def supported(self, x: Any, y: bool) -> list[Hashable]:
        """Return the place of the point itself: no other option follows from label 1, none at all from label 0."""
        point = self._instance(x)
        if not y or point is NOTHING:
            return []
        return [point if self.count is None else point - 1]  # type: ignore[operator]  # a whole number then

    def take(self, place: Any) -> VersionSpace:
        """Return the space of the point."""
        return self._space(place if self.count is None else place + 1)


def largest_left(rows: int, divisions: Iterable[int], says_one: Callable[[int], bool]) -> list[int]:
    """Return the largest sets that options leave of a set of hypotheses, in a fixed order.

    Examples
    --------
    >>> from streamlearn.hypotheses.options import largest_left
    >>> everything = 0b1111  # all four functions of two points, the second of which says 1 at the first point, ...
    >>> [bin(left) for left in largest_left(everything, [0b1010, 0b1100], lambda ones: True)]
    ['0b11', '0b101']
    """
    found = set()
    for column in set(divisions):
        ones = rows & column
        if ones and ones != rows:
            found.add(rows ^ ones if says_one(ones) else ones)
    largest: list[int] = []
    for left in sorted(found, key=lambda left: (-left.bit_count(), left)):
        if all(left & ~larger for larger in largest):
            largest.append(left)
    return largest


def row_coverings(
    rows: int, divisions: Sequence[int], says_one: Callable[[int, int], bool]
) -> list[Covering]:
    """Return how well the options cover in all version spaces that options alone lead to.

    Parameters
    ----------
    rows
        The hypotheses of the class, as bits.
    divisions
        For each instance, the hypotheses that say 1 there.
    says_one
        Whether the standard optimal algorithm of a set of hypotheses says 1, given those of them that do.

    Notes
    -----
    A mistake under f and an option that is true of f are the same thing: a set left that holds f. It supports the
    sets that contain it. So of the largest sets, s of which hold f, each mistake supports one at least, and 1/s of any
    batch supports a common one; one mistake in each shows that no more need. Beyond ``MOST_PAIRS`` of work, all s up
    to the number of instances are allowed for.
    """
    distinct = [column for column in set(divisions) if column & rows not in (0, rows)]
    if not distinct:
        return []
    met, waiting, work = {rows}, [rows], 0
    pairs: set[tuple[int, int]] = set()
    while waiting:
        work += len(distinct)
        if work > MOST_PAIRS:
            return bounded_coverings(len(distinct))
        space = waiting.pop()
        options = largest_left(space, distinct, lambda ones, space=space: says_one(space, ones))  # type: ignore[misc]
        for held in _how_often(space, options):
            pairs.add((held, len(options) - held))
        for left in options:
            if left not in met:
                met.add(left)
                waiting.append(left)
    return [Covering(held, rivals, held) for held, rivals in sorted(pairs)]


def bounded_coverings(instances: int) -> list[Covering]:
    """Return coverings that hold for every class on so many instances.

    Examples
    --------
    >>> from streamlearn.hypotheses.options import bounded_coverings
    >>> [(held.rho, held.rivals) for held in bounded_coverings(3)]
    [(1, 2), (2, 1), (3, 0)]
    """
    return [Covering(held, instances - held, held) for held in range(1, instances + 1)]


def check_instances(count: int, name: str, remedy: str = "use a smaller class, or fewer cut points") -> None:
    """Refuse to go through the options of too many instances.

    Parameters
    ----------
    count
        How many there are.
    name
        The class.
    remedy
        What to do about it.

    Raises
    ------
    SizeError
        If there are more than ``MOST_INSTANCES``.
    """
    if count > MOST_INSTANCES:
        raise SizeError(
            f"{name} has {count} instances; options are worked out for at most {MOST_INSTANCES}; {remedy}"
        )


def _how_often(space: int, options: Sequence[int]) -> set[int]:
    """Return in how many options a hypothesis of the space can lie, 0 left out."""
    # levels[j]: the hypotheses in at least j options.
    levels = [space]
    for left in options:
        carried = [level & left for level in levels]
        levels = [a | b for a, b in itertools.zip_longest(levels, [0, *carried], fillvalue=0)]
        if not levels[-1]:
            levels.pop()
    levels.append(0)
    return {j for j, (level, above) in enumerate(itertools.pairwise(levels)) if j and level & ~above}
