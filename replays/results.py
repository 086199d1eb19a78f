"""What a replay found, agent by agent, on the same episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from streamlearn.base import Stopper
from streamlearn.priors.base import Floats
from streamlearn.privacy import Guarantee
from streamlearn.replays.coins import Outcomes
from streamlearn.replays.hill import MOST_RANKED, tail_index
from streamlearn.replays.scores import BlockSums, Interval, percentile_interval

HEAVY = 0.05
"""One episode with more than this share of all reward: the interval is then not to be trusted."""
FEW = 30
"""Fewer episodes, or fewer with any reward, than this: the interval is a rough guide."""
"""Largest rewards kept to judge the tail by."""


class Decision(NamedTuple):
    """What happened in one episode.

    Parameters
    ----------
    episode
        The episode's id.
    round
        The round of the person taken, 1-based; None if nobody was.

    Examples
    --------
    >>> from streamlearn.agents import OptimalStopper
    >>> from streamlearn.replays import replay
    >>> replay([[1.0, 3.0]], OptimalStopper([1.0, 2.0])).decisions
    (Decision(episode=0, round=2),)
    """

    episode: str | int
    round: int | None


class Estimate(NamedTuple):
    """A figure and its 95 % bootstrap interval over episodes.

    Parameters
    ----------
    value
        The figure.
    interval
        Its interval.

    Examples
    --------
    >>> from streamlearn.replays import Estimate, Interval
    >>> Estimate(0.6, Interval(0.5, 0.7)).interval.low
    0.5
    """

    value: float
    interval: Interval


class StoppingResult(msgspec.Struct, frozen=True):
    """How one stopper fared on recorded episodes.

    Parameters
    ----------
    agent
        Its name in the replay.
    guarantee
        What it promises.
    episodes
        Episodes replayed.
    reward
        Mean true value taken per episode, in the unit of the values.
    of_maximum
        Sum of rewards over the sum of the episodes' largest values.
    of_reference
        Sum of rewards over the reference's (the non-private optimum's); None without a reference.
    nobody
        Share of episodes in which nobody is taken.
    asked
        Share of the episodes in which the person of each round was really asked, length n.
    epsilons
        What the person of each round spends when asked, length n.
    largest_share
        Share of all reward that the largest episode carries.
    tail_index
        Hill's estimate from the largest √episodes rewards, less one standard error: at 2 or below the variance may
        be infinite, and no interval keeps its level. NaN where nothing can be said.
    rewarded
        Episodes with any reward.
    decisions
        Who was taken in each episode; empty where the reporters' coins were integrated out.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays import replay_many
    >>> result = replay_many([[1.0, 3.0]] * 50, {"ours": LDPOptimalStopper([1.0, 2.0], epsilon=1.0)})["ours"]
    >>> print(result.summary())
    ours: 0-local differential privacy per report
      reward      3.0000 [3.0000, 3.0000] over 50 episodes
      of maximum  1.0000 [1.0000, 1.0000]
      nobody      0.00% of episodes
      asked       0.00 people an episode, at most ε = 0 each
    """

    agent: str
    guarantee: Guarantee
    episodes: int
    reward: Estimate
    of_maximum: Estimate
    of_reference: Estimate | None
    nobody: float
    asked: tuple[float, ...]
    epsilons: tuple[float, ...]
    largest_share: float
    tail_index: float
    rewarded: int
    decisions: tuple[Decision, ...] = ()

    @property
    def score(self) -> float:
        """The mean true value taken per episode."""
        return self.reward.value

    @property
    def interval(self) -> Interval:
        """The 95 % interval of :attr:`score`: percentile bootstrap over blocks of episodes."""
        return self.reward.interval

    @property
    def mean_asked(self) -> float:
        """The mean number of people really asked per episode."""
        return math.fsum(self.asked)

    @property
    def epsilon(self) -> float:
        """The most ε that anybody who was asked spent."""
        return max(
            (spent for share, spent in zip(self.asked, self.epsilons, strict=True) if share), default=0.0
        )

    @property
    def warning(self) -> str | None:
        """Why the interval is not to be trusted, or None."""
        if self.episodes < FEW:
            return f"only {self.episodes} episodes: the interval is a rough guide"
        if self.rewarded < FEW:
            return f"only {self.rewarded} episodes have any reward: the interval is a rough guide"
        if not self.largest_share <= HEAVY:
            return (
                f"one episode carries {self.largest_share:.0%} of all reward: the tail rules the mean, "
                "and no interval from this log can be trusted"
            )
        if self.tail_index <= 2.0:
            return (
                f"large rewards fall off slowly (tail index {self.tail_index:.1f}): their variance may be infinite, "
                "and the interval is then too narrow"
            )
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types; infinite and undefined ones as null."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        del plain["decisions"]
        derived = {"guarantee": str(self.guarantee), "mean_asked": self.mean_asked, "warning": self.warning}
        ready: dict[str, Any] = json_ready(plain | derived)
        return ready

    def summary(self) -> str:
        """Return the figures as a few lines of text."""
        lines = [
            f"{self.agent}: {self.guarantee}",
            f"  reward      {_estimate(self.reward)} over {self.episodes} episodes",
            f"  of maximum  {_estimate(self.of_maximum)}",
        ]
        if self.of_reference is not None:
            lines.append(f"  of optimum  {_estimate(self.of_reference)}")
        lines.append(f"  nobody      {self.nobody:.2%} of episodes")
        lines.append(
            f"  asked       {self.mean_asked:.2f} people an episode, at most ε = {self.epsilon:g} each"
        )
        if self.warning:
            lines.append(f"  warning     {self.warning}")
        return "\n".join(lines)


def _estimate(estimate: Estimate) -> str:
    return f"{estimate.value:.4f} [{estimate.interval.low:.4f}, {estimate.interval.high:.4f}]"


def json_ready(plain: Any) -> Any:
    """Return the same plain data with None for every float that JSON cannot hold.

    Examples
    --------
    >>> from streamlearn.replays.results import json_ready
    >>> json_ready({"a": [1.0, float("inf")]})
    {'a': [1.0, None]}
    """
    if isinstance(plain, dict):
        return {key: json_ready(item) for key, item in plain.items()}
    if isinstance(plain, list | tuple):
        return [json_ready(item) for item in plain]
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


class Tally:
    """Adds up outcomes of several stoppers over the same episodes, in bounded memory.

    Parameters
    ----------
    agents
        The stoppers, by name.
    referenced
        Whether a reference's reward is added too.

    Notes
    -----
    The columns are: episodes, maximum, reference, then reward and nobody of each agent. All intervals
    come from one set of bootstrap draws, so the agents' figures stay paired.
    """

    _SHARED = 3
    _EACH = 2

    def __init__(self, agents: dict[str, Stopper], referenced: bool) -> None:
        self._agents = agents
        self._referenced = referenced
        self._sums = BlockSums(self._SHARED + self._EACH * len(agents))
        self._largest = [np.empty(0) for _ in agents]
        self._rewarded = [0] * len(agents)
        self._asked = [np.zeros(agent.horizon) for agent in agents.values()]

    def add(self, maximum: Floats, reference: Floats, outcomes: Sequence[Outcomes]) -> None:
        """Add episodes: arrays of shape (episodes,), one :class:`Outcomes` per agent in order."""
        columns = [np.ones(len(maximum)), maximum, reference]
        for i, outcome in enumerate(outcomes):
            columns += [outcome.reward, outcome.nobody]
            self._asked[i] += outcome.asked
            self._largest[i] = np.sort(np.concatenate([self._largest[i], outcome.reward]))[-MOST_RANKED - 1 :]
            self._rewarded[i] += int(np.count_nonzero(outcome.reward))
        self._sums.add(np.column_stack(columns))

    @property
    def episodes(self) -> int:
        """Episodes added so far."""
        return self._sums.episodes

    def results(self, decisions: Sequence[Decision] = ()) -> dict[str, StoppingResult]:
        """Return the result of each agent, by name."""
        # The seed only says which resamples are drawn: the same log gives the same interval.
        replicates = self._sums.resampled(np.random.default_rng(0))
        results = {}
        for i, (name, agent) in enumerate(self._agents.items()):
            reward = self._SHARED + self._EACH * i
            results[name] = StoppingResult(
                agent=name,
                guarantee=agent.guarantee,
                episodes=self.episodes,
                reward=self._ratio(reward, 0, replicates),
                of_maximum=self._ratio(reward, 1, replicates),
                of_reference=self._ratio(reward, 2, replicates) if self._referenced else None,
                nobody=self._ratio(reward + 1, 0, replicates).value,
                asked=tuple((self._asked[i] / self.episodes).tolist()),
                epsilons=tuple(channel.realised_epsilon for channel in agent.plan),
                largest_share=_share(float(self._largest[i][-1]), self._sums.total[reward]),
                tail_index=tail_index(self._largest[i], self.episodes),
                rewarded=self._rewarded[i],
                decisions=tuple(decisions),
            )
        return results

    def _ratio(self, column: int, by: int, replicates: Floats) -> Estimate:
        total = self._sums.total
        with np.errstate(divide="ignore", invalid="ignore"):
            resampled = replicates[:, column] / replicates[:, by]
        few = self.episodes < 2
        interval = Interval(math.nan, math.nan) if few else percentile_interval(resampled)
        return Estimate(_share(total[column], total[by]), interval)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan
