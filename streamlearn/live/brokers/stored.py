"""Positions as a store holds them, on their way back to an adapter."""

from __future__ import annotations

from streamlearn.errors import StateError
from streamlearn.live.messages import Position


def checked(partition: str, position: Position, *lengths: int) -> Position:
    """Return a stored position, which must have so many numbers: a store may be damaged, or of another source.

    Raises
    ------
    StateError
        If it has not.

    Examples
    --------
    >>> from streamlearn.live.brokers.stored import checked
    >>> checked("reports/0", (17,), 1)
    (17,)
    """
    if len(position) not in lengths:
        raise StateError(
            f"the stored position of {partition!r} is none of this kind of source; name the source it was written "
            "for, or put back a copy of the store"
        )
    return position
