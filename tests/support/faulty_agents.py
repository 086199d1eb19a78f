"""Faults any agent may have, planted in sound ones, each with the checks it must fail."""

from __future__ import annotations

import copy
import itertools

import msgspec
from planting import Vote, planted

from streamlearn import Guarantee, Key, rounds, state

_serial = itertools.count()


@planted("arguments_are_stored")
class StoresAnother(Vote):
    def __init__(self, key, title="vote"):
        super().__init__(key, title)
        self.title = title + "!"


@planted("kind_is_registered", registered=False)
class Unregistered(Vote):
    pass


@planted("guarantee_is_a_guarantee")
class PromisesWords(Vote):
    @property
    def guarantee(self):
        return "private"


@planted("guarantee_is_a_guarantee")
class PromisesLessLater(Vote):
    @property
    def guarantee(self):
        return Guarantee("joint", 0.0, 0.5 if len(self.votes) < 3 else 0.6, "event")


@planted(
    "same_key_same_run",
    "asking_again_changes_no_answer",
    "instances_are_not_kept",
    "labels_of_any_numeric_type_are_one",
    "clone_is_fresh",
    "restored_agents_go_on_alike",
    "loading_replaces_everything",
)
class IgnoresItsKey(Vote):
    def __init__(self, key, title="vote"):
        super().__init__(key, title)
        self._own = Key.from_seed(next(_serial))

    def _learn(self, x, y, round):  # noqa: A002
        if self._own.uniform64("coin", round) < 2**63:
            super()._learn(x, y, round)


@planted("clone_is_fresh")
class ClonesItself(Vote):
    def clone(self):
        return self


@planted("clone_is_fresh")
class ClonesWhatItLearned(Vote):
    def clone(self):
        return copy.deepcopy(self)


@planted("clone_is_fresh")
class ClonesHiddenMemory(Vote):
    hidden = 0

    def _predict(self, x):
        return super()._predict(x) != (self.hidden > 0)

    def clone(self):
        clone = super().clone()
        clone.hidden = len(self.votes)
        return clone


@planted("clone_is_fresh")
class ClonesAnotherClass(Vote):
    def clone(self):
        return type("Another", (type(self),), {})(self.key, self.title)


@planted("clone_is_fresh")
class ClonesWithAnExtra(Vote):
    def clone(self):
        clone = super().clone()
        clone.votes["never asked"] = 0
        return clone


@planted("clone_is_fresh")
class ClonesTellTheirParent(Vote):
    parent = None

    def _learn(self, x, y, round):  # noqa: A002
        super()._learn(x, y, round)
        if self.parent is not None:
            self.tell(self.parent)

    def tell(self, parent):
        parent.votes["never asked"] = 0

    def clone(self):
        clone = super().clone()
        clone.parent = self
        return clone


@planted("clone_is_fresh")
class ClonesConfuseTheirParent(ClonesTellTheirParent):
    confused = False

    def tell(self, parent):
        parent.confused = True

    def _predict(self, x):
        return super()._predict(x) != self.confused


@planted(
    "state_is_plain_json",
    "restored_agents_go_on_alike",
    "loading_replaces_everything",
    "no_secret_is_shown",
    "long_streams_fill_no_memory",
    "late_labels_fill_no_memory",
    "missing_labels_fill_no_memory",
)
class SavesWhatJsonCannotCarry(Vote):
    def state_dict(self):
        saved = super().state_dict()
        saved["body"]["rounds"]["note"] = 1j
        return saved

    def load_state_dict(self, state_dict):
        state_dict = copy.deepcopy(state_dict)
        if state_dict and isinstance(state_dict["body"], dict):
            rounds_ = state_dict["body"]["rounds"]
            rounds_.pop("note", None)
        super().load_state_dict(state_dict)


@planted("state_is_plain_json")
class SavesTuples(Vote):
    def state_dict(self):
        saved = super().state_dict()
        saved["body"]["rounds"] = {name: _tuple(it) for name, it in saved["body"]["rounds"].items()}
        return saved


def _tuple(it):
    return tuple(it) if isinstance(it, list) else it


@planted("state_is_a_snapshot")
class ReturnsLiveState(Vote):
    def state_dict(self):
        saved = super().state_dict()
        saved["body"]["votes"] = self.votes
        return saved


@planted("state_is_a_snapshot")
class KeepsLoadedState(Vote):
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.votes = state_dict["body"]["votes"]


@planted("restored_agents_go_on_alike")
class ForgetsSomething(Vote):
    begun = False

    def _learn(self, x, y, round):  # noqa: A002
        self.begun = True
        super()._learn(x, y, round)

    def _predict(self, x):
        return super()._predict(x) != self.begun


@planted("loading_replaces_everything")
class LoadsOnTop(Vote):
    def load_state_dict(self, state_dict):
        before = self.votes
        super().load_state_dict(state_dict)
        self.votes = before | self.votes


@planted("copies_go_on_alike")
class CopiesAfresh(Vote):
    def __deepcopy__(self, memo):
        return type(self)(self.key, self.title)


@planted("copies_go_on_alike")
class CopiesShareState(Vote):
    def __deepcopy__(self, memo):
        return copy.copy(self)


@planted("copies_go_on_alike")
class PicklesItsArguments(Vote):
    def __reduce__(self):
        return type(self), (self.key, self.title)

    def __deepcopy__(self, memo):
        twin = type(self)(self.key, self.title)
        twin.load_state_dict(self.state_dict())
        return twin


@planted("foreign_states_are_refused")
class ReadsNewerFormats(Vote):
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict | {"format": 1} if state_dict else state_dict)


@planted("foreign_states_are_refused", "states_of_another_key_are_refused")
class ReadsOtherParameters(Vote):
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict | {"parameters": self.parameters_digest})


@planted("malformed_states_are_refused")
class LoadsHalf(Vote):
    def load_state_dict(self, state_dict):
        body = state.unpack(self, state_dict, _body(rounds=rounds.RoundsState, votes=object))
        self._rounds = rounds.Rounds.restored(body.rounds)
        super().load_state_dict(state_dict)


def _body(**fields):
    return msgspec.defstruct("Body", list(fields.items()))


@planted("malformed_states_are_refused")
class BreaksOnNonsense(Vote):
    def load_state_dict(self, state_dict):
        _ = state_dict["body"]
        super().load_state_dict(state_dict)


@planted("states_of_another_key_are_refused")
class ForgetsItsKeyInTheDigest(Vote):
    parameters_digest = "vote"


@planted("no_secret_is_shown")
class ShowsItsKey(Vote):
    def __repr__(self):
        return f"ShowsItsKey({self.key.secret.hex()})"


@planted("no_secret_is_shown")
class SavesItsKey(Vote):
    @property
    def parameters_digest(self):
        return self.key.secret.hex()


@planted("malformed_states_are_refused")
class TakesNoBodyForNothing(Vote):
    def load_state_dict(self, state_dict):
        if "body" not in state_dict or state_dict["body"] is not None:
            super().load_state_dict(state_dict)


@planted(
    "same_key_same_run", "instances_are_not_kept", "labels_of_any_numeric_type_are_one", "clone_is_fresh"
)
class CountsItsInstances(Vote):
    def __init__(self, key, title="vote"):
        super().__init__(key, title)
        self.votes["serial"] = next(_serial)
