"""How much the best stopper loses in the worst case: every competitive ratio of the stopping paper in closed form.

Of n persons, x_i = e^(-ε_i) is how far person i's report lies. W is the best stopper under ε-LDP, V the best without
privacy, M the prophet who sees all values, L the one who sees all reports, B the one who sees all reports of one bit.

==========================  ===================================================  ===============================
ratio                       its smallest value over all instances of n persons   source
==========================  ===================================================  ===============================
:func:`v_over_m`            1/2                                                  Krengel and Sucheston
:func:`w_over_v`            1/(1 + Σ_{i<n} x_i)                                  Theorem 5.1, Corollary 5.5
:func:`w_over_m`            1/(2 + Σ_{i<n} x_i - min_{i<n} x_i)                  ours: closes Proposition 5.6
:func:`w_over_l`, `_b`      (1 + min_{i>1} x_i)/2                                Theorem 6.3; ε_i ours
==========================  ===================================================  ===============================

All but the second are for n >= 2; at n = 1 every ratio is 1. Proof: ``ratios.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from typing import Final, NamedTuple, TypeAlias

from streamlearn.bounds.arguments import real, whole
from streamlearn.errors import ParameterError
from streamlearn.rounding import check_epsilon, check_epsilons

Levels: TypeAlias = float | Sequence[float]
"""One privacy level for everybody, or one per person."""

MOST_PERSONS: Final = 2**53
"""A double counts so far."""


class _Lies(NamedTuple):
    """What the bounds need of x_i = e^(-ε_i), n >= 2: Σ_{i<n} x_i, that without its least term, min_{i>1} x_i."""

    total: float
    total_but_least: float
    least_after_first: float


def v_over_m(n: int) -> float:
    """Return the worst V/M, the best stopper without privacy against the prophet: 1/2, and 1 for one person.

    Parameters
    ----------
    n
        Persons.

    Raises
    ------
    ParameterError
        If n is not a whole number >= 1.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.v_over_m(1), bounds.v_over_m(10)
    (1.0, 0.5)
    """
    return 1.0 if persons(n) == 1 else 0.5


def w_over_v(n: int, epsilon: Levels) -> float:
    """Return the worst W/V, what privacy costs the best stopper: e^ε/(n - 1 + e^ε) (Theorem 5.1, Corollary 5.5).

    Parameters
    ----------
    n
        Persons.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞. The last person's does not matter.

    Raises
    ------
    ParameterError
        If n is not a whole number >= 1, or a level is not a number >= 0, or there are not n of them.

    Examples
    --------
    >>> import math
    >>> from streamlearn import bounds
    >>> bounds.w_over_v(10, 0.0), bounds.w_over_v(10, math.inf), bounds.w_over_v(3, [0.0, math.inf, 1.0])
    (0.1, 1.0, 0.5)
    """
    lies = _lies(n, epsilon)
    return 1.0 if lies is None else 1.0 / (1.0 + lies.total)


def w_over_m(n: int, epsilon: Levels) -> float:
    """Return the worst W/M, the best private stopper against the prophet: e^ε/(2e^ε + n - 2) (ours).

    The paper leaves it between :func:`prop56_lower` and :func:`prop56_upper`; it is the latter. With one level per
    person it is 1/(2 + Σ_{i<n} x_i - min_{i<n} x_i).

    Parameters
    ----------
    n
        Persons.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞. The last person's does not matter.

    Raises
    ------
    ParameterError
        As :func:`w_over_v`.

    Examples
    --------
    >>> import math
    >>> from streamlearn import bounds
    >>> bounds.w_over_m(10, 0.0), bounds.w_over_m(10, math.inf), bounds.w_over_m(3, [0.0, math.inf, 1.0])
    (0.1, 0.5, 0.3333333333333333)
    """
    lies = _lies(n, epsilon)
    return 1.0 if lies is None else 1.0 / (2.0 + lies.total_but_least)


def prop56_lower(n: int, epsilon: float) -> float:
    """Return the lower bound on W/M that Proposition 5.6 proves: 1/n or e^ε/(2e^ε - 2 + 2n), the larger.

    Parameters
    ----------
    n
        Persons.
    epsilon
        The privacy level of everybody, 0 <= ε <= ∞.

    Raises
    ------
    ParameterError
        If n is not a whole number >= 1, or ε is not a number >= 0.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.prop56_lower(10, 0.0), bounds.prop56_lower(10, 0.0) == bounds.w_over_m(10, 0.0)
    (0.1, True)
    """
    count, x = persons(n), math.exp(-check_epsilon(epsilon))
    return max(1.0 / count, 1.0 / (2.0 + 2.0 * (count - 1) * x))


def prop56_upper(n: int, epsilon: float) -> float:
    """Return the upper bound on the worst W/M of Proposition 5.6: e^ε/(2e^ε - 2 + n).

    Parameters
    ----------
    n
        Persons, at least 2.
    epsilon
        The privacy level of everybody, 0 <= ε <= ∞.

    Raises
    ------
    ParameterError
        If n is not a whole number >= 2 (the proposition is false at n = 1), or ε is not a number >= 0.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.prop56_upper(10, 1.0) == bounds.w_over_m(10, 1.0)
    True
    """
    count = persons(n, least=2)
    return 1.0 / (2.0 + (count - 2) * math.exp(-check_epsilon(epsilon)))


def w_over_l(n: int, epsilon: Levels) -> float:
    """Return the worst W/L, online against a prophet who sees all private reports: (1 + e^(-ε))/2 (Theorem 6.3).

    With one level per person ε is the largest of persons 2..n (ours).

    Parameters
    ----------
    n
        Persons.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞. The first person's does not matter.

    Raises
    ------
    ParameterError
        As :func:`w_over_v`.

    Examples
    --------
    >>> import math
    >>> from streamlearn import bounds
    >>> bounds.w_over_l(1, 1.0), bounds.w_over_l(9, 0.0), bounds.w_over_l(9, math.inf)
    (1.0, 1.0, 0.5)
    >>> bounds.w_over_l(2, [math.inf, 0.0])
    1.0
    """
    lies = _lies(n, epsilon)
    return 1.0 if lies is None else 0.5 * (1.0 + lies.least_after_first)


def w_over_b(n: int, epsilon: Levels) -> float:
    """Return the worst W/B, where the prophet's reports are single bits; it is that of W/L (Remark 1).

    Parameters
    ----------
    n, epsilon
        As for :func:`w_over_l`.

    Raises
    ------
    ParameterError
        As :func:`w_over_v`.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.w_over_b(9, 1.0) == bounds.w_over_l(9, 1.0)
    True
    """
    return w_over_l(n, epsilon)


def private_prophet_upper(first: float, second: float, epsilon: float) -> float:
    """Return W_1 + tanh(ε/2)·W_2, which no private prophet exceeds, interactive or not (ours).

    It is never more than 2W_1/(1 + e^(-ε)), the bound of Theorem 6.3, and costs one backward recursion.

    Parameters
    ----------
    first, second
        W_1 and W_2, what the best stopper gets from person 1 on and from person 2 on.
    epsilon
        The largest privacy level of persons 2..n, 0 <= ε <= ∞.

    Raises
    ------
    ParameterError
        If a value is negative or not finite, the second exceeds the first, or ε is not a number >= 0.

    Examples
    --------
    >>> import math
    >>> from streamlearn import bounds
    >>> bounds.private_prophet_upper(1.0, 1.0, math.inf), bounds.private_prophet_upper(1.0, 0.0, math.inf)
    (2.0, 1.0)
    """
    most = real("first", first, 0.0, math.inf, "it is W_1")
    if math.isinf(most):
        raise ParameterError("first must be finite, got inf; it is W_1")
    after = real("second", second, 0.0, most, "it is W_2, at most W_1")
    return most + math.tanh(0.5 * check_epsilon(epsilon)) * after


def persons(n: object, least: int = 1) -> int:
    """Return a number of persons.

    Raises
    ------
    ParameterError
        If it is no whole number from ``least`` to 2^53.

    Examples
    --------
    >>> from streamlearn.bounds.ratios import persons
    >>> persons(3)
    3
    """
    count = whole("n", n, least, "it is a number of persons")
    if count > MOST_PERSONS:
        raise ParameterError("n must be at most 2^53 persons, which a double can count; take fewer")
    return count


def levels(n: int, epsilon: Levels) -> list[float]:
    """Return the privacy level of each of n persons.

    Raises
    ------
    ParameterError
        If a level is not a number >= 0, or there are not n of them.

    Examples
    --------
    >>> from streamlearn.bounds.ratios import levels
    >>> levels(2, 1.0), levels(2, [1.0, 0.5])
    ([1.0, 1.0], [1.0, 0.5])
    """
    count = entries(epsilon)
    if count not in {None, n}:
        raise ParameterError(
            f"epsilon has {count} entries and n is {n}; give one number for everybody or one per person"
        )
    return check_epsilons(epsilon, n)


def entries(epsilon: object) -> int | None:
    """Return how many levels a list or array has, None for what is neither.

    Examples
    --------
    >>> from streamlearn.bounds.ratios import entries
    >>> entries([1.0, 0.5]), entries(1.0)
    (2, None)
    """
    if isinstance(epsilon, str) or not isinstance(epsilon, Sized) or getattr(epsilon, "ndim", 1) == 0:
        return None
    return len(epsilon)


def _lies(n: int, epsilon: Levels) -> _Lies | None:
    """Return what the bounds need, None for one person."""
    count = persons(n)
    if entries(epsilon) is None:  # so that millions of persons need no list
        x = math.exp(-check_epsilon(epsilon))
        return None if count == 1 else _Lies((count - 1) * x, (count - 2) * x, x)
    lies = [math.exp(-level) for level in levels(count, epsilon)]
    if count == 1:
        return None
    before_last = sorted(lies[:-1])
    return _Lies(math.fsum(before_last), math.fsum(before_last[1:]), min(lies[1:]))
