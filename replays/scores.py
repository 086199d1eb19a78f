"""Sums over episodes in bounded memory, and intervals that resample whole episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamlearn.priors.base import Floats

MOST_BLOCKS = 1024
"""Blocks kept at most: beyond so many episodes, neighbours share a block."""

RESAMPLES = 2000
LEVEL = 0.95


class Interval(NamedTuple):
    """A 95 % interval; both ends are NaN where fewer than two episodes were seen.

    Parameters
    ----------
    low, high
        Its ends, in the unit of the figure.

    Examples
    --------
    >>> from streamlearn.replays import Interval
    >>> low, high = Interval(0.5, 0.7)
    """

    low: float
    high: float


class BlockSums:
    """Sums of per-episode figures over blocks of neighbouring episodes, in bounded memory.

    Up to 1,024 episodes each is a block of its own; beyond that the block length doubles. Neighbours stay
    together, so resampling blocks respects dependence between them.

    Parameters
    ----------
    columns
        Number of figures per episode.

    Attributes
    ----------
    episodes
        Episodes added.
    total
        Sums over all of them, shape (columns,).

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.scores import BlockSums
    >>> sums = BlockSums(columns=1)
    >>> sums.add(np.ones((3000, 1)))
    >>> sums.total.tolist(), len(sums.blocks), sums.blocks[0].tolist()
    ([3000.0], 750, [4.0])
    """

    def __init__(self, columns: int) -> None:
        self.episodes = 0
        self.total: Floats = np.zeros(columns)
        self._length = 1
        self._boundaries = np.zeros((1, columns))  # running totals after 0, length, 2·length, … episodes

    def add(self, rows: Floats) -> None:
        """Add episodes in order; ``rows`` has shape (episodes, columns)."""
        if not len(rows):
            return
        running = self.total + np.cumsum(rows, axis=0)
        first = -(self.episodes + 1) % self._length
        self._boundaries = np.concatenate([self._boundaries, running[first :: self._length]])
        self.episodes += len(rows)
        self.total = running[-1]
        while len(self._boundaries) - 1 > MOST_BLOCKS:
            # An odd last boundary may go: what follows it is still held by the total.
            self._boundaries = self._boundaries[::2]
            self._length *= 2

    @property
    def blocks(self) -> Floats:
        """The sums of each block, shape (blocks, columns); the last block may be shorter."""
        done = (len(self._boundaries) - 1) * self._length
        ends = self._boundaries if done == self.episodes else np.vstack([self._boundaries, self.total])
        return np.diff(ends, axis=0)

    def resampled(self, generator: np.random.Generator) -> Floats:
        """Return bootstrap totals, shape (RESAMPLES, columns): blocks drawn with replacement.

        Examples
        --------
        >>> import numpy as np
        >>> from streamlearn.replays.scores import BlockSums
        >>> sums = BlockSums(columns=1)
        >>> sums.add(np.arange(10.0)[:, None])
        >>> sums.resampled(np.random.default_rng(0)).shape
        (2000, 1)
        """
        blocks = self.blocks
        draws = generator.integers(len(blocks), size=(RESAMPLES, len(blocks)))
        offsets = np.arange(RESAMPLES)[:, None] * len(blocks)
        counts = np.bincount((draws + offsets).ravel(), minlength=RESAMPLES * len(blocks))
        totals: Floats = counts.reshape(RESAMPLES, len(blocks)).astype(float) @ blocks
        return totals


def percentile_interval(replicates: Floats) -> Interval:
    """Return the central 95 % of bootstrap replicates; those that are not finite are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.scores import percentile_interval
    >>> [round(end) for end in percentile_interval(np.arange(401.0))]
    [10, 390]
    """
    usable = replicates[np.isfinite(replicates)]
    if not usable.size:
        return Interval(float("nan"), float("nan"))
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(usable, [tail, 1.0 - tail])
    return Interval(float(low), float(high))
