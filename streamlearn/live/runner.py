"""Agents at work on a live stream: a batch of messages in, decisions out, everything committed in between."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Self

import msgspec

from streamlearn.base import Agent
from streamlearn.errors import MessageError, ParameterError, StateError, StreamlearnError
from streamlearn.live.database import DamagedError, UnusableError, damaged, sound
from streamlearn.live.events import Events
from streamlearn.live.messages import (
    DeadLetter,
    Decision,
    ExampleMessage,
    Message,
    Position,
    Reader,
    ReportMessage,
    StopDecision,
    message_id,
)
from streamlearn.live.places import Place
from streamlearn.live.predictors import PredictorSession
from streamlearn.live.sessions import Notes, Session, kind_of
from streamlearn.live.stoppers import StopperSession
from streamlearn.live.store import Store

MOST_AGENTS: Final = 10_000
MOST_OPEN: Final = 1_000
REMEMBERED: Final = 1_000_000
PASSED_ON: Final = (MessageError, UnusableError, DamagedError, MemoryError)
"""What is not the agent's fault, so that no message is buried for it."""


class Runner:
    """Puts one agent a key to work on messages, so that nothing is lost or done twice.

    Parameters
    ----------
    agent_factory
        Called with a key, returns a fresh agent, built alike every time. A predictor's randomness must be its own:
        ``lambda key: SubsampledSOA(cls, 0.01, store.secret().derive(key))``.
    store
        The memory; it goes on where it was left.
    key_field
        The field of a message that names its key.
    most_agents
        Agents kept in memory; the others rest in the store.
    most_open
        Events of one key that may await their labels, for predictors; beyond, the oldest is given up.
    remember
        Events remembered after they ended, over all keys, for predictors: a duplicate of an older one is taken for new.

    Attributes
    ----------
    kind
        ``"stopper"`` or ``"predictor"``.
    summary
        What the whole run has counted and spent, as far as this process knows; other threads may read it.
    guarantee
        What its agents promise.

    Raises
    ------
    StateError
        If the store belongs to other agents.
    ParameterError
        If a bound is not at least 1.

    Notes
    -----
    The states of the agents, the position in the source and the decisions to publish are committed in one
    transaction. So after a crash at any moment the run goes on from the last batch that was committed, and what is
    then decided again was never published.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.live import Message, Runner, Store
    >>> stopper = LDPOptimalStopper([1.0, 0.5], epsilon=1.0)
    >>> runner = Runner(lambda key: stopper.clone(), Store(":memory:", run="example"))
    >>> report = Message("reports", (1,), b'{"key": "job 1", "round": 1, "bit": 1, "event_id": "a17"}')
    >>> [(it.key, it.take, it.round) for it in runner.process([report])]
    [('job 1', True, 1)]
    >>> runner.process([report])  # handed over again: it was committed
    []
    """

    def __init__(
        self,
        agent_factory: Callable[[str], Agent],
        store: Store,
        *,
        key_field: str = "key",
        most_agents: int = MOST_AGENTS,
        most_open: int = MOST_OPEN,
        remember: int = REMEMBERED,
    ) -> None:
        for name, bound in (("most_agents", most_agents), ("most_open", most_open), ("remember", remember)):
            if type(bound) is not int or bound < 1:
                raise ParameterError(f"{name} must be a whole number >= 1, got {bound!r}")
        self.agent_factory = agent_factory
        self.store = store
        self.most_agents = most_agents
        self.most_open = most_open
        self.key_field = key_field
        probe = agent_factory("")
        self.kind = kind_of(probe)
        self.guarantee = probe.guarantee
        self._read = Reader(ReportMessage if self.kind == "stopper" else ExampleMessage, key_field)
        self._events = Events(store, remember)
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._positions = store.positions()
        self.summary = Summary({}, {}, 0.0).plus(Notes.of(store.counters(), store.ledger()))
        self._claim(probe)

    def _claim(self, probe: Agent) -> None:
        """Refuse a store that other agents wrote; the states of its keys would be refused one by one."""
        identity = f"{probe.kind} with parameters {probe.parameters_digest}"
        with self.store.transaction():
            kept = self.store.kept("agent")
            if kept is None:
                if not self.store.empty("sessions", "recent"):  # whose they are is not known any more
                    raise damaged(self.store.path)
                self.store.keep("agent", identity)
        if kept not in {None, identity}:
            raise StateError(
                f"{self.store.path} belongs to a {kept}, this is a {identity}; build the agent as it was, "
                "or name another store"
            )

    def process(self, batch: Sequence[Message]) -> list[Decision]:
        """Take in a batch of messages, in order, and commit what follows from them.

        Messages that were processed before are passed over, those that cannot be used go to the dead letters.

        Returns
        -------
        list of StopDecision or Prediction
            What was decided. It is also in the store's outbox, until :meth:`Store.published`.

        Raises
        ------
        StreamlearnError
            If the store cannot be written. Nothing has then changed, the batch can be given again.
        """
        try:
            work = self._attempted(batch, careful=False)
        except _PoisonedError:
            work = self._attempted(batch, careful=True)
        self._positions |= work.positions
        self.summary = self.summary.plus(work.notes)
        self._make_room()
        return work.decisions

    def _attempted(self, batch: Sequence[Message], *, careful: bool) -> _Work:
        work = _Work()
        try:
            with self.store.transaction():
                self._catch_up()
                self._events.begin()
                self._take_all(batch, work, careful)
                self._commit(work)
        except BaseException:
            self._sessions.clear()  # they have moved on and the store has not
            raise
        return work

    def _catch_up(self) -> None:
        """Read anew what another process has changed."""
        if self.store.catch_up():
            self._sessions.clear()
            self._positions = self.store.positions()

    def _take_all(self, batch: Sequence[Message], work: _Work, careful: bool) -> None:
        take = self._take_carefully if careful else self._take
        known = self.store.processed(batch)
        for message in batch:
            if self._processed(message, work, known):
                work.notes.counts["redelivered"] += 1
                continue
            try:
                take(message, work)
            except MessageError as error:
                self._bury(message, str(error), work)

    def _processed(self, message: Message, work: _Work, known: set[Place]) -> bool:
        """Return whether a message was processed before; if not, it now is."""
        place = message.partition, message.position
        if message.ordered:
            last = work.positions.get(message.partition) or self._positions.get(message.partition, ())
            if message.position <= last:
                return True
            work.positions[message.partition] = message.position
            return place in known  # by a group that read the partition before
        if place in known:
            return True
        known.add(place)
        work.unordered.append(place)
        return False

    def _take(self, message: Message, work: _Work) -> None:
        key, read = self._read(message)
        session = self._session(key)
        try:
            decision = session.take(read, work.notes)
        except PASSED_ON:
            raise
        except Exception as error:
            raise _PoisonedError from error
        if session.changed:
            work.changed[key] = None
        if decision is not None:
            work.decisions.append(decision)

    def _take_carefully(self, message: Message, work: _Work) -> None:
        """Take a message, leaving no trace of one that an agent cannot take. Slower: every session is saved before."""
        key, read = self._read(message)
        session = self._session(key)
        before, notes = session.dump(), Notes()
        try:
            with self.store.attempt():
                decision = session.take(read, notes)
        except PASSED_ON:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the next message is another person's
            self._sessions[key] = self._begun(key, before)
            raise MessageError(_described(error)) from None
        if session.changed:
            work.changed[key] = None
        if decision is not None:
            work.decisions.append(decision)
        work.notes.add(notes)

    def _session(self, key: str) -> Session:
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = self._begun(key, self.store.session(key))
        else:
            self._sessions.move_to_end(key)
        return session

    def _begun(self, key: str, saved: bytes | None) -> Session:
        agent: Any = self.agent_factory(key)
        try:
            with sound(self.store.path) if saved is not None else contextlib.nullcontext():
                if self.kind == "stopper":
                    return StopperSession(self.store.run, key, agent, saved)
                return PredictorSession(self.store.run, key, agent, self._events, self.most_open, saved)
        except (
            StateError
        ):  # the store's agents are these, so it is no other's; what it says may quote the state
            raise damaged(self.store.path) from None

    def _bury(self, message: Message, reason: str, work: _Work) -> None:
        name = message_id(self.store.run, message.partition, str(message.position))
        work.notes.counts["dead_letters"] += 1
        work.dead.append(DeadLetter(name, message.partition, message.position, reason))

    def _commit(self, work: _Work) -> None:
        """Write down all that a batch has changed; the transaction ends after it."""
        store, encode = self.store, msgspec.json.encode
        if taken := sum(isinstance(it, StopDecision) and it.take for it in work.decisions):
            work.notes.counts["taken"] = taken
        store.save_sessions({key: self._sessions[key].dump() for key in work.changed})
        store.advance(work.positions)
        store.go_ahead(work.unordered)
        store.send(("decision", it.id, it.key, encode(it)) for it in work.decisions)
        store.send(("dead", it.id, it.partition, encode(it)) for it in work.dead)
        store.count(work.notes.counts)
        store.spend(work.notes.answers)
        self._events.forget()

    def _make_room(self) -> None:
        while len(self._sessions) > self.most_agents:
            self._sessions.popitem(last=False)


