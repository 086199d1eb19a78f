"""Predictors whose answers depend on how many rounds there were: rounds count when they are asked, in that order.

Labels may come late and overtake each other, by ``max_delay`` rounds at most. They take effect in the order of their
rounds; one that is later still is given up, and its round then counts as answered rightly. So a round sees the labels
of all rounds but the last ``max_delay`` before it, which the proofs of these predictors need.
"""

from __future__ import annotations

import abc
import copy
from collections import deque
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from streamlearn import nested
from streamlearn.errors import ParameterError, RoundError
from streamlearn.prediction import Predictor, binary_label, check_instance
from streamlearn.rounds import MOST_PENDING, Runs, Tally, closed_before, edited, round_number, same_number

M = TypeVar("M")


class Round(Generic[M]):
    """A round that was asked and whose label has not taken effect.

    Parameters
    ----------
    number
        What the caller calls it.
    x
        The instance; a dict is a copy of the caller's.
    answer
        What was predicted.
    memo
        What the predictor must remember of it.
    label
        Its label, None while it is awaited.
    """

    __slots__ = ("answer", "label", "memo", "number", "x")

    def __init__(self, number: int, x: Any, answer: bool, memo: M, label: bool | None = None) -> None:
        self.number = number
        self.x = x
        self.answer = answer
        self.memo = memo
        self.label = label


class RoundState(msgspec.Struct, forbid_unknown_fields=True):
    """A round as it is saved; see :class:`Round`.

    Parameters
    ----------
    number, x, answer, memo, label
        As in :class:`Round`, in plain JSON types.
    """

    number: int
    x: Any
    answer: bool
    memo: Any
    label: bool | None


class OrderedState(msgspec.Struct, forbid_unknown_fields=True):
    """What must survive a restart.

    Parameters
    ----------
    asked
        Rounds asked so far.
    waiting
        Those whose labels have not taken effect, oldest first.
    closed
        The numbers of those whose labels have, or that were given up, as runs (first, last).
    """

    asked: int
    waiting: list[RoundState]
    closed: list[list[int]]


class OrderedRounds(NamedTuple, Generic[M]):
    """What :class:`OrderedState` describes, read.

    Parameters
    ----------
    asked, waiting, closed
        As there.
    """

    asked: int
    waiting: deque[Round[M]]
    closed: Runs

    @property
    def resolved(self) -> int:
        """How many rounds' labels have taken effect."""
        return self.asked - len(self.waiting)

    def tally(self) -> Tally:
        """Return what was seen; a label that waits for others to take effect was seen too."""
        awaited = [waiting.number for waiting in self.waiting if waiting.label is None]
        answered = Runs(self.closed.plain())
        for number in (waiting.number for waiting in self.waiting if waiting.label is not None):
            answered.add(number)
        return Tally(self.asked, awaited, answered)


