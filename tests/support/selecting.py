"""The exact law of one call of a selector, read off its draws: which outcomes its whole-number draw leads to."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np

from streamlearn import Key
from streamlearn.hypotheses import Finite
from streamlearn.selection import Mistake
from streamlearn.selection.exponential import SHIFT, base


class ChosenKey:
    """A key whose draw for one purpose is given; the others' come from a real key."""

    def __init__(self, purpose, drawn=0, real=None):
        self.purpose = purpose
        self.drawn = drawn
        self.bound = None
        self.real = real or Key.from_seed(0)

    def below(self, bound, purpose, step):
        if purpose != self.purpose:
            return self.real.below(bound, purpose, step)
        self.bound = bound
        return self.drawn

    def uniform64(self, purpose, step):
        return self.real.uniform64(purpose, step)


def law(choose, purpose, real=None):
    """Return the probability of each outcome of ``choose(key)``, whose draws of one outcome are neighbours."""
    key = ChosenKey(purpose, 0, real)

    def outcome(drawn):
        key.drawn = drawn
        return choose(key)

    outcome(0)
    bound, start, found = key.bound, 0, {}
    while start < bound:
        this = outcome(start)
        inside, outside = start, bound
        while outside - inside > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if outcome(middle) == this else (inside, middle)
        assert this not in found
        found[this] = Fraction(outside - start, bound)
        start = outside
    return found


def call_law(scheme, saved, eta, batch, records, purpose, real=None):
    """Return the law of what a saved run comes to by one call."""

    def choose(key):
        selector = scheme.from_plain(saved, eta, batch)
        selector.advance(records, key)
        return json.dumps(selector.to_plain())

    return law(choose, purpose, real)


def ratio(eta):
    """Return the factor of a score, as it is used."""
    return Fraction(base(eta), 1 << SHIFT)


def first_mistakes(h, stream, batch):
    """Return B_K(h, S) of a stream of (x, y)."""
    wrong = (Mistake(t, x, y) for t, (x, y) in enumerate(stream, start=1) if bool(h(x)) is not y)
    return list(itertools.islice(wrong, batch))


def neighbours(stream, examples):
    """Return the streams that differ in one example."""
    for place, old in enumerate(stream):
        for new in examples:
            if new != old:
                yield (*stream[:place], new, *stream[place + 1 :])


def cube(n):
    """Return all functions of n points."""
    return Finite(np.array(list(itertools.product([0, 1], repeat=n)), dtype=bool))


def random_table(rng, most_rows, most_columns):
    """Return a table of different rows."""
    width = int(rng.integers(1, most_columns + 1))
    count = min(int(rng.integers(1, most_rows + 1)), 2**width)
    numbers = rng.choice(2**width, size=count, replace=False)
    return (numbers[:, None] >> np.arange(width) & 1).astype(bool)


def mistakes(examples):
    """Return examples as mistakes in rounds 1, 2, ..."""
    return [Mistake(t, x, y) for t, (x, y) in enumerate(examples, start=1)]


def law_of_scores(scores, count, eta):
    """Return the law of the exponential mechanism on places 0..count-1, by its formula."""
    weights = [ratio(eta) ** scores.get(place, 0) for place in range(count)]
    return [weight / sum(weights) for weight in weights]
