"""How candidates are selected in a plan: any way that can run."""

from __future__ import annotations

from functools import lru_cache

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.selection import Scheme, scheme

MODES = ("options", "direct", "groups")
"""All but the paper's."""


def scheme_for(cls: HypothesisClass, mode: object) -> Scheme:
    """Return what selects candidates, made once for a class and a mode: some work through a table.

    Parameters
    ----------
    cls, mode
        As for :func:`streamlearn.selection.scheme`.

    Raises
    ------
    ParameterError
        If there is no such mode, or it is the paper's, which cannot run.
    SizeError
        If the class does not support it.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning.modes import scheme_for
    >>> scheme_for(Point3(), None) is scheme_for(Point3(), None)
    True
    """
    check_class(cls)
    if mode is None or (isinstance(mode, str) and mode in MODES):
        return _made(cls, mode)
    more = "None takes what the class does best"
    if isinstance(mode, str) and mode == "paper":
        more = "its constants cannot run; streamlearn.planning.paper_plan(cls, epsilon, delta) states their figures"
    raise ParameterError(f"mode must be one of {', '.join(MODES)} for a plan, got {mode!r}; {more}")


@lru_cache(maxsize=16)
def _made(cls: HypothesisClass, mode: str | None) -> Scheme:
    return scheme(cls, mode)
