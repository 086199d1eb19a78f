"""Real reporters answer a survey: what they spend, what they refuse afterwards, and what is learned from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamlearn import Channel, Key
from streamlearn.channels import OUT_OF
from streamlearn.errors import BudgetError
from streamlearn.reporters import Ledger, Reporter
from streamlearn.surveys import Survey

SURVEY = Survey(0.0, 1.0, epsilon=1.0, thresholds=8)
PLAN = Channel.randomized_response(round=3, threshold=0.6, epsilon=1.0)  # of a plan learned from the survey


def reporter(max_epsilon, seed=1, **limits):
    return Reporter(max_epsilon, key=Key.from_seed(seed), **limits)


def test_an_answer_spends_what_its_integers_spend_and_no_more():
    person = reporter(1.0)
    person.report(value=0.4, channel=SURVEY.channel("ada"), event_id="ada")
    assert person.ledger.total == SURVEY.guarantee.epsilon <= 1.0


def test_asked_again_the_same_bit_comes_and_nothing_is_spent():
    person = reporter(1.0)
    once = person.report(value=0.4, channel=SURVEY.channel("ada"), event_id="ada")
    assert person.report(value=None, channel=SURVEY.channel("ada"), event_id="ada") == once
    assert len(person.ledger.entries) == 1


def test_who_taught_the_prior_is_not_asked_again_by_the_plan():
    person = reporter(1.0)
    person.report(value=0.4, channel=SURVEY.channel("ada"), event_id="ada")
    with pytest.raises(BudgetError) as refusal:
        person.report(value=0.4, channel=PLAN, event_id="ada")
    assert refusal.value.spent == SURVEY.guarantee.epsilon
    assert person.ledger.total == SURVEY.guarantee.epsilon  # a refusal costs nothing


def test_with_room_for_both_the_ledger_says_that_they_add_up():
    person = reporter(2.0)
    person.report(value=0.4, channel=SURVEY.channel("ada"), event_id="ada")
    person.report(value=0.4, channel=PLAN, event_id="ada")
    assert person.ledger.spent("ada") == person.ledger.total == 2.0 * PLAN.realised_epsilon
    assert Ledger.from_answers(map(tuple, person.ledger.answers())).total == person.ledger.total


def test_another_name_for_the_arrival_is_counted_in_the_persons_total():
    person = reporter(1.0, total_epsilon=1.5)
    person.report(value=0.4, channel=SURVEY.channel("ada"), event_id="ada")
    with pytest.raises(BudgetError):
        person.report(value=0.4, channel=PLAN, event_id="auction 7")


def test_only_the_first_question_of_a_curious_server_is_answered():
    person = reporter(1.0)
    person.report(value=0.4, channel=SURVEY.channel("ada"), event_id="ada")
    others = [channel for channel in SURVEY.plan if channel != SURVEY.channel("ada")]
    assert len(others) == 7
    for channel in others:
        with pytest.raises(BudgetError):
            person.report(value=0.4, channel=channel, event_id="ada")


def test_a_law_is_learned_from_real_reporters():
    # Hoeffding over the 8 questions: with probability 1 - 1e-6 each debiased share lies this close, and making the
    # shares fall brings none further away than the furthest was.
    values = np.random.default_rng(3).uniform(size=4000)
    answers = [
        reporter(1.0, seed=i).report(value=float(value), channel=SURVEY.channel(f"p{i}"), event_id=f"p{i}")
        for i, value in enumerate(values)
    ]
    fit = SURVEY.fit(answers)
    assert fit.answers.sum() == 4000
    channel = SURVEY.plan[1]
    allowed = np.sqrt(math.log(16 / 1e-6) / (2 * fit.answers)) * OUT_OF / (channel.above - channel.below)
    truth = 1.0 - SURVEY.thresholds
    assert np.abs(fit.survival - truth).max() <= allowed.max() < 0.3
    # Five standard errors: 6e-7 under a normal law. Making the shares fall brings the mean closer to the truth.
    assert abs(fit.prior.mean - 0.5) <= 5 * fit.mean_standard_error < 0.1
