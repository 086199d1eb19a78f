"""Selection by groups (Algorithm 2) for a finite class: groups vote, and one record sways few groups.

Proof: ``select.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from streamlearn.errors import StateError
from streamlearn.hypotheses.enumerated import EnumeratedClass
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.selection.arguments import check_batch, check_level
from streamlearn.selection.base import Mistake, Selector
from streamlearn.selection.counting import CountingScheme, CountingSelector, bit_counts
from streamlearn.selection.exponential import base, draw, log_base

PURPOSE = "selection/groups"


class GroupsScheme(CountingScheme):
    """k = K/2 groups keep one record of each batch; a group's list is what of the class agrees with its records.

    With p = |H| - 1 these lists are the paper's essential hypotheses, C_p(G) = G. The true hypothesis is in every list,
    so one record a group and batch is enough, and neither levels nor an answer "none" are needed.

    Parameters
    ----------
    cls
        The class.

    Raises
    ------
    SizeError
        If it cannot be listed as a table.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import scheme
    >>> groups = scheme(Point3(), "groups")
    >>> groups.steps, groups.batch(eta=0.05, beta=1e-6), groups.widths().tolist()
    (2, 692, [4.0, 8.0])
    """

    mode = "groups"

    def batch(self, eta: float, beta: float) -> int:
        """Return the smallest even K for which some candidate makes fewer than K mistakes, but for ``beta``."""
        needed = self.needed(check_level("beta", beta))
        lost = -math.expm1(-log_base(eta))  # of a hypothesis's weight, by one group
        high = 1
        while not _enough(high, lost, needed):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _enough(middle, lost, needed) else (middle, high)
        return 2 * high

    def widths(self) -> Floats:
        """Return 4j for call j: two groups in each batch, each counting one more or less."""
        return np.arange(4.0, 4.0 * self.steps + 1.0, 4.0)

    def start(self, eta: float, K: int) -> GroupsSelector:  # noqa: N803 - the paper's K
        """Return a run before its first batch."""
        return GroupsSelector(self.hypotheses, base(eta), check_batch(K))

    def from_plain(self, data: Any, eta: float, K: int) -> Selector:  # noqa: N803
        """Return the run that ``to_plain`` wrote."""
        selector = self.start(eta, K)
        selector.restore(data)
        return selector


class GroupsState(msgspec.Struct, forbid_unknown_fields=True):
    """A run as it is saved.

    Parameters
    ----------
    rows
        The candidates' rows in the table.
    groups
        Each group's list, as the digits of a hexadecimal number.
    """

    rows: list[int]
    groups: list[str]


class GroupsSelector(CountingSelector):
    """A run of :class:`GroupsScheme`.

    Parameters
    ----------
    hypotheses, num, batch
        As of :class:`~streamlearn.selection.counting.CountingSelector`.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import Mistake, scheme
    >>> selector = scheme(Point3(), "groups").start(eta=0.5, K=100)
    >>> selector.advance([Mistake(t, 2, True) for t in range(1, 101)], Key.from_seed(1))
    >>> [selector.candidate()(x) for x in (1, 2, 3)]
    [False, True, False]
    """

    def __init__(self, hypotheses: EnumeratedClass, num: int, batch: int) -> None:
        super().__init__(hypotheses, num, batch)
        everything = (1 << hypotheses.size) - 1
        self._groups = [everything] * max(1, batch // 2)

    @property
    def groups(self) -> tuple[int, ...]:
        """Each group's list, as bits."""
        return tuple(self._groups)

    def advance(self, batch: Sequence[Mistake], key: Key) -> None:
        """Choose a hypothesis that many lists hold."""
        self._check(batch)
        call = len(self._rows)
        kept: dict[int, tuple[int, Mistake]] = {}
        for mistake in batch:
            group = key.below(len(self._groups), f"{PURPOSE}/{call}/group", mistake.sequence)
            lot = key.uniform64(f"{PURPOSE}/{call}/lot", mistake.sequence)
            if group not in kept or (lot, mistake.sequence) < (kept[group][0], kept[group][1].sequence):
                kept[group] = lot, mistake
        for group, (_, mistake) in kept.items():
            self._groups[group] &= ~self.wrong(mistake.x, mistake.y)
        votes: dict[int, int] = {}
        for rows in self._groups:
            votes[rows] = votes.get(rows, 0) + 1
        scores = dict(enumerate(bit_counts(votes, self._hypotheses.size)))
        place, _ = draw(self._num, scores, 0, key, f"{PURPOSE}/select", call)
        assert isinstance(place, int)  # noqa: S101 - every row has a score
        self._choose(place)

    def to_plain(self) -> Any:
        """Return the run so far."""
        return msgspec.to_builtins(GroupsState(self._rows, [f"{rows:x}" for rows in self._groups]))

    def restore(self, data: Any) -> None:
        """Take on a run that ``to_plain`` wrote.

        Raises
        ------
        StateError
            If it is none of this class.
        """
        try:
            saved = msgspec.convert(data, GroupsState)
            groups = [int(rows, 16) for rows in saved.groups]
        except (msgspec.ValidationError, ValueError):
            raise StateError("malformed candidate selection; give what state_dict() returned") from None
        if len(groups) != len(self._groups) or not all(
            0 <= rows < 1 << self._hypotheses.size for rows in groups
        ):
            raise StateError("the saved groups are not possible; the state was edited")
        self._restore(saved.rows)
        self._groups = groups


def _enough(k: int, lost: float, needed: float) -> bool:
    """Return whether k groups and 2k records do: ``E e^(-η · groups that got a record) <= e^-needed``."""
    reached = -math.expm1(2 * k * math.log1p(-1.0 / k)) if k > 1 else 1.0  # the chance of a group to get one
    return -k * math.log1p(-reached * lost) * (1.0 - 1e-12) >= needed
