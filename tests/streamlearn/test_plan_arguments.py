"""Whatever is given to a plan or a predictor, an error names it, its bound and a remedy."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from planfields import HUGE, LOW, STRANGE, explicit

from streamlearn import Key
from streamlearn.accounting import combining
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor
from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses import Point3, Thresholds
from streamlearn.planning import candidate_plan, modes, paper_plan, private_plan
from streamlearn.planning.asking import check_target
from streamlearn.rounding import OUT_OF
from streamlearn.selection import scheme

KEY = Key.from_seed(1)


def asked(make, **fixed):
    return lambda **changes: make(**({"cls": Point3(), "epsilon": 8.0, "delta": 1e-2} | fixed | changes))


def built(make):
    usual = {"hypotheses": Point3(), "epsilon": 8.0, "delta": 1e-2, "key": KEY}
    return lambda **changes: make(**(usual | changes))


RULE = {
    "delay": lambda **changes: combining.smallest_delay(**({"epsilon": 4.0, "delta": 1e-2} | changes)),
    "delta": lambda **changes: combining.rule_delta(**({"D": 4, "epsilon": 1.0} | changes)),
    "epsilon": lambda **changes: combining.rule_epsilon(**({"D": 4, "delta": 1e-2} | changes)),
    "bound": lambda **changes: combining.expected_bound(**({"mistakes": 4, "D": 9} | changes)),
}
# What takes an argument, its name, and which of the strange ones it takes all the same.
ARGUMENTS = [
    *((explicit, name, ()) for name in ("epsilon", "eta", "batch", "acceptance", "beta")),
    (explicit, "ramp", (LOW,)),  # integers out of 2^64
    *((explicit, name, (None,)) for name in ("mode", "candidates", "delays")),
    (explicit, "max_delay", ()),
    *((asked(candidate_plan), name, ()) for name in ("cls", "epsilon", "delta", "max_delay")),
    *((asked(candidate_plan), name, (None,)) for name in ("mode", "beta")),
    *((asked(private_plan), name, ()) for name in ("cls", "epsilon", "delta", "max_delay", "split")),
    (asked(private_plan), "mode", (None,)),
    *(
        (asked(paper_plan), name, ())
        for name in ("cls", "epsilon", "delta", "sample_constant", "group_constant", "delay_constant")
    ),
    *(
        (built(agent), name, ())
        for agent in (CandidateReplacementPredictor, PrivatePredictor)
        for name in ("hypotheses", "epsilon", "delta", "max_delay")
    ),
    *((built(agent), "plan", (None,)) for agent in (CandidateReplacementPredictor, PrivatePredictor)),
    (RULE["delay"], "epsilon", (math.inf,)),
    (RULE["delay"], "delta", ()),
    (RULE["delay"], "max_delay", ()),
    (RULE["delta"], "D", ()),
    (RULE["delta"], "epsilon", (math.inf,)),
    (RULE["delta"], "max_delay", ()),
    (RULE["epsilon"], "D", ()),
    (RULE["epsilon"], "delta", ()),
    (RULE["epsilon"], "max_delay", ()),
    (RULE["bound"], "mistakes", (HUGE,)),
    (RULE["bound"], "D", ()),
    (RULE["bound"], "max_delay", ()),
]


@pytest.mark.parametrize(("make", "name", "taken"), ARGUMENTS)
def test_a_strange_argument_is_named_with_its_bound_and_a_remedy(make, name, taken):
    said = "cls" if name == "hypotheses" else name
    for value in STRANGE:
        if any(value is one for one in taken):
            make(**{name: value})
            continue
        with pytest.raises(ParameterError) as caught:
            make(**{name: value})
        text = str(caught.value)
        if value is None and "give epsilon and delta" in text:
            continue  # predictors may be given a plan in place of these
        assert re.match(f"{said} must |delay 1 must ", text), (value, text)
        assert "; " in text or said == "cls", (value, text)  # the remedy


@pytest.mark.parametrize("agent", [CandidateReplacementPredictor, PrivatePredictor])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_level_beside_a_plan_is_the_plans_own(agent, name):
    plan = (private_plan if agent is PrivatePredictor else candidate_plan)(Point3(), 1.0, 1e-2)
    own = getattr(plan, name)
    for value in (own, np.float64(own), None):
        assert getattr(agent(Point3(), plan=plan, key=KEY, **{name: value}), name) == own
    for value in STRANGE:
        if value is not None:
            with pytest.raises(ParameterError, match=rf"^{name} must be {own}, as the plan has it, got .*; "):
                agent(Point3(), plan=plan, key=KEY, **{name: value})
    with pytest.raises(ParameterError, match=r"^max_delay must be 0, as the plan has it, got 1; "):
        agent(Point3(), plan=plan, key=KEY, max_delay=1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.99e-3, 1e-3), (20.01, 1e-3), (1.0, 0.99e-15), (1.0, 0.1)])
@pytest.mark.parametrize("agent", [CandidateReplacementPredictor, PrivatePredictor])
def test_the_bounds_are_those_that_are_documented(agent, epsilon, delta):
    assert "0.001 <= ε <= 20 and 1e-15 <= δ < 1/10" in agent.__doc__
    with pytest.raises(
        ParameterError, match=r"must lie in \[(0.001, 20\] .*; try 1.0|1e-15, 1/10\) .*; try 1e-6)"
    ):
        agent(Point3(), epsilon, delta)


def test_the_bounds_themselves_are_within():
    for epsilon in (1e-3, 20.0):
        for delta in (1e-15, math.nextafter(0.1, 0.0)):
            check_target(Point3(), epsilon, delta)


def test_numpys_numbers_are_numbers():
    plain = explicit(candidates=1, delays=[63], max_delay=0)
    numpys = explicit(
        epsilon=np.float64(3.0), eta=np.float32(0.5), batch=np.int64(30), ramp=np.array([0.1, 0.5, 0.9]),
        acceptance=[*np.array(plain.acceptance[:-1], dtype=np.uint64), OUT_OF], beta=np.float64(1e-3),
        candidates=np.uint8(1), delays=np.array([63]), max_delay=np.int32(0),
    )  # fmt: skip
    assert numpys == plain
    assert numpys.to_json() == plain.to_json()
    half = np.array([2**62, 2**63], dtype=np.uint64)  # integers out of 2^64, as an array
    assert explicit(ramp=half, eta=np.int64(1)).ramp == (2**62, 2**63)
    usual = {"epsilon": np.int64(8), "delta": np.float64(1e-2), "max_delay": np.int64(0)}
    assert private_plan(Point3(), **usual) is private_plan(Point3(), 8.0, 1e-2)
    assert candidate_plan(Point3(), **usual, beta=np.float64(1e-2)) is candidate_plan(Point3(), 8.0, 1e-2)
    assert PrivatePredictor(Point3(), **usual).plan is private_plan(Point3(), 8.0, 1e-2)
    assert paper_plan(Point3(), np.int64(1), np.float64(1e-6), sample_constant=np.int64(1)) == paper_plan(
        Point3(), 1.0, 1e-6
    )
    assert RULE["delta"](D=np.int64(4), epsilon=np.float32(0.5), max_delay=np.int8(1)) == RULE["delta"](
        epsilon=0.5, max_delay=1
    )
    assert RULE["bound"](mistakes=np.int64(4), D=np.int64(9)) == 30


@pytest.mark.parametrize("make", [private_plan, candidate_plan])
@pytest.mark.parametrize(
    ("cls", "number"),
    [(Point3(), r"10\^990 mistakes, with 1,026"), (Thresholds(2**60 - 1), r"10\^\(10\^300\)")],
)
def test_the_papers_mode_is_refused_with_the_number(make, cls, number):
    with pytest.raises(SizeError, match=rf"^the paper's own plan cannot run: .*{number}.*; .*Plan\.explicit"):
        make(cls, 1.0, 1e-6, mode="paper")


@pytest.mark.parametrize("agent", [CandidateReplacementPredictor, PrivatePredictor])
def test_the_papers_plan_is_refused_with_its_number(agent):
    with pytest.raises(
        SizeError, match=r"10\^990 mistakes.*private_plan and candidate_plan make one that can"
    ):
        agent(Point3(), plan=paper_plan(Point3(), 1.0, 1e-6))
    with pytest.raises(
        ParameterError, match=r"^plan must be a Plan, got str; private_plan .*paper_plan states"
    ):
        agent(Point3(), plan="paper")


def test_a_scheme_is_made_once(monkeypatch):
    modes._made.cache_clear()
    asked_for = []
    monkeypatch.setattr(modes, "scheme", lambda *given: asked_for.append(given) or scheme(*given))
    cls = Thresholds(2)
    for _ in range(3):
        candidate_plan(cls, 8.0, 1e-2).certify(cls)
    assert asked_for == [(cls, None), (cls, "options")]
