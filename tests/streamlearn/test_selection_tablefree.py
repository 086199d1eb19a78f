"""Direct selection and groups without a table: the law is that of the equal table, and that of the definition."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selecting import random_table, ratio

from streamlearn import Key
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
)
from streamlearn.hypotheses.enumerated import EnumeratedClass
from streamlearn.selection import Mistake, direct, groups, scheme
from streamlearn.selection.exponential import SHIFT, draw

MODULES = {"direct": direct, "groups": groups}
GROUPS = groups.PURPOSE
BATCH = 6

UNKNOWN = "no instance"
CALLS = 3


class Unlisted(EnumeratedClass):
    """Numbered functions that are asked instance by instance; whatever would need a table is refused."""

    def __init__(self, functions, domain):
        self.functions = functions
        self.domain = domain
        self.size = len(functions)

    def ones(self, x):
        return sum(bool(f(x)) << row for row, f in enumerate(self.functions)) if x in self.domain else None

    def listed(self, *_):
        raise AssertionError("a table, or a dimension, was asked for")

    dimension_of = reaches = pivot_of = divisions = as_finite = from_plain = listed

    def __repr__(self):
        return f"Unlisted(<{self.size}>)"


def functions_of(table):
    return [dict(zip(table.domain, row.tolist(), strict=True)).__getitem__ for row in table.table]


def thresholds(m):
    return Unlisted([lambda x, a=a: x >= a for a in range(1, m + 2)], range(1, m + 1))


def intervals(m):
    ends = [(1, 0), *((a, b) for a in range(1, m + 1) for b in range(a, m + 1))]
    return Unlisted([lambda x, a=a, b=b: a <= x <= b for a, b in ends], range(1, m + 1))


def points(m, *, with_empty):
    numbers = range(1, m + 1 + with_empty)
    return Unlisted([lambda x, point=point: x == point for point in numbers], range(1, m + 1))


cuts = st.lists(st.integers(0, 9), min_size=1, max_size=2, unique=True)
stumps = st.dictionaries(st.sampled_from(["a", "b"]), cuts, min_size=1, max_size=2).map(Stumps)
conjunctions = st.tuples(st.sampled_from(["a", "ab", "abc"]), st.integers(0, 1)).map(
    lambda drawn: Conjunctions(list(drawn[0]), drawn[1])
)
tables = st.integers(0, 2**32).map(lambda seed: Finite(random_table(np.random.default_rng(seed), 7, 4)))


@st.composite
def pairs(draw):
    """Draw a class without a table, its table from elsewhere, and the instances of both, in the same order."""
    kind = draw(st.sampled_from(["thresholds", "intervals", "points", "stumps", "conjunctions", "table"]))
    m = draw(st.integers(1, 3))
    if kind == "thresholds":
        free, table = thresholds(2 * m), Thresholds(2 * m).as_finite()
    elif kind == "intervals":
        free, table = intervals(m), Intervals(m).as_finite()
    elif kind == "points":
        with_empty = draw(st.booleans())
        table = (SingletonsOrEmpty(m) if with_empty else Points(m)).as_finite()
        free = points(m, with_empty=with_empty)
    elif kind == "table":
        table = draw(tables)
        free = Unlisted(functions_of(table), table.domain)
    else:
        free = draw(stumps if kind == "stumps" else conjunctions)
        table = free.as_finite()
    return free, table, kind


def said(ones, size):
    """Return what each hypothesis says, for the hypotheses that say 1 at each instance."""
    return [tuple(bool(column >> row & 1) for column in ones) for row in range(size)]


def advanced(counting, saved, eta, mistakes, key, functions):
    """Return the run after one call, the law of the function drawn, and what the run remembers by functions."""
    module = MODULES[counting.mode]
    selector = counting.from_plain(saved, eta, BATCH)
    with patch.object(module, "draw", wraps=draw) as drawing:
        selector.advance(mistakes, key)
    ((num, scores, rest, *where),) = [call.args for call in drawing.call_args_list]
    assert rest == 0
    weights = {functions[row]: Fraction(num, 1 << SHIFT) ** score for row, score in scores.items()}
    law = {f: weight / sum(weights.values()) for f, weight in weights.items()}
    state = selector.to_plain()
    if counting.mode == "direct":
        memory = sorted(zip(functions, state["mistakes"], strict=True)), state["rounds"]
    else:
        lists = [int(group, 16) for group in state["groups"]]
        memory = [sorted(f for row, f in enumerate(functions) if rows >> row & 1) for rows in lists]
    return selector, (law, memory, where)


def stray(x, shift):
    """Return another instance in the same cell of a stump's cut points, which are whole numbers."""
    return {name: value + shift if value == int(value) else value - shift for name, value in x.items()}


