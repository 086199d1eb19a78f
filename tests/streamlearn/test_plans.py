"""The plan's JSON: exact there and back, and refused by name where it is not one."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamlearn import Channel, plans
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError, PlanError
from streamlearn.plans import ReportingPlan
from streamlearn.rounding import harmonic_pairs

thresholds = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [5e-324, 2.2250738585072014e-308, 1e308, 1.7976931348623157e308, 0.1, -0.0, -1.5]
)
counts = st.integers(0, OUT_OF)


def stage(i, threshold, weights, epsilon):
    if epsilon == "unlimited":
        return Channel(i, threshold, *sorted(weights), epsilon=math.inf)
    return Channel.randomized_response(i, threshold, epsilon)


@st.composite
def written(draw):
    laws = st.tuples(
        thresholds, st.tuples(counts, counts, counts), st.just("unlimited") | st.floats(0, 1e308)
    )
    return ReportingPlan([stage(i, *law) for i, law in enumerate(draw(st.lists(laws, min_size=1)), start=1)])


def small() -> ReportingPlan:
    return ReportingPlan([Channel.randomized_response(1, 0.6, 1.0), Channel.constant(2, bit=1)])


def edited(**changes):
    """The JSON of a small plan, with fields of its first stage, or of the file, replaced or left out."""
    file = json.loads(small().to_json())
    first = file["stages"][0]
    for field, value in changes.items():
        target = first if field in first else file
        if value is ...:
            del target[field]
        else:
            target[field] = value
    return json.dumps(file)


# --- there and back


@given(written())
def test_a_plan_survives_its_json(plan):
    text = plan.to_json()
    again = ReportingPlan.from_json(text)
    assert again == plan
    assert again.digest == plan.digest
    assert again.to_json() == text
    assert ReportingPlan.from_json(text.encode()) == plan
    assert "null" not in text


@given(written())
def test_any_json_reader_finds_the_law_in_it(plan):
    file = json.loads(plan.to_json())
    assert (file["format"], file["version"]) == ("streamlearn/reporting-plan", 1)
    assert (int(file["out_of"]), file["horizon"]) == (2**64, plan.horizon)
    for entry, channel in zip(file["stages"], plan, strict=True):
        assert entry["round"] == channel.round
        assert float(entry["threshold"]).hex() == channel.threshold.hex()
        assert [int(entry[name]) for name in ("below", "at", "above")] == [
            channel.below,
            channel.at,
            channel.above,
        ]
        assert float(entry["epsilon"]) == channel.epsilon
    assert len(plan.to_json().splitlines()) == plan.horizon + 2


def test_infinite_epsilon_is_written_in_words_and_no_threshold_is_infinite():
    plan = ReportingPlan([Channel.randomized_response(1, 1e308, math.inf)])
    assert '"epsilon":"inf"' in plan.to_json()
    assert ReportingPlan.from_json(plan.to_json())[1].epsilon == math.inf
    # msgspec would write an infinite threshold as null: there is no channel with one.
    with pytest.raises(ParameterError, match="threshold of round 1 must be a finite number"):
        Channel(1, math.inf, 0, 0, 0, 0.0)


def test_a_plan_is_saved_and_loaded(tmp_path):
    path = tmp_path / "plan.json"
    small().save(path)
    assert ReportingPlan.load(path) == small()
    assert ReportingPlan.load(str(path)) == small()
    assert path.read_text() == small().to_json() + "\n"


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(PlanError, match="cannot be read"):
        ReportingPlan.load(tmp_path / name)


# --- refusals


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"horizon": 3}, "horizon is 3 and there are 2 stages"),
        ({"horizon": -2}, "horizon is -2"),
        ({"horizon": 2.5}, "Expected `int`"),
        ({"horizon": "2"}, "Expected `int`"),
        ({"stages": []}, "horizon is 2 and there are 0 stages"),
        ({"stages": {}}, "Expected `array`"),
        ({"stages": ...}, "missing required field `stages`"),
        ({"version": 2}, "version 2 is newer than 1.*upgrade"),
        ({"version": 10**30}, "newer than 1"),
        ({"version": 0}, "version must be 1..1, got 0"),
        ({"version": -1}, "version must be"),
        ({"version": "1"}, "Expected `int`"),
        ({"version": True}, "Expected `int`"),
        ({"version": ...}, "missing required field `version`"),
        ({"format": "streamlearn/reporter"}, "format is 'streamlearn/reporter'"),
        ({"format": None}, "Expected `str`"),
        ({"out_of": "4294967296"}, "out_of must be 18446744073709551616"),
        ({"out_of": 2**64}, "Expected `str`"),
        ({"note": "hello"}, "unknown field `note`"),
        ({"round": 2}, "stage 1 carries round 2"),
        ({"round": 0}, "round must be an int >= 1"),
        ({"round": -1}, "round must be an int >= 1"),
        ({"round": 1.5}, "Expected `int`"),
        ({"threshold": None}, "Expected `float`, got `null`"),
        ({"threshold": "0.6"}, "Expected `float`"),
        ({"threshold": math.nan}, "malformed"),
        ({"threshold": math.inf}, "malformed"),
        ({"below": 4961093570831982232}, "Expected `str`"),
        ({"below": 0.25}, "Expected `str`"),
        ({"below": "-1"}, "below must be a whole number"),
        ({"below": "+1"}, "below must be a whole number"),
        ({"below": "1.0"}, "below must be a whole number"),
        ({"below": "1e3"}, "below must be a whole number"),
        ({"below": " 1"}, "below must be a whole number"),
        ({"below": "1_0"}, "below must be a whole number"),
        ({"below": "0x10"}, "below must be a whole number"),
        ({"below": ""}, "below must be a whole number"),
        ({"below": "\u0661"}, "below must be a whole number"),  # a digit one in Arabic
        ({"below": "9" * 10**6}, "below must be a whole number"),
        ({"above": "18446744073709551617"}, "0 <= below <= at <= above <= 2\\^64"),
        ({"at": "0"}, "0 <= below <= at <= above <= 2\\^64"),
        ({"below": "0", "at": "1", "above": "1", "epsilon": 0.1}, "more than the promised"),
        ({"epsilon": 0.99}, "more than the promised"),
        ({"epsilon": -1.0}, "epsilon must be >= 0"),
        ({"epsilon": None}, "null"),
        ({"epsilon": "none"}, "Invalid enum value"),
        ({"epsilon": math.nan}, "malformed"),
    ],
)
def test_each_defect_has_its_message(changes, said):
    ReportingPlan.from_json(edited())
    with pytest.raises(PlanError, match=said):
        ReportingPlan.from_json(edited(**changes))


def test_stages_out_of_order_are_refused():
    file = json.loads(small().to_json())
    file["stages"].reverse()
    with pytest.raises(PlanError, match="stage 1 carries round 2"):
        ReportingPlan.from_json(json.dumps(file))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", '"plan"', "\ud800", b"\xff", b"\x00", "NaN"])
def test_what_is_not_a_plan_at_all_is_refused(text):
    with pytest.raises(PlanError, match="not a reporting plan"):
        ReportingPlan.from_json(text)


def test_deep_nesting_is_refused():
    with pytest.raises(PlanError):
        ReportingPlan.from_json("[" * 10**6)
    with pytest.raises(PlanError):
        ReportingPlan.from_json(edited(note=1).replace('"note": 1', '"note": ' + "[" * 10**5))


def test_a_plan_too_long_to_read_is_refused(monkeypatch):
    monkeypatch.setattr(plans, "MAX_STAGES", 1)
    with pytest.raises(PlanError, match="the most read here is 1"):
        ReportingPlan.from_json(small().to_json())


# --- whatever comes from outside

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["inf", "1", "0"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
FIELDS = [
    "format",
    "version",
    "out_of",
    "horizon",
    "stages",
    "round",
    "threshold",
    "below",
    "at",
    "above",
    "epsilon",
]


def read_or_refuse(text):
    try:
        plan = ReportingPlan.from_json(text)
    except PlanError:
        return
    # What is accepted is a plan: it can be written, and keeps what it says.
    assert ReportingPlan.from_json(plan.to_json()) == plan
    assert all(channel.realised_epsilon <= channel.epsilon for channel in plan)


@given(st.binary() | st.text() | anything.map(json.dumps))
@example(b"\xef\xbb\xbf{}")
@example("\udc80")
def test_nothing_but_a_plan_error_comes_out_of_noise(text):
    read_or_refuse(text)


@given(st.dictionaries(st.sampled_from(FIELDS), anything, min_size=1, max_size=3))
@settings(max_examples=500)
def test_nothing_but_a_plan_error_comes_out_of_a_plan_with_foreign_fields(changes):
    read_or_refuse(edited(**changes))


@given(st.data())
@settings(max_examples=500)
def test_nothing_but_a_plan_error_comes_out_of_a_damaged_file(data):
    text = bytearray(small().to_json().encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        text[start:end] = data.draw(
            st.binary(max_size=5) | st.sampled_from([b"9" * 30, b"-", b".5", b"e99", b"null"])
        )
        if not text:
            break
    read_or_refuse(bytes(text))


# --- the object


def test_a_plan_has_stages_and_counts_them_from_one():
    plan = small()
    assert (plan.horizon, len(plan)) == (2, 2)
    assert list(plan) == list(plan.channels) == [plan[1], plan[2]]
    for missing in (0, -1, 3):
        with pytest.raises(PlanError, match=r"round must lie in 1\.\.2"):
            plan[missing]
    with pytest.raises(ParameterError, match="at least one stage"):
        ReportingPlan([])
    with pytest.raises(ParameterError, match="stage 1 carries round 2"):
        ReportingPlan([Channel.constant(2, bit=1)])


def test_its_epsilon_is_the_most_a_stage_really_spends():
    generous = Channel(1, 0.5, OUT_OF // 4, OUT_OF // 4, 3 * OUT_OF // 4, 100.0)
    plan = ReportingPlan([generous, Channel.constant(2, bit=0)])
    assert plan.epsilon == generous.realised_epsilon < 1.0987
    assert repr(plan) == "ReportingPlan(horizon=2, epsilon=1.09861)"


def test_the_digest_names_the_law():
    pairs = harmonic_pairs([1.0] * 5)
    plan = ReportingPlan([Channel(i, 0.5, b, a, a, math.inf) for i, (b, a) in enumerate(pairs, start=1)])
    same = ReportingPlan(
        [Channel(i, 0.5, b, a, a, 2.0) for i, (b, a) in enumerate(pairs[:-1], start=1)] + [plan[5]]
    )
    assert plan.digest == same.digest
    assert plan != same
    others = [small(), ReportingPlan(plan.channels[:4])]
    for i in range(1, 5):
        c = plan[i]
        others += [
            ReportingPlan([*plan.channels[: i - 1], changed, *plan.channels[i:]])
            for changed in (
                Channel(i, 0.6, c.below, c.at, c.above, math.inf),
                Channel(i, 0.5, c.below - 1, c.at, c.above, math.inf),
                Channel(i, 0.5, c.below, c.at - 1, c.above, math.inf),
                Channel(i, 0.5, c.below, c.at, c.above + 1, math.inf),
            )
        ]
    assert len({plan.digest, *(other.digest for other in others)}) == len(others) + 1
    assert hash(plan) == hash(ReportingPlan(plan.channels))
