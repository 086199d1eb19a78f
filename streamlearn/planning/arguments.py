"""What the arguments of a plan may be: Python's numbers and numpy's, within their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from streamlearn.accounting.combining import plain
from streamlearn.errors import ParameterError
from streamlearn.rounding import OUT_OF, as_float


def whole(name: str, value: object, most: int, meaning: str) -> int:
    """Return an argument that is a whole number in 1..most, of Python's or of numpy's.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.planning.arguments import whole
    >>> whole("batch", np.int64(3), 10, "it is K")
    3
    """
    number = plain(value)
    if type(number) is not int or not 1 <= number <= most:
        raise ParameterError(f"{name} must be a whole number in 1..{most}, got {value!r}; {meaning}")
    return number


def real(name: str, value: object, least: float, most: float, meaning: str) -> float:
    """Return an argument that is a number in [least, most], as a float.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> from streamlearn.planning.arguments import real
    >>> real("beta", 1, 0.0, 1.0, "it is a failure probability")
    1.0
    """
    number = as_float(plain(value))
    if number is None or not least <= number <= most:
        raise ParameterError(f"{name} must lie in [{least:g}, {most:g}], got {value!r}; {meaning}")
    return number


def one_of(name: str, value: object, allowed: Sequence[str], meaning: str) -> None:
    """Refuse an argument that is none of some words.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> from streamlearn.planning.arguments import one_of
    >>> one_of("split", "paper", ("optimised", "paper"), "'optimised' errs less")
    """
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(map(repr, allowed))
        raise ParameterError(f"{name} must be {words}, got {value!r}; {meaning}")


def listed(name: str, values: object, what: str) -> list[Any]:
    """Return what a list or array holds, numpy's scalars as Python's own.

    Raises
    ------
    ParameterError
        If it is neither.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.planning.arguments import listed
    >>> listed("ramp", np.array([0.25, 0.75]), "probabilities")
    [0.25, 0.75]
    """
    try:
        if not isinstance(values, str | bytes):
            return [plain(value) for value in values]  # type: ignore[attr-defined]  # asked by trying
    except TypeError:
        pass
    raise ParameterError(
        f"{name} must be a list of {what}, got one {type(values).__name__}; put it in a list"
    )


def levels_of(name: str, values: Sequence[float | int]) -> tuple[int, ...]:
    """Return probabilities as integers out of 2^64, not decreasing.

    Raises
    ------
    ParameterError
        If they are none, or decrease.

    Examples
    --------
    >>> from streamlearn.planning.arguments import levels_of
    >>> levels_of("ramp", [0.25, 0.5]) == (2**62, 2**63)
    True
    """
    given = listed(name, values, "probabilities")
    whole_ones = all(type(value) is int for value in given) and max(given, default=0) > 1
    levels: list[int] = []
    for value in given:
        number = as_float(value)
        if number is None or not math.isfinite(number):
            raise ParameterError(
                f"{name} must hold probabilities, got {value!r}; give floats, or integers out of 2^64"
            )
        levels.append(int(value) if whole_ones else round(Fraction(number) * OUT_OF))
    if any(not 0 <= level <= OUT_OF for level in levels) or levels != sorted(levels):
        raise ParameterError(
            f"{name} must rise within [0, 1]; give floats, or integers out of 2^64, in order"
        )
    return tuple(levels)
