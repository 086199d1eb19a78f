"""Checks that anybody can run on an agent of their own; stronger than river's, and for both kinds of agent.

A predictor keeps the table at the head of :mod:`streamlearn.prediction`, a stopper the one of
:mod:`streamlearn.base`; both keep their word on copies, saved states and memory. The agent that is given is never
used: every check builds fresh ones from its stored constructor arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from streamlearn.base import Agent, Stopper
from streamlearn.checks import common, labels, memory, predicting, stopping
from streamlearn.checks.streams import Event, events_for
from streamlearn.checks.trial import Trial, Unmet
from streamlearn.errors import CheckError, ParameterError
from streamlearn.prediction import Predictor

__all__ = ["check_agent", "yield_checks"]

_PREDICTOR = [*common.FIRST, *predicting.CHECKS, *labels.CHECKS, *common.LAST, *memory.CHECKS]
_STOPPER = [*common.FIRST, *stopping.CHECKS, *common.LAST]


def check_agent(agent: Agent, stream: Iterable[tuple[Any, Any]] | None = None) -> None:
    """Run every check that fits the agent's kind; the first that fails raises.

    Parameters
    ----------
    agent
        A :class:`~streamlearn.prediction.Predictor` or a :class:`~streamlearn.base.Stopper`.
    stream
        Labelled instances (x, y) for a predictor, y 0 or 1; the first 64 are used, over and over. By
        default instances that ``agent.hypotheses`` knows, with labels of one hypothesis; else dicts of two features.

    Raises
    ------
    CheckError
        If the agent does not keep its contract.
    ParameterError
        If ``agent`` is of neither kind, ``stream`` yields no such pairs or is given for a stopper, or the agent's
        class knows no instance that is found without it.

    Examples
    --------
    >>> from streamlearn import Key, checks
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> checks.check_agent(LDPOptimalStopper([1.0, 0.5], epsilon=1.0))
    """
    for check in yield_checks(agent, stream):
        check(agent)


def yield_checks(
    agent: Agent, stream: Iterable[tuple[Any, Any]] | None = None
) -> Iterator[Callable[[Agent], None]]:
    """Yield the checks that fit an agent, each to be called with it; pytest can parametrise over them.

    Parameters
    ----------
    agent, stream
        As for :func:`check_agent`.

    Yields
    ------
    callable
        With the check's name as ``__name__`` and what it holds the agent to as ``__doc__``.

    Raises
    ------
    CheckError, ParameterError
        As :func:`check_agent`; a CheckError when the check is called.

    Examples
    --------
    >>> from streamlearn import checks
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> agent = SOA(Thresholds(7))
    >>> names = [check.__name__ for check in checks.yield_checks(agent)]
    >>> "check_restored_agents_go_on_alike" in names, "check_stopping_is_absorbing" in names
    (True, False)
    """
    events = None
    if isinstance(agent, Predictor):
        events = events_for(agent, stream)
    elif not isinstance(agent, Stopper):
        raise ParameterError(
            f"agent must be a Predictor or a Stopper, got {type(agent).__name__}; derive it from one of them"
        )
    elif stream is not None:
        raise ParameterError(
            "stream is for predictors; a stopper's reports follow from its plan, leave it out"
        )
    for check in _STOPPER if events is None else _PREDICTOR:
        yield _named(check, events)


def _named(check: Callable[[Trial], None], events: list[Event] | None) -> Callable[[Agent], None]:
    @functools.wraps(check)
    def run(agent: Agent) -> None:
        name = f"{check.__name__} of {type(agent).__name__}"
        try:
            check(Trial(agent, events))
        except Unmet as unmet:
            message = f"{name}: expected {unmet.expected}, saw {unmet.seen}; {unmet.remedy}"
            raise CheckError(message) from unmet.__cause__
        except Exception as error:
            # Its words may quote an instance: only its type is told, the rest is in the cause.
            message = (
                f"{name}: expected no error from legal calls, saw {type(error).__name__}; see the cause above"
            )
            raise CheckError(message) from error

    return run
