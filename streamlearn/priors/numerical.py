"""Any other continuous law of scipy.stats: its survival function, integrated numerically."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from streamlearn.errors import PriorError
from streamlearn.priors.base import Floats, Prior
from streamlearn.priors.quadrature import integrals, refine

Size = int | tuple[int, ...]

_NEGLIGIBLE: Final = 1e-20  # a share of the law's spread: beyond it the line is cut off
_AGREEMENT: Final = 1e-6  # scipy's own means are often integrals of which 1.5e-8 is asked


class Numerical(Prior):
    """A continuous law known by its survival function.

    Parameters
    ----------
    law
        A frozen continuous law of ``scipy.stats``, old style (``scipy.stats.gompertz(1.0)``) or new
        (``scipy.stats.Normal()``).

    Raises
    ------
    PriorError
        If ``law`` is neither, or its survival function does not integrate to its mean.

    Notes
    -----
    S(t) = ∫_t^∞ P(X > x) dx. The line is cut once, into panels that double away from the median and are
    halved until 16-node Gauss quadrature has converged, to 14 digits or to 17 of the mean; a call is then one
    vector call of the survival function (about 0.1 ms). No result is more accurate than the law's own ``sf``.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.priors import Exponential, Numerical
    >>> law = Numerical(scipy.stats.expon())
    >>> abs(law.stop_loss(2.0) - Exponential(1.0).stop_loss(2.0)) < 1e-15
    True
    """

    __slots__ = ("_beyond", "_edges", "_law", "_moment_beyond", "_sf")

    def __init__(self, law: Any) -> None:
        self._law = law
        self._sf: Callable[[Any], Any] = _method(law, "sf", "ccdf")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy warns of integrals whose results are checked below
            self.lower, self.upper = (float(end) for end in law.support())
            self.mean, self.variance = float(law.mean()), float(_method(law, "var", "variance")())
            if not math.isfinite(self.variance):
                self.variance = math.inf
            if math.isfinite(self.mean):
                self._tabulate()

    def _tabulate(self) -> None:
        quantile = _method(self._law, "ppf", "icdf")
        low, median, high = (float(quantile(level)) for level in (0.25, 0.5, 0.75))
        spread = max(high - low, abs(median) * 1e-12)
        self._edges, parts = refine(self.survivals, self._first_edges(median, spread))
        self._beyond = _sums_beyond(parts)
        self._moment_beyond = _sums_beyond(integrals(self._moment, self._edges[:-1], self._edges[1:]))
        mean = float(self._edges[0] + self._beyond[0])
        if not abs(mean - self.mean) <= _AGREEMENT * (abs(mean) + spread):
            raise PriorError(
                f"{_name(self._law)}: its sf integrates to a mean of {mean:.9g} and its mean() "
                f"is {self.mean:.9g}; give a law with an accurate sf, or priors.Empirical of a sample"
            )
        self.mean = mean

    def _first_edges(self, median: float, spread: float) -> Floats:
        """Return panels that double away from the median until nothing is left."""

        def steps(room: float, outside: Callable[[float], float]) -> list[float]:
            result = []
            for ratio in (2.0**k - 1.0 for k in range(1, 1000)):
                step = min(spread * ratio, room)
                result.append(step)
                moment = outside(step) * ratio * (1.0 if math.isinf(self.variance) else ratio)
                if step == room or moment <= _NEGLIGIBLE:
                    break
            return result

        left = steps(median - self.lower, lambda step: 1.0 - self.survival(median - step))
        right = steps(self.upper - median, lambda step: self.survival(median + step))
        edges = [median - step for step in reversed(left)] + [median] + [median + step for step in right]
        return np.unique(edges)

    def _moment(self, x: Floats) -> Floats:
        return x * self.survivals(x)

    def survivals(self, t: Floats) -> Floats:
        """Return P(X > t) at every entry of ``t``, in the same shape."""
        with np.errstate(all="ignore"):
            result: Floats = np.clip(np.asarray(self._sf(t), dtype=np.float64), 0.0, 1.0)
        return result

    def stop_loss(self, t: float) -> float:
        """Return S(t) = E(X - t)+, in the unit of X."""
        return float(self.stop_losses(np.array([t]))[0])

    def stop_losses(self, t: Floats) -> Floats:
        """Return S at every entry of ``t``, in the same shape."""
        if not math.isfinite(self.mean):
            return np.full(t.shape, self.mean)
        result: Floats = self._integrate(self.survivals, self._beyond, t) + np.maximum(
            self._edges[0] - t, 0.0
        )
        return result

    def second_moment_above(self, t: float) -> float:
        """Return E[X²; X > t]; ``math.inf`` where the variance is infinite."""
        if math.isinf(self.variance):
            return math.inf
        t = max(t, float(self._edges[0]))
        moment = self._integrate(self._moment, self._moment_beyond, np.array([t]))
        return t * t * self.survival(t) + 2.0 * float(moment[0])

    def square_excess(self, t: float) -> float:
        """Return E[((X - t)+)²]; ``math.inf`` where the variance is infinite."""
        if math.isinf(self.variance):
            return math.inf
        if t <= self._edges[0]:
            return self.variance + (self.mean - t) * (self.mean - t)
        moment = self._integrate(self._moment, self._moment_beyond, np.array([t]))
        return max(2.0 * (float(moment[0]) - t * self.stop_loss(t)), 0.0)

    def _integrate(self, f: Callable[[Floats], Floats], beyond: Floats, t: Floats) -> Floats:
        """Return the integral of ``f`` from every entry of ``t``, moved into the panels, to infinity."""
        start = np.clip(t, self._edges[0], self._edges[-1]).ravel()
        panel = np.searchsorted(self._edges[1:-1], start, side="right") + 1
        return (integrals(f, start, self._edges[panel]) + beyond[panel]).reshape(t.shape)

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        if hasattr(self._law, "rvs"):
            draws = self._law.rvs(size=size, random_state=generator)
        else:
            draws = self._law.sample(size, rng=generator)
        return np.asarray(draws, dtype=np.float64)

    def __repr__(self) -> str:
        return f"Numerical({_name(self._law)})"


def _method(law: Any, *names: str) -> Callable[..., Any]:
    """Return the method that goes by one of these names: scipy.stats has an old style and a new one."""
    for name in names:
        if hasattr(law, name):
            method: Callable[..., Any] = getattr(law, name)
            return method
    raise PriorError(f"{_name(law)} has no {names[0]}(); give a frozen continuous law of scipy.stats")


def _name(law: Any) -> str:
    return str(getattr(getattr(law, "dist", law), "name", type(law).__name__))


def _sums_beyond(parts: Floats) -> Floats:
    """Return, for every edge, the integral beyond it."""
    return np.append(np.cumsum(parts[::-1])[::-1], 0.0)
