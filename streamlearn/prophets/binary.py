"""One bit of each person: the best is randomized response on a threshold (Remark 1).

Proof: ``value.proof.md`` beside this file, part 6.
"""

from __future__ import annotations

from streamlearn.prophets.convex import Convex
from streamlearn.prophets.interactive import Best
from streamlearn.prophets.response import Person
from streamlearn.prophets.search import Respond, maximal
from streamlearn.prophets.staircase import Staircase


def thresholded(person: Person) -> list[Staircase]:
    """Return the channels of one bit that no other is better than for every use.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.prophets.binary import thresholded
    >>> from streamlearn.prophets.response import Person
    >>> len(thresholded(Person(np.array([0.0, 1.0, 10.0]), np.array([0.6, 0.3, 0.1]), 0.01)))
    2
    """
    told = [person.threshold(index) for index in range(1, max(2, len(person.values)))]
    return [told[index] for index in maximal(told)]


def best_threshold(person: Person) -> Respond:
    """Return the rule that finds the best threshold."""
    told = thresholded(person)
    return lambda worth: max(told, key=lambda one: _worth(one, worth))


def any_threshold(person: Person) -> Best:
    """Return the bound over all thresholds: attained."""
    told = thresholded(person)
    return lambda worth: max(_worth(one, worth) for one in told)


def _worth(told: Staircase, worth: Convex) -> float:
    return float(told.weights @ worth.at(told.means))
