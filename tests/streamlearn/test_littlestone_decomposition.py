"""Irreducibility, decomposition trees and essential hypotheses against Definitions 7-9, Fact 2 and THEORY §4."""

from __future__ import annotations

import itertools
from functools import cache

import littlestone as oracle
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses import (
    Finite,
    Intervals,
    Labelling,
    Point3,
    Points,
    SingletonsOrEmpty,
    Thresholds,
    decomposition_dimension,
    decomposition_tree,
    essential_hypotheses,
    irreducibility,
    is_irreducible,
)

# --- the definitions, word for word, on classes of a few columns


@cache
def answers(rows):
    return tuple(oracle.soa(rows, place) for place in range(len(next(iter(rows)))))


@cache
def irreducible(rows, k):
    """Definition 7: whatever k instances are labelled by SOA, the dimension stays."""
    if not rows:
        return True
    width, said = len(next(iter(rows))), answers(rows)
    return all(
        oracle.dimension(frozenset(h for h in rows if all(h[x] == said[x] for x in places)))
        == oracle.dimension(rows)
        for places in itertools.combinations_with_replacement(range(width), min(k, width))
    )


@cache
def valid_trees(rows, depth, p, d, width):
    """Definition 8: for each valid tree below a node, the set of (dimension, SOA's answers) of its nonempty leaves.

    Useless queries too: they may be asked as long as the bounds allow.
    """
    q = oracle.dimension(rows)
    if depth > p * (2 ** (d - q + 1) - 1):
        return frozenset()
    found = set()
    if depth <= p * (2 ** (d - q) - 1) and irreducible(rows, p * 2 ** (d - q)):
        found.add(frozenset({(q, answers(rows))} if rows else ()))
    for place in range(width):
        parts = (oracle.restrict(rows, place, y) for y in (False, True))
        below = [valid_trees(part, depth + 1, p, d, width) for part in parts]
        found |= {zero | one for zero, one in itertools.product(*below)}
    return frozenset(found)


def by_definition(rows, p, d):
    """Return ρ and C: Definitions 8 and 9."""
    trees = valid_trees(rows, 0, p, d, len(next(iter(rows))))
    rho = min(max(q for q, _ in leaves) for leaves in trees)
    optimal = [leaves for leaves in trees if max(q for q, _ in leaves) == rho]
    common = [frozenset(said for q, said in leaves if q == rho) for leaves in optimal]
    return rho, frozenset.intersection(*common)


def labelled(essential, width):
    return frozenset(tuple(h(x) for x in range(width)) for h in essential)


def check_valid(tree, rows, p, d, depth=0):
    """Check a tree against Definition 8, node by node."""
    q = oracle.dimension(rows)
    assert tree.dimension == q
    assert tuple(map(tree.answers, range(len(next(iter(rows)))))) == answers(rows)
    assert depth <= p * (2 ** (d - q + 1) - 1)
    if tree.depth:
        for y in (False, True):
            check_valid(tree.child(y), oracle.restrict(rows, tree.instance, y), p, d, depth + 1)
    else:
        assert depth <= p * (2 ** (d - q) - 1)
        assert irreducible(rows, p * 2 ** (d - q))


@given(oracle.tables(16, 4), st.integers(0, 5))
def test_irreducible_is_definition_7(table, k):
    finite = Finite(table)
    assert is_irreducible(finite, k) == irreducible(oracle.rows_of(finite), k)


@pytest.mark.parametrize("above", [0, 1])
@pytest.mark.parametrize("p", [1, 2])
@settings(max_examples=60)
@given(table=oracle.tables(12, 6))
def test_rank_and_essential_hypotheses_are_definitions_8_and_9(p, above, table):
    finite = Finite(table)
    rows, d = oracle.rows_of(finite), finite.dimension + above
    assume(d <= 2)  # useless queries make the definition's trees many
    rho, common = by_definition(rows, p, d)
    assert decomposition_dimension(finite, p, d=d) == rho
    assert labelled(essential_hypotheses(finite, p, d=d), table.shape[1]) == common


def test_rank_and_essential_hypotheses_on_classes_that_do_not_decompose():
    generator, seen = np.random.default_rng(5), set()
    for _ in range(150):
        table = np.unique(generator.random((generator.integers(5, 17), 7)) < 0.2, axis=0)
        finite = Finite(table)
        if finite.dimension > 2:
            continue
        rho, common = by_definition(oracle.rows_of(finite), 1, finite.dimension)
        assert decomposition_dimension(finite, 1) == rho
        assert labelled(essential_hypotheses(finite, 1), 7) == common
        seen.add((rho, len(common) if rho else None, decomposition_tree(finite, 1).depth if rho else None))
    assert {(1, 1, 0), (1, 1, 2), (1, 1, 3), (2, 1, 0)} <= seen  # roots that are leaves, and deeper trees


