"""How often a learner would err on a stream that goes on in some way: exactly, from its law, or by running clones."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from streamlearn.bounds.arguments import real
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import HypothesisClass, VersionSpace
from streamlearn.randomness import Key

Example: TypeAlias = tuple[Any, bool]
Run: TypeAlias = tuple[Example, int]
"""An example, and the number of rounds it is shown in a row."""

Law: TypeAlias = Callable[[Sequence[Run], Any], float]
"""The probability that a learner predicts 1 at an instance, after some examples."""

_MOST_DIFFERENT = 20  # 2^20 sets of retained examples


class Judge(Protocol):
    """Knows how often a learner errs, and follows the stream chosen so far."""

    how: str
    """What is known of the learner's law."""

    def mistakes(self, runs: Sequence[Run], scored: Sequence[Example]) -> float:
        """Return the expected mistakes on the scored examples if the stream went on with ``runs``."""

    def advance(self, runs: Sequence[Run]) -> None:
        """Take ``runs`` as what the stream goes on with."""


class LawJudge:
    """Judges by a law the learner states.

    Parameters
    ----------
    law
        The learner's.

    Examples
    --------
    >>> from streamlearn.replays.judges import LawJudge
    >>> LawJudge(lambda runs, x: 0.25).mistakes([((1, True), 2), ((3, False), 5)], [(1, True)])
    1.5
    """

    how = "against an exact law"

    def __init__(self, law: Law) -> None:
        self._law = law
        self._past: list[Run] = []

    def mistakes(self, runs: Sequence[Run], scored: Sequence[Example]) -> float:
        """Return the expected mistakes on the scored examples if the stream went on with ``runs``."""
        total = 0.0
        for place, (example, times) in enumerate(runs):
            if example in scored:
                x, y = example
                past = [*self._past, *runs[:place]]
                for before in range(times):
                    one = real(
                        "what the law returns",
                        self._law([*past, (example, before)], x),
                        0.0,
                        1.0,
                        "it is P(1)",
                    )
                    total += 1 - one if y else one
        return total

    def advance(self, runs: Sequence[Run]) -> None:
        """Take ``runs`` as what the stream goes on with."""
        self._past.extend(runs)


class CloneJudge:
    """Judges by playing copies of agents, on average over them.

    Parameters
    ----------
    agents
        The agents, which are driven along the stream chosen.
    how
        What their average tells of the learner's law.

    Examples
    --------
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.judges import CloneJudge
    >>> CloneJudge([SOA(Point3())], "by one copy").mistakes([((3, False), 5), ((1, False), 2)], [(1, False)])
    1.0
    """

    def __init__(self, agents: Sequence[Any], how: str) -> None:
        self.how = how
        self._agents = agents

    def mistakes(self, runs: Sequence[Run], scored: Sequence[Example]) -> float:
        """Return the mistakes on the scored examples, averaged over the agents, if the stream went on with ``runs``."""
        return float(np.mean([_play(copy.deepcopy(agent), runs, scored) for agent in self._agents]))

    def advance(self, runs: Sequence[Run]) -> None:
        """Take ``runs`` as what the stream goes on with."""
        for agent in self._agents:
            _play(agent, runs, ())


def _play(agent: Any, runs: Iterable[Run], scored: Sequence[Example]) -> int:
    """Drive an agent along some runs; return its mistakes on the scored examples."""
    mistakes = 0
    for (x, y), times in runs:
        asked = (x, y) in scored
        for _ in range(times):
            mistakes += asked and agent.predict_one(x) != y
            agent.learn_one(x, y)
    return mistakes


def judge_of(learner: Any, clones: int, draws: np.random.Generator) -> Judge:
    """Return who judges for a learner: its law, clones with fresh keys, or a copy of it where it draws nothing.

    Raises
    ------
    ParameterError
        If the learner is neither a law nor an agent.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.agents import SOA, SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.judges import judge_of
    >>> judge_of(SubsampledSOA(Point3(), gamma=0.5), 8, np.random.default_rng(1)).how
    'against a law estimated from 8 runs'
    >>> judge_of(SOA(Point3()), 8, np.random.default_rng(1)).how
    'against an exact law'
    """
    if not (hasattr(learner, "predict_one") and hasattr(learner, "learn_one")):
        if callable(learner):
            return LawJudge(learner)
        raise ParameterError(
            f"learner must be an agent or a law (a function of runs and x), got {type(learner).__name__}"
        )
    if "key" not in getattr(learner, "_get_params", dict)():
        return CloneJudge([copy.deepcopy(learner)], LawJudge.how)
    keyed = [learner.clone({"key": Key(draws.bytes(32))}) for _ in range(clones)]
    return CloneJudge(keyed, f"against a law estimated from {clones} runs")


def subsampled_soa_law(cls: HypothesisClass, gamma: float) -> Law:
    """Return the law of subsampled SOA (Fact 5): how likely it predicts 1, exactly.

    Parameters
    ----------
    cls
        The class.
    gamma
        The probability of retaining an example.

    Raises
    ------
    ParameterError
        If γ is outside [0, 1]; by the law, if the examples are more than 20 different ones.

    Notes
    -----
    The version space depends only on which of the different examples were retained at least once: n copies are, with
    probability 1 - (1 - γ)^n, independently of the others. The law sums over the subsets of the different examples.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.synthetic import subsampled_soa_law
    >>> subsampled_soa_law(Point3(), 0.5)([((1, True), 2)], 1)
    0.75
    """
    rate = real("gamma", gamma, 0.0, 1.0, "it is the chance of retaining an example")

    def law(runs: Sequence[Run], x: Any) -> float:
        different: list[Example] = []
        times: list[int] = []
        for example, shown in runs:
            if example in different:
                times[different.index(example)] += shown
            else:
                different.append(example)
                times.append(shown)
        if len(different) > _MOST_DIFFERENT:
            raise ParameterError(
                f"runs hold {len(different)} different examples, the law sums over the subsets of at most "
                f"{_MOST_DIFFERENT}; give the agent itself instead, whose law is estimated"
            )
        kept = [1 - (1 - rate) ** shown for shown in times]
        return math.fsum(
            math.prod(q if there else 1 - q for q, there in zip(kept, retained, strict=True))
            for retained in itertools.product((False, True), repeat=len(different))
            if _soa(cls, itertools.compress(different, retained), x)
        )

    return law


def _soa(cls: HypothesisClass, examples: Iterable[Example], x: Any) -> bool:
    space: VersionSpace | None = cls.version_space()
    for seen, y in examples:
        space = None if space is None else space.restrict(seen, y)
    return cls.default(x) if space is None else space.predict(x)
