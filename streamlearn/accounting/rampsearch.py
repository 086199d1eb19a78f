"""The search for a short ramp: shapes of one length are compared by guesses at δ, and only a certificate decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from streamlearn.accounting import ramps
from streamlearn.accounting.pld import MOST_CELLS
from streamlearn.errors import SizeError
from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF

Point: TypeAlias = tuple[float, float]
"""The shape of a ramp as it is searched for: ln(p_1/δ), ln(growth/scale), see ``Search.scale``."""
Trial: TypeAlias = tuple[int, float]  # a length and the natural logarithm of its δ

_STEEP = 60.0  # no ramp for a larger ε grows faster
_COUNTED = 40.0  # where the Gaussian floor is below it, shapes are compared by certificates
_POLISHED = 5_000  # up to this length the shape is tuned by certificates, too
_COARSE, _COARSER = 1 << 16, 1 << 14  # cells of theirs
_STARTS = [(u, v) for u in (-5.0, -3.0, -1.5, -0.6, -0.1) for v in (-2.2, -1.6, -1.1, -0.6, -0.1)]
_GUESSES, _CERTIFICATES, _HOPEFUL = 12, 40, 0.7  # tries; a shape that near to ln δ may be tuned to reach it
_DOUBTFUL = 0.01  # of ln δ: guesses err by less
_MARGIN = 1.3  # no ramp that was found is that much longer than its floor
_SAMPLES = 8_192  # rounds that a guess looks at, of more


class Curve(NamedTuple):
    """A symmetric ramp as angles θ = arcsin √p: those of its geometric beginning, then even steps to its mirror image.

    Parameters
    ----------
    below
        θ of the first rounds.
    parts
        How many even steps the middle takes.
    """

    below: Floats
    parts: int

    @classmethod
    def of(cls, first: float, growth: float, step: float) -> Self:
        """Return the curve of :func:`streamlearn.accounting.ramps.build`.

        Parameters
        ----------
        first, growth, step
            As there.
        """
        angles, steps, most = _angles(first, growth, math.inf)
        lower, parts = _rounds(angles, steps, most, step)
        return cls(angles[:lower], parts)

    @property
    def size(self) -> int:
        """L."""
        return 2 * len(self.below) + self.parts - 1

    def chances(self) -> Floats:
        """Return p_1..p_L."""
        middle = self.below[-1] + (math.pi / 2 - 2.0 * self.below[-1]) * np.arange(1, self.parts) / self.parts
        return np.asarray(np.sin(np.concatenate([self.below, middle, (math.pi / 2 - self.below)[::-1]])) ** 2)

    def angles(self, rounds: npt.NDArray[np.int64]) -> Floats:
        """Return θ at some rounds, counted from 0, of the whole ramp."""
        end = len(self.below) - 1
        mirrored = self.size - 1 - rounds
        place = np.minimum(rounds, mirrored)
        slope = (math.pi / 2 - 2.0 * self.below[-1]) / self.parts
        lower = np.where(
            place <= end, self.below[np.minimum(place, end)], self.below[-1] + slope * (place - end)
        )
        return np.where(rounds <= mirrored, lower, math.pi / 2 - lower)


def estimate(curve: Curve, epsilon: float) -> float:
    """Return about ln δ(ε) of a symmetric ramp: the losses, tilted so that their mean is ε, as if normal.

    Of a long ramp some rounds stand for those around them.

    Parameters
    ----------
    curve
        The ramp.
    epsilon
        ε >= 0.

    Examples
    --------
    >>> from streamlearn.accounting.rampsearch import Curve, estimate
    >>> round(estimate(Curve.of(2e-7, 0.25, 0.012), 1.0), 1)
    -10.7
    """
    from scipy.special import erfcx, expit  # noqa: PLC0415 - slow to import

    pairs = curve.size - 1
    edges = np.unique(np.linspace(0, pairs, min(pairs, _SAMPLES) + 1).astype(np.int64))
    times, rounds = np.diff(edges), (edges[:-1] + edges[1:]) // 2
    from_angles, to_angles = curve.angles(rounds), curve.angles(rounds + 1)
    low, high = _drawn(from_angles), _drawn(to_angles)
    rest_low, rest_high = _drawn(math.pi / 2 - from_angles), _drawn(math.pi / 2 - to_angles)
    first, rest_first = (float(_drawn(angle)) for angle in (curve.below[0], math.pi / 2 - curve.below[0]))
    yes, no = np.log(low / high), np.log(rest_low / rest_high)
    odds = np.log(low / rest_low)
    apart = yes - no
    sure = float(np.dot(times, no)) - math.log(rest_first)  # the loss if every answer is no
    order = 1.0
    for _ in range(60):
        weights = expit(odds + order * apart)
        variance = float(np.dot(times, weights * (1.0 - weights) * apart**2)) + 1e-300
        step = (epsilon - sure - float(np.dot(times, weights * apart))) / variance
        # At order -1/2 the losses of a symmetric ramp are 0 in the mean.
        new = min(max(order + step, (order + 0.5) / 4.0 - 0.5), (order + 0.5) * 4.0 - 0.5)
        if abs(new - order) <= 1e-6 * abs(order):
            break
        order = new
    log_moment = (
        float(np.dot(times, np.log(rest_low) + np.logaddexp(0.0, odds + order * apart))) + order * sure
    )
    width = math.sqrt(variance / 2.0)
    normal = 0.5 * float(erfcx(order * width) - erfcx((order + 1.0) * width))
    finite = math.log(max(normal, 1e-300)) + log_moment - order * epsilon
    return float(np.logaddexp(min(finite, 700.0), math.log(first)))


def _drawn(angles: Floats) -> Floats:
    """Return the chances at some angles as they are drawn, at least 2^-64."""
    return np.asarray(np.maximum(np.rint(np.sin(angles) ** 2 * OUT_OF), 1.0) / OUT_OF)


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


class Search:
    """One search for a short ramp: what was tried at which length."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.target = math.log(delta) - 1e-12  # more than a logarithm is off by
        self.floor = ramps.gaussian_floor(epsilon, delta)
        self.scale = min(
            max(epsilon, math.pi / math.sqrt(self.floor)), _STEEP
        )  # of the growth: a whole ramp's loss
        self.steepness = max(0.5, -0.5 * self.target)  # about -d ln δ/d ln L
        self.point: Point | None = None
        self.tuned: dict[int, tuple[Point, float]] = {}

    def run(self) -> Floats:
        """Return the shortest ramp found, for a low floor by certificates, else by a guess at δ first."""
        best = None
        if self.floor <= _COUNTED:
            best = self._counted()
        elif self.floor <= ramps.LONGEST:
            length, steepness = self._guessed()
            if length < ramps.LONGEST or self._shape(length)[1] < self.target + _DOUBTFUL:
                best = self._between(length, steepness, lambda length: self._shape(length)[0])
        if best is None:
            epsilon, delta = self._remedies()
            raise SizeError(
                f"epsilon = {self.epsilon:g} and delta = {self.delta:g} need a ramp of more than {ramps.LONGEST:,} "
                f"rounds, the most that is tried; take epsilon = {epsilon:g} or more, or delta = {delta:g} or more"
            )
        if best.size > _POLISHED or self.point is None:
            return best
        guarded = self._guarded(best.size, lambda curve: self._reached(curve.chances(), _COARSE))
        sharper = _descend(guarded, self.point, most=20)
        shorter = self._between(best.size, self.steepness, lambda _: sharper)
        return best if shorter is None or shorter.size >= best.size else shorter

    def _remedies(self) -> tuple[float, float]:
        """Return an ε that will do for this δ, and a δ that will do for this ε, to two digits."""

        def fits(epsilon: float, delta: float) -> bool:
            return _MARGIN * ramps.gaussian_floor(epsilon, delta) <= ramps.LONGEST

        return (
            _least(lambda epsilon: fits(epsilon, self.delta), self.epsilon, 500.0),
            _least(lambda delta: fits(self.epsilon, delta), self.delta, 0.99),
        )

    def _reached(self, ramp: Floats, cells: int = MOST_CELLS) -> float:
        """Return ln δ, certified; in full by default."""
        levels = ramps.thresholds(ramp)
        full = cells == MOST_CELLS or len(levels) <= ramps.ENUMERATED
        reached = (
            ramps.certified_delta(levels, self.epsilon)
            if full
            else ramps.loss(levels).delta(self.epsilon, cells=cells)
        )
        return math.log(max(reached, 1e-300))

    def _counted(self) -> Floats | None:
        """Return a certified ramp where none was found one round shorter, by bisection."""
        # A geometric ramp: m answers of loss g have a chance of about e^(-gm²/2), δ where gm = ε for g = ε²/(2 ln 1/δ).
        geometric = min(1.0, self.epsilon / 8.0) * (2.0 * self.target / self.epsilon) ** 2
        length = max(2, round(max(1.05 * self.floor, geometric if self.epsilon >= 1.0 else 0.0)))
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

        def cost(curve: Curve) -> float:
            nonlocal found
            if found is not None:
                return -1e9
            ramp = curve.chances()
            reached = self._reached(ramp, _COARSER)
            if reached <= self.target and self._reached(ramp) <= self.target:
                found = ramp
            return reached

        guarded = self._guarded(length, cost)
        least, best = min((guarded(start), start) for start in _STARTS)
        if length <= ramps.ENUMERATED or least < self.target + _HOPEFUL:
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
            new = min(max(2, math.ceil(length * math.exp(change))), ramps.LONGEST)
            if abs(new - length) <= 1e-4 * length or new in self.tuned:
                return new, steepness
            length = new
        return length, steepness

    def _between(self, length: int, steepness: float, shape: Callable[[int], Point]) -> Floats | None:
        """Return a certified ramp where the next shorter one is not certified, searched for from ``length`` on.

        A long one need not be: it is enough that its δ is nearer to the target than one round more or less makes, or
        some rounds in a hundred thousand.
        """
        failed, passed, best = (1, math.inf), (0, 0.0), None
        for _ in range(_CERTIFICATES):
            ramp = self._of_length(length, shape(length)).chances()
            reached = self._reached(ramp) if ramp.size <= length else math.inf
            if reached <= self.target:
                best, passed = ramp, (ramp.size, reached)
                near = (
                    ramp.size > _POLISHED
                    and self.target - reached < (0.6 + 2 * _spare(ramp.size)) * steepness / ramp.size
                )
            else:
                failed, near = (length, reached), False
            length = _next_length(failed, passed, self.target, steepness)
            if near or length > ramps.LONGEST or (best is not None and passed[0] - failed[0] <= 1):
                break
        return best

    def _shape(self, length: int) -> tuple[Point, float]:
        """Return the shape with the least guess at ln δ at this length, and that guess."""
        if length not in self.tuned:
            guarded = self._guarded(length, lambda curve: estimate(curve, self.epsilon))
            self.point = _descend(guarded, self.point or min(_STARTS, key=guarded), most=120)
            self.tuned[length] = self.point, guarded(self.point)
        return self.tuned[length]

    def _of_length(self, length: int, point: Point) -> Curve:
        """Return the ramp of at most this length that ln p_1/δ and ln growth make."""
        first, growth = self.delta * math.exp(point[0]), self.scale * math.exp(point[1])
        angles, steps, most = _angles(first, growth, length)

        def size(step: float) -> int:
            return int(np.dot((2, 1), _rounds(angles, steps, most, step))) - 1

        low, high = math.log(1.0 / length), math.log(2.0)
        for _ in range(45):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if size(math.exp(middle)) > length else (low, middle)
        lower, parts = _rounds(angles, steps, most, math.exp(high))
        return Curve(angles[:lower], parts)

    def _guarded(self, length: int, cost: Callable[[Curve], float]) -> Callable[[Point], float]:
        """Return the cost with a wall around what makes no ramp of that length."""

        def guarded(at: Point) -> float:
            if not (-12.0 < at[0] < min(0.0, math.log(0.45) - self.target) and -6.0 < at[1] < 2.5):
                return 1e9
            curve = self._of_length(length, at)
            return cost(curve) if curve.size <= length else 1e3 + curve.size

        return guarded


