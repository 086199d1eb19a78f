"""A stream of instances at work: each is answered at once, and learned from when its label comes."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from streamlearn.errors import MessageError, RoundError
from streamlearn.live.events import Events
from streamlearn.live.messages import ExampleMessage, Prediction, message_id
from streamlearn.live.sessions import Notes, Session, decoded
from streamlearn.prediction import Predictor


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
            body = decoded(saved, PredictorSaved, key)
            agent.load_state_dict(body.agent)
            self._asked, self._open, self._early = body.asked, body.open, body.early

    def dump(self) -> bytes:
        """Return the whole session as JSON."""
        self.changed = False
        return msgspec.json.encode(
            PredictorSaved(self._agent.state_dict(), self._asked, self._open, self._early)
        )

    def take(self, message: ExampleMessage, notes: Notes) -> Prediction | None:
        """Take in an instance, or a label, or both."""
        answer = None
        if message.x is None and message.y is None:
            raise MessageError("neither x nor y: an instance has an x, a label a y")
        if message.x is not None:
            answer = self._instance(message.event_id, instance(message.x), notes)
        if message.y is not None:
            self._label(message.event_id, bool(message.y), notes)
        return answer

    def _instance(self, event_id: str, x: Any, notes: Notes) -> Prediction | None:
        known = self._events.find(self.key, event_id)
        if known is not None and known.round is not None:
            notes.counts["duplicates"] += 1
            return None
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
        return Prediction(message_id(self._run, self.key, event_id), self.key, event_id, answer)

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
        If it holds an object within, or is nested too deeply.

    Examples
    --------
    >>> from streamlearn.live.predictors import instance
    >>> instance([1, [2, 3]]), instance({"a": [1]})
    ((1, (2, 3)), {'a': (1,)})
    """
    try:
        if isinstance(x, dict):
            return {name: _hashable(value) for name, value in x.items()}
        return _hashable(x)
    except RecursionError:
        raise MessageError(
            "x: nested too deeply; features are numbers, texts, booleans or lists of these"
        ) from None


def _hashable(x: Any) -> Any:
    if isinstance(x, list):
        return tuple(_hashable(part) for part in x)
    if isinstance(x, dict):
        raise MessageError(
            "x: an object within an instance; features are numbers, texts, booleans or lists of these"
        )
    return x
