"""A class given as a table: hypotheses down, instances across."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.bitsets import Bitsets
from streamlearn.hypotheses.enumerated import EnumeratedClass
from streamlearn.hypotheses.instances import NOTHING, key, text
from streamlearn.hypotheses.options import check_instances
from streamlearn.hypotheses.parameters import check_cells, check_list

Bits = npt.NDArray[np.bool_]


class Finite(EnumeratedClass):
    """The hypotheses in the rows of a boolean table.

    Parameters
    ----------
    table
        What each hypothesis says at each instance, booleans of shape (hypotheses, instances). The first row is the
        public default.
    domain
        The instances, one a column: hashables or dicts of features. By default the column numbers 0, 1, ...

    Attributes
    ----------
    table
        The table, read-only.
    domain
        The instances, in the order of the columns.

    Raises
    ------
    ParameterError
        If the table is not two-dimensional and boolean, has no row or no column, or two rows are equal; or if
        ``domain`` does not give each column an instance of its own.
    SizeError
        If it has more than 2^25 cells; later, if an exact dimension would not end.

    Notes
    -----
    Everything is exact; :class:`~streamlearn.hypotheses.bitsets.Bitsets` says how.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.hypotheses import Finite
    >>> everything = Finite(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool))
    >>> everything
    Finite(<4 hypotheses, 2 instances>)
    >>> everything.dimension, everything.version_space().restrict(0, True).dimension
    (2, 1)
    """

    __slots__ = ("_bitsets", "_columns", "_digest", "domain", "size", "table")

    def __init__(self, table: npt.ArrayLike, domain: Iterable[Any] | None = None) -> None:
        self.table = _checked(table)
        self.size, width = self.table.shape
        self.domain: Sequence[Any] = range(width) if domain is None else _instances(domain)
        columns = _as_integers(self.table)
        self._columns: dict[Hashable, int] = dict(zip(map(key, self.domain), columns, strict=False))
        if len(self.domain) != width or len(self._columns) != width or NOTHING in self._columns:
            raise ParameterError(
                f"domain must name {width} different instances, one a column; an instance is a hashable or a dict of "
                "features, and a dict of one feature stands for its value"
            )
        self._bitsets = Bitsets(columns, self.size)
        self._digest = _digest(self.table, self.domain)

    @classmethod
    def from_predicates(cls, predicates: Iterable[Callable[[Any], object]], domain: Iterable[Any]) -> Self:
        """Return the class of some functions on a domain.

        Parameters
        ----------
        predicates
            Functions of an instance; what they return is taken as true or false. The first is the public default.
        domain
            The instances: hashables, or dicts of features.

        Raises
        ------
        ParameterError
            As the constructor: also if two predicates agree on the whole domain, or one is no function.
        SizeError
            As the constructor.

        Examples
        --------
        >>> from streamlearn.hypotheses import Finite
        >>> words = Finite.from_predicates([str.isupper, str.istitle, str.islower], ["A", "Bc", "d", "1"])
        >>> words.dimension, words.default("A")
        (1, True)
        """
        functions = check_list("predicates", predicates, "functions")
        instances = _instances(domain)
        if not all(map(callable, functions)):
            raise ParameterError(
                "predicates must be functions of an instance; Finite(table) takes their values"
            )
        check_cells(len(functions), len(instances), "the class of the predicates")
        rows = [[bool(predicate(x)) for x in instances] for predicate in functions]
        return cls(np.array(rows, dtype=np.bool_).reshape(len(rows), len(instances)), domain=instances)

    def ones(self, x: Any) -> int | None:
        """Return the hypotheses that say 1 at ``x``, as bits; None for an unknown instance."""
        return self._columns.get(key(x))

    def dimension_of(self, rows: int) -> int:
        """Return the Littlestone dimension of a nonempty set of rows, given as bits."""
        return self._bitsets.dimension(rows)

    def reaches(self, rows: int, d: int) -> bool:
        """Return whether a set of rows, given as bits, has Littlestone dimension at least d."""
        return self._bitsets.reaches(rows, d)

    def pivot_of(self, rows: int) -> Any:
        """Return an instance that starts a shattered tree of full depth of a set of rows."""
        return self.domain[self._bitsets.pivot(rows)]

    def divisions(self) -> list[int]:
        """Return the columns, as bits."""
        check_instances(len(self._columns), repr(self))
        return list(self._columns.values())

    def as_finite(self) -> Finite:
        """Return the class itself."""
        return self

    @property
    def digest(self) -> str:
        """A short, stable name of the table and its domain."""
        return self._digest

    def __repr__(self) -> str:
        return f"Finite(<{self.size} hypotheses, {len(self.domain)} instances>)"


def _checked(table: npt.ArrayLike) -> Bits:
    try:
        bits = np.array(table)
    except ValueError:  # rows of different lengths
        bits = np.empty(0)
    if bits.ndim != 2 or 0 in bits.shape:
        raise ParameterError(
            f"table must have the shape (hypotheses, instances), at least one of each, got {bits.shape}; "
            "one row a hypothesis"
        )
    if bits.dtype != np.bool_:
        raise ParameterError(f"table must be of booleans, got {bits.dtype}; give table.astype(bool)")
    check_cells(len(bits), bits.shape[1], "table")
    _check_different(bits)
    bits.flags.writeable = False
    return bits


def _check_different(bits: Bits) -> None:
    first: dict[bytes, int] = {}
    for number, row in enumerate(np.packbits(bits, axis=1)):
        same = first.setdefault(row.tobytes(), number)
        if same != number:
            raise ParameterError(
                f"hypotheses {same} and {number} of the table agree on all instances; drop one (numpy.unique, axis=0)"
            )


def _as_integers(bits: Bits) -> list[int]:
    """Return each column as an integer, row 0 its lowest bit."""
    packed = np.packbits(bits.T, axis=1, bitorder="little")
    return [int.from_bytes(column.tobytes(), "little") for column in packed]


def _instances(domain: Iterable[Any]) -> tuple[Any, ...]:
    """Return the instances, dicts copied: what becomes of the caller's must not change the class."""
    return tuple(dict(x) if isinstance(x, dict) else x for x in check_list("domain", domain, "instances"))


def _digest(bits: Bits, domain: Sequence[Any]) -> str:
    law = hashlib.blake2b(np.packbits(bits).tobytes(), digest_size=16)
    if not isinstance(domain, range):
        law.update(text(tuple(map(key, domain))).encode())
    rows, columns = bits.shape
    return f"Finite({rows}x{columns}:{law.hexdigest()})"
