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

from streamlearn.accounting.pld import MOST_CELLS, LossDistribution, estimate
from streamlearn.errors import ParameterError, SizeError
from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF, as_float, check_epsilon

Point: TypeAlias = tuple[float, float]
"""The shape of a ramp as it is searched for: ln(p_1/δ), ln(growth/ε), with ε at most ``_STEEP``."""
Trial: TypeAlias = tuple[int, float]  # a length and the natural logarithm of its δ
LONGEST = 1_000_000
"""The longest ramp that is looked for."""

_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 500.0
_MIRRORED = 2.0**-50  # a ramp this near to its mirror image is meant to be it
_ENUMERATED = 18  # a ramp up to this long is evaluated outcome by outcome
_STEEP = 60.0  # no ramp for a larger ε grows faster
_COUNTED = 40.0  # where the Gaussian floor is below it, shapes are compared by certificates
_POLISHED = 5_000  # up to this length the shape is tuned by certificates, too
_COARSE, _COARSER = 1 << 16, 1 << 14  # cells of theirs
_STARTS = [(u, v) for u in (-5.0, -3.0, -1.5, -0.6, -0.1) for v in (-2.2, -1.6, -1.1, -0.6, -0.1)]
_GUESSES, _CERTIFICATES, _HOPEFUL = 12, 40, 0.7  # tries; a shape that near to ln δ may be tuned to reach it


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
    angles, steps, most = _angles(first, growth, math.inf)
    lower, parts = _rounds(angles, steps, most, step)
    below = angles[:lower]
    middle = below[-1] + (math.pi / 2 - 2.0 * below[-1]) * np.arange(1, parts) / parts
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
        best = _Search(epsilon, delta).run()
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


def _angles(first: float, growth: float, length: float) -> tuple[Floats, Floats, int]:
    """Return θ of a geometric rise up to a little above π/4, its steps (which rise), and how many θ lie below π/4."""
    rises = int(min(math.floor(-math.log(2.0 * first) / growth) + 2, length))
    logs = math.log(first) + growth * np.arange(rises)
    angles = np.arcsin(np.exp(np.minimum(logs, 0.0) / 2.0))
    return angles, np.diff(angles), int(np.searchsorted(angles, math.pi / 4))


def _rounds(angles: Floats, steps: Floats, most: int, step: float) -> tuple[int, int]:
    """Return on how many rounds a ramp rises geometrically, and how many steps it takes in the middle."""
    lower = min(1 + int(np.searchsorted(steps, step)), most)
    return lower, max(1, math.ceil((math.pi / 2 - 2.0 * float(angles[lower - 1])) / step - 1e-12))


