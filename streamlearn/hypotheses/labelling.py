"""A function from instances to bits, which need not belong to any class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamlearn.hypotheses.instances import key


class Labelling:
    """The function that is 1 at some instances and 0 elsewhere.

    Parameters
    ----------
    ones
        The instances where it is 1: hashables, or dicts of features.

    Examples
    --------
    >>> from streamlearn.hypotheses import Labelling
    >>> h = Labelling([2, 3])
    >>> [h(x) for x in (1, 2, 3)], h == Labelling([3, 2])
    ([False, True, True], True)
    """

    __slots__ = ("_ones",)

    def __init__(self, ones: Iterable[Any]) -> None:
        self._ones = frozenset(map(key, ones))

    def __call__(self, x: Any) -> bool:
        """Return the bit for an instance."""
        return key(x) in self._ones

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labelling) and self._ones == other._ones

    def __hash__(self) -> int:
        return hash(self._ones)

    def __repr__(self) -> str:
        return f"Labelling(<1 at {len(self._ones)} instances>)"
