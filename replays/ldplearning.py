"""What priors learned under local differential privacy are worth, beside those from the raw values."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from streamlearn.bounds.arguments import whole
from streamlearn.channels import OUT_OF
from streamlearn.priors import Discrete
from streamlearn.priors.base import Floats
from streamlearn.replays.enough import RESAMPLES, Build, Spread, held_out_value, share_of
from streamlearn.replays.learning import Groups, empirical_priors, partition
from streamlearn.surveys import Counts, Survey


class Tallies(NamedTuple):
    """What a survey counts.

    Attributes
    ----------
    answers
        How many people were asked each question, shape (k,).
    ones
        How many of them said 1, shape (k,).
    """

    answers: Counts
    ones: Counts


class SurveyedValue(msgspec.Struct, frozen=True):
    """What plans from surveyed priors yield, against plans from the raw values of the same people.

    Parameters
    ----------
    people
        How many answer one question each.
    epsilon
        The most that any of them really spends.
    plug_in
        What the plan from their raw values yields per later episode.
    shares
        What the plan from their answers yields, as a share of ``plug_in``; over the draws of questions and coins.

    Examples
    --------
    >>> from streamlearn.replays.enough import Spread
    >>> from streamlearn.replays.ldplearning import SurveyedValue
    >>> SurveyedValue(1000, 1.0, 0.62, Spread(0.998, 0.995, 1.0)).shares.mean
    0.998
    """

    people: int
    epsilon: float
    plug_in: float
    shares: Spread


def simulate_survey(survey: Survey, values: Floats, generator: np.random.Generator) -> Tallies:
    """Draw what a survey of people with these values counts: a question for each, then a bit.

    Parameters
    ----------
    survey
        The questions.
    values
        The people's values, shape (people,).
    generator
        Where the draws come from.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.ldplearning import simulate_survey
    >>> from streamlearn.surveys import Survey
    >>> survey = Survey(0.0, 1.0, epsilon=float("inf"), thresholds=1)
    >>> simulate_survey(survey, np.array([0.2, 0.7, 0.9]), np.random.default_rng(0))
    Tallies(answers=array([3]), ones=array([2]))
    """
    k = len(survey.thresholds)
    channel = survey.plan[1]  # one law for all questions but for the threshold
    questions = generator.integers(k, size=len(values))
    chances = np.where(values >= survey.thresholds[questions], channel.above / OUT_OF, channel.below / OUT_OF)
    ones = questions[generator.random(len(values)) < chances]
    return Tallies(np.bincount(questions, minlength=k), np.bincount(ones, minlength=k))


def surveyed_value(
    learned: Floats,
    later: Floats,
    build: Build,
    survey: Survey,
    *,
    pooled: bool = False,
    groups: Groups | None = None,
    draws: int = RESAMPLES,
    seed: int = 0,
) -> SurveyedValue:
    """Return what a survey of the earlier people would have taught, scored on later episodes.

    Parameters
    ----------
    learned
        The values of the people surveyed, shape (episodes, n).
    later
        The episodes to score on, shape (episodes, n).
    build
        Makes a stopper from priors.
    survey
        The questions. Stages that share a law are surveyed together.
    pooled, groups
        As for :func:`streamlearn.replays.learning.empirical_priors`.
    draws
        How often the survey is drawn.
    seed
        Says which draws.

    Raises
    ------
    ParameterError
        If ``draws`` is no whole number >= 1, or there is no later episode.

    Notes
    -----
    Whoever answered the survey spent ε on it. Those people must not arrive again in a replay or in earnest, or it adds
    up: their reporters' ledgers count both.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays.ldplearning import surveyed_value
    >>> from streamlearn.surveys import Survey
    >>> values = np.random.default_rng(1).uniform(size=(1200, 5))
    >>> survey = Survey(0.0, 1.0, epsilon=1.0)
    >>> found = surveyed_value(
    ...     values[:1000], values[1000:], lambda laws: LDPOptimalStopper(laws, epsilon=1.0), survey, pooled=True
    ... )
    >>> found.people, found.shares.low > 0.99
    (5000, True)
    """
    times = whole("draws", draws, 1, "100 give a band")
    generator = np.random.default_rng(seed)
    later = np.asfortranarray(later)
    horizon = learned.shape[1]
    columns = partition(horizon, pooled, groups)
    plug_in = held_out_value(build(empirical_priors(learned, pooled, groups)).plan, later)
    people = [np.ascontiguousarray(learned[:, group]).ravel() for group in columns]

    def drawn() -> float:
        laws: dict[int, Discrete] = {}
        for group, values in zip(columns, people, strict=True):
            law = survey.fit_counts(*simulate_survey(survey, values, generator)).prior
            laws |= dict.fromkeys(group, law)
        return held_out_value(build([laws[stage] for stage in range(horizon)]).plan, later)

    values = np.array([drawn() for _ in range(times)])
    return SurveyedValue(
        people=learned.size,
        epsilon=survey.guarantee.epsilon,
        plug_in=plug_in,
        shares=Spread.of(share_of(values, plug_in)),
    )
