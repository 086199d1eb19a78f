"""What the search found, each fault by its exact input. Where one was that it did not end, the test would not."""

from __future__ import annotations

import io
import tracemalloc

import fuzzagents
import fuzzing
import msgspec
import numpy as np
import pytest

from streamlearn import priors, state
from streamlearn.errors import MOST_LETTERS, ParameterError, PriorError, ReportError, StateError, StreamError
from streamlearn.hypotheses import Points, notation
from streamlearn.replays import read_examples, read_stream
from streamlearn.reporters import Reporter


@pytest.mark.parametrize("field", ["kind", "parameters", "x" * 5_000])
def test_a_name_of_any_length_makes_no_longer_message(field):
    whole = msgspec.json.decode(fuzzagents.saved("SOA")) | {field: "y" * 5_000}
    with pytest.raises(StateError) as caught:
        state.loads(msgspec.json.encode(whole), fuzzagents.fresh("SOA"))
    assert len(str(caught.value)) <= MOST_LETTERS
    assert len(caught.value.args[0]) > MOST_LETTERS


def test_the_remedy_at_the_end_of_a_long_message_is_kept():
    text = str(ParameterError("what it is: " + "x" * 10_000 + "; do this instead"))
    assert text.startswith("what it is: x")
    assert text.endswith("x; do this instead")
    assert str(ParameterError("y" * MOST_LETTERS)) == "y" * MOST_LETTERS


def test_many_separators_within_parentheses_are_not_looked_through_again_and_again():
    with pytest.raises(PriorError):
        priors.parse("discrete(" + "1:0.1," * 100_000 + ")")


@pytest.mark.parametrize(
    "text", ["1" + " " * 2_000_000 + "*(", "1*" + " " * 2_000_000 + "x(", "a" * 2_000_000 + "(("]
)
def test_blanks_of_a_prior_are_not_gone_back_over(text):
    with pytest.raises(PriorError):
        priors.parse(text)


def test_separators_are_those_outside_parentheses():
    text = "2*pareto(2.5,minimum=2);1,uniform(0,1) ; discrete(0:0.9,5:0.1)"
    assert [repr(law) for law in priors.parse(text)] == [
        *["Pareto(alpha=2.5, minimum=2.0, loc=0.0)"] * 2,
        "PointMass(1.0)",
        "Uniform(lower=0.0, upper=1.0)",
        "Discrete([0.0, 5.0], [0.9, 0.1])",
    ]
    for wrong in ("uniform(0,1", "uniform0,1)", "1,,2", "1,", ""):
        with pytest.raises(PriorError):
            priors.parse(wrong)


def test_a_column_named_twice_among_many_is_found_at_once(tmp_path):
    names = [f"a{i:x}" for i in range(120_000)]
    log = tmp_path / "log.csv"
    log.write_text(",".join([*names, "a0"]) + "\n" + ",".join("1" for _ in [*names, 0]) + "\n")
    with pytest.raises(StreamError, match="two columns are called 'a0'"):
        read_stream(log)


def test_one_long_cell_of_a_table_gives_not_all_its_room(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("0," * 5_000 + "x" * 5_000 + "\n")
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match="line 1 holds something other than 0 and 1"):
            notation.parse(f"finite:{table}")
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_a_table_of_more_rows_than_can_be_counted_is_refused(tmp_path):
    file = io.BytesIO()
    np.save(file, np.zeros((8, 3), dtype=bool))
    table = tmp_path / "table.npy"
    table.write_bytes(file.getvalue().replace(b"(8, 3), }" + b" " * 20, b"(818446744073709551617, 3), }"))
    with pytest.raises(ParameterError, match="no two-dimensional array"):
        notation.parse(f"finite:{table}")


def test_half_a_character_in_the_name_of_a_table_is_said():
    with pytest.raises(ParameterError, match="cannot be read"):
        notation.parse("finite:\ud800.csv")


@pytest.mark.parametrize("number", [2**4096, 2**4096 - 1, 10**1233])
def test_a_number_of_all_the_digits_of_the_largest_is_read(number):
    assert notation.whole_number(str(number)) == number


def test_a_whole_number_of_thousands_of_digits_in_a_cell_is_text(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(f"x,y\n{'9' * 5_000},1\n{'9' * 4_000},0\n")
    (long, _), (short, _) = read_examples(log, instance="x")
    assert long == "9" * 5_000
    assert short == 10**4_000 - 1


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_what_is_no_name_of_a_file_is_said_of_a_memory(name):
    with pytest.raises(StateError, match="cannot be read"):
        Reporter.load(name)


def test_numbers_that_python_does_not_write_are_named_all_the_same():
    agent = fuzzagents.fresh("LDPOptimalStopper")
    whole = agent.state_dict()
    for edit in (
        {"format": 10**5000},
        {"format": -(10**5000)},
        {"body": {"round": 10**5000, "stopped": False}},
    ):
        with pytest.raises(StateError, match="an integer of more than 40 digits"):
            agent.load_state_dict(whole | edit)
    with pytest.raises(ReportError, match="digits"):
        Reporter(1.0).report(value=0.5, channel=agent.channel, event_id=10**5000)


@pytest.mark.parametrize("data", ["\ud800", {"excluded": "\ud800"}, {"point": {"tuple": fuzzing.SECRET}}])
def test_half_a_character_for_a_version_space_is_refused(data):
    with pytest.raises(StateError):
        Points().from_plain(data)
