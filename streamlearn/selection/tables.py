"""A class worked through as a table, whose instances are still told apart as the class itself does."""

from __future__ import annotations

from typing import Any

from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.hypotheses.finite import Finite


class TableOf(Finite):
    """The table of a class; an instance is looked up by its identity in the class, not by its own value.

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
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.selection.tables import TableOf
    >>> bin(TableOf(Thresholds(3)).ones(2.0))
    '0b11'
    """

    __slots__ = ("_by_identity", "_of")

    def __init__(self, cls: HypothesisClass) -> None:
        finite = cls.as_finite()
        super().__init__(finite.table, finite.domain)
        self._of = cls
        self._by_identity = {cls.identity(x): finite.ones(x) for x in finite.domain}

    def ones(self, x: Any) -> int | None:
        """Return the hypotheses that say 1 at ``x``, as bits; None for an unknown instance."""
        return self._by_identity.get(self._of.identity(x)) if self._of.knows(x) else None


def table_of(cls: HypothesisClass) -> Finite:
    """Return a class as a table.

    Parameters
    ----------
    cls
        The class.

    Raises
    ------
    SizeError
        If it cannot be listed as one.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.selection.tables import table_of
    >>> table_of(Thresholds(3)).size
    4
    """
    if type(cls).identity is HypothesisClass.identity:  # the plain table tells instances apart alike
        return cls.as_finite()
    return TableOf(cls)