def _next_length(failed: Trial, passed: Trial, target: float, steepness: float) -> int:
    """Return a length at which the target may just be met: ln δ against ln L is nearly a line."""
    if not passed[0]:
        missing = min((failed[1] - target) / steepness, 0.7)
        guess = math.ceil(failed[0] * math.exp(missing))
        return max(failed[0] + 1, guess + _spare(guess))
    if math.isinf(failed[1]):
        guess = math.ceil(passed[0] * math.exp((passed[1] - target) / steepness))
    else:
        share = (failed[1] - target) / (failed[1] - passed[1])
        guess = math.ceil(failed[0] * (passed[0] / failed[0]) ** share)
    return min(max(guess + _spare(guess), failed[0] + 1), passed[0] - 1)


def _spare(length: int) -> int:
    """Return how many rounds more than the line promises are tried: certificates of long ramps take seconds each."""
    return length // 200_000


def _least(fits: Callable[[float], bool], low: float, high: float) -> float:
    """Return about the least number that fits, rounded up to two digits; ``high`` does."""
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    unit = 10.0 ** (math.floor(math.log10(high)) - 1)
    return math.ceil(high / unit) * unit


def _descend(cost: Callable[[Point], float], point: Point, most: int) -> Point:
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

    simplex = [point, (point[0] + 0.2, point[1]), (point[0], point[1] + 0.1)]
    options = {"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-5, "maxfev": most}
    found = minimize(lambda at: cost((at[0], at[1])), point, method="Nelder-Mead", options=options).x
    return float(found[0]), float(found[1])