class OrderedPredictor(Predictor, Generic[M]):
    """Keeps the order of rounds for a subclass that says what it answers and what a label changes.

    A subclass has a parameter ``max_delay``, calls ``_begin_rounds`` first, and defines ``_answer``, ``_asked`` and
    ``_resolve``; ``memo`` is whatever links the three for one round, and ``_memo_to_plain`` writes it. One that hands
    rounds on to other predictors also defines ``_open`` and ``_labelled``, which know the caller's numbers, and what it
    does with a round that has none: ``_learn`` and ``_taught``.
    """

    max_delay: int
    _sequence: int
    _waiting: deque[Round[M]]
    _closed: Runs

    def _begin_rounds(self) -> None:
        self._sequence = 0
        self._waiting = deque()
        self._closed = Runs()

    @abc.abstractmethod
    def _answer(self, x: Any, sequence: int) -> tuple[bool, M]:
        """Return the bit for an instance if it were round ``sequence``, and what to remember; nothing changes."""

    def _noted(self, x: Any, sequence: int) -> M:
        """Return what to remember of a round, where the answer is not asked for."""
        return self._answer(x, sequence)[1]

    @abc.abstractmethod
    def _asked(self, memo: M) -> None:
        """Take note that the round was asked."""

    @abc.abstractmethod
    def _resolve(self, x: Any, y: bool, memo: M) -> None:
        """Take in the label of the oldest round that has none yet."""

    def _open(self, x: Any, number: int, sequence: int) -> tuple[bool, M]:  # noqa: ARG002 - for whom it concerns
        """Ask round ``sequence``, which the caller calls ``number``."""
        answer, memo = self._answer(x, sequence)
        self._asked(memo)
        return answer, memo

    def _labelled(self, x: Any, y: bool, number: int) -> None:
        """Take note of the true label of a round that was asked, as soon as it comes."""

    def _foresee(self, x: Any) -> None:
        """Raise what asking for ``x`` would, before older rounds are given up for it."""

    def _given_up(self, number: int) -> None:
        """Take note that no label will come for a round."""

    @abc.abstractmethod
    def _memo_to_plain(self, memo: M) -> Any:
        """Return a memo as plain JSON types."""

    @abc.abstractmethod
    def _memo_from_plain(self, data: Any) -> M:
        """Return the memo that :meth:`_memo_to_plain` wrote, or raise a StateError."""

    def predict_one(self, x: Any, *, round: int | None = None, **kwargs: Any) -> bool:  # noqa: A002, ARG002 - the contract's own names
        """Return the predicted bit for ``x``.

        Without ``round`` nothing changes: it is the bit of the next round, whose label must come before another is
        asked for, since each further answer to another instance gives away more. With it the round counts, and
        the same round asked again gets the same bit.

        Raises
        ------
        InstanceError, RoundError
            As :meth:`Predictor.predict_one`.
        """
        check_instance(x)
        if round is None:
            return self._predict(x)
        round = round_number(round)  # noqa: A001 - the same, of Python's own type
        for waiting in self._waiting:
            if waiting.number == round:
                return waiting.answer
        if round in self._closed:
            raise closed_before(round)
        if len(self._waiting) > self.max_delay:
            self._foresee(x)
            self._make_room()
        answer, memo = self._open(x, round, self._sequence + 1)
        self._sequence += 1
        self._waiting.append(Round(round, dict(x) if isinstance(x, dict) else x, answer, memo))
        return answer

    def learn_one(self, x: Any, y: Any = None, *, round: int | None = None, **kwargs: Any) -> None:  # noqa: A002, ARG002 - the contract's own names
        """Take in the label of an instance, in the order of rounds.

        Raises
        ------
        LabelError, RoundError, InstanceError
            As :meth:`Predictor.learn_one`.
        """
        check_instance(x)
        label = binary_label(y)
        if round is None and not self._waiting:
            self._learn(x, label, 0)
            return
        waiting = self._awaiting(round)
        self._labelled(waiting.x, label, waiting.number)
        waiting.label = label
        self._settle()

    def give_up(self, round: int) -> None:  # noqa: A002 - the field's own word
        """Await no label for a round any more: it then takes effect as one whose label is too late.

        Whoever gives up must not let the labels decide when, as the proofs take for granted.

        Raises
        ------
        RoundError
            As :meth:`Predictor.give_up`.
        """
        self._close(self._awaiting(round_number(round)))
        self._settle()

    def _predict(self, x: Any) -> bool:
        if len(self._waiting) > self.max_delay:  # the next round would give some up first
            ahead = copy.deepcopy(self)
            ahead._make_room()  # noqa: SLF001 - its own copy
            return ahead._predict(x)  # noqa: SLF001 - its own copy
        answer, _ = self._answer(x, self._sequence + 1)
        return answer

    def _learn(self, x: Any, y: bool, round: int | str) -> None:  # noqa: A002, ARG002 - the contract's own name
        """Ask and answer a round at once."""
        self._passed(x, y, self._noted(x, self._sequence + 1))

    def _taught(self, x: Any, y: bool) -> bool:
        """As :meth:`Predictor._taught`; what is answered is worked out once."""
        if self._waiting:
            return super()._taught(x, y)
        answer, memo = self._answer(x, self._sequence + 1)
        self._passed(x, y, memo)
        return answer

    def _passed(self, x: Any, y: bool, memo: M) -> None:
        """Let a round that nobody asked by number take effect."""
        self._sequence += 1
        self._asked(memo)
        self._resolve(x, y, memo)

    def _awaiting(self, number: int | None) -> Round[M]:
        for waiting in self._waiting:
            if waiting.label is None and (number is None or same_number(number, waiting.number)):
                return waiting
        raise RoundError(
            f"no label is awaited for round {number!r}: it was never asked, was answered before, or is more than "
            f"max_delay = {self.max_delay} rounds late; ask first, with the same round=, or give a larger max_delay"
        )

    def _presumed(self, late: Round[M]) -> bool:
        """Return what counts as the label of a round that is given up: its answer, unless a subclass says else."""
        return late.answer

    def _make_room(self) -> None:
        """Let the oldest rounds take effect without their labels until another may be asked."""
        while len(self._waiting) > self.max_delay:
            self._close(self._waiting[0])
            self._settle()

    def _close(self, late: Round[M]) -> None:
        """Presume a label where none will come."""
        presumed = self._presumed(late)
        self._given_up(late.number)
        late.label = presumed  # what raises before leaves the round awaiting its label

    def _settle(self) -> None:
        """Let labels take effect, up to the oldest round that has none."""
        while self._waiting and self._waiting[0].label is not None:
            oldest = self._waiting.popleft()
            self._closed.add(oldest.number)
            self._resolve(oldest.x, bool(oldest.label), oldest.memo)

    def _closed_before(self, round: int) -> bool:  # noqa: A002 - the field's own word
        return round in self._closed

    def _tally(self) -> Tally:
        return OrderedRounds(self._sequence, self._waiting, self._closed).tally()

    def _rounds_state(self) -> OrderedState:
        return OrderedState(
            self._sequence,
            [
                RoundState(
                    waiting.number,
                    instance_to_plain(waiting.x),
                    waiting.answer,
                    self._memo_to_plain(waiting.memo),
                    waiting.label,
                )
                for waiting in self._waiting
            ],
            self._closed.plain(),
        )

    def _rounds_from(self, state: OrderedState) -> OrderedRounds[M]:
        """Return the rounds of a saved state, checked; nothing changes."""
        closed = Runs.restored(state.closed)
        numbers = [waiting.number for waiting in state.waiting]
        if (
            len(numbers) > self.max_delay + 1
            or len(set(numbers)) < len(numbers)
            or not len(numbers) <= state.asked < 1 << 63
            or any(number < 0 or number in closed for number in numbers)
            or (state.waiting and state.waiting[0].label is not None)
        ):
            raise edited(
                "rounds.waiting",
                f"at most {self.max_delay + 1} rounds, each once, the first without a label, none of them in "
                "rounds.closed, and no more than rounds.asked",
            )
        if (closed.count() or 0) > state.asked - len(numbers):
            raise edited("rounds.asked", "at least the rounds of rounds.closed and rounds.waiting")
        waiting = deque(
            Round(
                saved.number,
                instance_from_plain(saved.x),
                saved.answer,
                self._memo_from_plain(saved.memo),
                saved.label,
            )
            for saved in state.waiting
        )
        return OrderedRounds(state.asked, waiting, closed)

    def _go_on_from(self, rounds: OrderedRounds[M]) -> None:
        """Take on rounds that :meth:`_rounds_from` read."""
        self._sequence, self._waiting, self._closed = rounds


