"""Closed forms: uniform, exponential, gamma, Weibull, Pareto and beta laws.

Every stop-loss transform below is exact; the comment beside each says why it keeps its digits.
"""

from __future__ import annotations

import math

import numpy as np

from streamlearn.priors import parameters
from streamlearn.priors.base import Floats
from streamlearn.priors.functions import Functions, V
from streamlearn.priors.locationscale import LocationScale

Size = int | tuple[int, ...]


class Uniform(LocationScale):
    """The uniform law on [lower, upper].

    Parameters
    ----------
    lower, upper
        The ends of the support, finite, lower < upper.

    Raises
    ------
    PriorError
        If an end is not a finite number or lower >= upper.

    Notes
    -----
    S(t) = (upper - t)²/(2(upper - lower)) inside the support.

    Examples
    --------
    >>> from streamlearn.priors import Uniform
    >>> Uniform(0, 1).stop_loss(0.5)
    0.125
    """

    __slots__ = ()
    _names = ("lower", "upper")

    def __init__(self, lower: float, upper: float) -> None:
        a, b = parameters.finite("Uniform", "lower", lower), parameters.finite("Uniform", "upper", upper)
        parameters.interval("Uniform", a, b)
        self._place((a, b), mean=0.5, variance=1.0 / 12.0, loc=a, scale=b - a, end=1.0)
        self.mean = 0.5 * a + 0.5 * b
        self.upper = b

    def _excess(self, z: V, f: Functions[V]) -> V:  # noqa: ARG002 - needs no function
        rest = 1.0 - z
        return 0.5 * rest * rest

    def _tail(self, z: V, f: Functions[V]) -> V:  # noqa: ARG002 - needs no function
        return 1.0 - z

    def _square_excess(self, z: float, f: Functions[float]) -> float:  # noqa: ARG002 - needs no function
        return (1.0 - z) ** 3 / 3.0

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return generator.uniform(self.lower, self.upper, size)


class Exponential(LocationScale):
    """The exponential law: loc + scale·E, where E has mean 1.

    Parameters
    ----------
    scale
        Mean above ``loc``, > 0.
    loc
        Left end of the support.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    S(t) = scale·e^(-(t - loc)/scale) inside the support.

    Examples
    --------
    >>> from streamlearn.priors import Exponential
    >>> Exponential(2.0).stop_loss(0.0)
    2.0
    """

    __slots__ = ()
    _names = ("scale", "loc")

    def __init__(self, scale: float, loc: float = 0.0) -> None:
        s = parameters.positive("Exponential", "scale", scale)
        o = parameters.finite("Exponential", "loc", loc)
        self._place((s, o), mean=1.0, variance=1.0, loc=o, scale=s)

    def _excess(self, z: V, f: Functions[V]) -> V:
        return f.exp(-z)

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.exp(-z)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        return 2.0 * f.exp(-z)

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return self._loc + generator.exponential(self._scale, size)


class Gamma(LocationScale):
    """The gamma law: loc + scale·G, where G has density x^(shape-1)·e^(-x)/Γ(shape).

    Parameters
    ----------
    shape, scale
        Both > 0. A chi-squared law with k degrees of freedom is Gamma(k/2, 2).
    loc
        Left end of the support.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    With Q the regularised upper incomplete gamma function, S(z) = shape·Q(shape + 1, z) - z·Q(shape, z) for
    loc = 0, scale = 1. Both terms are E[Z; Z > z]-sized, so the error is that of moving z by a few of its
    last digits, in the tail too. scipy's Q itself loses about shape last places far above the mean.

    Examples
    --------
    >>> from streamlearn.priors import Gamma
    >>> round(Gamma(2.0).stop_loss(1.0), 12) == round(3 * 2.718281828459045**-1, 12)
    True
    """

    __slots__ = ("_shape",)
    _names = ("shape", "scale", "loc")

    def __init__(self, shape: float, scale: float = 1.0, loc: float = 0.0) -> None:
        k, s = parameters.positive("Gamma", "shape", shape), parameters.positive("Gamma", "scale", scale)
        o = parameters.finite("Gamma", "loc", loc)
        self._shape = k
        self._place((k, s, o), mean=k, variance=k, loc=o, scale=s)

    def _excess(self, z: V, f: Functions[V]) -> V:
        k = self._shape
        return k * f.gammaincc(k + 1.0, z) - z * f.gammaincc(k, z)

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.gammaincc(self._shape, z)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        k = self._shape
        above = k * (k + 1.0) * f.gammaincc(k + 2.0, z)
        return above - z * (2.0 * self._excess(z, f) + z * self._tail(z, f))

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return self._loc + generator.gamma(self._shape, self._scale, size)


