"""What drives agents over streams and scores them."""

from __future__ import annotations

from streamlearn.policy import PolicyValue
from streamlearn.replays.policies import evaluate_policy
from streamlearn.replays.predicting import PredictionResult
from streamlearn.replays.replay import Step, replay, replay_many
from streamlearn.replays.results import Decision, Estimate, StoppingResult
from streamlearn.replays.scores import Interval
from streamlearn.replays.simulation import Simulation, simulate
from streamlearn.replays.streams import Episode, read_stream
from streamlearn.replays.streams import RecordedStream as RecordedStream

__all__ = [
    "Decision",
    "Episode",
    "Estimate",
    "Interval",
    "PolicyValue",
    "PredictionResult",
    "Simulation",
    "Step",
    "StoppingResult",
    "evaluate_policy",
    "read_stream",
    "replay",
    "replay_many",
    "simulate",
]
