"""What is known of each agent in a run of one example; :mod:`streamlearn.replays.skipping` says why it is exact."""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

Stretch = tuple[int, int]
"""Consecutive rounds: the first, counted from 0, and how many."""


class Steady(abc.ABC):
    """What is known of one agent in a run."""

    @abc.abstractmethod
    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return for how many rounds of (x, y), at most ``most``, no answer changes; 0 to have a round played."""

    @abc.abstractmethod
    def skip(self, x: Any, y: Any, rounds: int) -> Iterable[Stretch]:
        """Let so many rounds pass, as many as :meth:`rounds` said or fewer; return the wrong ones, from 0."""


class Unknown(Steady):
    """Any agent: every round is played."""

    def rounds(self, x: Any, y: Any, most: int) -> int:  # noqa: ARG002 - the contract's own names
        """Return 0."""
        return 0

    def skip(self, x: Any, y: Any, rounds: int) -> Iterable[Stretch]:  # noqa: ARG002
        """Return nothing."""
        return ()


class Answering(Steady):
    """An agent that answers a run with one bit.

    Parameters
    ----------
    agent
        It, with no round that awaits its label.
    """

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def skip(self, x: Any, y: Any, rounds: int) -> Iterable[Stretch]:
        """Let rounds pass that all get the same answer."""
        wrong = self.agent.predict_one(x) != y
        self.advance(x, y, rounds)
        return [(0, rounds)] if wrong else []

    @abc.abstractmethod
    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Bring the counts forward."""

    def load(self, body: dict[str, Any]) -> None:
        """Take on another body of the same state."""
        self.agent.load_state_dict({**self.agent.state_dict(), "body": body})

    def body(self) -> dict[str, Any]:
        """Return the state without its envelope; the agent has no part in it any more."""
        found: dict[str, Any] = self.agent.state_dict()["body"]
        return found


class OfSOA(Answering):
    """SOA.

    Parameters
    ----------
    agent
        As in :class:`Answering`.
    """

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return all, where a hypothesis would neither be lost nor all of them."""
        body = self.body()
        kept = self._kept(body["space"], x, y)
        return most if not body["rounds"]["pending"] and kept in (None, body["space"]) else 0

    def _kept(self, space: Any, x: Any, y: Any) -> Any:
        """Return the version space after (x, y), as plain data; None where nothing would be consistent."""
        left = self.agent.hypotheses.from_plain(space).restrict(x, bool(y))
        return None if left is None else left.to_plain()

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Play one round, and let every count grow in each of the others as it grew in that."""
        before = self.body()
        self.agent.learn_one(x, y)
        after = self.body()
        after["rounds"]["unnumbered"] += rounds - 1
        for count in ("contradictions", "unknown"):
            after[count] += (rounds - 1) * (after[count] - before[count])
        self.load(after)


class OfSubsampledSOA(OfSOA):
    """SubsampledSOA.

    Parameters
    ----------
    agent
        As in :class:`Answering`.
    generator
        As of :func:`~streamlearn.replays.skipping.replay_runs`.
    """

    def __init__(self, agent: Any, generator: np.random.Generator | None) -> None:
        super().__init__(agent)
        self.generator = generator
        self.wait = 0

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return all, where retaining changes nothing; else those up to the next retained, where it may be drawn."""
        self.wait = 0
        body = self.body()
        if body["rounds"]["pending"]:
            return 0
        if body["space"] is None:
            return most
        if not self.agent.hypotheses.knows(x):
            return 0  # retained rounds are counted, and which ones these are is for the agent to draw
        if self._kept(body["space"], x, y) == body["space"]:
            return most
        if self.generator is None:
            return 0
        self.wait = int(self.generator.geometric(float(self.agent.gamma)))
        return min(self.wait, most)

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Bring the count of rounds forward, and retain the last if its time has come."""
        body = self.body()
        body["rounds"]["unnumbered"] += rounds
        if rounds == self.wait:
            body["space"] = self._kept(body["space"], x, y)
            body["contradictions"] += body["space"] is None
        self.load(body)


