"""Whether a plan keeps what it promises: every field is checked, and a refusal names it, its bound and a remedy.

Proof: ``plan.proof.md`` beside this file.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from streamlearn.accounting.combining import rule_delta
from streamlearn.errors import ParameterError, PlanError, SizeError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.planning.certificate import candidate_delta, mass_apart
from streamlearn.planning.delays import check_delays
from streamlearn.planning.modes import full_count, scheme_for
from streamlearn.planning.numbers import LEAST_BETA, check_numbers, demand

if TYPE_CHECKING:
    from streamlearn.planning.combination import Combination
    from streamlearn.planning.plan import Plan
    from streamlearn.selection import Scheme

_SLACK = 1.0 + 1e-9
"""For sums of doubles in another order."""


def certify(plan: Plan, hypotheses: HypothesisClass) -> None:
    """Check that a plan keeps what it promises, as :meth:`Plan.certify` documents it."""
    check_numbers(plan)
    used = _scheme(plan, hypotheses)
    _check_fit(plan, hypotheses, used)
    own, parts = _own_delta(plan, used), plan.combination
    if parts is None:
        _demand_kept(plan, used, "delta", plan.delta, own)
        return
    _check_sums(plan, parts)
    _demand_kept(plan, used, "combination.delta", parts.delta * _SLACK, own)
    rule = rule_delta(parts.head_start, parts.rule_epsilon, plan.max_delay)
    demand(
        rule <= parts.rule_delta * _SLACK,
        "combination.rule_delta",
        f"be at least {rule:.6g}",
        parts.rule_delta,
        f"the rule keeps only that at combination.rule_epsilon = {parts.rule_epsilon:g} with "
        f"combination.head_start = {parts.head_start} and max_delay = {plan.max_delay}",
    )
    whole = _whole_delta(own, parts, rule)
    demand(whole <= plan.delta, "delta", f"be at least {whole:.9g}, all that its parts keep", plan.delta)


def certified_delta(plan: Plan, hypotheses: HypothesisClass) -> float:
    """Return a δ that a plan keeps, as :meth:`Plan.certified_delta` documents it; 1 where a part breaks its promise."""
    parts, own = plan.combination, _own_delta(plan, _scheme(plan, hypotheses))
    if parts is None:
        return own
    if _spent_epsilon(parts) > Fraction(plan.epsilon) or _spent_delta(parts) > Fraction(plan.delta):
        return 1.0
    rule = rule_delta(parts.head_start, parts.rule_epsilon, plan.max_delay)
    if own > parts.delta * _SLACK or rule > parts.rule_delta * _SLACK:
        return 1.0
    return _whole_delta(own, parts, rule)


def _whole_delta(own: float, parts: Combination, rule: float) -> float:
    """Return the δ of all parts, rounded up to the next double: the sum of three is within two roundings."""
    return min(1.0, (own + parts.gamma + rule) * (1.0 + 1e-15))


def _own_delta(plan: Plan, used: Scheme) -> float:
    """Return the δ of candidate replacement alone, at its ε."""
    return candidate_delta(
        used,
        epsilon=plan.epsilon if plan.combination is None else plan.combination.epsilon,
        eta=plan.eta,
        batch=plan.batch,
        alpha=plan.alpha,
        acceptance=plan.acceptance,
        ramp=plan.ramp,
        orders=np.array([plan.order]),
    ).delta


def _demand_kept(plan: Plan, used: Scheme, name: str, stated: float, kept: float) -> None:
    if kept <= stated:
        return
    apart = mass_apart(used, plan.alpha, plan.acceptance, plan.ramp)
    excess = min(1.0, used.excess_delta(plan.eta, plan.batch))
    epsilon = plan.epsilon if plan.combination is None else plan.combination.epsilon
    demand(
        False,
        name,
        f"be at least {kept:.6g}" if kept < 1.0 else "be kept, and no δ below 1 is",
        stated,
        f"at ε = {epsilon:g} acceptance (at alpha) and the ends of ramp cost {apart:.3g} of it, eta and batch "
        f"{excess:.3g}, and the log-moments of candidates, eta, alpha and ramp at order = {plan.order:.6g} "
        f"{max(0.0, kept - apart - excess):.3g}",
    )


def _check_sums(plan: Plan, parts: Combination) -> None:
    demand(
        _spent_epsilon(parts) <= Fraction(plan.epsilon),
        "combination.epsilon + combination.rule_epsilon",
        f"be at most epsilon = {plan.epsilon!r}",
        float(_spent_epsilon(parts)),
    )
    demand(
        _spent_delta(parts) <= Fraction(plan.delta),
        "combination.delta + combination.gamma + combination.rule_delta",
        f"be at most delta = {plan.delta!r}",
        float(_spent_delta(parts)),
    )


def _spent_epsilon(parts: Combination) -> Fraction:
    return Fraction(parts.epsilon) + Fraction(parts.rule_epsilon)


def _spent_delta(parts: Combination) -> Fraction:
    return Fraction(parts.delta) + Fraction(parts.gamma) + Fraction(parts.rule_delta)


def _check_fit(plan: Plan, hypotheses: HypothesisClass, used: Scheme) -> None:
    """Refuse a plan whose shape or failure probability are not what the class and the proof ask for."""
    full, own = full_count(hypotheses, used.mode), hypotheses.dimension
    demand(plan.dimension == own, "dimension", f"be {own}, that of {hypotheses.digest}", plan.dimension)
    demand(
        plan.candidates <= full,
        "candidates",
        f"be at most {full}",
        plan.candidates,
        f"mode {plan.mode} takes no more for {hypotheses.digest}",
    )
    cut = full if plan.candidates < full else None
    demand(
        plan.cut_from == cut,
        "cut_from",
        f"be {'null' if cut is None else cut}",
        plan.cut_from,
        f"candidates is {plan.candidates}, and mode {plan.mode} takes {full}",
    )
    try:
        check_delays(
            plan.delays,
            plan.candidates,
            plan.batch,
            plan.acceptance_width,
            plan.mirror_length,
            plan.max_delay,
        )
    except ParameterError as error:
        raise PlanError(f"the plan's delays cannot be used: {error}") from None
    if cut is not None or plan.beta >= 1.0:
        return  # nothing is promised of mistakes
    demand(plan.beta >= LEAST_BETA, "beta", f"be at least {LEAST_BETA:g}", plan.beta)
    needed = used.batch(plan.eta, plan.beta)
    demand(
        plan.batch >= needed,
        "batch",
        f"be at least {needed}",
        plan.batch,
        f"with eta = {plan.eta:g} smaller ones fail more often than beta = {plan.beta:g}",
    )


def _scheme(plan: Plan, hypotheses: HypothesisClass) -> Scheme:
    check_class(hypotheses)
    if hypotheses.digest != plan.class_digest:
        raise PlanError(
            f"the plan is for {plan.class_digest}, its class_digest, and not for {hypotheses.digest}; give that class, "
            "or make a plan for this one"
        )
    try:
        return scheme_for(hypotheses, plan.mode, plan.candidates)
    except (ParameterError, SizeError) as error:
        raise PlanError(f"the plan's mode cannot be used: {error}") from None
