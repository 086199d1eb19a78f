"""Shattered trees: every class's own passes the independent check, and broken ones do not."""

from __future__ import annotations

import littlestone as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    HypothesisClass,
    Intervals,
    Point3,
    Points,
    ShatteredTree,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
    VersionSpace,
    decomposition_dimension,
    decomposition_tree,
    essential_hypotheses,
    is_irreducible,
    is_shattered,
    littlestone_dimension,
    shattered_tree,
)

LEAF = ShatteredTree()


def node(instance, zero=LEAF, one=LEAF):
    return ShatteredTree(instance, zero, one)


@pytest.mark.parametrize(
    "cls",
    [
        Point3(),
        Points(),
        Points(1),
        Points(2),
        SingletonsOrEmpty(),
        SingletonsOrEmpty(1),
        Thresholds(1),
        Thresholds(100),
        Thresholds(2**12),
        Intervals(50),
        Conjunctions(["a", "b", "c", "d", "e"], 3),
        Stumps({"u": range(20), "v": range(7)}),
        Finite(np.random.default_rng(1).random((200, 24)) < 0.5),
    ],
    ids=repr,
)
def test_every_class_shatters_its_own_tree(cls):
    tree = shattered_tree(cls)
    assert tree.depth == cls.dimension
    assert is_shattered(cls, tree)


@given(oracle.tables(20, 6))
def test_every_table_shatters_its_own_tree(table):
    finite = Finite(table)
    tree = shattered_tree(finite)
    assert tree.depth == finite.dimension
    # By the definition itself: on each path some hypothesis has all the labels.
    for path in tree.paths():
        assert len(path) == tree.depth
        assert any(all(h[x] == y for x, y in path) for h in table)


@given(oracle.tables(8, 4), st.data())
def test_the_checker_agrees_with_the_definition_on_any_tree(table, data):
    finite = Finite(table)

    def grow(depth):
        if not depth:
            return ShatteredTree()
        return ShatteredTree(data.draw(st.integers(-1, 4)), grow(depth - 1), grow(depth - 1))

    tree = grow(data.draw(st.integers(0, 3)))
    realised = all(
        any(all(0 <= x < len(h) and h[x] == y for x, y in path) for h in table) for path in tree.paths()
    )
    assert is_shattered(finite, tree) == realised


def test_broken_trees_are_rejected():
    assert is_shattered(Thresholds(3), node(2, node(3), node(1)))
    assert not is_shattered(Thresholds(3), node(2, node(1), node(1)))  # 1[2 >= a] = 0 decides the point 1
    assert not is_shattered(Thresholds(3), node(2, node(3), node(2)))  # asks twice
    assert not is_shattered(Thresholds(3), node(4))  # no instance
    assert not is_shattered(Thresholds(3), node([1]))
    assert not is_shattered(Point3(), node(1, node(2), node(2)))  # deeper than the dimension


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Point3, "with its parameters, got Point3 without"),
        ("point3", "got str"),
        (np.eye(2, dtype=bool), r"got ndarray; a table makes one: Finite\(table\)"),
    ],
)
def test_what_is_no_class_is_refused_by_every_tool(given, message):
    tools = [
        littlestone_dimension,
        shattered_tree,
        lambda cls: is_shattered(cls, LEAF),
        lambda cls: is_irreducible(cls, 1),
        lambda cls: decomposition_dimension(cls, 1),
        lambda cls: decomposition_tree(cls, 1),
        lambda cls: essential_hypotheses(cls, 1),
    ]
    for tool in tools:
        with pytest.raises(ParameterError, match=message):
            tool(given)


def test_what_is_no_tree_is_refused():
    with pytest.raises(ParameterError, match="tree must be a ShatteredTree, got list"):
        is_shattered(Point3(), [1])


