"""Every public agent passes our own checks, and every predictor river's."""

from __future__ import annotations

import numpy as np
import pytest
from instances import UNIFORMS, mixed
from river.checks import yield_checks as rivers_checks

from streamlearn import Key, agents, checks, hypotheses, priors, rounds
from streamlearn.base import Agent, Stopper
from streamlearn.planning import Plan
from streamlearn.prediction import Predictor

KEY = Key.from_seed(3)
PUBLIC = {
    name: it
    for name in agents.__all__
    if isinstance(it := getattr(agents, name), type) and issubclass(it, Agent)
}
PREDICTORS = {name: it for name, it in PUBLIC.items() if issubclass(it, Predictor)}

CLASSES = [
    hypotheses.Points(domain=6),
    hypotheses.Points(),
    hypotheses.Thresholds(2**60),
    hypotheses.Intervals(9),
    hypotheses.SingletonsOrEmpty(domain=4),
    hypotheses.Conjunctions(["a", "b", "c"], 2),
    hypotheses.Stumps({"a": [0.5, 1.5], "b": [1.0]}),
    hypotheses.Finite(np.eye(4, dtype=bool), domain=["p", "q", "r", "s"]),
]
PEOPLE = {
    "uniforms": UNIFORMS,
    "mixed": mixed(),
    "worthless": [0.0, 0.0, 0.0],  # nobody is worth taking: the horizon is reached
    "fading": [priors.Discrete([0.0, 1.0], [0.5, 0.5]), priors.Discrete([0.0, 1.0], [0.9, 0.1]), 0.0],
    "one": [0.5],
    "logs": [np.array([0.25, 0.75]), np.array([0.5, 1.0])],
}


def small_plan(cls, max_delay=20):
    """A plan so short that candidates take over within a check's stream."""
    shape = {
        "eta": 2.0,
        "batch": 2,
        "ramp": [0.3, 0.7],
        "acceptance": [0.0, 0.5, 1.0],
        "beta": 1.0,
        "max_delay": max_delay,
    }
    return Plan.explicit(cls, epsilon=5.0, **shape)


def patient(max_delay):
    """The predictors whose labels may be so late."""
    stumps = hypotheses.Stumps({"a": [0.5, 1.5], "b": [1.0]})
    first, second = agents.SOA(stumps), agents.SubsampledSOA(stumps, 0.3, KEY.derive("second"))
    parts = {"first": first, "second": second, "key": KEY, "max_delay": max_delay}
    cube = hypotheses.Finite(np.eye(4, dtype=bool))
    planned = {"hypotheses": cube, "plan": small_plan(cube, max_delay), "key": KEY, "max_delay": max_delay}
    whole = {
        "hypotheses": hypotheses.Point3(),
        "epsilon": 5.0,
        "delta": 0.01,
        "key": KEY,
        "max_delay": max_delay,
    }
    return [
        (agents.Combine, parts | {"D": 2}),
        (agents.Replacement, parts | {"batch": 2, "epsilon": 8.0, "delta": 0.09}),
        (agents.CandidateReplacementPredictor, planned),
        (agents.PrivatePredictor, whole),
    ]


MORE = [
    *(case for max_delay in (0, 1, 3, 16) for case in patient(max_delay)),
    *((agents.SOA, {"hypotheses": it}) for it in CLASSES),
    *((agents.SubsampledSOA, {"hypotheses": it, "gamma": 0.3, "key": KEY}) for it in CLASSES),
    (agents.SubsampledSOA, {"hypotheses": hypotheses.Thresholds(9), "gamma": 1.0}),
    (agents.SubsampledSOA, {"hypotheses": hypotheses.Thresholds(9), "gamma": 1e-9}),
    *(
        (
            agents.CandidateReplacementPredictor,
            {"hypotheses": it, "plan": small_plan(it), "key": KEY, "max_delay": 20},
        )
        for it in CLASSES
    ),
    *(
        (cls, {"priors": people} | more)
        for people in PEOPLE.values()
        for cls, more in [
            (agents.LDPOptimalStopper, {"epsilon": 1.0}),
            (agents.LDPOptimalStopper, {"epsilon": 0.0}),
            (agents.LDPOptimalStopper, {"epsilon": [0.5 + i for i in range(len(people))]}),
            (agents.OptimalStopper, {}),
            (agents.StaticStopper, {"epsilon": 1.0}),
            (agents.StaticStopper, {"epsilon": 2.0, "threshold": 0.25}),
            (agents.SingleThresholdStopper, {"epsilon": 1.0}),
            (agents.SingleThresholdStopper, {"epsilon": 0.5, "threshold": "optimal"}),
        ]
    ),
]


def _named_parameters(cls):
    """Return the sets of arguments a class is checked with: its own, else those of MORE."""
    own = (
        []
        if cls._unit_test_params.__func__ is Agent._unit_test_params.__func__
        else list(cls._unit_test_params())
    )
    return own + [given for other, given in MORE if other is cls]


CONFIGURED = [(cls, given) for cls in PUBLIC.values() for given in _named_parameters(cls)]


@pytest.fixture(autouse=True)
def _small_cap(monkeypatch):
    """So that memory is soon seen to be bounded: the real cap has its own test below."""
    monkeypatch.setattr(rounds, "MOST_PENDING", 1_000)


def test_no_public_agent_is_left_out():
    assert {cls for cls, _ in CONFIGURED} == set(PUBLIC.values())
    assert all(issubclass(cls, Predictor | Stopper) for cls in PUBLIC.values())
    assert len(PUBLIC) >= 6


@pytest.mark.parametrize(
    ("cls", "given"), CONFIGURED, ids=[f"{cls.__name__}-{i}" for i, (cls, _) in enumerate(CONFIGURED)]
)
def test_every_public_agent_conforms(cls, given):
    checks.check_agent(cls(**given))


@pytest.mark.parametrize("cls", PREDICTORS.values(), ids=PREDICTORS.keys())
def test_rivers_own_checks(cls):
    for given in cls._unit_test_params():
        model = cls(**given)
        for check in rivers_checks(model):
            if check.__name__ not in model._unit_test_skips():
                check(model.clone())


def test_labels_that_never_come_fill_no_memory_at_the_real_cap(monkeypatch):
    monkeypatch.undo()
    agent = agents.SOA(hypotheses.Point3())
    names = {check.__name__: check for check in checks.yield_checks(agent)}
    names["check_missing_labels_fill_no_memory"](agent)
