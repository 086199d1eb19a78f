"""Synthetic streams: all outcomes of their draws at small sizes, realisability, and the real data they carry."""

# ruff: noqa: N803, N806 - L, T and p are the paper's letters

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from adversary import outcomes, places_law
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import Key, bounds
from streamlearn.agents import SOA, SubsampledSOA
from streamlearn.errors import ParameterError, StreamlearnError
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Point3,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
    shattered_tree,
)
from streamlearn.replays import synthetic
from streamlearn.replays.judges import judge_of

KEY = Key.from_seed(7)
CLASSES = [
    Point3(),
    Points(5),
    Points(),
    SingletonsOrEmpty(4),
    Thresholds(7),
    Thresholds(2**60),
    Intervals(12),
    Conjunctions(["a", "b", "c"], 2),
    Stumps({"height": [1.0, 2.0, 3.0], "age": [30, 50]}),
    Finite(np.array(list(itertools.product([False, True], repeat=3)))),
]
DEEP = [cls for cls in CLASSES if cls.dimension >= 2]


def consistent(cls, stream):
    """What is left of a class after a stream; None where nothing is. Repeats are passed over."""
    space, last = cls.version_space(), None
    for x, y in stream:
        if (x, y) != last:
            space, last = space.restrict(x, y), (x, y)
            if space is None:
                return None
    return space


def play(agent, stream):
    """The rounds on which an agent errs."""
    wrong = []
    for number, (x, y) in enumerate(stream):
        if agent.predict_one(x) != y:
            wrong.append(number)
        agent.learn_one(x, y)
    return wrong


# --- Algorithm 1, over all outcomes of its draws


@pytest.mark.parametrize(
    ("T", "p"), [(3, Fraction(1, 3)), (9, Fraction(1)), (9, Fraction(1, 4)), (27, Fraction(1, 2))]
)
def test_algorithm_1_draws_its_law(T, p):
    law = defaultdict(Fraction)
    for stream, q in outcomes(lambda draws: synthetic.point3_adversary(T, float(p), generator=draws), p):
        law[(stream.bit, tuple(stream.informative.tolist()))] += q
        examples = list(stream)
        assert len(stream) == len(examples) == T
        informative = [number for number, example in enumerate(examples) if example != (3, False)]
        assert informative == stream.informative.tolist()
        assert all(examples[number] == (1, stream.bit) for number in informative)
        assert stream.path == ((1, stream.bit),)
        # f_1 realises it when B = 1, f_2 when B = 0
        assert all((x == (1 if stream.bit else 2)) == y for x, y in examples)
        assert consistent(Point3(), examples) is not None
    expected = places_law(0, T, p)
    assert law == {(bit, places): q / 2 for bit in (False, True) for places, q in expected.items() if q}


