"""Direct selection: weigh every hypothesis of a finite class by its mistakes in all batches so far.

Proof: ``direct.proof.md`` beside this file.
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

PURPOSE = "selection/direct"


class DirectScheme(CountingScheme):
    """The exponential mechanism over a finite class, on the mistakes in the rounds of all batches, each counted once.

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
    >>> direct = scheme(Point3(), "direct")
    >>> direct.steps, direct.batch(eta=0.05, beta=1e-6), direct.widths().tolist()
    (2, 299, [2.0, 4.0])
    """

    mode = "direct"

    def batch(self, eta: float, beta: float) -> int:
        """Return the smallest K for which some candidate makes fewer than K mistakes, but for ``beta``."""
        needed = self.needed(check_level("beta", beta))
        return max(1, math.ceil(needed / log_base(eta) * (1.0 + 1e-12)))

    def widths(self) -> Floats:
        """Return 2 for the first call and j + 2 for each further one."""
        calls = np.arange(1, self.steps + 1)
        return np.where(calls == 1, 2.0, calls + 2.0)

    def start(self, eta: float, K: int) -> DirectSelector:  # noqa: N803 - the paper's K
        """Return a run before its first batch."""
        return DirectSelector(self.hypotheses, base(eta), check_batch(K))

    def from_plain(self, data: Any, eta: float, K: int) -> Selector:  # noqa: N803
        """Return the run that ``to_plain`` wrote."""
        selector = self.start(eta, K)
        selector.restore(data)
        return selector


class DirectState(msgspec.Struct, forbid_unknown_fields=True):
    """A run as it is saved.

    Parameters
    ----------
    rows
        The candidates' rows in the table.
    rounds
        The rounds in the batches so far.
    mistakes
        Each hypothesis's mistakes on them.
    """

    rows: list[int]
    rounds: list[int]
    mistakes: list[int]


class DirectSelector(CountingSelector):
    """A run of :class:`DirectScheme`.

    Parameters
    ----------
    hypotheses, num, batch
        As of :class:`~streamlearn.selection.counting.CountingSelector`.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import Mistake, scheme
    >>> selector = scheme(Point3(), "direct").start(eta=0.5, K=40)
    >>> [selector.candidate()(x) for x in (1, 2, 3)]
    [True, False, False]
    >>> selector.advance([Mistake(t, 2, True) for t in range(1, 41)], Key.from_seed(1))
    >>> [selector.candidate()(x) for x in (1, 2, 3)]
    [False, True, False]
    """

    def __init__(self, hypotheses: EnumeratedClass, num: int, batch: int) -> None:
        super().__init__(hypotheses, num, batch)
        self._rounds: dict[int, None] = {}
        self._mistakes = [0] * hypotheses.size

    @property
    def mistakes(self) -> tuple[int, ...]:
        """Each hypothesis's mistakes in the batches so far."""
        return tuple(self._mistakes)

    def advance(self, batch: Sequence[Mistake], key: Key) -> None:
        """Choose a hypothesis with few mistakes in the batches so far."""
        self._check(batch)
        wrong: dict[int, int] = {}
        for mistake in batch:
            if mistake.sequence not in self._rounds:
                self._rounds[mistake.sequence] = None
                rows = self.wrong(mistake.x, mistake.y)
                wrong[rows] = wrong.get(rows, 0) + 1
        more = bit_counts(wrong, self._hypotheses.size)
        self._mistakes = [a + b for a, b in zip(self._mistakes, more, strict=True)]
        most = max(self._mistakes)
        scores = {row: most - count for row, count in enumerate(self._mistakes)}
        place, _ = draw(self._num, scores, 0, key, PURPOSE, len(self._rows))
        assert isinstance(place, int)  # noqa: S101 - every row has a score
        self._choose(place)

    def to_plain(self) -> Any:
        """Return the run so far."""
        return msgspec.to_builtins(DirectState(self._rows, list(self._rounds), self._mistakes))

    def restore(self, data: Any) -> None:
        """Take on a run that ``to_plain`` wrote.

        Raises
        ------
        StateError
            If it is none of this class.
        """
        try:
            saved = msgspec.convert(data, DirectState)
        except ValueError:
            raise StateError("malformed candidate selection; give what state_dict() returned") from None
        rounds = len(saved.rounds)
        if len(saved.mistakes) != self._hypotheses.size or not all(0 <= m <= rounds for m in saved.mistakes):
            raise StateError("the saved counts of mistakes are not possible; the state was edited")
        self._restore(saved.rows)
        self._rounds = dict.fromkeys(saved.rounds)
        self._mistakes = saved.mistakes
