"""The bounds against exact private learners, independent arithmetic, and the proof's own lemmas by enumeration."""

# ruff: noqa: N803, N806 - L, T, p, ε and δ are the paper's letters

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from adversary import places_law
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import bounds
from streamlearn.bounds.algorithm1 import Leak, _theorem1_constant
from streamlearn.bounds.forced import _copied, group_delta
from streamlearn.errors import ParameterError

ROUNDING = 1e-12  # sums of at most a few thousand doubles of order 1

levels = st.floats(0.0, 3.0)
deltas = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))
probabilities = st.floats(1e-3, 1.0)


# --- Algorithm 1's stages


def test_stages_are_the_exact_integer_logarithm():
    for T in [*range(1, 3**7 + 2), *(3**L + off for L in range(1, 300, 7) for off in (-1, 0, 1))]:
        L = bounds.stages(T)
        assert 3**L <= T < 3 ** (L + 1)
    assert [bounds.stages(T) for T in (1.0, 2.9, 3.0, 1e300)] == [0, 0, 1, 628]
    assert bounds.stages(np.int64(3**39)) == 39


# --- the recursion behind the closed forms


@given(levels, deltas, probabilities, st.integers(1, 40))
def test_the_tight_leakage_is_what_lemma_2_gives_when_all_variance_is_spent(epsilon, delta, p, L):
    v = (1 + delta) * 4 * math.sinh(epsilon / 2) ** 2
    told = [0.0]
    for stage in range(1, L):
        spent = 6 * (
            v + stage * (p * v + 8 * delta * math.sinh(epsilon)) / 3
        )  # the most Σ D can be: W stays >= 0
        told.append(8 * p**2 * spent + stage * 16 * p * delta)
    assert bounds.leakage(3**L, p, epsilon=epsilon, delta=delta) == pytest.approx(told, rel=ROUNDING)


@given(st.floats(0.0, 0.25), probabilities, st.integers(1, 40))
def test_the_printed_leakage_covers_what_the_printed_lemma_2_gives(delta, p, L):
    told = [0.0]
    for stage in range(1, L):
        spent = 6 * (1 + stage * (p + delta) / 3)
        told.append(20 * p**2 * spent + stage * 20 * p * delta)
    printed = bounds.leakage(3**L, p, delta=delta, constants="paper")
    assert (printed >= np.array(told) * (1 - ROUNDING)).all()
    assert printed[1:] == pytest.approx(
        [120 * (p**2 + t * p**3 / 3 + t * p * delta / 2) for t in range(1, L)]
    )


@given(st.floats(0.0, 0.01), st.floats(0.0, 0.25), probabilities, st.integers(1, 60))
def test_the_tight_constants_are_never_above_the_printed_ones(epsilon, delta, p, L):
    tight, printed = (
        bounds.leakage(3**L, p, epsilon=epsilon, delta=delta, constants=kind) for kind in ("tight", "paper")
    )
    assert (tight <= printed).all()


# --- Lemmas 1 and 2 by enumeration, on T = 9 (two stages)

T9 = 9


def respond(z: int, truth: int, epsilon: float, delta: float) -> float:
    """P(z | example): an (ε, δ)-private bit; truth 0 dummy, 1 label 0, 2 label 1."""
    high = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    one = {0: 0.5, 1: 1 - high, 2: high}[truth]
    return one if z else 1 - one


class BitLearner:
    """Keeps one private bit of each example and releases any function of the bits kept: private as a whole.

    ``table`` holds, round by round, the prediction at point 1 for each history of bits.
    """

    def __init__(self, epsilon: float, delta: float, table: np.random.Generator) -> None:
        self.epsilon, self.delta = epsilon, delta
        bits = np.array(list(itertools.product((0, 1), repeat=T9)))
        self.released = np.zeros((len(bits), T9), dtype=int)
        for r in range(T9):
            history = bits[:, :r] @ (1 << np.arange(r)) if r else np.zeros(len(bits), dtype=int)
            self.released[:, r] = table.integers(2, size=1 << r)[history]
        self.codes = self.released @ (1 << np.arange(T9)[::-1])  # the first r predictions: the first r bits

    def law(self, label: int, places: tuple[int, ...]) -> np.ndarray:
        """The law of the T predictions, by code, on the stream with (1, label) at some places."""
        law = np.ones(1)
        for r in range(T9):
            truth = 1 + label if r in places else 0
            law = np.kron(law, [respond(z, truth, self.epsilon, self.delta) for z in (0, 1)])
        return np.bincount(self.codes, weights=law, minlength=1 << T9)


