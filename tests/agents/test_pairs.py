"""Parts of two: a stranger's error comes through and changes nothing; odd arguments get one clear error."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from river.base import Classifier
from river.linear_model import LogisticRegression
from river.preprocessing import StandardScaler

from streamlearn import Key, state
from streamlearn.agents import SOA, Combine, PrivatePredictor, SubsampledSOA
from streamlearn.agents.mirror import Mirror
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import Point3, Stumps

STUMPS = Stumps({"a": [0.5, 1.5]})
KEY = Key.from_seed(9)
ODD = {"a": "no number"}


class Sulky(Classifier):
    """Says no, and takes no label where it is told so."""

    def predict_one(self, x):  # noqa: ARG002
        return False

    def learn_one(self, x, y):  # noqa: ARG002
        if x == ODD:
            raise ArithmeticError


def ours():
    return SubsampledSOA(STUMPS, 0.5, KEY.derive("ours"))


def pipeline():
    return StandardScaler() | LogisticRegression()


PAIRS = {
    "stranger first": lambda: (pipeline(), ours()),
    "stranger second": lambda: (ours(), pipeline()),
    "two strangers": lambda: (pipeline(), Sulky()),
}


def seen(agent):
    """All that may change."""
    return pickle.dumps((agent.__dict__, [part.__dict__ for part in (agent.first, agent.second)]))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("late", [0, 2])
def test_a_strangers_error_comes_through_and_nothing_has_changed(name, late):
    agent = Combine(*PAIRS[name](), D=2, key=KEY, max_delay=late)
    for t in range(20):
        agent.predict_one({"a": t % 3}, round=t)
        if t < 20 - late - 1:
            agent.learn_one({"a": t % 3}, t % 3 == 0, round=t)
    assert len(agent._waiting) == late + 1  # so that the next round gives one up
    agent = copy.deepcopy(agent)
    before = seen(agent)
    for _ in range(2):
        with pytest.raises(TypeError):
            agent.predict_one(ODD, round=20)
        assert seen(agent) == before
    for t in range(20 - late - 1, 20):
        agent.learn_one({"a": t % 3}, True, round=t)
    before = seen(agent)
    for call in (lambda: agent.predict_one(ODD), lambda: agent.learn_one(ODD, True)):
        with pytest.raises(TypeError):
            call()
        assert seen(agent) == before
    agent.learn_one({"a": 1}, True)


@pytest.mark.parametrize("parts", [(ours, Sulky), (Sulky, ours)])
@pytest.mark.parametrize("numbered", [{}, {"round": 7}])
def test_one_that_takes_no_label_leaves_the_others_untaught(parts, numbered):
    agent = Combine(*(make() for make in parts), D=2, key=KEY)
    agent.predict_one(ODD, **numbered)
    before = seen(agent)
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            agent.learn_one(ODD, True, **numbered)
        assert seen(agent) == before


def predictors():
    return [
        Combine(SOA(STUMPS), ours(), D=4, key=KEY),
        SOA(STUMPS),
        PrivatePredictor(Point3(), 5.0, 0.01, key=KEY),
    ]


@pytest.mark.parametrize(
    "given", [{"D": 5}, {"hypotheses": Point3()}, {"nope": 1}, {1: 2}, 5, None, [("D", 5)]]
)
def test_nothing_is_changed_in_place(given):
    for agent in predictors():
        before = state.dumps(agent)
        with pytest.raises(ParameterError, match="new_attrs"):
            agent.mutate(given)
        agent.mutate({})
        assert state.dumps(agent) == before


@pytest.mark.parametrize("given", [{"nope": 1}, {1: 2}, 5, [("D", 5)]])
def test_a_clone_has_the_parameters_there_are(given):
    for agent in predictors():
        with pytest.raises(ParameterError, match="new_params"):
            agent.clone(given)


def test_a_clone_with_other_parameters():
    agent = predictors()[0]
    assert agent.clone({"D": 5}).delay == 5
    assert agent.clone().delay == agent.clone({}).delay == 4
    for wrong in ("x", 0, None, math.nan):
        with pytest.raises(ParameterError):
            agent.clone({"D": wrong})


@pytest.mark.parametrize("odd", [None, math.nan, math.inf, "1", -1, True, 1.0, [1], {}, object()])
def test_a_mirror_names_what_it_cannot_use(odd):
    mirror = Mirror.from_ramp([0.25, 0.75], delay=1)
    for name, call in {
        "index": lambda: mirror.below(odd),
        "index must": lambda: mirror.answer(odd, KEY, "mirror", 1),
        "sequence": lambda: mirror.answer(2, KEY, "mirror", odd),
        "key": lambda: mirror.answer(2, odd, "mirror", 1),
        "purpose": lambda: mirror.answer(2, KEY, 7 if odd == "1" else odd, 1),
    }.items():
        with pytest.raises(ParameterError, match=f"^{name}"):
            call()
    assert mirror.below(10**400) == 2**64
    assert mirror.answer(10**400, KEY, "mirror", 10**400) is True
