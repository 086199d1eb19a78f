"""Candidate replacement as it is saved, and what a saved one must be to be taken on."""

from __future__ import annotations

from typing import Any

import msgspec

from streamlearn.agents.past import PastState
from streamlearn.agents.replacement import LinkState
from streamlearn.errors import StateError
from streamlearn.ordered import OrderedState
from streamlearn.planning import Plan


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


def check_possible(body: CandidateReplacementState, plan: Plan, chosen: int) -> None:
    """Refuse what no run that follows a plan, and has chosen so many candidates, can have saved.

    Raises
    ------
    StateError
        If so.
    """
    rounds = body.rounds.asked - len(body.rounds.waiting)
    if not 0 <= body.resolved <= rounds:
        raise _edited("resolved", f"between 0 and the {rounds} rounds whose labels have taken effect")
    if chosen > plan.candidates:
        raise _edited("selector", f"at most {plan.candidates} candidates after the first")
    _check_links(body, plan, chosen)
    times = [mistake.sequence for mistake in body.batch]
    if (
        len(times) >= plan.batch
        or times != sorted({*times})
        or not all(1 <= t <= body.resolved for t in times)
    ):
        raise _edited(
            "batch", f"fewer than {plan.batch} mistakes in order, each of a round that was resolved"
        )
    if any(not 1 <= t <= body.resolved for seen in body.past.seen for first in seen.first for t in first):
        raise _edited("past", f"times between 1 and {body.resolved}")


def _check_links(body: CandidateReplacementState, plan: Plan, chosen: int) -> None:
    numbers = [body.base, *(link.number for link in body.links)]
    if numbers != sorted({*numbers}) or not 0 <= numbers[0] <= numbers[-1] <= chosen:
        raise _edited("links", f"replacements in order, between base >= 0 and {chosen}")
    for link in body.links:
        counted = min(link.asked, plan.delays[link.number - 1])
        # Accepted at the last of the first D labels, and dropped where rejected: so accepted is never False.
        if (
            not 0 <= link.right <= link.resolved <= counted
            or not link.asked <= body.rounds.asked
            or link.accepted is False
            or (link.accepted is True) is not (link.resolved == plan.delays[link.number - 1])
        ):
            raise _edited("links", "counts that a replacement can have")


def check_memo(memo: Memo) -> Memo:
    """Return what was remembered of a round, if it can be.

    Raises
    ------
    StateError
        If it cannot.
    """
    for entry in memo.disagreements:
        if len(entry) != 3 or min(entry[:2]) < 1 or entry[2] not in {0, 1}:
            raise _edited("memo", "(replacement, disagreement, bit) for each disagreement")
    return memo


def _edited(name: str, expected: str) -> StateError:
    return StateError(f"saved {name} must hold {expected}; the state was edited, or another version wrote it")