class Stage:
    """The quantities of the proof after some choices of thirds."""

    def __init__(self, learner: BitLearner, thirds: tuple[int, ...], p: float) -> None:
        self.a, size, mixture = 0, T9, {(): 1.0}
        for third in thirds:
            size //= 3
            if third == 1:
                mixture = {
                    (*places, s): q * p / size
                    for places, q in mixture.items()
                    for s in range(self.a, self.a + size)
                } | {places: q * (1 - p) for places, q in mixture.items()}
            self.a += third * size
        self.b = self.a + size
        self.learner, self.mixture = learner, mixture
        self.base = [self.mixed(label, ()) for label in (0, 1)]
        self.told = self.V(self.a) + 2 * (self.V(self.b) - self.V(self.a))
        self.spread, self.gap = self.variances()

    def mixed(self, label: int, more: tuple[int, ...]) -> np.ndarray:
        return sum(q * self.learner.law(label, places + more) for places, q in self.mixture.items())

    def V(self, r: int) -> float:  # noqa: N802 - the paper's letter
        zero, one = (law.reshape(1 << r, -1).sum(axis=1) / 2 for law in self.base)
        seen = zero + one > 0
        return float((((one - zero)[seen] ** 2) / (zero + one)[seen]).sum())

    def variances(self) -> tuple[float, float]:
        low, high = math.exp(-self.learner.epsilon), math.exp(self.learner.epsilon)
        spread = gap = 0.0
        for label in (0, 1):
            base = self.base[label]
            seen = base > 0
            ratios = np.array(
                [
                    np.clip(self.mixed(label, (s,))[seen] / base[seen], low, high)
                    for s in range(self.a, self.b)
                ]
            )
            third = len(ratios) // 3
            spread += float(base[seen] @ ratios.var(axis=0)) / 2
            if third:
                gap += (
                    float(base[seen] @ (ratios[:third].mean(axis=0) - ratios[-third:].mean(axis=0)) ** 2) / 2
                )
        return spread, gap

    def mistakes(self, p: float) -> float:
        """Expected mistakes on what the next stage inserts."""
        third = (self.b - self.a) // 3
        wrong = 0.0
        for s in range(self.a, self.a + third):
            for label in (0, 1):
                law = self.base[label].reshape(1 << s, 2, -1).sum(axis=(0, 2))
                wrong += law[1 - label] / 2 / third
        return p / 3 * wrong


