"""Ramps: probabilities that rise from nearly 0 to nearly 1 so slowly that one step more or less can hardly be told.

A ramp p_1..p_L costs the larger of the two hockey-stick divergences of ∏ Ber(e_j) and ∏ Ber(e_{j+1}), where
e = (0, p_1..p_L, 1); proof: ``agents/mirror.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from streamlearn.accounting.moments import Levels
from streamlearn.accounting.pld import LossDistribution
from streamlearn.errors import ParameterError
from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF, as_float, check_epsilon

LONGEST = 1_000_000
"""The longest ramp that is looked for."""

_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 500.0
_MIRRORED = 2.0**-50  # a ramp this near to its mirror image is meant to be it
ENUMERATED = 18  # a ramp up to this long is evaluated outcome by outcome


def build(first: float, growth: float, step: float) -> Floats:
    """Return a symmetric ramp: geometric at its ends, a quarter of a sine wave squared in the middle.

    With θ = arcsin √p, θ rises by at most ``step`` a round and p by at most the factor e^growth; the upper half
    mirrors the lower one, p_{L+1-j} = 1 - p_j.

    Parameters
    ----------
    first
        p_1, in (0, 1/2).
    growth
        The most that log p rises a round, above 0.
    step
        The most that θ rises a round, above 0; radians.

    Returns
    -------
    array of shape (L,)
        p_1..p_L, increasing.

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> ramp = ramps.build(0.1, 1.0, 0.3)
    >>> ramp.round(3).tolist()
    [0.1, 0.272, 0.5, 0.728, 0.9]
    """
    from streamlearn.accounting.rampsearch import Curve  # noqa: PLC0415 - it imports this module

    return Curve.of(first, growth, step).chances()


def thresholds(ramp: Floats | Sequence[float]) -> tuple[int, ...]:
    """Return the probabilities of a ramp out of 2^64, each to the nearest; the upper half by its distance from 1.

    A ramp that is symmetric up to rounding becomes exactly symmetric. What is nearer to 0 or 1 than to 2^-64 is moved
    to 2^-64 from it.

    Parameters
    ----------
    ramp
        p_1..p_L, each in [0, 1].

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> low, high = ramps.thresholds([0.1, 0.9])
    >>> low, low + high == 2**64
    (1844674407370955264, True)
    """
    values = np.asarray(ramp, dtype=np.float64)
    near = np.rint(np.maximum(np.minimum(values, 1.0 - values) * OUT_OF, 1.0)).astype(
        np.uint64
    )  # to the last digit
    upper = values > 0.5
    if np.all(np.abs(values + values[::-1] - 1.0) <= _MIRRORED):
        half = len(values) // 2
        near[len(values) - half :], upper[len(values) - half :] = near[:half][::-1], True
        near[half : len(values) - half] = OUT_OF // 2
    return tuple(np.where(upper, _complements(near), near).tolist())


def loss(levels: Sequence[int]) -> LossDistribution:
    """Return the privacy loss of ∏ Ber(e_j) against ∏ Ber(e_{j+1}) for thresholds out of 2^64.

    Parameters
    ----------
    levels
        2^64·p_1..2^64·p_L, each in 1..2^64 - 1; e = (0, p_1..p_L, 1).

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> round(ramps.loss(ramps.thresholds([0.1, 0.2, 0.5, 0.9])).enumerate(0.5), 9)
    0.407453577
    """
    inner = np.array(levels, dtype=np.uint64)
    laws = np.empty((2, len(inner) + 2))  # of no and of yes; each quotient is correctly rounded
    laws[:, 0], laws[:, -1] = (1.0, 0.0), (0.0, 1.0)
    laws[0, 1:-1], laws[1, 1:-1] = _complements(inner) / OUT_OF, inner / OUT_OF
    return LossDistribution(laws[:, :-1].T, laws[:, 1:].T)


def _complements(levels: Levels) -> Levels:
    """Return 2^64 less each of some integers in 1..2^64 - 1."""
    return np.uint64(0) - levels  # modulo 2^64


@lru_cache(maxsize=256)
def certified_delta(levels: tuple[int, ...], epsilon: float) -> float:
    """Return a certified δ(ε) of a ramp: the larger of both directions, exact to 1e-9 up to length 18.

    Parameters
    ----------
    levels
        The ramp out of 2^64, as :func:`thresholds` gives it.
    epsilon
        ε >= 0.

    Raises
    ------
    ParameterError
        If ε is no privacy level.

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> round(ramps.certified_delta(ramps.thresholds([0.1, 0.2, 0.5, 0.9]), 0.5), 9)
    0.407453577
    """
    forward = loss(levels)
    directions = [forward]
    whole = np.array(levels, dtype=np.uint64)
    if not np.array_equal(_complements(whole)[::-1], whole):
        directions.append(forward.reverse())
    if len(levels) <= ENUMERATED:
        return max(direction.enumerate(epsilon) for direction in directions)
    return max(direction.delta(epsilon) for direction in directions)


@lru_cache(maxsize=64)
def shortest(epsilon: float, delta: float) -> Floats:
    """Return the shortest ramp found in the family of :func:`build` whose rounded form is certified at (ε, δ).

    Parameters
    ----------
    epsilon, delta
        The target, 1e-6 <= ε <= 500 and 2^-60 <= δ < 1.

    Returns
    -------
    array of shape (L,)
        Increasing and symmetric; read-only, since it is remembered.

    Raises
    ------
    ParameterError
        If ε or δ is outside its bound.
    SizeError
        If none up to ``LONGEST`` is found.

    Notes
    -----
    For one length, p_1 and the growth are chosen by a saddle-point estimate of δ, or a coarse certificate where ramps
    are short; only the full certificate decides.

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> ramps.shortest(1.0, 0.1).size
    10
    """
    check_target(epsilon, delta)
    best = np.array([0.5])
    if certified_delta(thresholds(best), epsilon) > delta:
        from streamlearn.accounting.rampsearch import Search  # noqa: PLC0415 - it imports this module

        best = Search(epsilon, delta).run()
    best.setflags(write=False)
    return best


def check_target(epsilon: object, delta: object) -> None:
    """Raise ParameterError unless 1e-6 <= ε <= 500 and 2^-60 <= δ < 1."""
    level = check_epsilon(epsilon)
    if not _LEAST_EPSILON <= level <= _MOST_EPSILON:
        raise ParameterError(
            f"epsilon must lie in [{_LEAST_EPSILON:g}, {_MOST_EPSILON:g}] for a ramp, got {level}; take one in between"
        )
    least = as_float(delta)
    if least is None or not 2.0**-60 <= least < 1.0:
        raise ParameterError(
            f"delta must be a number in [2^-60, 1), got {delta!r}; chances are integers out of 2^64, take 1e-15 or more"
        )


def gaussian_floor(epsilon: float, delta: float) -> float:
    """Return π²/μ², μ the Gaussian-DP parameter of (ε, δ): about the length no long ramp gets below.

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> round(ramps.gaussian_floor(1.0, 1e-6))
    176
    """

    def gaussian(mu: float) -> float:
        tails = [math.erfc((epsilon / mu + sign * mu / 2.0) / math.sqrt(2.0)) / 2.0 for sign in (-1.0, 1.0)]
        return tails[0] - (math.exp(min(epsilon, 700.0)) * tails[1] if tails[1] else 0.0)

    low, high = 1e-9, 1e3
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian(middle) <= delta else (low, middle)
    return (math.pi / low) ** 2
