"""Documents made field by field: what is valid comes back as it was, and no error shows what a value field holds."""

from __future__ import annotations

import gzip
import json
import math

import fuzzagents
import fuzzdecoders
import fuzzing
import fuzzlogs
import fuzznotations
import msgspec
import pytest
from fuzzing import SECRET
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamlearn import Channel, priors
from streamlearn.channels import OUT_OF
from streamlearn.errors import ParameterError, StreamlearnError
from streamlearn.hypotheses import instances, notation
from streamlearn.live import ExampleMessage, Message, ReportMessage
from streamlearn.live.brokers import addresses
from streamlearn.live.messages import Reader
from streamlearn.privacy import Answered, Ledger, Recorded
from streamlearn.reporters import Reporter, ReportingPlan

BY_NAME = {decoder.name: decoder for decoder in fuzzdecoders.DECODERS}
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
levels = st.floats(0.0, 700.0) | st.just(math.inf)
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def channels(draw, round):  # noqa: A002 - the field's own word
    """Any law: three integers in order, and the level that they keep."""
    below, at, above = sorted(draw(st.lists(st.integers(0, OUT_OF), min_size=3, max_size=3)))
    return Channel(round, draw(finite), below, at, above, math.inf)


@st.composite
def plans(draw):
    return ReportingPlan([draw(channels(i)) for i in range(1, draw(st.integers(1, 4)) + 1)])


@given(plans())
def test_a_plan_comes_back(plan):
    assert ReportingPlan.from_json(plan.to_json()) == plan
    assert [Channel.from_tag(it.tag).tag for it in plan] == [it.tag for it in plan]


@given(st.integers(1, 9).flatmap(channels), levels)
def test_a_stage_that_promises_more_than_its_integers_keep_is_refused(channel, promised):
    stage = {
        "round": 1,
        "threshold": channel.threshold,
        "below": str(channel.below),
        "at": str(channel.at),
        "above": str(channel.above),
        "epsilon": "inf" if promised == math.inf else promised,
    }
    whole = json.loads(fuzzagents.reporting_plan().to_json()) | {"horizon": 1, "stages": [stage]}
    text = json.dumps(whole)
    fuzzing.check(BY_NAME["reporting plan"], text.encode())
    try:
        found = ReportingPlan.from_json(text)
    except StreamlearnError:
        with pytest.raises(ParameterError):
            Channel(1, channel.threshold, channel.below, channel.at, channel.above, promised)
    else:
        assert found.epsilon <= promised


spendings = st.builds(Answered, texts, texts, texts, st.builds(lambda it: it.tag, channels(1))) | st.builds(
    Recorded,
    texts,
    texts,
    texts,
    st.sampled_from(["joint", "central"]),
    st.floats(0.0, 1e6),
    st.floats(0.0, 1.0),
)


@given(st.lists(spendings, max_size=6))
def test_a_ledger_comes_back(happened):
    book = Ledger()
    for it in happened:
        book.record(it)
    assert list(Ledger.from_json(book.to_json())) == list(book)


@given(st.lists(st.tuples(st.sampled_from("abc"), channels(1), st.floats(0.0, 1e6)), max_size=5))
def test_a_memory_comes_back(asked):
    reporter = Reporter(math.inf)
    for event, channel, value in asked:
        reporter.report(value=value, channel=channel, event_id=event)
    again = Reporter(math.inf)
    again.load_state_dict(json.loads(msgspec.json.encode(reporter.state_dict())))
    assert again.state_dict() == reporter.state_dict()
    assert again.ledger.entries == reporter.ledger.entries


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | finite | texts,
    lambda it: st.lists(it, max_size=3),
    max_leaves=10,
)


@given(st.builds(ReportMessage, st.integers(1, 2**70), st.integers(0, 1), st.none() | texts, texts))
def test_a_report_comes_back(report):
    data = msgspec.json.encode(report)
    assert Reader(ReportMessage)(Message("log", (1,), data)) == (report.key, report)


@given(
    st.builds(ExampleMessage, texts, plain | st.dictionaries(texts, plain), st.none() | st.booleans(), texts)
)
def test_an_example_comes_back(example):
    data = msgspec.json.encode(example)
    assert Reader(ExampleMessage)(Message("log", (1,), data)) == (example.key, example)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
        lambda it: st.lists(it, max_size=3).map(tuple) | st.frozensets(it, max_size=3),
        max_leaves=10,
    )
)
def test_an_instance_comes_back(x):
    assert instances.from_plain(json.loads(json.dumps(instances.to_plain(x)))) == x


numbers = st.floats(1e-3, 1e3)
laws = (
    numbers.map(priors.PointMass)
    | st.builds(priors.Exponential, numbers)
    | st.builds(priors.Uniform, st.floats(0.0, 1.0), st.floats(1.5, 9.0))
    | st.builds(priors.Weibull, st.floats(0.5, 9.0))
    | st.builds(priors.LogNormal, st.floats(-3.0, 3.0), st.floats(0.1, 2.0))
    | st.lists(numbers, min_size=1, max_size=4, unique=True).map(
        lambda at: priors.Discrete(at, [1 / len(at)] * len(at))
    )
)


@settings(max_examples=50)
@given(st.lists(laws, min_size=1, max_size=4), st.sampled_from([";", " ; ", ",", "\n,\t"]), st.integers(1, 3))
def test_priors_come_back(found, between, times):
    text = between.join(f"{times}*{fuzznotations.law_as_text(law)}" for law in found)
    assert [repr(law) for law in priors.parse(text)] == [repr(law) for law in found for _ in range(times)]