@pytest.mark.parametrize("p", [0.3, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.0), (0.3, 0.0), (1.0, 0.0), (1.5, 0.1), (0.0, 0.2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_lemmas_1_and_2_hold_for_learners_worked_out_exactly(epsilon, delta, p, seed):
    learner = BitLearner(epsilon, delta, np.random.default_rng(seed))
    v = (1 + delta) * 4 * math.sinh(epsilon / 2) ** 2
    stages = [
        [Stage(learner, thirds, p) for thirds in itertools.product(range(3), repeat=t)] for t in range(3)
    ]
    assert stages[0][0].told == pytest.approx(0.0, abs=ROUNDING)
    assert stages[0][0].spread <= v + ROUNDING
    for t in (0, 1):
        for place, stage in enumerate(stages[t]):
            after = stages[t + 1][3 * place : 3 * place + 3]
            assert (
                np.mean([it.told for it in after])
                <= stage.told + 8 * p**2 * stage.gap + 16 * p * delta + ROUNDING
            )
            gain = (p * v + 8 * delta * math.sinh(epsilon)) / 3
            assert np.mean([it.spread for it in after]) <= stage.spread - stage.gap / 6 + gain + ROUNDING
        told = np.mean([it.told for it in stages[t]])
        mistakes = np.mean([it.mistakes(p) for it in stages[t]])
        assert mistakes >= p / 6 * (1 - math.sqrt(max(told, 0.0))) - ROUNDING
        assert told <= bounds.leakage(T9, p, epsilon=epsilon, delta=delta)[t] + ROUNDING


def test_the_enumeration_can_tell_a_wrong_lemma():
    # A learner that repeats its bits is told about B at the second stage, and its W shrinks when D is spent.
    learner = BitLearner(1.5, 0.0, np.random.default_rng(0))
    history = np.array(list(itertools.product((0, 1), repeat=T9)))
    learner.released = np.concatenate([np.zeros((512, 1), dtype=int), history[:, :-1]], axis=1)
    learner.codes = learner.released @ (1 << np.arange(T9)[::-1])
    first = Stage(learner, (), 1.0)
    after = [Stage(learner, (third,), 1.0) for third in range(3)]
    assert np.mean([it.told for it in after]) > first.told + 0.05
    assert np.mean([it.spread for it in after]) < first.spread - first.gap / 12


# --- the sum over stages, against private learners whose mistakes are known exactly


def remembering(L: int, p: float, gamma: float, copies: int = 1) -> float:
    """Mistakes of the learner that retains each example with probability γ and answers B once it knows it.

    It is (0, γ)-private, and before it knows B it errs on half: Σ_{i<qK} (1-γ)^i/2 with K ~ Binomial(L, p/3).
    """
    return (1 - (1 - p / 3 * (1 - (1 - gamma) ** copies)) ** L) / (2 * gamma)


@given(st.integers(1, 3000), probabilities, st.floats(1e-5, 0.25), levels)
def test_the_bound_holds_for_subsampled_memory(L, p, gamma, epsilon):
    bound = bounds.algorithm1_lower(3**L, p, epsilon=epsilon, delta=gamma)
    assert bound <= remembering(L, p, gamma) * (1 + ROUNDING)


@given(st.integers(1, 200), st.integers(2, 64), st.floats(1e-5, 0.25), st.floats(0.0, 0.2))
@settings(max_examples=25)
def test_the_bound_with_copies_holds_for_subsampled_memory(L, copies, gamma, epsilon):
    # Its mistakes grow with p: the bound at its best p is at most what it makes at p = 1.
    bound = _copied(32 * copies * 3**L, copies, epsilon, gamma)
    assert bound <= remembering(L, 1.0, gamma, copies) * (1 + ROUNDING)


def majority_error(ones: int, zeros: int, epsilon: float, delta: float) -> float:
    """P(the private bits point the wrong way) after some informative and some dummy examples; a tie is a coin."""
    high = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    law = np.ones(1)
    for chance in [high] * ones + [0.5] * zeros:
        law = np.convolve(law, [1 - chance, chance])
    half = (ones + zeros) / 2
    votes = np.arange(ones + zeros + 1)
    return float(law[votes < half].sum() + law[votes == half].sum() / 2)


@pytest.mark.parametrize("p", [0.25, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.0), (0.5, 0.0), (0.5, 0.05), (2.0, 0.0)])
@pytest.mark.parametrize("dummies", [False, True])
def test_the_bound_holds_for_a_majority_of_private_bits_on_all_streams_of_27_rounds(
    p, epsilon, delta, dummies
):
    expected = 0.0
    for places, q in places_law(0, 27, Fraction(p)).items():
        wrong = (
            majority_error(seen, place - seen if dummies else 0, epsilon, delta)
            for seen, place in enumerate(places)
        )
        expected += float(q) * sum(wrong)
    assert bounds.algorithm1_lower(27, p, epsilon=epsilon, delta=delta) <= expected + ROUNDING


def test_without_privacy_loss_half_of_the_informative_rounds_are_forced():
    for L, p in [(1, 1.0), (7, 0.5), (40, 0.01)]:
        assert bounds.algorithm1_lower(3**L, p, epsilon=0.0) == pytest.approx(L * p / 6, rel=ROUNDING)


# --- the paper's p


@given(st.integers(2, 3000), st.floats(0.0, 0.25), st.sampled_from(["paper", "tight"]))
def test_the_papers_p_is_the_largest_with_a_quarter_and_not_below_its_printed_form(L, delta, constants):
    p = bounds.paper_probability(3**L, delta=delta, constants=constants)
    leak = Leak.of(0.01, delta, constants)
    last = np.array([L - 1.0])
    assert leak.after(last, p)[0] <= 0.25
    assert p == 1.0 or leak.after(last, math.nextafter(p, 2))[0] > 0.25
    c0 = _theorem1_constant(constants) * 12 * math.log(16) ** (2 / 3)
    assert p >= c0 * min(L ** (-1 / 3), math.inf if delta == 0 else 1 / (delta * L)) * (1 - ROUNDING)


@given(st.integers(1, 3000), st.floats(0.0, 0.25), st.sampled_from(["paper", "tight"]))
def test_the_sum_is_at_least_lp_over_12_and_the_closed_form_at_most_that(L, delta, constants):
    p = bounds.paper_probability(3**L, delta=delta, constants=constants)
    total = bounds.algorithm1_lower(3**L, delta=delta, constants=constants)
    assert total >= L * p / 12 * (1 - ROUNDING)
    longest = 3 ** (L + 1) - 1
    closed = bounds.theorem1_lower(longest, delta=delta, constants=constants)
    assert closed <= L * p / 12 * (1 + ROUNDING)
    assert closed <= bounds.point3_lower(longest, delta=delta, constants=constants)


def test_theorem_1s_constant_solves_its_equation():
    for constants, root in (("paper", [40, 120, 60, -0.25]), ("tight", None)):
        c0 = _theorem1_constant(constants) * 12 * math.log(16) ** (2 / 3)
        if root:
            assert min(abs(np.roots(root) - c0)) < ROUNDING
        else:
            v = 4 * math.sinh(0.005) ** 2 * 1.25
            assert 48 * v * c0**2 + 16 * v * c0**3 + 16 * c0 + 128 * math.sinh(0.01) * c0**2 == pytest.approx(
                0.25
            )


# --- repetition


def exact_repetition(T: int, epsilon: float, delta: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
        growth = mpmath.mpf if epsilon == 0 else (lambda j: mpmath.expm1(j * e) / mpmath.expm1(e))
        return mpmath.fsum(max(0, (1 - d * growth(j)) / (1 + mpmath.exp(j * e))) for j in range(T))


@given(st.integers(1, 200), levels, deltas)
@settings(max_examples=40)
def test_repetition_is_its_sum(T, epsilon, delta):
    exact = float(exact_repetition(T, epsilon, delta))
    # terms beyond e^-40 are left out
    assert bounds.repetition_lower(T, epsilon=epsilon, delta=delta) == pytest.approx(
        exact, rel=ROUNDING, abs=1e-16
    )


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-5, 0.0), (1e-5, 1e-6), (1e-5, 1e-9), (3e-6, 3e-6), (0.0, 3e-6), (1e-9, 4e-6)]
)
def test_a_long_repetition_is_rounded_down_and_by_little(epsilon, delta):
    T = 4_000_000
    j = np.arange(T, dtype=np.float64)
    growth = j if epsilon == 0 else np.expm1(j * epsilon) / math.expm1(epsilon)
    exact = math.fsum(np.maximum((1 - delta * growth) / (1 + np.exp(j * epsilon)), 0.0))
    got = bounds.repetition_lower(T, epsilon=epsilon, delta=delta)
    assert exact * (1 - 1e-5) <= got <= exact * (1 + 1e-11)  # the exact sum itself is good to 1e-12


