"""One agent at work on one key: what a message does to it, and what is decided."""

from __future__ import annotations

import abc
import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from streamlearn.base import Agent, Stopper
from streamlearn.channels import Report
from streamlearn.errors import MessageError, RoundError, StateError
from streamlearn.live.events import Events
from streamlearn.live.messages import (
    Decision,
    ExampleMessage,
    Prediction,
    ReportMessage,
    StopDecision,
    message_id,
)
from streamlearn.prediction import Predictor

MOST_AHEAD: Final = 1_000
"""Rounds that a report may come early; its predecessors are awaited meanwhile."""
IDS_KEPT: Final = 1_000
"""Rounds of a key whose event ids are remembered, the latest: older duplicates are known by their round alone."""


class Notes:
    """What one batch adds to the run's books.

    Attributes
    ----------
    counts
        Counters, by name.
    answers
        How often each (mechanism, round, ε) was answered.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.answers: Counter[tuple[str, int, float]] = Counter()

    @classmethod
    def of(cls, counters: dict[str, int], ledger: list[tuple[str, int, float, int]]) -> Notes:
        """Return what a store has noted so far."""
        notes = cls()
        notes.counts.update(counters)
        notes.answers.update(
            {(mechanism, number, epsilon): count for mechanism, number, epsilon, count in ledger}
        )
        return notes

    def add(self, others: Notes) -> None:
        """Add what another part of the batch noted."""
        self.counts.update(others.counts)
        self.answers.update(others.answers)


class Session(abc.ABC):
    """An agent and what surrounds it on one key.

    Attributes
    ----------
    key
        The key.
    changed
        Whether it has changed since it was last saved.
    """

    __slots__ = ("changed", "key")
    kind: ClassVar[str]

    key: str
    changed: bool

    @abc.abstractmethod
    def take(self, message: Any, notes: Notes) -> Iterator[Decision]:
        """Take in a message; what is decided comes out.

        Raises
        ------
        MessageError
            If the message cannot be used. Nothing has then changed; after any other error anything may have.
        """

    @abc.abstractmethod
    def dump(self) -> bytes:
        """Return the whole session as JSON."""


class StopperSaved(msgspec.Struct, forbid_unknown_fields=True):
    """A stopper's session as it is saved.

    Parameters
    ----------
    agent
        The agent's own state.
    ids
        The event ids of the latest rounds.
    early
        Reports of rounds to come: round to (bit, event id).
    """

    agent: dict[str, Any]
    ids: list[str | None]
    early: dict[int, tuple[int, str | None]]


class StopperSession(Session):
    """A stopping problem: reports in, one decision out.

    Parameters
    ----------
    run, key
        The run's name and the problem's.
    agent
        A fresh stopper.
    saved
        What :meth:`dump` returned, for a problem that goes on.
    """

    __slots__ = ("_agent", "_early", "_ids", "_run")
    kind = "stopper"

    def __init__(self, run: str, key: str, agent: Stopper, saved: bytes | None = None) -> None:
        self.key = key
        self.changed = False
        self._run = run
        self._agent = agent
        self._ids: list[str | None] = []
        self._early: dict[int, tuple[int, str | None]] = {}
        if saved is not None:
            body = _decoded(saved, StopperSaved, key)
            agent.load_state_dict(body.agent)
            self._ids, self._early = body.ids, body.early

    def dump(self) -> bytes:
        """Return the whole session as JSON."""
        self.changed = False
        return msgspec.json.encode(StopperSaved(self._agent.state_dict(), self._ids, self._early))

    def take(self, message: ReportMessage, notes: Notes) -> Iterator[Decision]:
        """Take in a report, and those it was awaited by."""
        agent = self._agent
        if agent.stopped or agent.round > agent.horizon:
            notes.counts["after_decision"] += 1
            return
        if message.round != agent.round:
            self._out_of_turn(message, notes)
            return
        bit, event_id = message.bit, message.event_id
        while True:
            if self._answer(bit, event_id, notes):
                yield self._decided(event_id, notes)
                return
            following = self._early.pop(agent.round, None)
            if following is None:
                return
            bit, event_id = following

    def _answer(self, bit: int, event_id: str | None, notes: Notes) -> bool:
        """Give the awaited report to the agent; return whether the problem has ended."""
        agent = self._agent
        number = agent.round
        report = Report(number, bit, event_id)
        take = agent.predict_one(report)
        agent.learn_one(report)
        self.changed = True
        self._ids.append(event_id)
        if len(self._ids) > IDS_KEPT:
            del self._ids[0]
        notes.counts["reports"] += 1
        if agent.cases[number - 1] == "ask":
            notes.answers[agent.parameters_digest, number, agent.plan[number].realised_epsilon] += 1
        return take or agent.round > agent.horizon

    def _decided(self, event_id: str | None, notes: Notes) -> StopDecision:
        agent = self._agent
        self._early.clear()
        self._ids.clear()
        notes.counts["decisions"] += 1
        number = agent.round if agent.stopped else agent.horizon
        return StopDecision(message_id(self._run, self.key), self.key, agent.stopped, number, event_id)

    def _out_of_turn(self, message: ReportMessage, notes: Notes) -> None:
        """Keep a report that came early; tell a duplicate from a second answer to a round."""
        agent = self._agent
        number, event_id = message.round, message.event_id
        if number > agent.horizon:
            raise MessageError(f"round is past the horizon, {agent.horizon}")
        if number < agent.round:
            place = number - agent.round + len(self._ids)
            if place >= 0 and self._ids[place] != event_id:
                raise MessageError("its round was answered before, by another event")
            notes.counts["duplicates"] += 1
            return
        known = self._early.get(number)
        if known is not None:
            if known != (message.bit, event_id):
                raise MessageError("its round was answered before, by another event")
            notes.counts["duplicates"] += 1
            return
        if number > agent.round + MOST_AHEAD:
            raise MessageError(
                f"round is more than {MOST_AHEAD} ahead of round {agent.round}, which is awaited"
            )
        _check_bit(message, agent)
        self._early[number] = message.bit, event_id
        self.changed = True
        notes.counts["early"] += 1


def _check_bit(message: ReportMessage, agent: Stopper) -> None:
    """Refuse at once what the agent would refuse when its round comes."""
    case = agent.cases[message.round - 1]
    if case != "ask" and message.bit != (case == "accept"):
        raise MessageError("the channel of its round is constant and the report says otherwise")


class PredictorSaved(msgspec.Struct, forbid_unknown_fields=True):
    """A predictor's session as it is saved; its events are in a table of their own.

    Parameters
    ----------
    agent
        The agent's own state.
    asked
        Rounds asked so far.
    open
        Those that await their labels.
    early
        Labels that came before their instances.
    """

    agent: dict[str, Any]
    asked: int
    open: int
    early: int


class PredictorSession(Session):
    """A stream of instances: each is answered at once, and its label may come at any time later, or before.

    Parameters
    ----------
    run, key
        The run's name and the stream's.
    agent
        A fresh predictor.
    events
        Where the events of all streams are kept.
    most_open
        Events that may await their labels; beyond, the oldest is given up.
    saved
        What :meth:`dump` returned, for a stream that goes on.
    """

    __slots__ = ("_agent", "_asked", "_early", "_events", "_most_open", "_open", "_run")
    kind = "predictor"

    def __init__(
        self, run: str, key: str, agent: Predictor, events: Events, most_open: int, saved: bytes | None = None
    ) -> None:
        self.key = key
        self.changed = False
        self._run = run
        self._agent = agent
        self._events = events
        self._most_open = most_open
        self._asked = self._open = self._early = 0
        if saved is not None:
            body = _decoded(saved, PredictorSaved, key)
            agent.load_state_dict(body.agent)
            self._asked, self._open, self._early = body.asked, body.open, body.early

    def dump(self) -> bytes:
        """Return the whole session as JSON."""
        self.changed = False
        return msgspec.json.encode(
            PredictorSaved(self._agent.state_dict(), self._asked, self._open, self._early)
        )

    def take(self, message: ExampleMessage, notes: Notes) -> Iterator[Decision]:
        """Take in an instance, or a label, or both."""
        if message.x is None and message.y is None:
            raise MessageError("neither x nor y: an instance has an x, a label a y")
        if message.x is not None:
            yield from self._instance(message.event_id, instance(message.x), notes)
        if message.y is not None:
            self._label(message.event_id, bool(message.y), notes)

    def _instance(self, event_id: str, x: Any, notes: Notes) -> Iterator[Decision]:
        known = self._events.find(self.key, event_id)
        if known is not None and known.round is not None:
            notes.counts["duplicates"] += 1
            return
        number = self._asked
        answer = bool(self._agent.predict_one(x, round=number))
        self._asked += 1
        self.changed = True
        notes.counts["predictions"] += 1
        if known is None:
            self._events.open(self.key, event_id, number, x)
            self._open += 1
            self._make_room(notes)
        else:
            self._learn(event_id, number, x, bool(known.label), notes)
            self._early -= 1
        yield Prediction(message_id(self._run, self.key, event_id), self.key, event_id, answer)

    def _label(self, event_id: str, y: bool, notes: Notes) -> None:
        known = self._events.find(self.key, event_id)
        if known is None:
            if self._early >= self._most_open:
                raise MessageError(
                    f"{self._most_open} labels of this key came before their instances; no more are kept"
                )
            self._events.hold(self.key, event_id, y)
            self._early += 1
            self.changed = True
            notes.counts["early"] += 1
        elif not known.open:
            # Answered, given up, or held already: in each case this label comes too late to matter.
            notes.counts["duplicates"] += 1
        else:
            x = self._events.instance(self.key, event_id)
            self._learn(event_id, int(known.round or 0), x, y, notes)
            self._open -= 1
            self.changed = True

    def _learn(self, event_id: str, number: int, x: Any, y: bool, notes: Notes) -> None:
        try:
            self._agent.learn_one(x, y, round=number)
        except RoundError:  # the agent has a bound of its own on how late a label may be
            notes.counts["late"] += 1
        else:
            notes.counts["labels"] += 1
            guarantee = self._agent.guarantee
            notes.answers[str(guarantee), 0, guarantee.epsilon] += 1
        self._events.end(self.key, event_id, number)

    def _make_room(self, notes: Notes) -> None:
        if self._open > self._most_open:
            event_id, number = self._events.oldest(self.key)
            with contextlib.suppress(RoundError):  # the agent may have given it up before
                self._agent.give_up(number)
            self._events.end(self.key, event_id, number)
            self._open -= 1
            notes.counts["given_up"] += 1


def instance(x: Any) -> Any:
    """Return an instance as an agent takes it: lists of JSON become tuples, a dict of features stays one.

    Raises
    ------
    MessageError
        If it holds an object within.

    Examples
    --------
    >>> from streamlearn.live.sessions import instance
    >>> instance([1, [2, 3]]), instance({"a": [1]})
    ((1, (2, 3)), {'a': (1,)})
    """
    return {name: _hashable(value) for name, value in x.items()} if isinstance(x, dict) else _hashable(x)


def _hashable(x: Any) -> Any:
    if isinstance(x, list):
        return tuple(_hashable(part) for part in x)
    if isinstance(x, dict):
        raise MessageError(
            "x: an object within an instance; features are numbers, texts, booleans or lists of these"
        )
    return x


S = TypeVar("S")


def _decoded(saved: bytes, kind: type[S], key: str) -> S:
    try:
        return msgspec.json.decode(saved, type=kind)
    except msgspec.MsgspecError as error:
        raise StateError(
            f"the saved session of key {key!r} cannot be read: {error}; restore the store"
        ) from None


def kind_of(agent: Agent) -> str:
    """Return ``"stopper"`` or ``"predictor"``.

    Raises
    ------
    StateError
        If it is neither.
    """
    if isinstance(agent, Stopper):
        return StopperSession.kind
    if isinstance(agent, Predictor):
        return PredictorSession.kind
    raise StateError(f"an agent must be a Stopper or a Predictor, got {type(agent).__name__}")
