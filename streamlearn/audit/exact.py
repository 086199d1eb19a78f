"""Exact audits of channels and of mechanisms with small laws."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

from streamlearn.audit.branching import law
from streamlearn.audit.divergence import Law, exp_below, hockey_stick, log_above, worst_ratio
from streamlearn.audit.report import Report, written
from streamlearn.channels import OUT_OF, Channel
from streamlearn.errors import ParameterError
from streamlearn.privacy import Guarantee, Notion
from streamlearn.randomness import Key
from streamlearn.rounding import check_epsilon, float_above


def exact_channel(channel: Channel, epsilon: float | None = None) -> Report:
    """Audit the integers of a channel: the worst ratio of chances over below, at and above, for both bits.

    Parameters
    ----------
    channel
        The channel.
    epsilon
        What is claimed of it; by default what it says itself, ``channel.epsilon``.

    Raises
    ------
    ParameterError
        If ``channel`` is none, or ε no privacy level.

    Examples
    --------
    >>> from streamlearn import Channel, audit
    >>> audit.exact_channel(Channel.randomized_response(1, 0.5, 1.1), epsilon=1.0).verdict
    'refuted'
    """
    if not isinstance(channel, Channel):
        raise ParameterError(
            f"channel must be a Channel, got {type(channel).__name__}; take it from a stopper or a plan"
        )
    claim = claim_of(channel.epsilon if epsilon is None else epsilon, 0.0, "local")
    laws: dict[str, Law] = {}
    for name in ("below", "at", "above"):
        one = Fraction(getattr(channel, name), OUT_OF)
        laws[f"a value {name} the threshold"] = {1: one, 0: 1 - one}
    return compared(laws, claim, f"channel of round {channel.round}", (3, "kinds of value"))


def exact_mechanism(
    mechanism: Callable[[Any, Key], Hashable],
    inputs: Sequence[Any],
    *,
    epsilon: float,
    delta: float = 0.0,
    subject: str = "mechanism",
    notion: Notion = "central",
) -> Report:
    """Audit a mechanism exactly: all outcomes of all its draws, for any two of some inputs that are neighbours.

    Parameters
    ----------
    mechanism
        Called as ``mechanism(given, key)``; it draws from the key alone and returns something hashable, which is all
        that an observer sees.
    inputs
        Two or more, any two of which are neighbours.
    epsilon, delta
        What is claimed, 0 <= ε <= ∞ and 0 <= δ <= 1.
    subject
        What the report calls it.
    notion
        Of what kind the claim is: ``"local"``, ``"joint"`` or ``"central"``.

    Raises
    ------
    ParameterError
        If the mechanism cannot be followed, or another argument is outside its bound.
    SizeError
        If its draws have too many outcomes.

    Examples
    --------
    >>> from streamlearn import Key, audit
    >>> def careless(bit, key):  # 3/4 is more than e/(1 + e)
    ...     return bit if key.uniform64("truth", 1) / 2**64 < 0.75 else 1 - bit
    >>> report = audit.exact_mechanism(careless, [0, 1], epsilon=1.0)
    >>> report.verdict, round(report.bound, 4)
    ('refuted', 1.0986)
    """
    inputs = list(inputs)
    if len(inputs) < 2:
        raise ParameterError(f"inputs must be two or more, got {len(inputs)}; give two that are neighbours")
    claim = claim_of(epsilon, delta, notion)
    laws = {f"input {place}": law(mechanism, given) for place, given in enumerate(inputs)}
    return compared(laws, claim, subject, (len(inputs) * (len(inputs) - 1), "pairs of inputs"))


def compared(laws: dict[str, Law], claim: Guarantee, subject: str, looked_at: tuple[int, str]) -> Report:
    """Return the report of some laws any two of which are neighbours.

    Parameters
    ----------
    laws
        By the names of their inputs.
    claim
        What is claimed.
    subject
        What the report calls it.
    looked_at
        How much, and of what.
    """
    level = exp_below(claim.epsilon)
    pure = claim.delta == 0.0
    found: dict[tuple[str, str], Fraction | None] = {
        (one, other): worst_ratio(laws[one], laws[other])
        if pure
        else hockey_stick(laws[one], laws[other], level)
        for one, other in itertools.permutations(laws, 2)
    }
    where, worst = max(found.items(), key=lambda entry: _rank(entry[1]))
    if pure:
        kept = level is None or (worst is not None and worst <= level)
    else:
        kept = worst is not None and worst <= Fraction(claim.delta)
    return Report(
        subject=subject,
        claim=claim,
        method="exact",
        size=looked_at[0],
        counted=looked_at[1],
        measure="epsilon" if pure else "delta",
        bound=log_above(worst) if pure else float_above(worst or Fraction(0)),
        fraction=written(worst),
        verdict="holds" if kept else "refuted",
        finding=f"{where[0]} against {where[1]}",
    )


def _rank(found: Fraction | None) -> tuple[bool, Fraction]:
    return found is None, Fraction(0) if found is None else found


def claim_of(epsilon: object, delta: object, notion: Notion) -> Guarantee:
    """Return what is claimed of one report (notion "local") or event.

    Parameters
    ----------
    epsilon, delta, notion
        Of the claim.

    Raises
    ------
    ParameterError
        If one is outside its bound.

    Examples
    --------
    >>> from streamlearn.audit.exact import claim_of
    >>> str(claim_of(1.0, 0.25, "central"))
    '(1, 0.25)-central differential privacy per event'
    """
    level = check_epsilon(epsilon)
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0.0 <= delta <= 1.0:
        raise ParameterError(f"delta must be a number in [0, 1], got {delta!r}; 0 claims pure privacy")
    return Guarantee(notion, level, float(delta), "report" if notion == "local" else "event")
