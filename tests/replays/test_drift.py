"""The drift check: its distance and its bounds, no false alarm, sure detection, bounded memory."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import scipy.stats

from streamlearn.agents import LDPOptimalStopper
from streamlearn.errors import ParameterError
from streamlearn.priors import Empirical
from streamlearn.replays.drift import MOST_CUTS, DriftCheck
from streamlearn.replays.streams import EpisodeBatch

RATE = 1e-6


def build(laws):
    return LDPOptimalStopper(laws, epsilon=1.0)


def checked(learned, *later):
    check = DriftCheck(learned)
    for values in later:
        check.add(values)
    return check


def draws(seed, episodes, stages=3):
    return np.random.default_rng(seed).uniform(size=(episodes, stages))


# --- the distance


@pytest.mark.parametrize("kind", ["continuous", "atoms"])
def test_the_distance_is_that_of_kolmogorov_and_smirnov(kind):
    rng = np.random.default_rng(1)
    learned, later = rng.gamma(2.0, size=(150, 3)), rng.gamma(2.5, size=(90, 3))
    if kind == "atoms":
        learned, later = np.floor(3 * learned), np.floor(3 * later + 0.2)
    found = checked(learned, later).result()
    for distance, before, after in zip(
        (found.together, *found.stages), (learned.ravel(), *learned.T), (later.ravel(), *later.T), strict=True
    ):
        exact = scipy.stats.ks_2samp(before, after, method="asymp").statistic
        assert distance.distance == pytest.approx(exact, abs=1e-12)
        assert distance.mean == pytest.approx(before.mean())
        assert distance.later_mean == pytest.approx(after.mean())


def test_with_many_values_the_distance_is_short_by_less_than_a_500th():
    learned, later = draws(1, 20_000, 2), draws(2, 9_000, 2) ** 1.3
    found = checked(learned, later).result()
    for stage in (0, 1):
        exact = scipy.stats.ks_2samp(learned[:, stage], later[:, stage], method="asymp").statistic
        assert exact - 1 / 500 < found.stages[stage].distance <= exact + 1e-12


def test_values_beyond_all_that_were_learned_are_seen():
    for later in (5.0, 0.0):
        assert checked(np.ones((9, 1)), np.full((9, 1), later)).result().stages[0].distance == 1.0


def test_batches_add_up():
    learned, later = draws(1, 700), draws(2, 500)
    assert checked(learned, later).result() == checked(learned, later[:1], later[1:300], later[300:]).result()


# --- what is allowed


def test_what_is_allowed_is_the_bound_of_the_docstring():
    found = checked(draws(1, 400), draws(2, 100)).result(rate=0.01)
    assert (found.learned, found.later, found.rate) == (400, 100, 0.01)
    # A quarter of the rate for each side, all stages together and each by itself, the latter among three.
    together = math.log(6 / (0.01 / 4))
    each = math.log(2 / (0.01 / 12))
    assert found.together.allowed == pytest.approx(math.sqrt(together / 800) + math.sqrt(together / 200))
    for stage in found.stages:
        assert stage.allowed == pytest.approx(math.sqrt(each / 800) + math.sqrt(each / 200))


def test_the_constant_of_all_stages_together():
    # 2e·exp(-1/(4x))/(1 - 1/(2x)) falls from x = 5 on, where it is below 6: its logarithm's slope is negative.
    x = np.linspace(5.0, 1000.0, 100_000)
    factor = 2 * math.e * np.exp(-1 / (4 * x)) / (1 - 1 / (2 * x))
    assert factor[0] < 6
    assert (np.diff(factor) < 0).all()
    assert math.log(6 / (0.1 / 4)) >= 5  # at the largest rate there is


@pytest.mark.parametrize("rate", [0.0, -1.0, 0.2, math.nan, "1e-3", True])
def test_rates_outside_their_bound(rate):
    with pytest.raises(ParameterError, match="rate"):
        checked(np.ones((5, 2)), np.ones((5, 2))).result(rate)


# --- false alarms and detection


@pytest.mark.parametrize(
    "law",
    [
        lambda rng, n: rng.uniform(size=(n, 5)),
        lambda rng, n: rng.integers(0, 3, size=(n, 5)).astype(float),
        lambda rng, n: 1 + rng.pareto(1.1, size=(n, 5)),
        lambda rng, n: np.repeat(rng.exponential(size=(n, 1)), 5, axis=1),  # people of an episode alike
    ],
)
def test_no_false_alarm(law):
    # 4 laws and 5 logs of each: a false alarm has probability at most 20e-6, and the keys are fixed.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert not checked(law(rng, 300), law(rng, 800)).result(RATE / 20).found


def test_alarms_come_no_more_often_than_stated():
    # At rate 0.1, 300 logs: more than 60 alarms have probability below 1e-6 (binomial).
    rng = np.random.default_rng(1)
    alarms = sum(
        checked(rng.uniform(size=(40, 2)), rng.uniform(size=(60, 2))).result(0.1).found for _ in range(300)
    )
    assert scipy.stats.binom.sf(60, 300, 0.1) < 1e-6
    assert alarms <= 60


@pytest.mark.parametrize("stages", [1, 4])
def test_a_change_twice_as_large_as_allowed_is_found(stages):
    # The bounds hold around both laws at once: with probability 1 - rate a true distance of twice that cannot hide.
    rng = np.random.default_rng(3)
    allowed = checked(np.ones((500, stages)), np.ones((500, stages))).result(RATE).stages[0].allowed
    shift = 2 * allowed
    later = rng.uniform(size=(500, stages))
    later[:, -1] += shift  # the distance of U(0,1) and U(shift, 1 + shift) is shift
    found = checked(rng.uniform(size=(500, stages)), later).result(RATE)
    assert [stage.found for stage in found.stages] == [False] * (stages - 1) + [True]
    assert found.clearest.stage == stages
    assert "learn anew" in found.warning


def test_what_every_stage_shares_is_found_together():
    # Many stages share their half of the rate, so the same distance everywhere is seen together first.
    learned = np.tile(np.arange(200.0)[:, None], (1, 400))
    check = DriftCheck(learned)
    found = checked(learned, learned).result()
    assert found.together.allowed < found.stages[0].allowed
    needed = math.ceil(found.together.allowed * 200)
    later = np.where(np.arange(200)[:, None] < needed, 500.0, learned)
    check.add(later)
    found = check.result()
    assert (found.together.found, any(stage.found for stage in found.stages)) == (True, False)
    assert found.clearest.stage == 0
    assert "all stages together" in found.warning


@pytest.mark.parametrize(("episodes", "blind"), [(10, True), (200, False)])
def test_few_episodes_see_nothing(episodes, blind):
    found = checked(np.zeros((episodes, 1)), np.ones((episodes, 1))).result()
    assert found.blind is blind
    assert found.found is not blind


# --- what it means


def test_the_plan_of_the_later_part():
    rng = np.random.default_rng(1)
    learned, later = rng.integers(0, 9, size=(200, 4)) + 1.0, rng.integers(0, 9, size=(300, 4)) + 2.0
    later[:, 3] = 20.0
    change = checked(learned, later).plan_change(build)
    before, after = (build([Empirical(stage) for stage in values.T]) for values in (learned, later))
    assert change.value == pytest.approx(before.value)
    assert change.stage == int(np.argmax(np.abs(after.thresholds - before.thresholds))) + 1
    assert change.threshold == pytest.approx(before.thresholds[change.stage - 1])
    # Values between two cuts are at their mean, and all of 10 and 20 lie beyond the last: no cut splits them.
    assert 0.9 * after.value < change.later_value <= after.value + 1e-12


def test_the_plan_of_groups():
    values = np.random.default_rng(1).integers(0, 9, size=(200, 4)).astype(float)
    found = checked(values, values)
    for pooled, groups in ((True, None), (False, [[1, 2], [3, 4]])):
        change = found.plan_change(build, pooled, groups)
        assert change.value == change.later_value
    assert found.plan_change(build, pooled=True).value == pytest.approx(
        build([Empirical(values.ravel())] * 4).value
    )


# --- the rest


def size_of(check):
    return sum(sys.getsizeof(array) for bins in check._later for array in bins) + sum(
        array.nbytes for bins in check._later for array in bins
    )


def test_memory_does_not_grow():
    check = checked(draws(1, 30_000, 2), draws(2, 10, 2))
    small = size_of(check)
    for seed in range(5):
        check.add(draws(seed, 20_000, 2))
    assert size_of(check) == small
    assert all(len(cuts) <= MOST_CUTS for cuts in check._cuts)


def test_watching_passes_batches_on():
    check = DriftCheck(np.ones((5, 2)))
    batches = [EpisodeBatch([i], np.full((1, 2), float(i))) for i in range(3)]
    assert list(check.watching(batches)) == batches
    assert check.result().later == 3
    assert check.result().together.later_mean == 1.0


def test_what_cannot_be_compared():
    with pytest.raises(ParameterError, match="learned"):
        DriftCheck(np.ones((0, 2)))
    check = DriftCheck(np.ones((5, 2)))
    with pytest.raises(ParameterError, match="later episode"):
        check.result()
    with pytest.raises(ParameterError, match="shape"):
        check.add(np.ones((5, 3)))


def test_no_repr_shows_a_value():
    check = checked(np.full((1, 1), 98765.0), np.full((1, 1), 98765.0))
    assert repr(check) == "DriftCheck(learned=1 episodes, later=1 episodes)"
    assert "98765" not in repr(check._learned)
