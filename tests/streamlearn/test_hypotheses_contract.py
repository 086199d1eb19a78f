"""What every class promises: it never trips over an instance, never changes, and its states survive JSON."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import msgspec
import numpy as np
import pytest

import streamlearn
from streamlearn.errors import StateError
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Labelling,
    Point3,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
)

TABLE = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)

CLASSES = [
    Point3(),
    Points(),
    Points(5),
    SingletonsOrEmpty(),
    SingletonsOrEmpty(5),
    Thresholds(5),
    Thresholds(2**60),
    Thresholds(2**100),
    Intervals(5),
    Intervals(2**60),
    Conjunctions(["a", "b", "c"], 2),
    Stumps({"a": [0.5], "b": [0.1, 0.9]}),
    Finite(TABLE),
    Finite(TABLE, domain=["x", ("y", 1), {"u": 1, "v": 0}]),
]
EACH = pytest.mark.parametrize("cls", CLASSES, ids=repr)


class Unhashable:
    __hash__ = None


class Odd:
    """Hashable, and equal to nothing known."""


NO_INSTANCE = [
    [1],
    {1},
    {"a": [1]},
    {"a": {}},
    np.ones(1),
    np.ones(2),
    Unhashable(),
    {"a": Unhashable(), "b": 1},
    math.nan,
    {"a": math.nan},
]
MAYBE = [
    None,
    "",
    "1",
    Odd(),
    {},
    -1,
    0,
    10**400,
    math.inf,
    1e300,
    2.5,
    1j,
    Decimal("NaN"),
    Decimal("sNaN"),
    b"x",
    (1, 2),
]


def pickled(it):
    return pickle.loads(pickle.dumps(it))  # noqa: S301 - our own bytes


def walk(cls):
    """The version spaces along one long path that uses every kind of restriction."""
    instances = {
        "Conjunctions": [{"a": x & 1, "b": x >> 1 & 1, "c": x >> 2 & 1} for x in range(8)],
        "Stumps": [{"a": x % 2, "b": x / 4} for x in range(8)],
    }.get(type(cls).__name__, [3, 1, 2, "x", ("y", 1), {"u": 1, "v": 0}, 5, 4, 2**59, 2**58])
    spaces = [cls.version_space()]
    for step, x in enumerate(instances):
        kept = spaces[-1].restrict(x, step % 2 == 1)
        if kept is not None:
            spaces.append(kept)
    return spaces, instances


@EACH
@pytest.mark.parametrize("x", NO_INSTANCE, ids=lambda x: type(x).__name__)
def test_what_is_no_instance_is_unknown_everywhere(cls, x):
    assert cls.knows(x) is False
    assert cls.default(x) is False
    for space in walk(cls)[0]:
        assert space.predict(x) is False
        assert space.restrict(x, True) is space
        assert space.restrict(x, False) is space


@EACH
@pytest.mark.parametrize("x", MAYBE, ids=lambda x: type(x).__name__)
def test_no_instance_is_ever_an_error(cls, x):
    known = cls.knows(x)
    assert known in {True, False}
    assert known or cls.default(x) is False
    for space in walk(cls)[0]:
        assert space.predict(x) in {True, False}
        kept = [space.restrict(x, y) for y in (False, True)]
        assert kept != [None, None]
        assert known or kept == [space, space]


@EACH
def test_spaces_never_change(cls):
    spaces, instances = walk(cls)
    first = [space.to_plain() for space in spaces]
    answers = [[space.predict(x) for x in instances] for space in spaces]
    for space in spaces:  # every space is restricted anew, after larger ones were made from it
        for x in instances:
            for y in (True, False):
                space.restrict(x, y)
    assert [space.to_plain() for space in spaces] == first
    assert [[space.predict(x) for x in instances] for space in spaces] == answers


@EACH
def test_saved_spaces_survive_json(cls):
    spaces, instances = walk(cls)
    assert len(spaces) > 2
    for space in spaces:
        data = msgspec.json.decode(msgspec.json.encode(space.to_plain()))
        again = cls.from_plain(data)
        assert again.dimension == space.dimension
        for x in instances:
            assert again.predict(x) == space.predict(x)
            for y in (True, False):
                assert (again.restrict(x, y) is None) == (space.restrict(x, y) is None)


GARBAGE = [
    None, 0, -1, 1.5, "", "g", "0x1", "1_1", "+1", " 1", "0", "f" * 40, [], [1], [1, 2, 3], [2, 1], [0, 1], [1, 2**300],
    ["1", "2"], [True, False], {}, {"point": 1, "excluded": []}, {"point": 2**300}, {"point": [1]}, {"point": math.nan},
    {"point": {"tuple": 1}}, {"point": {"float": "nan"}}, {"point": {"set": [[]]}}, {"excluded": None},
    {"excluded": [1, 1]}, {"excluded": [1, [2]]}, {"excluded": list(range(1, 8))}, {"ends": [1, 2, 3]},
    {"ends": [3, 2, 2, 3]}, {"ends": [1, 1, 1, 2**300]}, {"ends": [0, 1, 1, 2]}, {"gaps": [[1]]},
    {"gaps": [[1, 2], [3, 4]]},
    {"gaps": [[3, 2]]}, {"gaps": [[2, 3], [1, 1]]}, {"gaps": [[1, 2**300]]}, {"gaps": [[0, 1]]}, {"gaps": [["a", 1]]},
]  # fmt: skip

FIT_THE_UNBOUNDED = [{"point": 2**300}, {"excluded": list(range(1, 8))}]


@EACH
@pytest.mark.parametrize("data", GARBAGE, ids=str)
def test_garbage_is_no_version_space(cls, data):
    if isinstance(cls, Points | SingletonsOrEmpty) and cls.domain is None and data in FIT_THE_UNBOUNDED:
        assert cls.from_plain(data).to_plain() == data
        return
    with pytest.raises(StateError):
        cls.from_plain(data)


def test_the_largest_states_are_read_and_larger_ones_refused():
    assert Thresholds(5).from_plain([6, 6]).dimension == 0
    with pytest.raises(StateError):
        Thresholds(5).from_plain([6, 7])
    assert Intervals(5).from_plain({"gaps": []}).dimension == 0
    assert SingletonsOrEmpty(5).from_plain({"excluded": [1, 2, 3, 4, 5]}).dimension == 0
    with pytest.raises(StateError):
        Points(5).from_plain({"excluded": [1, 2, 3, 4, 5]})
    with pytest.raises(StateError):
        Points(5).from_plain({"point": 6})
    with pytest.raises(StateError):
        Finite(TABLE).from_plain("10")  # four hypotheses: f is the largest


@pytest.mark.parametrize(
    "instance",
    [
        "a",
        1,
        2.5,
        True,
        None,
        math.inf,
        -math.inf,
        ("a", (1, 2)),
        pytest.param(frozenset({("u", 1), ("v", "x")}), id="frozenset"),
        np.int64(7),
        2**70,
    ],
    ids=repr,
)
def test_points_of_these_kinds_can_be_saved(instance):
    points = Points()
    for y in (True, False):
        space = points.version_space().restrict(instance, y)
        data = msgspec.json.decode(msgspec.json.encode(space.to_plain()))
        again = points.from_plain(data)
        assert again.restrict(instance, not y) is None
        assert again.restrict(instance, y) is again


def test_points_of_other_kinds_say_that_they_cannot_be_saved():
    space = Points().version_space().restrict(Odd(), False)
    with pytest.raises(StateError, match="of type Odd cannot be saved") as caught:
        space.to_plain()
    assert "0x" not in str(caught.value)


@EACH
def test_classes_are_equal_by_their_parameters(cls):
    again = pickled(cls)
    assert again == cls
    assert hash(again) == hash(cls)
    assert again.digest == cls.digest
    assert len(cls.digest) < 120
    assert [cls == other for other in CLASSES].count(True) == 1
    assert again.dimension == cls.dimension


@EACH
def test_copies_are_the_same_object_and_pickles_go_on_alike(cls):
    spaces, instances = walk(cls)
    for it in (cls, *spaces):
        assert copy.deepcopy(it) is it
        assert copy.copy(it) is it
    for space in pickled(spaces), spaces:
        assert [[it.predict(x) for x in instances] for it in space] == [
            [it.predict(x) for x in instances] for it in spaces
        ]


def test_a_long_name_becomes_a_short_digest():
    long, other = (Conjunctions([f"feature-{i}" for i in range(8)], k) for k in (1, 2))
    assert len(long.digest) < 60
    assert long.digest != other.digest
    assert Points(5).digest == "Points(5)"
    assert Finite(TABLE).digest != Finite(TABLE[::-1]).digest
    assert Finite(TABLE).digest != Finite(TABLE, domain=list("xyz")).digest


def test_a_digest_does_not_hang_on_the_order_of_features_or_sets():
    def digest(domain):
        return Finite(TABLE, domain=domain).digest

    assert digest([{"u": 1, "v": 2}, "a", "b"]) == digest([{"v": 2, "u": 1}, "a", "b"])
    assert digest([{"u": 1, "v": 2}, "a", "b"]) != digest([{"u": 2, "v": 1}, "a", "b"])
    assert digest([("a", "b"), "c", "d"]) != digest(["a", ("b", "c"), "d"])
    orders = [frozenset(order) for order in itertools.permutations([8, 16, 32, 64])]
    assert len({tuple(order) for order in orders}) > 1  # equal sets, but not alike to go through
    assert len({digest([order, "a", "b"]) for order in orders}) == 1
    assert len({repr(Points().version_space().restrict(order, True).to_plain()) for order in orders}) == 1


@pytest.mark.parametrize(
    "x", [(1, math.nan), ((math.nan,),), frozenset([math.nan]), {"a": (math.nan,), "b": 1}]
)
def test_a_hidden_nan_is_no_instance(x):
    # It would be met as another one, and a state that holds it could not be read.
    assert not Points().knows(x)
    assert Points().version_space().restrict(x, False).to_plain() == {"excluded": []}


class Furious:
    """Hashable, but it cannot be compared."""

    def __hash__(self):
        return 3

    def __eq__(self, other):
        raise RuntimeError


@EACH
@pytest.mark.parametrize(
    "x", [Furious(), Decimal("1e999999999"), Decimal("-1e999999999")], ids=["eq", "+", "-"]
)
def test_instances_that_mean_harm_are_unknown(cls, x):
    if type(x) is Furious or not isinstance(cls, Points | SingletonsOrEmpty) or cls.domain is not None:
        assert not cls.knows(x)
        for space in walk(cls)[0]:
            assert space.predict(x) is False
            assert space.restrict(x, True) is space


ONE_INSTANCE = [
    Point3(),
    Points(),
    Points(3),
    SingletonsOrEmpty(3),
    Thresholds(3),
    Intervals(3),
    Finite(TABLE, [1, 2, 3]),
]


@pytest.mark.parametrize("cls", ONE_INSTANCE, ids=repr)
def test_numbers_of_any_type_and_rivers_dicts_are_the_same_instance(cls):
    for x in (2, 2.0, np.int16(2), np.float32(2), Decimal(2), Fraction(2), {"x": 2}, {"anything": 2.0}):
        assert cls.knows(x)
        for y in (False, True):
            kept, plain = cls.version_space().restrict(x, y), cls.version_space().restrict(2, y)
            assert kept.restrict(2, not y) is None
            assert plain.restrict(x, not y) is None
            assert kept.predict(x) == plain.predict(2)


def test_conjunctions_read_bits_of_any_type():
    rules = Conjunctions(["a", "b"], 1)
    for one, zero in ((1, 0), (True, False), (1.0, 0.0), (np.bool_(True), np.bool_(False))):
        space = rules.version_space().restrict({"a": one, "b": zero, "more": "x"}, True)
        assert space.to_plain() == "3"  # the constant 1 and a
    for x in ({"a": 1}, {"a": 2, "b": 0}, {"a": None, "b": 0}, {"a": "1", "b": 0}, {"a": np.ones(2), "b": 1}):
        assert not rules.knows(x)


def test_an_older_space_of_points_can_be_restricted_again():
    start = Points().version_space()
    one = start.restrict("a", False)
    ab, ac = one.restrict("b", False), one.restrict("c", False)
    assert (ab.restrict("c", True) is None, ac.restrict("b", True) is None) == (False, False)
    assert (ab.restrict("b", True), ac.restrict("c", True)) == (None, None)
    assert start.to_plain() == {"excluded": []}
    assert ac.to_plain() == {"excluded": ["a", "c"]}


def test_the_package_is_found_by_name():
    assert streamlearn.hypotheses.Thresholds is Thresholds
    assert "hypotheses" in dir(streamlearn)


def test_labellings():
    h = Labelling([1, {"u": 1, "v": 2}])
    assert [h(1), h({"x": 1}), h({"v": 2, "u": 1}), h(2), h([1])] == [True, True, True, False, False]
    assert h != Labelling([1])
    assert h != {1}
    assert "1 at 2 instances" in repr(h)
