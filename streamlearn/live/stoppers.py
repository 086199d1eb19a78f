"""A stopping problem at work: what a report does to it, and the one decision that comes out."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from streamlearn.base import Stopper
from streamlearn.channels import Report
from streamlearn.errors import MessageError
from streamlearn.live.messages import ReportMessage, StopDecision, message_id
from streamlearn.live.sessions import Notes, Session, decoded

MOST_AHEAD: Final = 1_000
"""Rounds that a report may come early; its predecessors are awaited meanwhile."""
IDS_KEPT: Final = 1_000
"""Rounds of a key whose event ids are remembered, the latest: older duplicates are known by their round alone."""

_encode = msgspec.json.Encoder().encode


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

    __slots__ = ("_agent", "_early", "_ids", "_plan", "_run")
    kind = "stopper"

    def __init__(self, run: str, key: str, agent: Stopper, saved: bytes | None = None) -> None:
        self.key = key
        self.changed = False
        self._run = run
        self._agent = agent
        self._plan = agent.plan
        self._ids: list[str | None] = []
        self._early: dict[int, tuple[int, str | None]] = {}
        if saved is not None:
            body = decoded(saved, StopperSaved, key)
            agent.load_state_dict(body.agent)
            self._ids, self._early = body.ids, body.early

    def dump(self) -> bytes:
        """Return the whole session as JSON."""
        self.changed = False
        return _encode(StopperSaved(self._agent.state_dict(), self._ids, self._early))

    def take(self, message: ReportMessage, notes: Notes) -> StopDecision | None:
        """Take in a report, and those it was awaited by."""
        agent = self._agent
        if agent.stopped or agent.round > agent.horizon:
            notes.counts["after_decision"] += 1
            return None
        if message.round != agent.round:
            self._out_of_turn(message, notes)
            return None
        bit, event_id = message.bit, message.event_id
        while not self._answer(bit, event_id, notes):
            following = self._early.pop(agent.round, None) if self._early else None
            if following is None:
                return None
            bit, event_id = following
        return self._decided(event_id, notes)

    def _answer(self, bit: int, event_id: str | None, notes: Notes) -> bool:
        """Give the awaited report to the agent; return whether the problem has ended."""
        agent, ids = self._agent, self._ids
        number = agent.round
        agent.learn_one(Report(number, bit, event_id))  # it stops exactly where predict_one says so
        self.changed = True
        ids.append(event_id)
        if len(ids) > IDS_KEPT:
            del ids[0]
        notes.counts["reports"] += 1
        if agent.cases[number - 1] == "ask":
            plan = self._plan
            notes.answers[plan.digest, number, plan.epsilons[number - 1]] += 1
        return agent.stopped or agent.round > agent.horizon

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
            raise MessageError(
                f"round is past the horizon, {agent.horizon}; a new problem wants a key of its own"
            )
        if number < agent.round:
            place = number - agent.round + len(self._ids)
            if place >= 0 and self._ids[place] != event_id:
                raise MessageError(
                    "its round was answered before, by another event; only the first answer counts"
                )
            notes.counts["duplicates"] += 1
            return
        known = self._early.get(number)
        if known is not None:
            if known != (message.bit, event_id):
                raise MessageError(
                    "its round was answered before, by another event; only the first answer counts"
                )
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
