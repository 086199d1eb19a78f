"""Checks that the parameters of classes and tools share."""

from __future__ import annotations

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


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number, or is too small.

    Raises
    ------
    ParameterError
        If so.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"{name} must be a whole number >= {least}, got {value!r}")


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
