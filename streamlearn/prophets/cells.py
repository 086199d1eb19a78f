"""Laws of finitely many values below and above any law, for the private prophets: values rounded to cells.

Cells rounded to their means give less, cells split to their ends give more. Proof: ``value.proof.md``, part 5.
"""

from __future__ import annotations

import heapq
import math
from typing import Final, NamedTuple

import numpy as np

from streamlearn.priors import Discrete, Finite, Prior
from streamlearn.priors.base import Floats

MOST_VALUES: Final = 16
"""A finite law of so many values is taken as it is."""
_TAIL: Final = 1e-4
"""What is cut off above holds at most this share of the mean."""


class Cell(NamedTuple):
    """The values in (low, high], of the first cell in [low, high].

    Attributes
    ----------
    low, high
        The ends; ``math.inf`` where the law has no upper end.
    mass, mean
        P(X in the cell), and E[X | X in the cell].
    """

    low: float
    high: float
    mass: float
    mean: float


class Between(NamedTuple):
    """Two laws, one prophets get less from and one they get more from.

    Attributes
    ----------
    below, above
        Finite laws; the same where nothing was rounded.
    cut
        E(X - b)+, what ``above`` leaves out: it must be added for each person.
    """

    below: Finite
    above: Finite
    cut: float

    @property
    def rounded(self) -> bool:
        """Whether the two differ."""
        return self.below is not self.above


def between(prior: Prior, cells: int) -> Between:
    """Return finite laws around a prior.

    Parameters
    ----------
    prior
        Any usable one.
    cells
        How many cells, >= 2.

    Examples
    --------
    >>> from streamlearn.priors import Uniform
    >>> from streamlearn.prophets.cells import between
    >>> laws = between(Uniform(0, 1), cells=2)
    >>> laws.below, laws.above
    (Discrete([0.25, 0.75], [0.5, 0.5]), Discrete([0.0, 0.5, 1.0], [0.25, 0.5, 0.25]))
    """
    if isinstance(prior, Finite) and len(prior.atoms) <= max(MOST_VALUES, cells):
        return Between(prior, prior, 0.0)
    top = prior.upper if prior.upper < math.inf else _far(prior)
    found = _cells(prior, top, cells)
    values = np.array([cell.mean for cell in found])
    masses = np.array([cell.mass for cell in found])
    beyond = prior.survival(top)
    if beyond > 0.0:
        values, masses = np.append(values, prior.mean_above(top) / beyond), np.append(masses, beyond)
    return Between(Discrete(values, masses), _split(found, top, beyond), prior.stop_loss(top))


def _far(prior: Prior) -> float:
    """Return where an unbounded law is cut: above it hardly any of the mean is left."""
    top = 2.0 * prior.mean
    while prior.stop_loss(top) > _TAIL * prior.mean:
        top *= 1.25
    return top


def _cells(prior: Prior, top: float, most: int) -> list[Cell]:
    """Return cells of [lower, top] in order: the one whose rounding costs most is cut in two at its mean, and so on."""
    heap = [(-math.inf, _cell(prior, prior.lower, top, first=True))]
    done: list[Cell] = []
    while heap and len(heap) + len(done) < most:
        _, cell = heapq.heappop(heap)
        if not cell.low < cell.mean < cell.high:
            done.append(cell)
            continue
        for half in (
            _cell(prior, cell.low, cell.mean, first=cell.low == prior.lower),
            _cell(prior, cell.mean, cell.high, first=False),
        ):
            if half.mass > 0.0:
                heapq.heappush(heap, (-_cost(half), half))
    return sorted(done + [cell for _, cell in heap])


def _cell(prior: Prior, low: float, high: float, *, first: bool) -> Cell:
    above = prior.survival(high)
    mass = (1.0 if first else prior.survival(low)) - above
    held = (prior.mean if first else prior.mean_above(low)) - (prior.mean_above(high) if above else 0.0)
    mean = min(max(held / mass, low), high) if mass > 0.0 else low
    return Cell(low, high, mass, mean)


def _cost(cell: Cell) -> float:
    """Return how far apart the two laws of a cell are: the largest gap of their stop-loss transforms."""
    return cell.mass * ((cell.mean - cell.low) / (cell.high - cell.low)) * (cell.high - cell.mean)


def _split(cells: list[Cell], top: float, beyond: float) -> Discrete:
    """Return the law that moves each cell to its two ends, the mean staying, and what is beyond the top onto it."""
    ends: dict[float, float] = {}
    for cell in cells:
        upper = cell.mass * ((cell.mean - cell.low) / (cell.high - cell.low)) if cell.high > cell.low else 0.0
        ends[cell.low] = ends.get(cell.low, 0.0) + cell.mass - upper
        ends[cell.high] = ends.get(cell.high, 0.0) + upper
    ends[top] = ends.get(top, 0.0) + beyond
    values = np.array(sorted(value for value, mass in ends.items() if mass > 0.0))
    masses: Floats = np.array([ends[value] for value in values.tolist()])
    return Discrete(values, masses)
