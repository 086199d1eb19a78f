"""The exact law of a run of mode "paper": every group, lot and choice that its key can draw, with its chance."""

from __future__ import annotations

import importlib
import itertools
import json
from collections import Counter
from fractions import Fraction

from streamlearn.selection import Mistake
from streamlearn.selection.exponential import draw

UNKNOWN = "nobody"


class ScriptedKey:
    """Gives each draw the scripted outcome, the first one where the script ends, and keeps its exact chance.

    Groups that hold the same, got as many records and keep the same one so far are one outcome. A group's winner is
    each of its records alike: that two 64-bit lots are equal is left out.
    """

    def follow(self, script, held, examples):
        self.script, self.sizes, self.chance = script, [], Fraction(1)
        self.cells, self.examples = None, dict(enumerate(examples, start=1))
        self.groups = [
            (rows, 0, None) for rows in held
        ]  # what it held, records it got, which of them it keeps
        self.lots = [1 << 63] * len(held)

    def branch(self, chances):
        if len(chances) == 1:
            return 0
        place = len(self.sizes)
        number = self.script[place] if place < len(self.script) else 0
        self.sizes.append(len(chances))
        self.chance *= chances[number]
        return number

    def below(self, bound, purpose, number):
        if purpose.endswith("/select"):
            assert bound == sum(self.cells)
            return sum(self.cells[: self.branch([Fraction(cell, bound) for cell in self.cells])])
        assert bound == len(self.groups)
        alike = {}
        for group, content in enumerate(self.groups):
            alike.setdefault(content, []).append(group)
        outcomes = list(alike.values())
        self.group = outcomes[self.branch([Fraction(len(same), bound) for same in outcomes])][0]
        self.number = number
        return self.group

    def uniform64(self, purpose, number):  # noqa: ARG002 - a key's own signature
        """The m-th lot of a group is its lowest so far with chance 1/m."""
        assert number == self.number
        group, example = self.group, self.examples[number]
        rows, got, kept = self.groups[group]
        m = got + 1
        wins = m == 1 or (kept != example and self.branch([Fraction(1, m), Fraction(got, m)]) == 0)
        self.groups[group] = rows, m, example if wins else kept
        self.lots[group] += -1 if wins else 0
        return self.lots[group] if wins else self.lots[group] + 1

    def told(self, num, scores, rest, key, purpose, step):
        """The real draw, whose cells the key is told."""
        assert not rest
        top = max(scores.values())
        self.cells = [num**score << 20 * (top - score) for score in scores.values()]
        return draw(num, scores, rest, key, purpose, step)


def following(script, sizes):
    """Return the next script in order, None after the last."""
    numbers = [*script, *[0] * (len(sizes) - len(script))]
    while numbers and numbers[-1] == sizes[len(numbers) - 1] - 1:
        numbers.pop()
    if not numbers:
        return None
    numbers[-1] += 1
    return numbers


class Run:
    """All runs of a scheme with given numbers, by the mistakes that a stream makes its candidates make."""

    def __init__(self, scheme, eta, batch, monkeypatch):
        self.scheme, self.eta, self.batch = scheme, eta, batch
        self.key = ScriptedKey()
        monkeypatch.setattr(importlib.import_module("streamlearn.selection.select"), "draw", self.key.told)
        self.begin = json.dumps(scheme.start(eta, batch).to_plain())
        self.calls, self.laws = {}, {}

    def call(self, saved, examples):
        """Return {(answer and level, state): chance} of one call of ``advance``."""
        if (saved, examples) not in self.calls:
            records = [Mistake(t, *example) for t, example in enumerate(examples, start=1)]
            found, script = Counter(), []
            data = json.loads(saved)
            while script is not None:
                self.key.follow(script, data["groups"], examples)
                selector = self.scheme.from_plain(data, self.eta, self.batch)
                selector.advance(records, self.key)
                after = selector.to_plain()
                after["groups"].sort()  # groups have no names
                told = after["candidates"][-1], after["level"]
                found[told, json.dumps(after)] += self.key.chance
                script = following(script, self.key.sizes)
            assert sum(found.values()) == 1
            self.calls[saved, examples] = found
        return self.calls[saved, examples]

    def law(self, stream):
        """Return the law of all answers of a run on a stream: what each call chose, and after how many levels."""
        saved = self.scheme.start(self.eta, self.batch)
        return self._law(self.begin, saved, stream)

    def _law(self, saved, selector, stream):
        examples = tuple(
            mistake
            for mistake in stream
            if mistake[0] != UNKNOWN and self._errs(selector.candidate(), *mistake)
        )[: self.batch]
        told = Counter()
        for (answer, after), chance in self.call(saved, examples).items():
            following_one = self.scheme.from_plain(json.loads(after), self.eta, self.batch)
            if following_one.exhausted:
                told[answer,] += chance
            else:
                for rest, more in self._law(after, following_one, stream).items():
                    told[answer, *rest] += chance * more
        return told

    @staticmethod
    def _errs(h, x, y):
        return bool(h(x)) is not y


def largest_gap(one, other, level):
    """Return the largest P(E) - level·P'(E) over events, as a fraction."""
    return sum(max(Fraction(0), chance - level * other.get(told, 0)) for told, chance in one.items())


def streams(examples, rounds):
    """Return all streams of so many rounds."""
    return list(itertools.product(examples, repeat=rounds))
