"""Instances as JSON data, whatever a class makes of them: lists, dicts and NaN within are carried too."""

from __future__ import annotations

import math
from typing import Any

from streamlearn.errors import StateError
from streamlearn.hypotheses import instances

_DEEPEST = 32
"""Lists, tuples and dicts within each other: beyond, the JSON of a whole state could not be read."""


def to_plain(x: Any, deep: int = _DEEPEST) -> Any:
    """Return an instance, or what is in one, as JSON data.

    Parameters
    ----------
    x
        The instance.
    deep
        Lists, tuples and dicts that it may still have within each other.

    Raises
    ------
    StateError
        If JSON cannot carry it, or it is nested deeper.

    Examples
    --------
    >>> from streamlearn import nested
    >>> nested.to_plain({"a": [1.5, float("nan")]})
    {'features': [['a', {'list': [1.5, {'float': 'nan'}]}]]}
    """
    if deep < 0:
        raise StateError(f"an instance nested more than {_DEEPEST} deep cannot be saved; make it flatter")
    if isinstance(x, dict):
        features = [[instances.to_plain(name), to_plain(value, deep - 1)] for name, value in x.items()]
        return {"features": features}
    if isinstance(x, list | tuple):
        return {"list" if isinstance(x, list) else "tuple": [to_plain(entry, deep - 1) for entry in x]}
    return instances.to_plain(x)


def from_plain(data: Any, deep: int = _DEEPEST) -> Any:
    """Return the instance that :func:`to_plain` wrote.

    Parameters
    ----------
    data
        What it wrote.
    deep
        As there.

    Raises
    ------
    StateError
        If it is none.

    Examples
    --------
    >>> from streamlearn import nested
    >>> nested.from_plain(nested.to_plain(("a", [1, {"b": None}])))
    ('a', [1, {'b': None}])
    """
    match data if deep >= 0 else {}:
        case {"features": list(pairs), **rest} if not rest:
            if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
                return {instances.from_plain(name): from_plain(value, deep - 1) for name, value in pairs}
        case {"list": list(entries), **rest} if not rest:
            return [from_plain(entry, deep - 1) for entry in entries]
        case {"tuple": list(entries), **rest} if not rest:
            return tuple(from_plain(entry, deep - 1) for entry in entries)
        case {"float": "nan", **rest} if not rest:
            return math.nan
        case _:
            return instances.from_plain(data)
    raise StateError("malformed instance in a saved state; give what state_dict() returned")
