"""Which round a label belongs to, when labels come late, out of order, or not at all."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import OrderedDict
from itertools import pairwise
from typing import NamedTuple, Self

import msgspec

from streamlearn.errors import RoundError, StateError

MOST_PENDING = 100_000
"""Rounds remembered while their labels are awaited; beyond, the oldest is given up."""
MOST_RUNS = 100_000
"""Runs of consecutive closed rounds remembered; beyond, the lowest is forgotten."""


def round_number(round: object) -> int:  # noqa: A002 - the field's own word
    """Return a round's number, of whatever integer type.

    Raises
    ------
    RoundError
        If it is not a whole number >= 0.

    Examples
    --------
    >>> from streamlearn.rounds import round_number
    >>> round_number(3)
    3
    """
    try:
        number = -1 if isinstance(round, bool) else operator.index(round)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise RoundError(f"round must be a whole number >= 0, got {round!r}; number the stream's events")
    return int(number)


def same_number(given: object, round: int) -> bool:  # noqa: A002 - the field's own word
    """Return whether what a caller gave is the number of a round, of whatever integer type.

    Examples
    --------
    >>> from streamlearn.rounds import same_number
    >>> same_number(3, 3), same_number(True, 1), same_number("3", 3)
    (True, False, False)
    """
    return not isinstance(given, bool) and hasattr(type(given), "__index__") and given == round


class Runs:
    """A set of whole numbers, kept as runs of consecutive ones: a stream's rounds in order are one run.

    Parameters
    ----------
    runs
        Its runs as (first, last), increasing.

    Examples
    --------
    >>> from streamlearn.rounds import Runs
    >>> closed = Runs()
    >>> for number in (1, 2, 5, 3):
    ...     closed.add(number)
    >>> closed.runs, 4 in closed
    ([[1, 3], [5, 5]], False)
    """

    __slots__ = ("runs",)

    def __init__(self, runs: list[list[int]] | None = None) -> None:
        self.runs: list[list[int]] = runs or []

    @classmethod
    def restored(cls, runs: list[list[int]]) -> Self:
        """Return the set of some saved runs.

        Raises
        ------
        StateError
            If they are not possible.
        """
        if any(len(run) != 2 or not 0 <= run[0] <= run[1] for run in runs) or any(
            low[1] + 1 >= high[0] for low, high in pairwise(runs)
        ):
            raise impossible()
        return cls([list(run) for run in runs])

    def plain(self) -> list[list[int]]:
        """Return the runs, to be saved."""
        return [list(run) for run in self.runs]

    def count(self) -> int | None:
        """Return how many numbers there are; None where there are so many runs that some may have been forgotten."""
        if 2 * len(self.runs) >= MOST_RUNS:
            return None
        return sum(last - first + 1 for first, last in self.runs)

    def within(self, other: Runs) -> bool:
        """Return whether another set has all its numbers, as far as both remember."""
        if self.count() is None or other.count() is None:
            return True
        places = [(other._place(first), last) for first, last in self.runs]
        return all(place >= 0 and last <= other.runs[place][1] for place, last in places)

    def __contains__(self, number: int) -> bool:
        place = self._place(number)
        return place >= 0 and number <= self.runs[place][1]

    def add(self, number: int) -> None:
        """Add a number that is not in the set."""
        runs = self.runs
        if runs and number == runs[-1][1] + 1:  # the next one, as nearly always
            runs[-1][1] = number
            return
        place = self._place(number)
        joins_lower = place >= 0 and runs[place][1] == number - 1
        joins_upper = place + 1 < len(runs) and runs[place + 1][0] == number + 1
        if joins_lower and joins_upper:
            runs[place][1] = runs.pop(place + 1)[1]
        elif joins_lower:
            runs[place][1] = number
        elif joins_upper:
            runs[place + 1][0] = number
        else:
            runs.insert(place + 1, [number, number])
            if len(runs) > MOST_RUNS:
                del runs[0]

    def _place(self, number: int) -> int:
        """Return the place of the last run that begins at a number or before, -1 if none does."""
        if self.runs and number >= self.runs[-1][0]:
            return len(self.runs) - 1
        return bisect_right(self.runs, number, key=operator.itemgetter(0)) - 1


class Tally(NamedTuple):
    """What a predictor has seen of its rounds: two that see the same rounds have the same.

    Parameters
    ----------
    asked
        Rounds so far; None where that is not known.
    awaited
        The numbers of those that await their label, oldest first.
    answered
        The numbers of those that had it, or were given up.
    """

    asked: int | None
    awaited: list[int]
    answered: Runs

    def behind(self, other: Tally) -> str | None:
        """Return in what another that was to see at least these rounds lacks some; None where in nothing.

        Examples
        --------
        >>> from streamlearn.rounds import Runs, Tally
        >>> Tally(3, [7], Runs([[1, 2]])).behind(Tally(3, [7], Runs([[1, 1]])))
        'rounds.closed'
        """
        if self.awaited != other.awaited:
            return "rounds.waiting"
        if not self.answered.within(other.answered):
            return "rounds.closed"
        if self.asked is not None and other.asked is not None and self.asked > other.asked:
            return "rounds.asked"
        return None


def closed_before(number: int) -> RoundError:
    """Return the error for a round that is asked again after its label."""
    return RoundError(
        f"round {number} was answered before, or given up; give every event a number of its own"
    )


def edited(name: str, expected: str) -> StateError:
    """Return the error for a saved field that does not fit the others, which ``expected`` names."""
    return StateError(f"saved {name} must hold {expected}; the state was edited, or another version wrote it")


def impossible() -> StateError:
    """Return the error for saved rounds that cannot be."""
    return StateError("the saved rounds are not possible; the state was edited, or another version wrote it")


class RoundsState(msgspec.Struct, forbid_unknown_fields=True):
    """What must survive a restart.

    Parameters
    ----------
    unnumbered
        Labels that came for rounds without a number.
    before
        How many of them came before the first number; None while none has come.
    closed
        The numbered rounds that were answered or given up, as runs (first, last).
    pending
        Rounds asked by number whose labels are awaited, oldest first.
    """

    unnumbered: int
    before: int | None
    closed: list[list[int]]
    pending: list[int]


class Rounds:
    """The rounds that were asked by number and still await their label, and those that are closed.

    A round asked without a number needs no memory: the k-th label that comes without a number belongs to the
    k-th such round. Every round has an identity of its own, which draws may be keyed by. It is the number, or the
    count k where a stream has no numbers; and where a stream mixes both, a text tells the two apart.

    Examples
    --------
    >>> from streamlearn.rounds import Rounds
    >>> rounds = Rounds()
    >>> rounds.ask(7); rounds.ask(9)
    >>> rounds.answer(9), rounds.answer(None), rounds.answer(None)
    (9, 7, 'unnumbered/1')
    """

    __slots__ = ("_before", "_closed", "_pending", "_unnumbered")

    def __init__(self) -> None:
        self._unnumbered = 0
        self._before: int | None = None
        self._closed = Runs()
        # Ordered, because a plain dict walks over what was deleted at its front whenever its first key is asked for.
        self._pending: OrderedDict[int, None] = OrderedDict()

    def ask(self, round: int) -> None:  # noqa: A002 - the field's own word
        """Note that a round was asked by number; asked again, nothing changes.

        Raises
        ------
        RoundError
            If it is not a whole number >= 0, or is closed: what was drawn for it would be used twice.
        """
        number = round if type(round) is int and round >= 0 else round_number(round)
        if number in self._pending:
            return
        if number in self._closed:
            raise closed_before(number)
        self._pending[number] = None
        if self._before is None:
            self._before = self._unnumbered
        if len(self._pending) > MOST_PENDING:
            given_up, _ = self._pending.popitem(last=False)
            self._closed.add(given_up)

    def check(self, round: int | None) -> None:  # noqa: A002 - the field's own word
        """Refuse a label for a round that does not await one; nothing changes.

        Raises
        ------
        RoundError
            If the round was never asked by number, was answered before, or was given up.
        """
        if round is not None and not (_is_number(round) and round in self._pending):
            raise RoundError(
                f"no label is awaited for round {round!r}: it was never asked, was answered before, or is older than "
                f"the {MOST_PENDING} rounds remembered; pass the same round= to predict_one first"
            )

    def answer(self, round: int | None) -> int | str:  # noqa: A002 - the field's own word
        """Return the identity of the round a label belongs to, which then no longer awaits one.

        Without a number it is the oldest round asked by number or, where there is none, the next one in order.

        Raises
        ------
        RoundError
            As :meth:`check`.
        """
        if round is None and not self._pending:
            self._unnumbered += 1
            return self._unnumbered if self._before is None else f"unnumbered/{self._unnumbered}"
        self.check(round)
        number = next(iter(self._pending)) if round is None else int(round)
        del self._pending[number]
        self._closed.add(number)
        return number if number > (self._before or 0) or number == 0 else f"numbered/{number}"

    def give_up(self, round: int) -> None:  # noqa: A002 - the field's own word
        """Close a round whose label will not come.

        Raises
        ------
        RoundError
            If it is not a whole number >= 0, or awaits no label.
        """
        self.answer(round_number(round))

    def tally(self) -> Tally:
        """Return what was seen, to be compared with another's."""
        closed = self._closed.count()
        asked = None if closed is None else self._unnumbered + closed + len(self._pending)
        return Tally(asked, list(self._pending), self._closed)

    def state(self) -> RoundsState:
        """Return what must survive a restart."""
        return RoundsState(self._unnumbered, self._before, self._closed.plain(), list(self._pending))

    @classmethod
    def restored(cls, state: RoundsState) -> Rounds:
        """Return the rounds that :meth:`state` described.

        Raises
        ------
        StateError
            If they are not possible.
        """
        closed, pending, before = Runs.restored(state.closed), state.pending, state.before
        if (
            len(set(pending)) < len(pending)
            or any(number < 0 or number in closed for number in pending)
            or not 0 <= (before or 0) <= state.unnumbered
            or (before is None) is bool(closed.runs or pending)
        ):
            raise impossible()
        rounds = cls()
        rounds._unnumbered, rounds._before = state.unnumbered, before
        rounds._closed = closed
        rounds._pending = OrderedDict.fromkeys(pending)
        return rounds


def _is_number(round: object) -> bool:  # noqa: A002 - the field's own word
    return isinstance(round, int) or hasattr(type(round), "__index__")
