"""The combining rule's certificate: against exact laws, simulated times, the tables of the theory, and late labels."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn.accounting import combining
from streamlearn.accounting.pld import LossDistribution
from streamlearn.errors import ParameterError

# Whole predictor's ε and δ; certified by log-moments; nothing at or below works.
ROWS = [
    (1.0, 1e-3, 263, 194),
    (1.0, 1e-6, 654, 538),
    (0.5, 1e-3, 867, 637),
    (0.5, 1e-6, 2391, 1983),
    (0.1, 1e-3, 13429, 9292),
    (0.1, 1e-6, 49704, 40687),
]


@pytest.mark.parametrize(("epsilon", "delta", "known", "impossible"), ROWS)
def test_the_smallest_delay_lies_between_the_rows_of_the_theory(epsilon, delta, known, impossible):
    found = combining.smallest_delay(epsilon / 2, delta / 2)
    assert impossible < found <= known
    assert found - impossible < 0.4 * (known - impossible) + 25  # most of the gap is closed
    assert (
        combining.rule_delta(found, epsilon / 2) <= delta / 2 < combining.rule_delta(found - 1, epsilon / 2)
    )


def pair(a, b):
    """The chances of following the first part under either of the worst two neighbours."""
    return (a + 1) ** 2 / ((a + 1) ** 2 + b**2), a**2 / (a**2 + (b + 1) ** 2)


def product_delta(pairs, epsilon):
    """The exact hockey-stick divergence of two products of coins, both ways."""
    one, other = np.ones(1), np.ones(1)
    for p, q in pairs:
        one = np.concatenate([one * p, one * (1 - p)])
        other = np.concatenate([other * q, other * (1 - q)])
    level = math.exp(epsilon)
    return max(np.maximum(one - level * other, 0).sum(), np.maximum(other - level * one, 0).sum())


@pytest.mark.parametrize("start", [1, 2, 5, 10, 40])
def test_no_path_of_a_few_rounds_is_above_the_certificate(start):
    certified = {epsilon: combining.rule_delta(start, epsilon) for epsilon in (0.0, 0.25, 0.5, 1.0)}
    for steps in itertools.product([0, 1], repeat=7):
        a = start + np.concatenate([[0], np.cumsum(steps)])
        b = start + np.concatenate([[0], np.cumsum(1 - np.array(steps))])
        pairs = [pair(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        for epsilon, bound in certified.items():
            assert product_delta(pairs, epsilon) <= bound


def balanced_delta(D, epsilon, precision):  # noqa: N803
    """A lower bound on the rule's δ: the two parts take turns in being right; a test counts weighted answers.

    Counting is post-processing, so the divergence of the counts is at most that of the answers. Their laws come
    from their characteristic functions, where these are above 1e-18.
    """
    n = np.arange(2 * D * 2 * precision)
    total = 2 * D + n
    a, b = (total + 1) // 2, total // 2
    p, q = pair(a.astype(float), b.astype(float))
    weight = np.rint(precision * 2 * D / total).astype(int)
    size = 1 << int(weight.sum() + 1).bit_length()
    laws = []
    for chance in (p, q):
        transform = np.zeros(size // 2 + 1, dtype=complex)
        for k in range(size // 2 + 1):
            angle = 2 * math.pi * k / size
            log = np.log1p(chance * (np.exp(-1j * angle * weight) - 1)).sum()
            if log.real < -42:
                break
            transform[k] = np.exp(log)
        laws.append(np.fft.irfft(transform, size)[::-1])
    one, other = (np.cumsum(law) for law in laws)
    return float(np.max(one - math.exp(epsilon) * other))


@pytest.mark.parametrize(("row", "precision"), [(ROWS[0], 48), (ROWS[1], 24)])
def test_nothing_at_the_last_row_works(row, precision):
    epsilon, delta, _, impossible = row
    found = combining.smallest_delay(epsilon / 2, delta / 2)
    assert balanced_delta(impossible, epsilon / 2, precision) > delta / 2
    assert balanced_delta(found, epsilon / 2, 8) < delta / 2  # the oracle tells them apart


def test_the_delay_of_2148_lies_between_a_lower_bound_and_a_certificate_of_its_own():
    epsilon, delta, _, _ = ROWS[3]
    found = combining.smallest_delay(epsilon / 2, delta / 2)
    assert found == 2148
    assert balanced_delta(1800, epsilon / 2, 6) > delta / 2  # a fifth less is not private
    least, certified = balanced_delta(found, epsilon / 2, 6), second_certificate(found, epsilon / 2)
    assert least < certified <= delta / 2
    assert certified == pytest.approx(combining.rule_delta(found, epsilon / 2), rel=5e-3)


def second_certificate(D, epsilon):  # noqa: N803
    """The proof's bound in 40 digits: the rounds' times by Bernoulli numbers and Hurwitz's zeta, not by an integral."""
    with mpmath.workdps(40):
        d, c = mpmath.mpf(1) / D, mpmath.sqrt(1 + mpmath.mpf(1) / D**2)
        j, first = 1 + d + d * d / 2, 2 * D + 1
        # -ln cos v = Σ 2^(2k-1) (2^(2k) - 1) |B_2k| / (k (2k)!) v^(2k)
        terms = [
            (
                2 * k,
                mpmath.mpf(2) ** (2 * k - 1) * (4**k - 1) * abs(mpmath.bernoulli(2 * k))
                / (k * mpmath.factorial(2 * k)) * (4 * c) ** (2 * k) * mpmath.zeta(2 * k, first),
            )
            for k in range(1, 60)
        ]  # fmt: skip
        drift = (1 + d) ** 2 * 2 * c * c * mpmath.zeta(2, first)

        def bound(omega, time):
            moment = j * sum(term * omega**power for power, term in terms) + drift
            late = mpmath.exp(moment - (mpmath.mpf(1) / 8 + omega**2 / 2) * time)
            root = mpmath.sqrt(time)
            told = mpmath.ncdf(root / 2 - epsilon / root) - mpmath.exp(epsilon) * mpmath.ncdf(
                -root / 2 - epsilon / root
            )
            return float(told + late)

        largest = combining._largest_omega(D)
        start = mpmath.mpf(16) / (2 * D + mpmath.mpf(1) / 2)
        return min(
            bound(mpmath.mpf(share * largest), start * (1 + mpmath.mpf(excess)))
            for share in np.linspace(0.02, 1.0, 50).tolist()
            for excess in np.linspace(0.002, 0.12, 60).tolist()
        )


