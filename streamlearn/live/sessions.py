"""One agent at work on one key: what a message does to it, and what is decided."""

from __future__ import annotations

import abc
from collections import Counter
from typing import Any, ClassVar, Literal, TypeVar

import msgspec

from streamlearn.base import Agent, Stopper
from streamlearn.errors import StateError
from streamlearn.live.messages import Decision
from streamlearn.prediction import Predictor

Kind = Literal["stopper", "predictor"]


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
    kind: ClassVar[Kind]

    key: str
    changed: bool

    @abc.abstractmethod
    def take(self, message: Any, notes: Notes) -> Decision | None:
        """Take in a message and return what it decides, if anything.

        Raises
        ------
        MessageError
            If the message cannot be used. Nothing has then changed; after any other error anything may have.
        """

    @abc.abstractmethod
    def dump(self) -> bytes:
        """Return the whole session as JSON."""


S = TypeVar("S")


def decoded(saved: bytes, kind: type[S], key: str) -> S:
    """Return what :meth:`Session.dump` saved.

    Raises
    ------
    StateError
        If it cannot be read.
    """
    try:
        return msgspec.json.decode(saved, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise StateError(
            f"the saved session of key {key!r} cannot be read: {error}; restore the store"
        ) from None


def kind_of(agent: Agent) -> Kind:
    """Return ``"stopper"`` or ``"predictor"``.

    Raises
    ------
    StateError
        If it is neither.
    """
    if isinstance(agent, Stopper):
        return "stopper"
    if isinstance(agent, Predictor):
        return "predictor"
    raise StateError(f"an agent must be a Stopper or a Predictor, got {type(agent).__name__}")
