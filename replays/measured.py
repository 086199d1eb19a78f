"""Measured mistakes: the mean over independent runs, a fresh stream and a fresh learner each."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from streamlearn.hypotheses import HypothesisClass
from streamlearn.hypotheses.points import SingletonClass
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.replays.predicting import Predicting
from streamlearn.replays.replay import replay
from streamlearn.replays.synthetic import littlestone_adversary, point3_adversary, random_path

MOST_ROUNDS = 100_000
"""The longest stream that is run."""

_MOST_PLAYED = 1_000_000  # rounds of all runs of one point, where that allows enough of them

StreamOf = Callable[[int, Key], Iterable[Any]]
AgentOf = Callable[[Key], Predicting]


class Measured(NamedTuple):
    """Mean mistakes at some places.

    Attributes
    ----------
    label
        Of whom, on what.
    places
        Stream lengths or privacy levels, shape (k,).
    means, errors
        Mean mistakes and twice their standard error, shape (k,).
    runs
        Runs behind each mean, shape (k,).
    """

    label: str
    places: Floats
    means: Floats
    errors: Floats
    runs: Sequence[int]


def mean_mistakes(
    stream_of: StreamOf, agent_of: AgentOf, rounds: int, runs: int, key: Key
) -> tuple[float, float]:
    """Return the mean mistakes of a learner over some runs, and twice its standard error.

    Parameters
    ----------
    stream_of
        Draws a stream of some length by a key.
    agent_of
        Makes a learner by a key.
    rounds
        The streams' length.
    runs
        How many, at least 2.
    key
        Where all draws come from.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.measured import mean_mistakes
    >>> always = lambda rounds, key: [(1, True)] * rounds
    >>> mean_mistakes(always, lambda key: SOA(Point3()), 5, 3, Key.from_seed(1))
    (1.0, 0.0)
    """
    counts = []
    for run in range(runs):
        drawn = key.derive(f"measured/{rounds}/{run}")
        stream, agent = stream_of(rounds, drawn.derive("stream")), agent_of(drawn.derive("agent"))
        counts.append(replay(stream, agent).mistakes)
    return float(np.mean(counts)), float(2 * np.std(counts, ddof=1) / math.sqrt(runs))


def over_lengths(
    label: str,
    stream_of: StreamOf,
    agent_of: AgentOf,
    lengths: Sequence[int],
    key: Key,
    *,
    runs: int | None = None,
) -> Measured:
    """Return mean mistakes over stream lengths; those beyond :data:`MOST_ROUNDS` are left out.

    Parameters
    ----------
    label
        Of whom, on what.
    stream_of, agent_of, key
        As for :func:`mean_mistakes`.
    lengths
        The streams' lengths.
    runs
        Of each length; None: as many as are cheap, 16 to 100.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.measured import hard_streams, over_lengths
    >>> found = over_lengths("SOA", hard_streams(Point3()), lambda key: SOA(Point3()), [1, 10], Key.from_seed(1))
    >>> found.runs, bool((found.means <= 1).all())
    ([100, 100], True)
    """
    kept = [rounds for rounds in lengths if rounds <= MOST_ROUNDS]
    counts = [runs or affordable(rounds) for rounds in kept]
    found = [
        mean_mistakes(stream_of, agent_of, rounds, count, key)
        for rounds, count in zip(kept, counts, strict=True)
    ]
    means, errors = np.array(found, dtype=np.float64).reshape(len(kept), 2).T
    return Measured(label, np.array(kept, dtype=np.float64), means, errors, counts)


def over_deltas(
    label: str,
    stream_of: StreamOf,
    agent_of: Callable[[float, Key], Predicting],
    deltas: Sequence[float],
    rounds: int,
    key: Key,
    *,
    runs: int | None = None,
) -> Measured:
    """Return mean mistakes over privacy levels δ, on streams of one length.

    Parameters
    ----------
    label
        Of whom, on what.
    stream_of, key
        As for :func:`mean_mistakes`.
    agent_of
        Makes a learner by δ and a key.
    deltas
        The levels.
    rounds
        The streams' length.
    runs
        Of each level; None: as many as are cheap, 16 to 100.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.measured import over_deltas, repeated
    >>> learner = lambda delta, key: SubsampledSOA(Point3(), delta, key)
    >>> found = over_deltas("SOA", repeated(Point3()), learner, [0.1, 1.0], 100, Key.from_seed(1))
    >>> found.places.tolist(), bool(found.means[0] > found.means[1])
    ([0.1, 1.0], True)
    """
    count = runs or affordable(rounds)
    found = [
        mean_mistakes(stream_of, functools.partial(agent_of, delta), rounds, count, key) for delta in deltas
    ]
    means, errors = np.array(found, dtype=np.float64).reshape(len(found), 2).T
    return Measured(label, np.array(deltas, dtype=np.float64), means, errors, [count] * len(found))


def affordable(rounds: int) -> int:
    """Return how many runs of a length are cheap, 16 to 100.

    Examples
    --------
    >>> from streamlearn.replays.measured import affordable
    >>> affordable(10), affordable(10**5)
    (100, 16)
    """
    return min(100, max(16, _MOST_PLAYED // rounds))


def fits_algorithm1(cls: HypothesisClass) -> bool:
    """Return whether Algorithm 1's stream is for a class: points, the instances 1 and 3 among them.

    Examples
    --------
    >>> from streamlearn.hypotheses import Points, Thresholds
    >>> from streamlearn.replays.measured import fits_algorithm1
    >>> [fits_algorithm1(cls) for cls in (Points(3), Points(), Points(2), Thresholds(3))]
    [True, True, False, False]
    """
    return isinstance(cls, SingletonClass) and cls.knows(3)


def hard_streams(cls: HypothesisClass, p: float | None = None) -> StreamOf:
    """Return what draws Algorithm 1's streams for points, and Theorem 2's for other classes.

    Parameters
    ----------
    cls
        A class of Littlestone dimension at least 1. One of dimension 1 other than points has its one example
        repeated.
    p
        The insertion probability; None: the paper's choice for ε = 1/100 and δ = 0.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.measured import hard_streams
    >>> len(hard_streams(Point3())(100, Key.from_seed(1)))
    100
    """
    if fits_algorithm1(cls):
        return lambda rounds, key: point3_adversary(rounds, p, key=key)
    return lambda rounds, key: littlestone_adversary(cls, rounds, p=p, key=key)


def repeated(cls: HypothesisClass) -> StreamOf:
    """Return what draws the streams of :func:`~streamlearn.bounds.repetition_lower`: one label repeated.

    Parameters
    ----------
    cls
        A class of Littlestone dimension at least 1. Beyond 1 the nodes of a random path are repeated in turn.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.measured import repeated
    >>> len(set(repeated(Point3())(100, Key.from_seed(1))))
    1
    """
    return lambda rounds, key: random_path(cls, rounds, key=key)
