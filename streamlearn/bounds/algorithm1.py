"""What Algorithm 1's stream forces: the sum over stages in the proof of Theorem 1, for any p, ε and δ.

Proof: ``algorithm1.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from streamlearn.bounds.arguments import (
    Amounts,
    Constants,
    check_constants,
    each,
    insertion,
    privacy,
    real,
    rounds,
)
from streamlearn.priors.base import Floats

EPSILON_0 = 0.01
"""The ε of Theorem 1."""

MOST_DELTA = 0.25
"""The largest δ of Theorems 1 and 2."""

_ENOUGH = 0.25  # E[I_t] at which half of the informative examples are still mistakes


def stages(T: float) -> int:  # noqa: N803 - the paper's letter
    """Return L = ⌊log₃ T⌋, the stages of Algorithm 1 on T rounds, exactly.

    Parameters
    ----------
    T
        Rounds, at least 1; an integer may be of any size, a fraction is rounded down.

    Raises
    ------
    ParameterError
        If T is less than 1 or not finite.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.stages(3**40 - 1), bounds.stages(3**40)
    (39, 40)
    """
    left = rounds(T)
    count = max(0, math.floor((left.bit_length() - 1) * math.log(2, 3)) - 1)  # one less, for rounding
    while 3 ** (count + 1) <= left:
        count += 1
    return count


class Leak(NamedTuple):
    """E[I_t] <= square·p² + t·(cube·p³ + linear·p + mixed·p²): what t stages tell the learner about the bit B."""

    square: float
    cube: float
    linear: float
    mixed: float

    @classmethod
    def of(cls, epsilon: float, delta: float, constants: Constants) -> Leak:
        """Return the constants of a learner's privacy, in the range where they hold.

        Raises
        ------
        ParameterError
            If ε or δ is outside the range, or ``constants`` is unknown.

        Examples
        --------
        >>> from streamlearn.bounds.algorithm1 import Leak
        >>> Leak.of(0.01, 0.25, "paper")
        Leak(square=120.0, cube=40.0, linear=15.0, mixed=0.0)
        """
        check_constants(constants)
        if constants == "paper":
            real("epsilon", epsilon, 0.0, EPSILON_0, 'use constants="tight" for a larger one')
            level = real("delta", delta, 0.0, MOST_DELTA, 'use constants="tight" for a larger one')
            return cls(120.0, 40.0, 60.0 * level, 0.0)
        e, level = privacy(epsilon, delta)
        variance = 4.0 * math.sinh(e / 2) ** 2 * (1.0 + level)
        return cls(48.0 * variance, 16.0 * variance, 16.0 * level, 128.0 * math.sinh(e) * level)

    def after(self, completed: Floats, p: float) -> Floats:
        """Return the bound for each number of completed stages; before the first, nothing was told.

        Examples
        --------
        >>> import numpy as np
        >>> from streamlearn.bounds.algorithm1 import Leak
        >>> Leak(square=1.0, cube=2.0, linear=0.0, mixed=0.0).after(np.arange(3), 1.0).tolist()
        [0.0, 3.0, 5.0]
        """
        told = self.square * p**2 + completed * (self.cube * p**3 + self.linear * p + self.mixed * p**2)
        return np.where(completed == 0, 0.0, told)

    def mistakes(self, count: int, p: float) -> float:
        """Return Σ_{t<count} (p/6)·(1 - √E[I_t])⁺, or 1/2 on a stream too short for a stage.

        Examples
        --------
        >>> from streamlearn.bounds.algorithm1 import Leak
        >>> Leak(square=0.25, cube=0.0, linear=0.0, mixed=0.0).mistakes(3, 1.0)
        0.3333333333333333
        """
        if count == 0:
            return 0.5
        told = self.after(np.arange(count, dtype=np.float64), p)
        return float(p / 6 * np.sum(1 - np.sqrt(np.minimum(told, 1.0))))

    def probability(self, count: int) -> float:
        """Return the largest p <= 1 with E[I_t] <= 1/4 at each of ``count`` stages.

        Examples
        --------
        >>> from streamlearn.bounds.algorithm1 import Leak
        >>> Leak(square=1.0, cube=0.0, linear=0.0, mixed=0.0).probability(2)
        0.5
        """
        return largest(lambda p: count < 2 or float(self.after(np.array([count - 1.0]), p)[0]) <= _ENOUGH)


def largest(fits: Callable[[float], bool]) -> float:
    """Return the largest double in (0, 1] that fits, of a condition that holds up to some point.

    Examples
    --------
    >>> from streamlearn.bounds.algorithm1 import largest
    >>> largest(lambda p: 4 * p <= 1)
    0.25
    """
    if fits(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def leakage(
    T: float,  # noqa: N803 - the paper's letter
    p: float,
    *,
    epsilon: float = EPSILON_0,
    delta: float = 0.0,
    constants: Constants = "tight",
) -> Floats:
    """Return the proof's bound on E[I_t], what the first t stages tell a private learner about the bit B.

    Parameters
    ----------
    T
        Rounds.
    p
        Algorithm 1's insertion probability, in (0, 1].
    epsilon, delta
        The learner's privacy.
    constants
        ``"paper"``: 120p² + 40tp³ + 60tpδ, as (1) in Section 2.1, for ε <= 1/100 and δ <= 1/4. ``"tight"``:
        48vp² + t(16vp³ + 16pδ + 128p²δ·sinh ε) with v = (1+δ)·4·sinh²(ε/2), for every ε.

    Returns
    -------
    array, shape (L,)
        For t = 0..L-1, where L = ⌊log₃ T⌋.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.leakage(27, 0.01, constants="paper").round(6).tolist()
    [0.0, 0.01204, 0.01208]
    """
    leak = Leak.of(epsilon, delta, constants)
    return leak.after(np.arange(stages(T), dtype=np.float64), insertion(p))


def paper_probability(
    T: Amounts,  # noqa: N803 - the paper's letter
    *,
    epsilon: Amounts = EPSILON_0,
    delta: Amounts = 0.0,
    constants: Constants = "tight",
) -> Any:
    """Return the paper's insertion probability: the largest p at which no stage's E[I_t] can pass 1/4.

    The paper writes p = c₀·min{L^(-1/3), 1/(δL)} and asks for c₀ so small that E[I_t] <= 1/4 at every stage. This
    p is never smaller than that, and needs no c₀.

    Parameters
    ----------
    T
        Rounds.
    epsilon, delta, constants
        As for :func:`leakage`.

    Returns
    -------
    float or array
        p in (0, 1].

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.paper_probability(3**20), round(bounds.paper_probability(3**20, delta=0.05), 4)
    (1.0, 0.0164)
    >>> round(bounds.paper_probability(3**20, constants="paper"), 4)
    0.0407
    """

    def rule(T: float, epsilon: float, delta: float) -> float:  # noqa: N803 - as above
        return Leak.of(epsilon, delta, constants).probability(stages(T))

    return each(rule, T, epsilon, delta)


def algorithm1_lower(
    T: Amounts,  # noqa: N803 - the paper's letter
    p: Amounts = None,
    *,
    epsilon: Amounts = EPSILON_0,
    delta: Amounts = 0.0,
    constants: Constants = "tight",
) -> Any:
    """Return the mistakes on informative rounds that Algorithm 1's stream forces, in expectation.

    Σ_{t<L} (p/6)·(1 - √E[I_t])⁺: Lemma 1 summed over the stages, with the bounds of :func:`leakage`. With the paper's
    p no term is below p/12, and the sum is at least the paper's Lp/12.

    Parameters
    ----------
    T
        Rounds.
    p
        Algorithm 1's insertion probability; None: :func:`paper_probability`.
    epsilon, delta, constants
        As for :func:`leakage`. It holds for every (ε, δ)-private online learner, of POINT3 and of any class with a
        dummy example that leaves both labels open at another point.

    Returns
    -------
    float or array
        1/2 below three rounds: the first one is then informative.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> round(bounds.algorithm1_lower(3**20, 1.0), 3), round(bounds.algorithm1_lower(3**20, constants="paper"), 3)
    (2.888, 0.074)
    """

    def rule(T: float, p: float | None, epsilon: float, delta: float) -> float:  # noqa: N803 - as above
        leak = Leak.of(epsilon, delta, constants)
        count = stages(T)
        return leak.mistakes(count, leak.probability(count) if p is None else insertion(p))

    return each(rule, T, p, epsilon, delta)


def theorem1_lower(T: Amounts, *, delta: Amounts = 0.0, constants: Constants = "tight") -> Any:  # noqa: N803
    """Return Theorem 1's closed form c·min{(log 2T)^(2/3), 1/δ}, with the c its proof gives, at ε = 1/100.

    c = c₀/12·(log 16)^(-2/3): with p = c₀·min{L^(-1/3), 1/(δL)} the stages give Lp/12, where c₀ is the largest at
    which E[I_t] <= 1/4 for every L and δ; and L/log 2T is smallest at T = 8. This is the shape to compare rates
    with; :func:`point3_lower` is larger.

    Parameters
    ----------
    T
        Rounds.
    delta
        0 <= δ <= 1/4.
    constants
        As for :func:`leakage`; c is 1.7e-4 with the paper's, 6.6e-4 with the tight ones.

    Returns
    -------
    float or array

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> round(bounds.theorem1_lower(3**1000, constants="paper"), 4), round(bounds.theorem1_lower(3**1000), 4)
    (0.0186, 0.0702)
    """
    check_constants(constants)

    def rule(T: float, delta: float) -> float:  # noqa: N803 - the paper's letter
        level = real("delta", delta, 0.0, MOST_DELTA, "Theorem 1 says nothing beyond")
        least = min(math.log(2 * rounds(T)) ** (2 / 3), math.inf if level == 0 else 1 / level)
        return float(_theorem1_constant(constants) * least)

    return each(rule, T, delta)


@lru_cache
def _theorem1_constant(constants: Constants) -> float:
    # At p = c₀·min{L^(-1/3), 1/(δL)}: p² <= c₀², Lp³ <= c₀³, Lδp <= c₀ and Lδp² <= c₀².
    at_most = Leak.of(EPSILON_0, MOST_DELTA, constants)
    at_one = at_most._replace(linear=at_most.linear / MOST_DELTA, mixed=at_most.mixed / MOST_DELTA)
    c0 = largest(lambda c: float(at_one.after(np.ones(1), c)[0]) <= _ENOUGH)
    return float(c0 / 12 / math.log(16) ** (2 / 3))
