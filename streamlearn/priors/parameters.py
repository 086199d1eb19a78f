"""Checks of what a law is made from, and two functions that overflow to infinity instead of raising."""

from __future__ import annotations

import math
import numbers

import numpy as np

from streamlearn.errors import PriorError
from streamlearn.priors.base import Floats


def real(value: object) -> float | None:
    """Return a real number as a float (infinite where no float holds it); None for anything else.

    Examples
    --------
    >>> from streamlearn.priors.parameters import real
    >>> real(1), real(True), real("1")
    (1.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def number(law: str, name: str, value: object) -> float:
    """Return a parameter as a float; infinite is allowed, NaN is not.

    Raises
    ------
    PriorError
        If it is not one real number.
    """
    result = real(value)
    if result is None:
        raise PriorError(f"{law}: {name} must be one real number, got {type(value).__name__}")
    if math.isnan(result):
        raise PriorError(f"{law}: {name} is NaN; give a number")
    return result


def finite(law: str, name: str, value: object) -> float:
    """Return a parameter as a finite float.

    Raises
    ------
    PriorError
        If it is not one finite number.
    """
    result = number(law, name, value)
    if math.isinf(result):
        raise PriorError(f"{law}: {name} must be finite, got an infinite number")
    return result


def positive(law: str, name: str, value: object) -> float:
    """Return a parameter as a finite float above 0.

    Raises
    ------
    PriorError
        If it is not one finite number above 0.
    """
    result = finite(law, name, value)
    if result <= 0.0:
        raise PriorError(f"{law}: {name} must be > 0, got {result:g}")
    return result


def interval(law: str, lower: float, upper: float) -> None:
    """Check that an interval has a length.

    Raises
    ------
    PriorError
        If it has none.
    """
    if not lower < upper:
        raise PriorError(
            f"{law}: lower must be < upper, got {lower:g} and {upper:g}; one value is a PointMass"
        )


def entries(data: object, name: str) -> Floats:
    """Return a one-dimensional collection of finite numbers as an array; its entries are never quoted.

    Raises
    ------
    PriorError
        If it is empty, not one-dimensional, or an entry is not a finite number; the entry's place is named,
        counted from 1.
    """
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(object), None)  # a masked entry is no number
    try:
        array = np.asarray(data)
    except ValueError:  # rows of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise PriorError(f"{name} must be one-dimensional: a list or array of numbers")
    if array.size == 0:
        raise PriorError(f"{name} is empty; give at least one number")
    if array.dtype.kind not in "iuf":
        array = np.array([_entry(name, i, entry) for i, entry in enumerate(data, start=1)])  # type: ignore[arg-type, var-annotated]
    result: Floats = array.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(result))
    if wrong.size:
        kind = "NaN" if math.isnan(result[wrong[0]]) else "infinite"
        raise PriorError(f"entry {wrong[0] + 1} of {name} is {kind}; drop it or give a finite number")
    return result


def _entry(name: str, place: int, entry: object) -> float:
    result = real(entry)
    if result is None:
        raise PriorError(f"entry {place} of {name} is not a number; drop it or convert it first")
    return result


def exp(x: float) -> float:
    """Return e^x, infinite where no float holds it."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def gamma(x: float) -> float:
    """Return Γ(x) for x > 0, infinite where no float holds it."""
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
