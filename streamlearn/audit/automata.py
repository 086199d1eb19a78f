"""An agent as a chain over its own saved states: what it answers in one round and goes on from, with exact chances."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import msgspec

from streamlearn.audit.branching import BranchingKey, paths
from streamlearn.audit.walking import Known, Name, Walk
from streamlearn.errors import ParameterError
from streamlearn.prediction import Predictor
from streamlearn.randomness import Key

Example: TypeAlias = tuple[Any, bool]
Due: TypeAlias = tuple[tuple[int, int], ...]
"""Labels that come: (round, place in the alphabet) each."""

Outcome: TypeAlias = tuple[tuple[bool, ...], bytes]
"""What was said in a round, and the state after it."""

_DEEPEST = 8


class At(NamedTuple):
    """Where an agent is between two rounds.

    Parameters
    ----------
    saved
        Its state, as JSON.
    known
        What is known of draws that a later round uses again.
    """

    saved: bytes
    known: Known


class Move(NamedTuple):
    """One outcome of a round.

    Parameters
    ----------
    chance
        Of this outcome.
    answers
        What was said of the round, whenever it was asked.
    after
        Where the agent is then.
    """

    chance: Fraction
    answers: tuple[bool, ...]
    after: At


class Automaton:
    """A predictor as a chain, through its public methods.

    Each round is asked three times, without a number, with it and with it again: the answers must be one.

    Parameters
    ----------
    make
        Returns a new predictor that draws from the key it is given.
    alphabet
        The examples (x, y) that streams are made of.

    Attributes
    ----------
    agent
        The predictor.

    Raises
    ------
    ParameterError
        If it is no predictor, or draws from a key of its own.
    """

    def __init__(self, make: Callable[[Key], Predictor], alphabet: Iterable[Example]) -> None:
        self.alphabet = list(alphabet)
        self._make = make
        self._walk = Walk()
        self._carried: set[tuple[bytes, str, str]] = set()
        self.agent = _checked(make(BranchingKey(bytes(32), self._walk)))
        self._moves: dict[Hashable, tuple[list[Move], frozenset[Name]]] = {}
        self._begin()

    def _begin(self) -> None:
        self._moves.clear()
        self.starts, self._first = self._followed(self._made, ())

    def carry(self, name: Name) -> None:
        """Remember from now on what is known of the draws of a purpose; the chain begins anew."""
        self._carried.add(_purpose(name))
        self._begin()

    @property
    def drawn_at_first(self) -> frozenset[Name]:
        """What was drawn before the first round."""
        return self._first

    def moves(self, at: At, number: int, place: int, due: Due) -> list[Move]:
        """Return the outcomes of a round, and of the labels that come after it."""
        return self._step(at, number, place, due)[0]

    def drawn(self, at: At, number: int, place: int, due: Due) -> frozenset[Name]:
        """Return what a round draws."""
        return self._step(at, number, place, due)[1]

    def _step(self, at: At, number: int, place: int, due: Due) -> tuple[list[Move], frozenset[Name]]:
        name = at, number, place, due
        found = self._moves.get(name)
        if found is None:
            agent, alphabet = self.agent, self.alphabet
            x = alphabet[place][0]
            taught = [(asked, *alphabet[which]) for asked, which in due]

            def run() -> Outcome:
                agent.load_state_dict(msgspec.json.decode(at.saved))
                asked = (
                    agent.predict_one(x),
                    agent.predict_one(x, round=number),
                    agent.predict_one(x, round=number),
                )
                answers = tuple(map(bool, asked))
                for t, instance, label in taught:
                    agent.learn_one(instance, label, round=t)
                return answers, self._saved(agent)

            found = self._moves[name] = self._followed(run, at.known)
        return found

    def _made(self) -> Outcome:
        self.agent = self._make(BranchingKey(bytes(32), self._walk))
        return (), self._saved(self.agent)

    def _saved(self, agent: Predictor) -> bytes:
        try:
            return msgspec.json.encode(agent.state_dict())
        except TypeError:
            self._walk.refuse("its state holds a draw, or what JSON does not know")

    def _followed(self, run: Callable[[], Outcome], known: Known) -> tuple[list[Move], frozenset[Name]]:
        chances: dict[tuple[tuple[bool, ...], At], Fraction] = {}
        names: set[Name] = set()
        for (answers, saved), chance in paths(run, self._walk, known):
            roots = self._walk.roots
            kept = self._walk.known(name for name in roots if _purpose(name) in self._carried)
            names.update(name for name in roots if _purpose(name) not in self._carried)
            outcome = answers, At(saved, kept)
            chances[outcome] = chances.get(outcome, Fraction(0)) + chance
        moves = [Move(chance, answers, after) for (answers, after), chance in chances.items()]
        return moves, frozenset(names)


def _purpose(name: Name) -> tuple[bytes, str, str]:
    return name[:3]


def _checked(agent: object) -> Predictor:
    if not isinstance(agent, Predictor):
        raise ParameterError(
            f"agent_factory must return a Predictor, got {type(agent).__name__}; stoppers are for exact_stopper, and "
            "anything else for exact_mechanism or statistical"
        )
    for key in _keys(agent, _DEEPEST):
        if not isinstance(key, BranchingKey):
            raise ParameterError(
                "agent_factory must give the agent, and each of its parts, the key it is called with or one derived "
                'from it, as lambda key: Combine(a, b, D=4, key=key.derive("rule")); a part has a key of its own'
            )
    return agent


def _keys(it: object, deep: int) -> Iterator[Key]:
    """Yield the keys within an object, as far as its attributes show them."""
    if isinstance(it, Key):
        yield it
    elif deep and isinstance(it, dict | list | tuple):
        for part in it.values() if isinstance(it, dict) else it:
            yield from _keys(part, deep - 1)
    elif deep and hasattr(it, "__dict__") and not isinstance(it, type):
        yield from _keys(vars(it), deep - 1)
