"""A promise is a notion, two numbers and a unit, each within its bound."""

from __future__ import annotations

import math

import pytest

from streamlearn import Guarantee
from streamlearn.errors import ParameterError


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (Guarantee.local(1.0), "1-local differential privacy per report"),
        (Guarantee.local(0.25, unit="person"), "0.25-local differential privacy per person"),
        (Guarantee.local(0.0), "0-local differential privacy per report"),
        (Guarantee("joint", 0.5, 1e-6, "event"), "(0.5, 1e-06)-joint differential privacy per event"),
        (Guarantee("central", 2.0), "2-central differential privacy per report"),
        (Guarantee.none(), "no privacy guarantee"),
    ],
)
def test_a_guarantee_reads_as_a_sentence(guarantee, words):
    assert str(guarantee) == words


def test_infinite_epsilon_promises_nothing():
    assert Guarantee.local(math.inf) == Guarantee.none()
    assert Guarantee.none().notion == "none"
    assert (Guarantee.none().epsilon, Guarantee.none().delta) == (math.inf, 1.0)


def test_every_notion_says_what_cannot_be_told_apart():
    texts = {Guarantee(notion, 1.0).neighbours for notion in ("local", "joint", "central", "none")}
    assert len(texts) == 4
    assert "own round is left out" in Guarantee("joint", 1.0).neighbours


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, "1", None])
def test_epsilon_is_checked(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be"):
        Guarantee("local", epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1.0000001, math.nan])
def test_delta_is_a_probability(delta):
    with pytest.raises(ParameterError, match=r"delta must lie in \[0, 1\]"):
        Guarantee("joint", 1.0, delta)


def test_the_notion_is_one_of_four():
    with pytest.raises(ParameterError, match="notion must be one of local, joint, central, none"):
        Guarantee("secret", 1.0)


def test_a_guarantee_is_a_value():
    assert Guarantee.local(1.0) == Guarantee("local", 1.0)
    assert hash(Guarantee.local(1.0)) == hash(Guarantee("local", 1.0))
    with pytest.raises(AttributeError):
        Guarantee.local(1.0).epsilon = 0.5
