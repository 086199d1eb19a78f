"""Many chances out of 2^64, eight bytes each: a long ramp as a tuple of whole numbers would take gigabytes."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from streamlearn.accounting.moments import Levels

_BLOCK = 1 << 16  # of them are Python's own at once


class Chances(Sequence[int]):
    """Chances out of 2^64 that cannot be changed: a tuple of whole numbers to whoever reads it.

    Parameters
    ----------
    levels
        Whole numbers in 0..2^64 - 1, or an array of them of type uint64, of shape (n,).

    Examples
    --------
    >>> from streamlearn.planning.chances import Chances
    >>> ramp = Chances([2**62, 2**63])
    >>> len(ramp), ramp[0] == 2**62, ramp == (2**62, 2**63), list(ramp[1:]) == [2**63]
    (2, True, True, True)
    """

    __slots__ = ("_hash", "_levels")

    def __init__(self, levels: Iterable[int] | Levels) -> None:
        own = np.array(levels if isinstance(levels, np.ndarray) else list(levels), dtype=np.uint64)
        own.setflags(write=False)
        self._levels = own
        self._hash: int | None = None

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, np.dtype[Any]]:
        return np.array(self._levels, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._levels)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Chances: ...
    def __getitem__(self, place: int | slice) -> int | Chances:
        if isinstance(place, slice):
            return Chances(self._levels[place])
        return int(self._levels[place])

    def __iter__(self) -> Iterator[int]:
        pieces = (self._levels[start : start + _BLOCK].tolist() for start in range(0, len(self), _BLOCK))
        return itertools.chain.from_iterable(pieces)

    def packed(self) -> str:
        """Return them as base64 of eight bytes each, the lowest first.

        Examples
        --------
        >>> from streamlearn.planning.chances import Chances
        >>> Chances([1, 2]).packed()
        'AQAAAAAAAAACAAAAAAAAAA=='
        """
        return base64.b64encode(self._levels.astype("<u8", copy=False).data).decode("ascii")

    @classmethod
    def unpacked(cls, text: str) -> Self:
        """Return what :meth:`packed` wrote.

        Parameters
        ----------
        text
            The base64.

        Raises
        ------
        ValueError
            If it is no base64, or ends within a chance.

        Examples
        --------
        >>> from streamlearn.planning.chances import Chances
        >>> list(Chances.unpacked("AQAAAAAAAAACAAAAAAAAAA=="))
        [1, 2]
        """
        return cls(np.frombuffer(base64.b64decode(text, validate=True), dtype="<u8"))

    def rise_within(self, least: int) -> bool:
        """Return whether there are some, the first at least ``least``, and none is below the one before.

        Parameters
        ----------
        least
            The least that the first may be.

        Examples
        --------
        >>> from streamlearn.planning.chances import Chances
        >>> Chances([1, 5, 5]).rise_within(1), Chances([5, 1]).rise_within(1), Chances([]).rise_within(1)
        (True, False, False)
        """
        levels = self._levels
        return len(levels) > 0 and self[0] >= least and not bool(np.any(levels[1:] < levels[:-1]))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Chances):
            return np.array_equal(self._levels, other._levels)
        return isinstance(other, tuple) and len(other) == len(self) and tuple(self) == other

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self))  # that of the tuple it equals
        return self._hash

    def __reduce__(self) -> tuple[type[Chances], tuple[Levels]]:
        return Chances, (self._levels,)

    def __repr__(self) -> str:
        return f"<{len(self)} chances out of 2^64>"
