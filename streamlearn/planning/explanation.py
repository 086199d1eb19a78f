"""A plan in words: every derived figure with its formula, and what is promised."""

from __future__ import annotations

import math
from typing import Any

from streamlearn.accounting.acceptance import mass
from streamlearn.planning.delays import schedule
from streamlearn.planning.plan import Plan
from streamlearn.rounding import OUT_OF


def explain(plan: Plan) -> str:
    """Return the explanation of a plan.

    Parameters
    ----------
    plan
        The plan.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning import candidate_plan
    >>> print(candidate_plan(Point3(), 1.0, 1e-3).explain().splitlines()[0])
    plan "tight" for Point3() (Littlestone dimension 1), mode options, labels at most 0 rounds late
    """
    lines = [
        (
            f'plan "{plan.kind}" for {plan.class_digest} (Littlestone dimension {plan.dimension}), mode {plan.mode}, '
            f"labels at most {plan.max_delay} rounds late"
        ),
        "",
        "promised",
        *(f"  {line}" for line in _promises(plan)),
        "",
        "figures",
        *(f"  {line}" for line in _formulas(plan)),
        "",
        _advice(plan),
    ]
    return "\n".join(lines)


def figures(plan: Plan) -> dict[str, Any]:
    """Return the derived figures by name.

    Parameters
    ----------
    plan
        The plan.
    """
    parts = plan.combination
    expected = plan.expected_mistakes
    found: dict[str, Any] = {
        "kind": plan.kind,
        "class": plan.class_digest,
        "dimension": plan.dimension,
        "mode": plan.mode,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "max_delay": plan.max_delay,
        "candidates": plan.candidates,
        "batch": plan.batch,
        "eta": plan.eta,
        "alpha": plan.alpha,
        "acceptance_width": plan.acceptance_width,
        "mirror_length": plan.mirror_length,
        "first_delay": plan.delays[0],
        "last_delay": plan.delays[-1],
        "beta": plan.beta,
        "cut_from": plan.cut_from,
        "mistake_bound": plan.mistake_bound,
        "expected_mistakes": None if expected is None or math.isinf(expected) else expected,
        "crossover": plan.crossover,
        "favoured": favoured(plan),
    }
    if parts is not None:
        found |= {
            "candidate_epsilon": parts.epsilon,
            "candidate_delta": parts.delta,
            "gamma": parts.gamma,
            "rule_epsilon": parts.rule_epsilon,
            "rule_delta": parts.rule_delta,
            "head_start": parts.head_start,
        }
    return found


def favoured(plan: Plan) -> str:
    """Return which bound is smaller: "candidate replacement" or "subsampled SOA" with γ = δ.

    Parameters
    ----------
    plan
        The plan.
    """
    ours = _ours(plan)
    return "candidate replacement" if ours is not None and ours < _rival(plan) else "subsampled SOA"


def _ours(plan: Plan) -> float | None:
    return plan.mistake_bound if plan.combination is None else plan.expected_mistakes


def _rival(plan: Plan) -> float:
    return plan.dimension * (1.0 / plan.delta + plan.max_delay)


def _promises(plan: Plan) -> list[str]:
    parts = plan.combination
    who = "candidate replacement" if parts is None else "its part candidate replacement"
    privacy = f"privacy: {plan.guarantee}, labels realisable or not"
    bound, expected = plan.mistake_bound, plan.expected_mistakes
    if bound is None or expected is None:
        return [
            privacy,
            (
                f"mistakes: no bound is promised: {plan.candidates:,} candidates of the {plan.cut_from:,} that mode "
                f"{plan.mode} takes"
            ),
        ]
    return [
        privacy,
        (
            f"mistakes: with probability 1 - β = 1 - {plan.beta:g}, {who} errs at most B = {bound:,} "
            "on a realisable stream of any length, fixed in advance"
        ),
        (
            "expected mistakes: no bound for all lengths (at most B + β·T in T rounds)"
            if parts is None
            else f"expected mistakes: at most {_number(expected)}, = 3(B + β·d·(1/γ + P)) + 2D + P"
        ),
    ]


