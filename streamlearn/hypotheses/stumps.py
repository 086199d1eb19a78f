"""Decision stumps: one numeric feature against one cut point, either way round.

Proof: ``stumps.proof.md`` beside this file.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, Self

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.base import unreadable
from streamlearn.hypotheses.enumerated import EnumeratedClass, EnumeratedSpace
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.instances import finite, number
from streamlearn.hypotheses.options import check_instances
from streamlearn.hypotheses.parameters import check_cells, check_list, check_whole


class Stumps(EnumeratedClass):
    """The functions 1[x[f] >= c] and 1[x[f] < c] for some cut points c of each of some features f.

    An instance is a dict that gives each of the features a number (Python's or numpy's, not NaN); further features are
    ignored.

    Parameters
    ----------
    cuts
        The cut points of each feature: finite numbers, all different.

    Attributes
    ----------
    cuts
        The features with their cut points in increasing order.
    size
        The number of stumps: twice the number of cut points.

    Raises
    ------
    ParameterError
        If ``cuts`` is no dict or names no feature, a feature has no cut point, or a cut point is not a finite number or
        is given twice.

    Notes
    -----
    Closed form: whatever was seen, some instance divides the stumps left into equal halves (or as nearly as their
    number allows), so their dimension is floor(log2) of their number (``stumps.proof.md``). A restriction or a
    prediction is one binary search a feature. The public default is the first feature against its least cut point,
    upwards.

    Examples
    --------
    >>> from streamlearn.hypotheses import Stumps
    >>> stumps = Stumps({"height": [1.5, 1.8], "age": [30, 50, 70]})
    >>> stumps.size, stumps.dimension
    (10, 3)
    >>> space = stumps.version_space().restrict({"height": 1.6, "age": 20}, True)
    >>> space.dimension, space.restrict({"height": 1.6, "age": 80}, False).dimension
    (2, 1)
    """

    __slots__ = ("_features", "cuts", "size")

    def __init__(self, cuts: Mapping[str, Iterable[float]]) -> None:
        if not isinstance(cuts, Mapping):
            raise ParameterError(
                f"cuts must be a dict of features with their cut points, got {type(cuts).__name__}; "
                "Stumps.from_sample takes a sample"
            )
        self.cuts: dict[str, list[float]] = {name: _checked(name, points) for name, points in cuts.items()}
        self.size = 2 * sum(map(len, self.cuts.values()))
        if self.size == 0:
            raise ParameterError("cuts names no feature; give at least one with its cut points")
        # Name, cut points, number of the first stump; a table of what each cell says would be quadratic in memory.
        self._features: list[tuple[str, list[float], int]] = []
        start = 0
        for name, points in self.cuts.items():
            self._features.append((name, points, start))
            start += 2 * len(points)

    @classmethod
    def from_sample(cls, rows: Iterable[Mapping[str, Any]], cuts: int | None = None) -> Self:
        """Return the stumps whose cut points lie halfway between the values of a first sample.

        The sample is public: its values show in the class.

        Parameters
        ----------
        rows
            Dicts of features. A feature that is not a finite number in every row is left out.
        cuts
            The most cut points a feature, spread evenly over its different values; by default one between each two
            neighbours.

        Raises
        ------
        ParameterError
            If no feature takes two values, or ``cuts`` is not at least 1.

        Examples
        --------
        >>> from streamlearn.hypotheses import Stumps
        >>> Stumps.from_sample([{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, {"a": 5.0, "b": "x"}])
        Stumps({'a': [1.5, 3.5]})
        """
        if cuts is not None:
            cuts = check_whole("cuts", cuts, 1)
        sample = check_list("rows", rows, "dicts of features")
        if not all(isinstance(row, Mapping) for row in sample):
            raise ParameterError("rows must be dicts of features; leave out the labels")
        common = [
            name for name in (sample[0] if sample else ()) if all(finite(row.get(name)) for row in sample)
        ]
        found = {name: _between(sorted({float(row[name]) for row in sample}), cuts) for name in common}
        if not any(found.values()):
            raise ParameterError(
                f"no feature takes two different numbers in the {len(sample)} rows of the sample; "
                "give a longer sample, or the cut points"
            )
        return cls({name: points for name, points in found.items() if points})

    def ones(self, x: Any) -> int | None:
        """Return the stumps that say 1 at ``x``, as bits; None for an unknown instance."""
        if not isinstance(x, dict):
            return None
        rows = 0
        for name, points, start in self._features:
            value = x.get(name)
            if not number(value):
                return None
            rows |= _says_one(len(points), bisect_right(points, value)) << start
        return rows

    def dimension_of(self, rows: int) -> int:
        """Return floor(log2) of the number of stumps in a nonempty set of them that some examples leave."""
        return rows.bit_count().bit_length() - 1

    def reaches(self, rows: int, d: int) -> bool:
        """Return whether a set of stumps that some examples leave has Littlestone dimension at least d."""
        return rows.bit_count() >> d > 0

    def pivot_of(self, rows: int) -> dict[str, float]:
        """Return an instance that halves a set of stumps that some examples leave."""
        # Feature by feature, the cell whose stumps that say 1 come nearest to what is still missing to half.
        missing = rows.bit_count() // 2
        cells = [_counts(rows >> start, len(points)) for _, points, start in self._features]
        least, most = sum(map(min, cells)), sum(map(max, cells))
        instance = {}
        for (name, points, _), counts in zip(self._features, cells, strict=True):
            least -= min(counts)
            most -= max(counts)
            below = next(b for b, count in enumerate(counts) if count + least <= missing <= count + most)
            missing -= counts[below]
            instance[name] = _in_cell(points, below)
        return instance

    def divisions(self) -> list[int]:
        """Return for each cell of the cut points the stumps that say 1 there, as bits."""
        check_instances(math.prod(len(points) + 1 for points in self.cuts.values()), self.digest)
        cells = [
            [_says_one(len(points), below) << start for below in range(len(points) + 1)]
            for _, points, start in self._features
        ]
        return [sum(parts) for parts in itertools.product(*cells)]

    def from_plain(self, data: Any) -> EnumeratedSpace:
        """Return the version space that ``to_plain`` wrote."""
        space = super().from_plain(data)
        rows = int(data, 16)
        for _, points, _ in self._features:
            k = len(points)
            if not _reachable(rows & (1 << k) - 1, rows >> k & (1 << k) - 1, k):
                raise unreadable(self.digest)
            rows >>= 2 * k
        return space

    def as_finite(self) -> Finite:
        """Return the class as a table over one instance a cell of the cut points."""
        check_cells(self.size, math.prod(len(points) + 1 for points in self.cuts.values()), self.digest)
        cells = [
            [_in_cell(points, below) for below in range(len(points) + 1)] for points in self.cuts.values()
        ]
        domain = [dict(zip(self.cuts, values, strict=True)) for values in itertools.product(*cells)]
        stumps = [
            (name, cut, up) for name, points in self.cuts.items() for up in (True, False) for cut in points
        ]
        return Finite([[(x[name] >= cut) is up for x in domain] for name, cut, up in stumps], domain=domain)

    def __repr__(self) -> str:
        return f"Stumps({self.cuts!r})"


def _checked(name: str, points: Iterable[float]) -> list[float]:
    given = check_list(f"cuts of feature {name!r}", points, "numbers")
    listed = [float(point) if finite(point) else None for point in given]
    kept = sorted({point for point in listed if point is not None})
    if None in listed or len(kept) != len(listed) or not kept:
        raise ParameterError(
            f"cuts of feature {name!r} must be finite numbers, at least one and each given once; "
            "leave out a feature that has none"
        )
    return kept


def _between(values: list[float], most: int | None) -> list[float]:
    """Return cut points between neighbours among increasing values, at most so many, evenly spread."""
    gaps = len(values) - 1
    if most is not None and gaps > most:
        chosen = [(2 * i + 1) * gaps // (2 * most) for i in range(most)]
    else:
        chosen = list(range(gaps))
    return [_halfway(values[i], values[i + 1]) for i in chosen]


def _halfway(low: float, high: float) -> float:
    """Return a number above ``low`` and at most ``high``, halfway where floats allow it."""
    middle = low + (high - low) / 2
    return middle if low < middle <= high else high


def _says_one(k: int, below: int) -> int:
    """Return which of a feature's stumps say 1 where so many of its k cut points lie at or below: bits 0..2k-1."""
    low = (1 << below) - 1
    return (
        low | ((1 << k) - 1 ^ low) << k
    )  # upwards those of the cut points below, downwards those of the others


def _counts(rows: int, k: int) -> list[int]:
    """Return how many stumps in the lowest 2k bits of a set say 1 in each cell of their feature."""
    own = rows & (1 << 2 * k) - 1
    return [(own & _says_one(k, below)).bit_count() for below in range(k + 1)]


def _in_cell(points: list[float], below: int) -> float:
    """Return a number with so many cut points at or below it."""
    return points[below - 1] if below else math.nextafter(points[0], -math.inf)


def _reachable(upwards: int, downwards: int, k: int) -> bool:
    """Return whether examples can leave just these of a feature's stumps: two runs, one not above the other, or all."""
    everything = (1 << k) - 1
    if upwards == downwards == everything:
        return True
    up, down = _run(upwards), _run(downwards)
    if up is None or down is None:
        return False
    return not upwards or not downwards or up[1] < down[0] or down[1] < up[0]


def _run(bits: int) -> tuple[int, int] | None:
    """Return the first and last place of a run of ones; None if they are no run."""
    if not bits:
        return (0, 0)
    low = (bits & -bits).bit_length() - 1
    high = bits.bit_length() - 1
    return (low, high) if bits >> low == (1 << high - low + 1) - 1 else None
