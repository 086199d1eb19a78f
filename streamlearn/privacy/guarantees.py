"""What is promised, to whom, about what."""

from __future__ import annotations

import math
from typing import Literal, Self

import msgspec

from streamlearn import rounding
from streamlearn.errors import ParameterError

Notion = Literal["local", "joint", "central", "none"]
Unit = Literal["report", "event", "person"]

_NEIGHBOURS = {
    "local": "any two values of the person who reports",
    "joint": "two streams that differ in one labelled example; the output of its own round is left out",
    "central": "two data sets that differ in one record",
    "none": "no promise",
}


class Guarantee(msgspec.Struct, frozen=True):
    """A privacy promise: the notion, its parameters and the unit it protects.

    Parameters
    ----------
    notion
        ``"local"`` (LDP: the agent itself is not trusted), ``"joint"`` (JDP: the other people's view),
        ``"central"`` (DP of the whole output) or ``"none"``.
    epsilon, delta
        The parameters, 0 <= ε <= ∞ and 0 <= δ <= 1.
    unit
        What is protected: one ``"report"``, one ``"event"`` or everything of one ``"person"``.

    Raises
    ------
    ParameterError
        If ε or δ is outside its bound.

    Examples
    --------
    >>> from streamlearn import Guarantee
    >>> print(Guarantee.local(1.0))
    1-local differential privacy per report
    >>> print(Guarantee.none())
    no privacy guarantee
    """

    notion: Notion
    epsilon: float
    delta: float = 0.0
    unit: Unit = "report"

    def __post_init__(self) -> None:
        if self.notion not in _NEIGHBOURS:
            raise ParameterError(f"notion must be one of {', '.join(_NEIGHBOURS)}, got {self.notion!r}")
        rounding.check_epsilon(self.epsilon)
        if not 0.0 <= self.delta <= 1.0:
            raise ParameterError(f"delta must lie in [0, 1], got {self.delta}")

    @classmethod
    def local(cls, epsilon: float, unit: Unit = "report") -> Self:
        """Return ε-local differential privacy; infinite ε promises nothing and is :meth:`none`.

        Examples
        --------
        >>> from streamlearn import Guarantee
        >>> Guarantee.local(float("inf")) == Guarantee.none()
        True
        """
        return cls.none() if math.isinf(epsilon) else cls("local", epsilon, 0.0, unit)

    @classmethod
    def none(cls) -> Self:
        """Return the guarantee of an agent that promises nothing."""
        return cls("none", math.inf, 1.0)

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words: what an observer cannot tell apart."""
        return _NEIGHBOURS[self.notion]

    def __str__(self) -> str:
        if self.notion == "none":
            return "no privacy guarantee"
        level = f"{self.epsilon:g}" if self.delta == 0.0 else f"({self.epsilon:g}, {self.delta:g})"
        return f"{level}-{self.notion} differential privacy per {self.unit}"
