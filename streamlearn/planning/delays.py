"""How many disagreements decide about each candidate."""

from __future__ import annotations

from collections.abc import Sequence

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
