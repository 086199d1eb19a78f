"""What a bound may be asked: its arguments, checked, one by one or as arrays."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from streamlearn.errors import ParameterError
from streamlearn.rounding import as_float

Constants = Literal["paper", "tight"]
Amounts: TypeAlias = Any
"""A number or an array of numbers."""

MOST_EPSILON = 300.0
"""e^(2ε) must fit a double."""


def each(rule: Callable[..., float], *arguments: Amounts) -> Any:
    """Apply a rule for numbers to numbers or, element by element, to arrays.

    Examples
    --------
    >>> from streamlearn.bounds.arguments import each
    >>> each(lambda a, b: a + b, 1.0, 2.0), each(lambda a, b: a + b, 1.0, [2.0, 3.0]).tolist()
    (3.0, [3.0, 4.0])
    """
    if all(np.ndim(argument) == 0 for argument in arguments):
        return rule(*arguments)
    # As objects, so that integers beyond 2^64 stay exact.
    return np.vectorize(rule, otypes=[float])(*(np.array(it, dtype=object) for it in arguments))


def rounds(T: object) -> int:  # noqa: N803 - the paper's letter
    """Return a number of rounds as an integer; a fraction is rounded down.

    Raises
    ------
    ParameterError
        If it is less than 1, not finite or not a number.

    Examples
    --------
    >>> from streamlearn.bounds.arguments import rounds
    >>> rounds(3**100) == 3**100, rounds(1e3)
    (True, 1000)
    """
    if isinstance(T, int | np.integer) and not isinstance(T, bool):  # of any size, kept exact
        count = int(T)
    else:
        number = as_float(T)
        if number is None or not math.isfinite(number):
            raise ParameterError(f"T must be a finite number of rounds, got {T!r}")
        count = math.floor(number)
    if count < 1:
        raise ParameterError(f"T must be at least 1 round, got {T}")
    return count


def real(name: str, value: object, low: float, high: float, remedy: str) -> float:
    """Return a real number from a closed interval.

    Raises
    ------
    ParameterError
        If it lies outside, or is no number.

    Examples
    --------
    >>> from streamlearn.bounds.arguments import real
    >>> real("gamma", 1, 0.0, 1.0, "it is a probability")
    1.0
    """
    number = as_float(value)
    if number is None or not low <= number <= high:
        raise ParameterError(f"{name} must be a number in [{low:g}, {high:g}], got {value!r}; {remedy}")
    return number


def whole(name: str, value: object, least: int, remedy: str) -> int:
    """Return a whole number that is at least ``least``.

    Raises
    ------
    ParameterError
        If it is less, or no whole number.

    Examples
    --------
    >>> from streamlearn.bounds.arguments import whole
    >>> whole("d", 3, 0, "it is a dimension")
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise ParameterError(f"{name} must be a whole number >= {least}, got {value!r}; {remedy}")
    return int(value)


def privacy(epsilon: object, delta: object) -> tuple[float, float]:
    """Return (ε, δ) where the tight constants hold.

    Raises
    ------
    ParameterError
        If ε is outside [0, 300] or δ outside [0, 1].

    Examples
    --------
    >>> from streamlearn.bounds.arguments import privacy
    >>> privacy(1, 0)
    (1.0, 0.0)
    """
    return (
        real("epsilon", epsilon, 0.0, MOST_EPSILON, "larger values are no privacy"),
        real("delta", delta, 0.0, 1.0, "it is the probability of no privacy"),
    )


def check_constants(constants: object) -> None:
    """Refuse constants that are neither the paper's nor the tight ones.

    Raises
    ------
    ParameterError
        If so.

    Examples
    --------
    >>> from streamlearn.bounds.arguments import check_constants
    >>> check_constants("paper")
    """
    if constants not in get_args(Constants):
        raise ParameterError(f'constants must be "paper" or "tight", got {constants!r}')


def insertion(p: object) -> float:
    """Return Algorithm 1's insertion probability.

    Raises
    ------
    ParameterError
        If it is outside (0, 1].

    Examples
    --------
    >>> from streamlearn.bounds.arguments import insertion
    >>> insertion(1)
    1.0
    """
    number = as_float(p)
    if number is None or not 0.0 < number <= 1.0:
        raise ParameterError(f"p must lie in (0, 1], got {p!r}; None is the paper's choice")
    return number
