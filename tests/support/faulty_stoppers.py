"""Faults of stoppers, each with the checks it must fail."""

from __future__ import annotations

import copy

import numpy as np
from planting import Fixed, planted, stoppers
from river.base import Base

from streamlearn import Channel, Guarantee, Report
from streamlearn.agents import LDPOptimalStopper
from streamlearn.errors import HorizonError
from streamlearn.plans import ReportingPlan


@planted("kind_is_registered", build=stoppers, registered=False)
class UnregisteredStopper(Fixed):
    pass


@planted("clone_is_fresh", build=stoppers)
class ClonesWhereItStands(Fixed):
    def clone(self):
        return copy.copy(self)


@planted("copies_go_on_alike", build=stoppers)
class CopiesFromTheBeginning(Fixed):
    def __deepcopy__(self, memo):
        return Base.clone(self)


@planted("restored_agents_go_on_alike", build=stoppers)
class ForgetsAReport(Fixed):
    advanced = False

    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x, y, **kwargs)
        self.advanced = self.advanced or self.round > 1

    @property
    def channel(self):
        return super().channel if self.advanced or self.round == 1 else Channel.constant(self.round, bit=0)


@planted("it_begins_waiting", build=stoppers)
class OneThreshold(Fixed):
    thresholds = 0.5


@planted("it_begins_waiting", build=stoppers)
class WholeValue(Fixed):
    value = 1


@planted("the_plan_is_kept", build=stoppers)
class AsksOtherwiseLater(Fixed):
    @property
    def channel(self):
        planned = super().channel
        if planned.case != "ask" or self.round == 1:
            return planned
        return Channel.randomized_response(self.round, 0.25, self.epsilon)


@planted("the_guarantee_covers_the_plan", build=stoppers)
class PromisesTooMuch(Fixed):
    guarantee = Guarantee.local(0.5)


@planted("predicting_says_the_bit", build=stoppers)
class KnowsWhoAsks(Fixed):
    def predict_one(self, x, **kwargs):
        return super().predict_one(x, **kwargs) and not (isinstance(x, Report) and x.event_id == "b")


@planted("predicting_says_the_bit", build=stoppers)
class PredictingAdvances(Fixed):
    def predict_one(self, x, **kwargs):
        bit = super().predict_one(x, **kwargs)
        self.round += isinstance(x, Report) and x.event_id == "a"
        return bit


@planted("a_zero_advances_and_a_one_stops", build=stoppers)
class LearnReturnsWhetherItStopped(Fixed):
    def learn_one(self, x, y=None, **kwargs):
        super().learn_one(x, y, **kwargs)
        return self.stopped


@planted("other_reports_are_refused", build=stoppers)
class TakesLateReports(Fixed):
    def _bit(self, report):
        if isinstance(report, Report) and report.round == self.round + 100:
            return report.bit
        return super()._bit(report)


@planted("other_reports_are_refused", build=stoppers)
class TakesDicts(Fixed):
    def _bit(self, report):
        return super()._bit(Report(self.round, 0) if isinstance(report, dict) else report)


@planted("impossible_bits_are_refused", build=stoppers)
class TakesFloats(Fixed):
    def _bit(self, report):
        if isinstance(report, Report) and report.bit == 1.0 and self.cases[self.round - 1 :][:1] != ["skip"]:
            report = Report(report.round, 1)
        return super()._bit(report)


@planted("stopping_is_absorbing", build=stoppers)
class CountsOn(Fixed):
    def learn_one(self, x, y=None, **kwargs):
        if self.stopped and isinstance(x, Report) and x.bit == 7:
            self.round = 1
        super().learn_one(x, y, **kwargs)


@planted("stopping_is_absorbing", build=stoppers)
class TakesAnotherOne(Fixed):
    def predict_one(self, x, **kwargs):
        return super().predict_one(x, **kwargs) or (self.stopped and x.round == 99)


@planted("the_horizon_is_the_end", build=stoppers)
class SaysNoForever(Fixed):
    def predict_one(self, x, **kwargs):
        try:
            return super().predict_one(x, **kwargs)
        except HorizonError:
            return False


@planted("no_sample_is_shown", build=lambda cls: (cls([np.array([0.5, 1.5])] * 3, 1.0),))
class ShowsItsPriors(LDPOptimalStopper):
    __repr__ = Base.__repr__


@planted("the_plan_is_kept", build=stoppers)
class PlansAnew(Fixed):
    guarantee = Guarantee.local(3.0)
    parameters_digest = "fixed"

    @property
    def plan(self):
        return ReportingPlan([self._channel(i, 1.0 + (self.round > 1)) for i in range(1, self.horizon + 1)])

    def _channel(self, round, epsilon=1.0):  # noqa: A002
        case = self.cases[round - 1]
        if case == "ask":
            return Channel.randomized_response(round, 0.5, epsilon)
        return Channel.constant(round, bit=int(case == "accept"))


@planted(
    "a_zero_advances_and_a_one_stops",
    "stopping_is_absorbing",
    "restored_agents_go_on_alike",  # a round past the horizon is no state of a stopped one
    build=lambda cls: cls("a-aa"),
)
class StoppingAdvances(Fixed):
    def learn_one(self, x, y=None, **kwargs):
        before = self.stopped
        super().learn_one(x, y, **kwargs)
        self.round += self.stopped and not before


@planted("stopping_is_absorbing", build=stoppers)
class AsksAfterStopping(Fixed):
    @property
    def channel(self):
        return self._channel(self.round) if self.stopped else super().channel


@planted("the_horizon_is_the_end", build=stoppers)
class AsksNobodyForever(Fixed):
    @property
    def channel(self):
        return Channel.constant(self.round, bit=0) if self.round > self.horizon else super().channel


@planted("it_begins_waiting", build=stoppers)
class CasesInOtherWords(Fixed):
    @property
    def cases(self):
        return _Words(self.__dict__["told"])

    @cases.setter
    def cases(self, told):
        self.told = told


class _Words(list):
    """The cases one by one, but not all together."""

    def __iter__(self):
        return iter(["ask"] * (len(self) + 1))
