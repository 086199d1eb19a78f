"""Closed forms against the definitions: each class is written out as a table, and every version space is reached."""

from __future__ import annotations

import littlestone as oracle
import pytest

from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Point3,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
)

CLASSES = [
    Point3(),
    *(Points(m) for m in range(1, 7)),
    *(SingletonsOrEmpty(m) for m in range(1, 6)),
    *(Thresholds(m) for m in range(1, 13)),
    *(Intervals(m) for m in range(1, 11)),
    Conjunctions(["a"], 1),
    Conjunctions(["a", "b", "c"], 2),
    Conjunctions(["a", "b", "c"], 3),
    Conjunctions(["a", "b", "c", "d"], 1),
    Stumps({"x": [1.0]}),
    Stumps({"x": [1.0, 2.0, 4.0]}),
    Stumps({"x": [0.5], "y": [-1.0]}),
    Stumps({"x": [1.0, 2.0], "y": [3.0, 5.0]}),
]


def reachable(cls):
    """Yield every version space with the rows of the class's table that it holds."""
    finite = cls.as_finite()
    start = oracle.rows_of(finite)
    met, waiting = {start}, [(cls.version_space(), start)]
    while waiting:
        space, rows = waiting.pop()
        yield space, rows
        for place, x in enumerate(finite.domain):
            for y in (False, True):
                kept, left = space.restrict(x, y), oracle.restrict(rows, place, y)
                assert (kept is None) is not bool(left), "a space must be None exactly where nothing is left"
                if left and left not in met:
                    met.add(left)
                    waiting.append((kept, left))


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_every_version_space_is_as_the_definitions_say(cls):
    domain = cls.as_finite().domain
    for space, rows in reachable(cls):
        d = oracle.dimension(rows)
        assert space.dimension == d
        assert [space.predict(x) for x in domain] == [oracle.soa(rows, place) for place in range(len(domain))]
        if d:
            parts = [space.restrict(space.pivot(), y) for y in (False, True)]
            assert min(part.dimension for part in parts) >= d - 1


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_every_path_of_examples_leaves_what_the_table_leaves(cls):
    # Two paths may leave the same hypotheses in different objects: each object is compared, not each set.
    finite = cls.as_finite()
    waiting, met = [(cls.version_space(), finite.version_space())], set()
    while waiting:
        space, listed = waiting.pop()
        name = (repr(space.to_plain()), listed.to_plain())
        if name in met:
            continue
        met.add(name)
        assert space.dimension == listed.dimension
        for x in finite.domain:
            assert space.predict(x) == listed.predict(x)
            for y in (False, True):
                kept, left = space.restrict(x, y), listed.restrict(x, y)
                assert (kept is None) == (left is None)
                if kept is not None:
                    waiting.append((kept, left))
    assert len(met) >= finite.size


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_saved_version_spaces_come_back(cls):
    domain = cls.as_finite().domain
    for space, rows in reachable(cls):
        again = cls.from_plain(space.to_plain())
        assert again.to_plain() == space.to_plain()
        assert again.dimension == space.dimension
        labels = [{h[place] for h in rows} for place in range(len(domain))]
        for x, possible in zip(domain, labels, strict=True):
            assert {y for y in (False, True) if again.restrict(x, y)} == possible
            assert again.predict(x) == space.predict(x)


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
def test_the_default_is_a_hypothesis_of_the_class(cls):
    finite = cls.as_finite()
    assert tuple(cls.default(x) for x in finite.domain) in oracle.rows_of(finite)
    assert all(cls.knows(x) for x in finite.domain)


