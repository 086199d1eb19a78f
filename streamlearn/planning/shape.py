"""The shape of a Mirror's ramp: where it may rise steeply and where it must creep, for log-moments of one order.

A ramp is a density of rounds over the log-odds x of its chances. Where rounds are s apart in x, a unit of x takes 1/s
rounds and costs f(x, s)/s in log-moments, f that of one step in both directions. So the shortest ramp of a given cost
minimises (1 + price·f)/s at every x by itself. Any ramp is private as certified: the shape only makes it short.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from streamlearn.accounting import moments
from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF

_BLOCK = 1 << 14  # rounds worked on at once: few enough to stay near the processor
_SEARCH = 26  # golden steps: ln s to 8e-5
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_LOSS = 30.0  # the most of an order times a loss that a rounded step may have
_MANY_UNITS = 64.0  # steps of so many units may be off by one
_SMALLEST, _LARGEST = 1e-9, 4.0  # steps in log-odds that are thought of


class Shape(NamedTuple):
    """The lower half of a ramp, as a density.

    Parameters
    ----------
    odds
        Log-odds from that of the first chance to 0; shape (points,).
    rounds
        Rounds from the first to each of them; shape (points,).
    cost
        The log-moment of the whole ramp, both halves, in one direction.
    """

    odds: Floats
    rounds: Floats
    cost: float

    @property
    def length(self) -> float:
        """About how many rounds the whole ramp takes."""
        return 2.0 * float(self.rounds[-1]) + 1.0


def shape(first: float, order: float, price: float, points: int = 60) -> Shape:
    """Return the shape of the shortest ramp at a price.

    Parameters
    ----------
    first
        The first chance, in (0, 1/2).
    order
        z > 0: the order of log-moments that count.
    price
        Rounds of one half that are given for one unit of log-moment, > 0.
    points
        Of the grid over log-odds.

    Examples
    --------
    >>> from streamlearn.planning.shape import shape
    >>> found = shape(1e-3, 10.0, 100.0)
    >>> round(found.length), round(found.cost, 2)
    (327, 1.57)
    """
    odds = _grid(first, points)
    width = _steps(odds, order, price)
    density = 1.0 / width
    rounds = np.concatenate([[0.0], np.cumsum(np.diff(odds) * (density[1:] + density[:-1]) / 2.0)])
    return Shape(odds, rounds, _integral(odds, _cost(odds, width, order) / width))


def costs(first: float, order: float, price: float, orders: Floats, points: int = 600) -> Floats:
    """Return about the log-moments, of several orders, of the ramp that is shortest for one.

    Parameters
    ----------
    first, order, price, points
        As for :func:`shape`.
    orders
        z; shape (orders,).

    Returns
    -------
    array of shape (orders,)

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.planning.shape import costs
    >>> costs(1e-3, 10.0, 100.0, np.array([5.0, 10.0])).round(2).tolist()
    [0.42, 1.57]
    """
    odds = _grid(first, points)
    width = _steps(odds, order, price)
    return np.array([_integral(odds, _cost(odds, width, z) / width) for z in orders.tolist()])


def levels(first: float, order: float, price: float) -> moments.Levels:
    """Return a ramp of that shape as integers out of 2^64; the upper half mirrors the lower one exactly.

    Parameters
    ----------
    first, order, price
        As for :func:`shape`.

    Examples
    --------
    >>> from streamlearn.planning.shape import levels
    >>> ramp = levels(1e-3, 10.0, 100.0)
    >>> len(ramp), int(ramp[0]) + int(ramp[-1]) == 2**64
    (327, True)
    """
    found = shape(first, order, price, points=2000)
    length = max(1, math.ceil(found.length))
    below = length // 2
    # Rounds are stretched, never squeezed, to end at 1/2: in its middle, or half a round from it.
    stretch = float(found.rounds[-1]) / ((length - 1) / 2.0 or 1.0)
    ramp = np.full(length, OUT_OF // 2, dtype=np.uint64)
    for start in range(0, below, _BLOCK):
        places = np.arange(start, min(start + _BLOCK, below))
        odds = np.interp(places * stretch, found.rounds, found.odds)
        chances = OUT_OF / (1.0 + np.exp(-odds))  # at most 2^63, so they fit
        ramp[places] = np.maximum(chances.astype(np.uint64), 1)
    _slow_down(ramp[:below], order)
    ramp[length - below :] = np.uint64(0) - ramp[:below][::-1]  # modulo 2^64
    return ramp


def _slow_down(ramp: moments.Levels, order: float) -> None:
    """Let no chance rise by more units at once than an order stands, but for single ones.

    Where a round rises by little more than one unit out of 2^64, rounding down makes it two here and there: of a chance
    of twenty units that is a loss which a large order makes everything of.
    """
    growth = math.expm1(min(_LOSS / order, 1.0))
    known = int(
        np.searchsorted(ramp, min(_MANY_UNITS / growth, 2.0**63))
    )  # beyond, a unit more or less is nothing
    jumps = np.diff(ramp[:known])
    most = np.maximum(1, (ramp[: max(0, known - 1)] * growth).astype(np.uint64))
    steep = np.flatnonzero(jumps > most)
    at = int(steep[0]) if len(steep) else known
    while at < known - 1:
        allowed = int(ramp[at]) + max(1, int(int(ramp[at]) * growth))
        if ramp[at + 1] <= allowed:  # caught up: on to the next
            later = steep[np.searchsorted(steep, at + 1) :]
            at = int(later[0]) if len(later) else known
            continue
        at += 1
        ramp[at] = allowed


def _grid(first: float, points: int) -> Floats:
    """Return log-odds from that of a chance to 0."""
    return (math.log(first) - math.log1p(-first)) * (1.0 - np.linspace(0.0, 1.0, points))


def _integral(at: Floats, values: Floats) -> float:
    return float((np.diff(at) * (values[1:] + values[:-1]) / 2.0).sum())


def _steps(odds: Floats, order: float, price: float) -> Floats:
    """Return the step at each log-odds that minimises (1 + price·f)/s, by golden section over ln s."""
    low = np.full_like(odds, math.log(_SMALLEST))
    high = np.full_like(odds, math.log(_LARGEST))

    def worth(log_step: Floats) -> Floats:
        return np.asarray(np.log1p(price * _cost(odds, np.exp(log_step), order)) - log_step)

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = worth(left), worth(right)
    for _ in range(_SEARCH):
        better = at_left < at_right
        high, low = np.where(better, right, high), np.where(better, low, left)
        new = np.where(better, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = worth(new)
        left, right, at_left, at_right = (
            np.where(better, new, right),
            np.where(better, left, new),
            np.where(better, at_new, at_right),
            np.where(better, at_left, at_new),
        )
    return np.asarray(np.exp((low + high) / 2.0))


def _cost(odds: Floats, width: Floats, order: float) -> Floats:
    below, above = odds - width / 2.0, odds + width / 2.0
    both = moments.step(order, np.stack([below, above]), np.stack([above, below]))  # either direction
    return np.asarray(np.maximum(both.sum(axis=0), 0.0))