class OfCandidates(Answering):
    """CandidateReplacementPredictor.

    Parameters
    ----------
    agent
        As in :class:`Answering`.
    """

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return all, where a round would leave candidates, replacements and batch as they are."""
        before = self.body()
        if before["rounds"]["waiting"]:
            return 0
        trial = copy.deepcopy(self.agent, {id(self.agent.plan): self.agent.plan})  # plans do not change
        trial.learn_one(x, y)
        after = trial.state_dict()["body"]
        parts = ("selector", "base", "links", "batch")
        return most if all(before[part] == after[part] for part in parts) else 0

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Play one round, and let counts and times grow as they do in every other."""
        before = self.body()
        self.agent.learn_one(x, y)
        after = self.body()
        more = rounds - 1
        resolved = after["resolved"]
        counted = resolved - before["resolved"]
        after["rounds"]["asked"] += more
        after["resolved"] += more * counted
        known = len(before["past"]["seen"])
        for place, seen in enumerate(after["past"]["seen"]):
            old = before["past"]["seen"][place]["counts"] if place < known else [0] * 4
            for entry, count in enumerate(old):
                if seen["counts"][entry] > count:
                    seen["counts"][entry] += more
                    times = seen["first"][entry % 2]
                    room = min(more, self.agent.plan.batch - len(times))
                    times.extend(range(resolved + 1, resolved + 1 + room))
        self.load(after)


class OfCombine(Answering):
    """Combine, of two parts of which as much is known.

    Parameters
    ----------
    agent
        As in :class:`Answering`.
    first, second
        What is known of its parts.
    generator
        As of :func:`~streamlearn.replays.skipping.replay_runs`.
    """

    def __init__(
        self, agent: Any, first: Steady, second: Steady, generator: np.random.Generator | None
    ) -> None:
        super().__init__(agent)
        self.parts = (first, second)
        self.generator = generator

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return those that leave both parts' bits, if they agree or it may be drawn whom to follow."""
        if self.generator is None and len(set(self._bits(x))) > 1:
            return 0
        for part in self.parts:
            most = part.rounds(x, y, most) if most else 0
        return 0 if self.body()["rounds"]["waiting"] else most

    def skip(self, x: Any, y: Any, rounds: int) -> Iterable[Stretch]:
        """Let rounds pass; where the parts disagree, draw in which of them the wrong one is followed."""
        first, second = self._bits(x)
        wrong = [(0, rounds)] if first == second != y else []
        if first != second and self.generator is not None:
            right, left = (self.agent.delay + count for count in self.agent.right[:: 1 if first == y else -1])
            wrong = [(at, 1) for at in thinned(right, left, rounds, self.generator)]
        self.advance(x, y, rounds)
        if first != second:
            body = self.body()
            body["first_right" if first == y else "second_right"] += rounds
            self.load(body)
        return wrong

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Bring both parts and the count of rounds forward."""
        for part in self.parts:
            part.skip(x, y, rounds)
        body = self.body()
        body["rounds"]["asked"] += rounds
        self.load(body)

    def _bits(self, x: Any) -> tuple[bool, bool]:
        return bool(self.agent.first.predict_one(x)), bool(self.agent.second.predict_one(x))


def thinned(right: int, wrong: int, rounds: int, generator: np.random.Generator) -> Iterator[int]:
    """Yield the rounds, from 0, that follow the wrong part: round j does with probability W²/((R + j)² + W²).

    That only falls. So from any round on the next one is among those of a constant chance, the present one, and each
    of these is kept with the ratio of the two.

    Parameters
    ----------
    right, wrong
        R and W at the first round; R grows by one a round.
    rounds
        How many there are.
    generator
        Where the draws come from.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.steady import thinned
    >>> found = list(thinned(600, 500, 10**9, np.random.default_rng(1)))
    >>> 200 < len(found) < 600
    True
    """
    at = 0
    while at < rounds:
        most = wrong**2 / ((right + at) ** 2 + wrong**2)
        at += int(generator.geometric(most)) - 1
        if at < rounds and generator.random() * most < wrong**2 / ((right + at) ** 2 + wrong**2):
            yield at
        at += 1


def steady_of(agent: Any, generator: np.random.Generator | None) -> Steady:
    """Return what is known of an agent, by its kind.

    Parameters
    ----------
    agent
        It.
    generator
        As of :func:`~streamlearn.replays.skipping.replay_runs`.

    Examples
    --------
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.steady import steady_of
    >>> steady_of(SOA(Point3()), None).rounds(2, True, 100)
    0
    """
    kind = getattr(agent, "kind", None)
    if kind == "PrivatePredictor":
        return steady_of(agent.combined, generator)
    if kind == "SOA":
        return OfSOA(agent)
    if kind == "SubsampledSOA":
        return OfSubsampledSOA(agent, generator)
    if kind == "CandidateReplacementPredictor":
        return OfCandidates(agent)
    if kind == "Combine":
        parts = [steady_of(part, generator) for part in (agent.first, agent.second)]
        if not any(isinstance(part, Unknown) for part in parts):
            return OfCombine(agent, parts[0], parts[1], generator)
    return Unknown()
