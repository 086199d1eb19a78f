"""What a stopper needs to know of a person's value before it is drawn."""

from __future__ import annotations

import abc
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from streamlearn.errors import PriorError

Floats: TypeAlias = npt.NDArray[np.float64]


class Prior(abc.ABC):
    """The law of one person's value X: a distribution on the real line.

    Attributes
    ----------
    mean
        E[X], finite.
    variance
        Var[X]; ``math.inf`` where it is infinite.
    lower, upper
        The ends of the support; ``upper`` may be ``math.inf``.

    Notes
    -----
    Convention at atoms: ``survival(t)`` is P(X > t), as ``scipy.stats``' ``sf``; ``atom(t)`` is P(X = t);
    so P(X >= t) is their sum. The stop-loss transform S(t) = E(X - t)+ has no such ambiguity.

    Every ``t`` is a real number, below the support too, where S(t) = E[X] - t. Results are never negative, and are
    those of a place that differs from ``t`` by a few of its last digits: no float formula can promise more.

    A law of one's own needs the four attributes and the five abstract methods; a subclass with atoms overrides
    ``atom`` and ``atoms`` too.

    Examples
    --------
    >>> from streamlearn.priors import Exponential, Prior
    >>> law = Exponential(2.0)
    >>> isinstance(law, Prior)
    True
    >>> law.mean, law.variance, law.lower, law.upper
    (2.0, 4.0, 0.0, inf)
    >>> law.stop_loss(-1.0), law.survival(0.0), law.atom(0.0)
    (3.0, 1.0, 0.0)
    """

    __slots__ = ("lower", "mean", "upper", "variance")

    mean: float
    variance: float
    lower: float
    upper: float

    @abc.abstractmethod
    def stop_loss(self, t: float) -> float:
        """Return S(t) = E(X - t)+, in the unit of X."""

    @abc.abstractmethod
    def stop_losses(self, t: Floats) -> Floats:
        """Return S at every entry of ``t``, in the same shape."""

    @abc.abstractmethod
    def survivals(self, t: Floats) -> Floats:
        """Return P(X > t) at every entry of ``t``, in the same shape."""

    @abc.abstractmethod
    def second_moment_above(self, t: float) -> float:
        """Return E[X²; X > t]; ``math.inf`` where the variance is infinite."""

    @abc.abstractmethod
    def square_excess(self, t: float) -> float:
        """Return E[((X - t)+)²]; ``math.inf`` where the variance is infinite."""

    @abc.abstractmethod
    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Return independent draws of X, of the given shape."""

    def survival(self, t: float) -> float:
        """Return P(X > t)."""
        return float(self.survivals(np.array([t]))[0])

    def atom(self, t: float) -> float:  # noqa: ARG002 - a law without atoms ignores the place
        """Return P(X = t); 0 for a continuous law."""
        return 0.0

    @property
    def atoms(self) -> Floats:
        """The values with positive probability, in increasing order; empty for a continuous law."""
        return np.empty(0)

    def mean_above(self, t: float) -> float:
        """Return E[X; X > t] = S(t) + t·P(X > t)."""
        return self.mean if t < self.lower else self.stop_loss(t) + t * self.survival(t)

    def check_usable(self, name: str) -> None:
        """Refuse a law that no stopper can use.

        Parameters
        ----------
        name
            What to call it in the message: the stage.

        Raises
        ------
        PriorError
            If the support reaches below 0 or the mean is infinite or NaN.

        Examples
        --------
        >>> from streamlearn.priors import Pareto
        >>> Pareto(1.0).check_usable("stage 3")
        Traceback (most recent call last):
        ...
        streamlearn.errors.PriorError: stage 3: the mean is infinite, it must be finite; give a law with a lighter tail
        """
        if not math.isfinite(self.mean):
            kind = "NaN" if math.isnan(self.mean) else "infinite"
            raise PriorError(f"{name}: the mean is {kind}, it must be finite; give a law with a lighter tail")
        if not self.lower >= 0.0:
            raise PriorError(
                f"{name}: values must be >= 0 and this law has negative support; truncate it at 0 "
                "(priors.TruncatedNormal for a normal) or shift it"
            )
