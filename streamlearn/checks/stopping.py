"""Checks of a stopper: the table of legal calls at the head of :mod:`streamlearn.base`, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from streamlearn.channels import Channel, Report
from streamlearn.checks.trial import Trial, Unmet, quiet, require_refused, require_unchanged, saved
from streamlearn.errors import HorizonError, ReportError
from streamlearn.plans import ReportingPlan

_BASE = "leave predict_one and learn_one to streamlearn.Stopper, or keep its table of legal calls"
_SAMPLE = (123456.789, 98765.4321)
_WRONG_BITS = (2, -1, 0.5, 1.0, "1", None, math.nan, True, (1,))
_NO_REPORTS = (None, 1, (1, 1, "a"), {"round": 1, "bit": 1})


def _require(held: bool, expected: str, seen: str, remedy: str = _BASE) -> None:
    if not held:
        raise Unmet(expected, seen, remedy)


def _stages(trial: Trial) -> Iterator[tuple[Any, Channel]]:
    """Yield the stopper at each round it may reach, waiting, and the channel of its plan."""
    stopper = trial.fresh()
    for channel in stopper.plan:
        yield stopper, channel
        if channel.case == "accept":
            return
        stopper.learn_one(quiet(channel))


def _possible(channel: Channel) -> tuple[int, ...]:
    """Return the bits a channel can send."""
    return {"ask": (0, 1), "accept": (1,), "skip": (0,)}[channel.case]


def _copy_of(stopper: Any, trial: Trial) -> Any:
    """Return a new stopper at the same round, reached by the same reports."""
    other = trial.fresh()
    for channel in other.plan:
        if channel.round >= stopper.round:
            break
        other.learn_one(quiet(channel))
    return other


def check_it_begins_waiting(trial: Trial) -> None:
    """Require that a new stopper waits for round 1, and has a plan, thresholds and cases for every round."""
    stopper = trial.fresh()
    n = stopper.horizon
    remedy = "call self._begin(cases) at the end of __init__"
    _require(type(n) is int and n >= 1, "a horizon of at least one round", "another", remedy)
    begun = (stopper.round, stopper.stopped) == (1, False)
    _require(begun, "round 1, not stopped", f"round {stopper.round}, stopped {stopper.stopped}", remedy)
    _require(isinstance(stopper.plan, ReportingPlan), "a ReportingPlan", type(stopper.plan).__name__)
    _require(len(stopper.plan) == n, f"a plan of {n} rounds", f"{len(stopper.plan)}")
    cases = [channel.case for channel in stopper.plan]
    _require(list(stopper.cases) == cases, "cases that are the plan's", "others", remedy)
    shape = np.shape(stopper.thresholds)
    _require(shape == (n,), f"thresholds of shape ({n},)", f"{shape}", "give one per round")
    value = stopper.value
    _require(
        isinstance(value, float) and value >= 0.0,
        "a value that is a float >= 0",
        "another",
        "compute value from the priors",
    )


def check_the_plan_is_kept(trial: Trial) -> None:
    """Require that at every round the channel is the plan's, and the plan stays what it was before anybody came."""
    plan = trial.fresh().plan
    remedy = "let the channel of a round depend on the parameters alone"
    for stopper, channel in _stages(trial):
        _require(
            stopper.channel == channel,
            "the channel the plan promised",
            f"another in round {channel.round}",
            remedy,
        )
        _require(
            stopper.plan == plan, "the plan of the beginning", f"another in round {channel.round}", remedy
        )


def check_the_guarantee_covers_the_plan(trial: Trial) -> None:
    """Require that what is promised locally is no less than what the plan spends."""
    stopper = trial.fresh()
    promised = stopper.guarantee
    covered = promised.notion == "none" or promised.epsilon >= stopper.plan.epsilon
    remedy = "promise plan.epsilon, or spend less"
    _require(
        covered,
        f"a guarantee of at least the plan's ε = {stopper.plan.epsilon:g}",
        f"{promised.epsilon:g}",
        remedy,
    )


def check_predicting_says_the_bit(trial: Trial) -> None:
    """Require that predict_one says the bit, however often asked and whoever sent it, and changes nothing."""
    for stopper, channel in _stages(trial):
        before = saved(stopper)
        for bit in _possible(channel):
            for name in (None, "a", "b", "a"):
                answer = stopper.predict_one(Report(channel.round, bit, name))
                expected = f"{bit == 1} for bit {bit} of round {channel.round}"
                _require(answer is (bit == 1), expected, "another answer")
                require_unchanged(before, stopper, "predict_one", _BASE)


