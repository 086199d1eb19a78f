"""The Littlestone dimension and trees that prove it from below."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses.base import HypothesisClass, VersionSpace, check_class
from streamlearn.hypotheses.trees import draw

MOST_CHECKED = 20
"""The deepest tree whose paths are all walked: a million."""

Path = tuple[tuple[Any, bool], ...]


class ShatteredTree:
    """A complete binary tree whose inner nodes ask for the label of an instance (Definition 6).

    ``ShatteredTree()`` is a leaf. Whether some class shatters the tree is for :func:`is_shattered` to say.

    Parameters
    ----------
    instance
        What the root asks.
    zero, one
        The subtrees of the two labels, of equal depth; both or none.

    Attributes
    ----------
    depth
        The number of instances on every path.
    instance
        What the root asks; None at a leaf.

    Raises
    ------
    ParameterError
        If one subtree is missing or the two differ in depth.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3, ShatteredTree, is_shattered
    >>> tree = ShatteredTree(2, ShatteredTree(), ShatteredTree())
    >>> tree.depth, is_shattered(Point3(), tree), list(tree.paths())
    (1, True, [((2, False),), ((2, True),)])
    """

    instance: Any
    depth: int

    def __init__(
        self, instance: Any = None, zero: ShatteredTree | None = None, one: ShatteredTree | None = None
    ) -> None:
        if (zero is None) is not (one is None) or (zero and one and zero.depth != one.depth):
            raise ParameterError("zero and one must be two trees of equal depth; for a leaf give neither")
        self.instance = instance
        self.depth = zero.depth + 1 if zero else 0
        self._children = (zero, one)

    def child(self, y: bool) -> ShatteredTree:
        """Return the subtree of a label.

        Raises
        ------
        ParameterError
            At a leaf.
        """
        found = self._children[y]
        if found is None:
            raise ParameterError("a leaf has no subtrees; ask depth first")
        return found

    def paths(self) -> Iterator[Path]:
        """Yield all paths from here to a leaf, each a tuple of (instance, label): 2^depth of them.

        The labels run from all 0 to all 1, the last fastest.
        """
        for labels in itertools.product((False, True), repeat=self.depth):
            yield self.path(labels)

    def path(self, labels: tuple[bool, ...]) -> Path:
        """Return the path of some labels, at most ``depth`` of them, without walking the others."""
        tree: ShatteredTree = self
        found = []
        for y in labels:
            found.append((tree.instance, y))
            tree = tree.child(y)
        return tuple(found)

    @property
    def label(self) -> str:
        """What the root asks, as text."""
        return f"{self.instance}?" if self.depth else "·"

    def __str__(self) -> str:
        return draw(self)

    def __repr__(self) -> str:
        return f"<ShatteredTree of depth {self.depth}>"


class _GrownTree(ShatteredTree):
    """The tree of a version space's pivots. It keeps no subtrees, so a depth of 60 costs nothing until walked."""

    def __init__(self, space: VersionSpace, depth: int) -> None:
        super().__init__(space.pivot() if depth else None)
        self.depth = depth
        self._space = space

    def child(self, y: bool) -> ShatteredTree:
        if not self.depth:
            return super().child(y)
        part = self._space.restrict(self.instance, y)
        if part is None or part.dimension < self.depth - 1:
            raise ParameterError(
                f"{type(self._space).__name__}.pivot() gave an instance whose label {int(y)} does not leave a "
                f"dimension of {self.depth - 1}; see VersionSpace.pivot"
            )
        return _GrownTree(part, self.depth - 1)


def littlestone_dimension(cls: HypothesisClass) -> int:
    """Return the Littlestone dimension of a class (Definition 6).

    Parameters
    ----------
    cls
        The class.

    Raises
    ------
    ParameterError
        If ``cls`` is no hypothesis class.
    SizeError
        If the class has no closed form and the exact search would not end.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.hypotheses import Finite, Thresholds, littlestone_dimension
    >>> littlestone_dimension(Thresholds(2**60))
    60
    >>> littlestone_dimension(Finite(np.eye(5, dtype=bool)))
    1
    """
    return check_class(cls).dimension


def shattered_tree(cls: HypothesisClass) -> ShatteredTree:
    """Return a tree of depth ``cls.dimension`` that the class shatters.

    It is grown as it is walked, so the tree of ``Thresholds(2**60)`` costs no more than the paths one takes.

    Parameters
    ----------
    cls
        The class.

    Raises
    ------
    ParameterError
        If ``cls`` is no hypothesis class.
    SizeError
        As :func:`littlestone_dimension`, or if a class of your own does not say its pivots.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds, shattered_tree
    >>> tree = shattered_tree(Thresholds(2**60))
    >>> tree.depth, tree.path((False,) * 60)[-1]
    (60, (1152921504606846975, False))
    """
    return _GrownTree(check_class(cls).version_space(), cls.dimension)


def is_shattered(cls: HypothesisClass, tree: ShatteredTree) -> bool:
    """Return whether some hypothesis of the class follows every path of a tree.

    It restricts version spaces and asks for no dimension, so it checks :func:`shattered_tree` independently.

    Parameters
    ----------
    cls
        The class.
    tree
        The tree.

    Raises
    ------
    ParameterError
        If ``cls`` is no hypothesis class, or ``tree`` no tree.
    SizeError
        If the tree is deeper than 20.

    Examples
    --------
    >>> from streamlearn.hypotheses import Intervals, Thresholds, is_shattered, shattered_tree
    >>> tree = shattered_tree(Intervals(9))
    >>> is_shattered(Intervals(9), tree), is_shattered(Thresholds(9), tree)
    (True, False)
    """
    check_class(cls)
    if not isinstance(tree, ShatteredTree):
        raise ParameterError(
            f"tree must be a ShatteredTree, got {type(tree).__name__}; shattered_tree(cls) gives one"
        )
    if tree.depth > MOST_CHECKED:
        raise SizeError(
            f"the tree has 2^{tree.depth} paths, at most 2^{MOST_CHECKED} are walked; check a subtree (tree.child)"
        )
    return _follows(cls, cls.version_space(), tree)


def _follows(cls: HypothesisClass, space: VersionSpace, tree: ShatteredTree) -> bool:
    if not tree.depth:
        return True
    if not cls.knows(tree.instance):
        return False
    parts = [space.restrict(tree.instance, y) for y in (False, True)]
    return all(
        part is not None and _follows(cls, part, tree.child(y))
        for y, part in zip((False, True), parts, strict=True)
    )
