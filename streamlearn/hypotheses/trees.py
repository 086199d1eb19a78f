"""Drawing binary trees as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

MOST_LEVELS = 6
"""Levels of a tree that are drawn; what lies below is counted."""


class Drawable(Protocol):
    """A binary tree that can be drawn."""

    @property
    def depth(self) -> int:
        """The most queries on a path from here."""

    @property
    def label(self) -> str:
        """What to write at its root."""

    def child(self, y: bool) -> Self:
        """Return the subtree of a label; asked where ``depth`` is at least 1."""


def draw(tree: Drawable) -> str:
    """Return a tree as text, a node a line, the branch of label 0 first.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds, shattered_tree
    >>> from streamlearn.hypotheses.trees import draw
    >>> print(draw(shattered_tree(Thresholds(3))))
    2?
    ├─0─ 3?
    │    ├─0─ ·
    │    └─1─ ·
    └─1─ 1?
         ├─0─ ·
         └─1─ ·
    """
    return "\n".join(_lines(tree, MOST_LEVELS))


def _lines(tree: Drawable, levels: int) -> Iterator[str]:
    if tree.depth and not levels:
        yield f"… {tree.depth} more levels"
        return
    yield tree.label
    if not tree.depth:
        return
    for y, first, rest in ((False, "├─0─ ", "│    "), (True, "└─1─ ", "     ")):
        for number, line in enumerate(_lines(tree.child(y), levels - 1)):
            yield (rest if number else first) + line
