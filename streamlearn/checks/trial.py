"""What every check works with: fresh agents, the moves they make, and what is said when one fails."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from river.base import Base

from streamlearn.base import Agent, Stopper
from streamlearn.channels import Channel, Report
from streamlearn.checks.streams import Event
from streamlearn.errors import StreamlearnError

Move = Callable[[Any], Any]
"""One call of an agent, or a few; it returns what the agent answered."""

_BLOCK = (2, 0, 3, 1)
"""The order in which the labels of four numbered rounds come."""


class Unmet(Exception):  # noqa: N818 - it becomes a CheckError where the check's name is known
    """What a check expected, what it saw instead, and the remedy."""

    def __init__(self, expected: str, seen: str, remedy: str) -> None:
        super().__init__(expected, seen, remedy)
        self.expected = expected
        self.seen = seen
        self.remedy = remedy


class Trial:
    """One agent under check. The agent itself is never used: every run begins with a fresh one.

    Parameters
    ----------
    agent
        The agent, in whatever state.
    events
        Labelled instances for a predictor; none for a stopper.
    """

    def __init__(self, agent: Any, events: list[Event] | None) -> None:
        self.agent = agent
        self.events = events or []

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments, as they are stored."""
        named = {
            name: parameter
            for name, parameter in inspect.signature(type(self.agent)).parameters.items()
            if parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        }
        lost = [name for name in named if not hasattr(self.agent, name)]
        if lost:
            raise Unmet(
                "every constructor argument stored under its own name",
                f"no attribute {lost[0]}",
                f"set self.{lost[0]} = {lost[0]} in __init__, for clone() reads it there",
            )
        return {name: getattr(self.agent, name) for name in named}

    def fresh(self, **changed: Any) -> Any:
        """Return an agent newly built from the stored arguments, whatever its own clone() does."""
        _ = self.parameters
        return Base.clone(self.agent, changed or None)

    def at_once(self, most: int) -> int:
        """Return how many rounds may await their labels at once, ``most`` unless the agent's ``max_delay`` says fewer.

        Raises
        ------
        Unmet
            If the agent has a ``max_delay`` that is no whole number >= 0.
        """
        delay = getattr(self.agent, "max_delay", most)
        if isinstance(delay, bool) or not isinstance(delay, int) or delay < 0:
            raise Unmet(
                "max_delay to be how many rounds late a label may be",
                type(delay).__name__,
                "let streamlearn.ordered.check_max_delay read it",
            )
        return min(most, delay + 1)

    @cached_property
    def moves(self) -> list[Move]:
        """A run through the contract: for a predictor prompt, late and missing labels, for a stopper a stop."""
        if isinstance(self.agent, Stopper):
            return _episode(self.fresh())
        half = len(self.events) // 2
        return [*_prompt(self.events[:half]), *_numbered(self.events[half:], self.at_once(len(_BLOCK)))]

    def used(self) -> tuple[Any, list[Move]]:
        """Return an agent in the middle of its run, and the rest of the run."""
        agent = self.fresh()
        half = (
            len(self.moves) * 5 // 8
        )  # among a predictor's numbered rounds, some of which await their label
        play(agent, self.moves[:half])
        return agent, self.moves[half:]


def play(agent: Any, moves: Iterable[Move]) -> list[Any]:
    """Return what the agent answers, move by move."""
    return [move(agent) for move in moves]


def own(x: Any) -> Any:
    """Return an instance nobody else holds, so that a fault of one run does not reach another."""
    return copy.copy(x) if isinstance(x, dict) else x


def predicting(x: Any, **numbered: int) -> Move:
    """Return the move that asks for an instance."""
    return lambda agent: agent.predict_one(own(x), **numbered)


def learning(x: Any, y: Any, **numbered: int) -> Move:
    """Return the move that gives its label."""

    def move(agent: Any) -> None:
        agent.learn_one(own(x), y, **numbered)

    return move


def _prompt(events: list[Event]) -> Iterable[Move]:
    for x, y in events:
        yield predicting(x)
        yield learning(x, y)


