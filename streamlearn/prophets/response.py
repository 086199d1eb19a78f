"""The best channel of one person, when a posterior mean v is worth g(v): a linear program over staircase messages.

Proof: ``value.proof.md`` beside this file, parts 1 and 3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from streamlearn.priors.base import Floats
from streamlearn.prophets.convex import Convex
from streamlearn.prophets.staircase import Staircase, Subsets, balanced, channel

_STEPS: Final = 2_000
_APART: Final = 1e-7
_FLAT: Final = 1e-7
_SILENT: Final = 1e-6
_CLOSE: Final = 1e-11
"""How near bound and value must come, as a share of the value, before the search ends."""


class Person(NamedTuple):
    """A person whose value is one of finitely many.

    Attributes
    ----------
    values, probs
        The law, values increasing, shape (m,).
    least
        r = e^(-ε).
    """

    values: Floats
    probs: Floats
    least: float

    def posterior(self, probabilities: Floats) -> Staircase:
        """Return what a channel tells, its messages in the order of their posterior means, equal ones as one.

        Parameters
        ----------
        probabilities
            P(message | value), shape (messages, m).
        """
        weights = probabilities @ self.probs
        means = probabilities @ (self.probs * self.values) / weights
        order = np.argsort(means, kind="stable")
        fresh = np.append(True, np.diff(means[order]) > 0.0)
        starts = np.flatnonzero(fresh)
        merged = np.add.reduceat(probabilities[order], starts, axis=0)
        return Staircase(self.values, merged, means[order][starts], np.add.reduceat(weights[order], starts))

    def threshold(self, index: int) -> Staircase:
        """Return randomized response on "value >= values[index]"; a constant where that says nothing.

        Parameters
        ----------
        index
            0 <= index <= m.
        """
        if not 0 < index < len(self.values):
            return self.posterior(np.ones((1, len(self.values))))
        above = np.arange(len(self.values)) >= index
        return self.posterior(channel(np.array([above, ~above]), np.ones(2), self.least))

    def extreme_means(self) -> tuple[float, float]:
        """Return the least and the largest posterior mean that a message can have."""
        square = np.ones((len(self.values), len(self.values)), dtype=bool)
        lower, upper = (
            (columns @ (self.probs * self.values)) / (columns @ self.probs)
            for columns in (np.where(rows, 1.0, self.least) for rows in (np.tril(square), np.triu(square)))
        )
        return float(lower.min()), float(upper.max())


class Response(NamedTuple):
    """A channel that is as good as any.

    Attributes
    ----------
    value
        What it is worth, E g(posterior mean).
    upper
        No channel is worth more.
    subsets, weights
        The channel, as :func:`~streamlearn.prophets.staircase.channel` takes it.
    """

    value: float
    upper: float
    subsets: Subsets
    weights: Floats


class Messages:
    """The channels of one person, as vertices: from one that is best for one purpose to a best one for the next.

    Parameters
    ----------
    person
        Whose.

    Notes
    -----
    The primal simplex method. Whatever posterior means are worth, the channels are the same polytope, so a search
    begins where the last one ended; and of its 2^m columns, the one that enters is found line by line of g in O(m).
    """

    def __init__(self, person: Person) -> None:
        size = len(person.values)
        self.person = person
        self._basis: Subsets = np.triu(np.ones((size, size), dtype=bool))
        # Right sides a little apart, rising as the first basis needs: no step of the method is then of length 0.
        self._right = 1.0 + _APART * np.sqrt(np.arange(1.0, size + 1.0))

    def best(self, worth: Convex, close: float = _CLOSE) -> Response:
        """Return a best channel and a bound on all channels.

        Parameters
        ----------
        worth
            g, what a posterior mean is worth.
        close
            The gap that will do, as a share of the value.
        """
        if 1.0 - self.person.least < _SILENT:
            return self._constant(worth)
        person = self.person
        rows = person.probs * (worth.slopes[:, None] * person.values + worth.intercepts[:, None])
        most = min(float(len(person.values)), 1.0 / person.least if person.least else np.inf)
        # What rounding can make of a sum of prices, and of `most` times an excess.
        grain = 2.0**-52 * most * (len(person.values) + 2)
        scale = float(np.abs(rows).sum(axis=1).max())
        columns = np.where(self._basis, 1.0, person.least)
        gains = (columns @ rows.T).max(axis=1)  # lines that cross a little by rounding count as they are
        upper = np.inf
        for _ in range(_STEPS):
            inverse = np.linalg.inv(columns)
            prices = inverse @ gains
            reduced = rows - prices
            excess = np.where(reduced > 0.0, reduced, person.least * reduced).sum(axis=1)
            line = int(excess.argmax())
            bound, surplus = float(prices.sum()), most * max(float(excess[line]), 0.0)
            guard = grain * (float(np.abs(prices).sum()) + scale)
            upper = min(upper, bound + surplus + guard)
            if surplus <= max(close * abs(bound), guard):
                break
            entering = np.where(reduced[line] > 0.0, 1.0, person.least)
            direction, rates = entering @ inverse, self._right @ inverse
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                steps = np.where(direction > _FLAT, rates / direction, np.inf)
            leaving = int(steps.argmin())
            if not steps[leaving] < np.inf:
                break
            columns[leaving] = entering
            gains[leaving] = (rows @ entering).max()
        self._basis = columns == 1.0
        subsets, weights = balanced(self._basis)
        told = person.posterior(channel(subsets, weights, person.least))
        value = float(told.weights @ worth.at(told.means))
        return Response(value, max(upper, value), subsets, weights)

    def _constant(self, worth: Convex) -> Response:
        """Return the channel that says nothing: posterior means are then below μ/r, and g rises by at most 1 a unit."""
        person = self.person
        mean = float(person.probs @ person.values)
        value = float(worth.at(np.array([mean]))[0])
        everything = np.ones((1, len(person.values)), dtype=bool)
        return Response(value, value + mean * (1.0 / person.least - 1.0), everything, np.ones(1))