def test_the_tables_hold_what_their_names_say():
    def holds(cls, functions):
        finite = cls.as_finite()
        wanted = {tuple(bool(f(x)) for x in finite.domain) for f in functions}
        assert oracle.rows_of(finite) == wanted
        assert finite.size == len(wanted)

    holds(Thresholds(4), [lambda x, a=a: x >= a for a in range(1, 6)])
    holds(Points(4), [lambda x, j=j: x == j for j in range(1, 5)])
    holds(SingletonsOrEmpty(4), [lambda x, j=j: x == j for j in range(5)])
    holds(Intervals(4), [lambda x, a=a, b=b: a <= x <= b for a in range(1, 6) for b in range(a - 1, 5)])
    holds(
        Conjunctions(["a", "b", "c"], 2),
        [
            bool,
            *(lambda x, n=n: x[n] for n in "abc"),
            *(lambda x, n=n: x[n[0]] and x[n[1]] for n in ("ab", "ac", "bc")),
        ],
    )
    holds(
        Stumps({"u": [1.0, 2.0], "v": [0.0]}),
        [
            lambda x, n=n, c=c, up=up: (x[n] >= c) == up
            for n, c in (("u", 1.0), ("u", 2.0), ("v", 0.0))
            for up in (True, False)
        ],
    )


def test_domains_are_complete():
    assert list(Thresholds(4).as_finite().domain) == [1, 2, 3, 4]
    assert len({tuple(x.values()) for x in Conjunctions(["a", "b", "c"], 1).as_finite().domain}) == 8
    assert len(Stumps({"u": [1.0, 2.0], "v": [0.0]}).as_finite().domain) == 6


@pytest.mark.parametrize("unbounded", [Points(), SingletonsOrEmpty()], ids=repr)
def test_points_of_any_kind_behave_like_points_of_a_large_domain(unbounded):
    # 40 instances are far from used up by 6 labels, so names may stand for numbers.
    bounded, names = type(unbounded)(40), ["anna", (1, 2), 3.5, None, frozenset("ab"), 7]
    spaces = [(unbounded.version_space(), bounded.version_space())]
    for number, name in enumerate(names, start=1):
        for any_kind, numbered in list(spaces):
            for y in (False, True):
                kept = any_kind.restrict(name, y), numbered.restrict(number, y)
                assert (kept[0] is None) == (kept[1] is None)
                if kept[0] is not None:
                    assert kept[0].dimension == kept[1].dimension
                    assert [kept[0].predict(n) for n in names] == [kept[1].predict(n) for n in range(1, 7)]
                    spaces.append(kept)
    assert len(spaces) > 60


def test_thresholds_answer_as_theory_says():
    for m in (1, 2, 5, 8, 17):
        for lo in range(1, m + 2):
            for hi in range(lo, m + 2):
                space = Thresholds(m).from_plain([lo, hi])
                power = 2 ** ((hi - lo + 1).bit_length() - 1)
                for x in range(lo, min(hi, m) + 1):
                    assert space.predict(x) is not (hi - x >= power)


def test_thresholds_on_a_huge_domain():
    m = 2**60
    space, target, mistakes = Thresholds(m).version_space(), 3 * 2**57 + 12345, 0
    x = 1
    for step in range(4_000):  # instances all over the domain, and near the target
        x = (x * 6364136223846793005 + 1442695040888963407) % m + 1
        asked = x if step % 2 else max(1, min(m, target + (x % 2 ** (step % 60 + 1)) - 2 ** (step % 60)))
        y = asked >= target
        mistakes += space.predict(asked) != y
        space = space.restrict(asked, y)
    assert 0 < mistakes <= 60
    assert space.predict(m)
    assert not space.predict(1)


def test_finite_domains_of_other_instances():
    named = Finite([[True, False], [False, False]], domain=["a", ("b", 1)])
    assert named.version_space().restrict(("b", 1), False).dimension == 1
    assert named.version_space().restrict("a", True).dimension == 0
    rows = [{"u": 1, "v": 2}, {"v": 0, "u": 1}]
    both = Finite.from_predicates([lambda x: x["v"] > 1, lambda x: x["v"] > 5], rows)
    assert both.default({"v": 2, "u": 1})  # the order of the features does not matter
    assert both.knows({"u": 1.0, "v": 0})
    assert not both.knows({"u": 1})
