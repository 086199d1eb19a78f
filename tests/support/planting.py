"""Sound agents of a third party to plant faults in: a predictor without a hypothesis class, and a stopper."""

from __future__ import annotations

import msgspec

from streamlearn import Channel, Guarantee, Key, state
from streamlearn.base import Stopper
from streamlearn.prediction import Predictor
from streamlearn.rounds import Rounds, RoundsState


class VoteState(msgspec.Struct, forbid_unknown_fields=True):
    rounds: RoundsState
    votes: dict[str, int]


def name_of(x):
    return repr(sorted(x.items(), key=str)) if isinstance(x, dict) else repr(x)


@state.register("tests/Vote")
class Vote(Predictor):
    """Predicts the majority of the labels that a keyed coin retained, counted up to 3 either way."""

    def __init__(self, key, title="vote"):
        self.key = key
        self.title = title
        self._unlearned()

    def _unlearned(self):
        super()._unlearned()
        self.votes = {}

    def _predict(self, x):
        return self.votes.get(name_of(x), 0) > 0

    def _learn(self, x, y, round):  # noqa: A002 - the contract's own name
        if self.key.uniform64("Vote/retain", round) < 2**63:
            name = name_of(x)
            self.votes[name] = max(-3, min(3, self.votes.get(name, 0) + (1 if y else -1)))

    @property
    def guarantee(self):
        return Guarantee("joint", 0.0, 0.5, "event")

    @property
    def parameters_digest(self):
        return self.key.fingerprint

    def state_dict(self):
        return state.pack(self, VoteState(self._rounds.state(), self.votes))

    def load_state_dict(self, state_dict):
        body = state.unpack(self, state_dict, VoteState)
        self._rounds = Rounds.restored(body.rounds)
        self.votes = body.votes

    def __repr__(self):
        return f"{type(self).__name__}(title={self.title!r})"

    @classmethod
    def _unit_test_params(cls):
        yield {"key": Key.from_seed(1)}


@state.register("tests/Patient")
class Patient(Vote):
    """Waits for a label while at most ``max_delay`` other rounds are asked."""

    def __init__(self, key, max_delay=2, title="vote"):
        super().__init__(key, title)
        self.max_delay = max_delay
        self.given_up = []  # the last few

    def _give_up_before(self, waiting):
        pending = self._rounds.state().pending
        for late in pending[: max(0, len(pending) - waiting)]:
            self.give_up(late)
            self.given_up = [*self.given_up[-2:], late]

    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        bit = super().predict_one(x, round=round, **kwargs)
        self._give_up_before(self.max_delay + 1)
        return bit


@state.register("tests/Fixed")
class Fixed(Stopper):
    """Asks, accepts or skips as it is told: "a" asks, "+" accepts, "-" skips."""

    def __init__(self, pattern, epsilon=1.0):
        self.pattern = pattern
        self.epsilon = epsilon
        self._begin([{"a": "ask", "+": "accept", "-": "skip"}[letter] for letter in pattern])

    @property
    def value(self):
        return 0.5

    @property
    def thresholds(self):
        return [0.5] * self.horizon

    def _channel(self, round):  # noqa: A002 - the contract's own name
        case = self.cases[round - 1]
        if case == "ask":
            return Channel.randomized_response(round, 0.5, self.epsilon)
        return Channel.constant(round, bit=int(case == "accept"))


KEY = Key.from_seed(1)
PLANTED = []
"""Faulty classes, how each is built, and the names of the checks it must fail, the first first."""


def planted(*caught, build=lambda cls: cls(KEY), registered=True):
    """Note a faulty class with all the checks it must fail."""

    def note(cls):
        if registered:
            state.register(f"tests/{cls.__name__}")(cls)
        PLANTED.append((cls, build, [f"check_{name}" for name in caught]))
        return cls

    return note


def stoppers(cls):
    return cls("a-aa"), cls("aa+")
