"""Faults of predictors: with answers, instances, labels and memory; each with the checks it must fail."""

from __future__ import annotations

import itertools
from array import array

import numpy as np
from planting import Patient, Vote, planted

from streamlearn import hypotheses
from streamlearn.agents import SOA
from streamlearn.errors import LabelError, RoundError


@planted("answers_are_bits")
class AnswersNumpy(Vote):
    def _predict(self, x):
        return np.bool_(super()._predict(x))


@planted("answers_are_bits")
class LearnReturnsSelf(Vote):
    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x, y, **kwargs)
        return self


@planted("predicting_changes_nothing")
class CountsQuestions(Vote):
    def predict_one(self, x, **kwargs):
        bit = super().predict_one(x, **kwargs)
        self.votes["asked"] = self.votes.get("asked", 0) + 1
        return bit


@planted("predicting_changes_nothing")
class LearnsFromItsOwnAnswers(Vote):
    def _predict(self, x):
        self.votes.setdefault("x", 0)
        return super()._predict(x)


@planted(
    "asking_again_changes_no_answer",
    "clone_is_fresh",
    "restored_agents_go_on_alike",
    "loading_replaces_everything",
)
class DrawsAnew(Vote):
    draws = 0

    def _predict(self, x):  # noqa: ARG002
        self.draws += 1
        return self.key.uniform64("answer", self.draws) < 2**63

    def clone(self):
        clone = super().clone()
        clone.draws = self.draws
        return clone


@planted("instances_are_left_alone")
class WritesIntoInstances(Vote):
    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x, y, **kwargs)
        if isinstance(x, dict):
            x["label"] = y


@planted("instances_are_not_kept")
class KeepsTheLastInstance(Vote):
    def _predict(self, x):
        self._last = [x]
        return super()._predict(x)


@planted("instances_are_not_kept")
class KeepsAnInstanceInAClosure(Vote):
    def _learn(self, x, y, round):  # noqa: A002
        super()._learn(x, y, round)
        self._later = _closure(x)

    def __deepcopy__(self, memo):
        twin = type(self)(self.key, self.title)
        twin.load_state_dict(self.state_dict())
        return twin


def _closure(x):
    return lambda: x


@planted("unhashable_instances_are_refused")
class TakesLists(Vote):
    def predict_one(self, x, **kwargs):
        return super().predict_one(tuple(x) if isinstance(x, list) else x, **kwargs)


@planted("unhashable_instances_are_refused")
class NotesTheRoundTooEarly(Vote):
    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        if round is not None:
            self._rounds.ask(round)
        return super().predict_one(x, round=round, **kwargs)


@planted("unknown_instances_break_nothing")
class NeedsFeatures(Vote):
    def _predict(self, x):
        known = x["a"] if isinstance(x, dict) else None
        return super()._predict(x) and known != -1


@planted("unknown_instances_teach_nothing", build=lambda cls: cls(hypotheses.Thresholds(9)))
class LearnsFromTheUnknown(SOA):
    def _learn(self, x, y, round):  # noqa: A002
        super()._learn(x if self.hypotheses.knows(x) else 5, y, round)


@planted("no_example_is_shown")
class ShowsItsVotes(Vote):
    def __repr__(self):
        return f"ShowsItsVotes({self.votes})"


# --- faults with labels