@pytest.mark.parametrize("mode", ["direct", "groups"])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_without_a_table_the_law_is_that_of_the_table_and_of_the_definition(mode, data):
    free, table, kind = data.draw(pairs())
    order = [0, *data.draw(st.permutations(range(1, table.size)))]  # the default stays the first
    shuffled = Finite(table.table[order], domain=table.domain)
    eta, key = data.draw(st.sampled_from([0.3, 1.0, 2.5])), Key.from_seed(data.draw(st.integers(0, 99)))
    versions = [(cls, said([cls.ones(x) for x in table.domain], cls.size)) for cls in (free, table, shuffled)]
    assert versions[0][1] == versions[1][1] == list(map(tuple, table.table.tolist()))
    schemes = [scheme(cls, mode) for cls, _ in versions]
    assert schemes[0].hypotheses is free  # no table was made
    assert len({(s.steps, s.batch(eta, 1e-3), s.widths().tobytes()) for s in schemes}) == 1
    saved = [s.start(eta, BATCH).to_plain() for s in schemes]
    union, kept = {}, [set() for _ in range(BATCH // 2)]  # the definition's own memory
    instances = st.one_of(st.none(), st.integers(0, len(table.domain) - 1))
    for call in range(1, min(CALLS, schemes[0].steps) + 1):
        drawn = data.draw(st.lists(st.tuples(instances, st.booleans()), max_size=BATCH))
        start = data.draw(st.integers(call, 5 * call))  # rounds may be in two batches
        records = [(start + t, place, y) for t, (place, y) in enumerate(drawn)]
        records = [(t, *union.get(t, rest)) for t, *rest in records]  # a round has one record
        shift = data.draw(st.sampled_from([0.0, 0.25])) if kind == "stumps" else 0.0
        batches = [
            [
                Mistake(t, UNKNOWN if place is None else stray(x, shift) if shift else x, y)
                for t, place, y in records
                for x in [None if place is None else cls_domain[place]]
            ]
            for cls_domain, shift in ((table.domain, shift), (table.domain, 0.0), (table.domain, 0.0))
        ]
        runs = [
            advanced(s, state, eta, mistakes, key, functions)
            for s, state, mistakes, (_, functions) in zip(schemes, saved, batches, versions, strict=True)
        ]
        assert runs[0][1] == runs[1][1] == runs[2][1]

        union.update({t: (place, y) for t, place, y in records})
        lots = {}
        for t, place, y in records:
            group = key.below(len(kept), f"{GROUPS}/{call}/group", t)
            lots.setdefault(group, []).append((key.uniform64(f"{GROUPS}/{call}/lot", t), place, y))
        for group, of_group in lots.items():
            kept[group].add(min(of_group, key=lambda lot: lot[0])[1:])
        weights = {}
        for f in versions[0][1]:
            agreeing = [{place is None or f[place] is y for place, y in seen} for seen in kept]
            wrong = sum(place is not None and f[place] is not y for place, y in union.values())
            score = -wrong if mode == "direct" else sum(False not in held for held in agreeing)
            weights[f] = ratio(eta) ** score
        total = sum(weights.values())
        assert runs[0][1][0] == {f: weight / total for f, weight in weights.items()}

        selectors = [selector for selector, _ in runs]
        assert selectors[0].to_plain() == selectors[1].to_plain()  # the same key, the same candidate
        assert [selectors[0].candidate()(x) for x in table.domain] == [
            selectors[1].candidate()(x) for x in table.domain
        ]
        saved = [selector.to_plain() for selector in selectors[:2]]
        functions = versions[2][1]
        rows = [functions.index(versions[0][1][row]) for row in saved[0]["rows"]]
        saved.append({**selectors[2].to_plain(), "rows": rows})  # all go on from the same candidate


def test_a_large_class_needs_no_table():
    """65,536 stumps: 16,385^2 cells, of which none is listed."""
    free = Stumps({"a": range(16384), "b": range(16384)})
    for mode in ("direct", "groups"):
        selector = scheme(free, mode).start(1.0, 40)
        selector.advance([Mistake(t, {"a": -1, "b": 5}, True) for t in range(1, 41)], Key.from_seed(1))
        assert selector.candidate()({"a": -1, "b": 5}) is True
