"""Convex functions made of lines: what a posterior mean is worth to a prophet who still compares it with others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamlearn.priors.base import Floats


class Convex(NamedTuple):
    """A convex, increasing, piecewise linear function.

    Attributes
    ----------
    breaks
        Where its lines meet, increasing, shape (k,).
    slopes, intercepts
        Its lines from left to right, shape (k + 1,).
    """

    breaks: Floats
    slopes: Floats
    intercepts: Floats

    def at(self, points: Floats) -> Floats:
        """Return its values, in the shape of ``points``.

        Examples
        --------
        >>> import numpy as np
        >>> from streamlearn.prophets.convex import Convex
        >>> Convex(np.array([1.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])).at(np.array([0.5, 3.0])).tolist()
        [1.0, 3.0]
        """
        line = np.searchsorted(self.breaks, points)
        return np.asarray(self.slopes[line] * points + self.intercepts[line])


class Largest(NamedTuple):
    """The law of the largest of independent posterior means.

    Attributes
    ----------
    values
        In increasing order, shape (k,).
    cdf
        P(largest <= value) for each, shape (k,); the last is 1.
    """

    values: Floats
    cdf: Floats

    @property
    def mean(self) -> float:
        """Its mean."""
        return float(self.values @ np.diff(self.cdf, prepend=0.0))

    def worth(self) -> Convex:
        """Return v -> E max(v, largest).

        Examples
        --------
        >>> import numpy as np
        >>> from streamlearn.prophets.convex import Largest
        >>> Largest(np.array([0.0, 2.0]), np.array([0.5, 1.0])).worth().at(np.array([1.0])).tolist()
        [1.5]
        """
        parts = self.values * np.diff(self.cdf, prepend=0.0)
        above = np.append(np.cumsum(parts[::-1])[::-1], 0.0)
        return Convex(self.values, np.append(0.0, self.cdf), above)


NOBODY = Largest(np.zeros(1), np.ones(1))
"""The largest of no posterior means: 0."""


def larger(first: Largest, means: Floats, weights: Floats) -> Largest:
    """Return the law of the larger of a value and one more, independent, posterior mean.

    Parameters
    ----------
    first
        The law of the value.
    means, weights
        That of the other, means increasing; shape (k,).

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.prophets.convex import NOBODY, larger
    >>> coin = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    >>> larger(larger(NOBODY, *coin), *coin).mean
    0.75
    """
    values = np.concatenate([first.values, means])
    values.sort()
    other = np.append(0.0, np.cumsum(weights))
    other[-1] = 1.0
    before = np.append(0.0, first.cdf)
    cdf = (
        before[np.searchsorted(first.values, values, side="right")]
        * other[np.searchsorted(means, values, side="right")]
    )
    kept = np.append(True, cdf[1:] > cdf[:-1]) & (cdf > 0.0)
    return Largest(values[kept], cdf[kept])
