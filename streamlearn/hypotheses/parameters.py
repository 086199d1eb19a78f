"""Checks that the parameters of classes and tools share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from streamlearn.errors import ParameterError, SizeError

MOST_CELLS = 1 << 25
"""Hypotheses times instances of the largest class that is worked through as a table (4 MB of bits)."""


def check_domain(name: str, field: str, m: object) -> int:
    """Return the size of a domain 1..m.

    Raises
    ------
    ParameterError
        If it is not a whole number >= 1.
    """
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
        raise ParameterError(
            f"{name}: {field} must be a whole number >= 1, got {m!r}; it is the largest instance"
        )
    return int(m)


def check_whole(name: str, value: object, least: int) -> int:
    """Return a whole number that is large enough.

    Raises
    ------
    ParameterError
        If it is none, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def check_list(name: str, values: Iterable[Any], what: str) -> tuple[Any, ...]:
    """Return what a list, or anything else that can be gone through but text, holds.

    Raises
    ------
    ParameterError
        If it cannot be gone through, or is one string.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(
            f"{name} must be a list of {what}, got one {type(values).__name__}; put it in a list"
        )
    return tuple(values)


def check_cells(hypotheses: int, instances: int, name: str) -> None:
    """Refuse to work through a table that is too large.

    Raises
    ------
    SizeError
        If it has more than ``MOST_CELLS`` cells.
    """
    if hypotheses * instances > MOST_CELLS:
        raise SizeError(
            f"{name} has {hypotheses} hypotheses on {instances} instances; at most {MOST_CELLS} cells are worked "
            "through as a table; use a smaller class"
        )