@given(oracle.tables(16, 6), st.integers(1, 3), st.integers(0, 1))
def test_the_tree_is_valid_and_optimal(table, p, above):
    finite = Finite(table)
    d = finite.dimension + above
    tree = decomposition_tree(finite, p, d=d)
    check_valid(tree, oracle.rows_of(finite), p, d)
    leaves = list(tree.leaves())
    rho = decomposition_dimension(finite, p, d=d)
    assert max(leaf.dimension for leaf in leaves) == rho
    assert essential_hypotheses(finite, p, d=d) <= {leaf.answers for leaf in leaves if leaf.dimension == rho}


# --- Fact 2


def part(table, bits):
    return Finite(table[[bool(bits >> number & 1) for number in range(len(table))]])


@settings(max_examples=300)
@given(oracle.tables(12, 5), st.integers(1, 3), st.data())
def test_fact_2(table, p, data):
    width, some = table.shape[1], st.integers(1, 2 ** len(table) - 1)
    d = Finite(table).dimension  # of H
    bits = data.draw(some)
    g = part(table, bits)
    rho, essential = decomposition_dimension(g, p, d=d), essential_hypotheses(g, p, d=d)
    said = labelled(essential, width)
    # P1
    assert 0 <= rho <= d
    assert len(essential) <= p**d * 2 ** (d * d)
    # P2
    rows = oracle.rows_of(g)
    for h in said:
        for places in itertools.combinations(range(width), min(p, width)):
            assert any(all(f[x] == h[x] for x in places) for f in rows)
    # P3, of a subclass
    less = bits & data.draw(some)
    if less:
        f = part(table, less)
        for more in (p, 2 * p):
            below = decomposition_dimension(f, more, d=d)
            assert below <= rho
            if below == rho:
                assert essential_hypotheses(f, more, d=d) <= essential
    # P4
    if rho == 0:
        assert said == rows


@settings(max_examples=200)
@given(oracle.tables(10, 4, fewest_rows=3), st.integers(1, 2), st.data())
def test_fact_2_of_several_classes(table, p, data):
    # P3, second half: classes around one F of the same dimension have an essential hypothesis in common.
    everything = 2 ** len(table) - 1
    d = Finite(table).dimension
    core = data.draw(st.integers(1, everything))
    around = [part(table, core | data.draw(st.integers(0, everything))) for _ in range(3)]
    rho = decomposition_dimension(part(table, core), 2 * p, d=d)
    around = [g for g in around if decomposition_dimension(g, p, d=d) == rho]
    if around:
        assert frozenset.intersection(*(essential_hypotheses(g, p, d=d) for g in around))


# --- THEORY-prediction §4


@given(oracle.tables(16, 5))
def test_few_instances_or_few_hypotheses_decompose_completely(table):
    finite = Finite(table)
    p = max(1, min(table.shape[1], len(table) - 1))
    for more in (p, p + 1, 10 * p):
        assert decomposition_dimension(finite, more) == 0
        assert labelled(essential_hypotheses(finite, more), table.shape[1]) == oracle.rows_of(finite)


def test_few_instances_in_the_sense_of_p_times_2_to_the_d_are_not_enough():
    chosen = [set(c) for j in range(3) for c in itertools.combinations(range(6), j)]
    small = Finite([[x in some for x in range(6)] for some in chosen])
    p, d = 2, small.dimension
    assert (d, len(small.domain)) == (2, p * (2**d - 1))
    assert decomposition_dimension(small, p) == 2
    assert essential_hypotheses(small, p) == {Labelling([])}


def test_there_may_be_no_essential_hypothesis():
    table = ["01000", "01100", "01101", "01110", "10001", "11000", "11010"]
    finite = Finite([[bit == "1" for bit in row] for row in table])
    assert decomposition_dimension(finite, 1) == 1
    assert essential_hypotheses(finite, 1) == frozenset()


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "cls", [*(Points(m) for m in range(1, 8)), *(SingletonsOrEmpty(m) for m in range(1, 7))], ids=repr
)
def test_the_closed_form_of_points_is_what_the_search_finds(cls, p):
    finite = cls.as_finite()
    assert is_irreducible(cls, p) == is_irreducible(finite, p)
    assert is_irreducible(cls, 0)
    rho, essential = decomposition_dimension(cls, p), essential_hypotheses(cls, p)
    assert rho == decomposition_dimension(finite, p) == int(cls.size >= p + 2)
    assert essential == essential_hypotheses(finite, p)
    assert essential == {Labelling([])} if rho else len(essential) == cls.size
    assert str(decomposition_tree(cls, p)) == str(decomposition_tree(finite, p))
    if cls.dimension == 1:  # part of a richer class, the bounds on depths are wider
        assert decomposition_dimension(cls, p, d=2) == decomposition_dimension(finite, p, d=2)