def _formulas(plan: Plan) -> list[str]:
    n, late = plan.candidates, plan.max_delay
    b = mass(plan.acceptance, plan.alpha) / OUT_OF
    fails = "" if plan.cut_from else f", so that selection fails with probability at most β = {plan.beta:g}"
    lines = [
        f"N = {n:,} candidates after the public first one ({plan.mode})",
        f"η = {plan.eta:.6g}: a score one higher weighs e^η as much; K = {plan.batch:,} mistakes a batch{fails}",
        f"P = {late:,}, K' = K + P = {plan.batch + late:,}",
        (
            f"α = {plan.alpha:.6g}, b = {b:.4g}: neighbouring chances are "
            f"(α, b)-close; w = {plan.acceptance_width:,} steps, at best about (2/α)·ln(1 + (e^α - 1)/(2b))"
        ),
        (
            f"L = {plan.mirror_length:,} rounds of ramp, from p_1 = {plan.ramp[0] / OUT_OF:.4g} to 1 - "
            f"{(OUT_OF - plan.ramp[-1]) / OUT_OF:.4g}, certified"
        ),
        *_delays(plan),
    ]
    parts = plan.combination
    own_epsilon, own_delta = (plan.epsilon, plan.delta) if parts is None else (parts.epsilon, parts.delta)
    lines.append(
        f"candidate replacement is ({own_epsilon:.6g}, {own_delta:.4g})-private: log-moments of selection, "
        "N acceptances and N Mirrors add up to K(z), δ = min_z exp(K(z) - zε + z ln z - (1+z) ln(1+z)) "
        "+ 1 - ((1-b)(1-p_1))^N + the selection's own"
    )
    if parts is not None:
        lines += [
            (
                f"γ = {parts.gamma:.4g}: subsampled SOA is (0, γ)-private, errs at most d(1/γ + P) = "
                f"{_number(plan.dimension * (parts.mistakes_a_level + late))} times in expectation"
            ),
            (
                f"D = {parts.head_start:,}: head start of the combining rule, the least certified at "
                f"({parts.rule_epsilon:.6g}, {parts.rule_delta:.4g})"
            ),
            (
                f"ε = {parts.epsilon:.6g} + {parts.rule_epsilon:.6g}; δ = {parts.delta:.4g} + {parts.gamma:.4g} + "
                f"{parts.rule_delta:.4g}"
            ),
        ]
    return lines


def _delays(plan: Plan) -> list[str]:
    """Return D_1, D_N and B; a plan with explicit delays may wait longer than the formulas say."""
    n, late, width, length = plan.candidates, plan.max_delay, plan.acceptance_width, plan.mirror_length
    shortest = plan.delays == schedule(n, plan.batch, width, length, late)
    first, last = "2K' - 2 + w", "D_1 + (N-1)(2K' - 2 + w + L + P)"
    if shortest:
        lines = [f"D_1 = {first} = {plan.delays[0]:,}"]
        lines += [f"D_N = {last} = {plan.delays[-1]:,}"] * (n > 1)
    else:
        lines = [
            f"D_1 = {plan.delays[0]:,} to D_N = {plan.delays[-1]:,}, as given: none shorter than Claim 1 allows"
        ]
    if plan.mistake_bound is not None:
        formula = "K' - 1 + D_N + P + L" + " = K' - 1 + N(2K' - 2 + w + L + P)" * shortest
        lines.append(f"B = {formula} = {plan.mistake_bound:,}")
    return lines


def _advice(plan: Plan) -> str:
    ours, what = _ours(plan), "B" if plan.combination is None else "expected"
    own = "no bound" if ours is None else f"{what} {_number(ours)}"
    line = (
        f"favoured here: {favoured(plan)} ({own}; subsampled SOA alone with γ = δ: d(1/δ + P) = "
        f"{_number(_rival(plan))} expected)"
    )
    if plan.crossover is None:
        return line
    return f"{line}; for δ above about {plan.crossover:.1g}, subsampled SOA alone is the better choice"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e15 else f"{value:.4g}"
