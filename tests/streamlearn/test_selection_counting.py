"""Direct selection and groups: exact laws, the stated ranges, and failures no more frequent than promised."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from selecting import call_law, first_mistakes, neighbours, ratio

from streamlearn import Key
from streamlearn.errors import ParameterError, SizeError, StateError
from streamlearn.hypotheses import Finite, Point3, Points, Thresholds, essential_hypotheses
from streamlearn.selection import Mistake, scheme
from streamlearn.selection.direct import PURPOSE as DIRECT
from streamlearn.selection.groups import PURPOSE as GROUPS

CUBE2 = Finite(np.array(list(itertools.product([0, 1], repeat=2)), dtype=bool))
CUBE3 = Finite(np.array(list(itertools.product([0, 1], repeat=3)), dtype=bool))

UNKNOWN = ("no instance", False)  # no candidate errs on it, so it is in no batch


def mistakes(examples, start=1):
    return [Mistake(t, x, y) for t, (x, y) in enumerate(examples, start=start)]


def rows_of(saved):
    return json.loads(saved)["rows"]


def test_direct_weighs_all_mistakes_so_far_each_round_once():
    eta, direct = 0.6, scheme(CUBE2, "direct")
    selector = direct.start(eta, 3)
    selector.advance(mistakes([(0, True), (0, True), (1, False)]), Key.from_seed(1))
    saved = selector.to_plain()
    second = [Mistake(3, 1, False), Mistake(4, 1, True), Mistake(5, 0, False)]
    stream = [(0, True), (0, True), (1, False), (1, True), (0, False)]
    wrong = [sum(bool(row[x]) is not y for x, y in stream) for row in CUBE2.table]
    weights = [ratio(eta) ** -count for count in wrong]
    found = call_law(direct, saved, eta, 3, second, DIRECT)
    assert {rows_of(outcome)[-1]: p for outcome, p in found.items()} == {
        row: weight / sum(weights) for row, weight in enumerate(weights)
    }
    assert {tuple(json.loads(outcome)["mistakes"]) for outcome in found} == {tuple(wrong)}


def test_direct_scores_range_as_stated_and_the_range_is_met():
    """All streams of 5 rounds of the four functions of two points, all neighbours, all earlier answers."""
    examples = [*itertools.product([0, 1], [False, True]), UNKNOWN]
    table = CUBE2.table
    widths = scheme(CUBE2, "direct").widths()
    assert widths.tolist() == [2.0, 4.0, 5.0]
    seen = [0, 0]
    for batch in (1, 2):
        for answers in itertools.product(range(4), repeat=1):

            def counts(stream, answers=answers, batch=batch):
                """Yield each hypothesis's mistakes at call 1 and 2, when the first call answered so."""
                union = {}
                for row in (0, *answers):
                    records = first_mistakes(
                        lambda x, row=row: x in (0, 1) and bool(table[row, x]), stream, batch
                    )
                    union.update({m.sequence: (m.x, m.y) for m in records})
                    yield [sum(bool(h[x]) is not y for x, y in union.values()) for h in table]

            known = {stream: list(counts(stream)) for stream in itertools.product(examples, repeat=4)}
            for stream, here in known.items():
                for other in neighbours(stream, examples):
                    for call, (a, b) in enumerate(zip(here, known[other], strict=True)):
                        changes = np.subtract(a, b)
                        seen[call] = max(seen[call], int(changes.max() - changes.min()))
    assert seen[0] == widths[0]
    assert 3 <= seen[1] <= widths[1]


def test_direct_keeps_its_privacy_exactly():
    """The laws of both calls on all streams of 3 rounds, neighbours and first answers."""
    eta, batch, direct = 0.5, 1, scheme(CUBE2, "direct")
    examples = [*itertools.product([0, 1], [False, True]), UNKNOWN]
    widths = direct.widths()
    laws = {}
    for stream in itertools.product(examples, repeat=3):
        first = direct.start(eta, batch)
        found = call_law(
            direct, first.to_plain(), eta, batch, first_mistakes(first.candidate(), stream, batch), DIRECT
        )
        laws[stream, ()] = {rows_of(outcome)[-1]: p for outcome, p in found.items()}
        for outcome in found:
            second = direct.from_plain(json.loads(outcome), eta, batch)
            records = first_mistakes(second.candidate(), stream, batch)
            after = call_law(direct, second.to_plain(), eta, batch, records, DIRECT)
            laws[stream, (rows_of(outcome)[-1],)] = {rows_of(end)[-1]: p for end, p in after.items()}
    for (stream, answers), here in laws.items():
        for other in neighbours(stream, examples):
            losses = [here[row] / laws[other, answers][row] for row in here]
            assert max(losses) <= ratio(eta) ** int(widths[len(answers)]) * min(losses)


