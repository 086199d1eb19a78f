"""What a plan yields on recorded values, with the reporters' coins integrated out exactly.

Given the values of an episode the report of person i is 1 with the channel's own probability, independently
of all others. So the expected reward of the episode is a finite sum, and a replay in batch needs no draws:
what remains random is only which episodes were recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from streamlearn.channels import OUT_OF, Channel
from streamlearn.plans import ReportingPlan
from streamlearn.priors.base import Floats


class _Stage(NamedTuple):
    """One channel's probabilities as floats."""

    case: str
    threshold: float
    below: float
    at: float
    above: float
    epsilon: float


def stages(plan: ReportingPlan) -> list[_Stage]:
    """Return the plan's channels in the form :func:`expected_outcomes` reads.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.plans import ReportingPlan
    >>> from streamlearn.replays.coins import stages
    >>> stages(ReportingPlan([Channel.constant(1, bit=1)]))[0].above
    1.0
    """
    return [_stage(channel) for channel in plan]


def _stage(channel: Channel) -> _Stage:
    return _Stage(
        channel.case,
        channel.threshold,
        channel.below / OUT_OF,
        channel.at / OUT_OF,
        channel.above / OUT_OF,
        channel.realised_epsilon,
    )


class Outcomes(NamedTuple):
    """What happened, or is expected to happen, in some episodes.

    Attributes
    ----------
    reward
        The true value taken in each episode, shape (episodes,); nobody taken counts 0.
    nobody
        The probability that nobody is taken in each, shape (episodes,).
    asked
        In how many of the episodes the person of each round was really asked, shape (n,).
    """

    reward: Floats
    nobody: Floats
    asked: Floats

    def __repr__(self) -> str:
        # Without privacy a reward is somebody's value.
        return f"Outcomes(episodes={len(self.reward)})"


def expected_outcomes(plan: Sequence[_Stage], values: Floats) -> Outcomes:
    """Return the exact expectations over the reporters' coins, episode by episode.

    Parameters
    ----------
    plan
        From :func:`stages`, length n.
    values
        The people's values, stage-major: shape (n, episodes).

    Notes
    -----
    Σ_i R_i·a_i(x_i)·x_i with R_i = ∏_{j<i}(1 - a_j(x_j)): the law of total expectation given the values.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn import Channel
    >>> from streamlearn.plans import ReportingPlan
    >>> from streamlearn.replays.coins import expected_outcomes, stages
    >>> plan = ReportingPlan([Channel.randomized_response(1, 0.5, 0.0), Channel.constant(2, bit=1)])
    >>> expected_outcomes(stages(plan), np.array([[1.0], [0.0]])).reward.tolist()
    [0.5]
    """
    episodes = values.shape[1]
    waiting = np.ones(episodes)
    reward = np.zeros(episodes)
    asked = np.zeros(len(plan))
    for i, (stage, value) in enumerate(zip(plan, values, strict=True)):
        if stage.case == "skip":
            continue
        if stage.case == "accept":
            reward += waiting * value
            waiting = np.zeros(episodes)
            break
        asked[i] = waiting.sum()
        taken = np.where(value < stage.threshold, stage.below, stage.above)
        if stage.at != stage.above:
            taken[value == stage.threshold] = stage.at
        taken *= waiting
        waiting = waiting - taken
        taken *= value
        reward += taken
    return Outcomes(reward, waiting, asked)
