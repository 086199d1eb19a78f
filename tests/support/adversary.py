"""Algorithm 1 by enumeration, written from the paper and apart from the code under test."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np


def places_law(start: int, size: int, p: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The law of the informative rounds inserted in (start, start + size], size a power of 3; rounds from 0."""
    if size == 1:
        return {(): Fraction(1)}
    third = size // 3
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for chosen in range(3):
        for later, q in places_law(start + chosen * third, third, p).items():
            if chosen != 1:
                law[later] += q / 3
                continue
            law[later] += q / 3 * (1 - p)
            for place in range(start, start + third):
                law[(place, *later)] += q / 3 * p / third
    return law


class Scripted(np.random.Generator):
    """A generator whose draws follow a script, and which notes how many outcomes each draw has.

    ``random()`` has the two outcomes "below p" and "not below p".
    """

    def __init__(self, script: tuple[int, ...], p: Fraction) -> None:
        super().__init__(np.random.PCG64(0))
        self.script = script
        self.p = p
        self.branching: list[int] = []
        self.probability = Fraction(1)

    def _next(self, outcomes: int) -> int:
        place = len(self.branching)
        self.branching.append(outcomes)
        return self.script[place] if place < len(self.script) else 0

    def integers(self, low, high=None, size=None):
        assert high is None
        draws = [self._next(low) for _ in range(1 if size is None else size)]
        self.probability /= low ** len(draws)
        return draws[0] if size is None else np.array(draws)

    def random(self, size=None):
        assert size is None
        missed = self._next(2)
        self.probability *= (1 - self.p) if missed else self.p
        return 1.0 - 2.0**-53 if missed else 0.0


def outcomes(draw, p=Fraction(1, 2)):
    """All results of ``draw(generator)``, each with its probability, over all outcomes of the generator's draws."""
    script: tuple[int, ...] = ()
    while True:
        generator = Scripted(script, p)
        result = draw(generator)
        if generator.probability:
            yield result, generator.probability
        taken = list(itertools.islice(itertools.chain(script, itertools.repeat(0)), len(generator.branching)))
        while taken and taken[-1] + 1 == generator.branching[len(taken) - 1]:
            taken.pop()
        if not taken:
            return
        taken[-1] += 1
        script = tuple(taken)