def test_repetition_without_any_leak_is_half_of_the_rounds():
    assert bounds.repetition_lower(10**30, epsilon=0.0) == pytest.approx(10**30 / 2, rel=ROUNDING)
    assert bounds.repetition_lower(3**900, epsilon=0.0) > 1e90


@given(st.floats(0.0, 2.0), st.one_of(st.just(0.0), st.floats(1e-6, 0.5)))
def test_repetition_is_attained_for_two_rounds_and_respected_by_majorities(epsilon, delta):
    errors = [majority_error(j, 0, epsilon, delta) for j in range(12)]
    assert bounds.repetition_lower(2, epsilon=epsilon, delta=delta) == pytest.approx(
        sum(errors[:2]), rel=1e-9
    )
    assert bounds.repetition_lower(12, epsilon=epsilon, delta=delta) <= sum(errors) + ROUNDING


@given(st.integers(1, 10**6), st.floats(1e-6, 1.0))
def test_repetition_is_respected_by_subsampled_memory(T, gamma):
    expected = -math.expm1(T * math.log1p(-gamma)) / (2 * gamma) if gamma < 1 else 0.5
    assert bounds.repetition_lower(T, epsilon=0.0, delta=gamma) <= expected * (1 + 1e-9)


@given(st.integers(1, 50), levels, deltas)
def test_group_delta_is_the_sum_of_fact_1(q, epsilon, delta):
    expected = delta * math.fsum(math.exp(j * epsilon) for j in range(q))
    assert group_delta(q, epsilon, delta) == pytest.approx(expected, rel=1e-9)


