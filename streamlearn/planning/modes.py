"""How candidates are selected in a plan: any way that can run."""

from __future__ import annotations

from functools import lru_cache

from streamlearn.accounting.combining import LARGEST_DELAY
from streamlearn.errors import ParameterError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.selection import Scheme, scheme
from streamlearn.selection.sampled import MOST_CANDIDATES, SampledScheme

MODES = ("options", "direct", "groups")
"""All but the paper's, which takes numbers of one's own."""

PAPER_MODE = "paper"


def scheme_for(cls: HypothesisClass, mode: object, candidates: int | None = None) -> Scheme:
    """Return what selects candidates, made once for a class and a mode: some work through a table.

    Parameters
    ----------
    cls, mode
        As for :func:`streamlearn.selection.scheme`.
    candidates
        N, for the paper's mode alone: the others know theirs.

    Raises
    ------
    ParameterError
        If there is no such mode, or it is the paper's without N.
    SizeError
        If the class does not support it.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning.modes import scheme_for
    >>> scheme_for(Point3(), None) is scheme_for(Point3(), None), scheme_for(Point3(), "paper", 1).steps
    (True, 1)
    """
    check_class(cls)
    if mode is None or (isinstance(mode, str) and mode in MODES):
        return _made(cls, mode)
    if isinstance(mode, str) and mode == PAPER_MODE:
        if candidates is None:
            raise ParameterError(
                f"candidates must be a whole number in 1..{MOST_CANDIDATES} in mode paper, got None: the paper's own "
                f"N is {full_count(cls, mode):,}; try 1"
            )
        return _sampled(cls, candidates)
    raise ParameterError(
        f"mode must be one of {', '.join(MODES)} or paper for a plan, got {mode!r}; None takes what the class does best"
    )


def full_count(cls: HypothesisClass, mode: str) -> int:
    """Return how many candidates a mode takes, at most 2^50: with fewer nothing is promised of mistakes.

    Parameters
    ----------
    cls, mode
        As for :func:`scheme_for`.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning.modes import full_count
    >>> full_count(Point3(), "options"), full_count(Point3(), "paper")
    (1, 1026)
    """
    return min(_made(cls, mode).steps, LARGEST_DELAY)


@lru_cache(maxsize=16)
def _made(cls: HypothesisClass, mode: str | None) -> Scheme:
    return scheme(cls, mode)


@lru_cache(maxsize=16)
def _sampled(cls: HypothesisClass, candidates: int) -> Scheme:
    return SampledScheme(cls, candidates)
