"""Laws of scipy.stats, recognised and mapped to closed forms. Imported only once scipy.stats has been."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import scipy.stats

from streamlearn.errors import PriorError
from streamlearn.priors.base import Prior
from streamlearn.priors.continuous import Beta, Exponential, Gamma, Pareto, Uniform, Weibull
from streamlearn.priors.finite import Discrete
from streamlearn.priors.gaussian import LogNormal, Normal, TruncatedNormal
from streamlearn.priors.numerical import Numerical

MAX_ATOMS: Final = 1_000_000
"""The most values of a discrete law that are tabulated."""
_NEGLIGIBLE: Final = 1e-25  # probability times value, where an infinite discrete law is cut off
_ROUNDING: Final = 4.0 * math.ulp(1.0)


def convert(law: Any) -> Prior | None:
    """Return the prior of a ``scipy.stats`` law; None if it is not one.

    Raises
    ------
    PriorError
        If the law is not frozen, has array parameters, or is discrete with more values than can be tabulated.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.priors.fromscipy import convert
    >>> convert(scipy.stats.halfnorm(scale=2.0))
    TruncatedNormal(mean=0.0, sd=2.0, lower=0.0, upper=inf)
    >>> convert(scipy.stats.bernoulli(0.25))
    Discrete([0.0, 1.0], [0.75, 0.25])
    """
    if isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        if law.shapes:
            raise PriorError(
                f"scipy.stats.{law.name} is not frozen; call it: scipy.stats.{law.name}({law.shapes})"
            )
        law = law()
    dist = getattr(law, "dist", None)
    if isinstance(dist, scipy.stats.rv_continuous):
        arguments = _arguments(law)
        closed = _closed_forms().get(type(dist))
        return closed(**arguments) if closed is not None else Numerical(law)
    if isinstance(dist, scipy.stats.rv_discrete):
        arguments = _arguments(law)
        if hasattr(dist, "xk"):  # rv_discrete(values=...)
            return Discrete(dist.xk + arguments["loc"], dist.pk)
        return _tabulate(law)
    # The new style's base classes are not public.
    kinds = {base.__name__ for base in type(law).__mro__ if base.__module__.startswith("scipy.stats")}
    if "DiscreteDistribution" in kinds:
        return _tabulate(law)
    return Numerical(law) if "_ProbabilityDistribution" in kinds else None


def _arguments(law: Any) -> dict[str, float]:
    """Return a frozen law's parameters by name, loc and scale filled in."""
    dist = law.dist
    names = [*(dist.shapes.split(", ") if dist.shapes else []), "loc", "scale"]
    given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, law.args, strict=False)), **law.kwds}
    for name, value in given.items():
        if np.ndim(value) != 0:
            raise PriorError(f"scipy.stats.{dist.name}: {name} is an array; give one law per stage")
    return {name: float(value) for name, value in given.items()}


@lru_cache(maxsize=1)
def _closed_forms() -> dict[type, Callable[..., Prior]]:
    """Return, by class, the closed form of each law that has one, as a function of scipy's parameters."""
    s = scipy.stats
    forms: list[tuple[Any, Callable[..., Prior]]] = [
        (s.uniform, lambda loc, scale: Uniform(loc, loc + scale)),
        (s.expon, lambda loc, scale: Exponential(scale, loc)),
        (s.norm, lambda loc, scale: Normal(mean=loc, sd=scale)),
        (s.halfnorm, lambda loc, scale: TruncatedNormal(loc, scale, lower=loc)),
        (
            s.truncnorm,
            lambda a, b, loc, scale: TruncatedNormal(loc, scale, _end(loc, a * scale), _end(loc, b * scale)),
        ),
        (s.lognorm, lambda s, loc, scale: LogNormal(_log(scale), s, loc)),
        (s.gamma, lambda a, loc, scale: Gamma(a, scale, loc)),
        (s.erlang, lambda a, loc, scale: Gamma(a, scale, loc)),
        (s.chi2, lambda df, loc, scale: Gamma(0.5 * df, 2.0 * scale, loc)),
        (s.weibull_min, lambda c, loc, scale: Weibull(c, scale, loc)),
        (s.rayleigh, lambda loc, scale: Weibull(2.0, math.sqrt(2.0) * scale, loc)),
        (s.pareto, lambda b, loc, scale: Pareto(b, scale, loc)),
        (s.lomax, lambda c, loc, scale: Pareto(c, scale, loc - scale)),
        (s.beta, lambda a, b, loc, scale: Beta(a, b, loc, loc + scale)),
        (s.arcsine, lambda loc, scale: Beta(0.5, 0.5, loc, loc + scale)),
    ]
    return {type(dist): form for dist, form in forms}


def _end(loc: float, offset: float) -> float:
    """Return loc + offset; an end that only rounding keeps from 0 is 0.

    The customary truncnorm((0 - mean)/sd, ...) means a support that begins at 0.
    """
    end = loc + offset
    return 0.0 if abs(end) <= _ROUNDING * abs(loc) else end


def _log(scale: float) -> float:
    return math.log(scale) if scale > 0.0 else math.nan  # which LogNormal refuses


def _tabulate(law: Any) -> Discrete:
    """Return the table of a law on integers (shifted or not), cut off where nothing is left of it."""
    name = getattr(getattr(law, "dist", law), "name", type(law).__name__)
    low, high = (float(end) for end in law.support())
    if low == -math.inf:
        raise PriorError(
            f"{name}: values must be >= 0 and this law has negative support; shift or truncate it"
        )
    if not low <= high:
        raise PriorError(f"{name}: its parameters are out of their bounds: it has no support")
    if high == math.inf:
        high = _last(law, low)
    if not high - low < MAX_ATOMS:
        raise PriorError(
            f"{name}: more than {MAX_ATOMS} of its values matter, too many to tabulate; "
            "give a continuous law, or priors.Discrete of those that you keep"
        )
    values = np.arange(low, high + 1.0)
    return Discrete(values, np.asarray(law.pmf(values)))


def _last(law: Any, low: float) -> float:
    """Return a value past which a law holds nothing that a float sum could notice; infinite if far out."""
    sf = getattr(law, "sf", None) or law.ccdf
    step = 16.0
    while step < 2.0 * MAX_ATOMS:
        if sf(low + step) < 1e-12 and law.pmf(low + step) * step < _NEGLIGIBLE:
            return low + step
        step *= 2.0
    return math.inf
