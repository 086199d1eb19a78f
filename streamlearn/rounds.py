"""Which round a label belongs to, when labels come late, out of order, or not at all."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from streamlearn.errors import RoundError

MOST_PENDING = 100_000
"""Rounds remembered while their labels are awaited; beyond, the oldest is given up."""


class RoundsState(msgspec.Struct, forbid_unknown_fields=True):
    """What must survive a restart.

    Parameters
    ----------
    answered
        Labels that came without a round.
    pending
        Rounds asked by number whose labels are awaited, oldest first.
    """

    answered: int
    pending: list[int]


class Rounds:
    """The rounds that were asked by number and still await their label.

    A round asked without a number needs no memory: the k-th label that comes without a number belongs to the
    k-th such round.

    Examples
    --------
    >>> from streamlearn.rounds import Rounds
    >>> rounds = Rounds()
    >>> rounds.ask(7); rounds.ask(9)
    >>> rounds.answer(9), rounds.answer(None), rounds.answer(None)
    (9, 7, 1)
    """

    __slots__ = ("_answered", "_pending")

    def __init__(self) -> None:
        self._answered = 0
        # Ordered, because a plain dict walks over what was deleted at its front whenever its first key is asked for.
        self._pending: OrderedDict[int, None] = OrderedDict()

    def ask(self, round: int) -> None:  # noqa: A002 - the field's own word
        """Note that a round was asked by number; asked again, nothing changes.

        Raises
        ------
        RoundError
            If it is not a whole number >= 0.
        """
        if type(round) is not int or round < 0:
            raise RoundError(f"round must be a whole number >= 0, got {round!r}; number the stream's events")
        if round not in self._pending:
            self._pending[round] = None
            if len(self._pending) > MOST_PENDING:
                self._pending.popitem(last=False)

    def check(self, round: int | None) -> None:  # noqa: A002
        """Refuse a label for a round that does not await one; nothing changes.

        Raises
        ------
        RoundError
            If the round was never asked by number, was answered before, or was given up.
        """
        if round is not None and round not in self._pending:
            raise RoundError(
                f"no label is awaited for round {round!r}: it was never asked, was answered before, or is older than "
                f"the {MOST_PENDING} rounds remembered; pass the same round= to predict_one first"
            )

    def answer(self, round: int | None) -> int:  # noqa: A002
        """Return the round a label belongs to, which then no longer awaits one.

        Without a number it is the oldest round asked by number or, where there is none, the next one in order.

        Raises
        ------
        RoundError
            As :meth:`check`.
        """
        self.check(round)
        if round is None:
            if not self._pending:
                self._answered += 1
                return self._answered
            round = next(iter(self._pending))  # noqa: A001
        del self._pending[round]
        return round

    def state(self) -> RoundsState:
        """Return what must survive a restart."""
        return RoundsState(self._answered, list(self._pending))

    @classmethod
    def restored(cls, state: RoundsState) -> Rounds:
        """Return the rounds that :meth:`state` described."""
        rounds = cls()
        rounds._answered = state.answered
        rounds._pending = OrderedDict.fromkeys(state.pending)
        return rounds