def _numbered(events: list[Event], size: int) -> Iterable[Move]:
    """Yield blocks of so many rounds: asked in order, labelled out of order; every second block lacks one label."""
    order = [place for place in _BLOCK if place < size]
    for number, start in enumerate(range(0, len(events) - size + 1, size)):
        for i in range(start, start + size):
            yield predicting(events[i][0], round=i)
        for place in order[: size - number % 2]:
            yield learning(*events[start + place], round=start + place)


def quiet(channel: Channel) -> Report:
    """Return the report of a channel that does not stop, where it can send one."""
    return Report(channel.round, int(channel.case == "accept"))


def _episode(stopper: Stopper) -> list[Move]:
    """Return an episode that passes everybody it may, takes the last who is asked, and goes on for two rounds more."""
    channels = list(itertools.islice(stopper.plan, stopper.horizon))
    certain = next((i for i, channel in enumerate(channels) if channel.case == "accept"), len(channels))
    asked = [i for i, channel in enumerate(channels[:certain]) if channel.case == "ask"]
    last = asked[-1] if asked else certain
    reports = [quiet(channel) for channel in channels[: last + 1]]
    if last < len(channels):
        reports[last:] = [Report(last + 1 + later, 1) for later in range(3)]

    def meet(report: Report) -> Move:
        def move(agent: Any) -> Any:
            seen = agent.channel, agent.predict_one(report)
            agent.learn_one(report)
            return *seen, agent.round, agent.stopped

        return move

    return [meet(report) for report in reports]


def saved(agent: Agent) -> dict[str, Any]:
    """Return an agent's state, which nothing later changes."""
    if not hasattr(agent, "kind"):
        raise Unmet(
            "a state that names the agent's kind",
            "the class has none",
            f'decorate it with @streamlearn.state.register("{type(agent).__name__}")',
        )
    state: dict[str, Any] = copy.deepcopy(agent.state_dict())
    return state


def difference(first: Any, second: Any, path: str = "") -> str | None:
    """Return where two plain values differ; None where they are equal, types and NaN included.

    The place is a field of the state or of its body, no deeper: the names below may be instances.
    """
    if type(first) is not type(second):
        return path or "its type"
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return path or "its fields"
        deep = "." in path
        pairs = [(first[it], second[it], path if deep else f"{path}.{it}".lstrip(".")) for it in first]
    elif isinstance(first, (list, tuple)):
        if len(first) != len(second):
            return path or "its length"
        pairs = [(one, other, path) for one, other in zip(first, second, strict=True)]
    else:
        both_nan = first != first and second != second  # noqa: PLR0124 - only NaN differs from itself
        return None if both_nan or first == second else path or "its value"
    return next((found for one, other, at in pairs if (found := difference(one, other, at))), None)


def require_unchanged(before: dict[str, Any], agent: Agent, after: str, remedy: str) -> None:
    """Refuse a state that is no longer what it was."""
    where = difference(before, saved(agent))
    if where:
        raise Unmet(f"the same state after {after}", f"a change in {where}", remedy)


def require_alike(trial_run: list[Any], reference: list[Any], what: str, remedy: str) -> None:
    """Refuse answers that are not those of the reference run."""
    for place, (one, other) in enumerate(zip(trial_run, reference, strict=True), start=1):
        if one != other:
            raise Unmet(f"{what} to answer alike", f"another answer at move {place}", remedy)


def require_refused(
    agent: Agent, call: Callable[[], Any], error: type[StreamlearnError], what: str, remedy: str
) -> None:
    """Refuse an agent that takes a bad call, breaks on it, or is changed by it."""
    before = saved(agent)
    try:
        call()
    except error:
        require_unchanged(
            before, agent, f"refusing {what}", f"check everything before anything changes; {remedy}"
        )
    except Exception as other:
        raise Unmet(f"{error.__name__} for {what}", type(other).__name__, remedy) from other
    else:
        raise Unmet(f"{error.__name__} for {what}", "no error", remedy)
