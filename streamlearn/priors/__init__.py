"""Laws of a person's value, before it is drawn.

Numbers, samples and frozen ``scipy.stats`` laws become priors by :func:`as_prior`; text by :func:`parse`.
"""

from __future__ import annotations

from streamlearn.priors.base import Prior
from streamlearn.priors.continuous import Beta, Exponential, Gamma, Pareto, Uniform, Weibull
from streamlearn.priors.convert import as_prior, as_priors
from streamlearn.priors.finite import Discrete, Empirical, Finite, PointMass
from streamlearn.priors.gaussian import LogNormal, Normal, TruncatedNormal
from streamlearn.priors.notation import parse
from streamlearn.priors.numerical import Numerical

__all__ = [
    "Beta",
    "Discrete",
    "Empirical",
    "Exponential",
    "Finite",
    "Gamma",
    "LogNormal",
    "Normal",
    "Numerical",
    "Pareto",
    "PointMass",
    "Prior",
    "TruncatedNormal",
    "Uniform",
    "Weibull",
    "as_prior",
    "as_priors",
    "parse",
]
