"""Parameters that make no class: each refusal names the field and its bound; what was given cannot be changed later."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses import Conjunctions, Finite, Intervals, Points, SingletonsOrEmpty, Thresholds

TABLE = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)


@pytest.mark.parametrize("make", [Points, SingletonsOrEmpty, Thresholds, Intervals])
@pytest.mark.parametrize("m", [0, -3, 2.0, True, "3", math.nan])
def test_a_domain_must_be_a_whole_number(make, m):
    with pytest.raises(ParameterError, match=r"must be a whole number >= 1, got .* largest instance"):
        make(m)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.empty((0, 3), dtype=bool), r"at least one of each, got \(0, 3\)"),
        (np.empty((1, 0), dtype=bool), r"at least one of each, got \(1, 0\)"),
        (np.ones(3, dtype=bool), r"shape \(hypotheses, instances\)"),
        (np.ones((1, 2, 3), dtype=bool), r"got \(1, 2, 3\)"),
        ([[True], [True, False]], "one row a hypothesis"),
        (np.ones((1, 3)), r"booleans, got float64; give table.astype\(bool\)"),
        ([[0, 1]], "booleans, got int"),
        ([["a", "b"]], "booleans"),
        ([[True, False], [False, False], [True, False]], "hypotheses 0 and 2 .* drop one"),
    ],
)
def test_bad_tables_are_refused(table, message):
    with pytest.raises(ParameterError, match=message):
        Finite(table)


@pytest.mark.parametrize(
    "domain", [[1, 2], [1, 2, 3, 4], [1, 1, 2], [1, 1.0, 2], [1, 2, [3]], [1, 2, {"x": 1}], [1, 2, math.nan]]
)
def test_bad_domains_are_refused(domain):
    with pytest.raises(ParameterError, match="domain must name 3 different instances"):
        Finite(TABLE, domain=domain)


@pytest.mark.parametrize("domain", ["xyz", 3])
def test_a_domain_that_is_no_list_is_refused(domain):
    with pytest.raises(ParameterError, match="domain must be a list of instances, got one"):
        Finite(TABLE, domain=domain)


def test_bad_predicates_are_refused():
    with pytest.raises(ParameterError, match="at least one of each"):
        Finite.from_predicates([], [1, 2])
    with pytest.raises(ParameterError, match="at least one of each"):
        Finite.from_predicates([bool], [])
    with pytest.raises(ParameterError, match="hypotheses 0 and 1"):
        Finite.from_predicates([bool, bool], [0, 1])
    with pytest.raises(ParameterError, match="predicates must be a list of functions"):
        Finite.from_predicates(bool, [0, 1])
    with pytest.raises(ParameterError, match="predicates must be functions"):
        Finite.from_predicates([bool, 1], [0, 1])
    with pytest.raises(ParameterError, match="domain must be a list of instances, got one int"):
        Finite.from_predicates([bool], 2)
    asked = []
    with pytest.raises(SizeError, match="the class of the predicates has 6000 hypotheses on 6000 instances"):
        Finite.from_predicates([asked.append] * 6000, range(6000))
    assert not asked


def test_predicates_make_the_class_of_their_values():
    predicates, domain = [lambda x, a=a: x >= a for a in range(1, 8)], [5, 1, 3, 2, 6, 4]
    made, closed = Finite.from_predicates(predicates, iter(domain)), Thresholds(6).as_finite()
    assert made.dimension == closed.dimension == 2
    assert [list(row) for row in made.table] == [[p(x) for x in domain] for p in predicates]
    assert [made.default(x) for x in domain] == [predicates[0](x) for x in domain]
    for x in domain:
        for y in (False, True):
            assert (
                made.version_space().restrict(x, y).dimension
                == closed.version_space().restrict(x, y).dimension
            )


def test_a_table_too_large_is_refused():
    with pytest.raises(SizeError, match=r"6000 hypotheses on 6000 instances; at most 33554432 cells"):
        Finite(np.eye(6000, dtype=bool))


@pytest.mark.parametrize(
    ("names", "k", "message"),
    [
        ([], 0, "names is empty"),
        ("abc", 1, "names must be a list of feature names, got one str; put it in a list"),
        (3, 1, "got one int"),
        (["a", "a"], 1, "2 names, 1 of them different"),
        ([["a"]], 1, "names must be hashable"),
        (["a"], 2, "k must be at most 1, the number of names, got 2"),
        (["a"], -1, "k must be a whole number >= 0"),
        (["a"], 1.0, "k must be a whole number >= 0"),
        (["a"], True, "k must be a whole number >= 0"),
    ],
)
def test_bad_conjunctions_are_refused(names, k, message):
    with pytest.raises(ParameterError, match=message):
        Conjunctions(names, k)


def test_conjunctions_too_many_to_search_are_refused():
    with pytest.raises(SizeError, match=r"Conjunctions of at most 10 of 20 features has \d+ hypotheses"):
        Conjunctions(range(20), 10)


def test_a_table_cannot_be_changed_from_outside():
    given = TABLE.copy()
    finite = Finite(given)
    given[:] = True
    assert (finite.table == TABLE).all()
    with pytest.raises(ValueError, match="read-only"):
        finite.table[0, 0] = True


def test_a_domain_cannot_be_changed_from_outside():
    given = [{"u": 1, "v": 2}, "a", "b"]
    finite = Finite(TABLE, domain=given)
    given[0]["u"] = 7
    given[1] = "c"
    assert list(finite.domain) == [{"u": 1, "v": 2}, "a", "b"]
    assert all(map(finite.knows, finite.domain))
