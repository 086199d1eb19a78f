"""Many episodes of a stopper at once, drawn from priors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn import policy
from streamlearn.base import Stopper
from streamlearn.channels import OUT_OF, Channel
from streamlearn.errors import ParameterError
from streamlearn.priors import Prior, as_priors
from streamlearn.priors.base import Floats
from streamlearn.replays.scores import BlockSums, Interval, percentile_interval


class Simulation(msgspec.Struct, frozen=True):
    """Episodes drawn from priors.

    Parameters
    ----------
    rewards
        The true value taken in each episode, 0 where nobody was; shape (episodes,).
    rounds
        The round of the person taken, 1-based, n + 1 where nobody was; shape (episodes,).
    horizon
        The number of stages, n.
    interval
        95 % interval of :attr:`mean`.
    interval_method
        ``"normal"``, from the exact variance; or ``"bootstrap"`` where that is infinite. With an infinite
        variance no interval reaches its stated level; the bootstrap shows the spread that was seen.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays import simulate
    >>> drawn = simulate(LDPOptimalStopper([1.0, 2.0], epsilon=1.0), episodes=4)
    >>> drawn.rewards.tolist(), drawn.rounds.tolist(), drawn.interval_method
    ([2.0, 2.0, 2.0, 2.0], [2, 2, 2, 2], 'normal')
    """

    rewards: Floats
    rounds: npt.NDArray[np.int64]
    horizon: int
    interval: Interval
    interval_method: str

    @property
    def mean(self) -> float:
        """The mean reward."""
        return float(self.rewards.mean())

    @property
    def mean_stop(self) -> float:
        """The mean number of people who arrived; nobody taken counts n."""
        return float(np.minimum(self.rounds, self.horizon).mean())

    @property
    def stop_law(self) -> Floats:
        """Shares of episodes stopped at rounds 1..n, then with nobody taken; length n + 1."""
        counts = np.bincount(self.rounds - 1, minlength=self.horizon + 1)
        return counts / len(self.rounds)


def simulate(
    stopper: Stopper,
    priors: Sequence[Any] | None = None,
    *,
    episodes: int = 10_000,
    generator: np.random.Generator | int = 0,
) -> Simulation:
    """Draw many episodes and let the stopper decide each, stage by stage for all that are still open.

    Parameters
    ----------
    stopper
        Any stopper; it is not changed.
    priors
        The laws values are drawn from; None: those the stopper was built with.
    episodes
        How many to draw, >= 1.
    generator
        A numpy Generator, or the seed of one.

    Returns
    -------
    Simulation

    Raises
    ------
    ParameterError
        If ``episodes`` is not positive or there is not one prior per stage.

    Notes
    -----
    The bits are drawn from the channels' own integers. ``evaluate_policy`` gives the exact figures that these
    estimate.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays import evaluate_policy, simulate
    >>> stopper = LDPOptimalStopper([scipy.stats.uniform()] * 10, epsilon=1.0)
    >>> drawn = simulate(stopper, episodes=20_000)
    >>> drawn.interval.low < stopper.value < drawn.interval.high
    True
    """
    if type(episodes) is not int or episodes < 1:
        raise ParameterError(f"episodes must be an integer >= 1, got {episodes!r}")
    laws = as_priors(stopper.priors if priors is None else priors)
    if len(laws) != stopper.horizon:
        raise ParameterError(
            f"there are {len(laws)} priors and the horizon is {stopper.horizon}; give one per stage"
        )
    random = np.random.default_rng(generator)
    rewards = np.zeros(episodes)
    rounds = np.full(episodes, stopper.horizon + 1)
    waiting = np.arange(episodes)
    for channel, law in zip(stopper.plan, laws, strict=True):
        if channel.case == "skip":
            continue
        taken, values = _stage(channel, law, waiting.size, random)
        stopped = waiting[taken]
        rewards[stopped] = values[taken]
        rounds[stopped] = channel.round
        waiting = waiting[~taken]
        if not waiting.size:
            break
    variance = policy.evaluate(stopper.plan, laws).variance
    return Simulation(rewards, rounds, stopper.horizon, *_interval(rewards, variance, random))


class _Drawn(NamedTuple):
    """Who is taken, and everybody's value."""

    taken: npt.NDArray[np.bool_]
    values: Floats


def _stage(channel: Channel, law: Prior, size: int, random: np.random.Generator) -> _Drawn:
    values = law.sample(random, size)
    if channel.case == "accept":
        return _Drawn(np.ones(size, dtype=bool), values)
    draws = random.integers(0, OUT_OF, size=size, dtype=np.uint64)
    taken = np.where(values < channel.threshold, _under(draws, channel.below), _under(draws, channel.above))
    if channel.at != channel.above:
        tied = values == channel.threshold
        taken[tied] = _under(draws[tied], channel.at)
    return _Drawn(taken, values)


def _under(draws: npt.NDArray[np.uint64], weight: int) -> npt.NDArray[np.bool_]:
    """Return ``draws < weight``; the weight 2^64 does not fit into 64 bits and is above every draw."""
    if weight == OUT_OF:
        return np.ones(draws.size, dtype=bool)
    return draws < np.uint64(weight)


def _interval(rewards: Floats, variance: float, random: np.random.Generator) -> tuple[Interval, str]:
    if math.isfinite(variance):
        margin = 1.959963984540054 * math.sqrt(variance / len(rewards))
        mean = float(rewards.mean())
        return Interval(mean - margin, mean + margin), "normal"
    sums = BlockSums(columns=2)
    sums.add(np.column_stack([rewards, np.ones(len(rewards))]))
    resampled = sums.resampled(random)
    return percentile_interval(resampled[:, 0] / resampled[:, 1]), "bootstrap"
