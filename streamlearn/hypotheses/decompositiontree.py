"""A decomposition tree: what to ask, and what is left at its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.labelling import Labelling
from streamlearn.hypotheses.trees import draw


class DecompositionTree:
    """A binary tree of queries, each node with the hypotheses of a class that agree with the path to it.

    Parameters
    ----------
    dimension
        The Littlestone dimension of the node's hypotheses.
    answers
        What SOA of the node's hypotheses says.
    instance
        What the node asks; None at a leaf.
    zero, one
        The subtrees of the two labels; both or none.

    Attributes
    ----------
    depth
        The most queries on a path.
    dimension, answers, instance
        As given.

    Raises
    ------
    ParameterError
        If one subtree is missing.

    Examples
    --------
    >>> from streamlearn.hypotheses import Points, decomposition_tree
    >>> tree = decomposition_tree(Points(3), 2)
    >>> tree.depth, max(leaf.dimension for leaf in tree.leaves())
    (2, 0)
    """

    depth: int

    def __init__(
        self,
        dimension: int,
        answers: Labelling,
        instance: Any = None,
        zero: DecompositionTree | None = None,
        one: DecompositionTree | None = None,
    ) -> None:
        if (zero is None) is not (one is None):
            raise ParameterError("zero and one must be two trees; for a leaf give neither")
        self.dimension = dimension
        self.answers = answers
        self.instance = instance
        self.depth = 1 + max(zero.depth, one.depth) if zero and one else 0
        self._children = (zero, one)

    def child(self, y: bool) -> DecompositionTree:
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

    def leaves(self) -> Iterator[DecompositionTree]:
        """Yield the leaves, that of all labels 0 first."""
        if not self.depth:
            yield self
            return
        for y in (False, True):
            yield from self.child(y).leaves()

    @property
    def label(self) -> str:
        """What the node asks, or a leaf's dimension, as text."""
        return f"{self.instance}?" if self.depth else f"Ldim {self.dimension}"

    def __str__(self) -> str:
        return draw(self)

    def __repr__(self) -> str:
        return f"<DecompositionTree of depth {self.depth}>"
