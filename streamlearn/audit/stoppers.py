"""Exact audits of stoppers: what a person's report tells of the value, whatever round it answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from streamlearn.audit.branching import law
from streamlearn.audit.exact import compared
from streamlearn.audit.report import Report
from streamlearn.base import Stopper
from streamlearn.channels import Channel
from streamlearn.errors import ParameterError
from streamlearn.plans import ReportingPlan
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key


class Reporting(Protocol):
    """What answers a channel, as a reporter does."""

    def report(self, *, value: float | None, channel: Channel, event_id: str) -> Any:
        """Return what leaves the client."""


def values_for(channel: Channel) -> dict[str, float]:
    """Return private values of every kind that a channel tells apart, by name: none, just below, at, just above, large.

    Parameters
    ----------
    channel
        The channel.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.audit.stoppers import values_for
    >>> list(values_for(Channel.randomized_response(1, 0.5, 1.0)).values())[2]
    0.5
    """
    t = max(channel.threshold, 0.0)
    kinds = {
        "the value 0": 0.0,
        "a value just below the threshold": math.nextafter(t, -math.inf),
        "a value at the threshold": t,
        "a value just above the threshold": math.nextafter(t, math.inf),
        "a large value": 2.0 * t + 1.0,
    }
    return {name: value for name, value in kinds.items() if value >= 0.0}


def exact_stopper(
    plan: Stopper | ReportingPlan,
    reporter_factory: Callable[[Key], Reporting],
    *,
    claim: Guarantee | None = None,
) -> Report:
    """Audit everything that leaves a client: the whole report of every round, bit and name, for values of every kind.

    Parameters
    ----------
    plan
        A stopper, or the plan of one.
    reporter_factory
        Called with a key; returns a new reporter that draws from it alone.
    claim
        What is claimed of a report; by default what the plan's integers promise.

    Raises
    ------
    ParameterError
        If nothing is claimed, an argument is of the wrong type, or the reporter cannot be followed.

    Examples
    --------
    >>> from streamlearn import audit
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.reporters import Reporter
    >>> stopper = LDPOptimalStopper([1.0, [0.0, 2.0, 3.0]], epsilon=2.0)
    >>> report = audit.exact_stopper(stopper, lambda key: Reporter(2.0, key=key))
    >>> report.verdict, report.bound <= 2.0
    ('holds', True)
    """
    subject = f"{type(plan).__name__} with its reporters"
    published = plan.plan if isinstance(plan, Stopper) else plan
    if not isinstance(published, ReportingPlan):
        raise ParameterError(
            f"plan must be a Stopper or a ReportingPlan, got {type(plan).__name__}; predictors are for exact"
        )
    promised = Guarantee.local(published.epsilon) if claim is None else claim
    if promised.notion != "local":
        raise ParameterError(
            f"claim must be of local privacy with a finite epsilon, got {promised}; nothing is promised to audit"
        )
    found = [_round(channel, reporter_factory, promised) for channel in _different(published)]
    worst = max(found, key=lambda report: (report.refuted, report.bound))
    checked = sum(report.size for report in found)
    return Report(
        subject=subject,
        claim=promised,
        method="exact",
        size=checked,
        counted=f"values in {len(found)} channels",
        measure=worst.measure,
        bound=worst.bound,
        fraction=worst.fraction,
        verdict=worst.verdict,
        finding=f"{worst.subject}: {worst.finding}",
    )


def _different(plan: ReportingPlan) -> list[Channel]:
    """Return the channels of a plan, one of those that differ in their round alone."""
    return list({(c.threshold, c.below, c.at, c.above): c for c in reversed(plan.channels)}.values())


def _round(channel: Channel, factory: Callable[[Key], Reporting], claim: Guarantee) -> Report:
    def answers(value: float, key: Key) -> Any:
        return factory(key).report(value=value, channel=channel, event_id="audited")

    laws = {name: law(answers, value) for name, value in values_for(channel).items()}
    return compared(laws, claim, f"round {channel.round}", (len(laws), "values"))
