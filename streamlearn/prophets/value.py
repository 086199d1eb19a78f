"""What a private prophet gets: the value of the best channels found, and a bound that no channels pass.

Proof: ``value.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from streamlearn import maximum, recursion
from streamlearn.bounds.ratios import private_prophet_upper
from streamlearn.priors import Discrete, Finite, Prior
from streamlearn.prophets.binary import any_threshold, best_threshold, thresholded
from streamlearn.prophets.cells import Between, between
from streamlearn.prophets.convex import Convex
from streamlearn.prophets.interactive import any_channel, interactive_upper
from streamlearn.prophets.response import Messages, Person
from streamlearn.prophets.search import Found, Respond, ascended, enumerated, undominated
from streamlearn.prophets.staircase import Staircase, channel

CELLS: Final = 16
"""Cells that a law of many values is rounded to."""
CLOSE: Final = 1e-9
"""A value this near to its bound, as a share of it, is certified."""

_MANY: Final = 12
_STARTS = (8, 3)
"""Starts of the search: for up to ``_MANY`` persons, and for more."""

Kind = Literal["private", "binary"]


class ProphetValue(msgspec.Struct, frozen=True):
    """What a prophet gets, between two bounds.

    Parameters
    ----------
    value
        Attained: with ``channels``, or by the optimal stopper where rounding to cells leaves these less.
    upper_bound
        No channels get more; up to rounding, a share of 1e-12.
    channels
        One a person. Where values were rounded to cells, a channel's ``values`` are the cells' means.
    discretised
        Whether some law was rounded to cells: then the gap has their part too, and more cells narrow it.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks
    >>> best = benchmarks.private_prophet([1.0, [0.0, 3.0]], epsilon=1.0)
    >>> best.status, round(best.value, 6), best.channels[1].means.round(3).tolist()
    ('certified', 1.596588, [0.807, 2.193])
    """

    value: float
    upper_bound: float
    channels: tuple[Staircase, ...]
    discretised: bool

    @property
    def certified(self) -> bool:
        """Whether value and bound are equal but for a share of 1e-9."""
        return self.upper_bound - self.value <= CLOSE * self.upper_bound

    @property
    def status(self) -> Literal["certified", "bounded"]:
        """``"certified"``, or ``"bounded"`` where the two bounds differ."""
        return "certified" if self.certified else "bounded"

    @property
    def gap(self) -> float:
        """By how much the bound may be too large or the value too small, as a share of the bound."""
        return 1.0 - self.value / self.upper_bound if self.upper_bound else 0.0


def prophet_value(
    laws: Sequence[Prior], epsilons: Sequence[float], cells: int = CELLS, kind: Kind = "private"
) -> ProphetValue:
    """Return what a private prophet gets.

    Parameters
    ----------
    laws, epsilons
        One a person.
    cells
        Cells that each law of more than 16 values is rounded to.
    kind
        ``"binary"``: with one bit of each person.
    """
    around = {law: between(law, cells) for law in dict.fromkeys(laws)}
    unit = _unit(around)
    below = _persons([around[law].below for law in laws], epsilons, unit)
    rounded = any(laws_around.rounded for laws_around in around.values())
    listed = None if rounded else _listed(below, kind)
    found = listed or _climbed(below, epsilons, kind)
    channels = tuple(
        told._replace(values=told.values * unit, means=told.means * unit) for told in found.channels
    )
    value = found.value * unit
    if listed is not None:
        return ProphetValue(value, value, channels, discretised=False)
    stages = recursion.solve(laws, epsilons).values
    value = max(value, stages[0])  # a stopper is a prophet of one bit a person, and rounds nothing
    return ProphetValue(value, max(value, _upper(laws, epsilons, stages, around, kind)), channels, rounded)


def interactive_value(laws: Sequence[Prior], epsilons: Sequence[float], cells: int = CELLS) -> float:
    """Return an upper bound on what an interactive prophet with recall gets.

    Parameters
    ----------
    laws, epsilons, cells
        As of :func:`prophet_value`.
    """
    around = {law: between(law, cells) for law in dict.fromkeys(laws)}
    return _upper(laws, epsilons, recursion.solve(laws, epsilons).values, around, "private")


def _unit(around: dict[Prior, Between]) -> float:
    """Return a power of two near the largest value: what is divided by it stays exact, and its squares finite."""
    largest = max(float(law.atoms[-1]) for laws in around.values() for law in (laws.below, laws.above))
    return math.ldexp(1.0, max(min(math.frexp(largest)[1], 1023), -1000))


def _persons(laws: Sequence[Finite], epsilons: Sequence[float], unit: float) -> list[Person]:
    """Return the persons, their values in this unit, those alike as one object."""
    made: dict[tuple[Finite, float], Person] = {}
    for law, epsilon in zip(laws, epsilons, strict=True):
        if (law, epsilon) not in made:
            made[law, epsilon] = Person(law.atoms / unit, law.probs, math.exp(-epsilon))
    return [made[key] for key in zip(laws, epsilons, strict=True)]


def _listed(persons: Sequence[Person], kind: Kind) -> Found | None:
    """Return the best of all combinations of extreme channels; None if there are too many."""
    choices = {
        id(person): undominated(person) if kind == "private" else thresholded(person)
        for person in {id(person): person for person in persons}.values()
    }
    lists = [listed for person in persons if (listed := choices[id(person)]) is not None]
    return enumerated(lists, list(map(id, persons))) if len(lists) == len(persons) else None


def _climbed(persons: Sequence[Person], epsilons: Sequence[float], kind: Kind) -> Found:
    """Return the best of what changing one channel at a time leads to, from several starts."""
    responds = {
        id(person): _respond(person, kind) for person in {id(person): person for person in persons}.values()
    }
    respond = [responds[id(person)] for person in persons]
    return max(
        (ascended(respond, start) for start in _starts(persons, epsilons)), key=lambda found: found.value
    )


def _respond(person: Person, kind: Kind) -> Respond:
    if kind == "binary":
        return best_threshold(person)
    messages = Messages(person)

    def best(worth: Convex) -> Staircase:
        response = messages.best(worth)
        return person.posterior(channel(response.subsets, response.weights, person.least))

    return best


def _starts(persons: Sequence[Person], epsilons: Sequence[float]) -> list[list[Staircase]]:
    """Return where to begin: nobody asked, the optimal stopper's thresholds, and thresholds at random."""
    stages = recursion.solve([Discrete(person.values, person.probs) for person in persons], epsilons).values
    generator = np.random.default_rng(0)  # a search, not a draw of anyone's: the same each time
    starts = [
        [person.posterior(np.ones((1, len(person.values)))) for person in persons],
        [
            person.threshold(int(np.searchsorted(person.values, w)))
            for person, w in zip(persons, stages[1:], strict=True)
        ],
    ]
    while len(starts) < _STARTS[len(persons) > _MANY]:
        starts.append([person.threshold(int(generator.integers(len(person.values)))) for person in persons])
    return starts


def _upper(
    laws: Sequence[Prior],
    epsilons: Sequence[float],
    stages: Sequence[float],
    around: dict[Prior, Between],
    kind: Kind,
) -> float:
    """Return the least of the bounds: without privacy, by the stopper's own values, the interactive prophet's."""
    by_stages = private_prophet_upper(stages[0], stages[1], max(epsilons[1:], default=0.0))
    return min(maximum.expected_max(laws), by_stages, _interactive(laws, epsilons, around, kind))


def _interactive(
    laws: Sequence[Prior], epsilons: Sequence[float], around: dict[Prior, Between], kind: Kind
) -> float:
    unit = _unit(around)
    above = _persons([around[law].above for law in laws], epsilons, unit)
    cut = math.fsum(around[law].cut for law in laws)
    return unit * interactive_upper(above, any_channel if kind == "private" else any_threshold) + cut
