"""Candidate replacement as it is saved, and what a saved one must be to be taken on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import msgspec

from streamlearn.agents.past import Past, PastState
from streamlearn.agents.replacement import LinkState, check_counts
from streamlearn.hypotheses import HypothesisClass
from streamlearn.ordered import OrderedState
from streamlearn.planning import Plan
from streamlearn.rounds import edited
from streamlearn.selection import Candidate, Mistake


class Memo(msgspec.Struct, forbid_unknown_fields=True):
    """What is remembered of a round between its answer and its label.

    Parameters
    ----------
    answer
        The bit that was given.
    disagreements
        For each replacement in which the two predictors differed: its number, which disagreement it was, and the
        second predictor's bit (0 or 1).
    """

    answer: bool
    disagreements: list[list[int]]


class MistakeState(msgspec.Struct, forbid_unknown_fields=True):
    """A mistake of the newest candidate, as it is saved.

    Parameters
    ----------
    sequence, x, y
        As in :class:`~streamlearn.selection.Mistake`.
    """

    sequence: int
    x: Any
    y: bool


class CandidateReplacementState(msgspec.Struct, forbid_unknown_fields=True):
    """The whole state.

    Parameters
    ----------
    rounds
        The order of rounds and those that await their label.
    resolved
        Rounds of known instances whose labels have taken effect.
    base
        The number of the candidate that every replacement still open starts from.
    links
        The replacements still open, by number.
    batch
        The newest candidate's mistakes.
    past
        What is kept of the past.
    selector
        The candidates chosen so far.
    """

    rounds: OrderedState
    resolved: int
    base: int
    links: list[LinkState]
    batch: list[MistakeState]
    past: PastState
    selector: Any


def check_possible(
    body: CandidateReplacementState, plan: Plan, chosen: int, waiting: Sequence[Memo | None]
) -> None:
    """Refuse what no run that follows a plan, and has chosen so many candidates, can have saved.

    Parameters
    ----------
    body
        The state.
    plan
        The plan.
    chosen
        Candidates after the first.
    waiting
        What is remembered of the rounds whose labels have not taken effect.

    Raises
    ------
    StateError
        If so.
    """
    rounds = body.rounds.asked - len(body.rounds.waiting)
    if not 0 <= body.resolved <= rounds:
        raise edited(
            "resolved", f"at most the {rounds} rounds that took effect by rounds.asked and rounds.waiting"
        )
    if chosen > plan.candidates:
        raise edited("selector", f"at most {plan.candidates} candidates after the first")
    numbers = [body.base, *(link.number for link in body.links)]
    if numbers != sorted({*numbers}) or not 0 <= numbers[0] <= numbers[-1] <= chosen:
        raise edited("links", f"replacements in order, above base and up to the {chosen} of selector")
    pending = _pending(waiting, chosen)
    for link in body.links:
        indices = pending.get(link.number, [])
        if indices != list(range(link.asked - len(indices) + 1, link.asked + 1)):
            raise edited(
                "memo", f"the last disagreements of replacement {link.number} that links.asked counts"
            )
        if link.accepted is False:
            raise edited("links.accepted", "no rejected replacement")
        check_counts(link, plan.delays[link.number - 1], len(indices), body.resolved)
    if any(not 1 <= t <= body.resolved for seen in body.past.seen for first in seen.first for t in first):
        raise edited("past.first", f"times between 1 and the {body.resolved} of resolved")


def _pending(waiting: Sequence[Memo | None], chosen: int) -> dict[int, list[int]]:
    """Return which disagreements of each replacement await their label."""
    pending: dict[int, list[int]] = {}
    for memo in waiting:
        numbers = [number for number, _, _ in memo.disagreements] if memo else []
        if numbers != sorted({*numbers}) or any(number > chosen for number in numbers):
            raise edited("memo", f"replacements in order, up to the {chosen} of selector")
        for number, index, _ in memo.disagreements if memo else []:
            pending.setdefault(number, []).append(index)
    return pending


def check_past(
    past: Past, batch: Sequence[Mistake], resolved: int, newest: Candidate | None, hypotheses: HypothesisClass
) -> None:
    """Refuse a past and a batch that do not fit.

    Parameters
    ----------
    past, batch, resolved
        As saved.
    newest
        The newest candidate; None where no further one can come, so that nothing is kept.
    hypotheses
        The class.

    Raises
    ------
    StateError
        If so.
    """
    if newest is None:
        if len(past) or batch:
            raise edited("past and batch", "nothing where selector can choose no more")
        return
    if past.rounds != resolved:
        raise edited("past.counts", f"the {resolved} rounds of resolved")

    def described(mistake: Mistake) -> tuple[int, Hashable, bool]:
        known = hypotheses.knows(mistake.x)
        return mistake.sequence, hypotheses.identity(mistake.x) if known else None, mistake.y

    if [*map(described, batch)] != [*map(described, past.mistakes(newest))]:
        raise edited("batch", "the mistakes of the newest candidate that past.first holds")


def check_memo(memo: Memo) -> Memo:
    """Return what was remembered of a round, if it can be.

    Raises
    ------
    StateError
        If it cannot.
    """
    for entry in memo.disagreements:
        if len(entry) != 3 or min(entry[:2]) < 1 or entry[2] not in {0, 1}:
            raise edited("memo", "(replacement, disagreement, bit) for each disagreement")
    return memo
