"""Checks of what callers give to candidate selection: probabilities and K, of Python's or numpy's types."""

from __future__ import annotations

import numpy as np

from streamlearn.errors import ParameterError


def real(value: object) -> float | None:
    """Return a real number as a float; None if it is none, or too large for a float.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.selection.arguments import real
    >>> real(np.float32(0.5)), real(2), real("2"), real(True)
    (0.5, 2.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def check_level(name: str, value: object) -> float:
    """Return a probability strictly between 0 and 1.

    Raises
    ------
    ParameterError
        If it is none.
    """
    level = real(value)
    if level is None or not 0.0 < level < 1.0:
        raise ParameterError(
            f"{name} must be a number strictly between 0 and 1, got {value!r}; give one such as 1e-6"
        )
    return level


def check_batch(value: object) -> int:
    """Return K, the most mistakes that a batch holds.

    Raises
    ------
    ParameterError
        If it is no whole number >= 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"K must be a whole number >= 1, got {value!r}; give what batch() returns")
    return int(value)