@pytest.mark.parametrize(("epsilon", "D"), [(1.0, 226), (1.0, 609)])
@pytest.mark.parametrize("path", ["turns", "first", "second", "runs"])
def test_no_path_of_many_rounds_is_above_the_certificate(epsilon, D, path):  # noqa: N803
    # Up to the accountant's 1e-3 this is the exact divergence of the path; the rest of the stream adds to it.
    n = np.arange(8 * D)
    first = {"turns": (n + 1) // 2, "first": n, "second": 0 * n, "runs": np.minimum(n, 3 * D)}[path]
    p, q = pair((D + first).astype(float), (D + n - first).astype(float))
    loss = LossDistribution(np.stack([p, 1 - p], axis=1), np.stack([q, 1 - q], axis=1))
    certified = combining.rule_delta(D, epsilon / 2)
    reached = max(loss.delta(epsilon / 2), loss.reverse().delta(epsilon / 2))
    assert reached <= certified
    if path == "turns":
        assert reached >= certified / 40  # rounds enough to matter


def exit_moment(p, q, rate):
    """E e^{rate·τ} under the first law, τ the exit of the motion from the interval the coin's losses span."""
    up, down = math.log(p / q), math.log((1 - q) / (1 - p))
    w = math.sqrt(2 * rate - 0.25)
    top = math.exp(up / 2) * math.sin(w * down) + math.exp(-down / 2) * math.sin(w * up)
    return top / math.sin(w * (up + down))


@settings(max_examples=400)
@given(
    D=st.integers(1, 300),
    more=st.tuples(st.integers(0, 2000), st.integers(0, 2000)),
    share=st.floats(0.01, 1),
)
def test_every_rounds_time_has_the_moment_the_proof_gives_it(D, more, share):  # noqa: N803
    a, b = D + more[0], D + more[1]
    w = share * combining._largest_omega(D)
    p, q = pair(a, b)
    n, c = a + b + 1, math.sqrt(1 + D**-2)
    y = 4 * c / n
    bound = -(1 + 1 / D + 1 / (2 * D * D)) * math.log(math.cos(w * y)) + (1 + 1 / D) ** 2 * y * y / 8
    for one, other in ((p, q), (1 - q, 1 - p)):
        assert math.log(exit_moment(one, other, 0.125 + w * w / 2)) <= bound + 1e-12


@pytest.mark.parametrize(("D", "late"), [(1, 0), (4, 0), (30, 3), (200, 0), (200, 50)])
def test_the_moment_of_all_rounds_is_at_least_the_sum(D, late):  # noqa: N803
    for share in (0.1, 0.5, 1.0):
        w = share * combining._largest_omega(D)
        c = math.sqrt(1 + D**-2)
        n = np.concatenate([np.full(late, 2 * D + 1), np.arange(2 * D + 1, 200_000)])
        y = 4 * c / n
        terms = -(1 + 1 / D + 1 / (2 * D * D)) * np.log(np.cos(w * y)) + (1 + 1 / D) ** 2 * y * y / 8
        bound = combining._log_moment(D, w, late)
        assert terms.sum() <= bound <= terms.sum() * 1.03


@pytest.mark.parametrize(("epsilon", "time"), [(0.0, 0.3), (0.5, 0.04), (1.0, 2.0), (0.05, 0.001)])
def test_the_motions_delta_is_that_of_two_normal_laws(epsilon, time):
    mu = math.sqrt(time)
    x, step = np.linspace(-12, 12 + mu, 400_001, retstep=True)
    f, g = (np.exp(-0.5 * (x - m) ** 2) / math.sqrt(2 * math.pi) for m in (mu, 0.0))
    exact = np.maximum(f - math.exp(epsilon) * g, 0).sum() * step
    assert combining._gaussian_delta(epsilon, time) == pytest.approx(exact, rel=1e-6, abs=1e-12)


def test_more_delay_or_more_epsilon_is_more_private_and_more_lateness_less():
    deltas = [combining.rule_delta(D, 0.5) for D in (10, 20, 50, 100, 300)]
    assert deltas == sorted(deltas, reverse=True)
    deltas = [combining.rule_delta(100, epsilon) for epsilon in (0.0, 0.2, 0.5, 1.0, math.inf)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] == 0.0
    deltas = [combining.rule_delta(100, 0.5, late) for late in (0, 1, 10, 100)]
    assert deltas == sorted(deltas)


@pytest.mark.parametrize("D", [50, 300])
def test_the_level_found_for_a_delay_is_certified(D):  # noqa: N803
    level = combining.rule_epsilon(D, 1e-5)
    assert combining.rule_delta(D, level) <= 1e-5 < combining.rule_delta(D, level * 0.999)


def test_the_expected_bound():
    assert combining.expected_bound(7, 10) == 41
    assert combining.expected_bound(7, 10, 5) == 46


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: combining.rule_delta(0, 1.0), "D must be"),
        (lambda: combining.rule_delta(True, 1.0), "D must be"),
        (lambda: combining.rule_delta(4, -1.0), "epsilon"),
        (lambda: combining.rule_delta(4, 1.0, -1), "max_delay"),
        (lambda: combining.rule_epsilon(4, 0.0), "delta"),
        (lambda: combining.smallest_delay(1.0, 1.0), "delta"),
        (lambda: combining.smallest_delay(0.0, 1e-12), "need a delay above"),
    ],
)
def test_what_is_no_parameter_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
