"""What is known of each agent in a run of one example; :mod:`streamlearn.replays.skipping` says why it is exact."""

# Counts are read and moved where the agents hold them: by saved states each skip would cost milliseconds.
# ruff: noqa: SLF001

from __future__ import annotations

import abc
import copy
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

Stretch = tuple[int, int]
"""Consecutive rounds: the first, counted from 0, and how many."""

_MOST_DRAWN: Final = 4096
"""Rounds whose keyed draws are looked at before the other part of a combination is asked again."""


class Steady(abc.ABC):
    """What is known of one agent in a run."""

    @abc.abstractmethod
    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return how many rounds of (x, y), at most ``most``, can pass at once; 0 to have a round played."""

    @abc.abstractmethod
    def skip(self, x: Any, y: Any, rounds: int) -> Iterable[Stretch]:
        """Let so many rounds pass, as many as :meth:`rounds` said or fewer; return the wrong ones, from 0."""

    def is_constant(self, x: Any) -> bool:  # noqa: ARG002 - for whom it concerns
        """Return whether the answer is the same in all rounds that :meth:`rounds` lets pass."""
        return True


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
        It.
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


class OfSOA(Answering):
    """SOA.

    Parameters
    ----------
    agent
        As in :class:`Answering`.
    """

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return all, where a hypothesis would neither be lost nor all of them."""
        agent = self.agent
        if agent._rounds._pending:
            return 0
        return most if agent._space is None or self._kept(x, y) in (None, agent._space) else 0

    def _kept(self, x: Any, y: Any) -> Any:
        """Return the version space after (x, y), the same object if nothing is lost; None if it would be empty."""
        return self.agent._space.restrict(x, bool(y))

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Play one round, and let every count grow in each of the others as it grew in that."""
        agent = self.agent
        before = (agent.contradictions, agent.unknown)
        agent.learn_one(x, y)
        agent._rounds._unnumbered += rounds - 1
        agent.contradictions += (rounds - 1) * (agent.contradictions - before[0])
        agent.unknown += (rounds - 1) * (agent.unknown - before[1])


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
        self.wait: int | None = None

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return all, where retaining changes nothing; else those up to the next retained, it included."""
        agent = self.agent
        self.wait = None
        if agent._rounds._pending:
            return 0
        if agent._space is None:
            return most
        if not agent.hypotheses.knows(x):
            return 0  # retained rounds are counted, and which ones these are is for the agent to draw
        if self._kept(x, y) is agent._space:
            return most
        if self.generator is None:
            return self._until_retained(x, y, most)
        self.wait = int(self.generator.geometric(float(agent.gamma)))
        return min(self.wait, most)

    def _until_retained(self, x: Any, y: Any, most: int) -> int:
        """Return the rounds up to the first that a copy of the agent retains, not all of them looked at."""
        trial, counter = copy.copy(self.agent), copy.deepcopy(self.agent._rounds)
        learn, space, answer = trial._learn, trial._space, counter.answer
        most = min(most, _MOST_DRAWN)
        for wait in range(1, most + 1):
            learn(x, y, answer(None))
            if trial._space is not space:
                return wait
        return most

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Bring the count of rounds forward, and retain the last if its time has come."""
        agent = self.agent
        agent._rounds._unnumbered += rounds - 1
        if self.generator is None:
            agent.learn_one(x, y)  # draws, and retains where it retained ahead of time
            return
        agent._rounds._unnumbered += 1
        if rounds == self.wait:
            agent._space = self._kept(x, y)
            agent.contradictions += agent._space is None


class OfCandidates(Answering):
    """CandidateReplacementPredictor.

    Parameters
    ----------
    agent
        As in :class:`Answering`.
    """

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return all, where a round would leave candidates, replacements and batch as they are."""
        agent = self.agent
        if agent._waiting:
            return 0
        memo = agent._noted(x, agent._sequence + 1)
        if memo is None:
            return most  # no instance of the class
        if memo.disagreements:
            return 0
        return most if self._all_chosen() or agent._view(x).bits[-1] is y else 0

    def _all_chosen(self) -> bool:
        agent = self.agent
        return agent._chosen == agent.plan.candidates or bool(agent._selector.exhausted)

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Play one round, and let counts and times grow as they do in every other."""
        agent = self.agent
        more = rounds - 1
        agent.learn_one(x, y)
        agent._sequence += more
        view = agent._view(x)
        if view.identity is None:
            return
        first = agent._resolved + 1
        agent._resolved += more
        if self._all_chosen():
            return
        seen = agent._past._seen[view.identity]
        seen.counts[2 * agent.predict_one(x) + y] += more
        times = seen.first[y]
        times.extend(range(first, first + min(more, agent.plan.batch - len(times))))


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

    def is_constant(self, x: Any) -> bool:
        """Return whether the parts agree, which leaves nothing to draw."""
        return self._are_constant(x) and len(set(self._bits(x))) == 1

    def rounds(self, x: Any, y: Any, most: int) -> int:
        """Return those that leave both parts' bits; none while a label is awaited, since then a part awaits it too."""
        if not self._are_constant(x):
            return 0
        if self.generator is None and not self.is_constant(x):
            most = min(most, _MOST_DRAWN)
        for part in self.parts:
            most = part.rounds(x, y, most) if most else 0
        return most

    def skip(self, x: Any, y: Any, rounds: int) -> Iterable[Stretch]:
        """Let rounds pass; where the parts disagree, draw in which of them the wrong one is followed."""
        agent, bits = self.agent, self._bits(x)
        for part in self.parts:
            part.skip(x, y, rounds)
        if bits[0] == bits[1]:
            agent._sequence += rounds
            return [(0, rounds)] if bits[0] != y else []
        if self.generator is None:
            return [(at, 1) for at in range(rounds) if self._drawn(x, y, bits) != y]
        right = agent.right
        better = 0 if bits[0] == y else 1
        wrong = thinned(agent.delay + right[better], agent.delay + right[1 - better], rounds, self.generator)
        agent._sequence += rounds
        agent.right = (right[0] + rounds * (1 - better), right[1] + rounds * better)
        return [(at, 1) for at in wrong]

    def advance(self, x: Any, y: Any, rounds: int) -> None:
        """Let rounds pass; that some are wrong is nothing to whoever asks for this."""
        self.skip(x, y, rounds)

    def _drawn(self, x: Any, y: bool, bits: tuple[bool, bool]) -> bool:
        """Return the answer of one round, and take in its label, as the agent itself does."""
        agent = self.agent
        agent._sequence += 1
        answer: bool = agent._chosen(bits, agent._sequence)
        agent._resolve(x, y, bits)
        return answer

    def _are_constant(self, x: Any) -> bool:
        return all(part.is_constant(x) for part in self.parts)

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