class _Search:
    """One search for a short ramp: what was tried at which length."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.target = math.log(delta) - 1e-12  # more than a logarithm is off by
        self.floor = gaussian_floor(epsilon, delta)
        self.steepness = max(0.5, -0.5 * self.target)  # about -d ln δ/d ln L
        self.point: Point | None = None
        self.tuned: dict[int, tuple[Point, float]] = {}

    def run(self) -> Floats:
        """Return the shortest ramp found, for a low floor by certificates, else by a guess at δ first."""
        best = None
        if self.floor <= _COUNTED:
            best = self._counted()
        elif self.floor <= LONGEST:
            best = self._between(*self._guessed(), lambda length: self._shape(length)[0])
        if best is None:
            raise SizeError(
                f"no ramp of at most {LONGEST} rounds for ({self.epsilon:g}, {self.delta:g}); raise one"
            )
        if best.size > _POLISHED or self.point is None:
            return best
        guarded = self._guarded(best.size, lambda ramp: self._reached(ramp, _COARSE))
        sharper = _descend(guarded, self.point, most=20)
        shorter = self._between(best.size, self.steepness, lambda _: sharper)
        return best if shorter is None or shorter.size >= best.size else shorter

    def _reached(self, ramp: Floats, cells: int = MOST_CELLS) -> float:
        """Return ln δ, certified; in full by default."""
        levels = thresholds(ramp)
        full = cells == MOST_CELLS or len(levels) <= _ENUMERATED
        reached = (
            certified_delta(levels, self.epsilon) if full else loss(levels).delta(self.epsilon, cells=cells)
        )
        return math.log(max(reached, 1e-300))

    def _counted(self) -> Floats | None:
        """Return a certified ramp where none was found one round shorter, by bisection."""
        # A geometric ramp: m answers of loss g have a chance of about e^(-gm²/2), δ where gm = ε for g = ε²/(2 ln 1/δ).
        geometric = min(1.0, self.epsilon / 8.0) * (2.0 * self.target / self.epsilon) ** 2
        length = max(2, round(max(1.05 * self.floor, geometric)))
        failed, best = 1, None
        for _ in range(_CERTIFICATES):
            ramp = self._found(length)
            failed, best = (length, best) if ramp is None else (failed, ramp)
            passed = failed * 3 // 2 + 1 if best is None else best.size
            if best is not None and passed - failed <= 1:
                break
            length = (max(failed, passed * 2 // 3) + passed) // 2
        return best

    def _found(self, length: int) -> Floats | None:
        """Return some ramp of this length that is certified, or None."""
        found: Floats | None = None

        def cost(ramp: Floats) -> float:
            nonlocal found
            if found is not None:
                return -1e9
            reached = self._reached(ramp, _COARSER)
            if reached <= self.target and self._reached(ramp) <= self.target:
                found = ramp
            return reached

        guarded = self._guarded(length, cost)
        least, best = min((guarded(start), start) for start in _STARTS)
        if length <= _ENUMERATED or least < self.target + _HOPEFUL:
            _descend(guarded, best, most=50)
        return found

    def _guessed(self) -> tuple[int, float]:
        """Return the length at which the guess at δ meets the target, and -d ln δ/d ln L there."""
        length, steepness = round(1.05 * self.floor), self.steepness
        known: Trial | None = None
        for _ in range(_GUESSES):
            value = self._shape(length)[1]
            if known is not None and known[0] != length:
                steepness = min(max((known[1] - value) / math.log(length / known[0]), 0.5), 60.0)
            known = (length, value)
            change = min(max((value - self.target) / steepness, -0.5), 0.7)
            new = min(max(2, math.ceil(length * math.exp(change))), LONGEST)
            if abs(new - length) <= 1e-4 * length or new in self.tuned:
                return new, steepness
            length = new
        return length, steepness

    def _between(self, length: int, steepness: float, shape: Callable[[int], Point]) -> Floats | None:
        """Return a certified ramp where the next shorter one is not certified, searched for from ``length`` on.

        A long one need not be: it is enough that its δ is nearer to the target than one round more or less makes.
        """
        failed, passed, best = (1, math.inf), (0, 0.0), None
        for _ in range(_CERTIFICATES):
            ramp = self._of_length(length, shape(length))
            reached = self._reached(ramp) if ramp.size <= length else math.inf
            if reached <= self.target:
                best, passed = ramp, (ramp.size, reached)
                near = ramp.size > _POLISHED and self.target - reached < 0.6 * steepness / ramp.size
            else:
                failed, near = (length, reached), False
            length = _next_length(failed, passed, self.target, steepness)
            if near or length > LONGEST or (best is not None and passed[0] - failed[0] <= 1):
                break
        return best

    def _shape(self, length: int) -> tuple[Point, float]:
        """Return the shape with the least guess at ln δ at this length, and that guess."""
        if length not in self.tuned:
            guarded = self._guarded(length, lambda ramp: estimate(ramp, self.epsilon))
            self.point = _descend(guarded, self.point or min(_STARTS, key=guarded), most=120)
            self.tuned[length] = self.point, guarded(self.point)
        return self.tuned[length]

    def _of_length(self, length: int, point: Point) -> Floats:
        """Return the ramp of at most this length that ln p_1/δ and ln growth make."""
        first, growth = self.delta * math.exp(point[0]), min(self.epsilon, _STEEP) * math.exp(point[1])
        angles, steps, most = _angles(first, growth, length)

        def size(step: float) -> int:
            return int(np.dot((2, 1), _rounds(angles, steps, most, step))) - 1

        low, high = math.log(1.0 / length), math.log(2.0)
        for _ in range(45):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if size(math.exp(middle)) > length else (low, middle)
        return build(first, growth, math.exp(high))

    def _guarded(self, length: int, cost: Callable[[Floats], float]) -> Callable[[Point], float]:
        """Return the cost with a wall around what makes no ramp of that length."""

        def guarded(at: Point) -> float:
            if not (-12.0 < at[0] < min(0.0, math.log(0.45) - self.target) and -6.0 < at[1] < 1.0):
                return 1e9
            ramp = self._of_length(length, at)
            return cost(ramp) if ramp.size <= length else 1e3 + ramp.size

        return guarded


def _next_length(failed: Trial, passed: Trial, target: float, steepness: float) -> int:
    """Return a length at which the target may just be met: ln δ against ln L is nearly a line."""
    if not passed[0]:
        missing = min((failed[1] - target) / steepness, 0.7)
        return max(failed[0] + 1, math.ceil(failed[0] * math.exp(missing)))
    if math.isinf(failed[1]):
        guess = math.ceil(passed[0] * math.exp((passed[1] - target) / steepness))
    else:
        share = (failed[1] - target) / (failed[1] - passed[1])
        guess = math.ceil(failed[0] * (passed[0] / failed[0]) ** share)
    return min(max(guess, failed[0] + 1), passed[0] - 1)


def _descend(cost: Callable[[Point], float], point: Point, most: int) -> Point:
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

    simplex = [point, (point[0] + 0.2, point[1]), (point[0], point[1] + 0.1)]
    options = {"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-5, "maxfev": most}
    found = minimize(lambda at: cost((at[0], at[1])), point, method="Nelder-Mead", options=options).x
    return float(found[0]), float(found[1])
