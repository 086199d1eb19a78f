"""Exact audits of predictors: the law of all answers to all small streams, and how far neighbours are apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from streamlearn.audit.automata import At, Automaton, Due, Example
from streamlearn.audit.divergence import Law, exp_below, hockey_stick
from streamlearn.audit.report import Report, written
from streamlearn.audit.walking import Name
from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.prediction import Predictor, binary_label
from streamlearn.priors.base import Floats
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key
from streamlearn.rounding import float_above

Labels: TypeAlias = Sequence[Literal["now", "late", "never"]]
Stream: TypeAlias = tuple[int, ...]
"""Places in the alphabet."""


class Pair(NamedTuple):
    """Two neighbouring streams.

    Parameters
    ----------
    changed
        The round in which they differ, counted from 0.
    one, other
        The streams, as places in the alphabet.
    """

    changed: int
    one: Stream
    other: Stream


MOST_CELLS = 1 << 24
"""Streams times answers, at most."""

_SLACK = 2.0**-28
"""Double precision errs by less in a δ: sums of fewer than 2^20 terms, each within T + 2 roundings, 2 in all."""


class Enumeration:
    """The exact law of a predictor's answers on every stream of some length over a small alphabet.

    The real predictor runs, through ``predict_one``, ``learn_one``, ``state_dict`` and ``load_state_dict``, with a key
    whose every draw branches; so its state must be all in ``state_dict``, as :mod:`streamlearn.checks` demands. Every
    round is asked three times; what others see are all answers but those of the round whose record changes.

    Parameters
    ----------
    agent_factory
        Called with a key; returns a new predictor that draws from it, and from keys derived from it, alone.
    alphabet
        The labelled examples (x, y) of which streams are made, two or more; take an instance that the class does not
        know among them, so that a record may have no effect.
    horizon
        T, the rounds of a stream.
    labels
        When the label of each round comes: ``"now"``, ``"late"`` (after the next round was asked) or ``"never"``. All
        now by default.

    Attributes
    ----------
    claim
        What the predictor itself promises.
    steady
        Whether each round asked again got the same answer.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or the predictor cannot be followed.
    SizeError
        If there are too many streams.

    Examples
    --------
    >>> from streamlearn import audit
    >>> from streamlearn.agents import SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> alphabet = [(1, True), (2, True), ("nobody", False)]
    >>> found = audit.Enumeration(lambda key: SubsampledSOA(Point3(), 0.25, key), alphabet, horizon=3)
    >>> found.streams, found.delta(0.0), found.delta(2.0)
    (27, Fraction(1, 4), Fraction(1, 4))
    """

    def __init__(
        self,
        agent_factory: Callable[[Key], Predictor],
        alphabet: Iterable[Example],
        horizon: int,
        *,
        labels: Labels | None = None,
    ) -> None:
        self.alphabet = [(x, binary_label(y)) for x, y in alphabet]
        if len(self.alphabet) < 2:
            raise ParameterError(
                f"alphabet must hold two or more examples, got {len(self.alphabet)}; a record must be replaceable"
            )
        self.horizon: int = check_whole("horizon", horizon, 1)
        self.labels = _labels(labels, self.horizon)
        if (len(self.alphabet) * 2) ** self.horizon > MOST_CELLS:
            raise SizeError(
                f"horizon = {horizon} with {len(self.alphabet)} examples is more than {MOST_CELLS:,} streams and "
                "answers; shorten the one or leave out some of the others"
            )
        self._automaton = Automaton(agent_factory, self.alphabet)
        self.claim: Guarantee = self._automaton.agent.guarantee
        self._name = type(self._automaton.agent).__name__
        answers = self._explored()
        self.steady = all(len(set(said)) <= 1 for said in answers)
        self._symbols = {said: place for place, said in enumerate(sorted(answers))}
        self._exact = lru_cache(maxsize=1 << 15)(self._reached)
        if (len(self.alphabet) * len(self._symbols)) ** self.horizon > MOST_CELLS:
            raise SizeError(f"horizon = {horizon} is too long for a predictor that answers anew; shorten it")
        self._table: Floats | None = None

    @property
    def streams(self) -> int:
        """How many streams there are."""
        return int(len(self.alphabet) ** self.horizon)

    def law(self, stream: Stream, changed: int | None = None) -> Law:
        """Return the exact law of the answers to a stream.

        Parameters
        ----------
        stream
            Places in the alphabet, one a round.
        changed
            The round whose answers are left out, counted from 0; none by default.
        """
        found: dict[int, Fraction] = {}
        symbols = len(self._symbols)
        unit = 1 if changed is None else symbols ** (self.horizon - 1 - changed)
        for (_, code), chance in self._exact(tuple(stream)).items():
            seen = code if changed is None else code // (unit * symbols) * unit + code % unit
            found[seen] = found.get(seen, Fraction(0)) + chance
        return found

    def delta(self, epsilon: float) -> Fraction:
        """Return the smallest δ with which neighbours cannot be told apart at ε; exact, e^ε rounded down.

        Parameters
        ----------
        epsilon
            ε >= 0.
        """
        return self._worst(epsilon)[0]

    def worst_pair(self, epsilon: float) -> Pair:
        """Return two neighbouring streams that are furthest apart at ε.

        Parameters
        ----------
        epsilon
            ε >= 0.
        """
        return self._worst(epsilon)[1]

    def report(self, claim: Guarantee | None = None) -> Report:
        """Return the report of a claim, by default the predictor's own.

        Parameters
        ----------
        claim
            A guarantee of joint privacy.

        Raises
        ------
        ParameterError
            If it is none, or no answer depends on another's record within the horizon.
        """
        promised = self.claim if claim is None else claim
        if promised.notion != "joint" or math.isinf(promised.epsilon):
            raise ParameterError(
                f"claim must be of joint privacy with a finite epsilon, got {promised}; "
                "nothing is promised that could be audited"
            )
        found, pair = self._worst(promised.epsilon)
        where = f"round {pair.changed}, examples {pair.one} against {pair.other} of the alphabet"
        if not found and promised.epsilon + promised.delta > 0 and not self._worst(0.0)[0]:
            raise ParameterError(
                f"horizon = {self.horizon} shows nothing: no answer depends on another's record; lengthen it, give "
                "other examples, or audit the predictor with smaller numbers"
            )
        kept = found <= Fraction(promised.delta) and self.steady
        return Report(
            subject=f"{self._name}, T = {self.horizon}, {len(self.alphabet)} examples",
            claim=promised,
            method="exact",
            size=self.streams,
            counted="streams and all their neighbours",
            measure="delta",
            bound=float_above(found),
            fraction=written(found),
            verdict="holds" if kept else "refuted",
            finding=where if self.steady else f"a round asked again gets another answer; {where}",
        )

    # --- all states that can be reached

    def _explored(self) -> set[tuple[bool, ...]]:
        """Return all answers to a round; a purpose that a later round draws again is carried along first."""
        while True:
            answers: set[tuple[bool, ...]] = set()
            again = self._explore(answers)
            if again is None:
                return answers
            self._automaton.carry(again)

    def _explore(self, answers: set[tuple[bool, ...]]) -> Name | None:
        """Collect the answers; or return a draw that was used before in some way to where it is used."""
        chain = self._automaton
        level: dict[tuple[At, int], frozenset[Name]] = {
            (move.after, 0): chain.drawn_at_first for move in chain.starts
        }
        for t in range(self.horizon):
            following: dict[tuple[At, int], frozenset[Name]] = {}
            for (at, last), before in level.items():
                for place in range(len(self.alphabet)):
                    due = self._due(t, last, place)
                    drawn = chain.drawn(at, t, place, due)
                    if again := drawn & before:
                        return min(again, key=repr)
                    for move in chain.moves(at, t, place, due):
                        answers.add(move.answers)
                        goal = move.after, place if self.labels[t] == "late" else 0
                        following[goal] = following.get(goal, frozenset()) | before | drawn
            level = following
        return None

    def _due(self, t: int, last: int, place: int) -> Due:
        """Return the labels that come after round t, of the example at ``place``, the one before being ``last``."""
        late = ((t - 1, last),) if t and self.labels[t - 1] == "late" else ()
        return (*late, (t, place)) if self.labels[t] == "now" else late

    # --- the law, exactly and in double precision

    def _reached(self, stream: Stream) -> dict[tuple[At, int], Fraction]:
        """Return the chance of each (state, answers so far) after a stream."""
        if not stream:
            return {(move.after, 0): move.chance for move in self._automaton.starts}
        *rest, place = stream
        t = len(rest)
        due = self._due(t, rest[-1] if rest else 0, place)
        after: dict[tuple[At, int], Fraction] = {}
        for (at, code), chance in self._exact(tuple(rest)).items():
            for move in self._automaton.moves(at, t, place, due):
                entry = move.after, code * len(self._symbols) + self._symbols[move.answers]
                after[entry] = after.get(entry, Fraction(0)) + chance * move.chance
        return after

    def _laws(self) -> Floats:
        """Return the laws of all streams in double precision, shape (examples,)*T + (answers,)*T."""
        if self._table is None:
            sizes = len(self.alphabet), len(self._symbols)
            table = np.zeros((sizes[0] ** self.horizon, sizes[1] ** self.horizon))
            starts = {(move.after, 0): float(move.chance) for move in self._automaton.starts}
            for row, reached in self._leaves((), starts):
                for (_, code), chance in reached.items():
                    table[row, code] += chance
            self._table = table.reshape((sizes[0],) * self.horizon + (sizes[1],) * self.horizon)
        return self._table

    def _leaves(
        self, stream: Stream, reached: dict[tuple[At, int], float]
    ) -> Iterator[tuple[int, dict[tuple[At, int], float]]]:
        t, symbols = len(stream), self._symbols
        if t == self.horizon:
            row = 0
            for place in stream:
                row = row * len(self.alphabet) + place
            yield row, reached
            return
        for place in range(len(self.alphabet)):
            due = self._due(t, stream[-1] if stream else 0, place)
            after: dict[tuple[At, int], float] = {}
            for (at, code), chance in reached.items():
                for move in self._automaton.moves(at, t, place, due):
                    entry = move.after, code * len(symbols) + symbols[move.answers]
                    after[entry] = after.get(entry, 0.0) + chance * float(move.chance)
            yield from self._leaves((*stream, place), after)

    def _gaps(self, epsilon: float) -> Iterator[tuple[int, int, int, Floats]]:
        """Yield for a changed round and two examples there the δ of all streams around, in double precision."""
        laws, rounds, level = self._laws(), self.horizon, math.exp(min(epsilon, 700.0))
        for changed in range(rounds):
            seen = np.moveaxis(laws.sum(axis=rounds + changed), changed, 0)
            seen = seen.reshape(len(self.alphabet), len(self.alphabet) ** (rounds - 1), -1)
            for one, other in itertools.permutations(range(len(self.alphabet)), 2):
                yield changed, one, other, np.maximum(seen[one] - level * seen[other], 0.0).sum(axis=1)

    def _worst(self, epsilon: float) -> tuple[Fraction, Pair]:
        """Return the largest δ at ε and where: exactly, of all pairs that double precision leaves in question."""
        level = exp_below(epsilon)
        top = max(float(gaps.max()) for *_, gaps in self._gaps(epsilon))
        best, where = Fraction(-1), Pair(0, (), ())
        tried: set[tuple[object, object]] = set()
        for changed, one, other, gaps in self._gaps(epsilon):
            for around in np.flatnonzero(gaps >= top - _SLACK):
                pair = [self._stream(int(around), changed, place) for place in (one, other)]
                laws = [self.law(stream, changed) for stream in pair]
                name = frozenset(laws[0].items()), frozenset(laws[1].items())
                if name in tried:
                    continue
                tried.add(name)
                gap = hockey_stick(laws[0], laws[1], level)
                if gap > best:
                    best = gap
                    where = Pair(changed, *pair)
        return best, where

    def _stream(self, around: int, changed: int, place: int) -> Stream:
        rest: list[int] = []
        for _ in range(self.horizon - 1):
            around, last = divmod(around, len(self.alphabet))
            rest.append(last)
        rest.reverse()
        return (*rest[:changed], place, *rest[changed:])


def exact(
    agent_factory: Callable[[Key], Predictor],
    alphabet: Iterable[Example],
    horizon: int,
    *,
    claim: Guarantee | None = None,
    labels: Labels | None = None,
) -> Report:
    """Audit a predictor exactly on all small streams and neighbours.

    Parameters
    ----------
    agent_factory, alphabet, horizon, labels
        As of :class:`Enumeration`, which also tells δ at other ε.
    claim
        What is claimed; by default the predictor's own ``guarantee``.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, nothing is claimed, the predictor cannot be followed, or no answer depends
        on another's record within the horizon.
    SizeError
        If there are too many streams.

    Examples
    --------
    >>> from streamlearn import audit
    >>> from streamlearn.agents import SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> alphabet = [(1, True), (2, True), ("nobody", False)]
    >>> report = audit.exact(lambda key: SubsampledSOA(Point3(), 0.25, key), alphabet, horizon=3)
    >>> report.verdict, report.fraction, report.size
    ('holds', '1/4', 27)
    """
    return Enumeration(agent_factory, alphabet, horizon, labels=labels).report(claim)


def _labels(labels: Labels | None, horizon: int) -> tuple[str, ...]:
    chosen = ("now",) * horizon if labels is None else tuple(labels)
    if len(chosen) != horizon or not set(chosen) <= {"now", "late", "never"}:
        raise ParameterError(
            f'labels must say "now", "late" or "never" for each of {horizon} rounds, got {chosen!r}; '
            "leave it out where all come at once"
        )
    return chosen
