"""The best channels of many persons: all extreme ones where these are few, else each in turn until none gains.

Proof: ``value.proof.md`` beside this file, parts 1 and 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from streamlearn.priors.base import Floats
from streamlearn.prophets.convex import NOBODY, Convex, Largest, larger
from streamlearn.prophets.response import Person
from streamlearn.prophets.staircase import MOST_VALUES, Staircase, channel, extreme

Respond: TypeAlias = Callable[[Convex], Staircase]
"""The best channel of one person, given what a posterior mean is worth."""

Combination: TypeAlias = tuple[list[Staircase], float]
"""A channel for each person, and what a prophet gets with them."""

MOST_COMBINATIONS: Final = 100_000
"""The most combinations of extreme channels that are all looked at."""
_GAIN: Final = 1e-13
_SWEEPS: Final = 100


class Found(NamedTuple):
    """Channels, one a person, and what a prophet gets with them.

    Attributes
    ----------
    value
        E[max of the posterior means].
    channels
        In the order of the persons.
    """

    value: float
    channels: list[Staircase]


def undominated(person: Person) -> list[Staircase] | None:
    """Return the extreme channels that no other is better than for every use; None if there are too many to list.

    Parameters
    ----------
    person
        With at most ``MOST_VALUES`` values.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.prophets.response import Person
    >>> from streamlearn.prophets.search import undominated
    >>> len(undominated(Person(np.array([0.0, 1.0, 10.0]), np.array([0.6, 0.3, 0.1]), 0.01)))
    3
    """
    if len(person.values) > MOST_VALUES:
        return None
    told = [
        person.posterior(channel(subsets, weights, person.least))
        for subsets, weights in extreme(len(person.values))
    ]
    return [told[index] for index in maximal(told)]


def maximal(told: Sequence[Staircase]) -> list[int]:
    """Return the laws that are below no other in the convex order: E(v - t)+ at every t; equal ones are kept once.

    Parameters
    ----------
    told
        Channels of one person, so that all means of posterior means are equal.
    """
    size = max(len(law.means) for law in told)
    means = np.array([np.pad(law.means, (0, size - len(law.means)), mode="edge") for law in told])
    weights = np.array([np.pad(law.weights, (0, size - len(law.weights))) for law in told])
    kept: list[int] = []
    spread = (weights * means**2).sum(axis=1)
    for index in np.argsort(
        -spread, kind="stable"
    ).tolist():  # whoever is below another varies no more than it
        # The gap of two such functions is least at a mean of the one that is above, or nowhere below 0.
        if not any(_below(means, weights, index, other) for other in kept):
            kept.append(index)
    return sorted(kept)


def _below(means: Floats, weights: Floats, low: int, high: int) -> bool:
    at = means[high][:, None]
    losses = [np.maximum(means[law] - at, 0.0) @ weights[law] for law in (low, high)]
    return bool(np.all(losses[0] <= losses[1] + 1e-15 * means[high][-1]))


def enumerated(choices: Sequence[Sequence[Staircase]], alike: Sequence[int]) -> Found | None:
    """Return the best combination of one channel a person; None if there are too many.

    Parameters
    ----------
    choices
        What each person may use.
    alike
        A number for each person; persons with one number have the same choices, whose order is no matter.
    """
    order = sorted(range(len(alike)), key=alike.__getitem__)
    groups = [list(group) for _, group in itertools.groupby(order, key=alike.__getitem__)]
    combinations = 1
    for group in groups:
        combinations *= _multisets(len(choices[group[0]]), len(group))
        if combinations > MOST_COMBINATIONS:
            return None
    best = Found(-np.inf, [])
    for chosen, value in _combinations(choices, [alike[person] for person in order], order):
        if value > best.value:
            channels = dict(zip(order, chosen, strict=True))
            best = Found(value, [channels[person] for person in range(len(order))])
    return best


def _multisets(kinds: int, size: int) -> int:
    count = 1
    for index in range(size):
        count = count * (kinds + index) // (index + 1)
    return count


def _combinations(
    choices: Sequence[Sequence[Staircase]], alike: Sequence[int], order: Sequence[int]
) -> Iterator[Combination]:
    """Yield, for every choice of all persons but the last, the best choice of the last and the value."""
    last = len(order) - 1

    def further(place: int, law: Largest, least: int, chosen: list[Staircase]) -> Iterator[Combination]:
        options = choices[order[place]]
        if place == last:
            worth = law.worth()
            values = [float(told.weights @ worth.at(told.means)) for told in options]
            best = int(np.argmax(values))
            yield [*chosen, options[best]], values[best]
            return
        start = least if place and alike[place] == alike[place - 1] else 0
        for index in range(start, len(options)):
            told = options[index]
            yield from further(place + 1, larger(law, told.means, told.weights), index, [*chosen, told])

    return further(0, NOBODY, 0, [])


def ascended(respond: Sequence[Respond], start: Sequence[Staircase]) -> Found:
    """Return where changing one person's channel at a time, each time for a best one, ends.

    Parameters
    ----------
    respond
        One a person.
    start
        Where to begin.
    """
    channels = list(start)
    value = largest_of(channels).mean
    for _ in range(_SWEEPS):
        before = value
        for index in range(len(channels)):
            worth = largest_of(channels[:index] + channels[index + 1 :]).worth()
            told = respond[index](worth)
            reached = float(told.weights @ worth.at(told.means))
            if reached > value:
                channels[index], value = told, reached
        if value - before <= _GAIN * value:
            break
    return Found(largest_of(channels).mean, channels)


def largest_of(channels: Sequence[Staircase]) -> Largest:
    """Return the law of the largest posterior mean."""
    law = NOBODY
    for told in channels:
        law = larger(law, told.means, told.weights)
    return law
