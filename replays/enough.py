"""How many recorded values are enough: held-out value against how many episodes the priors are learned from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from streamlearn.base import Stopper
from streamlearn.bounds.arguments import whole
from streamlearn.errors import ParameterError
from streamlearn.plans import ReportingPlan
from streamlearn.priors import Prior
from streamlearn.priors.base import Floats
from streamlearn.replays import coins
from streamlearn.replays.learning import Groups, empirical_priors

Build: TypeAlias = Callable[[Sequence[Prior]], Stopper]
"""Makes a stopper from priors, one a stage."""

ENOUGH = 0.99
"""Learning from so few episodes is enough if 19 draws in 20 keep this share of what all of them give."""
RESAMPLES = 100
MOST_DRAWN = 5_000
"""The largest number of episodes tried,"""
MOST_VALUES = 200_000
"""and the most values in them: what remains is a matter of seconds."""
_GRID = [digit * 10**power for power in range(1, 4) for digit in (1, 2, 5)]


class Spread(msgspec.Struct, frozen=True):
    """The mean of a figure over random draws, and the band of its middle 90 %.

    Parameters
    ----------
    mean
        The mean.
    low, high
        The 5 % and the 95 % point.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.enough import Spread
    >>> Spread.of(np.arange(21.0))
    Spread(mean=10.0, low=1.0, high=19.0)
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Floats) -> Spread:
        """Return the spread of figures, shape (draws,)."""
        low, high = np.quantile(figures, [0.05, 0.95])
        return cls(float(figures.mean()), float(low), float(high))


class LearningCurve(msgspec.Struct, frozen=True):
    """What priors from fewer episodes are worth on episodes they were not learned from.

    Parameters
    ----------
    episodes
        How many there are to learn from.
    scored
        How many later ones every plan is scored on.
    plug_in
        The value that the priors from all of them promise: biased up, since the plan was chosen on the same values.
    held_out
        What the plan from all of them yields per later episode, exactly but for which episodes came: this is what to
        expect.
    sizes
        Numbers of episodes N, increasing.
    shares
        Of each N: what N episodes drawn with replacement lead to, as a share of ``held_out``; over the draws.
    noise
        Standard error of a share over the later episodes, at the largest N: plans that are equally good differ by about
        so much on these episodes. Where it is near 1 %, more later episodes are needed to tell how many are enough.

    Examples
    --------
    >>> from streamlearn.replays.enough import LearningCurve, Spread
    >>> shares = Spread(0.98, 0.95, 1.0), Spread(0.999, 0.995, 1.01)
    >>> LearningCurve(50, 500, 0.65, 0.6, (10, 20), shares, noise=0.001).least
    20
    """

    episodes: int
    scored: int
    plug_in: float
    held_out: float
    sizes: tuple[int, ...]
    shares: tuple[Spread, ...]
    noise: float

    @property
    def least(self) -> int | None:
        """The smallest N from which on 19 draws in 20 keep 99 % of ``held_out``; None if there is none."""
        least = None
        for size, share in zip(reversed(self.sizes), reversed(self.shares), strict=True):
            if not share.low >= ENOUGH:
                break
            least = size
        return least


def learning_curve(
    learned: Floats,
    later: Floats,
    build: Build,
    *,
    pooled: bool = False,
    groups: Groups | None = None,
    sizes: Sequence[int] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LearningCurve:
    """Return how the held-out value grows with the number of episodes that priors are learned from.

    Parameters
    ----------
    learned
        The earlier episodes, shape (episodes, n).
    later
        The episodes to score on, shape (episodes, n).
    build
        Makes a stopper from priors.
    pooled, groups
        As for :func:`streamlearn.replays.learning.empirical_priors`.
    sizes
        Numbers of episodes to try. None: 10, 20, 50, 100, ... and all there are, up to 5,000 (fewer where n > 40).
    resamples
        Draws of each size.
    seed
        Says which draws: the same log gives the same curve.

    Raises
    ------
    ParameterError
        If a size or ``resamples`` is no whole number >= 1, or there is no later episode.

    Notes
    -----
    A draw of N episodes with replacement is built into a plan, and that is scored on all later episodes with the
    reporters' coins integrated out. All plans meet the same later episodes, which takes most of their luck out of the
    shares; ``noise`` is what remains.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays.enough import learning_curve
    >>> values = np.random.default_rng(1).uniform(size=(400, 5))
    >>> curve = learning_curve(values[:200], values[200:], lambda laws: LDPOptimalStopper(laws, 1.0), pooled=True)
    >>> curve.sizes, curve.least
    ((10, 20, 50, 100, 200), 10)
    """
    tried = _sizes(most_drawn(learned)) if sizes is None else sorted({_size(size) for size in sizes})
    draws = whole("resamples", resamples, 1, "100 give a band")
    generator = np.random.default_rng(seed)
    later = np.asfortranarray(later)

    best = build(empirical_priors(learned, pooled, groups))
    ideal = _rewards(best.plan, later)
    held_out = float(ideal.mean())
    shares, noise = [], 0.0
    for size in tried:
        values, variances = np.empty(draws), np.empty(draws)
        for i in range(draws):
            drawn = learned[generator.integers(len(learned), size=size)]
            rewards = _rewards(build(empirical_priors(drawn, pooled, groups)).plan, later)
            values[i], variances[i] = rewards.mean(), np.var(rewards - ideal)
        shares.append(Spread.of(share_of(values, held_out)))
        noise = math.sqrt(variances.mean() / len(later)) / held_out if held_out else 0.0
    return LearningCurve(len(learned), len(later), best.value, held_out, tuple(tried), tuple(shares), noise)


def held_out_value(plan: ReportingPlan, later: Floats) -> float:
    """Return what a plan yields per recorded episode, the reporters' coins integrated out.

    Parameters
    ----------
    plan
        The channels of n stages.
    later
        Recorded values, shape (episodes, n).

    Raises
    ------
    ParameterError
        If there is no episode.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn import Channel
    >>> from streamlearn.plans import ReportingPlan
    >>> from streamlearn.replays.enough import held_out_value
    >>> held_out_value(ReportingPlan([Channel.constant(1, bit=1)]), np.array([[1.0], [2.0]]))
    1.5
    """
    return float(_rewards(plan, later).mean())


def _rewards(plan: ReportingPlan, later: Floats) -> Floats:
    if not len(later):
        raise ParameterError("later has no episode; leave some of the log to score on")
    by_stage = np.ascontiguousarray(later.T)  # free where ``later`` lies stage by stage already
    return coins.expected_outcomes(coins.stages(plan), by_stage).reward


def share_of(values: Floats, whole_value: float) -> Floats:
    """Return values as shares of one; where that is 0, 1 for each that is 0 as well.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.enough import share_of
    >>> share_of(np.array([1.0, 2.0]), 2.0).tolist(), share_of(np.array([0.0]), 0.0).tolist()
    ([0.5, 1.0], [1.0])
    """
    if whole_value:
        return values / whole_value
    return np.where(values == 0.0, 1.0, np.inf)


def most_drawn(learned: Floats) -> int:
    """Return the most episodes that are tried of those learned from, shape (episodes, n).

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.enough import most_drawn
    >>> most_drawn(np.zeros((70, 2))), most_drawn(np.zeros((9000, 2)))
    (70, 5000)
    """
    most: int = min(len(learned), MOST_DRAWN, max(1, MOST_VALUES // learned.shape[1]))
    return most


def _sizes(most: int) -> list[int]:
    return [size for size in _GRID if size < most] + [most]


def _size(size: object) -> int:
    return whole("each of sizes", size, 1, "it is a number of episodes")