class Summary(NamedTuple):
    """What a run has counted and spent. It never changes, a later one takes its place: so any thread may read it.

    Parameters
    ----------
    counts
        Counters, by name.
    answers
        Answers that spent privacy, by mechanism.
    epsilon
        The most ε that one of them spent; 0 before the first.

    Examples
    --------
    >>> from streamlearn.live.runner import Summary
    >>> from streamlearn.live.sessions import Notes
    >>> notes = Notes.of({"reports": 3}, [("plan", 1, 0.5, 2), ("plan", 2, 1.0, 1)])
    >>> Summary({}, {}, 0.0).plus(notes)
    Summary(counts={'reports': 3}, answers={'plan': 3}, epsilon=1.0)
    """

    counts: dict[str, int]
    answers: dict[str, int]
    epsilon: float

    def plus(self, notes: Notes) -> Self:
        """Return the summary after what else was noted."""
        counts, answers, most = self.counts.copy(), self.answers.copy(), self.epsilon
        for name, count in notes.counts.items():
            counts[name] = counts.get(name, 0) + count
        for (mechanism, _, epsilon), count in notes.answers.items():
            answers[mechanism] = answers.get(mechanism, 0) + count
            most = max(most, epsilon)
        return self._replace(counts=counts, answers=answers, epsilon=most)


class _Work:
    """What one batch changes."""

    def __init__(self) -> None:
        self.positions: dict[str, Position] = {}
        self.unordered: list[Place] = []
        self.changed: dict[str, None] = {}
        self.decisions: list[Decision] = []
        self.dead: list[DeadLetter] = []
        self.notes = Notes()


class _PoisonedError(Exception):
    """An agent failed on a message and may be left half changed."""


def _described(error: Exception) -> str:
    """Say what an agent raised. Only our own errors are known to quote nothing private."""
    text = f": {error}" if isinstance(error, StreamlearnError) else ""
    return f"the agent refuses it with {type(error).__name__}{text}"
