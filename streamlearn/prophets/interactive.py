"""A bound on every private prophet: one who may choose each channel knowing the reports before it, and recall anyone.

With m the best posterior mean so far, V_i(m) = max over channels of E V_{i+1}(max(m, posterior mean of i)), and
V_{n+1}(m) = m. Each V_i is convex, so the chords between computed points lie above it.
Proof: ``value.proof.md`` beside this file, part 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from streamlearn.priors.base import Floats
from streamlearn.prophets.convex import Convex
from streamlearn.prophets.response import Messages, Person

Best: TypeAlias = Callable[[Convex], float]
"""A bound on what any channel of one person is worth, given what a posterior mean is worth."""

_POINTS: Final = 96
_CLOSE: Final = 1e-7


def interactive_upper(persons: Sequence[Person], best: Callable[[Person], Best]) -> float:
    """Return an upper bound on what an interactive prophet gets who hears the persons in this order.

    Parameters
    ----------
    persons
        In order.
    best
        Makes the bound of one person's channels.
    """
    points = _points(persons)
    bounds = {id(person): best(person) for person in {id(person): person for person in persons}.values()}
    values = points.copy()
    for person in reversed(persons):
        bound = bounds[id(person)]
        after = chords(points, values)
        values = np.array([bound(_recalling(after, point)) for point in points])
        values[-1] = points[-1]  # nobody is worth more
    return float(values[0])


def any_channel(person: Person) -> Best:
    """Return the bound over all channels.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.prophets.convex import NOBODY
    >>> from streamlearn.prophets.interactive import any_channel
    >>> from streamlearn.prophets.response import Person
    >>> round(any_channel(Person(np.array([0.0, 2.0]), np.array([0.5, 0.5]), 0.25))(NOBODY.worth()), 9)
    1.0
    """
    messages = Messages(person)
    return lambda worth: messages.best(worth, _CLOSE).upper


def chords(points: Floats, values: Floats) -> Convex:
    """Return the largest convex function with these values, going on to the right with slope 1.

    Parameters
    ----------
    points, values
        Increasing points, and a convex function's values there.
    """
    slopes = np.append(np.diff(values) / np.diff(points), 1.0)
    slopes = np.clip(np.maximum.accumulate(slopes), 0.0, 1.0)
    return Convex(points[1:], slopes, values - slopes * points)


def _recalling(after: Convex, point: float) -> Convex:
    """Return v -> V(max(point, v))."""
    first = int(np.searchsorted(after.breaks, point, side="right"))
    return Convex(
        np.append(point, after.breaks[first:]),
        np.append(0.0, after.slopes[first:]),
        np.append(after.at(np.array([point])), after.intercepts[first:]),
    )


def _points(persons: Sequence[Person]) -> Floats:
    """Return where values are computed: 0, and evenly between the least and the largest posterior mean of anyone."""
    ends = [person.extreme_means() for person in persons]
    low, high = min(least for least, _ in ends), max(most for _, most in ends)
    return np.unique(np.append(0.0, np.linspace(low, high, _POINTS)))
