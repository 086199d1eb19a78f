"""What following the better of two predictors costs in privacy (Algorithm 4), certified.

Each round of the rule is embedded in a Brownian motion: its answer tells no more than the motion does up to a
stopping time, so all rounds together tell no more than the motion up to a total time, and that is small but for a
small probability. Proof: ``combine.proof.md``, Privacy, beside :class:`streamlearn.agents.Combine`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from streamlearn.errors import ParameterError
from streamlearn.rounding import as_float, check_epsilon

LARGEST_DELAY = 2**50
_TERMS = 80
_LARGEST_ANGLE = 1.2
_SAFETY = 1e-9  # relative; the floats below err by under 1e-12
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def rule_delta(D: int, epsilon: float, max_delay: int = 0) -> float:  # noqa: N803 - the paper's name
    """Return a δ at which the combining rule alone is (ε, δ)-jointly private.

    Parameters
    ----------
    D
        What both counters start from, at least 1.
    epsilon
        ε >= 0.
    max_delay
        P: how many rounds late a label may be.

    Returns
    -------
    float
        Certified, in [0, 1]; at most some percent above what an exact accountant of the worst stream would give
        at large D.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.accounting import combining
    >>> combining.rule_delta(226, 0.5) <= 0.5e-3 < combining.rule_delta(225, 0.5)
    True
    """
    delay, level, late = check_delay(D), check_epsilon(epsilon), _check_late(max_delay)
    if math.isinf(level):
        return 0.0
    start = 16.0 / (2 * delay + 0.5) + 16.0 * late / (2 * delay + 1) ** 2

    def bound(excess: float) -> float:
        time = start * math.exp(excess)
        return _gaussian_delta(level, time) + _late_chance(delay, time, late)

    return min(1.0, _least(bound, 0.0, 4.0))


def rule_epsilon(D: int, delta: float, max_delay: int = 0) -> float:  # noqa: N803 - the paper's name
    """Return an ε at which the combining rule alone is (ε, δ)-jointly private, the smallest certified here.

    Parameters
    ----------
    D, max_delay
        As for :func:`rule_delta`.
    delta
        0 < δ < 1.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.accounting import combining
    >>> round(combining.rule_epsilon(609, 0.5e-6), 2)
    0.5
    """
    return _rule_epsilon(check_delay(D), check_delta(delta), _check_late(max_delay))


@lru_cache(maxsize=1024)
def _rule_epsilon(D: int, delta: float, max_delay: int) -> float:  # noqa: N803 - as above
    low, high = 0.0, 1.0
    while rule_delta(D, high, max_delay) > delta:
        if high > 500.0:
            return math.inf
        low, high = high, 2.0 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2.0
        if rule_delta(D, middle, max_delay) > delta:
            low = middle
        else:
            high = middle
    return high


def smallest_delay(epsilon: float, delta: float, max_delay: int = 0) -> int:
    """Return the smallest D for which the rule alone is certified (ε, δ)-jointly private.

    Parameters
    ----------
    epsilon, delta
        ε >= 0 and 0 < δ < 1, of the rule alone.
    max_delay
        As for :func:`rule_delta`.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or so small that D would exceed ``LARGEST_DELAY``.

    Examples
    --------
    >>> from streamlearn.accounting import combining
    >>> combining.smallest_delay(0.5, 0.5e-6)
    609
    """
    return _smallest_delay(check_epsilon(epsilon), check_delta(delta), _check_late(max_delay))


@lru_cache(maxsize=1024)
def _smallest_delay(epsilon: float, delta: float, max_delay: int) -> int:
    low, high = 0, 1
    while rule_delta(high, epsilon, max_delay) > delta:
        low, high = high, 2 * high
        if high > LARGEST_DELAY:
            raise ParameterError(
                f"epsilon = {epsilon!r} and delta = {delta!r} need a delay above {LARGEST_DELAY}; allow more"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if rule_delta(middle, epsilon, max_delay) > delta:
            low = middle
        else:
            high = middle
    return high


def expected_bound(mistakes: int, D: int, max_delay: int = 0) -> int:  # noqa: N803 - the paper's name
    """Return the most mistakes the rule is expected to make: 3·mistakes + 2D + P (Lemma 13, with late labels).

    Parameters
    ----------
    mistakes
        Those of the better of the two predictors.
    D, max_delay
        As for :func:`rule_delta`.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.accounting import combining
    >>> combining.expected_bound(3, 226)
    461
    """
    made = plain(mistakes)
    if isinstance(made, bool) or not isinstance(made, int) or made < 0:
        raise ParameterError(f"mistakes must be a whole number >= 0, got {mistakes!r}; count those made")
    return 3 * made + 2 * check_delay(D) + _check_late(max_delay)


def plain(number: Any) -> Any:
    """Return a scalar of numpy's as Python's own, and anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.accounting.combining import plain
    >>> plain(np.int64(3)), plain(np.float64(0.5)), plain("3")
    (3, 0.5, '3')
    """
    return number.item() if isinstance(number, np.generic) else number


def check_delay(delay: object) -> int:
    """Return a D that is one.

    Raises
    ------
    ParameterError
        If it is no whole number >= 1, or is above ``LARGEST_DELAY``.

    Examples
    --------
    >>> from streamlearn.accounting.combining import check_delay
    >>> check_delay(4)
    4
    """
    number = plain(delay)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= LARGEST_DELAY:
        raise ParameterError(f"D must be a whole number in 1..{LARGEST_DELAY}, got {delay!r}; try 1000")
    return number


def check_delta(delta: object) -> float:
    """Return a δ that is one.

    Raises
    ------
    ParameterError
        If it is no number strictly between 0 and 1.

    Examples
    --------
    >>> from streamlearn.accounting.combining import check_delta
    >>> check_delta(1e-6)
    1e-06
    """
    level = as_float(delta)
    if level is None or not 0.0 < level < 1.0:
        raise ParameterError(f"delta must lie strictly between 0 and 1, got {delta!r}; try 1e-6")
    return level


def _check_late(max_delay: object) -> int:
    late = plain(max_delay)
    if isinstance(late, bool) or not isinstance(late, int) or not 0 <= late <= LARGEST_DELAY:
        raise ParameterError(
            f"max_delay must be a whole number in 0..{LARGEST_DELAY}, got {max_delay!r}; 0 is prompt"
        )
    return late


def _gaussian_delta(epsilon: float, time: float) -> float:
    """Return what a Brownian motion observed for some time, one drift against the other, gives away at ε."""
    from scipy.special import log_ndtr, ndtr  # noqa: PLC0415 - costs 120 ms

    mu = math.sqrt(time)
    above = float(ndtr(mu / 2.0 - epsilon / mu))
    below = math.exp(min(0.0, epsilon + float(log_ndtr(-mu / 2.0 - epsilon / mu))))
    return max(0.0, above - below) * (1.0 + _SAFETY) + 1e-13 * above


def _late_chance(delay: int, time: float, late: int) -> float:
    """Return a bound on the chance that all rounds together take longer than some time."""
    exponent = _least(
        lambda omega: _log_moment(delay, omega, late) - (0.125 + omega * omega / 2.0) * time,
        0.0,
        _largest_omega(delay),
    )
    return math.exp(min(0.0, exponent)) * (1.0 + _SAFETY)


def _largest_omega(delay: int) -> float:
    """Return the largest ω for which the proof's two conditions hold, and a little less."""
    balanced_is_worst = (
        (1.0 - (2 * delay + 1) ** -2) * math.pi / math.sqrt(8.0) / (2.0 * math.log1p(1.0 / delay))
    )
    sums_converge = _LARGEST_ANGLE * (2 * delay + 0.5) / _scale(delay)
    return 0.999 * min(balanced_is_worst, sums_converge)


