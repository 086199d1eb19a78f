"""From what a user has at hand to priors."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from streamlearn.errors import PriorError
from streamlearn.priors import parameters
from streamlearn.priors.base import Prior
from streamlearn.priors.finite import Empirical, PointMass

_ACCEPTED = (
    "a prior is a number, a sample (a list or a one-dimensional array of numbers), a frozen scipy.stats law "
    "such as scipy.stats.uniform(), or an object of streamlearn.priors"
)


def as_prior(law: Any) -> Prior:
    """Return the prior that ``law`` stands for.

    Parameters
    ----------
    law
        - a prior: returned as it is;
        - a real number (not a bool): :class:`PointMass`;
        - a list, tuple or one-dimensional array of numbers: :class:`Empirical`;
        - a frozen ``scipy.stats`` law: the closed form of the same law where there is one, a
          :class:`Discrete` for a discrete law of finite support or light tail, else :class:`Numerical`.

    Raises
    ------
    PriorError
        If it is anything else, or its numbers are unusable.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn import priors
    >>> priors.as_prior(scipy.stats.expon(scale=2.0))
    Exponential(scale=2.0, loc=0.0)
    >>> priors.as_prior(0.7), priors.as_prior([1, 2, 3])
    (PointMass(0.7), Empirical(n=3))
    """
    if isinstance(law, Prior):
        return law
    value = parameters.real(law)
    if value is not None:
        return PointMass(value)
    if isinstance(law, list | tuple) or (
        hasattr(law, "__array__") and not isinstance(law, np.generic | type)
    ):
        return Empirical(law)
    # Nobody holds a law of scipy.stats in a program that never imported it, and importing it costs 500 ms.
    if "scipy.stats" in sys.modules:
        from streamlearn.priors import fromscipy  # noqa: PLC0415 - as above

        found = fromscipy.convert(law)
        if found is not None:
            return found
    hint = "; priors.parse reads priors from text" if isinstance(law, str) else ""
    raise PriorError(f"got {_described(law)}; {_ACCEPTED}{hint}")


def as_priors(laws: Iterable[Any]) -> list[Prior]:
    """Return one usable prior per stage.

    Each distinct object is converted once: ``[scipy.stats.uniform()] * 10`` gives the same prior ten times.

    Parameters
    ----------
    laws
        What :func:`as_prior` accepts, one per stage. A flat list or array of numbers is one point mass per
        stage; a list of lists is one sample per stage.

    Raises
    ------
    PriorError
        If there is no stage, one prior was given in place of a list, or a stage's prior cannot be used: its
        support reaches below 0, its mean is infinite, or it cannot be converted. The stage is named, from 1.

    Examples
    --------
    >>> from streamlearn import priors
    >>> priors.as_priors([0.5, priors.Uniform(0, 1)])
    [PointMass(0.5), Uniform(lower=0.0, upper=1.0)]
    >>> priors.as_priors([0.5, priors.Normal(0, 1)])
    Traceback (most recent call last):
    ...
    streamlearn.errors.PriorError: stage 2: values must be >= 0 and this law has negative support; ...
    """
    if isinstance(laws, Prior | str | bytes | Mapping | AbstractSet) or not isinstance(laws, Iterable):
        raise PriorError(f"priors must be a list, one per stage, got {_described(laws)}; write [prior] * n")
    if isinstance(laws, np.ndarray) and laws.ndim == 0:
        raise PriorError("priors must be a list, one per stage, got one number; write [prior] * n")
    stages = list(laws)
    if not stages:
        raise PriorError("n = 0: there is no stage; give at least one prior")
    identities = list(map(id, stages))
    first = dict(
        zip(reversed(identities), range(len(stages), 0, -1), strict=True)
    )  # where each object is first
    converted = {identity: _usable(stages[stage - 1], f"stage {stage}") for identity, stage in first.items()}
    return list(map(converted.__getitem__, identities))


def _usable(law: Any, name: str) -> Prior:
    try:
        prior = as_prior(law)
    except PriorError as error:
        raise PriorError(f"{name}: {error}") from None
    prior.check_usable(name)
    return prior


def _described(law: Any) -> str:
    return f"the class {law.__name__}" if isinstance(law, type) else f"an object of type {type(law).__name__}"
