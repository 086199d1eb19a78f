"""The person's side: what randomises a private value before anybody sees it.

Proof: ``reporter.proof.md`` beside this file. Clients in other languages: ``docs/plan-format.md``.
"""

from __future__ import annotations

from streamlearn.plans import ReportingPlan
from streamlearn.reporters.ledger import Ledger
from streamlearn.reporters.reporter import Reporter

__all__ = ["Ledger", "Reporter", "ReportingPlan"]
