"""Long runs of one example, without playing every round: exactly as played, or exactly with the law of playing.

A stream may be given as runs: an example and how often it comes in a row. In a run an agent soon does the same thing
every round. What follows says when, and why skipping the rest leaves the same predictions and the same state.

========================  ===========================================================================================
agent                     a round of (x, y) that changes nothing but counts, whatever is drawn
========================  ===========================================================================================
SOA                       the version space keeps no hypothesis fewer after (x, y), or would keep none: then it stays,
                          and so does the answer, a function of it
SubsampledSOA             the same where nothing is lost, whether the round is retained or not; or nothing was
                          consistent before, since it then learns no more
candidate replacement     no replacement still open disagrees at x, and the newest candidate is right at x or is the
                          last: then replacements, batch and candidates stay, so does the answer, and nothing is drawn
Combine                   it is so for both parts, and they agree: then their bit is the answer, nothing is drawn, and
                          the counters stay
========================  ===========================================================================================

Since the round leaves everything that the next one looks at, the next does the same: by induction all the rest of the
run does, and each count grows every round by what it grows in one. (The times kept of an instance grow until there are
K.) Other rounds are played one by one by the agent itself. So predictions and states are those of
:func:`streamlearn.replays.replay`, round by round.

Two things can keep a run from that for 10^8 rounds: an example not retained yet, and parts of Combine that disagree.
With a ``generator`` these are drawn at once, with the law that the agent's own draws have: the wait for the first
retained round is geometric; and of the rounds where the parts disagree, those that follow the wrong one are found by
thinning, since the chance W²/(R² + W²) only falls as R, the count of the part that is right, grows. Predictions and
states then are not those of one key, but distributed as over all keys.
"""

from __future__ import annotations

import abc
import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.errors import StreamError
from streamlearn.replays.judges import Run

Stretch = tuple[int, int]
"""Consecutive rounds: the first, counted from 0, and how many."""

_MOST_PLAYED: Final = 1024
"""Rounds played before it is asked again whether the rest can be skipped."""


class RunsResult(msgspec.Struct, frozen=True):
    """How one predictor fared on a stream of runs.

    Parameters
    ----------
    rounds
        Rounds predicted.
    wrong
        The rounds on which the prediction was wrong, as stretches (first, times), rounds counted from 0; increasing.

    Examples
    --------
    >>> from streamlearn.replays.skipping import RunsResult
    >>> result = RunsResult(100, [(0, 2), (50, 10)])
    >>> result.mistakes, result.mistakes_by([1, 2, 55, 100]).tolist()
    (12, [1, 2, 7, 12])
    """

    rounds: int
    wrong: list[Stretch]

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions."""
        return sum(times for _, times in self.wrong)

    def mistakes_by(self, counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return how many of the first rounds were wrong.

        Parameters
        ----------
        counts
            Numbers of rounds, of any shape.

        Returns
        -------
        array
            Of the same shape.
        """
        asked = np.asarray(counts, dtype=np.int64)
        stretches = np.array(self.wrong, dtype=np.int64).reshape(-1, 2)
        firsts, times = stretches[:, 0], stretches[:, 1]
        before = np.concatenate([[0], np.cumsum(times)])
        place = np.searchsorted(firsts, asked, side="left")  # stretches that begin in time
        last = np.maximum(place - 1, 0)
        if not len(firsts):
            return np.zeros_like(asked)
        partly = np.minimum(asked - firsts[last], times[last])
        return np.where(place > 0, before[last] + partly, 0)


def replay_runs(
    runs: Iterable[Run], agent: Any, *, generator: np.random.Generator | None = None
) -> RunsResult:
    """Drive one predictor over a stream of runs; labels come before the next round.

    Parameters
    ----------
    runs
        Pairs ((x, y), times), times >= 1; or a stream that has them as ``.runs``, such as
        :func:`streamlearn.replays.synthetic.point3_adversary`'s.
    agent
        SOA, SubsampledSOA, CandidateReplacementPredictor, Combine or PrivatePredictor. Any other is played round by
        round.
    generator
        None: predictions and final state are those of ``replay``. Else long waits are drawn from it, and both only
        have the law of ``replay``'s over a random key; the head of this module says which.

    Raises
    ------
    StreamError
        If a run is no such pair, or there is none.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import PrivatePredictor
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.skipping import replay_runs
    >>> predictor = PrivatePredictor(Point3(), 1.0, 1e-3, key=Key.from_seed(1))
    >>> result = replay_runs([((3, False), 10**12), ((1, False), 10**12)], predictor)
    >>> result.rounds, result.mistakes
    (2000000000000, 0)
    """
    steady = _steady(agent, generator)
    wrong: list[Stretch] = []
    done = 0
    for place, run in enumerate(getattr(runs, "runs", runs)):
        (x, y), times = _checked(run, place)
        for stretch in _played(agent, steady, x, y, times):
            _add(wrong, done + stretch[0], stretch[1])
        done += times
    if not done:
        raise StreamError("the stream has no runs; give at least one pair ((x, y), times)")
    return RunsResult(done, wrong)


def _checked(run: Any, place: int) -> Run:
    try:
        (x, y), times = run
    except (TypeError, ValueError):
        raise StreamError(f"run {place} must be a pair ((x, y), times)") from None
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise StreamError(f"run {place} must come a whole number >= 1 of times, got {times!r}")
    return (x, y), times


def _add(wrong: list[Stretch], first: int, times: int) -> None:
    if wrong and sum(wrong[-1]) == first:
        first, before = wrong.pop()
        times += before
    wrong.append((first, times))


def _played(agent: Any, steady: Steady, x: Any, y: Any, times: int) -> Iterator[Stretch]:
    """Yield the wrong rounds of one run, counted from its start."""
    done = 0
    for ahead in itertools.accumulate(
        itertools.repeat(2), lambda now, by: min(now * by, _MOST_PLAYED), initial=1
    ):
        if rounds := steady.rounds(x, y, times - done):
            yield from ((done + first, many) for first, many in steady.skip(x, y, rounds))
            done += rounds
        for _ in range(min(ahead, times - done)):
            if agent.predict_one(x) != y:
                yield done, 1
            agent.learn_one(x, y)
            done += 1
        if done == times:
            return


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
        """Return the state without its envelope, the agent's no longer."""
        found: dict[str, Any] = copy.deepcopy(self.agent.state_dict()["body"])
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
        As of :func:`replay_runs`.
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
        trial = copy.deepcopy(self.agent)
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
        As of :func:`replay_runs`.
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
    >>> from streamlearn.replays.skipping import thinned
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


def _steady(agent: Any, generator: np.random.Generator | None) -> Steady:
    kind = getattr(agent, "kind", None)
    if kind == "PrivatePredictor":
        return _steady(agent.combined, generator)
    if kind == "SOA":
        return OfSOA(agent)
    if kind == "SubsampledSOA":
        return OfSubsampledSOA(agent, generator)
    if kind == "CandidateReplacementPredictor":
        return OfCandidates(agent)
    if kind == "Combine":
        parts = [_steady(part, generator) for part in (agent.first, agent.second)]
        if not any(isinstance(part, Unknown) for part in parts):
            return OfCombine(agent, parts[0], parts[1], generator)
    return Unknown()
