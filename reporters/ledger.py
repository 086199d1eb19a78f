"""What a person has answered, and what the answers cost together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Self

import msgspec

from streamlearn.channels import Channel
from streamlearn.errors import ParameterError, StateError
from streamlearn.rounding import float_above

_UNIT = 1 << 1074  # every finite double is a whole number of 2^-1074, so sums counted in it are exact
_INFINITE = 1 << 4096  # an infinite ε, in that unit: no sum of finite doubles comes near


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One answer that was drawn.

    Parameters
    ----------
    event_id
        The event it is about.
    tag
        The law it was drawn from: :attr:`streamlearn.Channel.tag`.
    bit
        The answer, 0 or 1.
    epsilon
        What that law really spends, from its integers.
    """

    event_id: str
    tag: str
    bit: int
    epsilon: float


class Ledger:
    """The answers of one person, and their price by basic composition: the sum of their ε.

    Notes
    -----
    Sums are exact in whatever order they are taken. The figures shown are rounded, always up.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.reporters import Reporter
    >>> reporter = Reporter(max_epsilon=1.0)
    >>> _ = reporter.report(value=0.7, channel=Channel.randomized_response(1, 0.5, 0.25), event_id="a17")
    >>> _ = reporter.report(value=0.7, channel=Channel.randomized_response(2, 0.6, 0.5), event_id="a17")
    >>> reporter.ledger
    Ledger(events=1, answers=2, total=0.75)
    >>> reporter.ledger.spent("a17") <= 0.75, reporter.ledger.spent("b2")
    (True, 0.0)
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}
        self._spent: dict[str, int] = {}
        self._total = 0

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was answered, oldest first."""
        return tuple(self._entries.values())

    def find(self, event_id: str, tag: str) -> Entry | None:
        """Return the answer this event already gave under this law, None if there is none."""
        return self._entries.get((event_id, tag))

    def add(self, entry: Entry) -> None:
        """Write down an answer :meth:`find` does not know."""
        price = _exact(entry.epsilon)
        self._entries[entry.event_id, entry.tag] = entry
        spent = self._spent.get(entry.event_id)
        self._spent[entry.event_id] = price if spent is None else spent + price
        self._total += price

    def spent(self, event_id: str | int) -> float:
        """Return the ε spent on one event, rounded up."""
        return float_above(Fraction(self._spent.get(str(event_id), 0), _UNIT))

    @property
    def total(self) -> float:
        """The ε spent on all events together, rounded up."""
        return float_above(Fraction(self._total, _UNIT))

    def fits_event(self, event_id: str, epsilon: float, limit: float) -> bool:
        """Return whether ``epsilon`` more on this event stays within ``limit``, exactly."""
        return limit == math.inf or self._spent.get(event_id, 0) + _exact(epsilon) <= _exact(limit)

    def fits_total(self, epsilon: float, limit: float) -> bool:
        """Return whether ``epsilon`` more on any event stays within ``limit`` for all, exactly."""
        return limit == math.inf or self._total + _exact(epsilon) <= _exact(limit)

    def answers(self) -> list[list[str | int]]:
        """Return what happened as plain JSON types, without its price, which follows from the tags."""
        return [[entry.event_id, entry.tag, entry.bit] for entry in self._entries.values()]

    @classmethod
    def from_answers(cls, answers: Iterable[tuple[str, str, int]]) -> Self:
        """Return the ledger of answers that :meth:`answers` listed, priced anew.

        Raises
        ------
        StateError
            If a tag is no channel's, or an event is answered twice under one law.
        """
        ledger = cls()
        for position, (event_id, tag, bit) in enumerate(answers):
            if ledger.find(event_id, tag) is not None:
                raise StateError(f"answers[{position}] repeats an earlier one; do not edit a memory by hand")
            ledger.add(Entry(event_id, tag, bit, _price(tag, position)))
        return ledger

    def __repr__(self) -> str:
        return f"Ledger(events={len(self._spent)}, answers={len(self._entries)}, total={self.total:g})"


def _price(tag: str, position: int) -> float:
    """Return the ε that the law of a saved tag spends."""
    try:
        return Channel.from_tag(tag).realised_epsilon
    except ParameterError:
        raise StateError(
            f"answers[{position}] is under no channel's tag; do not edit a memory by hand"
        ) from None


@lru_cache(maxsize=4096)
def _exact(epsilon: float) -> int:
    """Return ε as a whole number of 2^-1074."""
    if epsilon == math.inf:
        return _INFINITE
    numerator, denominator = epsilon.as_integer_ratio()
    return numerator * (_UNIT // denominator)
