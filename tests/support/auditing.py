"""Mechanisms for audits: the public parts of agents, as functions of an input and a key; and claims that are tight."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from streamlearn.planning import Plan
from streamlearn.prediction import Predictor
from streamlearn.privacy import Guarantee
from streamlearn.rounds import Rounds, RoundsState

FACTORS = (Fraction(4, 5), Fraction(6, 5))
"""A constant changed by a fifth, either way."""

SHARP = {"ramp": [0.02, 0.98], "acceptance": [0.0, 0.02, 0.98, 1.0], "epsilon": 9.0}
MILD = {"ramp": [0.003, 0.06, 0.5, 0.94, 0.997], "acceptance": [0.0, 0.3, 0.7, 1.0], "epsilon": 9.0}


def explicit(cls, **changes):
    """A plan with small numbers."""
    given = {
        "epsilon": 1.0, "eta": 0.5, "batch": 1, "ramp": [0.5], "acceptance": [0.0, 0.5, 1.0], "beta": 1.0,
        "mode": "options",
    }  # fmt: skip
    return Plan.explicit(cls, **given | changes)


class Echo(Predictor):
    """Says what the instance tells it to; ``place`` is the position of its bit."""

    kind = "Echo"
    guarantee = Guarantee("joint", 0.0, 0.0, "event")
    parameters_digest = "echo"

    def __init__(self, place=0):
        self.place = place
        self._unlearned()

    def _predict(self, x):
        return x[self.place]

    def _learn(self, x, y, round):  # noqa: A002
        pass

    def state_dict(self):
        return msgspec.to_builtins(self._rounds.state())

    def load_state_dict(self, state):
        self._rounds = Rounds.restored(msgspec.convert(state, RoundsState))


RECORDS = [((True, True), True), ((True, False), True), ((True, False), False)]
"""Two parts agree; differ, and the first is right; differ, and the second is."""


def others(mirror, changed):
    """What a Mirror says on all rounds but one, as a function of which are active."""

    def answers(active, key):
        index, seen = 0, []
        for t, bit in enumerate(active):
            index += bit
            if t != changed:
                seen.append(bool(bit) and mirror.answer(index, key, "mirror", t + 1))
        return tuple(seen)

    return answers


def later(mirror):
    """The two activities whose difference shows best what a Mirror tells of its first round."""
    rounds = mirror.delay + mirror.length + 1
    return [(bit, *(1,) * rounds) for bit in (0, 1)]


def changed(levels, place, factor):
    """Chances out of 2^64 with one of them changed."""
    return tuple(min(int(level * factor), 2**64) if at == place else level for at, level in enumerate(levels))
