"""What drives agents over streams and scores them."""

from __future__ import annotations

from streamlearn.policy import PolicyValue
from streamlearn.replays.examples import RecordedExamples, read_examples
from streamlearn.replays.games import OnlineLearner
from streamlearn.replays.policies import evaluate_policy
from streamlearn.replays.predictions import PredictionResult
from streamlearn.replays.replay import replay, replay_many
from streamlearn.replays.results import Decision, Estimate, StoppingResult
from streamlearn.replays.scores import Interval
from streamlearn.replays.simulation import Simulation, simulate
from streamlearn.replays.stopping import Step
from streamlearn.replays.streams import Episode, read_stream
from streamlearn.replays.streams import RecordedStream as RecordedStream

__all__ = [
    "Decision",
    "Episode",
    "Estimate",
    "Interval",
    "OnlineLearner",
    "PolicyValue",
    "PredictionResult",
    "RecordedExamples",
    "Simulation",
    "Step",
    "StoppingResult",
    "evaluate_policy",
    "read_examples",
    "read_stream",
    "replay",
    "replay_many",
    "simulate",
]