class Weibull(LocationScale):
    """The Weibull law: loc + scale·W, where P(W > x) = e^(-x^shape).

    Parameters
    ----------
    shape, scale
        Both > 0. A Rayleigh law is Weibull(2, √2·scale).
    loc
        Left end of the support.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    S(z) = ∫_z^∞ e^(-x^c) dx = Γ(1 + 1/c)·Q(1/c, z^c) for loc = 0, scale = 1. In the lower part, where
    scipy's Q is slow and coarse, Γ(1 + 1/c)·(1 - P(1 + 1/c, z^c)) - z·e^(-z^c) with P the lower function.

    Examples
    --------
    >>> from streamlearn.priors import Exponential, Weibull
    >>> abs(Weibull(1.0).stop_loss(2.0) - Exponential(1.0).stop_loss(2.0)) < 1e-15
    True
    """

    __slots__ = ("_first", "_inverse", "_second", "_shape", "_split")
    _names = ("shape", "scale", "loc")

    def __init__(self, shape: float, scale: float = 1.0, loc: float = 0.0) -> None:
        c, s = parameters.positive("Weibull", "shape", shape), parameters.positive("Weibull", "scale", scale)
        o = parameters.finite("Weibull", "loc", loc)
        self._shape, self._inverse = c, 1.0 / c
        self._split = max(1.1, 1.0 + 1.0 / c)  # scipy sums fast series for P below, fractions for Q above
        self._first, self._second = parameters.gamma(1.0 + 1.0 / c), parameters.gamma(1.0 + 2.0 / c)
        variance = math.inf if math.isinf(self._second) else max(self._second - self._first**2, 0.0)
        self._place((c, s, o), mean=self._first, variance=variance, loc=o, scale=s)
        # e^(-z^c) is 0 from here on, and z^c would soon overflow.
        self._last = parameters.exp(math.log(1e4) / c)

    def _excess(self, z: V, f: Functions[V]) -> V:
        x = f.power(z, self._shape)
        return f.piecewise(x > self._split, self._far_excess, self._near_excess, z, x)

    def _near_excess(self, z: V, x: V, f: Functions[V]) -> V:
        return self._first * (1.0 - f.gammainc(1.0 + self._inverse, x)) - z * f.exp(-x)

    def _far_excess(self, z: V, x: V, f: Functions[V]) -> V:  # noqa: ARG002 - called as the other is
        return self._first * f.gammaincc(self._inverse, x)

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.exp(-f.power(z, self._shape))

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        above = self._second * f.gammaincc(1.0 + 2.0 * self._inverse, f.power(z, self._shape))
        return above - z * (2.0 * self._excess(z, f) + z * self._tail(z, f))

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return self._loc + self._scale * generator.weibull(self._shape, size)


