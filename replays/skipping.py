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
Each round then has a keyed draw of its own, and all must be looked at. The rest of the round need not be played: the
agent's own rule draws on a copy until a round is retained, and chooses between two bits that stay. That costs about
2 µs a round for retaining and 3 µs for choosing, in place of some 20 µs, and is still linear in the run.

With a ``generator`` these are drawn at once, with the law that the agent's own draws have: the wait for the first
retained round is geometric; and of the rounds where the parts disagree, those that follow the wrong one are found by
thinning, since the chance W²/(R² + W²) only falls as R, the count of the part that is right, grows. Predictions and
states then are not those of one key, but distributed as over all keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.errors import StreamError
from streamlearn.prediction import binary_label, check_instance
from streamlearn.replays.judges import Run
from streamlearn.replays.steady import Steady, Stretch, Unknown, steady_of

_FEW: Final = 16
"""Rounds that are sooner played than examined."""
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
    >>> result.rounds, result.mistakes <= predictor.plan.expected_mistakes
    (2000000000000, True)
    """
    steady = steady_of(agent, generator)
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
    if not isinstance(steady, Unknown):
        check_instance(x)
        y = binary_label(y)
    done, ahead = 0, 1
    while done < times:
        if times - done > _FEW and (rounds := steady.rounds(x, y, times - done)):
            yield from ((done + first, many) for first, many in steady.skip(x, y, rounds))
            done, ahead = done + rounds, 1
            continue
        for _ in range(min(ahead, times - done)):
            if agent.predict_one(x) != y:
                yield done, 1
            agent.learn_one(x, y)
            done += 1
        ahead = min(2 * ahead, _MOST_PLAYED)
