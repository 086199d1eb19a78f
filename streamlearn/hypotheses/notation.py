"""The command line's notation for hypothesis classes."""

from __future__ import annotations

import math
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.hypotheses.conjunctions import Conjunctions
from streamlearn.hypotheses.finite import Bits, Finite
from streamlearn.hypotheses.intervals import Intervals
from streamlearn.hypotheses.parameters import MOST_CELLS, check_cells
from streamlearn.hypotheses.points import Point3, Points, SingletonsOrEmpty
from streamlearn.hypotheses.stumps import Stumps
from streamlearn.hypotheses.thresholds import Thresholds

FORMS: Final = (
    "point3, points[:M], thresholds:M, intervals:M, singletons-or-empty[:M], conjunctions:a,b,c:K, "
    "stumps:FEATURE=c1,c2;OTHER=c3, finite:FILE (.npy or .csv)"
)
"""What :func:`parse` reads; M is a whole number such as 1000, 2^60 or 1e6."""

_MOST_BITS = 4096  # of a number; 9^999999999 would not end

_NUMBER = re.compile(
    r"(?P<digits>\d{1,1234})(\^(?P<power>\d{1,4})|(\.(?P<decimals>\d{1,30}))?[eE]\+?(?P<zeros>\d{1,4}))?",
    re.ASCII,
)


def parse(text: str) -> HypothesisClass:
    """Return the class that ``text`` names.

    Parameters
    ----------
    text
        A name and its parameters after colons: ``point3``; ``points`` or ``points:M``; ``thresholds:M``;
        ``intervals:M``; ``singletons-or-empty`` or ``singletons-or-empty:M``, M the largest instance (or none), a
        whole number as ``1000``, ``2^60`` or ``1e6``; ``conjunctions:a,b,c:K``, at most K of these features;
        ``stumps:FEATURE=c1,c2;OTHER=c3``, the cut points of each feature; ``finite:FILE``, a table with one row a
        hypothesis, its instances numbered from 0: .npy of booleans, or .csv of 0 and 1 without a header.

    Raises
    ------
    ParameterError
        If there is no such class, its parameters are outside their bounds, or the file cannot be used.
    SizeError
        If the class is too large to be worked with.

    Examples
    --------
    >>> from streamlearn.hypotheses.notation import parse
    >>> parse("thresholds:2^60").dimension, parse("stumps:height=1.5,1.8;age=30")
    (60, Stumps({'height': [1.5, 1.8], 'age': [30.0]}))
    """
    if not isinstance(text, str):
        raise ParameterError(f"a class must be text, got {type(text).__name__}; the forms are {FORMS}")
    name, colon, inside = text.strip().partition(":")
    name = name.strip().lower()
    builder = _BUILDERS.get(name)
    if builder is None:
        _refuse(text, f"there is no class {name!r}" if name else "it names no class")
    if colon and not inside.strip():
        _refuse(text, "nothing follows the colon")
    try:
        return builder(inside.strip())
    except ParameterError as error:
        _refuse(text, str(error), known=isinstance(error, _UnreadableError))


