"""Options: the exact law of a call, its privacy, and how rarely a full batch fails."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from selecting import call_law, cube, first_mistakes, law_of_scores, mistakes, neighbours, random_table, ratio

from streamlearn.hypotheses import (
    Finite,
    Point3,
    Points,
)
from streamlearn.selection import OptionsScheme, scheme
from streamlearn.selection.options import PURPOSE


def test_the_law_of_a_call_is_the_exponential_mechanism():
    eta = 0.5
    options = scheme(cube(3))
    saved = options.start(eta, 4).to_plain()
    batch = mistakes([(0, False), (0, False), (2, False), (0, False)])
    assert options.start(eta, 4).candidate()(0) is True
    found = call_law(options, saved, eta, 4, batch, PURPOSE)
    scores = options.start(eta, 4).scores(batch)
    weights = [ratio(eta) ** scores.get(place, 0) for place in range(3)]
    spaces = cube(3).version_space().options()
    assert sorted(scores.values()) == [1, 3]
    assert found == {
        json.dumps([*saved, spaces.take(place).to_plain()]): weight / sum(weights)
        for place, weight in enumerate(weights)
    }


def test_points_of_a_domain_are_weighed_one_and_all():
    eta, options = 0.9, scheme(Points(6))
    saved = options.start(eta, 5).to_plain()
    found = call_law(options, saved, eta, 5, mistakes([(4, True)] * 3 + [(2, True)] * 2), PURPOSE)
    weights = {point: ratio(eta) ** {4: 3, 2: 2}.get(point, 0) for point in range(1, 7)}
    total = sum(weights.values())
    assert found == {json.dumps([*saved, {"point": x}]): w / total for x, w in weights.items()}


def test_a_stable_call_weighs_what_is_there_and_none_of_it():
    eta, options = 0.9, scheme(Points())
    saved = options.start(eta, 5).to_plain()
    found = call_law(options, saved, eta, 5, mistakes([("a", True)] * 4 + [("b", True)]), PURPOSE)
    r = ratio(eta)
    total = r**4 + r + r**3
    assert found == {
        json.dumps([*saved, {"point": "a"}]): r**4 / total,
        json.dumps([*saved, {"point": "b"}]): r / total,
        json.dumps([*saved, saved[0]]): r**3 / total,
    }


def test_every_call_keeps_its_privacy_exactly():
    """All streams of 4 rounds, realisable or not, and all their neighbours, for a call from each reachable space."""
    rng = np.random.default_rng(23)
    eta, widest, largest = 0.4, 0, 0
    tables = [np.array(list(itertools.product([0, 1], repeat=2)), dtype=bool), np.eye(3, dtype=bool)]
    tables += [random_table(rng, 6, 3) for _ in range(4)]
    for table in tables:
        options = scheme(Finite(table), "options")
        examples = list(itertools.product(range(table.shape[1]), [False, True]))
        examples += [
            ("unknown", False),
            ("unknown", True),
        ]  # in no batch; or, as a mistake of 0, in it for nothing
        saved = options.start(eta, 2).to_plain()
        runs = [saved]
        first = Finite(table).version_space().options()
        if options.steps > 1:
            runs += [[*saved, first.take(place).to_plain()] for place in range(first.count)]
        for run, batch in itertools.product(runs, [1, 2]):
            selector = options.from_plain(run, eta, batch)
            count = selector.spaces[-1].options().count
            if not count:
                continue
            known = {}

            def of(stream, selector=selector, count=count, batch=batch, known=known):
                records = tuple(m[1:] for m in first_mistakes(selector.candidate(), stream, batch))
                if records not in known:
                    scores = selector.scores(mistakes(records))
                    known[records] = (
                        [scores.get(place, 0) for place in range(count)],
                        law_of_scores(scores, count, eta),
                    )
                return known[records]

            for stream in itertools.product(examples, repeat=3):
                scores, here = of(stream)
                for other in neighbours(stream, examples):
                    changed, there = of(other)
                    changes = [a - b for a, b in zip(scores, changed, strict=True)]
                    assert max(map(abs, changes)) <= 1
                    widest = max(widest, max(changes) - min(changes))
                    losses = [a / b for a, b in zip(here, there, strict=True)]
                    assert max(losses) <= ratio(eta) ** 2 * min(losses)  # the loss ranges over 2η at most
                    largest = max(largest, max(losses) / min(losses))
    assert widest == 2
    assert largest == ratio(eta) ** 2


def test_the_audited_law_is_that_of_the_selector():
    eta, options = 0.4, scheme(cube(2))
    saved = options.start(eta, 2).to_plain()
    for records in itertools.product(itertools.product([0, 1], [False]), repeat=2):
        scores = options.start(eta, 2).scores(mistakes(records))
        found = call_law(options, saved, eta, 2, mistakes(records), PURPOSE)
        assert sorted(found.values()) == sorted(law_of_scores(scores, 2, eta))


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5])
def test_a_stable_call_keeps_its_privacy_but_for_the_excess(batch):
    eta, options = 1.1, scheme(Points())
    r = ratio(eta)
    excess = Fraction(options.excess_delta(eta, batch))
    saved = options.start(eta, batch).to_plain()
    laws = {}
    for points in itertools.combinations_with_replacement("abc", batch):
        records = mistakes((x, True) for x in points)
        laws[points] = call_law(options, saved, eta, batch, records, PURPOSE)
    worst = Fraction(0)
    for here, there in itertools.permutations(laws, 2):
        if sum(a not in there or here.count(a) > there.count(a) for a in set(here)) != 1:
            continue
        if sum(max(here.count(a) - there.count(a), 0) for a in "abc") != 1:
            continue
        p, q = laws[here], laws[there]
        worst = max(worst, sum(max(Fraction(0), p[o] - r**2 * q.get(o, 0)) for o in p))
    assert 0 < worst <= excess


def test_a_full_batch_fails_as_rarely_as_promised():
    """All batches of mistakes that some hypothesis allows, from each reachable space of small classes."""
    rng = np.random.default_rng(24)
    tables = [random_table(rng, 7, 3) for _ in range(25)] + [cube(3).table, cube(2).table]
    tight = 0
    for table in tables:
        options = OptionsScheme(Finite(table))
        eta, beta = 1.6, 0.4
        batch = options.batch(eta, beta)
        runs, met = [options.start(eta, batch)], set()
        while runs:
            selector = runs.pop()
            space = selector.spaces[-1]
            choices = space.options()
            for row in range(len(table)):
                if not int(space.to_plain(), 16) >> row & 1:
                    continue
                wrong = [
                    (x, bool(y)) for x, y in enumerate(table[row]) if selector.candidate()(x) is not bool(y)
                ]
                true = [int(choices.take(place).to_plain(), 16) >> row & 1 for place in range(choices.count)]
                for records in itertools.combinations_with_replacement(wrong, batch if wrong else 0):
                    if not records:
                        continue
                    law = law_of_scores(selector.scores(mistakes(records)), choices.count, eta)
                    failing = sum(p for p, held in zip(law, true, strict=True) if not held)
                    assert failing * options.steps <= beta
                    tight += failing * options.steps > beta / 4
            for place in range(choices.count):
                left = choices.take(place)
                if left.to_plain() not in met:
                    met.add(left.to_plain())
                    runs.append(options.from_plain([left.to_plain()], eta, batch))
    assert tight


def test_batches_are_as_small_as_the_law_allows():
    eta, beta = 0.3, 1e-3
    r = ratio(eta)
    for cls, rivals in ((Point3(), 2), (Points(40), 39)):
        batch = scheme(cls).batch(eta, beta)
        assert (
            Fraction(rivals) / (r**batch + rivals)
            <= Fraction(beta)
            < Fraction(rivals) / (r ** (batch - 1) + rivals)
        )
    batch = scheme(Points()).batch(eta, beta)
    assert 1 / (r ** (batch // 2) + 1) <= Fraction(beta) < 1 / (r ** ((batch - 2) // 2) + 1)


def test_moments_and_excess():
    z = np.array([0.5, 2.0])
    assert np.allclose(scheme(cube(3)).log_moment(z, 0.1), 3 * z * (z + 1) * 0.04 / 8, rtol=1e-12)
    assert scheme(cube(3)).excess_delta(0.1, 5) == 0.0
    r = ratio(0.1)
    assert 0 <= Fraction(scheme(Points()).excess_delta(0.1, 301)) / ((1 + r) / r**151) - 1 < 1e-6
