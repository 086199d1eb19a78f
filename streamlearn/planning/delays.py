"""How many disagreements decide about each candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamlearn.accounting.combining import LARGEST_DELAY
from streamlearn.errors import ParameterError


def schedule(candidates: int, batch: int, width: int, length: int, max_delay: int) -> tuple[int, ...]:
    """Return the shortest delays: D_1 = 2K'-2+w and D_(j+1) = D_j + 2K'-2+w+L+P, K' = K+P.

    Parameters
    ----------
    candidates, batch, width, length, max_delay
        N, K, w, L, P.

    Examples
    --------
    >>> from streamlearn.planning.delays import schedule
    >>> schedule(3, batch=10, width=5, length=20, max_delay=0)
    (23, 66, 109)
    """
    first = 2 * (batch + max_delay) - 2 + width
    return tuple(first + j * (first + length + max_delay) for j in range(candidates))


def paper_schedule(candidates: int, batch: int, width: int, length: int, max_delay: int) -> tuple[int, ...]:
    """Return the paper's delays 9^j·D_0, D_0 the least that is above 4K' and leaves room for w and L + P.

    Parameters
    ----------
    candidates, batch, width, length, max_delay
        As for :func:`schedule`.

    Raises
    ------
    ParameterError
        If the last one is above 2^50, with the number.

    Examples
    --------
    >>> from streamlearn.planning.delays import paper_schedule
    >>> paper_schedule(3, batch=10, width=5, length=20, max_delay=0)
    (369, 3321, 29889)
    """
    first = max(4 * (batch + max_delay) + 1, width, length + max_delay)
    digits = math.log10(first) + candidates * math.log10(9.0)
    if digits > math.log10(LARGEST_DELAY):
        raise ParameterError(
            f"delays must be at most 2^50, and the paper's last is 9^{candidates}·{first:,}, about 10^{digits:.0f}; "
            "take fewer candidates, or leave delays out for the shortest"
        )
    return tuple(9**j * first for j in range(1, candidates + 1))


def check_delays(
    delays: Sequence[object], candidates: int, batch: int, width: int, length: int, max_delay: int
) -> None:
    """Refuse delays that are too few, or shorter than Claim 1 allows.

    Parameters
    ----------
    delays
        D_1..D_N.
    candidates, batch, width, length, max_delay
        As for :func:`schedule`.

    Raises
    ------
    ParameterError
        If they are so.
    """
    if len(delays) != candidates:
        raise ParameterError(
            f"delays must be {candidates} whole numbers, one a candidate, got {len(delays)}; by default the shortest"
        )
    step = 2 * (batch + max_delay) - 2 + width
    shortest = step
    for place, delay in enumerate(delays, start=1):
        if type(delay) is not int:
            raise ParameterError(
                f"delays must be {candidates} whole numbers, got {delay!r} at place {place}; by default the shortest"
            )
        if delay < shortest:
            raise ParameterError(
                f"delay {place} must be at least {shortest}, got {delay}; a shorter one lets a candidate change "
                "answers before it can be computed"
            )
        shortest = delay + step + length + max_delay
