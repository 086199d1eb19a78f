"""The client of docs/plan-format.md does what the document and this package say."""

from __future__ import annotations

import contextlib
import io
import math
import re
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn import Channel, Key
from streamlearn.channels import OUT_OF
from streamlearn.errors import BudgetError
from streamlearn.reporters import Reporter, ReportingPlan
from streamlearn.rounding import randomized_response, realised_ratio

TEXT = (Path(__file__).parents[2] / "docs" / "plan-format.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def client():
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks("python"):
            exec(block, names)  # noqa: S102 - the document's own code
    return names


def test_the_example_is_what_this_package_writes():
    plan = ReportingPlan(
        [
            Channel.randomized_response(1, 0.6, 1.0),
            Channel.randomized_response(2, 0.5, 0.5),
            Channel.constant(3, bit=1),
        ]
    )
    (example,) = blocks("json")
    assert example == plan.to_json() + "\n"
    assert ReportingPlan.from_json(example) == plan


def test_the_python_blocks_run_and_hold_the_same_plan(client):
    assert ReportingPlan.from_json(client["PLAN"]) == ReportingPlan.from_json(blocks("json")[0])
    assert client["report"].event_id == "a17"


def test_the_table_of_limits_is_right():
    rows = re.findall(r"^\| ([\d.]+) \| (\d{15,}) \|$", TEXT, flags=re.MULTILINE)
    assert len(rows) == 5
    with mpmath.workdps(60):
        for epsilon, numerator in rows:
            assert int(numerator) == int(mpmath.floor(mpmath.exp(mpmath.mpf(epsilon)) * 10**18))
            # A limit of E must let a plan for E pass.
            assert realised_ratio(*randomized_response(float(epsilon))) <= Fraction(int(numerator), 10**18)


def truncated(number, digits):
    whole, rest = divmod(number.numerator * 10**digits // number.denominator, 10**digits)
    return f"{whole}.{rest:0{digits}d}"


def test_the_figures_of_the_worked_example(client):
    first, second, _ = client["read_plan"](client["PLAN"])
    one, two = (Fraction(int(stage["above"]), int(stage["below"])) for stage in (first, second))
    prose = " ".join(TEXT.split())
    assert f"above/below = {truncated(one, 15)}…" in prose
    assert f"{truncated(one, 3)}… · {truncated(two, 3)}… = {float(one * two):.2f}, above e^1" in prose
    assert int(first["above"]) > 9000000000000000000 >= int(first["below"])
    assert one > Fraction(1648721270700128146, 10**18)  # a limit of E = 0.5 refuses it


def every_kind_of_stage():
    return ReportingPlan(
        [
            Channel.randomized_response(1, 0.5, 0.3),
            Channel.randomized_response(2, 0.5, 1.0),
            Channel(3, 0.25, OUT_OF // 5, OUT_OF // 4, OUT_OF // 3, 0.6),
            Channel.constant(4, bit=0),
            Channel.randomized_response(5, 0.5, 0.0),
            Channel.randomized_response(6, 0.5, math.inf),
            Channel.randomized_response(7, 0.5, 1.1),
            Channel(8, 0.5, 3 * OUT_OF // 4, 3 * OUT_OF // 4, 7 * OUT_OF // 8, 1.0),
            Channel.constant(9, bit=1),
        ]
    )


class SameDraws(Key):
    """A key whose draws are given from outside, for both clients alike."""

    __slots__ = ("draw",)

    def uniform64(self, purpose, round):  # noqa: A002, ARG002 - the overridden names
        return self.draw


questions = st.tuples(
    st.integers(1, 9),
    st.sampled_from("ab"),
    st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.9]),
    st.integers(0, OUT_OF - 1),
)


@given(st.lists(questions, max_size=30))
def test_the_documents_client_and_the_reporter_answer_alike(client, asked):
    plan, memory = every_kind_of_stage(), {}
    written = client["read_plan"](plan.to_json())
    key = SameDraws(bytes(32))
    reporter = Reporter(1.0, key=key)
    for stage, event, value, draw in asked:
        key.draw = draw
        try:
            ours = reporter.report(value=value, channel=plan[stage], event_id=event).bit
        except BudgetError:
            ours = "refused"
        try:
            theirs = client["answer"](written[stage - 1], event, value, memory, draw=lambda draw=draw: draw)
        except client["Refused"]:
            theirs = "refused"
        assert ours == theirs


def test_the_documents_client_turns_at_the_very_integer(client):
    plan = every_kind_of_stage()
    written = client["read_plan"](plan.to_json())
    for stage in (1, 2, 3, 5):
        for value in (0.0, 0.25, 0.5, 0.9):
            weight = plan[stage].weight(value)
            for draw in (weight - 1, weight):
                bit = client["answer"](written[stage - 1], "a", value, {}, draw=lambda draw=draw: draw)
                assert bit == plan[stage].bit(value, draw) == (draw < weight)


def test_the_documents_client_draws_from_the_system(client):
    plan = client["read_plan"](client["PLAN"])
    # 64 fair coins are all equal with probability 2^-63.
    fair = {**plan[0], "below": str(OUT_OF // 2), "at": str(OUT_OF // 2), "above": str(OUT_OF // 2)}
    assert {client["answer"](fair, f"e{i}", 0.7, {}) for i in range(64)} == {0, 1}


@pytest.mark.parametrize(
    ("old", "new"),
    [('"version":1', '"version":2'), ('"horizon":3', '"horizon":4'), ('"round":2', '"round":3')],
)
def test_the_documents_client_refuses_what_it_cannot_follow(client, old, new):
    with pytest.raises(ValueError, match=r"plan|order"):
        client["read_plan"](client["PLAN"].replace(old, new))
