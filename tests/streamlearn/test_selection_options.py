"""Options: sound, private, and few; against the definitions, exact laws and a linear program."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from littlestone import dimension, restrict, soa
from scipy.optimize import linprog
from selecting import cube, mistakes, random_table

from streamlearn import Key
from streamlearn.errors import ParameterError, SizeError, StateError
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
from streamlearn.hypotheses.intervals import EndsSpace
from streamlearn.hypotheses.options import ListedOptions
from streamlearn.hypotheses.thresholds import ThresholdSpace
from streamlearn.selection import scheme


def by_definition(rows):
    """Return the options (x, y) of a set of hypotheses, with the hypotheses each leaves."""
    options = {}
    for x in range(len(next(iter(rows)))):
        y = not soa(rows, x)
        if restrict(rows, x, y):
            options[x, y] = restrict(rows, x, y)
    return options


def reachable(rows):
    """Return all sets of hypotheses that taking largest options leads to."""
    met, waiting = {rows}, [rows]
    while waiting:
        left = set(by_definition(waiting.pop()).values())
        for part in left:
            if not any(part < other for other in left) and part not in met:
                met.add(part)
                waiting.append(part)
    return met


def test_on_3000_random_classes_options_are_sound_and_end_within_the_dimension():
    rng = np.random.default_rng(20)
    updates = 0
    for number in range(3000):
        table = random_table(rng, 9, 5)
        selector = scheme(Finite(table), "options").start(0.7, 4)
        f = table[rng.integers(len(table))]
        rows = frozenset(map(tuple, table.tolist()))
        d = dimension(rows)
        assert selector.steps == d
        while True:
            h = selector.candidate()
            wrong = [x for x in range(table.shape[1]) if h(x) is not bool(f[x])]
            assert all(h(x) is soa(rows, x) for x in range(table.shape[1]))
            if not wrong:
                break
            assert not selector.exhausted
            batch = mistakes((int(x), bool(f[x])) for x in rng.choice(wrong, size=4))
            options = selector.spaces[-1].options()
            scores = selector.scores(batch)
            assert scores
            for place in scores:  # what one true record supports is true
                assert int(options.take(place).to_plain(), 16) >> int(np.all(table == f, axis=1).argmax()) & 1
            for seed in itertools.count(number):
                trial = scheme(Finite(table), "options").from_plain(selector.to_plain(), 0.7, 4)
                trial.advance(batch, Key.from_seed(seed))
                left = int(trial.spaces[-1].to_plain(), 16)
                if left >> int(np.all(table == f, axis=1).argmax()) & 1:
                    break
            chosen = frozenset(tuple(row) for i, row in enumerate(table.tolist()) if left >> i & 1)
            assert chosen in by_definition(rows).values()
            assert dimension(chosen) < dimension(rows)
            selector, rows = trial, chosen
            updates += 1
        assert len(selector.candidates) - 1 <= d
    assert updates > 1000


def test_support_is_what_it_is_defined_to_be():
    rng = np.random.default_rng(21)
    for _ in range(300):
        table = random_table(rng, 8, 4)
        cls = Finite(table)
        space = cls.version_space()
        rows = frozenset(map(tuple, table.tolist()))
        listed = ListedOptions(space, cls.domain)
        options = space.options()
        defined = by_definition(rows)
        largest = {part for part in defined.values() if not any(part < other for other in defined.values())}
        numbers = list(map(tuple, table.tolist()))
        taken = [
            frozenset(
                row for i, row in enumerate(numbers) if int(options.take(place).to_plain(), 16) >> i & 1
            )
            for place in range(options.count)
        ]
        assert len(taken) == len(set(taken))
        assert set(taken) == largest
        assert listed.count == len(defined)
        for x, y in itertools.product(cls.domain, [False, True]):
            agreeing = restrict(rows, x, y)
            expected = {place for place, left in enumerate(taken) if agreeing and agreeing <= left}
            assert set(options.supported(x, y)) == expected
            supported = {
                place for place, left in enumerate(defined.values()) if agreeing and agreeing <= left
            }
            assert set(listed.supported(x, y)) == supported
        assert list(options.supported("no instance", True)) == []
        assert list(listed.supported("no instance", True)) == []


def test_instances_that_teach_nothing_give_no_option():
    space = Thresholds(10).version_space().restrict(9, True)
    assert ListedOptions(space, [0, 9, 10, 11, "x", [1]]).count == 0


def game_value(rows, f, options):
    """Return the most that some option is sure to get of any law on the mistakes under f, by a linear program."""
    wrong = [(x, y) for (x, y), left in options.items() if f in left]
    support = np.array(
        [[restrict(rows, x, y) <= left for left in options.values()] for x, y in wrong], dtype=float
    )
    records, count = support.shape
    # The law p minimises v subject to (support' p)_o <= v.
    answer = linprog(
        [0.0] * records + [1.0],
        A_ub=np.hstack([support.T, -np.ones((count, 1))]),
        b_ub=np.zeros(count),
        A_eq=[[1.0] * records + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * records + [(None, None)],
    )
    assert answer.status == 0
    return answer.fun


def test_coverings_are_the_values_of_the_matrix_games():
    rng = np.random.default_rng(22)
    met = set()
    for _ in range(60):
        table = random_table(rng, 9, 4)
        expected, rows = set(), frozenset(map(tuple, table.tolist()))
        for space in reachable(rows):
            options = by_definition(space)
            largest = {
                left for left in options.values() if not any(left < other for other in options.values())
            }
            for f in space:
                if any(f in left for left in options.values()):
                    rho = round(1.0 / game_value(space, f, options))
                    assert math.isclose(rho * game_value(space, f, options), 1.0, rel_tol=1e-6)
                    expected.add((rho, sum(f not in left for left in largest)))
        found = Finite(table).coverings()
        assert {(covering.rho, covering.rivals) for covering in found} == expected
        assert all(covering.parts == covering.rho for covering in found)
        met |= {rho for rho, _ in expected}
    assert met >= {1, 2, 3}


@pytest.mark.parametrize(
    ("cls", "rho", "steps"),
    [
        (Point3(), 1, 1),
        (Points(50), 1, 1),
        (Points(), 1, 1),
        (Points(1), 1, 0),
        (SingletonsOrEmpty(7), 1, 1),
        (SingletonsOrEmpty(), 1, 1),
        (Thresholds(2**60 - 1), 1, 60),
        (Thresholds(9).as_finite(), 1, 3),
        (cube(3), 3, 3),
        (cube(6), 6, 6),
        (Conjunctions(["a", "b", "c", "d"], 2), 5, 3),
        (Stumps({"a": [0.5], "b": [0.1, 0.9]}), 4, 2),
        (Intervals(12), 9, 5),
        (Intervals(100), 100, 11),
    ],
    ids=repr,
)
def test_rho_and_steps(cls, rho, steps):
    assert (scheme(cls).rho, scheme(cls).steps, scheme(cls).mode) == (rho, steps, "options")


def test_thresholds_have_the_options_of_their_table():
    for m in range(1, 18):
        table = Thresholds(m).as_finite()
        for lo, hi in itertools.combinations_with_replacement(range(1, m + 2), 2):
            options = ThresholdSpace(lo, hi, m).options()
            left = {tuple(options.take(place).to_plain()) for place in range(options.count)}
            rows = sum(1 << a - 1 for a in range(lo, hi + 1))
            generic = table.from_plain(f"{rows:x}").options()
            found = {int(generic.take(place).to_plain(), 16) for place in range(generic.count)}
            assert found == {sum(1 << a - 1 for a in range(low, high + 1)) for low, high in left}
        assert {(c.rho, c.rivals) for c in table.coverings()} <= {(1, 1), (1, 0)}


def test_points_have_the_coverings_of_their_table():
    for m in range(2, 9):
        for cls in (Points(m), SingletonsOrEmpty(m)):
            assert list(cls.coverings()) == cls.as_finite().coverings()
            assert cls.version_space().options().count == cls.as_finite().version_space().options().count


def test_interval_ends_have_the_options_of_their_table():
    m = 7
    table = Intervals(m).as_finite()
    for first, p, q, last in itertools.combinations_with_replacement(range(1, m + 1), 4):
        space = EndsSpace(first, p, q, last, m)

        def numbers(bounds):
            low, p, q, high = bounds
            kept = [
                row for row in range(table.size)
                if all(table.table[row, x - 1] for x in range(p, q + 1))
                and not any(table.table[row, x - 1] for x in range(1, m + 1) if x < low or x > high)
            ]  # fmt: skip
            return sum(1 << row for row in kept)

        options = space.options()
        left = {numbers(options.take(place).to_plain()["ends"]) for place in range(options.count)}
        generic = table.from_plain(f"{numbers((first, p, q, last)):x}").options()
        assert left == {int(generic.take(place).to_plain(), 16) for place in range(generic.count)}


@pytest.mark.parametrize(
    ("cls", "rho", "count", "steps", "batch"),
    [
        (Point3(), 1, 3, 1, 304),
        (cube(3), 3, 3, 3, 1504),
        (cube(6), 6, 6, 6, 4226),
        (Thresholds(2**60 - 1), 1, 2, 60, 4990),
    ],
)
def test_batches_are_no_larger_than_the_theory_says(cls, rho, count, steps, batch):
    eta = rho * math.log(count * steps / 1e-6) / batch
    assert 0.5 * batch < scheme(cls).batch(eta, 1e-6) <= batch


def test_any_number_of_points_fits_the_theory():
    # The table's K = 653 for stable selection at δ = 1e-6: then utility is the smaller part.
    assert scheme(Points()).batch(2 * math.log(1e6) / 600, 1e-6) <= 602
    assert scheme(Points(2**100)).stable
    assert not scheme(Points(2**20)).stable


def test_sixty_halvings_find_a_threshold_among_2_to_the_60():
    rng = np.random.default_rng(25)
    options = scheme(Thresholds(2**60 - 1))
    eta = 0.5
    batch = options.batch(eta, 1e-6)
    selector = options.start(eta, batch)
    a = int(rng.integers(2**60))
    for step in range(70):
        h = selector.candidate()
        wrong = [x for x in (a - 1, a, a + 1, *map(int, rng.integers(1, 2**60, 300))) if h(x) is not (x >= a)]
        if not wrong:
            break
        selector.advance(
            mistakes((wrong[i % len(wrong)], wrong[i % len(wrong)] >= a) for i in range(batch)),
            Key.from_seed(step),
        )
    assert selector.candidate()(a)
    assert not selector.candidate()(a - 1)
    assert len(selector.candidates) <= 61


@pytest.mark.parametrize(
    "cls", [Point3(), Points(), SingletonsOrEmpty(4), Thresholds(30), Intervals(9), Intervals(20), cube(3),
            Conjunctions(["a", "b"], 2), Stumps({"a": [0.5, 2.0]})], ids=repr,
)  # fmt: skip
def test_nonsense_never_trips_it_and_runs_survive_json(cls):
    options = scheme(cls)
    instances = [
        1,
        2,
        2.5,
        "x",
        None,
        ("a", 1),
        {"a": 1, "b": 0},
        {"a": math.nan},
        [1],
        math.nan,
        np.arange(3),
    ]
    records = mistakes(itertools.product(instances, [False, True]))
    selector = options.start(0.3, len(records))
    for step in range(options.steps):
        if selector.exhausted:
            break
        before = list(selector.candidates)
        selector.advance(records, Key.from_seed(step))
        again = options.from_plain(json.loads(json.dumps(selector.to_plain())), 0.3, len(records))
        assert again.to_plain() == selector.to_plain()
        assert [h(2) for h in again.candidates] == [h(2) for h in selector.candidates]
        assert len(selector.candidates) == len(before) + 1
    assert selector.exhausted
    with pytest.raises(ParameterError, match="no further candidate"):
        selector.advance(records, Key.from_seed(1))


def test_refusals():
    selector = scheme(Point3()).start(0.5, 2)
    with pytest.raises(ParameterError, match="at most 2"):
        selector.advance(mistakes([(2, True)] * 3), Key.from_seed(1))
    with pytest.raises(ParameterError, match="eta"):
        scheme(Point3()).start(0.0, 2)
    with pytest.raises(ParameterError, match="beta"):
        scheme(Point3()).batch(0.5, 1.0)
    with pytest.raises(ParameterError, match="mode"):
        scheme(Point3(), "quick")
    with pytest.raises(SizeError):
        scheme(Stumps({name: [0.5, 1.5, 2.5] for name in "abcdefghij"}), "options")
    for data in (None, [], [1, 2, 3], "x", [{"point": 9}]):
        with pytest.raises(StateError):
            scheme(Point3()).from_plain(data, 0.5, 2)
