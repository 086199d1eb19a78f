"""The statistical audit: its bounds against exact binomial tails, its error rate, and faults that it finds.

A true claim is refuted with probability at most the error rate of 1e-6; keys are fixed, so what passed passes again.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from streamlearn import Key, audit
from streamlearn.audit.clopperpearson import lower, upper
from streamlearn.audit.statistical import looks, shares
from streamlearn.errors import ParameterError

KEY = Key.from_seed(7)


def tail(n, least, p):
    """P(Binomial(n, p) >= least), exactly."""
    p = Fraction(p)
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, n + 1))


@pytest.mark.parametrize("alpha", [0.2, 1e-3, 1e-9])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_bounds_solve_the_binomial_tails(n, alpha):
    for k in range(n + 1):
        low, high = float(lower(k, n, alpha)), float(upper(k, n, alpha))
        assert 0.0 <= low < high <= 1.0
        if k:
            assert alpha * (1 - 1e-6) <= tail(n, k, low) <= alpha
        if k < n:
            assert 1 - tail(n, k + 1, high) <= alpha < 1 - tail(n, k + 1, high * (1 - 4e-9))
    assert float(lower(0, n, alpha)) == 0.0
    assert float(upper(n, n, alpha)) == 1.0


def coverage(n, p, alpha):
    """How often the lower bound exceeds p: summed over all counts."""
    return sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1) if float(lower(k, n, alpha)) > p
    )


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.99])
def test_bounds_are_wrong_no_more_often_than_they_say(p):
    for alpha in (0.05, 0.2):
        assert coverage(25, p, alpha) <= alpha


def test_looks_double_and_shares_stay_within_the_rate():
    sizes = looks(1_000_000)
    assert sizes[-1] == 1_000_000
    assert all(later // 2 == earlier for earlier, later in itertools.pairwise(sizes))
    assert looks(300) == [300]
    assert sum(shares(len(sizes), 1e-6)) < 1e-6
    assert shares(4, 1.0) == [1 / 16, 1 / 8, 1 / 4, 1 / 2]


def response(p):
    return lambda bit, key: bit if key.bernoulli(*Fraction(p).as_integer_ratio(), "truth", 1) else 1 - bit


def test_a_true_claim_is_refuted_no_more_often_than_the_error_rate():
    """At an error rate of 1/2 and ε exactly as claimed, 200 keys: 100 refutations or more have chance below 1e-6.

    The bounds of Clopper and Pearson waste much of the rate: about 35 are seen.
    """
    epsilon = math.log(3.0)
    refuted = sum(
        audit.statistical(
            response(0.75), 0, 1, epsilon=epsilon, samples=400, error=0.5, key=Key.from_seed(seed)
        ).refuted
        for seed in range(200)
    )
    assert refuted < 100


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (response(1 / (1 + math.exp(-1.1))), (1.0, 0.0)),  # an ε off by 10 %
        (response(0.75), (1.0, 0.0)),  # two digits
        (lambda bit, key: bit if key.uniform64("truth", 1) / 2**64 < 0.74 else 1 - bit, (1.0, 0.0)),
        (lambda bit, key: (bit, key.uniform64("noise", 1) % 3), (5.0, 0.0)),  # the value itself
        (lambda bit, key: bit * (key.uniform64("lot", 1) % 10 == 0), (1.0, 0.05)),  # shown to one in ten
    ],
    ids=["tenth", "digits", "float", "value", "shown"],
)
def test_faults_are_found(mechanism, claim):
    report = audit.statistical(mechanism, 0, 1, epsilon=claim[0], delta=claim[1], key=KEY)
    assert report.refuted
    assert report.bound > claim[0]


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (response(1 / (1 + math.exp(-1.0))), (1.0 + 1e-12, 0.0)),
        (lambda bit, key: bit * (key.uniform64("lot", 1) % 10 == 0), (0.0, 0.1001)),
        (lambda bit, key: key.uniform64("noise", bit), (0.1, 0.0)),  # outcomes that never come twice
        (lambda bit, key: None, (0.0, 0.0)),  # noqa: ARG005
    ],
)
def test_what_keeps_its_claim_is_not_refuted(mechanism, claim):
    report = audit.statistical(mechanism, 0, 1, epsilon=claim[0], delta=claim[1], samples=60_000, key=KEY)
    assert report.verdict == "not refuted"
    assert report.bound <= claim[0]


def test_a_fault_is_found_in_either_direction_and_early():
    def one_sided(bit, key):
        return "seen" if bit and key.bernoulli(1, 20, "seen", 1) else "nothing"

    for pair in ((0, 1), (1, 0)):
        report = audit.statistical(one_sided, *pair, epsilon=1.0, key=KEY)
        assert report.refuted
        assert report.size < 20_000


def test_the_same_key_gives_the_same_report_and_another_does_not():
    reports = [
        audit.statistical(response(0.7), 0, 1, epsilon=1.0, samples=9_000, key=Key.from_seed(seed))
        for seed in (1, 1, 2)
    ]
    assert reports[0] == reports[1]
    assert reports[0].finding != reports[2].finding
    assert reports[0].key == Key.from_seed(1).fingerprint


class Sudden:
    """A Mirror with one random switch time, uniform over five rounds."""

    def __call__(self, active, key):
        since, index, seen = 1 + key.below(5, "switch", 0), 0, []
        for bit in active:
            index += bit
            seen.append(bool(bit) and index >= since)
        return tuple(seen[1:])


def test_one_switch_time_is_found():
    report = audit.statistical(
        Sudden(), (0, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 1), epsilon=1.0, delta=0.05, samples=40_000, key=KEY
    )
    assert report.refuted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be >= 0"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"delta": 1.0}, "delta below 1"),
        ({"delta": "0"}, "delta must be a number"),
        ({"delta": math.nan}, "delta must be a number"),
        ({"samples": 255}, "samples must"),
        ({"samples": 2**41}, r"samples must be at most 2\^40"),
        ({"error": 0.0}, "error must be a number"),
        ({"error": math.nan}, "error must be a number"),
        ({"key": 7}, "key must be a Key"),
        ({"mechanism": lambda bit, key: [bit]}, "mechanism must return something hashable, got list"),  # noqa: ARG005
    ],
)
def test_bad_arguments_are_named(changes, message):
    given = {"mechanism": response(0.75), "epsilon": 1.0, "samples": 1000} | changes
    mechanism = given.pop("mechanism")
    with pytest.raises(ParameterError, match=message):
        audit.statistical(mechanism, 0, 1, **given)