def _scale(delay: int) -> float:
    """Return 4c: round n of the proof has Y = 4c/n."""
    return 4.0 * math.sqrt(1.0 + 1.0 / delay**2)


def _log_moment(delay: int, omega: float, late: int) -> float:
    """Return a bound on ln E exp((1/8 + ω²/2)·τ) for the time τ that all rounds take together."""
    d = 1.0 / delay
    scale = _scale(delay)
    start = 2 * delay + 0.5
    many = scale * omega * _integral(scale * omega / start)
    most = -math.log(math.cos(scale * omega / (2 * delay + 1)))
    squares = scale * scale * (1.0 / start + late / (2 * delay + 1) ** 2)
    return (1.0 + d + d * d / 2.0) * (many + late * most) + (1.0 + d) ** 2 * squares / 8.0


@lru_cache(maxsize=1)
def _coefficients() -> tuple[np.ndarray, np.ndarray]:
    """Return exponents 2k - 1 and c_k/(2k - 1), where -ln cos y = Σ c_k y^{2k}."""
    from scipy.special import zeta  # noqa: PLC0415 - costs 120 ms

    k = np.arange(1, _TERMS)
    c = (2.0 / math.pi) ** (2 * k) * (1.0 - 2.0 ** (-2.0 * k)) * zeta(2.0 * k) / k
    return 2 * k - 1, c / (2 * k - 1)


def _integral(y: float) -> float:
    """Return ∫_0^y -ln cos(v)/v² dv for 0 <= y <= 1.2; the terms left out are below 1e-18 of it."""
    exponents, coefficients = _coefficients()
    return float(np.dot(coefficients, y**exponents)) * (1.0 + _SAFETY)


def _least(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value of f that a golden-section search meets; any value met is a valid bound."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    least = min(at_left, at_right)
    for _ in range(32):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = f(right)
        least = min(least, at_left, at_right)
    return least