@pytest.mark.parametrize(("L", "p"), [(1, Fraction(1)), (2, Fraction(2, 5)), (3, Fraction(1, 2))])
def test_the_informative_rounds_have_their_closed_forms(L, p):
    T = 3**L
    count, where = defaultdict(Fraction), [Fraction(0)] * T
    for stream, q in outcomes(lambda draws: synthetic.point3_adversary(T, float(p), generator=draws), p):
        count[len(stream.informative)] += q
        for number in stream.informative.tolist():
            where[number] += q
    # one insertion a stage, with probability p/3, whatever the others do
    share = p / 3
    assert count == {
        k: math.comb(L, k) * share**k * (1 - share) ** (L - k) for k in range(L + 1) if share < 1
    }
    assert sum(k * q for k, q in count.items()) == L * p / 3
    # stage t inserts only where the t-th ternary digit is 0, and there with probability p/T
    assert where == [p / T * sum(number // 3**digit % 3 == 0 for digit in range(L)) for number in range(T)]


def test_each_stage_inserts_before_where_the_next_ones_happen():
    # After an insertion in the first third of an interval, all later ones lie in its middle third.
    for stream, _ in outcomes(
        lambda draws: synthetic.point3_adversary(27, 1.0, generator=draws), Fraction(1)
    ):
        for earlier, later in itertools.pairwise(stream.informative.tolist()):
            size = 9
            while earlier // (3 * size) != later // (3 * size):
                size *= 3
            sizes = [s for s in (9, 3, 1) if earlier // s % 3 == 0 and later // s == earlier // s + 1]
            assert sizes


@pytest.mark.parametrize("T", [1, 2])
def test_a_stream_too_short_for_a_stage_begins_with_the_informative_example(T):
    bits = Counter()
    for stream, q in outcomes(lambda draws: synthetic.point3_adversary(T, 0.5, generator=draws)):
        assert list(stream) == [(1, stream.bit), (3, False)][:T]
        assert stream.informative.tolist() == [0]
        bits[stream.bit] += q
    assert bits == {False: Fraction(1, 2), True: Fraction(1, 2)}


@pytest.mark.parametrize("T", [4, 8, 10, 26, 28, 100])
def test_rounds_beyond_a_power_of_three_are_dummies(T):
    power = 3 ** bounds.stages(T)
    for seed in range(20):
        key = Key.from_seed(seed)
        short, long = (synthetic.point3_adversary(rounds, 1.0, key=key) for rounds in (power, T))
        assert list(long) == list(short) + [(3, False)] * (T - power)
        assert long.informative.tolist() == short.informative.tolist()


def test_a_long_stream_takes_no_memory_and_its_default_p_is_the_papers():
    stream = synthetic.point3_adversary(3**38, key=KEY)
    assert len(stream) == 3**38
    assert len(stream.runs) <= 2 * 38 + 1
    assert repr(stream).endswith("informative, drawn>")
    with pytest.raises(ParameterError, match="T must be at most"):
        synthetic.point3_adversary(3**41)
    # p is 1 at this length, so a stage that chooses the middle third always inserts
    T, runs = 3**20, 400
    assert bounds.paper_probability(T) == 1.0
    drawn = np.mean(
        [len(synthetic.point3_adversary(T, key=Key.from_seed(i)).informative) for i in range(runs)]
    )
    # Hoeffding for 400·20 stages, each an insertion with probability 1/3: false alarm below 1e-6
    assert abs(drawn / 20 - 1 / 3) <= math.sqrt(math.log(2e6) / (2 * 20 * runs))


def test_a_stream_is_fixed_by_its_key_and_can_be_iterated_again():
    one, two, other = (synthetic.point3_adversary(243, 1.0, key=Key.from_seed(seed)) for seed in (1, 1, 2))
    assert list(one) == list(one) == list(two)
    assert list(one) != list(other)
    generators = (np.random.default_rng(5) for _ in range(2))
    first, second = (
        list(synthetic.point3_adversary(243, 1.0, generator=generator)) for generator in generators
    )
    assert first == second
    # without a key every stream is another one: 40 coins agree with probability 2^-40
    bits = [[synthetic.point3_adversary(1).bit for _ in range(40)] for _ in range(2)]
    assert bits[0] != bits[1]


# --- the tree adversary


@pytest.mark.parametrize("cls", DEEP, ids=repr)
@pytest.mark.parametrize("T", [1, 2, 7, 200, 1000])
@pytest.mark.parametrize("copies", [1, 2])
def test_the_tree_adversary_follows_a_path_of_full_depth_and_is_realisable(cls, T, copies):
    stream = synthetic.littlestone_adversary(cls, T, p=1.0, copies=copies, key=KEY)
    examples = list(stream)
    assert len(stream) == len(examples) == T
    phases = min(cls.dimension - 1, T)
    assert len(stream.path) == phases + 1
    if cls.dimension - 1 <= T:
        assert len(stream.path) == cls.dimension
    assert shattered_tree(cls).path(tuple(y for _, y in stream.path)) == stream.path
    assert stream.path[0][1] is False
    assert consistent(cls, stream.path) is not None
    assert consistent(cls, examples) is not None
    length = T // phases
    for number, example in enumerate(examples):
        if number in set(stream.informative.tolist()):
            assert example == stream.path[1 + number // length]
        else:
            assert example == stream.path[0]
    assert stream.chosen == "drawn"
    assert stream.expected_mistakes is None


def test_the_phases_draw_algorithm_1_and_fair_labels():
    law = defaultdict(Fraction)
    cls, p = Thresholds(7), Fraction(1, 2)
    for stream, q in outcomes(
        lambda draws: synthetic.littlestone_adversary(cls, 7, p=float(p), generator=draws), p
    ):
        labels = tuple(y for _, y in stream.path[1:])
        law[(labels, tuple(stream.informative.tolist()))] += q
        assert list(stream)[6] == stream.path[0]  # the round left over
    one = places_law(0, 3, p)
    assert law == {
        (labels, (*first, *(3 + place for place in second))): one[first] * one[second] / 4
        for labels in itertools.product((False, True), repeat=2)
        for first in one
        for second in one
    }


@pytest.mark.parametrize("copies", [2, 5])
def test_copies_come_in_one_block_each(copies):
    cls, blocks = Thresholds(3), 27
    T = blocks * 32 * copies + 5
    seen = set()
    for seed in range(30):
        stream = synthetic.littlestone_adversary(cls, T, p=1.0, copies=copies, key=Key.from_seed(seed))
        places = stream.informative.reshape(-1, copies)
        assert (np.diff(places, axis=1) == 1).all()
        block, offset = np.divmod(places[:, 0], 32 * copies)
        assert (np.diff(block) > 0).all()
        assert (block < blocks).all()
        assert (offset < 16 * copies).all()
        seen.update(offset.tolist())
    # some 90 draws of 16q offsets miss the upper half with probability 2^-90, the lower too
    assert min(seen) < 8 * copies <= max(seen)


@pytest.mark.parametrize("cls", [Point3(), Points(), SingletonsOrEmpty(4)], ids=repr)
def test_dimension_1_leaves_no_dummy(cls):
    stream = synthetic.littlestone_adversary(cls, 5, key=KEY)
    assert list(stream) == [stream.path[0]] * 5
    assert stream.informative.tolist() == list(range(5))
    assert consistent(cls, stream) is not None


# --- against a learner


@pytest.mark.parametrize("cls", DEEP, ids=repr)
def test_a_learner_without_draws_is_judged_exactly(cls):
    learner = SOA(cls)
    stream = synthetic.littlestone_adversary(cls, 30 * cls.dimension, learner=learner, p=1.0, key=KEY)
    assert stream.chosen == "against an exact law"
    assert learner.state_dict() == SOA(cls).state_dict()
    wrong = play(SOA(cls), stream)
    assert len(set(wrong) & set(stream.informative.tolist())) == stream.expected_mistakes
    # SOA errs on whichever label is not its answer, so every phase that shows its node costs it one
    assert stream.expected_mistakes == cls.dimension - 1
    assert len(wrong) <= cls.dimension


def subsampled_by_enumeration(cls, examples, x, gamma):
    """P(subsampled SOA predicts 1 at x), over all subsets of the rounds."""
    one = 0.0
    for kept in itertools.product((False, True), repeat=len(examples)):
        space = cls.version_space()
        for seen, y in itertools.compress(examples, kept):
            space = space.restrict(seen, y)
        one += math.prod(gamma if there else 1 - gamma for there in kept) * space.predict(x)
    return one


@pytest.mark.parametrize("cls", [Point3(), Thresholds(7), Intervals(6)], ids=repr)
def test_the_law_of_subsampled_soa_is_exact(cls):
    gamma = 0.3
    law = synthetic.subsampled_soa_law(cls, gamma)
    stream = synthetic.random_path(cls, 6, key=KEY)
    for rounds in range(7):
        examples = list(stream)[:rounds]
        for x in range(1, 8):
            expected = subsampled_by_enumeration(cls, examples, x, gamma)
            assert law([(example, 1) for example in examples], x) == pytest.approx(expected, abs=1e-12)
    runs = [((2, False), 3), ((1, False), 2)]
    listed = [example for example, times in runs for _ in range(times)]
    assert law(runs, 1) == pytest.approx(subsampled_by_enumeration(cls, listed, 1, gamma), abs=1e-12)


@pytest.mark.parametrize(
    "of", [lambda cls: synthetic.subsampled_soa_law(cls, 0.4), SOA], ids=["law", "agent"]
)
def test_a_judge_goes_on_from_the_stream_chosen(of):
    cls = Thresholds(7)
    scored = [(4, False), (6, True)]
    first, then = [((4, False), 2), ((6, True), 1)], [((1, False), 3), ((4, False), 2), ((6, True), 4)]
    whole, step = (judge_of(of(cls), 1, np.random.default_rng(0)) for _ in range(2))
    before = step.mistakes(first, scored)
    assert before == step.mistakes(first, scored) > 0  # asking changes nothing
    step.advance(first)
    assert before + step.mistakes(then, scored) == pytest.approx(
        whole.mistakes(first + then, scored), abs=1e-12
    )


def test_an_exact_law_gives_the_exact_expected_mistakes():
    cls, gamma = Thresholds(7), 0.4
    law = synthetic.subsampled_soa_law(cls, gamma)
    stream = synthetic.littlestone_adversary(cls, 18, learner=law, p=1.0, key=KEY)
    assert stream.chosen == "against an exact law"
    examples, expected = list(stream), 0.0
    for number in stream.informative.tolist():
        x, y = examples[number]
        one = subsampled_by_enumeration(cls, examples[:number], x, gamma)
        expected += 1 - one if y else one
    assert stream.expected_mistakes == pytest.approx(expected, abs=1e-12)


def test_choosing_against_a_learner_is_no_worse_than_drawing_and_respects_the_bound():
    cls, gamma, T = Thresholds(15), 0.02, 81 * 3
    law = synthetic.subsampled_soa_law(cls, gamma)

    def mean(candidates):
        keys = map(Key.from_seed, range(12))
        streams = (
            synthetic.littlestone_adversary(cls, T, learner=law, p=1.0, candidates=candidates, key=key)
            for key in keys
        )
        return np.mean([stream.expected_mistakes for stream in streams])

    few, many = mean(1), mean(8)
    assert many > few
    # the bound is on the mean over draws of a single candidate with a fair label, which these choices only raise
    assert few > 3 * bounds.algorithm1_lower(81, 1.0, epsilon=0.0, delta=gamma)


def test_a_keyed_learner_is_judged_by_clones_with_fresh_keys():
    cls, gamma = Thresholds(7), 0.3
    learner = SubsampledSOA(cls, gamma, key=KEY)
    before = learner.state_dict()
    stream = synthetic.littlestone_adversary(
        cls, 162, learner=learner, p=1.0, runs=400, candidates=4, key=KEY
    )
    assert stream.chosen == "against a law estimated from 400 runs"
    assert learner.state_dict() == before
    exact, past = 0.0, []
    law = synthetic.subsampled_soa_law(cls, gamma)
    for number, (x, y) in enumerate(stream):
        if number in stream.informative:
            one = law(past, x)
            exact += 1 - one if y else one
        past.append(((x, y), 1))
    most = len(stream.informative)
    # Hoeffding for 400 runs of values in [0, most]: false alarm below 1e-6
    assert abs(stream.expected_mistakes - exact) <= most * math.sqrt(math.log(2e6) / (2 * 400))
    assert exact % 1  # else the estimate would be no estimate


# --- the plain path


@pytest.mark.parametrize("cls", CLASSES, ids=repr)
@pytest.mark.parametrize("T", [1, 2, 5, 64, 100])
def test_a_random_path_shows_every_node_and_is_realisable(cls, T):
    stream = synthetic.random_path(cls, T, key=KEY)
    examples = list(stream)
    assert len(stream) == len(examples) == T
    assert len(stream.path) == min(cls.dimension, T)
    assert tuple(example for example, _ in itertools.groupby(examples)) == stream.path
    times = [sum(1 for _ in group) for _, group in itertools.groupby(examples)]
    assert max(times) - min(times) <= 1
    assert consistent(cls, examples) is not None
    assert len(play(SOA(cls), examples)) <= cls.dimension
    assert stream.informative.tolist() == list(range(T))


@pytest.mark.parametrize("cls", [Point3(), Thresholds(15), Intervals(12)], ids=repr)
def test_soa_errs_on_exactly_half_of_the_nodes_on_average(cls):
    d = cls.dimension
    found = [
        (len(play(SOA(cls), stream)), q)
        for stream, q in outcomes(lambda draws: synthetic.random_path(cls, 2 * d, generator=draws))
    ]
    assert len(found) == 2**d
    assert sum(mistakes * q for mistakes, q in found) == Fraction(d, 2)


# --- drawn streams


@given(st.integers(0, 2**32), st.sampled_from(range(len(CLASSES))))
@settings(max_examples=60)
def test_realisable_streams_are(seed, number):
    cls = CLASSES[number]
    instances = {
        7: [dict(zip("abc", bits, strict=True)) for bits in itertools.product((False, True), repeat=3)],
        8: [{"height": height, "age": age} for height in (0.5, 1.5, 2.5, 3.5) for age in (20, 40, 60)],
        9: range(3),
    }.get(number, range(1, 4))
    stream = synthetic.realisable(cls, 50, instances, key=Key.from_seed(seed))
    assert len(stream) == 50
    assert list(stream) == list(stream)
    assert consistent(cls, stream) is not None
    assert all(x in instances and type(y) is bool for x, y in stream)


def test_every_labelling_of_the_class_and_no_other_can_come():
    found = Counter()
    for seed in range(200):
        stream = synthetic.realisable(Thresholds(3), 60, range(1, 4), key=Key.from_seed(seed))
        labels = dict(stream)
        if len(labels) == 3:  # all but 3·(2/3)^60 of the streams
            found[tuple(labels[x] for x in (1, 2, 3))] += 1
    # thresholds on 1..3, each of probability at least 1/6: missing one in 200 draws has probability below 1e-15
    assert found.keys() == {tuple(x >= a for x in (1, 2, 3)) for a in range(1, 5)}


def test_a_hypothesis_of_ones_own_labels_the_stream():
    stream = synthetic.realisable(Thresholds(99), 300, range(1, 100), hypothesis=lambda x: x >= 40, key=KEY)
    assert all(y == (x >= 40) for x, y in stream)
    with pytest.raises(ParameterError, match="hypothesis must belong"):
        synthetic.realisable(Thresholds(99), 300, range(1, 100), hypothesis=lambda x: x % 2, key=KEY)


def test_instances_are_drawn_uniformly():
    counts = Counter(x for x, _ in synthetic.realisable(Thresholds(4), 40_000, range(1, 5), key=KEY))
    # Hoeffding for each of 4 counts: false alarm below 1e-6 in all
    assert all(abs(counts[x] / 40_000 - 0.25) <= math.sqrt(math.log(8e6) / 80_000) for x in range(1, 5))


def test_noise_turns_labels_over_at_its_rate():
    stream = synthetic.realisable(Thresholds(9), 40_000, range(1, 10), key=KEY)
    for rate in (0.0, 0.1, 1.0):
        noisy = synthetic.noisy(stream, rate, key=Key.from_seed(3))
        assert len(noisy) == 40_000
        assert list(noisy) == list(noisy)
        turned = [y != z for (x, y), (again, z) in zip(stream, noisy, strict=True) if x == again]
        assert len(turned) == 40_000
        # Hoeffding, false alarm below 1e-6
        slack = math.sqrt(math.log(2e6) / 80_000) if 0 < rate < 1 else 0.0
        assert abs(np.mean(turned) - rate) <= slack
    assert list(synthetic.noisy([(1, 1), (3, 0)], 0.0)) == [(1, True), (3, False)]
    # lag-1 correlation of the flips, again by Hoeffding on the disjoint pairs
    both = [a and b for a, b in zip(turned_at(stream, 0.1)[::2], turned_at(stream, 0.1)[1::2], strict=True)]
    assert abs(np.mean(both) - 0.01) <= math.sqrt(math.log(2e6) / 40_000)


def turned_at(stream, rate):
    noisy = synthetic.noisy(stream, rate, key=Key.from_seed(3))
    return [y != z for (_, y), (_, z) in zip(stream, noisy, strict=True)]


# --- river's generators and data


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("concept", [0, 1, 2])
def test_stagger_is_labelled_by_its_concept(concept, balanced):
    stream = synthetic.stagger(300, concept, balanced=balanced, key=KEY)
    rule = [
        lambda x: x["size"] == 0 and x["color"] == 0,
        lambda x: x["color"] == 2 or x["shape"] == 0,
        lambda x: x["size"] >= 1,
    ][concept]
    examples = list(stream)
    assert len(stream) == len(examples) == 300
    assert list(stream) == examples
    assert all(type(y) is bool and y == rule(x) for x, y in examples)
    if balanced:
        assert [y for _, y in examples] == [True, False] * 150
    stumps = Stumps({"size": [1, 2], "color": [1, 2], "shape": [1, 2]})
    assert (consistent(stumps, examples) is not None) == (concept == 2)
    assert examples != list(synthetic.stagger(300, concept, balanced=balanced, key=Key.from_seed(8)))


@pytest.mark.parametrize(("variant", "cut"), [(0, 8), (1, 9), (2, 7), (3, 9.5)])
def test_sea_is_labelled_by_its_sum(variant, cut):
    stream = synthetic.sea(300, variant, key=KEY)
    assert list(stream) == list(stream)
    assert all(type(y) is bool and y == (x[0] + x[1] > cut) for x, y in stream)
    wrong = sum(y != (x[0] + x[1] > cut) for x, y in synthetic.sea(4000, variant, noise=0.25, key=KEY))
    assert abs(wrong / 4000 - 0.25) <= math.sqrt(math.log(2e6) / 8000)  # Hoeffding, false alarm below 1e-6


def test_a_stump_realises_sky_against_the_rest():
    stream = synthetic.image_segments()
    examples = list(stream)
    assert len(stream) == len(examples) == 2310
    assert sum(y for _, y in examples) == 330
    feature, cut = synthetic.SKY
    assert sum((x[feature] >= cut) != y for x, y in examples) == 0
    assert consistent(Stumps({feature: [cut]}), examples).dimension == 0
    low, high = (max if side == 0 else min for side in (0, 1))
    for name, gap in {
        "rawblue-mean": (91.4, 112.1),
        "value-mean": (91.4, 112.1),
        "intensity-mean": (79.7, 86.3),
    }.items():
        ends = (low(x[name] for x, y in examples if not y), high(x[name] for x, y in examples if y))
        assert tuple(round(end, 1) for end in ends) == gap
    learner = SOA(Stumps.from_sample((x for x, _ in examples), cuts=64))
    assert len(play(learner, examples)) <= learner.mistake_bound
    assert learner.realisable


def test_no_stump_realises_phishing_and_nothing_else_does():
    stream = synthetic.phishing()
    examples = list(stream)
    assert len(stream) == len(examples) == 1250
    assert sum(y for _, y in examples) == 548
    assert consistent(Stumps.from_sample(x for x, _ in examples), examples) is None
    labels = defaultdict(set)
    for x, y in examples:
        labels[tuple(sorted(x.items()))].add(y)
    assert sum(len(seen) == 2 for seen in labels.values()) == 38
    assert consistent(Points(), examples) is None
    best = min(
        min(wrong, 1250 - wrong)
        for name in examples[0][0]
        for cut in {x[name] for x, _ in examples}
        for wrong in [sum((x[name] >= cut) != y for x, y in examples)]
    )
    assert best == 144
    assert sum((x["empty_server_form_handler"] < 1) != y for x, y in examples) == 144


# --- writing


def test_json_lines_carry_everything(tmp_path):
    path = tmp_path / "log.jsonl"
    stream = synthetic.point3_adversary(30, 1.0, key=KEY)
    assert synthetic.write(stream, path) == 30
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["x"], bool(line["y"])) for line in lines] == list(stream)
    assert synthetic.write(synthetic.sea(20, key=KEY), path) == 20
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [({0: e["0"], 1: e["1"], 2: e["2"]}, bool(e["y"])) for e in lines] == list(
        synthetic.sea(20, key=KEY)
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.jsonl"]


def test_csv_carries_floats_exactly(tmp_path):
    path = tmp_path / "log.csv"
    assert synthetic.write(synthetic.image_segments(), path) == 2310
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, (x, y) in zip(rows, synthetic.image_segments(), strict=True):
        assert bool(int(row.pop("y"))) == y
        assert {name: float(value) for name, value in row.items()} == x
    synthetic.write([("a,b", True), ('"', False)], path)
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [["x", "y"], ["a,b", "1"], ['"', "0"]]


@pytest.mark.parametrize(
    ("examples", "name", "words"),
    [
        ([(3, True)], "log.txt", ("path", ".jsonl")),
        ([(1, True), ((1, 2), True)], "log.jsonl", ("round 1", "no number")),
        ([(1, True), ({"y": 2}, True)], "log.jsonl", ("round 1", "rename")),
        ([({"a": 1}, True), ({"b": 1}, True)], "log.csv", ("round 1", "other features")),
    ],
)
def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path, examples, name, words):
    path = tmp_path / name
    path.write_text("before")
    with pytest.raises(ParameterError) as caught:
        synthetic.write(examples, path)
    assert all(word in str(caught.value) for word in words)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [(name, "before")]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    for path in (tmp_path / "missing" / "log.csv", tmp_path / "folder.csv"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(StreamlearnError, match=path.name):
            synthetic.write([(1, True)], path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.csv"]


# --- bad arguments

ONE = Finite(np.array([[True, False]]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: synthetic.point3_adversary(0), ("T", ">= 1")),
        (lambda: synthetic.point3_adversary(9.0), ("T", "whole")),
        (lambda: synthetic.point3_adversary(9, 0.0), ("p", "(0, 1]")),
        (lambda: synthetic.point3_adversary(9, 2), ("p", "(0, 1]")),
        (lambda: synthetic.point3_adversary(9, key=7), ("key", "Key.from_seed")),
        (lambda: synthetic.point3_adversary(9, generator=7), ("generator", "default_rng")),
        (lambda: synthetic.point3_adversary(9, key=KEY, generator=np.random.default_rng(1)), ("not both",)),
        (lambda: synthetic.littlestone_adversary(ONE, 9), ("Littlestone dimension >= 1", "got 0")),
        (lambda: synthetic.littlestone_adversary("Thresholds", 9), ("cls", "str")),
        (lambda: synthetic.littlestone_adversary(Thresholds(7), 0), ("T", ">= 1")),
        (lambda: synthetic.littlestone_adversary(Thresholds(7), 9, p=-1), ("p", "(0, 1]")),
        (lambda: synthetic.littlestone_adversary(Thresholds(7), 9, copies=0), ("copies", ">= 1")),
        (lambda: synthetic.littlestone_adversary(Thresholds(7), 9, learner=3), ("learner", "law")),
        (
            lambda: synthetic.littlestone_adversary(Thresholds(7), 9, learner=SOA(Point3()), runs=0),
            ("runs", ">= 1"),
        ),
        (
            lambda: synthetic.littlestone_adversary(Thresholds(7), 9, learner=SOA(Point3()), candidates=0),
            ("candidates", ">= 1"),
        ),
        (
            lambda: synthetic.littlestone_adversary(Thresholds(7), 9, learner=lambda *_: 2.0),
            ("law", "[0, 1]"),
        ),
        (lambda: synthetic.random_path(ONE, 9), ("Littlestone dimension >= 1",)),
        (lambda: synthetic.random_path(Point3(), 0), ("T", ">= 1")),
        (lambda: synthetic.subsampled_soa_law(Point3(), 1.5), ("gamma", "[0, 1]")),
        (
            lambda: synthetic.subsampled_soa_law(Points(), 0.5)([((x, False), 1) for x in range(21)], 1),
            ("21 different", "at most 20"),
        ),
        (lambda: synthetic.realisable(Point3(), 0, [1]), ("T", ">= 1")),
        (lambda: synthetic.realisable(Point3(), 5, []), ("instances", "at least one")),
        (lambda: synthetic.realisable(Point3(), 5, [1, "secret"]), ("instances[1]", "knows")),
        (lambda: synthetic.noisy([(1, True)], 1.5), ("rate", "[0, 1]")),
        (lambda: synthetic.noisy(iter([(1, True)]), 0.5), ("stream", "list()")),
        (lambda: synthetic.stagger(0), ("T", ">= 1")),
        (lambda: synthetic.stagger(5, 3), ("concept", "0, 1 or 2")),
        (lambda: synthetic.sea(5, 4), ("variant", "0, 1, 2 or 3")),
        (lambda: synthetic.sea(5, noise=2), ("noise", "[0, 1]")),
        (lambda: synthetic.sea(0), ("T", ">= 1")),
    ],
)
def test_bad_arguments_are_refused_with_field_and_bound(call, words):
    with pytest.raises(ParameterError) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "secret" not in str(caught.value)
