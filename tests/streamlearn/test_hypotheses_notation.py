"""The command line's notation for hypothesis classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamlearn.errors import ParameterError, SizeError, StreamlearnError
from streamlearn.hypotheses import (
    Conjunctions,
    Finite,
    Intervals,
    Point3,
    Points,
    SingletonsOrEmpty,
    Stumps,
    Thresholds,
)
from streamlearn.hypotheses.notation import FORMS, parse, whole_number

TABLE = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0]], dtype=bool)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("point3", Point3()),
        (" POINT3 ", Point3()),
        ("points", Points()),
        ("points:5", Points(5)),
        ("thresholds:1000", Thresholds(1000)),
        ("thresholds: 2^60 ", Thresholds(2**60)),
        ("thresholds:1e6", Thresholds(10**6)),
        ("intervals:12", Intervals(12)),
        ("singletons-or-empty", SingletonsOrEmpty()),
        ("singletons-or-empty:2", SingletonsOrEmpty(2)),
        ("conjunctions:a,b,c:2", Conjunctions(["a", "b", "c"], 2)),
        ("conjunctions: small , web:page :0", Conjunctions(["small", "web:page"], 0)),
        ("stumps:age=30,50", Stumps({"age": [30, 50]})),
        ("stumps: height=1.5 ; a=b=-1e3,2 ", Stumps({"height": [1.5], "a=b": [-1000, 2]})),
    ],
)
def test_forms(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("007", 7),
        ("2^60", 2**60),
        ("3^0", 1),
        ("1e6", 10**6),
        ("1E+3", 1000),
        ("2.5e3", 2500),
        ("1.50e1", 15),
        ("2^4095", 2**4095),
        ("9" * 1233, 10**1233 - 1),
    ],
)
def test_whole_numbers_are_exact(text, expected):
    assert whole_number(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-3",
        "1.5",
        "1.5e0",
        "1e-3",
        "2^-1",
        "2^",
        "^2",
        "1e",
        "e3",
        "1_000",
        "1,000",
        "٣",
        "0x10",
        "inf",
        "nan",
        "2^3^4",
        "2**3",
    ],
)
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(ParameterError, match="is not "):
        whole_number(text)


@pytest.mark.parametrize("text", ["9^9999", "2^4097", "1e9999", "10^1234"])
def test_numbers_that_would_not_end_are_refused(text):
    with pytest.raises(ParameterError, match=r"larger than 2\^4096"):
        whole_number(text)


@given(st.integers(0, 10**40), st.integers(0, 30))
def test_numbers_come_back(number, zeros):
    assert whole_number(str(number)) == number
    assert whole_number(f"{number}e{zeros}") == number * 10**zeros
    assert whole_number(f"{number}^3") == number**3


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "names no class"),
        (":5", "names no class"),
        ("threshold:5", "no class 'threshold'"),
        ("point3:3", "point3 has no parameter"),
        ("points:", "nothing follows the colon"),
        ("thresholds", "'' is not a whole number"),
        ("thresholds:many", "'many' is not a whole number"),
        ("intervals:2.5", "'2.5' is not a whole number"),
        ("conjunctions:a,b", "conjunctions need features"),
        ("conjunctions:a,,b:1", "a list has an empty place"),
        ("conjunctions:a:x", "'x' is not a whole number"),
        ("stumps:age", "'age' is not a feature with its cut points"),
        ("stumps:=3", "'=3' is not a feature"),
        ("stumps:age=1;", "'' is not a feature"),
        ("stumps:age=1;age=2", "'age' is given twice"),
        ("stumps:age=old", "cut point 'old' is not a number"),
        ("stumps:age=", "a list has an empty place"),
        ("finite:table.txt", r"ends in .npy or .csv"),
        ("finite", r"ends in .npy or .csv"),
        ("finite:a\0b.csv", r"ends in .npy or .csv"),
        ("x" * 500, "no class"),
    ],
)
def test_another_form_is_refused_with_the_forms_there_are(text, named):
    with pytest.raises(ParameterError, match=named) as caught:
        parse(text)
    assert str(caught.value).endswith(f"the forms are {FORMS}")
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("thresholds:0", "m must be a whole number >= 1"),
        ("points:0", "domain must be a whole number >= 1"),
        ("conjunctions:a,b:3", "k must be at most 2"),
        ("conjunctions:a,a:1", "name each once"),
        ("stumps:age=nan", "cuts of feature 'age'"),
        ("stumps:age=1,1", "cuts of feature 'age'"),
    ],
)
def test_parameters_out_of_bounds_are_named(text, named):
    with pytest.raises(ParameterError, match=named) as caught:
        parse(text)
    assert str(caught.value).startswith(f"cannot use the class '{text}': ")
    assert FORMS not in str(caught.value)


def test_only_text_is_parsed():
    with pytest.raises(ParameterError, match="a class must be text, got int"):
        parse(3)


def test_a_class_too_large_to_work_with_is_refused():
    with pytest.raises(SizeError, match="features"):
        parse(f"conjunctions:{','.join(map(str, range(30)))}:3")


# --- tables


@pytest.fixture
def file(tmp_path):
    def written(name, content):
        path = tmp_path / name
        if isinstance(content, np.ndarray):
            with path.open("wb") as opened:  # given a name, numpy would add an ending
                np.save(opened, content)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
        return f"finite:{path}"

    return written


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.npy", TABLE),
        ("T.NPY", TABLE),
        ("f.npy", np.asfortranarray(TABLE)),
        ("t.csv", "0,0,0\n0,1,1\n1,1,0\n"),
        ("spaces.csv", " 0, 0,0 \r\n0,1,1\r\n\r\n1,1,0"),
        ("mark.csv", b"\xef\xbb\xbf0,0,0\n0,1,1\n1,1,0\n"),
        ("a=b;c:d.csv", "0,0,0\n0,1,1\n1,1,0\n"),
    ],
)
def test_tables_are_read(file, name, content):
    found = parse(file(name, content))
    assert isinstance(found, Finite)
    assert np.array_equal(found.table, TABLE)
    assert found == Finite(TABLE)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("t.csv", "", "shape"),
        ("t.csv", "\n\n", "shape"),
        ("t.csv", "a,b\n0,1\n", "line 1 holds something other than 0 and 1"),
        ("t.csv", "0,1\n1\n", "line 2 has 1 cells and the first 2"),
        ("t.csv", "0,1\n1,2\n", "line 2 holds something other"),
        ("t.csv", "0,1\n1,\n", "line 2 holds something other"),
        ("t.csv", "0,1\n0,1\n", "hypotheses 0 and 1 of the table agree"),
        ("t.csv", b"\xff\xfe0,1\n", "not text"),
        ("t.npy", "0,1\n", "no two-dimensional array"),
        ("t.npy", b"", "no two-dimensional array"),
        ("t.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 'bad' }\n", "no two-dimensional array"),
        ("t.npy", b"\x93NUMPY\x01\x00\x04\x00))))", "no two-dimensional array"),
        ("t.npy", b"PK\x03\x04broken", "no two-dimensional array"),
        ("t.npy", np.zeros(3, dtype=bool), "no two-dimensional array"),
        ("t.npy", np.zeros((2, 2)), "must be of booleans"),
        ("t.npy", np.zeros((0, 2), dtype=bool), "shape|no two-dimensional"),
    ],
)
def test_unusable_tables_are_refused_in_one_line(file, name, content, named):
    with pytest.raises(ParameterError, match=named) as caught:
        parse(file(name, content))
    assert "\n" not in str(caught.value)


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ParameterError, match="no two-dimensional array"):
        parse(f"finite:{tmp_path / 't.npy'}")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, named in (
        ("none.npy", "No such file"),
        ("none.csv", "No such file"),
        ("folder.csv", "directory"),
    ):
        with pytest.raises(ParameterError, match=f"cannot be read .*{named}"):
            parse(f"finite:{tmp_path / name}")


def test_tables_too_large_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "large.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype=bool, shape=(1 << 20, 40))  # sparse: it takes no space
    with pytest.raises(SizeError, match=r"large\.npy has 1048576 hypotheses on 40 instances"):
        parse(f"finite:{path}")


@given(st.text(alphabet="0123456789.,;:=^e- abcdpointshrelumfvgy3", max_size=30))
@example("points:3:4")
def test_any_text_is_read_or_refused(text):
    try:
        found = parse(text)
    except StreamlearnError:
        return
    assert found.dimension >= 0