def check_max_delay(max_delay: object) -> int:
    """Return how many rounds late a label may be.

    Raises
    ------
    ParameterError
        If it is no whole number >= 0, or more rounds than are ever remembered.

    Examples
    --------
    >>> from streamlearn.ordered import check_max_delay
    >>> check_max_delay(3)
    3
    """
    if (
        isinstance(max_delay, bool) or not isinstance(max_delay, int) or not 0 <= max_delay < MOST_PENDING
    ):  # parts remember no more
        raise ParameterError(
            f"max_delay must be a whole number of rounds, 0 <= max_delay < {MOST_PENDING}, got {max_delay!r}; "
            "it is how late a label may be"
        )
    return max_delay


def instance_to_plain(x: Any) -> Any:
    """Return an instance, a dict of features or a hashable, as JSON data.

    Whatever a class makes of it, the round it belongs to may have to be saved: lists, dicts and NaN are carried too.

    Raises
    ------
    StateError
        If JSON cannot carry it.

    Examples
    --------
    >>> from streamlearn.ordered import instance_from_plain, instance_to_plain
    >>> instance_from_plain(instance_to_plain({"a": 1.5, "b": None, "more": [1, (2, {"c": 3})]}))
    {'a': 1.5, 'b': None, 'more': [1, (2, {'c': 3})]}
    """
    return nested.to_plain(x)


def instance_from_plain(data: Any) -> Any:
    """Return the instance that :func:`instance_to_plain` wrote.

    Raises
    ------
    StateError
        If it is none.
    """
    return nested.from_plain(data)
