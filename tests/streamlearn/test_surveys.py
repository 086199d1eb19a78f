"""Surveys: who is asked what, and the law that counts of bits tell of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Channel, Key, Report, rounding
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError, ReportError
from streamlearn.surveys import Survey

MANY = 10**15


def counts_of(survey, survival, answers=MANY):
    """The expected counts, to a person: what a survey of so many would find."""
    channel = survey.plan[1]
    below, above = channel.below / OUT_OF, channel.above / OUT_OF
    ones = [round(answers * (below + (above - below) * reach)) for reach in survival]
    return [answers] * len(ones), ones


def closest_falling(shares, weights):
    """Weighted isotonic regression by its max-min formula, then clipped."""

    def mean(first, last):
        run = slice(first, last + 1)
        return float(np.dot(shares[run], weights[run]) / np.sum(weights[run]))

    k = len(shares)
    fitted = [max(min(mean(s, t) for s in range(j + 1)) for t in range(j, k)) for j in range(k)]
    return np.clip(fitted, 0.0, 1.0)


# --- the questions


def test_questions_are_randomised_responses_at_equal_distances():
    survey = Survey(1.0, 3.0, epsilon=0.7, thresholds=3)
    assert survey.thresholds.tolist() == [1.5, 2.0, 2.5]
    assert survey.plan.channels == tuple(Channel.randomized_response(j, 1.0 + j / 2, 0.7) for j in (1, 2, 3))
    assert survey.guarantee.epsilon == survey.plan.epsilon <= 0.7
    for channel in survey.plan:
        assert rounding.keeps(channel.below, channel.above, 0.7)


def test_32_questions_by_default():
    assert len(Survey(0.0, 1.0, 1.0).plan) == 32


def test_a_question_depends_on_name_and_key_alone():
    survey, same, other = Survey(0, 1, 1.0), Survey(0, 9, 2.0), Survey(0, 1, 1.0, key=Key.from_seed(5))
    names = [f"person {i}" for i in range(200)]
    asked = [survey.question(name) for name in names]
    assert asked == [same.question(name) for name in names]
    assert asked != [other.question(name) for name in names]
    assert survey.channel(names[0]) == survey.plan[asked[0]]
    assert survey.question(17) == survey.question("17")


def test_questions_are_shared_out_evenly():
    # Hoeffding over the 8 counts: further off with probability below 1e-6.
    survey = Survey(0.0, 1.0, 1.0, thresholds=8)
    counts = np.bincount([survey.question(i) for i in range(8000)], minlength=9)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 1000).max() < math.sqrt(8000 * math.log(16 / 1e-6) / 2)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"low": -1.0}, "low"),
        ({"low": 2.0, "high": 2.0}, "low"),
        ({"high": math.inf}, "high"),
        ({"high": math.nan}, "high"),
        ({"high": "1"}, "high"),
        ({"high": True}, "high"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"thresholds": 0}, "thresholds"),
        ({"thresholds": 2.0}, "thresholds"),
        ({"thresholds": 10**6}, "thresholds"),
        ({"low": 1.0, "high": math.nextafter(1.0, 2.0)}, "thresholds"),
        ({"key": 3}, "key"),
    ],
)
def test_arguments_outside_their_bounds(arguments, what):
    with pytest.raises(ParameterError, match=what):
        Survey(**{"low": 0.0, "high": 1.0, "epsilon": 1.0} | arguments)


def test_nobody_has_half_a_character():
    with pytest.raises(ReportError, match="surrogate"):
        Survey(0.0, 1.0, 1.0).question("\ud800")


# --- the fit


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, math.inf])
def test_expected_counts_give_the_law_back(epsilon):
    survey = Survey(0.0, 4.0, epsilon, thresholds=3)
    fit = survey.fit_counts(*counts_of(survey, [0.9, 0.4, 0.1]))
    assert fit.survival == pytest.approx([0.9, 0.4, 0.1], abs=1e-13)
    assert fit.prior.atoms.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert fit.prior.probs == pytest.approx([0.1, 0.5, 0.3, 0.1], abs=1e-13)
    assert fit.prior.mean == pytest.approx(
        0.5 + 0.9 + 0.4 + 0.1, abs=1e-12
    )  # the trapezoid rule for ∫ P(X >= t)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=9),
    st.sampled_from([0.5, 2.0, math.inf]),
)
def test_the_fit_is_the_closest_falling_one(counts, epsilon):
    answers = [asked for asked, _ in counts]
    ones = [min(pair) for pair in counts]
    survey = Survey(0.0, 1.0, epsilon, thresholds=len(counts))
    below, above = survey.plan[1].below / OUT_OF, survey.plan[1].above / OUT_OF
    shares = (np.divide(ones, answers) - below) / (above - below)
    fit = survey.fit_counts(answers, ones)
    assert fit.survival == pytest.approx(closest_falling(shares, answers), abs=1e-12)
    reach = [fit.prior.survival(t) for t in survey.thresholds]
    assert reach == pytest.approx(fit.survival, abs=1e-12)


def test_standard_errors_are_those_of_debiased_shares():
    survey = Survey(0.0, 4.0, 1.0, thresholds=3)
    fit = survey.fit_counts(*counts_of(survey, [0.9, 0.4, 0.1]))
    p = 1.0 / (1.0 + math.exp(-1.0))
    for reach, error in zip([0.9, 0.4, 0.1], fit.standard_errors, strict=True):
        share = reach * p + (1 - reach) * (1 - p)
        assert error == pytest.approx(math.sqrt(share * (1 - share) / MANY) / (2 * p - 1), rel=1e-9)
    assert fit.mean_standard_error == pytest.approx(math.sqrt(np.sum(fit.standard_errors**2)))  # width 1


def test_a_question_nobody_was_asked_widens_its_neighbours():
    fit = Survey(0.0, 4.0, math.inf, thresholds=3).fit_counts([10, 0, 10], [8, 0, 2])
    assert fit.prior.atoms.tolist() == [0.5, 2.0, 3.5]
    assert fit.prior.probs == pytest.approx([0.2, 0.6, 0.2])
    assert np.isnan(fit.survival).tolist() == [False, True, False]
    assert (fit.standard_errors[1], fit.mean_standard_error) == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("answers", "ones"),
    [([1], [1]), ([1, 1], [2, 1]), ([0, 0], [0, 0]), ([1, 1], [-1, 0]), ([[1, 1]], [[0, 0]])],
)
def test_counts_that_no_survey_gives(answers, ones):
    with pytest.raises(ParameterError, match="answers and ones"):
        Survey(0.0, 1.0, 1.0, thresholds=2).fit_counts(answers, ones)


# --- reports


def reports(survey, bits):
    return [Report(survey.question(name), bit, name) for name, bit in bits.items()]


def test_reports_are_counted_by_question():
    survey = Survey(0.0, 1.0, 1.0, thresholds=4)
    bits = {f"person {i}": int(i % 3 == 0) for i in range(60)}
    found = survey.fit(reports(survey, bits))
    answers, ones = np.zeros(4, int), np.zeros(4, int)
    for name, bit in bits.items():
        answers[survey.question(name) - 1] += 1
        ones[survey.question(name) - 1] += bit
    expected = survey.fit_counts(answers, ones)
    assert found.answers.tolist() == answers.tolist()
    assert found.prior == expected.prior


def test_a_report_delivered_twice_counts_once():
    survey = Survey(0.0, 1.0, 1.0, thresholds=4)
    once = reports(survey, {f"person {i}": i % 2 for i in range(40)})
    assert survey.fit(once + once[:7]).prior == survey.fit(once).prior
    assert survey.fit(once + once[:7]).answers.sum() == 40


def test_reports_that_cannot_be_believed():
    survey = Survey(0.0, 1.0, 1.0, thresholds=4)
    asked = survey.question("a")
    for report, what in [
        (Report(asked % 4 + 1, 1, "a"), "question"),
        (Report(asked, 2, "a"), "bit"),
        (Report(asked, True, "a"), "bit"),
        (Report(asked, 1), "event_id"),
        ((asked, 1, "a"), "Report"),
    ]:
        with pytest.raises(ReportError, match=rf"reports\[0\].*{what}"):
            survey.fit([report])
    with pytest.raises(ReportError, match=r"reports\[1\] contradicts"):
        survey.fit([Report(asked, 1, "a"), Report(asked, 0, "a")])
    with pytest.raises(ParameterError):
        survey.fit([])


def test_reprs():
    survey = Survey(0.0, 1.5, 1.0)
    assert repr(survey) == "Survey(low=0, high=1.5, epsilon=1, thresholds=32)"
    assert repr(survey.fit(reports(survey, {"a": 1}))) == "Fit(answers=1, thresholds=32)"