def check_a_zero_advances_and_a_one_stops(trial: Trial) -> None:
    """Require that learn_one returns None; bit 0 leads to the next round, bit 1 stops in this one."""
    for stopper, channel in _stages(trial):
        for bit in _possible(channel):
            learner = _copy_of(stopper, trial)
            nothing = learner.learn_one(Report(channel.round, bit))
            _require(nothing is None, "None from learn_one", type(nothing).__name__)
            expected = (channel.round + (bit == 0), bit == 1)
            seen = f"round {learner.round}, stopped {learner.stopped}"
            words = f"round {expected[0]}, stopped {expected[1]} after bit {bit} in round {channel.round}"
            _require((learner.round, learner.stopped) == expected, words, seen)


def _require_both_refuse(
    stopper: Any, x: Any, what: str, error: type[ReportError | HorizonError] = ReportError
) -> None:
    for call in (stopper.predict_one, stopper.learn_one):
        require_refused(stopper, partial(call, x), error, what, _BASE)


def check_other_reports_are_refused(trial: Trial) -> None:
    """Require that a report of another round, and what is no report, is refused."""
    for stopper, channel in _stages(trial):
        for offset in (-1, 1, 100):
            for bit in _possible(channel):
                other = Report(channel.round + offset, bit)
                _require_both_refuse(
                    stopper, other, f"the report of round {other.round} in round {channel.round}"
                )
        for x in _NO_REPORTS:
            _require_both_refuse(stopper, x, f"what is no report but a {type(x).__name__}")


def check_impossible_bits_are_refused(trial: Trial) -> None:
    """Require that a bit that is not 0 or 1, or that the round's channel cannot send, is refused."""
    for stopper, channel in _stages(trial):
        impossible = {0, 1} - set(_possible(channel))
        for bit in (*_WRONG_BITS, *impossible):
            report = Report(channel.round, bit)  # type: ignore[arg-type]  # that is the point
            _require_both_refuse(stopper, report, f"bit {bit!r} from a channel of case {channel.case}")


def check_stopping_is_absorbing(trial: Trial) -> None:
    """Require that once somebody is taken, nobody else is asked, and every call is answered without a change."""
    for waiting, channel in _stages(trial):
        if channel.case == "skip":
            continue
        stopper = _copy_of(waiting, trial)
        stopper.learn_one(Report(channel.round, 1))
        before = saved(stopper)
        nobody = Channel.constant(channel.round, bit=0)
        for report in (Report(channel.round, 1), Report(channel.round + 1, 1), Report(99, 1), Report(1, 7)):
            words = f"after stopping in round {channel.round}"
            _require(stopper.channel == nobody, f"a channel that asks nobody {words}", "another")
            _require(stopper.predict_one(report) is False, f"False {words}", "another answer")
            stopper.learn_one(report)
            require_unchanged(before, stopper, "stopping", _BASE)


def check_the_horizon_is_the_end(trial: Trial) -> None:
    """Require that past the last round, nobody taken, every call is refused."""
    stopper = trial.fresh()
    for channel in stopper.plan:
        if channel.case == "accept":
            return
        stopper.learn_one(quiet(channel))
    n = stopper.horizon
    _require(
        (stopper.round, stopper.stopped) == (n + 1, False), f"round {n + 1}, not stopped", "another state"
    )
    for bit in (0, 1):
        _require_both_refuse(stopper, Report(n + 1, bit), "a report past the horizon", HorizonError)
    require_refused(stopper, lambda: stopper.channel, HorizonError, "the channel past the horizon", _BASE)


def check_no_sample_is_shown(trial: Trial) -> None:
    """Require that what is printed of a stopper built from logs holds none of their values."""
    if "priors" not in trial.parameters:
        return
    stopper = trial.fresh(priors=[np.array(_SAMPLE) for _ in range(trial.fresh().horizon)])
    words = {"repr": repr(stopper), "str": str(stopper), "plan's repr": repr(stopper.plan)}
    words["guarantee"] = f"{stopper.guarantee} {stopper.guarantee!r}"
    for name, text in words.items():
        shown = any(f"{int(value)}" in text for value in _SAMPLE)
        _require(
            not shown, f"no value of a log in the {name}", "some", "leave __repr__ to streamlearn.Stopper"
        )


CHECKS: list[Callable[[Trial], None]] = [
    check_it_begins_waiting,
    check_the_plan_is_kept,
    check_the_guarantee_covers_the_plan,
    check_predicting_says_the_bit,
    check_a_zero_advances_and_a_one_stops,
    check_other_reports_are_refused,
    check_impossible_bits_are_refused,
    check_stopping_is_absorbing,
    check_the_horizon_is_the_end,
    check_no_sample_is_shown,
]