def test_a_tree_too_deep_to_walk_is_refused_but_can_be_grown():
    tree = shattered_tree(Thresholds(2**60))
    assert tree.depth == 60
    with pytest.raises(SizeError, match=r"2\^60 paths, at most 2\^20"):
        is_shattered(Thresholds(2**60), tree)
    labels = tuple(step % 3 == 0 for step in range(60))
    space = Thresholds(2**60).version_space()
    for x, y in tree.path(labels):
        space = space.restrict(x, y)
    assert space.dimension == 0
    assert len(tree.path(labels[:5])) == 5


def test_a_tree_is_drawn_down_to_six_levels():
    assert str(shattered_tree(Points())) == "1?\n├─0─ ·\n└─1─ ·"
    lines = str(shattered_tree(Thresholds(2**60))).splitlines()
    assert len(lines) == 2**7 - 1
    assert lines[6].endswith("… 54 more levels")
    assert repr(shattered_tree(Thresholds(7))) == "<ShatteredTree of depth 3>"


def test_paths_run_from_all_zero_to_all_one():
    tree = node("a", node("b"), node("c"))
    assert list(tree.paths()) == [
        (("a", False), ("b", False)),
        (("a", False), ("b", True)),
        (("a", True), ("c", False)),
        (("a", True), ("c", True)),
    ]
    assert list(LEAF.paths()) == [()]


@pytest.mark.parametrize("parts", [(LEAF, None), (None, LEAF), (LEAF, node(1))])
def test_a_tree_must_be_complete(parts):
    with pytest.raises(ParameterError, match="two trees of equal depth"):
        ShatteredTree(1, *parts)


@pytest.mark.parametrize("leaf", [LEAF, shattered_tree(Points(1))])
def test_a_leaf_has_no_subtrees(leaf):
    with pytest.raises(ParameterError, match="a leaf has no subtrees"):
        leaf.child(False)


class _Mine(HypothesisClass):
    """Both functions on the single instance "x"."""

    dimension = 1

    def __init__(self, pivot):
        self.pivot = pivot

    def version_space(self):
        return _MySpace((False, True), self.pivot)

    def default(self, x):
        return x == "x"

    def knows(self, x):
        return x == "x"

    def from_plain(self, data):
        return _MySpace(tuple(data), self.pivot)

    def __repr__(self):
        return f"_Mine({self.pivot!r})"


class _MySpace(VersionSpace):
    def __init__(self, left, at):
        self.left, self.at = left, at

    @property
    def dimension(self):
        return len(self.left) - 1

    def restrict(self, x, y):
        if x != "x":
            return self
        return _MySpace((y,), self.at) if y in self.left else None

    def to_plain(self):
        return list(self.left)

    def pivot(self):
        return super().pivot() if self.at is None else self.at


def test_a_class_of_ones_own_plugs_in():
    mine = _Mine("x")
    space = mine.version_space()
    assert [
        space.predict("x"),
        space.restrict("x", False).predict("x"),
        space.restrict("x", True).predict("x"),
    ] == [
        True,  # neither label keeps the dimension
        False,
        True,
    ]
    assert not space.predict("y")
    assert is_shattered(mine, shattered_tree(mine))
    assert (mine, mine.digest) == (_Mine("x"), "_Mine('x')")
    assert len({mine, _Mine("x"), _Mine(None)}) == 2


def test_a_class_of_ones_own_that_says_less_is_told_so():
    with pytest.raises(SizeError, match=r"override pivot\(\)"):
        shattered_tree(_Mine(None))
    with pytest.raises(SizeError, match=r"override as_finite\(\)"):
        _Mine("x").as_finite()


def test_a_pivot_that_breaks_its_promise_is_reported():
    class Broken(_Mine):
        dimension = 2  # one too many

        def version_space(self):
            return type("_S", (_MySpace,), {"dimension": 2})((False, True), "x")

    with pytest.raises(ParameterError, match=r"see VersionSpace\.pivot"):
        shattered_tree(Broken("x")).child(False)