@pytest.mark.parametrize(
    "cls", [Points(), Points(2**60), SingletonsOrEmpty(), SingletonsOrEmpty(2**60)], ids=repr
)
def test_points_of_huge_domains(cls):
    assert is_irreducible(cls, 10**9)
    assert decomposition_dimension(cls, 10**9) == 1
    assert essential_hypotheses(cls, 10**9) == {Labelling([])}
    assert decomposition_tree(cls, 10**9).depth == 0


# --- refusals


@pytest.mark.parametrize(
    "cls", [Thresholds(2**60), Intervals(10**6), Points(2**60), SingletonsOrEmpty()], ids=repr
)
def test_a_class_too_large_to_work_through_is_refused(cls):
    p = 2**61 if isinstance(cls, Points) else 3
    d = 2 if isinstance(cls, SingletonsOrEmpty) else None
    for tool in (decomposition_dimension, decomposition_tree, essential_hypotheses):
        with pytest.raises(SizeError, match=r"cells|cannot be listed"):
            tool(cls, p, d=d)


def test_irreducibility_of_a_class_too_large_is_refused():
    with pytest.raises(SizeError, match=r"at most \d+ cells"):
        is_irreducible(Thresholds(2**60), 1)
    with pytest.raises(SizeError, match="500 instances, at most 250"):
        is_irreducible(Thresholds(500), 1)


def test_work_that_would_not_end_is_refused(monkeypatch):
    finite = Finite(np.unique(np.random.default_rng(3).random((40, 12)) < 0.2, axis=0))
    monkeypatch.setattr(irreducibility, "MOST_WORK", 500)
    with pytest.raises(SizeError, match=r"hypotheses and 12 instances .* more than 500 divisions"):
        decomposition_dimension(finite, 1)


def test_the_deepest_search_leaves_room_on_the_stack(monkeypatch):
    monkeypatch.setattr(
        irreducibility, "MOST_WORK", 250 * 600
    )  # some ways down to the last instance, no more

    def called_from(depth, work):
        return work() if not depth else called_from(depth - 1, work)

    deep = Points(irreducibility.MOST_INSTANCES).as_finite()
    for tool in (decomposition_dimension, essential_hypotheses, decomposition_tree, is_irreducible):
        with pytest.raises(SizeError, match="exact work"):
            called_from(300, lambda tool=tool: tool(deep, 248))


@pytest.mark.parametrize("p", [0, -1, 1.0, True, "2"])
def test_p_must_be_a_whole_number(p):
    for tool in (decomposition_dimension, decomposition_tree, essential_hypotheses):
        with pytest.raises(ParameterError, match="p must be a whole number >= 1"):
            tool(Point3(), p)


def test_numpys_whole_numbers_are_whole_numbers():
    seven, one = Thresholds(7), np.int8(1)
    assert decomposition_dimension(seven, np.int8(120)) == 0
    assert decomposition_dimension(seven, one, d=np.int8(3)) == decomposition_dimension(seven, 1)
    assert is_irreducible(seven, one) == is_irreducible(seven, 1)


def test_k_and_d_must_be_whole_numbers_and_fit():
    with pytest.raises(ParameterError, match="k must be a whole number >= 0"):
        is_irreducible(Point3(), -1)
    with pytest.raises(ParameterError, match="d must be at least 3"):
        decomposition_dimension(Thresholds(7), 1, d=2)
    with pytest.raises(ParameterError, match="d must be a whole number"):
        decomposition_dimension(Thresholds(7), 1, d=3.0)


def test_a_decomposition_tree_has_both_subtrees_or_none():
    tree = decomposition_tree(Thresholds(3), 2)
    leaf = next(tree.leaves())
    with pytest.raises(ParameterError, match="two trees"):
        type(tree)(1, leaf.answers, 1, leaf)
    with pytest.raises(ParameterError, match="a leaf has no subtrees"):
        leaf.child(True)
    assert repr(tree) == "<DecompositionTree of depth 2>"
