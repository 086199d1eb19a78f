"""The calls that drive agents over recorded or synthetic streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from streamlearn.base import Stopper
from streamlearn.errors import ParameterError
from streamlearn.replays.predicting import Predicting, replay_predictors
from streamlearn.replays.predictions import PredictionResult
from streamlearn.replays.results import StoppingResult
from streamlearn.replays.schedules import Delay, Moment
from streamlearn.replays.stopping import Observer, Reporting, integrate_stoppers, replay_stopper


@overload
def replay(
    stream: Iterable[Any],
    agent: Stopper,
    reporter: Reporting | None = None,
    delay: None = None,
    observers: Sequence[Observer] = (),
    progress: bool = False,
    *,
    reference: Stopper | None = None,
    moment: None = None,
) -> StoppingResult: ...


@overload
def replay(
    stream: Iterable[Any],
    agent: Predicting,
    reporter: None = None,
    delay: Delay = None,
    observers: Sequence[Any] = (),
    progress: bool = False,
    *,
    reference: None = None,
    moment: Moment = None,
) -> PredictionResult: ...


def replay(
    stream: Iterable[Any],
    agent: Stopper | Predicting,
    reporter: Reporting | None = None,
    delay: Delay = None,
    observers: Sequence[Any] = (),
    progress: bool = False,
    *,
    reference: Stopper | None = None,
    moment: Moment = None,
) -> StoppingResult | PredictionResult:
    """Drive one agent over a recorded or synthetic stream, event by event, as it would run live.

    Parameters
    ----------
    stream
        For a stopper: a :class:`RecordedStream`, batches or episodes of one; or episodes that are each a sequence
        of n values (a 2-D array will do); or the n numbers of a single episode. Every episode has as many people
        as the agent's horizon. For a predictor: pairs (x, y), or triples with a dict of keywords that
        ``predict_one`` and ``learn_one`` take.
    agent
        A stopper: each episode is given to a fresh clone, the agent itself is not changed. Or anything with
        ``predict_one`` and ``learn_one``, river's models too: it learns as the stream goes.
    reporter
        The people's side of a stopper; the event id is "log/episode/round", where the log is the path of a
        :class:`RecordedStream`, else "episode/round". So one reporter asked by the same log again repeats its
        bits; give other people's values that have no log a reporter of their own. None: the bits are drawn from
        the channels with a fixed key, so that a replay can be repeated.
    delay
        How long a predictor's label takes: a number of events, a duration (with ``moment``), the name of a feature
        that holds one, or a function of (x, y). None: it comes before the next event.
    observers
        For a stopper, called with a :class:`Step` after each arrival. For a predictor, called with (label,
        prediction) when the label comes; river's metrics are welcome.
    progress
        Show a progress bar, if standard error is a terminal.
    reference
        A stopper to compare a stopper with, usually ``OptimalStopper`` with the same priors.
    moment
        The time of an event of a predictor's stream: the name of a feature, or a function of x. None: its number.

    Returns
    -------
    StoppingResult or PredictionResult
        The former with ``.decisions``, one per episode; the latter with ``.rounds`` and ``.mistakes``.

    Raises
    ------
    StreamError
        If an episode has another number of people than the horizon, or the stream is empty.
    BudgetError
        If the reporter's limit forbids the plan.
    ParameterError
        If an argument is for the other kind of agent.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays import replay
    >>> from streamlearn.reporters import Reporter
    >>> result = replay([[1.0, 3.0], [2.0, 0.0]], LDPOptimalStopper([1.0, 1.5], epsilon=1.0), Reporter(1.0))
    >>> result.decisions, result.score
    ((Decision(episode=0, round=2), Decision(episode=1, round=2)), 1.5)
    """
    if not isinstance(agent, Stopper):
        if reporter is not None or reference is not None:
            raise ParameterError("reporter and reference are for stoppers; a predictor has neither")
        name = type(agent).__name__
        return replay_predictors(stream, {name: agent}, delay, moment, {name: observers}, progress)[name]
    if delay is not None or moment is not None:
        raise ParameterError("delay and moment are for predictors; a stopper's reports come in order")
    return replay_stopper(stream, agent, reporter, reference, observers, progress)


@overload
def replay_many(
    stream: Iterable[Any],
    agents: Mapping[str, Stopper],
    *,
    reference: Stopper | None = None,
    delay: None = None,
    moment: None = None,
    observers: None = None,
    progress: bool = False,
) -> dict[str, StoppingResult]: ...


@overload
def replay_many(
    stream: Iterable[Any],
    agents: Mapping[str, Predicting],
    *,
    reference: None = None,
    delay: Delay = None,
    moment: Moment = None,
    observers: Mapping[str, Sequence[Any]] | None = None,
    progress: bool = False,
) -> dict[str, PredictionResult]: ...


def replay_many(
    stream: Iterable[Any],
    agents: Mapping[str, Stopper] | Mapping[str, Predicting],
    *,
    reference: Stopper | None = None,
    delay: Delay = None,
    moment: Moment = None,
    observers: Mapping[str, Sequence[Any]] | None = None,
    progress: bool = False,
) -> dict[str, StoppingResult] | dict[str, PredictionResult]:
    """Score many agents of one kind in one pass.

    Stoppers are scored with the reporters' coins integrated out exactly. Nothing is drawn: given the recorded values
    the expected reward of a plan is a finite sum (:func:`streamlearn.replays.coins.expected_outcomes`). So figures
    are exact for the log, and agents or privacy levels can be compared without noise from the coins. Predictors
    run side by side, as each would alone.

    Parameters
    ----------
    stream
        As for :func:`replay`. A :class:`RecordedStream` is read in columns, in bounded memory.
    agents
        Agents by name: stoppers, all of the horizon of the episodes, or predictors.
    reference
        For stoppers, as for :func:`replay`.
    delay, moment
        For predictors, as for :func:`replay`.
    observers
        For predictors: observers as for :func:`replay`, by the agent's name.
    progress
        Show a progress bar, if standard error is a terminal.

    Returns
    -------
    dict of str to StoppingResult or PredictionResult
        In the order of ``agents``; a stopper's ``.decisions`` is empty.

    Raises
    ------
    StreamError
        As for :func:`replay`.
    ParameterError
        If there is no agent, agents of both kinds, or an argument for the other kind.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn import Key, hypotheses
    >>> from streamlearn.agents import SOA, LDPOptimalStopper, OptimalStopper, SubsampledSOA
    >>> from streamlearn.replays import replay_many
    >>> priors = [np.array([0.0, 1.0, 2.0, 3.0])] * 3
    >>> episodes = np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 3.0]])
    >>> agents = {str(e): LDPOptimalStopper(priors, epsilon=e) for e in (0.0, 2.0)}
    >>> results = replay_many(episodes, agents, reference=OptimalStopper(priors))
    >>> [round(result.score, 4) for result in results.values()]
    [1.6667, 2.293]
    >>> cls = hypotheses.Thresholds(100)
    >>> stream = [(37 * i % 100 + 1, 37 * i % 100 >= 60) for i in range(1000)]
    >>> learners = {"SOA": SOA(cls), "γ = 0.1": SubsampledSOA(cls, gamma=0.1, key=Key.from_seed(1))}
    >>> {name: result.mistakes for name, result in replay_many(stream, learners).items()}
    {'SOA': 4, 'γ = 0.1': 26}
    """
    if not agents:
        raise ParameterError("agents is empty; give at least one agent by name")
    stoppers = {name: agent for name, agent in agents.items() if isinstance(agent, Stopper)}
    predictors = {name: agent for name, agent in agents.items() if not isinstance(agent, Stopper)}
    if stoppers and predictors:
        raise ParameterError(
            "agents must be of one kind: stoppers take episodes of values, predictors pairs (x, y)"
        )
    if stoppers:
        if delay is not None or moment is not None or observers is not None:
            raise ParameterError(
                "delay, moment and observers are for predictors; a stopper's reports come in order"
            )
        return integrate_stoppers(stream, stoppers, reference, progress)
    if reference is not None:
        raise ParameterError("reference is for stoppers; give a predictor to compare with among agents")
    unknown = [name for name in observers or () if name not in predictors]
    if unknown:
        raise ParameterError(f"observers are given for {unknown[0]!r}, which is none of the agents")
    return replay_predictors(stream, predictors, delay, moment, observers or {}, progress)
