"""What a class takes for an instance: hashables, whole numbers, dicts of features; and how JSON carries them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from decimal import Decimal
from numbers import Number
from typing import Any, Final, TypeGuard

import numpy as np

from streamlearn.errors import StateError

NOTHING: Final = object()
"""Stands for what is no instance."""

_PLAIN: Final = frozenset({int, str, bool})
"""Types, and no more than these, of which everything can be hashed and equals itself."""


def key(x: Any) -> Hashable:
    """Return the hashable an instance stands for, ``NOTHING`` if it is no instance.

    A dict of one feature stands for its value, another dict for its items. What differs from itself (NaN, also within
    a tuple) is no instance: it could never be met again.

    Examples
    --------
    >>> from streamlearn.hypotheses.instances import NOTHING, key
    >>> key({"x": 3}), key("a"), key([1]) is NOTHING
    (3, 'a', True)
    """
    if isinstance(x, dict):
        if len(x) != 1:
            return frozenset(x.items()) if all(map(_usable, x.values())) else NOTHING
        x = next(iter(x.values()))
    if isinstance(x, np.integer | np.floating):
        x = x.item()  # a numpy float may raise when compared with a Decimal: in any dict of both
    if type(x) not in _PLAIN and not _usable(x):
        return NOTHING
    hashable: Hashable = x
    return hashable


MOST_DIGITS = 10_000
"""A decimal number of more digits is no instance: written out, 1e999999999 would fill the memory."""


def whole(x: Any) -> int | None:
    """Return the whole number an instance stands for, of whatever numeric type; None if it stands for none.

    Examples
    --------
    >>> from streamlearn.hypotheses.instances import whole
    >>> whole(3), whole(3.0), whole({"x": 3}), whole(3.5), whole("3")
    (3, 3, 3, None, None)
    """
    if isinstance(x, dict) and len(x) == 1:
        x = next(iter(x.values()))
    if not isinstance(x, Number) or (isinstance(x, Decimal) and x.adjusted() > MOST_DIGITS):
        return None
    try:
        n = int(x)  # type: ignore[call-overload]  # a Number that cannot raises
    except (TypeError, ValueError, OverflowError):
        return None
    return n if n == x else None


def number(x: Any) -> TypeGuard[float]:
    """Return whether ``x`` is a real number and not NaN."""
    return isinstance(x, (int, float, np.integer, np.floating)) and bool(x == x)  # noqa: PLR0124 - NaN differs


def finite(x: Any) -> TypeGuard[float]:
    """Return whether ``x`` is a real number that a float can hold."""
    try:
        return number(x) and math.isfinite(x)
    except OverflowError:  # an int too large
        return False


def to_plain(instance: Hashable) -> Any:
    """Return an instance as JSON data.

    Raises
    ------
    StateError
        If it is not made of strings, numbers, booleans, None, tuples and frozensets.

    Examples
    --------
    >>> from streamlearn.hypotheses.instances import from_plain, to_plain
    >>> to_plain(("a", 1))
    {'tuple': ['a', 1]}
    >>> from_plain({"tuple": ["a", 1]})
    ('a', 1)
    """
    if isinstance(instance, np.generic):
        instance = instance.item()
    if instance is None or isinstance(instance, (str, int)):
        return instance
    if isinstance(instance, float):
        return instance if math.isfinite(instance) else {"float": repr(instance)}
    if isinstance(instance, tuple):
        return {"tuple": [to_plain(entry) for entry in instance]}
    if isinstance(instance, frozenset):
        return {"set": sorted(map(to_plain, instance), key=repr)}  # equal sets may differ in order
    raise StateError(
        f"an instance of type {type(instance).__name__} cannot be saved; use strings, numbers or tuples of them"
    )


def from_plain(data: Any) -> Hashable:
    """Return the instance that :func:`to_plain` wrote.

    Raises
    ------
    StateError
        If ``data`` is no such instance.
    """
    try:
        return _from_plain(data)
    except RecursionError:
        raise StateError("an instance in a saved version space is nested too deeply to be read") from None


def _from_plain(data: Any) -> Hashable:
    if data is None or isinstance(data, (str, int, float)):
        return data
    match data:
        case {"float": "inf" | "-inf" as text, **rest} if not rest:
            return float(text)
        case {"tuple": list(entries), **rest} if not rest:
            return tuple(map(_from_plain, entries))
        case {"set": list(entries), **rest} if not rest:
            return frozenset(map(_from_plain, entries))
    raise StateError("malformed instance in a saved version space; give what to_plain() returned")


def text(instance: Hashable) -> str:
    """Return an instance as text that is the same in every process, if its parts' ``repr`` are.

    Examples
    --------
    >>> from streamlearn.hypotheses.instances import text
    >>> text(("a", frozenset("cb")))
    "('a',{'b','c'})"
    """
    if type(instance) is tuple:
        return f"({','.join(map(text, instance))})"
    if isinstance(instance, frozenset):
        return f"{{{','.join(sorted(map(text, instance)))}}}"
    return repr(instance)


def _usable(x: Any) -> bool:
    """Return whether ``x`` can be hashed and equals itself, and so do its parts."""
    try:
        hash(x)
        if isinstance(x, tuple | frozenset):  # these take a NaN for equal to itself
            return all(map(_usable, x))
        return bool(x == x)  # noqa: PLR0124 - NaN differs
    except Exception:  # noqa: BLE001 - a stranger's own methods may raise anything
        return False
