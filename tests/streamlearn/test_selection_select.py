"""Selection from lists (Fact 3), the exact exponential mechanism, and the paper's constants."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from selecting import law

from streamlearn import Key
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import Point3, Points, Thresholds
from streamlearn.selection import scheme
from streamlearn.selection.exponential import REST, SHIFT, base, draw, log_base
from streamlearn.selection.select import excess, failure, fewest_lists, select

PURPOSE = "selection/select"


def quarter(a):
    return Fraction(base(a / 8), 1 << SHIFT)


def select_law(lists, a):
    return law(lambda key: select(lists, a, key), PURPOSE)


@pytest.mark.parametrize("eta", [1e-5, 1e-4, 0.0123, 0.3, 1.0, 7.7, 20.0])
def test_weights_are_rounded_down_and_by_little(eta):
    num = base(eta)
    with mpmath.workdps(60):
        assert num <= mpmath.exp(mpmath.mpf(eta)) * (1 << SHIFT) < (num + 1) * (1 + 2e-15)
        exact = mpmath.log(mpmath.mpf(num) / (1 << SHIFT))
        assert exact * (1 - 1e-12) < mpmath.mpf(log_base(eta)) <= exact


def test_the_draw_has_the_exact_law():
    num = base(0.7)
    found = law(lambda key: draw(num, {"a": 3, "b": 0, "c": 3, "d": 1}, 4, key, "p", 1), "p")
    r = Fraction(num, 1 << SHIFT)
    weights = {("a", 0): r**3, ("b", 0): 1, ("c", 0): r**3, ("d", 0): r, **{(REST, i): 1 for i in range(4)}}
    total = sum(weights.values())
    assert found == {outcome: Fraction(weight) / total for outcome, weight in weights.items()}


def test_a_draw_with_a_real_key_follows_its_law():
    """3,000 draws; the chance that |count - mean| exceeds 6 standard deviations is below 1e-6 (Bernstein)."""
    num = base(0.7)
    count = sum(draw(num, {"a": 3}, 4, Key.from_seed(2), "p", i)[0] == "a" for i in range(3000))
    p = float(Fraction(num, 1 << SHIFT) ** 3 / (Fraction(num, 1 << SHIFT) ** 3 + 4))
    assert abs(count - 3000 * p) < 6 * math.sqrt(3000 * p * (1 - p))


def test_select_weighs_entries_against_nothing():
    a, lists = 1.3, [["g", "h"], ["h"], ["h", "h"], ["k"]]
    q = quarter(a)
    weights = {"g": q**4, "h": q**12, "k": q**4, None: q**12}
    assert select_law(lists, a) == {
        entry: weight / sum(weights.values()) for entry, weight in weights.items()
    }


@pytest.mark.parametrize("a", [0.4, 2.0])
def test_select_is_private_in_one_list_but_for_the_excess(a):
    """All choices of 3 lists of at most 2 entries out of 3, and all replacements of one list."""
    entries = [part for n in range(3) for part in itertools.combinations("gh", n)] + [("k",), ("g", "k")]
    b = Fraction(excess(2, a, 3))
    laws = {lists: select_law(lists, a) for lists in itertools.product(entries, repeat=3)}
    worst = Fraction(0)
    for lists, here in laws.items():
        for new in entries:
            there = laws[(new, *lists[1:])]
            over = sum(max(Fraction(0), p - quarter(a) ** 8 * there.get(out, 0)) for out, p in here.items())
            worst = max(worst, over)
    assert 0 < worst <= b


@pytest.mark.parametrize(("s", "k", "a"), [(2, 10, 3.0), (3, 20, 2.0), (1, 7, 4.0)])
def test_select_fails_as_rarely_as_promised(s, k, a):
    """Lists filled at random, exact probabilities of either failure."""
    rng = np.random.default_rng(3)
    promised, seen = Fraction(failure(s, a, k)), Fraction(0)
    for _ in range(300):
        share = rng.choice([0.0, 0.4, 0.59, 0.75, 0.9, 1.0])
        lists = [
            [("f",)] * bool(rng.random() < share)
            + [(int(x),) for x in rng.choice(2 * s, size=s - 1, replace=False)]
            for _ in range(k)
        ]
        counts = Counter(entry for entries in lists for entry in entries)
        weights = {entry: quarter(a) ** (4 * count) for entry, count in counts.items()}
        weights[None] = quarter(a) ** (3 * k)
        total = sum(weights.values())
        found = {entry: weight / total for entry, weight in weights.items()}  # as the test above shows
        failing = sum(p for out, p in found.items() if out is not None and 5 * counts[out] < 3 * k)
        if any(10 * count >= 9 * k for count in counts.values()):
            failing += found[None]
        seen = max(seen, failing)
        assert failing <= promised
    assert seen > promised / 100


@pytest.mark.parametrize(
    ("s", "a", "b", "beta", "k"),
    [(3, 1.0, 1e-6, 1e-3, 116), (64, 0.1, 1e-6, 1e-3, 1545), (1, 20.0, 0.9, 0.9, 2)],
)
def test_fewest_lists(s, a, b, beta, k):
    assert fewest_lists(s, a, b, beta) == k
    assert excess(s, a, k) <= b
    assert failure(s, a, k) <= beta
    assert excess(s, a, k - 1) > b or failure(s, a, k - 1) > beta


def test_select_refuses():
    for a in (0.0, 1e-5, 21.0, True, "x"):
        with pytest.raises(ParameterError, match="a must"):
            select([["g"]], a, Key.from_seed(1))
    with pytest.raises(ParameterError, match="beta"):
        fewest_lists(3, 1.0, 1e-6, 0.0)


def test_the_paper_asks_for_the_impossible_and_says_so():
    paper = scheme(Point3(), "paper")
    numbers = paper.constants(0.25, 1.25e-7, 1e-6)
    assert (numbers.sample, numbers.list_size, numbers.candidates) == (64, 256, 1026)
    logarithm = math.log(100 * 1026 * 64 / (0.25 * 1.25e-7 * 1e-6))
    assert numbers.groups == math.ceil(1026**2 * (64 + logarithm / 0.25))
    assert numbers.batch == 2 * 64 * numbers.groups
    assert paper.batch(0.25, 1e-6) == paper.constants(0.25, 1e-6, 1e-6).batch
    with pytest.raises(ParameterError, match=r"1026 candidates and batches of about 10\^11 mistakes"):
        paper.start(0.25, numbers.batch)
    with pytest.raises(ParameterError, match="1026 candidates"):
        paper.from_plain([], 0.25, numbers.batch)
    assert scheme(Thresholds(2**60), "paper").steps == 2 * 61 * (2**60 * 61**6) ** 60 * 2**3600 + 2
    assert scheme(Points(1), "paper").steps == 0
