"""Audits of all that leaves a client: bits, names and refusals of the real reporter, and of faulty ones."""

from __future__ import annotations

import math

import pytest

from streamlearn import Channel, Guarantee, Key, Report, audit
from streamlearn.agents import LDPOptimalStopper, OptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.errors import BudgetError, ParameterError
from streamlearn.reporters import Reporter

LAWS = [[0.0, 1.0, 3.0], [0.5, 0.5, 2.0], [0.0, 4.0], 0.75]
CHANNEL = Channel.randomized_response(1, 0.5, 1.0)


def honest(key):
    return Reporter(math.inf, key=key)


@pytest.mark.parametrize(
    "stopper",
    [
        *(LDPOptimalStopper(LAWS, epsilon) for epsilon in (0.0, 0.3, 1.0, 5.0, 40.0)),
        LDPOptimalStopper(LAWS, [0.5, 1.0, 2.0, 3.0]),
        *(
            SingleThresholdStopper(LAWS, 1.0, threshold=rule)
            for rule in ("median", "median-deterministic", "half-max", "optimal", 0.6)
        ),
        StaticStopper(LAWS, 1.0),
    ],
    ids=repr,
)
def test_stoppers_and_reporters_hold(stopper):
    report = audit.exact_stopper(stopper, honest)
    assert report.verdict == "holds"
    assert report.bound <= report.claim.epsilon
    assert audit.exact_stopper(stopper.plan, honest).bound == report.bound  # by the plan alone


def test_the_bound_is_what_the_integers_spend():
    for stopper in (LDPOptimalStopper(LAWS, 1.0), SingleThresholdStopper(LAWS, [0.2, 2.0, 0.5, 1.0], 0.6)):
        report = audit.exact_stopper(stopper, honest)
        assert report.bound == pytest.approx(stopper.plan.epsilon, rel=1e-15)
    assert report.bound > 1.9
    assert "round 2: " in report.finding


class Leaky(Reporter):
    """Writes into the report's name on which side of a half the value lies."""

    def report(self, *, value, channel, event_id):
        found = super().report(value=value, channel=channel, event_id=event_id)
        return Report(found.round, found.bit, f"{event_id}{'+' if value > 0.5 else '-'}")


class Hashing(Reporter):
    """Names the event after its value."""

    def report(self, *, value, channel, event_id):  # noqa: ARG002
        return super().report(value=value, channel=channel, event_id=str(hash(value)))


class Rounded(Reporter):
    """A sampler of its own, whose chance has two digits."""

    def report(self, *, value, channel, event_id):
        truthful = self.key.uniform64("own", channel.round) / 2**64 < 0.74
        return Report(channel.round, int((value >= channel.threshold) is truthful), event_id)


class Generous(Reporter):
    """Answers with a tenth more ε than it was asked for."""

    def report(self, *, value, channel, event_id):
        more = Channel.randomized_response(channel.round, channel.threshold, 1.1 * channel.epsilon)
        return super().report(value=value, channel=more, event_id=event_id)


FAULTS = [Leaky, Hashing, Rounded, Generous]


def mechanism(kind):
    return lambda value, key: kind(math.inf, key=key).report(value=value, channel=CHANNEL, event_id="a")


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_told_exactly(fault):
    stopper = LDPOptimalStopper([[0.0, 4.0], [0.0, 3.0], 0.75], epsilon=1.0)
    assert "ask" in stopper.cases
    report = audit.exact_stopper(stopper, lambda key: fault(math.inf, key=key))
    assert report.refuted
    assert report.bound > 1.0


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_told_by_samples(fault):
    """A true claim is refuted with probability at most 1e-6; the key is fixed."""
    report = audit.statistical(mechanism(fault), 0.2, 0.7, epsilon=1.0, samples=400_000, key=Key.from_seed(3))
    assert report.refuted


def test_a_million_reports_certify_nearly_all_of_epsilon():
    report = audit.statistical(mechanism(Reporter), 0.2, 0.7, epsilon=1.0, key=Key.from_seed(1))
    assert report.size == 1_000_000
    assert report.verdict == "not refuted"
    assert 0.95 <= report.bound <= 1.0


@pytest.mark.parametrize(("limit", "told"), [(1.0, False), (1.2, True)])
def test_a_limit_a_fifth_too_high_is_told(limit, told):
    """All answers about one event together keep the limit, whether a channel is refused included."""

    def view(value, key):
        reporter, seen = Reporter(limit, key=key), []
        for stage in (1, 2, 3):
            try:
                channel = Channel.randomized_response(stage, 0.5, 0.3)
                seen.append(reporter.report(value=value, channel=channel, event_id="a").bit)
            except BudgetError:
                seen.append("refused")
        try:
            channel = Channel.randomized_response(9, 0.5, 0.2)
            seen.append(reporter.report(value=value, channel=channel, event_id="a").bit)
        except BudgetError:
            seen.append("refused")
        return tuple(seen)

    assert audit.exact_mechanism(view, [0.2, 0.7], epsilon=1.0).refuted is told


@pytest.mark.parametrize("asked_anew", [False, True])
def test_asking_again_tells_nothing_more_unless_it_is_drawn_anew(asked_anew):
    def view(value, key):
        reporter = honest(key)
        names = [f"a{i}" if asked_anew else "a" for i in range(3)]
        return tuple(reporter.report(value=value, channel=CHANNEL, event_id=name).bit for name in names)

    report = audit.exact_mechanism(view, [0.2, 0.7], epsilon=1.0)
    assert report.refuted is asked_anew
    assert report.bound == pytest.approx(3.0 if asked_anew else 1.0)


def test_what_cannot_be_audited_is_refused():
    with pytest.raises(ParameterError, match="plan must be a Stopper or a ReportingPlan, got int"):
        audit.exact_stopper(3, honest)
    with pytest.raises(ParameterError, match="claim must be of local privacy"):
        audit.exact_stopper(OptimalStopper(LAWS), honest)
    with pytest.raises(ParameterError, match="claim must be of local privacy"):
        audit.exact_stopper(LDPOptimalStopper(LAWS, 1.0), honest, claim=Guarantee("joint", 1.0, 0.0, "event"))