@planted("labels_come_in_any_order")
class GivesUpEarly(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        super().learn_one(x, y, round=round, **kwargs)
        for old in [it for it in self._rounds.state().pending if round is not None and it < round - 2]:
            self._rounds.answer(old)


@planted("labels_too_late_are_refused")
class TakesLabelsTooLate(Patient):
    def _give_up_before(self, waiting):
        pass


@planted("labels_too_late_are_refused")
class IsChangedByLabelsTooLate(Patient):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        if round in self.given_up:
            self.votes["late"] = 1
        super().learn_one(x, y, round=round, **kwargs)


@planted("labels_too_late_are_refused")
class AnswersRoundsGivenUp(Patient):
    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        if round in self.given_up:
            return False
        return super().predict_one(x, round=round, **kwargs)


@planted("labels_too_late_are_refused")
class StopsAfterARefusal(Patient):
    broken = False

    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        self.broken = self.broken or round in self.given_up
        super().learn_one(x, y, round=round, **kwargs)

    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        if self.broken and round is not None and round > self.max_delay + 1:
            raise RoundError("no more")
        return super().predict_one(x, round=round, **kwargs)


@planted("missing_labels_fill_no_memory")
class RemembersManyItGaveUp(Patient):
    def give_up(self, round):  # noqa: A002
        super().give_up(round)
        self.many = [*getattr(self, "many", []), round][-1100:]


@planted("missing_labels_fill_no_memory")
class RemembersWhatItGaveUp(Patient):
    def give_up(self, round):  # noqa: A002
        super().give_up(round)
        self.all_given_up = [*getattr(self, "all_given_up", []), round]


@planted("rounds_given_up_are_closed")
class NeverGivesUp(Vote):
    def give_up(self, round):  # noqa: A002
        pass


@planted("rounds_given_up_are_closed")
class GivesAllUp(Vote):
    def give_up(self, round):  # noqa: A002
        super().give_up(round)
        for other in self._rounds.state().pending:
            super().give_up(other)


@planted("labels_without_a_round_are_taken_in_order")
class LastAskedIsFirstAnswered(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        if round is None and self._rounds.state().pending:
            round = self._rounds.state().pending[-1]  # noqa: A001
        super().learn_one(x, y, round=round, **kwargs)


@planted("unknown_rounds_are_refused")
class TakesUnknownRounds(Vote):
    newest = -1

    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        bit = super().predict_one(x, round=round, **kwargs)
        self.newest = max(self.newest, -1 if round is None else round)
        return bit

    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        if round is not None and round > self.newest:
            self._rounds.ask(round)
        super().learn_one(x, y, round=round, **kwargs)


@planted(
    "labels_without_a_round_are_taken_in_order",
    "unknown_rounds_are_refused",
    "duplicate_labels_are_refused",
    "rounds_given_up_are_closed",
)
class IgnoresUnknownRounds(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        try:
            super().learn_one(x, y, round=round, **kwargs)
        except RoundError:
            return


@planted("duplicate_labels_are_refused")
class TakesTheLastLabelAgain(Vote):
    answered = None

    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        if round is not None and round == self.answered:
            return
        super().learn_one(x, y, round=round, **kwargs)
        self.answered = round


@planted("rounds_are_whole_numbers")
class RoundsRounds(Vote):
    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        return super().predict_one(x, round=None if round is None else int(round), **kwargs)


@planted("labels_are_binary")
class TakesAnyLabel(Vote):
    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x, bool(y), **kwargs)


@planted("labels_are_binary")
class SpendsTheRoundOfABadLabel(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        try:
            super().learn_one(x, y, round=round, **kwargs)
        except LabelError:
            self._rounds.answer(round)
            raise


@planted("labels_of_any_numeric_type_are_one")
class WantsBooleans(Vote):
    def learn_one(self, x, y=None, **kwargs):
        if type(y) is not bool:
            raise LabelError("a bool, please")
        super().learn_one(x, y, **kwargs)


@planted("labels_of_any_numeric_type_are_one")
class TakesOnlyTrueForTrue(Vote):
    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(
            x, y if isinstance(y, str | list | type(None)) or y not in {0, 1} else y is True, **kwargs
        )


# --- faults with memory


@planted("long_streams_fill_no_memory")
class KeepsALog(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        super().learn_one(x, y, round=round, **kwargs)
        if round is None:
            self.__dict__.setdefault("log", []).append(y)


@planted("late_labels_fill_no_memory")
class RemembersAnsweredRounds(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        super().learn_one(x, y, round=round, **kwargs)
        if round is not None:
            self.__dict__.setdefault("done", set()).add(round)


@planted("missing_labels_fill_no_memory")
class WaitsForever(Vote):
    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        bit = super().predict_one(x, round=round, **kwargs)
        if round is not None:
            self.__dict__.setdefault("waiting", {})[round] = bit
        return bit

    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        super().learn_one(x, y, round=round, **kwargs)
        self.__dict__.get("waiting", {}).pop(round, None)


@planted("long_streams_fill_no_memory", "late_labels_fill_no_memory", "missing_labels_fill_no_memory")
class KeepsItsAnswers(Vote):
    def _predict(self, x):
        bit = super()._predict(x)
        self.__dict__.setdefault("answers", array("b")).append(bit)
        return bit


@planted("missing_labels_fill_no_memory")
class WaitsForeverWithoutANumber(Vote):
    waiting = ()

    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        bit = super().predict_one(x, round=round, **kwargs)
        if round is None:
            self.waiting = [*self.waiting, bit]
        return bit

    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        super().learn_one(x, y, round=round, **kwargs)
        self.waiting = ()


@planted("predicting_changes_nothing")
class CountsRoundsAskedAgain(Vote):
    def predict_one(self, x, *, round=None, **kwargs):  # noqa: A002
        again = round in self._rounds.state().pending
        bit = super().predict_one(x, round=round, **kwargs)
        if again:
            self.votes["again"] = 0
        return bit


@planted("labels_without_a_round_are_taken_in_order")
class OneLabelAnswersAll(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        super().learn_one(x, y, round=round, **kwargs)
        for other in self._rounds.state().pending if round is None else ():
            self._rounds.answer(other)


@planted(
    "instances_are_not_kept",
    "unhashable_instances_are_refused",
    "unknown_instances_break_nothing",
    "labels_without_a_round_are_taken_in_order",
    "labels_are_binary",
)
class WantsNumbersWhereOneAwaits(Vote):
    def learn_one(self, x, y=None, *, round=None, **kwargs):  # noqa: A002
        if round is None and self._rounds.state().pending:
            raise RoundError("which?")
        super().learn_one(x, y, round=round, **kwargs)


@planted("instances_are_not_kept")
class KeepsAMethodOfTheInstance(Vote):
    def _predict(self, x):
        self._get = x.get if isinstance(x, dict) else None
        return super()._predict(x)

    __deepcopy__ = KeepsAnInstanceInAClosure.__deepcopy__


_elsewhere = {}
_serial = itertools.count()


class KeepsInstancesElsewhere(Vote):
    """Where no search from the agent finds them; a changed one changes what the agent does."""

    def __init__(self, key, title="vote"):
        super().__init__(key, title)
        self.serial = next(_serial)

    def _learn(self, x, y, round):  # noqa: A002
        super()._learn(x, y, round)
        _elsewhere[self.serial] = x

    def changed(self):
        kept = _elsewhere.get(self.serial)
        return isinstance(kept, dict) and "a" in kept and kept["a"] is None and "c" not in kept


@planted("instances_are_not_kept")
class AnswersByInstancesElsewhere(KeepsInstancesElsewhere):
    def _predict(self, x):
        return super()._predict(x) != self.changed()


@planted("instances_are_not_kept")
class SavesInstancesElsewhere(KeepsInstancesElsewhere):
    def state_dict(self):
        saved = super().state_dict()
        saved["body"]["votes"] |= {"changed": 0} if self.changed() else {}
        return saved
