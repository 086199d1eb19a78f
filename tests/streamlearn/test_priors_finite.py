"""Point masses, discrete laws and logs against exact rational arithmetic; what they refuse, and how they say so."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn.errors import PriorError
from streamlearn.priors import Discrete, Empirical, PointMass
from streamlearn.priors.finite import Finite

EPS = 2.0**-52
NAN, INF = math.nan, math.inf

values = st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(0, 9).map(float)
places = st.floats(-2e6, 2e6) | st.integers(-1, 10).map(float)
samples = st.lists(values, min_size=1, max_size=12)


def exact(atoms, t):
    """Return S(t), P(X > t), P(X = t), E[X²; X > t] of {value: probability} in rational arithmetic."""
    t = Fraction(t)
    above = {Fraction(v): p for v, p in atoms if Fraction(v) > t}
    return (
        sum((p * (v - t) for v, p in above.items()), Fraction()),
        sum(above.values(), Fraction()),
        sum((p for v, p in atoms if Fraction(v) == t), Fraction()),
        sum((p * v * v for v, p in above.items()), Fraction()),
    )


def check(law, atoms, t, few):
    """Compare with the oracle: every result is a sum of at most 12 terms of one sign, so ``few`` last places."""
    stop_loss, survival, atom, second = (float(x) for x in exact(atoms, t))
    # Each gap v - t and each value is rounded on the scale of the larger of the two.
    scale = few * EPS * (abs(t) + max(abs(float(v)) for v, _ in atoms)) * survival
    for got in (law.stop_loss(t), law.stop_losses(np.array([t]))[0]):
        assert abs(got - stop_loss) <= few * EPS * stop_loss + scale
        assert got >= 0.0
    for got in (law.survival(t), law.survivals(np.array([t]))[0]):
        assert abs(got - survival) <= few * EPS * survival
    assert abs(law.atom(t) - atom) <= few * EPS * atom
    assert abs(law.second_moment_above(t) - second) <= few * EPS * second


@given(samples, places)
def test_empirical_is_exact(sample, t):
    law = Empirical(sample)
    atoms = [(v, Fraction(sample.count(v), len(sample))) for v in set(sample)]
    for place in (t, *sample):
        check(law, atoms, place, 32)
    assert law.atoms.tolist() == sorted(set(sample))
    assert (law.lower, law.upper, law.n) == (min(sample), max(sample), len(sample))
    # Probabilities are counts over n, each rounded once.
    assert law.probs.tolist() == [sample.count(v) / len(sample) for v in sorted(set(sample))]
    assert [law.survival(v) for v in sample] == [sum(w > v for w in sample) / len(sample) for v in sample]


@given(st.lists(st.tuples(values, st.integers(0, 16)), min_size=1, max_size=12), places)
def test_discrete_is_exact(pairs, t):
    total = sum(weight for _, weight in pairs)
    if total == 0:
        return
    law = Discrete([v for v, _ in pairs], [weight / total for _, weight in pairs])
    merged = {}
    for v, weight in pairs:
        merged[v] = merged.get(v, Fraction()) + Fraction(weight, total)
    atoms = [(v, p) for v, p in merged.items() if p > 0]
    for place in (t, *merged):
        check(law, atoms, place, 64)  # the probabilities given are themselves rounded
    assert law.atoms.tolist() == sorted(v for v, _ in atoms)
    assert law.probs.sum() == pytest.approx(1.0, abs=16 * EPS)


@given(values, places)
def test_point_mass_is_exact(value, t):
    law = PointMass(value)
    check(law, [(value, Fraction(1))], t, 1)
    check(law, [(value, Fraction(1))], value, 1)
    assert law.atoms.tolist() == [law.mean] == [law.lower] == [law.upper] == [value]
    assert law.probs.tolist() == [1.0]
    assert law.variance == 0.0
    assert law.sample(np.random.default_rng(1), (2, 2)).tolist() == [[value, value]] * 2


@given(samples)
def test_moments_and_zero(sample):
    law = Empirical(np.abs(sample))
    exact_mean = sum(Fraction(abs(v)) for v in sample) / len(sample)
    exact_variance = sum((Fraction(abs(v)) - exact_mean) ** 2 for v in sample) / len(sample)
    assert law.stop_loss(0.0) == law.mean
    assert abs(law.mean - float(exact_mean)) <= 4 * EPS * float(exact_mean)
    # The rounded mean is off by δ <= 4·EPS·mean, which adds δ² and rounds each square once.
    assert (
        abs(law.variance - float(exact_variance))
        <= 32 * EPS * float(exact_variance) + (4 * EPS * law.mean) ** 2
    )
    assert abs(
        law.second_moment_above(-1.0) - law.variance - law.mean**2
    ) <= 32 * EPS * law.second_moment_above(-1.0)


@given(samples, st.lists(places, min_size=2, max_size=2))
def test_shape(sample, pair):
    law, (t, u) = Empirical(sample), sorted(pair)
    fall, width = law.stop_loss(t) - law.stop_loss(u), u - t
    slack = 32 * EPS * (abs(t) + abs(u) + max(map(abs, sample)))
    assert width * law.survival(u) - slack <= fall <= width * law.survival(t) + slack
    middle = 0.5 * (t + u)
    assert law.stop_loss(middle) <= 0.5 * (law.stop_loss(t) + law.stop_loss(u)) + slack
    assert law.stop_losses(np.array([[t, u]])).shape == law.survivals(np.array([[t, u]])).shape == (1, 2)


def test_the_tail_of_a_million_entries_keeps_its_digits():
    entries = np.random.default_rng(3).pareto(1.5, 10**6)
    law = Empirical(entries)
    assert law.mean == pytest.approx(math.fsum(entries) / 10**6, rel=4 * EPS)
    for t in (0.0, 1.0, 100.0, float(np.sort(entries)[-2])):
        reference = math.fsum(v - t for v in entries[entries > t].tolist()) / 10**6
        # v - t rounds on the scale of v: one last place of E[X; X > t] for the reference, a few for S.
        assert abs(law.stop_loss(t) - reference) <= 8 * EPS * law.mean_above(t)
        assert law.stop_losses(np.array([t]))[0] == law.stop_loss(t)
        assert law.survival(t) == (entries > t).sum() / 10**6


def test_samples_have_the_law():
    # Hoeffding: a frequency among n draws is off by √(ln(2/α)/2n) with probability <= α; α = 1e-7 for each of
    # the 5 frequencies here, and the seed is fixed.
    bound = math.sqrt(math.log(2e7) / (2 * 20_000))
    for law in (Discrete([3.0, 1.0], [0.25, 0.75]), Empirical([5.0, 5.0, 1.0, 2.0])):
        draws = law.sample(np.random.default_rng(5), 20_000)
        assert set(draws.tolist()) == set(law.atoms.tolist())
        for value, prob in zip(law.atoms, law.probs, strict=True):
            assert abs(np.mean(draws == value) - prob) <= bound
        assert law.sample(np.random.default_rng(5), (3, 2)).shape == (3, 2)


def test_equal_laws_are_equal_objects_and_copies():
    for law, twin in (
        (Discrete([1, 2], [0.5, 0.5]), Discrete([2, 1, 7], [0.5, 0.5, 0.0])),
        (Empirical([1, 1, 2]), Empirical([2.0, 1.0, 1.0])),
        (PointMass(1), PointMass(1.0)),
    ):
        assert law == twin
        assert hash(law) == hash(twin)
        for copied in (pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):  # noqa: S301 - our own pickle
            assert copied == law
            assert hash(copied) == hash(law)
            assert copied.stop_loss(0.5) == law.stop_loss(0.5)
        assert isinstance(law, Finite)
    assert Discrete([1, 2], [0.5, 0.5]) != Empirical([1, 2])
    assert Discrete([1, 2], [0.5, 0.5]) != Discrete([1, 3], [0.5, 0.5])
    assert PointMass(1) != PointMass(2)


def test_tables_cannot_be_written_to():
    law = Empirical([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        law.atoms[0] = 3.0


def test_repr_shows_public_laws_and_hides_logs():
    assert repr(Discrete([5, 0], [0.1, 0.9])) == "Discrete([0.0, 5.0], [0.9, 0.1])"
    assert repr(Discrete(range(10), [0.1] * 10)) == "Discrete(<10 values>)"
    assert repr(PointMass(0.7)) == "PointMass(0.7)"
    assert repr(Empirical([0.125, 0.25])) == "Empirical(n=2)"


def test_probabilities_are_divided_by_their_sum():
    law = Discrete([0.0, 1.0], [0.5, 0.5 + 5e-10])
    assert law.survival(-1.0) == 1.0
    assert law.mean == (0.5 + 5e-10) / (1.0 + 5e-10)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: PointMass(NAN), "PointMass: value is NaN"),
        (lambda: PointMass(INF), "PointMass: value must be finite"),
        (lambda: PointMass("1"), "PointMass: value must be one real number, got str"),
        (lambda: Discrete([1, 2], [0.5]), "2 values and 1 probs"),
        (lambda: Discrete([], []), "values is empty"),
        (lambda: Discrete([1, NAN], [0.5, 0.5]), "entry 2 of values is NaN"),
        (lambda: Discrete([1, INF], [0.5, 0.5]), "entry 2 of values is infinite"),
        (lambda: Discrete([1, 2], [0.5, NAN]), "entry 2 of probs is NaN"),
        (lambda: Discrete([1, 2], [1.5, -0.5]), "entry 2 of probs is negative"),
        (lambda: Discrete([1, 2], [0.5, 0.4]), "sum to 0.9, they must sum to 1"),
        (lambda: Discrete([1, 2], [0.5, 0.5 + 2e-9]), "must sum to 1"),
        (lambda: Discrete([[1, 2]], [1]), "values must be one-dimensional"),
        (lambda: Empirical([]), "the sample is empty"),
        (lambda: Empirical(np.empty(0)), "the sample is empty"),
        (lambda: Empirical([[1.0], [2.0]]), "one-dimensional"),
        (lambda: Empirical([[1.0], [2.0, 3.0]]), "one-dimensional"),
        (lambda: Empirical([1.0, NAN]), "entry 2 of the sample is NaN"),
        (lambda: Empirical([INF]), "entry 1 of the sample is infinite"),
        (lambda: Empirical([1.0, 10**400]), "entry 2 of the sample is infinite"),
        (lambda: Empirical([1.0, None]), "entry 2 of the sample is not a number"),
        (lambda: Empirical([True, False]), "entry 1 of the sample is not a number"),
        (lambda: Empirical([1.0, 2j]), "entry 2 of the sample is not a number"),
        (lambda: Empirical(["1", "2"]), "entry 1 of the sample is not a number"),
        (lambda: Empirical(np.array(["1", "2"])), "entry 1 of the sample is not a number"),
        (
            lambda: Empirical(np.ma.masked_array([1.0, 2.0], [False, True])),
            "entry 2 of the sample is not a number",
        ),
        (
            lambda: Empirical([1.0, -2.0, -3.0]).check_usable("stage 9"),
            "stage 9: entry 2 of the sample is negative",
        ),
        (lambda: Discrete([-1, 1], [0.5, 0.5]).check_usable("stage 9"), "stage 9: .*negative support"),
        (lambda: PointMass(-1).check_usable("stage 9"), "stage 9: .*negative support"),
    ],
)
def test_bad_input_is_named_by_its_place(build, named):
    with pytest.raises(PriorError, match=named):
        build()


@pytest.mark.parametrize("bad", [NAN, INF, "98765.4321 EUR", None, -98765.4321])
def test_a_private_entry_is_never_quoted(bad):
    with pytest.raises(PriorError) as caught:
        Empirical([98765.4321, 1.0, bad, 98765.4321]).check_usable("stage 1")
    assert "entry 3" in str(caught.value)
    assert "98765" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_whole_numbers_beyond_floats_and_other_array_types_are_taken():
    assert Empirical([2**70, Fraction(1, 2)]).upper == 2.0**70
    assert Empirical(np.array([1, 2], dtype=np.uint8)).mean == 1.5
    assert Empirical(np.float32([0.5, 0.25])).mean == 0.375
    assert Empirical(np.ma.masked_array([1.0, 2.0], [False, False])).mean == 1.5
    assert Empirical((1, 2)) == Empirical([1.0, 2.0])


def test_squares_too_large_for_a_float_are_infinite():
    law = Discrete([0.0, 1e200], [0.5, 0.5])
    assert law.variance == INF
    assert law.second_moment_above(0.0) == INF
    assert law.stop_loss(0.0) == 0.5e200