def worst_failure(batch, eta, steps):
    """Return the most that a call can choose what was tried before, over all calls; each has K mistakes, f none."""
    r = ratio(eta)
    return sum(Fraction(j) / (r**batch + j) for j in range(1, steps + 1))


@pytest.mark.parametrize(
    ("cls", "eta", "beta"), [(Point3(), 0.3, 1e-3), (CUBE3, 0.2, 1e-6), (Points(40), 1.0, 0.1)]
)
def test_direct_batches_suffice_and_no_much_smaller_ones_do(cls, eta, beta):
    direct = scheme(cls, "direct")
    batch = direct.batch(eta, beta)
    assert worst_failure(batch, eta, direct.steps) <= Fraction(beta)
    assert worst_failure(batch - 2, eta, direct.steps) > Fraction(beta)


def test_direct_needs_no_more_than_the_theory_says():
    eta = math.log(7 * 8 / 1e-6) / 2859
    assert 2700 < scheme(CUBE3, "direct").batch(eta, 1e-6) <= 2859


@pytest.mark.parametrize("mode", ["direct", "groups"])
@pytest.mark.parametrize("cls", [CUBE3, Point3(), Thresholds(6)], ids=repr)
def test_some_candidate_is_good_on_realisable_streams(mode, cls):
    """β = 1e-9 a run, so a false alarm has probability at most 1e-6 in all."""
    table, counting, eta = cls.as_finite(), scheme(cls, mode), 1.0
    batch = counting.batch(eta, 1e-9)
    rng = np.random.default_rng(5)
    for row in range(table.size):

        def f(x, row=row):
            return bool(table.ones(x) >> row & 1)

        stream = [
            (x, f(x)) for x in (table.domain[i] for i in rng.integers(len(table.domain), size=60 * batch))
        ]
        selector, tried = counting.start(eta, batch), 0
        while True:
            records = first_mistakes(selector.candidate(), stream, batch)
            if len(records) < batch:
                break
            assert not selector.exhausted
            selector.advance(records, Key.from_seed(row))
            tried += 1
        assert tried <= counting.steps


def test_the_lists_of_groups_are_the_essential_hypotheses():
    table = Thresholds(4).as_finite()
    for rows in itertools.chain.from_iterable(itertools.combinations(range(5), n) for n in range(1, 6)):
        part = Finite(table.table[list(rows)])
        essential = essential_hypotheses(part, 4, d=2)
        assert {tuple(h(x) for x in range(4)) for h in essential} == set(map(tuple, part.table.tolist()))


def test_groups_weigh_the_groups_that_hold_a_hypothesis():
    eta, grouped = 0.7, scheme(CUBE2, "groups")
    selector, key = grouped.start(eta, 12), Key.from_seed(9)
    examples = [(0, True), (1, True), (0, False), (1, False)] * 3
    batch = mistakes(examples)
    kept = {}
    for record in batch:
        group = key.below(6, f"{GROUPS}/1/group", record.sequence)
        kept.setdefault(group, []).append((key.uniform64(f"{GROUPS}/1/lot", record.sequence), record))
    votes = [6 - sum(bool(row[min(g)[1].x]) is not min(g)[1].y for g in kept.values()) for row in CUBE2.table]
    found = call_law(grouped, selector.to_plain(), eta, 12, batch, f"{GROUPS}/select", key)
    weights = [ratio(eta) ** count for count in votes]
    assert {rows_of(outcome)[-1]: p for outcome, p in found.items()} == {
        row: weight / sum(weights) for row, weight in enumerate(weights)
    }


