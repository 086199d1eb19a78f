"""The command line's notation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import priors
from streamlearn.errors import PriorError
from streamlearn.priors import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.7", priors.PointMass(0.7)),
        (" 1e3 ", priors.PointMass(1000.0)),
        ("uniform(0,1)", priors.Uniform(0, 1)),
        ("uniform(lower=0, upper=1)", priors.Uniform(0, 1)),
        ("UNIFORM ( 0 , 1 )", priors.Uniform(0, 1)),
        ("exponential(1)", priors.Exponential(1)),
        ("exponential(1, loc=2)", priors.Exponential(1, 2)),
        ("lognormal(0,0.5)", priors.LogNormal(0, 0.5)),
        ("pareto(2.5)", priors.Pareto(2.5)),
        ("pareto(2.5,minimum=2)", priors.Pareto(2.5, 2)),
        ("beta(2,5)", priors.Beta(2, 5)),
        ("gamma(2,1)", priors.Gamma(2, 1)),
        ("weibull(1.5)", priors.Weibull(1.5)),
        ("normal(1,1)", priors.TruncatedNormal(1, 1)),
        ("truncated_normal(1,1)", priors.TruncatedNormal(1, 1)),
        ("truncated_normal(1,1,0,inf)", priors.TruncatedNormal(1, 1)),
        ("truncated_normal(1,1,0.5,2)", priors.TruncatedNormal(1, 1, 0.5, 2)),
        ("discrete(0:0.9,5:0.1)", priors.Discrete([0, 5], [0.9, 0.1])),
        ("discrete( 0 : 0.9 , 5 : 0.1 )", priors.Discrete([0, 5], [0.9, 0.1])),
    ],
)
def test_terms(text, expected):
    assert parse(text) == [expected]
    assert parse(f"0.25, {text}; {text}") == [priors.PointMass(0.25), expected, expected]
    repeated = parse(f"3 * {text}")
    assert repeated == [expected] * 3
    assert repeated[0] is repeated[2]


def test_separators_and_repeats():
    expected = [priors.Uniform(0, 1)] * 2 + [
        priors.Discrete([0, 5], [0.5, 0.5]),
        *[priors.PointMass(0.7)] * 10,
    ]
    assert parse("2*uniform(0,1);discrete(0:.5,5:.5),10*0.7") == expected
    assert parse("2*uniform(0,1) ,\n discrete(0:.5,5:.5) ;\t10*0.7") == expected
    assert len(parse("100000*uniform(0,1)")) == 100_000


@given(st.lists(st.floats(0, 1e300, allow_nan=False), min_size=1))
def test_numbers_come_back(numbers):
    assert [law.mean for law in parse("; ".join(map(repr, numbers)))] == numbers


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "''"),
        ("0.7;;0.8", "''"),
        ("0.7,", "''"),
        ("unifrom(0,1)", "'unifrom.*there is no law 'unifrom'"),
        ("poisson(3)", "there is no law 'poisson'"),
        ("uniform(0)", "missing a required argument: 'upper' .its parameters are lower, upper"),
        ("uniform(0,1,2)", "too many positional arguments"),
        ("uniform(0,middle=1)", "missing a required argument: 'upper'"),
        ("uniform(0,1", "neither a number nor a law"),
        ("uniform", "'uniform' is not a number"),
        ("uniform(0,one)", "'one' is not a number"),
        ("uniform(0,nan)", "'nan' is not a number"),
        ("nan", "'nan' is not a number"),
        ("normal(1,1,0)", "too many positional arguments .its parameters are mean, sd"),
        ("0*0.7", "repeated 0 times"),
        ("-2*0.7", "neither a number nor a law"),
        ("9" * 5000 + "*0.7", "neither a number nor a law"),
        ("2.5*0.7", "neither a number nor a law"),
        ("2*3*0.7", "neither a number nor a law"),
        ("discrete()", "a discrete law is value:probability"),
        ("discrete(1)", "a discrete law is value:probability"),
        ("discrete(1:2:3)", "a discrete law is value:probability"),
        ("discrete(1:x)", "'x' is not a number"),
        ("__import__('os')", "neither a number nor a law|there is no law"),
        ("uniform(0,1).mean", "neither a number nor a law"),
    ],
)
def test_unreadable_terms_show_the_term_what_is_known_and_an_example(text, named):
    with pytest.raises(PriorError, match=named) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith("cannot read the prior ")
    assert "known laws: beta, discrete, exponential, gamma, lognormal, normal, pareto" in message
    assert "example: 10*uniform(0,1)" in message
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("1; uniform(1,0)", r"'uniform\(1,0\)': Uniform: lower must be < upper"),
        ("discrete(0:0.5)", r"'discrete\(0:0.5\)': Discrete: probabilities sum to 0.5"),
        ("inf", "'inf': PointMass: value must be finite"),
        ("10000001*0.7", "more than 10000000 stages"),
        ("6000000*0.7; 6000000*0.7", "more than 10000000 stages"),
        ("999999999*0.7", "more than 10000000 stages"),
    ],
)
def test_readable_but_unusable_terms_are_shown(text, named):
    with pytest.raises(PriorError, match=named):
        parse(text)


def test_only_text_is_parsed():
    with pytest.raises(PriorError, match="priors must be text, got list"):
        parse(["uniform(0,1)"])


def test_the_example_of_the_messages_reads():
    from streamlearn.priors.notation import EXAMPLE

    laws = parse(EXAMPLE)
    assert len(laws) == 13
    assert all(math.isfinite(law.mean) for law in priors.as_priors(laws))


@given(st.text(alphabet="0123456789.,;:*()=-+ enuifrmobtagpdsc_", max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        stages = parse(text)
    except PriorError:
        return
    assert stages