# --- Theorem 2


def literal_lemma5(n: int, epsilon: float, delta: float) -> float:
    """Lemma 5 written again from its proof, with p by bisection on (1)."""

    def mu(N: int, d: float) -> float:
        L = 0
        while 3 ** (L + 1) <= N:
            L += 1
        if L == 0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(200):
            p = (low + high) / 2
            inside = L == 1 or 120 * p * p + 40 * (L - 1) * p**3 + 60 * (L - 1) * p * d <= 0.25
            low, high = (p, high) if inside else (low, p)
        return L * low / 3

    if epsilon > 0.01:
        r = math.expm1(0.01) / math.expm1(epsilon)
        return r * mu(n, r * delta) / 4
    if n < 1 / epsilon:
        return n / 8
    q = int(0.01 / epsilon)
    return q * mu(n // (32 * q), delta * sum(math.exp(j * epsilon) for j in range(q))) / 5


@given(
    st.integers(1, 10**9),
    st.integers(2, 30),
    st.one_of(st.floats(1e-4, 0.01), st.floats(0.011, 1.0)),
    st.floats(0.0, 1.0),
)
def test_the_paper_form_of_theorem_2_is_its_cases(T, d, epsilon, share):
    delta = share * min(epsilon**2, 0.25)
    phases = min(d - 1, T)
    expected = phases * literal_lemma5(T // phases, epsilon, delta)
    got = bounds.littlestone_lower(T, d, epsilon=epsilon, delta=delta, constants="paper")
    assert got == pytest.approx(expected, rel=1e-9)  # the bisections end apart by some 1e-16 of p
    assert got <= bounds.littlestone_lower(T, d, epsilon=epsilon, delta=delta)


def test_lemma_5s_printed_numbers():
    assert math.exp(-1) / 2 - math.e * 0.01 >= 1 / 8
    assert math.exp(-0.01) * (1 / 4 - 1 / 32) - math.exp(0.01) * 0.01**2 >= 1 / 5


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_a_path_of_repeated_nodes_is_counted_node_by_node(d):
    # 23 rounds shared evenly; the last line needs no learner: without loss of privacy half of all rounds are mistakes
    each, more = divmod(23, d)
    apart = more * exact_repetition(each + 1, 0.7, 0.02) + (d - more) * exact_repetition(each, 0.7, 0.02)
    assert bounds.littlestone_lower(23, d, epsilon=0.7, delta=0.02) == pytest.approx(float(apart))
    assert bounds.littlestone_lower(23, d, epsilon=0.0) == 11.5
    assert bounds.littlestone_lower(5, 40, epsilon=1.0) == 2.5
    assert bounds.littlestone_lower(5, 0) == 0.0


# --- monotonicity, and what meets what

rounds = st.one_of(st.integers(1, 200), st.integers(1, 3**60))


@given(rounds, rounds, levels, levels, deltas, deltas)
@settings(max_examples=60)
def test_more_rounds_force_more_and_less_privacy_less(T1, T2, e1, e2, d1, d2):
    least = bounds.point3_lower(min(T1, T2), epsilon=max(e1, e2), delta=max(d1, d2))
    most = bounds.point3_lower(max(T1, T2), epsilon=min(e1, e2), delta=min(d1, d2))
    assert least <= most * (1 + ROUNDING)


@given(rounds, levels, deltas)
@settings(max_examples=40)
def test_no_lower_bound_contradicts_a_learner_we_have(T, epsilon, delta):
    # Subsampled SOA at γ = δ is (ε, δ)-private as a learner; a coin is right half the time.
    bound = bounds.point3_lower(T, epsilon=epsilon, delta=delta)
    assert 0.5 <= bound <= T / 2 * (1 + ROUNDING)
    if delta > 0:
        assert bound <= bounds.subsampled_soa_upper(1, delta)


@given(rounds, st.integers(1, 40), st.integers(1, 40), levels, deltas)
@settings(max_examples=40)
def test_a_richer_class_forces_more_by_repetition(T, d1, d2, epsilon, delta):
    low, high = sorted((d1, d2))
    forced = [bounds.littlestone_lower(T, d, epsilon=epsilon, delta=delta) for d in (1, low, high)]
    assert bounds.repetition_lower(T, epsilon=epsilon, delta=delta) == pytest.approx(forced[0])
    assert forced[0] <= forced[1] * (1 + ROUNDING)
    assert forced[1] <= forced[2] * (1 + 1e-5)  # long sums are rounded down by as much
    if delta > 0:
        assert forced[2] <= bounds.subsampled_soa_upper(high, delta)


def test_limits():
    # ln 2/ε and half a term for small ε; 1/(4δ) for ε = 0; one mistake's half without privacy
    assert bounds.repetition_lower(10**9, epsilon=1e-4) == pytest.approx(math.log(2) / 1e-4 + 0.25, rel=1e-6)
    assert bounds.repetition_lower(10**9, epsilon=0.0, delta=1e-6) == pytest.approx(0.25e6, rel=1e-5)
    assert bounds.point3_lower(10**9, epsilon=300.0) == 0.5
    assert bounds.point3_lower(10**9, delta=1.0) == 0.5
    # Theorem 1's growth: L^(2/3), so 8 times the stages give 4 times the mistakes once p is below 1
    grown = [bounds.algorithm1_lower(3**L) for L in (2000, 16000)]
    assert grown[1] / grown[0] == pytest.approx(4.0, rel=0.01)


# --- upper bounds and quoted ones


def test_upper_bounds():
    assert bounds.soa_upper([0, 3]).tolist() == [0.0, 3.0]
    assert bounds.subsampled_soa_upper([1, 2], 0.25).tolist() == [4.0, 8.0]
    # Theorem 3 with B = 10, δ = 0.1: 3B + 3δ·(4d/δ) + 2D
    assert (
        bounds.private_predictor_upper(10, 2, 7)
        == 3 * 10 + 3 * 0.1 * bounds.subsampled_soa_upper(2, 0.1 / 4) + 14
    )


def test_quoted_rates():
    T, e, delta = 3**50, 0.5, 1e-4
    log_t = 50 * math.log(3)
    expected = {
        "LWY24": math.log(0.5e4),
        "GL21": log_t,
        "LWY25": log_t + math.log(1e4),
        "Lyu26": 2**9.5 * log_t * math.log(1e4) / 0.5,
        "KMM23": (2 * math.log(1e4) * (log_t + math.log(1e4)) / 0.5) ** 2,
        "CLN24": (math.log(1e4) / 0.5) ** 2,
    }
    assert expected.keys() == bounds.QUOTED.keys()
    for name, rate in expected.items():
        got = bounds.quoted(name, T, constant=3.0, d=2, epsilon=e, delta=delta)
        assert got == pytest.approx(3 * rate, rel=1e-12)
    assert bounds.quoted("LWY24", 10, constant=1.0, delta=0.0) == math.log(10)
    assert bounds.quoted("LWY24", 10, constant=1.0, delta=0.5) == 0.0
    assert bounds.quoted("CLN24", 10, constant=1.0, delta=0.0) == math.inf


# --- arrays


def test_arrays_are_broadcast_and_integers_of_any_size_stay_exact():
    T = [3**50 - 1, 3**50, 3**700]
    got = bounds.point3_lower(T, delta=np.array([[0.0], [0.1]]))
    assert got.shape == (2, 3)
    assert got.tolist() == [[bounds.point3_lower(t, delta=d) for t in T] for d in (0.0, 0.1)]
    assert bounds.algorithm1_lower(T, 1.0)[0] < bounds.algorithm1_lower(T, 1.0)[1]
    assert bounds.repetition_lower(np.arange(1, 4), epsilon=0.0).tolist() == [0.5, 1.0, 1.5]
    assert bounds.paper_probability([]).shape == (0,)
    assert bounds.littlestone_lower([10, 20], [[2], [3]]).shape == (2, 2)
    assert isinstance(bounds.theorem1_lower(9), float)


# --- bad arguments


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.stages(0), ("T", "at least 1")),
        (lambda: bounds.stages(math.inf), ("T", "finite")),
        (lambda: bounds.stages(True), ("T", "finite")),
        (lambda: bounds.stages("9"), ("T", "finite")),
        (lambda: bounds.point3_lower([9, -1]), ("T", "at least 1")),
        (lambda: bounds.point3_lower(9, epsilon=-1), ("epsilon", "[0, 300]")),
        (lambda: bounds.point3_lower(9, epsilon=math.nan), ("epsilon", "[0, 300]")),
        (lambda: bounds.point3_lower(9, epsilon=301), ("epsilon", "[0, 300]")),
        (lambda: bounds.point3_lower(9, delta=1.1), ("delta", "[0, 1]")),
        (lambda: bounds.point3_lower(9, epsilon=0.02, constants="paper"), ("epsilon", "[0, 0.01]", "tight")),
        (lambda: bounds.point3_lower(9, delta=0.3, constants="paper"), ("delta", "[0, 0.25]", "tight")),
        (lambda: bounds.point3_lower(9, constants="best"), ("constants", "paper", "tight")),
        (lambda: bounds.theorem1_lower(9, constants="best"), ("constants", "paper", "tight")),
        (lambda: bounds.littlestone_lower(9, 2, constants="best"), ("constants", "paper", "tight")),
        (lambda: bounds.theorem1_lower(9, delta=0.3), ("delta", "[0, 0.25]")),
        (lambda: bounds.algorithm1_lower(9, 0.0), ("p", "(0, 1]")),
        (lambda: bounds.algorithm1_lower(9, 1.5), ("p", "(0, 1]")),
        (lambda: bounds.leakage(9, "1"), ("p", "(0, 1]")),
        (lambda: bounds.repetition_lower(9, delta=None), ("delta", "[0, 1]")),
        (lambda: bounds.littlestone_lower(9, -1), ("d", ">= 0")),
        (lambda: bounds.littlestone_lower(9, 2.0), ("d", "whole")),
        (lambda: bounds.littlestone_lower(9, 1, constants="paper"), ("d", ">= 2")),
        (lambda: bounds.littlestone_lower(9, 2, epsilon=0, constants="paper"), ("epsilon", "(0, 1]")),
        (
            lambda: bounds.littlestone_lower(9, 2, epsilon=2, constants="paper"),
            ("epsilon", "[0, 1]", "tight"),
        ),
        (
            lambda: bounds.littlestone_lower(9, 2, epsilon=0.1, delta=0.02, constants="paper"),
            ("delta", "0.01]"),
        ),
        (lambda: bounds.soa_upper(-1), ("d", ">= 0")),
        (lambda: bounds.subsampled_soa_upper(1, 0), ("gamma", "(0, 1]")),
        (lambda: bounds.subsampled_soa_upper(1, 2), ("gamma", "[0, 1]")),
        (lambda: bounds.private_predictor_upper(-1, 1, 1), ("B", "[0, inf]")),
        (lambda: bounds.private_predictor_upper(1, 1, math.nan), ("D", "[0, inf]")),
        (lambda: bounds.quoted("XYZ", 9, constant=1, delta=0.1), ("name", "LWY24")),
        (lambda: bounds.quoted("GL21", 9, constant=-1, delta=0.1), ("constant", "[0, inf]")),
        (lambda: bounds.quoted("GL21", 9, constant=1, epsilon=0, delta=0.1), ("epsilon", "> 0")),
    ],
)
def test_bad_arguments_are_refused_with_field_and_bound(call, words):
    with pytest.raises(ParameterError) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