def test_a_record_sways_the_groups_by_no_more_than_stated():
    """All streams of 4 rounds and neighbours, for some keys and first answers."""
    examples = list(itertools.product([0, 1], [False, True]))
    grouped = scheme(CUBE2, "groups")
    assert grouped.widths().tolist() == [4.0, 8.0, 12.0]
    seen = [0, 0]
    for seed, answer in itertools.product(range(3), range(4)):
        key = Key.from_seed(seed)

        def counts(stream, key=key, answer=answer):
            selector, found = grouped.start(0.5, 4), []
            for _ in range(2):
                selector.advance(first_mistakes(selector.candidate(), stream, 4), key)
                found.append([sum(rows >> row & 1 for rows in selector.groups) for row in range(4)])
                state = {**selector.to_plain(), "rows": [0, answer]}
                selector = grouped.from_plain(state, 0.5, 4)
            return found

        known = {stream: counts(stream) for stream in itertools.product(examples, repeat=4)}
        for stream, here in known.items():
            for other in neighbours(stream, examples):
                for call, (a, b) in enumerate(zip(here, known[other], strict=True)):
                    changes = np.subtract(a, b)
                    seen[call] = max(seen[call], int(changes.max() - changes.min()))
    assert 2 <= seen[0] <= 4
    assert seen[1] <= 8


def occupied_law(balls, bins):
    """Return the law of the number of bins that balls thrown at random occupy."""
    law = {0: Fraction(1)}
    for _ in range(balls):
        after = {}
        for occupied, p in law.items():
            after[occupied] = after.get(occupied, 0) + p * Fraction(occupied, bins)
            after[occupied + 1] = after.get(occupied + 1, 0) + p * Fraction(bins - occupied, bins)
        law = after
    return law


@pytest.mark.parametrize(("eta", "beta"), [(1.0, 0.1), (0.5, 0.01), (2.0, 1e-4)])
def test_group_batches_suffice(eta, beta):
    grouped = scheme(CUBE2, "groups")
    batch = grouped.batch(eta, beta)
    r = ratio(eta)
    lost = sum(p / r**occupied for occupied, p in occupied_law(batch, batch // 2).items())
    tried = grouped.steps * (grouped.steps + 1) // 2
    assert tried * lost <= Fraction(beta)
    fewer = sum(p / r**occupied for occupied, p in occupied_law(batch // 2, batch // 4).items())
    assert tried * fewer > Fraction(beta)


def test_moments():
    z = np.array([0.5, 3.0])
    direct, grouped = scheme(CUBE2, "direct"), scheme(CUBE2, "groups")
    assert np.allclose(direct.log_moment(z, 0.1), z * (z + 1) * 0.01 * (4 + 16 + 25) / 8, rtol=1e-12)
    assert np.allclose(grouped.log_moment(z, 0.1), z * (z + 1) * 0.01 * (16 + 64 + 144) / 8, rtol=1e-12)
    assert direct.excess_delta(0.1, 3) == grouped.excess_delta(0.1, 3) == 0.0


@pytest.mark.parametrize("mode", ["direct", "groups"])
def test_nonsense_never_trips_them_and_runs_survive_json(mode):
    instances = [0, 1, 2.5, "x", None, {"a": 1, "b": 0}, [1], math.nan]
    records = mistakes(itertools.product(instances, [False, True]))
    counting = scheme(CUBE2, mode)
    selector = counting.start(0.3, len(records))
    while not selector.exhausted:
        selector.advance(records, Key.from_seed(1))
        again = counting.from_plain(json.loads(json.dumps(selector.to_plain())), 0.3, len(records))
        assert again.to_plain() == selector.to_plain()
        assert [h(1) for h in again.candidates] == [h(1) for h in selector.candidates]
    with pytest.raises(ParameterError, match="no further candidate"):
        selector.advance(records, Key.from_seed(1))
    good = counting.start(0.3, 4).to_plain()
    for edit in (
        {"rows": []},
        {"rows": [1]},
        {"rows": [0, 9]},
        {"rows": [0] * 9},
        {"groups": ["ff"]},
        {"mistakes": [9]},
    ):
        with pytest.raises(StateError):
            counting.from_plain({**good, **edit}, 0.3, 4)


@pytest.mark.parametrize("mode", ["direct", "groups"])
def test_infinite_classes_are_refused(mode):
    with pytest.raises(SizeError):
        scheme(Points(), mode)
