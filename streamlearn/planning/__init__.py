"""Plans: what a private predictor will do and what it promises, before it runs."""

from __future__ import annotations

from streamlearn.planning.asking import candidate_plan, private_plan
from streamlearn.planning.combination import Combination
from streamlearn.planning.paper import PaperPlan, paper_plan
from streamlearn.planning.plan import Plan

__all__ = ["Combination", "PaperPlan", "Plan", "candidate_plan", "paper_plan", "private_plan"]
