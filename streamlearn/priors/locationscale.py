"""Laws written as loc + scale·Z, with closed forms for Z."""

from __future__ import annotations

import abc
import math
from typing import ClassVar

import numpy as np

from streamlearn.priors.base import Floats, Prior
from streamlearn.priors.functions import ARRAY, SCALAR, Functions, V


class LocationScale(Prior):
    """A law X = loc + scale·Z.

    A subclass names its parameters in ``_names``, hands their values and Z's place to ``_place``, and
    gives three formulas for Z, each for floats and arrays alike and for z inside the support:
    ``_excess`` E(Z - z)+, ``_tail`` P(Z > z) and ``_square_excess`` E[((Z - z)+)²].
    """

    __slots__ = ("_floor", "_last", "_loc", "_parameters", "_scale", "_start")
    _names: ClassVar[tuple[str, ...]]

    def _place(
        self,
        parameters: tuple[float, ...],
        *,
        mean: float,
        variance: float,
        loc: float = 0.0,
        scale: float = 1.0,
        start: float = 0.0,
        end: float = math.inf,
    ) -> None:
        """Take the parameters in the order of ``_names`` and the mean, variance and support of Z."""
        self._parameters = parameters
        self._loc, self._scale = loc, scale
        # Formulas are asked between these; a subclass draws them closer where Z has no mass a float can hold.
        self._start, self._last = start, end
        self.mean = loc + scale * mean
        self.variance = scale * scale * variance
        self.lower = self._floor = loc + scale * start
        self.upper = loc + scale * end

    @abc.abstractmethod
    def _excess(self, z: V, f: Functions[V]) -> V: ...

    @abc.abstractmethod
    def _tail(self, z: V, f: Functions[V]) -> V: ...

    @abc.abstractmethod
    def _square_excess(self, z: float, f: Functions[float]) -> float: ...

    def stop_loss(self, t: float) -> float:
        """Return S(t) = E(X - t)+, in the unit of X."""
        z = (t - self._loc) / self._scale
        if z <= self._start or t <= self._floor:  # z is rounded
            return self.mean - t
        if z >= self._last:
            return 0.0
        excess = self._scale * self._excess(z, SCALAR)
        return 0.0 if excess < 0.0 else excess  # noqa: FURB136 - max() takes 50 ns more; rounding can go below 0

    def stop_losses(self, t: Floats) -> Floats:
        """Return S at every entry of ``t``, in the same shape."""
        z = self._unit(t)
        excess: Floats = np.maximum(self._excess(z, ARRAY), 0.0)  # a difference may round below 0
        if self._scale != 1.0:
            excess *= self._scale
        # Where X is Z, z is already max(t, floor); each operation saved is a tenth of the whole.
        plain = self._loc == 0.0 and self._scale == 1.0 and self._last == math.inf
        excess += (z if plain else np.maximum(t, self._floor)) - t
        return excess

    def survival(self, t: float) -> float:
        """Return P(X > t)."""
        z = (t - self._loc) / self._scale
        if z <= self._start or t <= self._floor:
            return 1.0
        if z >= self._last:
            return 0.0
        return self._tail(z, SCALAR)

    def survivals(self, t: Floats) -> Floats:
        """Return P(X > t) at every entry of ``t``, in the same shape."""
        return self._tail(self._unit(t), ARRAY)

    def second_moment_above(self, t: float) -> float:
        """Return E[X²; X > t] = t²·P(X > t) + 2t·S(t) + E[((X - t)+)²]; ``math.inf`` if the variance is."""
        if math.isinf(self.variance):
            return math.inf
        t = max(t, self._floor)
        z = self._start if t == self._floor else max((t - self._loc) / self._scale, self._start)
        if z >= self._last:
            return 0.0
        inside = t * self._tail(z, SCALAR) + 2.0 * self._scale * self._excess(z, SCALAR)
        return max(t * inside + self._scale**2 * self._square_excess(z, SCALAR), 0.0)

    def square_excess(self, t: float) -> float:
        """Return E[((X - t)+)²]; ``math.inf`` where the variance is infinite."""
        if t <= self._floor:
            return self.variance + (self.mean - t) * (self.mean - t)
        if math.isinf(self.variance):
            return math.inf
        z = max((t - self._loc) / self._scale, self._start)
        if z >= self._last:
            return 0.0
        return max(self._scale * self._scale * self._square_excess(z, SCALAR), 0.0)

    def _unit(self, t: Floats) -> Floats:
        """Return the entries in the unit of Z, moved inside its support."""
        z = t
        if self._loc != 0.0:  # most laws start at 0, and each of these costs as much as a logarithm
            z = z - self._loc
        if self._scale != 1.0:
            z = z / self._scale
        z = np.maximum(z, self._start)
        return z if self._last == math.inf else np.minimum(z, self._last)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash((type(self), self._parameters))

    def __repr__(self) -> str:
        named = zip(self._names, self._parameters, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in named)})"
