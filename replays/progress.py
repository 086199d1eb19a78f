"""A progress bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], size: str, enabled: bool) -> Iterator[T]:
    """Yield ``items``, showing how many episodes have passed.

    Parameters
    ----------
    items
        Batches or episodes.
    size
        Name of the attribute that says how many episodes an item holds; empty: one.
    enabled
        Nothing is shown unless this is True and standard error is a terminal.

    Examples
    --------
    >>> from streamlearn.replays.progress import track
    >>> list(track([1, 2], size="", enabled=False))
    [1, 2]
    """
    if not (enabled and sys.stderr.isatty()):
        yield from items
        return
    from rich import console, progress  # noqa: PLC0415 - 50 ms, only for whoever looks at a terminal

    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.completed:,.0f} replayed"),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=None)
        for item in items:
            yield item
            bar.advance(task, getattr(item, size) if size else 1)
