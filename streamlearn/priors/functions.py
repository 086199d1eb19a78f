"""The functions closed forms are written in: the same names for a float and for an array.

A formula takes its functions as an argument, so it is written once and runs at the speed of ``math``
for one number and of numpy for many. ``scipy.special`` is loaded when a formula first needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from streamlearn.priors.base import Floats

V = TypeVar("V", float, Floats)

_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
FAR = 5.0
"""Beyond this, differences of normal tails lose digits and the continued fraction takes over."""


class Functions(Protocol[V]):
    """What a formula may use."""

    def exp(self, x: V, /) -> V:
        """Return e^x."""

    def log(self, x: V, /) -> V:
        """Return ln x."""

    def power(self, x: V, exponent: float, /) -> V:
        """Return x^exponent for x >= 0."""

    def gammaincc(self, a: float, x: V, /) -> V:
        """Return the regularised upper incomplete gamma function Q(a, x)."""

    def gammainc(self, a: float, x: V, /) -> V:
        """Return the regularised lower incomplete gamma function P(a, x)."""

    def betainc(self, a: float, b: float, x: V, /) -> V:
        """Return the regularised incomplete beta function I_x(a, b)."""

    def erfcx(self, x: V, /) -> V:
        """Return e^(x²)·erfc(x)."""

    def normal_tail(self, z: V, /) -> V:
        """Return P(N > z) of a standard normal N."""

    def least(self, x: V, /) -> float:
        """Return the smallest entry."""

    def total(self, rows: Floats, /) -> V:
        """Return the sum over the last axis."""

    def piecewise(self, condition: Any, yes: Callable[..., V], no: Callable[..., V], /, *args: V) -> V:
        """Return ``yes(*args, self)`` where the condition holds, ``no(*args, self)`` elsewhere."""


class _Scalar:
    exp = staticmethod(math.exp)
    log = staticmethod(math.log)
    power = staticmethod(math.pow)

    def __getattr__(self, name: str) -> Any:
        from scipy.special import cython_special  # noqa: PLC0415 - costs 120 ms, which many laws never need

        function = getattr(cython_special, name)
        setattr(self, name, function)
        return function

    @staticmethod
    def normal_tail(z: float) -> float:
        return 0.5 * math.erfc(_SQRT_HALF * z)

    @staticmethod
    def least(x: float) -> float:
        return x

    @staticmethod
    def total(rows: Floats) -> float:
        return float(rows.sum())

    def piecewise(
        self, condition: bool, yes: Callable[..., float], no: Callable[..., float], *args: float
    ) -> float:
        return yes(*args, self) if condition else no(*args, self)


class _Array:
    exp = np.exp
    log = np.log
    power = np.power

    def __getattr__(self, name: str) -> Any:
        import scipy.special  # noqa: PLC0415 - as above

        function = getattr(scipy.special, name)
        setattr(self, name, function)
        return function

    def normal_tail(self, z: Floats) -> Floats:
        return cast("Floats", self.ndtr(-z))

    @staticmethod
    def least(x: Floats) -> float:
        return float(x.min(initial=math.inf))

    @staticmethod
    def total(rows: Floats) -> Floats:
        return cast("Floats", rows.sum(axis=-1))

    def piecewise(
        self, condition: Any, yes: Callable[..., Floats], no: Callable[..., Floats], *args: Floats
    ) -> Floats:
        holds = np.count_nonzero(condition)
        if holds == 0:
            return no(*args, self)
        if holds == condition.size:
            return yes(*args, self)
        result = np.empty(condition.shape)
        result[condition] = yes(*(x[condition] for x in args), self)
        result[~condition] = no(*(x[~condition] for x in args), self)
        return result


SCALAR: Functions[float] = cast("Functions[float]", _Scalar())
ARRAY: Functions[Floats] = cast("Functions[Floats]", _Array())


def density(z: V, f: Functions[V], origin: float = 0.0) -> V:
    """Return the standard normal density at ``z``, in units of e^(-origin²/2)."""
    square = (z - origin) * (z + origin) if origin else z * z
    return _DENSITY * f.exp(-0.5 * square)


def normal_excess(z: V, f: Functions[V]) -> V:
    """Return E(N - z)+ of a standard normal N."""
    # One number can afford the continued fraction and all digits. A hundred at once cannot, nor to be split in two:
    # the scaled form serves all of them above 0.
    if f is SCALAR:
        return f.piecewise(z > FAR, far_excess, _near_excess, z)
    return f.piecewise(z > 0.0, _scaled_excess, _near_excess, z)


def _near_excess(z: V, f: Functions[V]) -> V:
    return density(z, f) - z * f.normal_tail(z)


def _scaled_excess(z: V, f: Functions[V]) -> V:
    # An error of one last place in mills is worth z² of them here, which is one last place of z.
    return density(z, f) * (1.0 - z * mills(z, f))


def mills(z: V, f: Functions[V]) -> V:
    """Return Mills' ratio P(N > z)/φ(z), which varies slowly and keeps its digits."""
    return _SQRT_HALF_PI * f.erfcx(_SQRT_HALF * z)


def far_excess(z: V, f: Functions[V], origin: float = 0.0) -> V:
    """Return E(N - z)+ for z > FAR, all digits of it however far out z is, in units of e^(-origin²/2)."""
    k = continued_fraction(z, f)
    return density(z, f, origin) * k / (z + k)


def far_tail(z: V, f: Functions[V], origin: float = 0.0) -> V:
    """Return P(N > z) for z > FAR, in units of e^(-origin²/2)."""
    return density(z, f, origin) / (z + continued_fraction(z, f))


def continued_fraction(z: V, f: Functions[V]) -> V:
    """Return K(z) = 1/(z + 2/(z + 3/(z + ...))) for z > FAR.

    Laplace's fraction: P(N > z) = φ(z)/(z + K) and E(N - z)+ = φ(z)·K/(z + K), every term positive. At
    this depth truncation and rounding together stay below two units in the last place (against mpmath).
    """
    k = 0.0 * z
    nearest = f.least(z)
    for j in range(10 + int(450.0 / (nearest * nearest)), 0, -1):
        k = j / (z + k)
    return k
