"""Ramps: probabilities that rise from nearly 0 to nearly 1 so slowly that one step more or less can hardly be told.

A ramp p_1..p_L costs the larger of the two hockey-stick divergences of ∏ Ber(e_j) and ∏ Ber(e_{j+1}), where
e = (0, p_1..p_L, 1); proof: ``agents/mirror.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from streamlearn.accounting.pld import LossDistribution
from streamlearn.errors import ParameterError, SizeError
from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF, as_float, check_epsilon

Point: TypeAlias = tuple[float, float]
"""The shape of a ramp as it is searched for: ln(p_1/δ), ln(growth/ε)."""
LONGEST = 1_000_000
"""The longest ramp that is looked for."""

_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 500.0
_MIRRORED = 2.0**-50  # a ramp this near to its mirror image is meant to be it
_ENUMERATED = 18  # a ramp up to this long is evaluated outcome by outcome
_POLISHED = 5_000  # up to this length the shape is tuned by certificates, too
_COARSE = 1 << 16  # cells of theirs
_STARTS = [(u, v) for u in np.linspace(-5.0, -0.4, 9).tolist() for v in np.linspace(-2.5, 0.0, 8).tolist()]
_CERTIFICATES = 40


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
    lower = [math.asin(math.sqrt(first))]
    while True:
        rise = math.exp(growth / 2) * math.sin(lower[-1])
        higher = math.asin(rise) if rise < 1.0 else math.inf
        if higher - lower[-1] >= step or higher >= math.pi / 4:
            break
        lower.append(higher)
    below = np.array(lower)
    width = math.pi / 2 - 2.0 * lower[-1]
    parts = max(1, math.ceil(width / step - 1e-12))
    middle = lower[-1] + width * np.arange(1, parts) / parts
    return np.asarray(np.sin(np.concatenate([below, middle, (math.pi / 2 - below)[::-1]])) ** 2)


def thresholds(ramp: Floats | Sequence[float]) -> tuple[int, ...]:
    """Return the probabilities of a ramp out of 2^64, each to the nearest; the upper half by its distance from 1.

    A ramp that is symmetric up to rounding becomes exactly symmetric.

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
    values = [float(p) for p in ramp]
    rounded = [
        round(math.ldexp(p, 64)) if p <= 0.5 else OUT_OF - round(math.ldexp(1.0 - p, 64)) for p in values
    ]
    if all(abs(p + q - 1.0) <= _MIRRORED for p, q in zip(values, reversed(values), strict=True)):
        for j in range(len(rounded) // 2):
            rounded[-1 - j] = OUT_OF - rounded[j]
        if len(rounded) % 2:
            rounded[len(rounded) // 2] = OUT_OF // 2
    return tuple(rounded)


def loss(levels: Sequence[int]) -> LossDistribution:
    """Return the privacy loss of ∏ Ber(e_j) against ∏ Ber(e_{j+1}) for thresholds out of 2^64.

    Parameters
    ----------
    levels
        2^64·p_1..2^64·p_L; e = (0, p_1..p_L, 1).

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> round(ramps.loss(ramps.thresholds([0.1, 0.2, 0.5, 0.9])).enumerate(0.5), 9)
    0.407453577
    """
    ends = (0, *levels, OUT_OF)
    laws = np.array([((OUT_OF - level) / OUT_OF, level / OUT_OF) for level in ends])
    return LossDistribution(laws[:-1], laws[1:])


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
    if any(low + high != OUT_OF for low, high in zip(levels, reversed(levels), strict=True)):
        directions.append(forward.reverse())
    if len(levels) <= _ENUMERATED:
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
        If no ramp up to ``LONGEST`` will do.

    Notes
    -----
    For one length, p_1 and the growth are chosen by a saddle-point estimate of δ; only the certificate decides.

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> ramps.shortest(1.0, 0.1).size
    10
    """
    check_target(epsilon, delta)
    best = np.array([0.5])
    if certified_delta(thresholds(best), epsilon) > delta:
        best = _search(epsilon, delta)
    best.setflags(write=False)
    return best


def check_target(epsilon: object, delta: object) -> None:
    """Refuse what no ramp can be asked for.

    Raises
    ------
    ParameterError
        Unless 1e-6 <= ε <= 500 and 2^-60 <= δ < 1.
    """
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


def _search(epsilon: float, delta: float) -> Floats:
    """Return the shortest ramp found: first the shape by an estimate, then, where it takes no time, by certificates."""
    point: Point | None = None

    def tuned(length: int) -> Point:
        nonlocal point
        point = _tuned(length, delta, epsilon, point)
        return point

    best = _between(epsilon, delta, max(2, round(1.05 * gaussian_floor(epsilon, delta))), tuned)
    if best is None:
        raise SizeError(
            f"no ramp for ({epsilon:g}, {delta:g}) of at most {LONGEST} rounds is certified; use a larger one"
        )
    if best.size > _POLISHED or point is None:
        return best
    sharper = _polished(best.size, epsilon, delta, point)
    shorter = _between(epsilon, delta, best.size, lambda _: sharper)
    return best if shorter is None or shorter.size >= best.size else shorter


def _between(epsilon: float, delta: float, length: int, shape: Callable[[int], Point]) -> Floats | None:
    """Return a certified ramp where the next shorter one is not certified, searched for from ``length`` on."""
    target = math.log(delta)
    failed, passed = (1, math.inf), (0, 0.0)  # lengths with the natural logarithm of their δ
    best = None
    for _ in range(_CERTIFICATES):
        if length > LONGEST:
            break
        ramp = _of_length(length, epsilon, delta, shape(length))
        fits = ramp.size <= length
        reached = math.log(certified_delta(thresholds(ramp), epsilon)) if fits else math.inf
        if reached <= target:
            best, passed = ramp, (ramp.size, reached)
        else:
            failed = (length, reached)
        if best is not None and passed[0] - failed[0] <= 1:
            break
        length = _next_length(failed, passed, target)
    return best


def _next_length(failed: tuple[int, float], passed: tuple[int, float], target: float) -> int:
    """Return a length at which the target may just be met: ln δ against ln L is nearly a line."""
    steepness = max(0.5, -0.7 * target)
    if not passed[0]:
        missing = min(failed[1] - target, 1.0)
        return max(failed[0] + 1, math.ceil(failed[0] * math.exp(missing / steepness)))
    if math.isinf(failed[1]):
        guess = math.floor(passed[0] * math.exp(1.02 * (passed[1] - target) / steepness)) - 1
    else:
        share = (failed[1] - target) / (failed[1] - passed[1])
        guess = math.ceil(failed[0] * (passed[0] / failed[0]) ** share)
    return min(max(guess, failed[0] + 1), passed[0] - 1)


def _of_length(length: int, epsilon: float, delta: float, point: Point) -> Floats:
    """Return the ramp of at most this length that ln p_1/δ and ln growth/ε make."""
    first, growth = delta * math.exp(point[0]), epsilon * math.exp(point[1])
    rises = min(math.floor(-math.log(2.0 * first) / growth) + 2, length)
    angles = np.arcsin(np.sqrt(np.minimum(first * np.exp(growth * np.arange(rises)), 1.0)))
    steps = np.diff(angles)
    most = int(np.searchsorted(angles, math.pi / 4))

    def size(step: float) -> int:
        lower = min(1 + int(np.searchsorted(steps, step)), most)
        width = math.pi / 2 - 2.0 * float(angles[lower - 1])
        return 2 * lower + max(1, math.ceil(width / step - 1e-12)) - 1

    low, high = math.log(1.0 / length), math.log(2.0)
    for _ in range(45):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(math.exp(middle)) > length else (low, middle)
    return build(first, growth, math.exp(high))


def _tuned(length: int, delta: float, epsilon: float, point: Point | None) -> Point:
    """Return the shape with the least estimate of δ at this length, near ``point`` or anywhere."""

    def cost(at: Point) -> float:
        return _estimate(_of_length(length, epsilon, delta, at), epsilon)

    guarded = _guarded(cost, length, epsilon, delta)
    return _descend(guarded, point or min(_STARTS, key=guarded), most=120)


def _polished(length: int, epsilon: float, delta: float, point: Point) -> Point:
    """Return the shape with the least certified δ at this length, near ``point``, on a coarse grid."""

    def cost(at: Point) -> float:
        return math.log(
            loss(thresholds(_of_length(length, epsilon, delta, at))).delta(epsilon, cells=_COARSE)
        )

    return _descend(_guarded(cost, length, epsilon, delta), point, most=20)


def _guarded(
    cost: Callable[[Point], float], length: int, epsilon: float, delta: float
) -> Callable[[Point], float]:
    """Return the cost with a wall around what makes no ramp of that length."""

    def guarded(at: Point) -> float:
        first, growth = delta * math.exp(at[0]), epsilon * math.exp(at[1])
        if not (-12.0 < at[0] < 0.0 and first < 0.45 and growth < 20.0 and at[1] > -6.0):
            return 1e9
        size = _of_length(length, epsilon, delta, at).size
        return cost(at) if size <= length else 1e3 + size

    return guarded


def _descend(cost: Callable[[Point], float], point: Point, most: int) -> Point:
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

    simplex = [point, (point[0] + 0.2, point[1]), (point[0], point[1] + 0.1)]
    options = {"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-5, "maxfev": most}
    found = minimize(
        lambda at: cost((float(at[0]), float(at[1]))), point, method="Nelder-Mead", options=options
    )
    return float(found.x[0]), float(found.x[1])


def _estimate(ramp: Floats, epsilon: float) -> float:
    """Return about ln δ(ε): the losses, tilted so that their mean is ε, as if normal."""
    from scipy.special import erfcx, expit  # noqa: PLC0415 - slow to import

    low, high = ramp[:-1], ramp[1:]
    yes, no = np.log(low / high), np.log((1.0 - low) / (1.0 - high))
    odds = np.log(low / (1.0 - low))
    apart = yes - no
    sure = math.fsum(no.tolist()) - math.log1p(-ramp[0])  # the loss if every answer is no
    order = 1.0
    for _ in range(60):
        weights = expit(odds + order * apart)
        variance = float((weights * (1.0 - weights) * apart**2).sum()) + 1e-300
        step = (epsilon - sure - float((weights * apart).sum())) / variance
        new = min(max(order + step, order / 4.0, 1e-6), order * 4.0)
        if abs(new - order) <= 1e-6 * order:
            break
        order = new
    log_moment = float((np.log1p(-low) + np.logaddexp(0.0, odds + order * apart)).sum()) + order * sure
    width = math.sqrt(variance / 2.0)
    normal = 0.5 * float(erfcx(order * width) - erfcx((order + 1.0) * width))
    finite = math.log(max(normal, 1e-300)) + log_moment - order * epsilon
    return float(np.logaddexp(min(finite, 700.0), math.log(1.0 - ramp[-1])))
