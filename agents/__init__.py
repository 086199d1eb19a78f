"""What decides."""

from __future__ import annotations

from streamlearn.agents.candidate_replacement import CandidateReplacementPredictor
from streamlearn.agents.combine import Combine
from streamlearn.agents.mirror import Mirror
from streamlearn.agents.optimal import LDPOptimalStopper, OptimalStopper
from streamlearn.agents.private import PrivatePredictor
from streamlearn.agents.replacement import Replacement
from streamlearn.agents.single_threshold import SingleThresholdStopper
from streamlearn.agents.soa import SOA, SubsampledSOA
from streamlearn.agents.static import StaticStopper

__all__ = [
    "SOA",
    "CandidateReplacementPredictor",
    "Combine",
    "LDPOptimalStopper",
    "Mirror",
    "OptimalStopper",
    "PrivatePredictor",
    "Replacement",
    "SingleThresholdStopper",
    "StaticStopper",
    "SubsampledSOA",
]