def whole_number(text: str) -> int:
    """Return the whole number that ``text`` writes: ``1000``, ``2^60``, ``1e6`` or ``2.5e3``.

    Parameters
    ----------
    text
        The number, at most 2^4096.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> from streamlearn.hypotheses.notation import whole_number
    >>> whole_number("2^60") == 2**60, whole_number("2.5e3")
    (True, 2500)
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise _UnreadableError(f"{_short(text.strip())} is not a whole number such as 1000, 2^60 or 1e6")
    digits, decimals = int(match["digits"]), match["decimals"] or ""
    power, zeros = int(match["power"] or 1), int(match["zeros"] or 0)
    if math.log2(max(digits, 1)) * power + zeros * math.log2(10) > _MOST_BITS:
        raise _UnreadableError(f"{_short(text.strip())} is larger than 2^{_MOST_BITS}; give a smaller number")
    value, rest = divmod(int(match["digits"] + decimals) * 10**zeros, 10 ** len(decimals))
    if rest:
        raise _UnreadableError(f"{_short(text.strip())} is not whole")
    return int(value**power)


class _UnreadableError(ParameterError):
    """The text has another form than any there is, so the forms are worth naming."""


def _refuse(text: str, reason: str, *, known: bool = True) -> NoReturn:
    if known:
        reason += f"; the forms are {FORMS}"
    raise ParameterError(f"cannot use the class {_short(text.strip())}: {reason}") from None


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


# --- one builder a form


def _point3(inside: str) -> Point3:
    if inside:
        raise _UnreadableError("point3 has no parameter")
    return Point3()


def _points(inside: str) -> Points:
    return Points(whole_number(inside) if inside else None)


def _singletons_or_empty(inside: str) -> SingletonsOrEmpty:
    return SingletonsOrEmpty(whole_number(inside) if inside else None)


def _thresholds(inside: str) -> Thresholds:
    return Thresholds(whole_number(inside))


def _intervals(inside: str) -> Intervals:
    return Intervals(whole_number(inside))


def _conjunctions(inside: str) -> Conjunctions:
    names, colon, most = inside.rpartition(":")
    if not colon:
        raise _UnreadableError("conjunctions need features and the most of them in one, as a,b,c:2")
    return Conjunctions(_listed(names), whole_number(most))


def _stumps(inside: str) -> Stumps:
    cuts: dict[str, list[float]] = {}
    for part in inside.split(";"):
        feature, equals, points = (piece.strip() for piece in part.rpartition("="))
        if not equals or not feature:
            raise _UnreadableError(
                f"{_short(part.strip())} is not a feature with its cut points, as age=30,50"
            )
        if feature in cuts:
            raise _UnreadableError(f"the feature {_short(feature)} is given twice")
        cuts[feature] = [_cut(point) for point in _listed(points)]
    return Stumps(cuts)


def _listed(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise _UnreadableError("a list has an empty place")
    return parts


def _cut(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _UnreadableError(f"the cut point {_short(text)} is not a number") from None


def _finite(inside: str) -> Finite:
    readers = {".npy": _read_npy, ".csv": _read_csv}
    path = Path(inside)
    if path.suffix.lower() not in readers or "\0" in inside:
        raise _UnreadableError("a table is a file that ends in .npy or .csv")
    try:
        return Finite(readers[path.suffix.lower()](path))
    except (OSError, UnicodeEncodeError) as error:  # the latter from half a character in the name
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(f"the file cannot be read ({reason}); check its name") from None


_BUILDERS: Final[dict[str, Callable[[str], HypothesisClass]]] = {
    "conjunctions": _conjunctions,
    "finite": _finite,
    "intervals": _intervals,
    "point3": _point3,
    "points": _points,
    "singletons-or-empty": _singletons_or_empty,
    "stumps": _stumps,
    "thresholds": _thresholds,
}


# --- tables


def _read_npy(path: Path) -> Bits:
    try:
        # Mapped: the size is known, and refused, before anything is read; and what is pickled cannot be mapped.
        table = np.lib.format.open_memmap(path, mode="r")
        rows, columns = table.shape
    except (
        ValueError,
        SyntaxError,
        tokenize.TokenError,
        OverflowError,
    ):  # the last three from a broken header
        raise ParameterError("the file holds no two-dimensional array; write one with numpy.save") from None
    check_cells(rows, columns, str(path))
    return np.array(table)


def _read_csv(path: Path) -> Bits:
    try:
        with path.open(encoding="utf-8-sig") as file:
            rows = list(_rows(file, path))
    except UnicodeDecodeError:
        raise ParameterError("the file is not text; write 0 and 1 between commas") from None
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(rows[0]) if rows else 0)


def _rows(lines: Iterator[str], path: Path) -> Iterator[Bits]:
    width = 0
    kept = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        width = width or len(cells)
        kept += 1
        if len(cells) != width:
            raise ParameterError(
                f"line {number} has {len(cells)} cells and the first {width}; make them equal"
            )
        if not set(cells) <= {
            "0",
            "1",
        }:  # before an array is made: it would give every cell the longest one's room
            raise ParameterError(f"line {number} holds something other than 0 and 1; leave out a header")
        if kept * width > MOST_CELLS:
            check_cells(kept, width, str(path))
        yield np.array(cells) == "1"
