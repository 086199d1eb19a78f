"""The proofs' claims about neighbours, by enumeration: a record changes, comes in or goes, known or unknown."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from selecting import neighbours, ratio

from streamlearn import Key
from streamlearn.hypotheses import Finite
from streamlearn.selection import Mistake, scheme
from streamlearn.selection.exponential import SHIFT, base
from streamlearn.selection.select import excess, failure, select

UNKNOWN = "no instance"
STAIRS = Finite(np.array([[0, 0], [0, 1], [1, 1]], dtype=bool))
CUBE = Finite(np.array(list(itertools.product([0, 1], repeat=2)), dtype=bool))
EXAMPLES = [*itertools.product([0, 1], [False, True]), (UNKNOWN, False)]


def batch_of(h, stream, most, *, by_known=False):
    """Return the first mistakes in known rounds, by their true numbers or by those among the known ones."""
    known = [t for t, (x, _) in enumerate(stream, start=1) if x != UNKNOWN]
    number = {t: n for n, t in enumerate(known, start=1)} if by_known else {t: t for t in known}
    wrong = [
        Mistake(number[t], *stream[t - 1]) for t in known if bool(h(stream[t - 1][0])) is not stream[t - 1][1]
    ]
    return wrong[:most]


# --- options.proof.md: the lemma on batches


@pytest.mark.parametrize("most", [1, 2, 3])
def test_batches_of_neighbours_differ_as_the_lemma_says(most):
    """All streams of 5 rounds for the function 0 of one instance: right, wrong or unknown."""
    examples = [(0, False), (0, True), (UNKNOWN, False)]
    met = set()
    for stream in itertools.product(examples, repeat=5):
        for other in neighbours(stream, examples):
            (t,) = [
                place
                for place, pair in enumerate(zip(stream, other, strict=True), start=1)
                if pair[0] != pair[1]
            ]
            here, there = ({m.sequence for m in batch_of(lambda _: False, s, most)} for s in (stream, other))
            moved = (here ^ there) - {t}
            assert len(moved) <= 1
            if moved:
                assert (t in here) is not (t in there)
                assert (moved <= here) is (t in there)
            met.add((len(here - there), len(there - here)))
    assert met == {(0, 0), (0, 1), (1, 0), (1, 1)}


# --- select.proof.md, 1 and 2


@pytest.mark.parametrize(("a", "k"), [(0.4, 1), (0.4, 3), (2.0, 2), (2.0, 3), (9.0, 2)])
@pytest.mark.parametrize("s", [1, 2])
def test_select_is_private_with_the_constant_of_the_claim(a, k, s):
    """All k lists of at most s out of 4 entries and all replacements of one: exact laws, b = s(1 + e^η)e^(-3ηk/4)."""
    q = Fraction(base(a / 8), 1 << SHIFT)
    claimed = s * (1 + q**4) / q ** (3 * k)
    assert (
        claimed
        <= Fraction(excess(s, a, k))
        <= claimed * (1 + Fraction(1, 10**3)) * Fraction(math.exp(a / 2)) / q**4
    )
    parts = [part for size in range(s + 1) for part in itertools.combinations("ghij", size)]

    def law_of(lists):
        counts = Counter(itertools.chain.from_iterable(lists))
        weights = {entry: q ** (4 * count) for entry, count in counts.items()} | {None: q ** (3 * k)}
        total = sum(weights.values())
        return {entry: weight / total for entry, weight in weights.items()}

    laws = {}
    worst = Fraction(0)
    for others in itertools.combinations_with_replacement(parts, k - 1):
        for part in parts:
            laws[part] = law_of((*others, part))
        for old, new in itertools.permutations(parts, 2):
            there = laws[new]
            worst = max(
                worst, sum(max(Fraction(0), p - q**8 * there.get(out, 0)) for out, p in laws[old].items())
            )
    assert 0 < worst <= claimed
    assert worst > claimed / 12  # no constant that is much smaller holds


def test_the_law_that_is_enumerated_is_that_of_select():
    """The chance of ⊥ in one draw of 2,000: |count - mean| > 6 deviations has probability below 1e-6 (Bernstein)."""
    q = Fraction(base(0.25), 1 << SHIFT)
    lists = [["g", "h"], ["h"], ["i"]]
    found = Counter(select(lists, 2.0, Key.from_seed(3), step=step) for step in range(2000))
    total = 2 * q**4 + q**8 + q**9
    for entry, weight in {"g": q**4, "h": q**8, "i": q**4, None: q**9}.items():
        p = float(weight / total)
        assert abs(found[entry] - 2000 * p) < 6 * math.sqrt(2000 * p * (1 - p))


def partitions(total, largest):
    """Yield the numbers of lists that hold each entry: at most ``largest`` each, at most ``total`` in all."""
    yield ()
    for count in range(min(total, largest), 0, -1):
        for rest in partitions(total - count, count):
            yield (count, *rest)


@pytest.mark.parametrize(("s", "k", "a"), [(1, 10, 3.0), (2, 10, 3.0), (3, 5, 6.0), (2, 5, 1.0), (4, 3, 8.0)])
def test_select_fails_as_rarely_as_the_claim_says_whatever_the_lists(s, k, a):
    """All counts that k lists of s entries can have: filled round robin, each list gets at most s different ones."""
    q = Fraction(base(a / 8), 1 << SHIFT)
    eta = 4 * math.log(q)
    claimed = (5 * s / 3 + 1) * math.exp(-0.15 * eta * k) + k * s * math.exp(-0.75 * eta * k)
    assert claimed * (1 - 1e-12) <= failure(s, a, k) <= claimed * (1 + 1e-6)
    few, none = [], []
    for counts in partitions(k * s, k):
        weights = [float(q ** (4 * count)) for count in counts]
        nothing = float(q ** (3 * k))
        total = sum(weights) + nothing
        few.append(sum(w for w, count in zip(weights, counts, strict=True) if 5 * count < 3 * k) / total)
        none.append(nothing / total if any(10 * count >= 9 * k for count in counts) else 0.0)
    assert max(few) <= 5 * s / 3 * math.exp(-0.15 * eta * k) + k * s * math.exp(-0.75 * eta * k)
    assert max(none) <= math.exp(-0.15 * eta * k)
    assert max(map(sum, zip(few, none, strict=True))) > claimed / 40


# --- select.proof.md, 3


class Thrown:
    """A key by which rounds go to given groups, and given ones win there."""

    def __init__(self, groups, winners):
        self.groups = groups
        self.winners = winners

    def below(self, bound, purpose, number):  # noqa: ARG002 - a key's own signature
        return 0 if purpose.endswith("/select") else self.groups[number]

    def uniform64(self, purpose, number):  # noqa: ARG002 - a key's own signature
        return int(number not in self.winners)


class Renamed:
    """A key whose draws for number n of any group or lot are those of another key for round ``rounds[n]``."""

    def __init__(self, key, rounds):
        self.key = key
        self.rounds = rounds

    def below(self, bound, purpose, number):
        return self.key.below(bound, purpose, number if purpose.endswith("/select") else self.rounds[number])

    def uniform64(self, purpose, number):
        return self.key.uniform64(purpose, self.rounds[number])


def chances(groups, records):
    """Yield all ways to throw records into groups and keep one each, as keys with their chances."""
    numbers = [record.sequence for record in records]
    for thrown in itertools.product(range(groups), repeat=len(numbers)):
        places = dict(zip(numbers, thrown, strict=True))
        inside = [[n for n in numbers if places[n] == g] for g in sorted(set(thrown))]
        chance = 1.0 / groups ** len(numbers) / math.prod(map(len, inside))
        for winners in itertools.product(*inside):
            yield Thrown(places, winners), chance


def test_a_whole_run_of_groups_keeps_its_moments_exactly():
    """All streams of 5 rounds, some unknown, and all neighbours: the law of both answers over all groups and lots."""
    eta, most = 0.4, 4
    r, grouped = float(ratio(eta)), scheme(STAIRS, "groups")
    assert grouped.steps == 2

    @cache
    def after(state, rows, contents):
        """Return the chances of what the groups hold after a call."""
        records = [Mistake(n, *example) for n, example in enumerate(contents, start=1)]
        saved = {"rows": list(rows), "groups": [f"{held:x}" for held in state]}
        law = Counter()
        for key, chance in chances(most // 2, records):
            selector = grouped.from_plain(saved, eta, most)
            selector.advance(records, key)
            law[tuple(sorted(selector.groups))] += chance
        return law

    def answer(state):
        weights = np.array([r ** sum(held >> row & 1 for held in state) for row in range(3)])
        return weights / weights.sum()

    @cache
    def run(first, seconds):
        """Return the law of both answers, shape (3, 3)."""
        joint = np.zeros((3, 3))
        for state, chance in after((0b111, 0b111), (0,), first).items():
            for row, p in enumerate(answer(state)):
                for end, more in after(state, (0, row), seconds[row]).items():
                    joint[row] += chance * p * more * answer(end)
        return joint

    def law_of(stream):
        contents = [
            tuple(m[1:] for m in batch_of(lambda x, h=h: STAIRS.table[h, x], stream, most)) for h in range(3)
        ]
        return run(contents[0], tuple(contents))

    laws = {stream: law_of(stream) for stream in itertools.product(EXAMPLES, repeat=5)}
    pairs = [(here, there) for here in laws for there in neighbours(here, EXAMPLES)]
    p, q = (np.array([laws[pair[side]] for pair in pairs]) for side in (0, 1))
    assert np.allclose(p.sum((1, 2)), 1.0, atol=1e-12)
    widths = grouped.widths()
    for z in (0.5, 1.0, 4.0):
        first = np.log((p.sum(2) ** (1 + z) / q.sum(2) ** z).sum(1)).max()
        whole = np.log((p ** (1 + z) / q**z).sum((1, 2))).max()
        assert 0 < first < whole <= grouped.log_moment(np.array([z]), eta)[0]
        assert first <= z * (z + 1) * (eta * widths[0]) ** 2 / 8
    unknown = [UNKNOWN in {x for x, _ in pair[0]} ^ {x for x, _ in pair[1]} for pair in pairs]
    moved = np.abs(p - q).max((1, 2)) > 1e-9
    assert (moved & unknown).any()
    assert (moved & ~np.array(unknown)).any()


def groups_after(stream, answers, key, most, *, by_known=False):
    """Return what the groups hold after each call, if the answers were these."""
    grouped, found = scheme(CUBE, "groups"), []
    selector = grouped.start(0.5, most)
    for answer in answers:
        selector.advance(batch_of(selector.candidate(), stream, most, by_known=by_known), key)
        found.append(selector.groups)
        rows = [*selector.to_plain()["rows"][:-1], answer]
        selector = grouped.from_plain({**selector.to_plain(), "rows": rows}, 0.5, most)
    return found


def test_draws_by_true_rounds_sway_two_groups_a_batch_and_shifted_ones_do_not():
    """400 streams of 30 rounds, one record of each made unknown or replaced: the coupling of the proof, pathwise."""
    rng, most = np.random.default_rng(31), 8
    swayed = Counter()
    for number in range(400):
        picks = rng.integers(len(EXAMPLES), size=30)
        stream = [EXAMPLES[pick] for pick in picks]
        t = int(rng.integers(30))
        other = [*stream]
        other[t] = EXAMPLES[-1] if number % 2 else EXAMPLES[int(rng.integers(4))]
        answers, key = rng.integers(4, size=3).tolist(), Key.from_seed(number)
        known = [[n for n, (x, _) in enumerate(s, start=1) if x != UNKNOWN] for s in (stream, other)]
        pulled = [Renamed(key, dict(enumerate(rounds, start=1))) for rounds in known]
        here, there = (
            groups_after(s, answers, renamed, most, by_known=True)
            for s, renamed in zip((stream, other), pulled, strict=True)
        )
        assert here == groups_after(stream, answers, key, most)  # numbers among the known rounds only rename
        assert there == groups_after(other, answers, key, most)
        for call, (a, b) in enumerate(zip(here, there, strict=True), start=1):
            differing = sum(x != y for x, y in zip(a, b, strict=True))
            swayed[call] = max(swayed[call], differing)
            assert differing <= 2 * call
            changes = [
                sum((x >> row & 1) - (y >> row & 1) for x, y in zip(a, b, strict=True)) for row in range(4)
            ]
            assert max(changes) - min(changes) <= scheme(CUBE, "groups").widths()[call - 1]
        raw = zip(
            groups_after(stream, answers, key, most, by_known=True)[0],
            groups_after(other, answers, key, most, by_known=True)[0],
            strict=True,
        )
        swayed["raw"] = max(swayed["raw"], sum(x != y for x, y in raw))
    assert swayed[1] == 2
    assert swayed[2] > 2
    assert swayed["raw"] > 2  # the numbers the code draws by are no coupling themselves: their law is


def test_numbers_only_name_rounds_where_all_are_weighed():
    rng, direct = np.random.default_rng(32), scheme(CUBE, "direct")
    for number in range(50):
        stream = [EXAMPLES[pick] for pick in rng.integers(len(EXAMPLES), size=12)]
        runs = []
        for by_known in (False, True):
            selector = direct.start(0.5, 5)
            while not selector.exhausted:
                records = batch_of(selector.candidate(), stream, 5, by_known=by_known)
                selector.advance(records, Key.from_seed(number))
            runs.append((selector.mistakes, selector.to_plain()["rows"], len(selector.to_plain()["rounds"])))
        assert runs[0] == runs[1]
