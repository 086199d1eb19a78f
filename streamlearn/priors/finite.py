"""Laws on finitely many values: a point mass, a discrete law, an empirical log."""

from __future__ import annotations

import abc
import hashlib
import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streamlearn.errors import PriorError
from streamlearn.priors import parameters
from streamlearn.priors.base import Floats, Prior

Size = int | tuple[int, ...]

SUM_TOLERANCE = 1e-9
"""Probabilities must sum to 1 within this; they are then divided by their sum."""
_SHOWN = 8  # values in a repr


class Finite(Prior):
    """A law on finitely many values: a point mass, a discrete law or an empirical log.

    Attributes
    ----------
    atoms
        The values, in increasing order, shape (m,).
    probs
        Their probabilities, all positive, shape (m,).

    Examples
    --------
    >>> from streamlearn.priors import Finite, PointMass, Uniform
    >>> isinstance(PointMass(1.0), Finite), isinstance(Uniform(0, 1), Finite)
    (True, False)
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def probs(self) -> Floats:
        """The probabilities of ``atoms``, in their order."""


class PointMass(Finite):
    """The law of a value known in advance.

    Parameters
    ----------
    value
        Finite.

    Raises
    ------
    PriorError
        If it is not one finite number.

    Examples
    --------
    >>> from streamlearn.priors import PointMass
    >>> law = PointMass(0.7)
    >>> law.stop_loss(0.2), law.survival(0.7), law.atom(0.7)
    (0.49999999999999994, 0.0, 1.0)
    """

    __slots__ = ()

    def __init__(self, value: float) -> None:
        self.mean = self.lower = self.upper = parameters.finite("PointMass", "value", value)
        self.variance = 0.0

    @property
    def atoms(self) -> Floats:
        """The value."""
        return np.array([self.mean])

    @property
    def probs(self) -> Floats:
        """The probability 1."""
        return np.ones(1)

    def stop_loss(self, t: float) -> float:
        """Return S(t) = (value - t)+."""
        return self.mean - t if t < self.mean else 0.0

    def stop_losses(self, t: Floats) -> Floats:
        """Return S at every entry of ``t``, in the same shape."""
        result: Floats = np.maximum(self.mean - t, 0.0)
        return result

    def survival(self, t: float) -> float:
        """Return P(X > t)."""
        return 1.0 if t < self.mean else 0.0

    def survivals(self, t: Floats) -> Floats:
        """Return P(X > t) at every entry of ``t``, in the same shape."""
        return (t < self.mean).astype(np.float64)

    def atom(self, t: float) -> float:
        """Return P(X = t)."""
        return 1.0 if t == self.mean else 0.0

    def second_moment_above(self, t: float) -> float:
        """Return E[X²; X > t]."""
        return self.mean * self.mean if t < self.mean else 0.0

    def square_excess(self, t: float) -> float:
        """Return (value - t)+²."""
        return (self.mean - t) * (self.mean - t) if t < self.mean else 0.0

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:  # noqa: ARG002 - nothing is random
        """Return the value, in the given shape."""
        return np.full(size, self.mean)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointMass) and self.mean == other.mean

    def __hash__(self) -> int:
        return hash((PointMass, self.mean))

    def __repr__(self) -> str:
        return f"PointMass({self.mean!r})"


class _Table(Finite):
    """Values v_1 < ... < v_m with positive weights, tabulated.

    S is piecewise linear: for v_(j-1) < t <= v_j, S(t) = S(v_j) + (v_j - t)·P(X >= v_j). S(v_j) is a sum of
    positive gaps times probabilities, taken from the top with compensation, so no digit is lost in the tail.
    """

    __slots__ = (
        "_atoms",
        "_excess",
        "_excesses",
        "_hash",
        "_probs",
        "_reach",
        "_reaches",
        "_square",
        "_values",
    )

    def _tabulate(self, values: Floats, weights: Floats) -> None:
        """Take increasing values and their positive weights, of any sum."""
        reach = _suffix_sums(weights)
        total = reach[0]
        reach = np.append(reach / total, 0.0)  # P(X >= v_j), and 0 past the end
        excess = np.append(_suffix_sums(np.diff(values) * reach[1:-1]), 0.0)  # S(v_j)
        # Arrays of the standard library answer one number faster than numpy's; the two can share memory.
        self._values, self._excess, self._reach = (array("d", x.tobytes()) for x in (values, excess, reach))
        self._atoms, self._excesses, self._reaches = map(_shared, (self._values, self._excess, self._reach))
        self._probs: Floats = weights / total
        self.lower, self.upper = self._values[0], self._values[-1]
        self.mean = self.lower + self._excess[0]
        with np.errstate(over="ignore", invalid="ignore"):  # beyond 1e154 a square is infinite
            self.variance = float(np.sum(self._probs * (values - self.mean) ** 2))
            self._square = np.append(_suffix_sums(self._probs * values**2), 0.0)
        digest = hashlib.blake2b(values.tobytes() + self._probs.tobytes(), digest_size=8)
        self._hash = int.from_bytes(digest.digest(), "big")

    @property
    def atoms(self) -> Floats:
        """The values with positive probability, in increasing order."""
        return self._atoms

    @property
    def probs(self) -> Floats:
        """The probabilities of ``atoms``, in their order."""
        return self._probs

    def stop_loss(self, t: float) -> float:
        """Return S(t) = E(X - t)+, in the unit of X."""
        if t >= self.upper:
            return 0.0
        values = self._values
        j = bisect_left(values, t)
        return self._excess[j] + (values[j] - t) * self._reach[j]

    def stop_losses(self, t: Floats) -> Floats:
        """Return S at every entry of ``t``, in the same shape."""
        j = np.searchsorted(self._atoms[:-1], t)
        rise: Floats = np.maximum(self._atoms[j] - t, 0.0)
        result: Floats = self._excesses[j] + rise * self._reaches[j]
        return result

    def survival(self, t: float) -> float:
        """Return P(X > t)."""
        return self._reach[bisect_right(self._values, t)]

    def survivals(self, t: Floats) -> Floats:
        """Return P(X > t) at every entry of ``t``, in the same shape."""
        return self._reaches[np.searchsorted(self._atoms, t, side="right")]

    def atom(self, t: float) -> float:
        """Return P(X = t)."""
        j = bisect_right(self._values, t) - 1
        return float(self._probs[j]) if j >= 0 and self._values[j] == t else 0.0

    def second_moment_above(self, t: float) -> float:
        """Return E[X²; X > t]; ``math.inf`` where the variance is too large for a float."""
        if math.isinf(self.variance):
            return math.inf
        return float(self._square[bisect_right(self._values, t)])

    def square_excess(self, t: float) -> float:
        """Return E[((X - t)+)²]; ``math.inf`` where the variance is too large for a float."""
        if math.isinf(self.variance):
            return math.inf
        above = bisect_right(self._values, t)
        distances = self._atoms[above:] - t
        return float(self._probs[above:] @ (distances * distances))

    def sample(self, generator: np.random.Generator, size: Size) -> Floats:
        """Return independent draws of X, of the given shape."""
        below = 1.0 - self._reaches[1:]  # P(X <= v_j); the last is 1, above every draw
        draws: Floats = self._atoms[np.searchsorted(below, generator.random(size), side="right")]
        return draws

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Table)
            and type(self) is type(other)
            and self._hash == other._hash
            and np.array_equal(self._atoms, other._atoms)
            and np.array_equal(self._probs, other._probs)
        )

    def __hash__(self) -> int:
        return self._hash


class Discrete(_Table):
    """A law on finitely many values with given probabilities.

    Parameters
    ----------
    values
        Finite numbers, shape (m,), in any order. Equal values are merged, values of probability 0 dropped.
    probs
        Their probabilities, shape (m,), >= 0, summing to 1 within 1e-9; they are then divided by their sum.

    Raises
    ------
    PriorError
        If the shapes differ, an entry is not a finite number, a probability is negative, or the sum is not 1.

    Notes
    -----
    S is piecewise linear and exact up to rounding: one sort when made, one binary search a call.

    Examples
    --------
    >>> from streamlearn.priors import Discrete
    >>> law = Discrete([5, 0], [0.1, 0.9])
    >>> law
    Discrete([0.0, 5.0], [0.9, 0.1])
    >>> law.mean, law.stop_loss(1.0), law.survival(0.0)
    (0.5, 0.4, 0.1)
    """

    __slots__ = ()

    def __init__(
        self, values: Sequence[float] | npt.ArrayLike, probs: Sequence[float] | npt.ArrayLike
    ) -> None:
        at, weights = parameters.entries(values, "values"), parameters.entries(probs, "probs")
        if at.size != weights.size:
            raise PriorError(
                f"Discrete: {at.size} values and {weights.size} probs; give one probability a value"
            )
        negative = np.flatnonzero(weights < 0.0)
        if negative.size:
            raise PriorError(
                f"Discrete: entry {negative[0] + 1} of probs is negative; probabilities are >= 0"
            )
        total = math.fsum(weights)
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise PriorError(
                f"Discrete: probabilities sum to {total:.12g}, they must sum to 1; divide them by it"
            )
        order = np.argsort(at, kind="stable")
        order = order[weights[order] > 0.0]
        at, weights = at[order], weights[order]
        first = np.flatnonzero(np.diff(at, prepend=-np.inf))
        self._tabulate(at[first], np.add.reduceat(weights, first))

    def __repr__(self) -> str:
        if len(self._values) > _SHOWN:
            return f"Discrete(<{len(self._values)} values>)"
        return f"Discrete({self._values.tolist()}, {self._probs.tolist()})"


class Empirical(_Table):
    """The law of a log of past values: each entry has probability 1/n.

    The log is private: no repr or message of this class quotes an entry.

    Parameters
    ----------
    sample
        Finite numbers, shape (n,), in any order.

    Raises
    ------
    PriorError
        If it is empty, not one-dimensional, or an entry is not a finite number; the entry's place is named,
        counted from 1.

    Examples
    --------
    >>> from streamlearn.priors import Empirical
    >>> law = Empirical([3, 1, 1, 3])
    >>> law
    Empirical(n=4)
    >>> law.mean, law.stop_loss(2.0), law.atom(1.0)
    (2.0, 0.5, 0.5)
    """

    __slots__ = ("_first_negative", "n")

    def __init__(self, sample: Sequence[float] | npt.ArrayLike) -> None:
        entries = parameters.entries(sample, "the sample")
        self.n = entries.size
        self._first_negative = int(np.argmax(entries < 0.0)) + 1 if entries.min() < 0.0 else 0
        values, counts = np.unique(entries, return_counts=True)
        self._tabulate(values, counts.astype(np.float64))

    def check_usable(self, name: str) -> None:
        """Refuse a sample that no stopper can use, naming its first negative entry.

        Raises
        ------
        PriorError
            If an entry is negative.
        """
        if self._first_negative:
            raise PriorError(
                f"{name}: entry {self._first_negative} of the sample is negative; "
                "values must be >= 0: drop it, or shift the whole sample"
            )

    def __repr__(self) -> str:
        return f"Empirical(n={self.n})"


def _shared(numbers: array[float]) -> Floats:
    """Return a read-only numpy view of the same memory."""
    view = np.frombuffer(numbers)
    view.flags.writeable = False
    return view


def _suffix_sums(x: Floats) -> Floats:
    """Return Σ_{k>=j} x_k for every j, each with the rounding errors of the running sum added back.

    The error of each addition is itself a float and is found exactly (Knuth's two-sum), so the result is as
    if summed in twice the precision: about one unit in the last place for 10^6 entries.
    """
    added = x[::-1]
    sums = np.cumsum(added)
    before, after = sums[:-1], sums[1:]
    kept = after - before
    errors = (before - (after - kept)) + (added[1:] - kept)
    sums[1:] += np.cumsum(errors)
    return sums[::-1]
