"""What is promised, to whom, about what; what promises add up to; and who has spent how much."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from streamlearn.privacy.guarantees import Guarantee, Notion, Unit

if TYPE_CHECKING:
    from streamlearn.privacy.composition import compose as compose
    from streamlearn.privacy.ledgers import Budget as Budget
    from streamlearn.privacy.ledgers import Ledger as Ledger
    from streamlearn.privacy.spending import Answered as Answered
    from streamlearn.privacy.spending import Recorded as Recorded
    from streamlearn.privacy.theorems import convert as convert
    from streamlearn.privacy.theorems import group as group
    from streamlearn.privacy.theorems import subsample as subsample

_HOME = {
    "Answered": "spending",
    "Budget": "ledgers",
    "Ledger": "ledgers",
    "Recorded": "spending",
    "compose": "composition",
    "convert": "theorems",
    "group": "theorems",
    "subsample": "theorems",
}

__all__ = [
    "Answered",
    "Budget",
    "Guarantee",
    "Ledger",
    "Notion",
    "Recorded",
    "Unit",
    "compose",
    "convert",
    "group",
    "subsample",
]


def __getattr__(name: str) -> object:
    # Found on first use: every agent imports Guarantee, and the rest needs the accountants.
    if name in _HOME:
        return getattr(importlib.import_module(f"streamlearn.privacy.{_HOME[name]}"), name)
    raise AttributeError(f"module 'streamlearn.privacy' has no attribute {name!r}")
