"""Exact audits of every way to select candidates: a rate a fifth higher is told, and a threshold a fifth lower."""

from __future__ import annotations

import importlib
import itertools
import json
import math

import numpy as np
import pytest

from streamlearn import audit
from streamlearn.hypotheses import Finite, Point3, Points
from streamlearn.rounding import float_above
from streamlearn.selection import Mistake, options, sampled, scheme
from streamlearn.selection.exponential import base
from streamlearn.selection.sampled import SampledScheme

select = importlib.import_module("streamlearn.selection.select")

FASTER = 1.2
ETA = 2.0
SPARSE = Finite(
    np.array([[n >> i & 1 for i in (3, 2, 1, 0)] for n in (0, 1, 2, 4, 9, 11, 13)], dtype=bool),
)
"""Has no essential hypothesis at level 0; with one record there are three."""


def chosen(way, eta, K):  # noqa: N803
    """The next candidate after a batch, as a mechanism."""

    def mechanism(batch, key):
        selector = way.start(eta, K)
        selector.advance([Mistake(t, x, True) for t, x in enumerate(batch, start=1)], key)
        plain = selector.to_plain()
        return json.dumps(plain[-1]) if isinstance(plain, list) else tells(plain)

    return mechanism


def tells(plain):
    """What is released of a run that keeps a table: its candidates, and after how many levels."""
    return json.dumps([plain.get("rows", plain.get("candidates")), plain.get("level")])


WAYS = {
    # how, K, two neighbouring batches, by how much the loss may range (in η)
    "options": (scheme(Point3(), "options"), 4, (1, 1, 1, 1), (1, 1, 1, 2), 2.0),
    "direct": (scheme(Point3(), "direct"), 4, (1, 1, 1, 1), (1, 1, 1, 2), 2.0),
    "groups": (scheme(Point3(), "groups"), 4, (1,), (2,), 1.0),
}


@pytest.mark.parametrize(("eta", "told"), [(ETA, False), (FASTER * ETA, True)])
@pytest.mark.parametrize("name", WAYS)
def test_a_rate_a_fifth_higher_is_told(name, eta, told):
    """One record moves two scores by one, or one group's list; a first call of groups or paper moves one score up."""
    way, K, one, other, width = WAYS[name]  # noqa: N806
    report = audit.exact_mechanism(chosen(way, eta, K), [one, other], epsilon=width * ETA)
    assert report.refuted is told
    assert report.bound > width * ETA / FASTER


@pytest.mark.parametrize(("eta", "told"), [(ETA, False), (FASTER * ETA, True)])
def test_a_rate_of_mode_paper_a_fifth_higher_is_told(eta, told):
    """Of two hypotheses one record takes one list from the one and gives it to the other: both scores by one."""
    way = SampledScheme(Finite(np.array([[False], [True]])), 1)

    def mechanism(label, key):
        selector = way.start(eta, 12)
        selector.advance([Mistake(1, 0, label)], key)
        return tells(selector.to_plain())

    assert audit.exact_mechanism(mechanism, [False, True], epsilon=ETA).refuted is told


@pytest.mark.parametrize("name", ["options", "direct"])
def test_all_small_batches_keep_what_is_certified(name):
    way, K, *_ = WAYS[name]  # noqa: N806
    for rest in itertools.product((1, 2, 3), repeat=3):
        batches = [(*rest, x) for x in (1, 2, 3)]
        assert not audit.exact_mechanism(chosen(way, 0.7, K), batches, epsilon=1.4).refuted


@pytest.mark.parametrize(("bar", "told"), [(1.0, False), (0.8, True)])
def test_a_bar_of_stable_selection_a_fifth_lower_is_told(bar, told, monkeypatch):
    way, K, eta = scheme(Points()), 20, 1.5  # noqa: N806
    assert way.stable
    certified = way.excess_delta(eta, K)
    monkeypatch.setattr(options, "_bar", lambda batch: math.floor(bar * -(-batch // 2)))
    # What only one of two batches holds must hardly ever be chosen; at an infinite ε nothing else counts.
    laws = [audit.law(chosen(way, eta, K), batch) for batch in (("a",) * 19 + ("b",), ("a",) * 20)]
    assert len(laws[0]) == len(laws[1]) + 1
    alone = audit.law(chosen(way, eta, K), ("b",)), audit.law(chosen(way, eta, K), ())
    apart = sum(chance for outcome, chance in alone[0].items() if outcome not in alone[1])
    assert (float_above(apart) > certified) is told


@pytest.mark.parametrize(("a", "told"), [(1.0, False), (FASTER, True)])
def test_a_rate_of_select_a_fifth_higher_is_told(a, told):
    """One list of 400 is replaced; what most hold weighs far more than ⊥, so its loss is shared by all others."""

    def mechanism(given, key):
        return select.select([["g"]] * 320 + [["h"]] * 79 + [[given]], a, key)

    report = audit.exact_mechanism(mechanism, ["g", "h"], epsilon=1.0, delta=select.excess(2, 1.0, 400))
    assert report.refuted is told


FEW = 2.4
"""What ⊥ would weigh for k groups, in quarters, if its threshold of 3k/4 were lower by a fifth."""


def lower(lists, a, key, purpose, step):
    scores = {select.NOTHING_CHOSEN: round(FEW * len(lists))}
    for entry in itertools.chain.from_iterable(lists):
        scores[entry] = scores.get(entry, 0) + 4
    place, _ = select.draw(base(a / 8.0), scores, 0, key, purpose, step)
    return None if place is select.NOTHING_CHOSEN else place


@pytest.mark.parametrize(("fault", "told"), [(None, False), (lower, True)])
def test_a_threshold_of_select_a_fifth_lower_is_told(fault, told, monkeypatch):
    if fault:
        monkeypatch.setattr(sampled, "select", fault)
    way, K, eta = SampledScheme(SPARSE, 1), 24, 4.0  # noqa: N806
    excess = select.excess(3, 2.0 * eta, K // 2)  # Fact 3, of one list of at most three entries
    assert excess < way.excess_delta(eta, K)
    report = audit.exact_mechanism(chosen(way, eta, K), [(0,), (1,)], epsilon=100.0, delta=excess)
    assert report.refuted is told
    assert report.bound > 0.0
