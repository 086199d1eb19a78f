"""Who has spent how much: a book of what happened, priced by an accountant, and a budget that refuses beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self, TypeAlias

import msgspec

from streamlearn.errors import BudgetError, ParameterError, StateError
from streamlearn.privacy.composition import compose
from streamlearn.privacy.guarantees import Guarantee
from streamlearn.privacy.spending import Spending, check, parts
from streamlearn.rounding import as_float, check_epsilon

Accountant: TypeAlias = Callable[[list[Guarantee]], Guarantee]
"""What several promises to one person add up to."""

FORMAT = "streamlearn/privacy-ledger"
VERSION = 1


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    events: list[Spending]


class Budget(NamedTuple):
    """The most that a ledger lets one person spend.

    Parameters
    ----------
    epsilon, delta
        The limits.

    Examples
    --------
    >>> from streamlearn.privacy import Budget
    >>> Budget(2.0)
    Budget(epsilon=2.0, delta=0.0)
    """

    epsilon: float
    delta: float = 0.0


class Ledger:
    """What happened to everybody's privacy, over several streams.

    Parameters
    ----------
    budget
        For each person; None for no limit.
    accountant
        What promises to one person add up to: :func:`streamlearn.privacy.compose` by default, or for instance
        ``functools.partial(compose, method="pld", delta=1e-6)``.

    Raises
    ------
    ParameterError
        If a limit is no privacy level.

    Notes
    -----
    Whoever reports to several streams, or several times to one, adds up, if the names given to persons are the same
    everywhere. Reports and records in one book: both are priced as joint privacy. Nothing is priced twice that happened
    once: an event that is written again changes nothing.

    Examples
    --------
    >>> from streamlearn.errors import BudgetError
    >>> from streamlearn.privacy import Budget, Ledger, Recorded
    >>> ledger = Ledger(Budget(epsilon=2.5))
    >>> for event in ("e1", "e2", "e3"):
    ...     try:
    ...         ledger.record(Recorded("p7", "site 1", event, "joint", 1.0))
    ...     except BudgetError as error:
    ...         print(error.spent, error.asked, error.left)
    True
    True
    2.0 1.0 0.5
    >>> print(ledger.spent("p7"))
    2-joint differential privacy per person
    """

    def __init__(self, budget: Budget | None = None, *, accountant: Accountant = compose) -> None:
        if budget is not None:
            check_epsilon(budget.epsilon, "budget.epsilon")
            delta = as_float(budget.delta)
            if delta is None or not 0.0 <= delta <= 1.0:
                raise ParameterError(f"budget.delta must lie in [0, 1], got {budget.delta!r}")
        self.budget = budget
        self.accountant = accountant
        self._people: dict[str, dict[Spending, None]] = {}

    def record(self, happened: Spending) -> bool:
        """Write down what is about to happen, unless the person's budget has no room for it.

        Parameters
        ----------
        happened
            An :class:`Answered` or :class:`Recorded`.

        Returns
        -------
        bool
            False if it was written down before: then nothing changes.

        Raises
        ------
        BudgetError
            If it would take the person over the budget. Nothing is then written.
        ParameterError
            If a field is wrong.
        """
        it = check(happened)
        known = self._people.get(it.person, {})
        if it in known:
            return False
        if self.budget is not None:
            _refuse_beyond(self._priced(known), self._priced([*known, it]), self.budget)
        self._people.setdefault(it.person, {})[it] = None
        return True

    def spent(self, person: str) -> Guarantee:
        """Return what is still promised to a person, after all that is written down."""
        return self._priced(self._people.get(person, ()))

    def of(self, person: str) -> tuple[Spending, ...]:
        """Return what happened to one person, oldest first."""
        return tuple(self._people.get(person, ()))

    def __iter__(self) -> Iterator[Spending]:
        """Iterate over all that happened, person by person."""
        for events in self._people.values():
            yield from events

    def __len__(self) -> int:
        return sum(map(len, self._people.values()))

    def to_json(self) -> bytes:
        """Return all that happened as JSON; not what it costs, which follows.

        Examples
        --------
        >>> from streamlearn.privacy import Ledger
        >>> Ledger().to_json()
        b'{"format":"streamlearn/privacy-ledger","version":1,"events":[]}'
        """
        return msgspec.json.encode(_File(FORMAT, VERSION, list(self)))

    @classmethod
    def from_json(
        cls, text: str | bytes, budget: Budget | None = None, *, accountant: Accountant = compose
    ) -> Self:
        """Return the ledger that :meth:`to_json` wrote. What has happened is kept, also above a budget.

        Parameters
        ----------
        text
            The JSON.
        budget, accountant
            As in the constructor: they are no part of what happened.

        Raises
        ------
        StateError
            If it is no ledger, or one of a newer version.

        Examples
        --------
        >>> from streamlearn.privacy import Ledger, Recorded
        >>> ledger = Ledger()
        >>> ledger.record(Recorded("p7", "site 1", "e1", "joint", 1.0))
        True
        >>> list(Ledger.from_json(ledger.to_json())) == list(ledger)
        True
        """
        ledger = cls(accountant=accountant)
        for it in _read(text):
            ledger.record(it)
        ledger.budget = cls(budget).budget
        return ledger

    def __repr__(self) -> str:
        return f"{type(self).__name__}(people={len(self._people)}, events={len(self)}, budget={self.budget})"

    def _priced(self, happened: Iterable[Spending]) -> Guarantee:
        found = parts(happened)
        return self.accountant(found) if found else Guarantee("local", 0.0, 0.0, "person")


def _read(text: str | bytes) -> list[Spending]:
    try:
        file = msgspec.json.decode(text, type=_File)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise StateError(f"no privacy ledger: {error}; give what Ledger.to_json wrote") from None
    if file.format != FORMAT:
        raise StateError(f"no privacy ledger: format is {file.format!r}, and {FORMAT!r} is read here")
    if file.version != VERSION:
        raise StateError(
            f"ledger version {file.version} is not {VERSION}, the one read here; upgrade streamlearn"
        )
    for place, it in enumerate(file.events):
        try:
            check(it)
        except ParameterError as error:
            raise StateError(f"events[{place}]: {error}; do not edit a ledger by hand") from None
    return file.events


def _refuse_beyond(before: Guarantee, after: Guarantee, budget: Budget) -> None:
    """Raise if a person would have spent more than the budget."""
    for name in ("epsilon", "delta"):
        spent, whole, limit = getattr(before, name), getattr(after, name), getattr(budget, name)
        if whole > limit:
            raise BudgetError(
                f"this would spend {name} {whole - spent:g} more and {spent:g} is already spent by this person: more "
                f"than budget.{name} = {limit:g}; leave it out, or raise the budget for what is to come",
                spent=spent,
                asked=whole - spent,
                limit=limit,
                parameter=name,
            )