class Pareto(LocationScale):
    """The Pareto law: loc + minimum·Y, where P(Y > y) = y^(-alpha) for y >= 1.

    Parameters
    ----------
    alpha
        Tail index, > 0. The mean is infinite for alpha <= 1, the variance for alpha <= 2.
    minimum
        Scale, > 0; with ``loc`` = 0 the smallest value.
    loc
        Shift. A Lomax law is Pareto(alpha, scale, loc=-scale).

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    S(y) = y^(1 - alpha)/(alpha - 1) for loc = 0, minimum = 1, y >= 1.

    Examples
    --------
    >>> from streamlearn.priors import Pareto
    >>> law = Pareto(2.0)
    >>> law.mean, law.variance, law.stop_loss(4.0)
    (2.0, inf, 0.25)
    """

    __slots__ = ("_alpha", "_rest")
    _names = ("alpha", "minimum", "loc")

    def __init__(self, alpha: float, minimum: float = 1.0, loc: float = 0.0) -> None:
        a = parameters.positive("Pareto", "alpha", alpha)
        s = parameters.positive("Pareto", "minimum", minimum)
        o = parameters.finite("Pareto", "loc", loc)
        self._alpha = a
        self._rest = 1.0 / (a - 1.0) if a > 1.0 else math.inf  # E(Y - 1)
        variance = a / ((a - 1.0) ** 2 * (a - 2.0)) if a > 2.0 else math.inf
        self._place((a, s, o), mean=a * self._rest, variance=variance, loc=o, scale=s, start=1.0)

    def _excess(self, z: V, f: Functions[V]) -> V:
        return self._rest * f.power(z, 1.0 - self._alpha)

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.power(z, -self._alpha)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        return 2.0 * self._rest / (self._alpha - 2.0) * f.power(z, 2.0 - self._alpha)

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return self.lower + self._scale * generator.pareto(self._alpha, size)


class Beta(LocationScale):
    """The beta law: lower + (upper - lower)·B, where B has a density proportional to x^(a-1)·(1-x)^(b-1).

    Parameters
    ----------
    a, b
        Shapes, > 0. The arcsine law is Beta(1/2, 1/2).
    lower, upper
        The ends of the support, finite, lower < upper.

    Raises
    ------
    PriorError
        If a parameter is outside its bound.

    Notes
    -----
    With I the regularised incomplete beta function and m = a/(a + b), the expected shortfall is
    E(z - B)+ = z·I_z(a, b) - m·I_z(a + 1, b). Below the mean S(z) = (m - z) + E(z - B)+, a sum of
    positive terms; above it S(z) is the shortfall of 1 - B, a Beta(b, a), at 1 - z, which keeps its digits
    up to z = 1.

    Examples
    --------
    >>> from streamlearn.priors import Beta
    >>> Beta(1, 1).stop_loss(0.75)
    0.03125
    """

    __slots__ = ("_a", "_b", "_middle")
    _names = ("a", "b", "lower", "upper")

    def __init__(self, a: float, b: float, lower: float = 0.0, upper: float = 1.0) -> None:
        p, q = parameters.positive("Beta", "a", a), parameters.positive("Beta", "b", b)
        low, high = parameters.finite("Beta", "lower", lower), parameters.finite("Beta", "upper", upper)
        parameters.interval("Beta", low, high)
        self._a, self._b, self._middle = p, q, p / (p + q)
        variance = self._middle * (q / (p + q)) / (p + q + 1.0)
        self._place(
            (p, q, low, high), mean=self._middle, variance=variance, loc=low, scale=high - low, end=1.0
        )
        self.upper = high

    def _excess(self, z: V, f: Functions[V]) -> V:
        return f.piecewise(z < self._middle, self._excess_below, self._excess_above, z)

    def _excess_below(self, z: V, f: Functions[V]) -> V:
        return (self._middle - z) + _shortfall(z, self._a, self._b, f)

    def _excess_above(self, z: V, f: Functions[V]) -> V:
        return _shortfall(1.0 - z, self._b, self._a, f)

    def _tail(self, z: V, f: Functions[V]) -> V:
        return f.piecewise(z < self._middle, self._tail_below, self._tail_above, z)

    def _tail_below(self, z: V, f: Functions[V]) -> V:
        return 1.0 - f.betainc(self._a, self._b, z)

    def _tail_above(self, z: V, f: Functions[V]) -> V:
        return f.betainc(self._b, self._a, 1.0 - z)

    def _square_excess(self, z: float, f: Functions[float]) -> float:
        a, b = self._a, self._b
        above = self._middle * (a + 1.0) / (a + b + 1.0) * f.betainc(b, a + 2.0, 1.0 - z)
        return above - z * (2.0 * self._excess(z, f) + z * self._tail(z, f))

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        return self.lower + self._scale * generator.beta(self._a, self._b, size)


def _shortfall(z: V, a: float, b: float, f: Functions[V]) -> V:
    """Return E(z - B)+ of a Beta(a, b)."""
    return z * f.betainc(a, b, z) - a / (a + b) * f.betainc(a + 1.0, b, z)