@given(st.integers(1, 2**4096))
def test_whole_numbers_come_back(number):
    assert notation.whole_number(str(number)) == number
    assert notation.parse(f"thresholds:{number}").m == number


# --- secrets: a value in every wrong form, in the field of values and nowhere else

WRONG_CELLS = st.sampled_from(
    [
        f"-{SECRET}",
        f"{SECRET}x",
        f"€{SECRET}",
        f"{SECRET} EUR",
        f'"{SECRET}',
        f'"{SECRET}"x',
        f"{SECRET},{SECRET}",
        f"{SECRET}e999",
        f"1_{SECRET}",
        f"2024-{SECRET}",
        f"({SECRET})",
        f"{SECRET}\x85",
        f"{SECRET}\0",
        f"'{SECRET}'",
        SECRET * 10_000,
    ]
)
WRONG_JSON = st.sampled_from(
    [
        f"-{SECRET}",
        f'"{SECRET}"',
        f"[{SECRET}]",
        f'{{"a":{SECRET}}}',
        f'{{"{SECRET}":1}}',
        f"{SECRET}e999",
        f'"{SECRET}',
        f"{SECRET}x",
        f"0{SECRET}",
        f'"\\ud800{SECRET}"',
        "[" * 2_000 + SECRET,
        SECRET * 1_000,
    ]
)
ROW = st.integers(0, 5)


def shown(decoder, data):
    """Check that an error of a decoder on this input does not show the secret."""
    fuzzing.check(BY_NAME[decoder], data, secret=True)


@settings(max_examples=30)
@given(cell=WRONG_CELLS, at=ROW, column=st.sampled_from(["value", "time"]))
def test_no_error_shows_a_value_of_a_log_in_csv(cell, at, column):
    rows = [row | {column: cell} if i == at else row for i, row in enumerate(fuzzlogs.PEOPLE_ROWS)]
    data = fuzzlogs.csv_of(rows)
    for decoder in ("stream from csv", "stream from standard input", "stream with rows left out"):
        shown(decoder, data)
    shown("stream from csv.gz", gzip.compress(data, 1))


@settings(max_examples=30)
@given(cell=WRONG_JSON, at=ROW, column=st.sampled_from(["value", "time"]))
def test_no_error_shows_a_value_of_a_log_in_json(cell, at, column):
    rows = [row | {column: "HERE"} if i == at else row for i, row in enumerate(fuzzlogs.PEOPLE_ROWS)]
    data = fuzzlogs.jsonl(rows).replace(b'"HERE"', cell.encode())
    for decoder in ("stream from jsonl", "stream with rows left out"):
        shown(decoder, data)


@settings(max_examples=30)
@given(cell=WRONG_CELLS, at=st.integers(0, 4), column=st.sampled_from(["height", "name", "y", "t", "due"]))
def test_no_error_shows_a_cell_of_examples_in_csv(cell, at, column):
    rows = [row | {column: cell} if i == at else row for i, row in enumerate(fuzzlogs.EXAMPLE_ROWS)]
    for decoder in ("examples from csv", "examples with rows left out", "schedule"):
        shown(decoder, fuzzlogs.csv_of(rows))


@settings(max_examples=30)
@given(cell=WRONG_JSON, at=st.integers(0, 4), column=st.sampled_from(["height", "name", "y", "t", "due"]))
def test_no_error_shows_a_cell_of_examples_in_json(cell, at, column):
    rows = [row | {column: "HERE"} if i == at else row for i, row in enumerate(fuzzlogs.EXAMPLE_ROWS)]
    data = fuzzlogs.jsonl(rows).replace(b'"HERE"', cell.encode())
    for decoder in ("examples from jsonl", "examples with rows left out", "schedule"):
        shown(decoder, data)


@given(cell=WRONG_JSON, field=st.sampled_from(["round", "bit", "event_id", "key", "x", "y", "value"]))
def test_no_error_shows_what_a_message_holds(cell, field):
    for decoder, whole in (
        ("report message", fuzzdecoders.REPORTS[0]),
        ("example message", fuzzdecoders.EXAMPLES[0]),
    ):
        plain = json.loads(whole) | {field: "HERE"}
        shown(decoder, json.dumps(plain).encode().replace(b'"HERE"', cell.encode()))


@given(
    scheme=st.sampled_from(["nats", "redis", "kafka", "ftp", "NATS"]),
    rest=st.text("a1:/@,[]?#% \\", max_size=12),
    at=st.integers(0, 12),
)
def test_no_error_shows_the_password_of_an_address(scheme, rest, at):
    address = f"{scheme}://{rest[:at]}me:{SECRET}@{rest[at:]}"
    assume(not address.startswith("file:"))
    shown("address", address.encode())
    for opened in (addresses.open_source, addresses.open_sink):
        try:
            opened(address)
        except StreamlearnError as error:
            assert SECRET not in str(error)  # noqa: PT017 - where it is opened, there is nothing to look at


@given(value=st.sampled_from([f"-{SECRET}", f"{SECRET}x", SECRET, SECRET + "e999"]))
def test_no_error_shows_a_value_that_is_reported(value):
    channel = Channel.randomized_response(1, 0.5, 1.0)
    for private in (value, float(value) if value.strip("-").isdigit() else [value], {value: value}):
        if isinstance(private, float) and private > 0:
            continue
        with pytest.raises(StreamlearnError) as caught:
            Reporter(1.0).report(value=private, channel=channel, event_id="a")
        assert SECRET not in str(caught.value)
