"""Closed forms: normal, truncated normal and lognormal laws."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from streamlearn.priors import parameters
from streamlearn.priors.base import Floats
from streamlearn.priors.functions import (
    ARRAY,
    FAR,
    SCALAR,
    Functions,
    V,
    density,
    far_excess,
    far_tail,
    mills,
    normal_excess,
)
from streamlearn.priors.locationscale import LocationScale
from streamlearn.priors.quadrature import gauss_rule

Size = int | tuple[int, ...]

_VOID: Final = 40.0
"""P(N > 40) = 4e-350: no float holds it, nor P(N > √(z² + 40²))/P(N > z)."""
_REACH: Final = 80.0
"""Beyond √(z² + 80) the density is e^-40 of what it is at z."""
_NODES: Final = 64


class Normal(LocationScale):
    """The normal law.

    Its support reaches below 0, so no stopper takes it as it is: :class:`TruncatedNormal` does.

    Parameters
    ----------
    mean
        Finite.
    sd
        Standard deviation, > 0.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    S(z) = φ(z) - z·P(N > z) for mean 0 and sd 1; far out by Laplace's continued fraction, where this
    difference would lose z² last places.

    Examples
    --------
    >>> from streamlearn.priors import Normal
    >>> round(Normal(0, 1).stop_loss(0.0), 12)
    0.398942280401
    """

    __slots__ = ()
    _names = ("mean", "sd")

    def __init__(self, mean: float, sd: float) -> None:
        m, s = parameters.finite("Normal", "mean", mean), parameters.positive("Normal", "sd", sd)
        self._place((m, s), mean=0.0, variance=1.0, loc=m, scale=s, start=-_VOID, end=_VOID)
        self.lower, self.upper = -math.inf, math.inf

    def _excess(self, z: V, f: Functions[V]) -> V:
        return normal_excess(z, f)

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.normal_tail(z)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        return f.normal_tail(z) - z * self._excess(z, f)

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return generator.normal(self._loc, self._scale, size)


class LogNormal(LocationScale):
    """The lognormal law: loc + e^(mu + sigma·N), N standard normal.

    Parameters
    ----------
    mu
        Finite.
    sigma
        > 0.
    loc
        Left end of the support.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    With mu = loc = 0 and d = ln(z)/sigma, S(z) = e^(sigma²/2)·P(N > d - sigma) - z·P(N > d). Far out both
    terms are z·φ(d) times a Mills ratio, and the ratios are subtracted instead.

    Examples
    --------
    >>> from streamlearn.priors import LogNormal
    >>> LogNormal(0, 0.5).stop_loss(0.0) == LogNormal(0, 0.5).mean
    True
    """

    __slots__ = ("_growth", "_sigma")
    _names = ("mu", "sigma", "loc")

    def __init__(self, mu: float, sigma: float, loc: float = 0.0) -> None:
        m, s = parameters.finite("LogNormal", "mu", mu), parameters.positive("LogNormal", "sigma", sigma)
        o = parameters.finite("LogNormal", "loc", loc)
        self._sigma = s
        self._growth = parameters.exp(0.5 * s * s)
        try:
            variance = math.expm1(s * s) * self._growth**2
        except OverflowError:
            variance = math.inf
        self._place((m, s, o), mean=self._growth, variance=variance, loc=o, scale=parameters.exp(m))
        self._start = math.ulp(0.0)  # the formulas take logarithms

    def _excess(self, z: V, f: Functions[V]) -> V:
        d = f.log(z) / self._sigma
        split = FAR if f is SCALAR else 0.0  # as in normal_excess
        return f.piecewise(d > split + self._sigma, self._far_excess, self._near_excess, z, d)

    def _near_excess(self, z: V, d: V, f: Functions[V]) -> V:
        return self._growth * f.normal_tail(d - self._sigma) - z * f.normal_tail(d)

    def _far_excess(self, z: V, d: V, f: Functions[V]) -> V:
        c = d - self._sigma
        return z * density(d, f) * (mills(c, f) - mills(d, f))

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.normal_tail(f.log(z) / self._sigma)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        above = self._growth**4 * f.normal_tail(f.log(z) / self._sigma - 2.0 * self._sigma)
        return above - z * (2.0 * self._excess(z, f) + z * self._tail(z, f))

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return self._loc + self._scale * generator.lognormal(0.0, self._sigma, size)


class TruncatedNormal(LocationScale):
    """The normal law, given that it falls in [lower, upper].

    Parameters
    ----------
    mean, sd
        Of the normal law before truncation; sd > 0. The mean after truncation is the attribute ``mean``.
    lower, upper
        Ends of the support, lower < upper; either may be infinite.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    Without an upper end, S is the normal law's S over the probability of the support; a support far out is
    handled in units of the density at its lower end, so nothing underflows. With an upper end b,
    S(t) = [S_N(t) - S_N(b) - (b - t)·P(N > b)]/P(support); where that difference loses more than four bits
    (near b, or a support left of the mean) the integral of (x - t)·φ is summed by Gauss's rule instead.

    Examples
    --------
    >>> from streamlearn.priors import TruncatedNormal
    >>> round(TruncatedNormal(1, 1).mean, 12)
    1.287599970939
    >>> TruncatedNormal(0, 1, lower=1e3).mean > 1e3
    True
    """

    __slots__ = ("_beta", "_cut_excess", "_cut_tail", "_mass", "_origin")
    _names = ("mean", "sd", "lower", "upper")

    def __init__(self, mean: float, sd: float, lower: float = 0.0, upper: float = math.inf) -> None:
        m = parameters.finite("TruncatedNormal", "mean", mean)
        s = parameters.positive("TruncatedNormal", "sd", sd)
        low = parameters.number("TruncatedNormal", "lower", lower)
        high = parameters.number("TruncatedNormal", "upper", upper)
        parameters.interval("TruncatedNormal", low, high)
        alpha, beta = (low - m) / s, (high - m) / s
        start = max(alpha, -math.hypot(min(beta, 0.0), math.sqrt(_REACH)))
        self._place((m, s, low, high), mean=0.0, variance=0.0, loc=m, scale=s, start=start, end=beta)
        self.lower, self.upper = low, high
        if start == alpha:
            self._floor = low
        self._beta, self._last = beta, min(beta, math.hypot(max(alpha, 0.0), _VOID))
        mode = min(max(0.0, alpha), beta)
        self._origin = mode if abs(mode) > FAR else 0.0
        self._cut_excess = self._cut_tail = 0.0
        if beta < math.inf and self._origin >= 0.0:
            self._cut_excess = self._whole_excess(beta, SCALAR)
            self._cut_tail = self._whole_tail(beta, SCALAR)
        self._mass = 1.0
        self._mass = self._tail(start, SCALAR)
        excess = self._excess(start, SCALAR)
        self.mean = self._floor + s * excess
        y, weights = self._window(start)
        self.variance = s * s * float((weights * (y - excess) ** 2).sum()) / self._mass

    def _excess(self, z: V, f: Functions[V]) -> V:
        if self._origin < 0.0:
            return self._summed_excess(z, z, f)
        whole = self._whole_excess(z, f)
        if self._beta == math.inf:
            return whole / self._mass
        kept = whole - (self._cut_excess + (self._beta - z) * self._cut_tail)
        return f.piecewise(kept > 0.0625 * whole, self._share, self._summed_excess, kept, z)

    def _tail(self, z: V, f: Functions[V]) -> V:
        if self._origin < 0.0:
            return self._summed_tail(z, z, f)
        whole = self._whole_tail(z, f)
        if self._beta == math.inf:
            return whole / self._mass
        kept = whole - self._cut_tail
        return f.piecewise(kept > 0.0625 * whole, self._share, self._summed_tail, kept, z)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        y, weights = self._window(z)
        return f.total(weights * y * y) / self._mass

    def _whole_excess(self, z: V, f: Functions[V]) -> V:
        return far_excess(z, f, self._origin) if self._origin else normal_excess(z, f)

    def _whole_tail(self, z: V, f: Functions[V]) -> V:
        return far_tail(z, f, self._origin) if self._origin else f.normal_tail(z)

    def _share(self, kept: V, z: V, f: Functions[V]) -> V:  # noqa: ARG002 - called as the sums below are
        return kept / self._mass

    def _summed_excess(self, kept: V, z: V, f: Functions[V]) -> V:  # noqa: ARG002 - what it replaces
        y, weights = self._window(z)
        return f.total(weights * y) / self._mass

    def _summed_tail(self, kept: V, z: V, f: Functions[V]) -> V:  # noqa: ARG002 - what it replaces
        _, weights = self._window(z)
        return f.total(weights) / self._mass

    def _window(self, z: V) -> tuple[Floats, Floats]:
        """Return steps y >= 0 and weights w with Σ w·g(y) = ∫ g(u - z)·φ(u) du over the support above z."""
        start = np.asarray(z)[..., None]
        right = np.maximum(start, 0.0)
        reach = _REACH / (right + np.sqrt(right * right + _REACH)) + (right - start)
        width = np.minimum(self._beta - start, reach)
        nodes, shares = gauss_rule(_NODES)
        y = width * nodes
        weights = width * shares * np.exp(-y * (start + 0.5 * y)) * density(start, ARRAY, self._origin)
        return y, weights

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape: the quantile function at uniform draws."""
        from scipy.special import log_ndtr, ndtri_exp  # noqa: PLC0415 - costs 120 ms

        alpha, beta = (self.lower - self._loc) / self._scale, self._beta
        sign = 1.0
        if beta < 0.0:  # mirrored, so that the probabilities taken logarithms of are the small ones
            alpha, beta, sign = -beta, -alpha, -1.0
        log_tail = log_ndtr(-alpha)
        above = generator.random(size)
        z = -ndtri_exp(log_tail + np.log1p(above * np.expm1(log_ndtr(-beta) - log_tail)))
        draws: Floats = np.clip(self._loc + sign * self._scale * z, self.lower, self.upper)
        return draws
