"""Candidate selection refuses what is no probability, no η, no K, in words; numpy's numbers are as good as Python's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from streamlearn import Key
from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses import Intervals, Point3, Points, Stumps
from streamlearn.selection import scheme
from streamlearn.selection.arguments import check_batch, check_level
from streamlearn.selection.exponential import check_eta
from streamlearn.selection.select import excess, failure, fewest_lists, select

MODES = ("options", "direct", "groups")
NO_NUMBERS = (
    "0.5",
    b"1",
    None,
    True,
    False,
    np.True_,
    [0.5],
    (),
    {},
    1 + 0j,
    Fraction(1, 2),
    ...,
    np.array([0.5]),
)
OUTSIDE = (
    math.nan,
    math.inf,
    -math.inf,
    -1,
    -0.5,
    0,
    0.0,
    np.float64("nan"),
    np.float32("inf"),
    np.int64(-3),
    2**1024,
)
NO_LEVELS = (*NO_NUMBERS, *OUTSIDE, 1, 1.0, 2, np.float64(1.0), np.int8(1))
NO_ETAS = (*NO_NUMBERS, *OUTSIDE, 9e-6, 20.5, 21, np.float64(9e-6), np.int64(21))
NO_BATCHES = (*NO_NUMBERS, *OUTSIDE[:-1], 0.5, 3.0, np.float64(3.0), np.int64(0))

LEVEL = r"{} must be a number strictly between 0 and 1, got .*give one such as 1e-6"
ETA = r"eta must be a number in 1e-05\.\.20, got .*give one such as 0\.05"
BATCH = r"K must be a whole number >= 1, got .*give what batch\(\) returns"


@pytest.mark.parametrize("value", NO_LEVELS, ids=repr)
def test_what_is_no_probability_is_refused(value):
    calls = [scheme(Point3(), mode).batch for mode in MODES]
    for refuse in (
        lambda: check_level("beta", value),
        *(lambda call=call: call(0.5, value) for call in calls),
    ):
        with pytest.raises(ParameterError, match=LEVEL.format("beta")):
            refuse()
    with pytest.raises(ParameterError, match=LEVEL.format("b")):
        fewest_lists(3, 1.0, value, 1e-3)
    with pytest.raises(ParameterError, match=LEVEL.format("beta")):
        fewest_lists(3, 1.0, 1e-6, value)
    paper = scheme(Point3(), "paper")
    with pytest.raises(ParameterError, match=LEVEL.format("eta")):
        paper.batch(value, 0.1)
    with pytest.raises(ParameterError, match=LEVEL.format("eta")):
        paper.log_moment(np.ones(1), value)
    for place, name in enumerate(("epsilon", "delta", "beta")):
        with pytest.raises(ParameterError, match=LEVEL.format(name)):
            paper.constants(*(value if i == place else 0.5 for i in range(3)))


@pytest.mark.parametrize("value", NO_ETAS, ids=repr)
def test_what_is_no_eta_is_refused(value):
    with pytest.raises(ParameterError, match=ETA):
        check_eta(value)
    for cls in (Point3(), Points()):
        for mode in MODES if cls.domain else ("options",):
            used = scheme(cls, mode)
            saved = used.start(0.5, 4).to_plain()
            for refuse in (
                lambda used=used: used.batch(value, 0.1),
                lambda used=used: used.log_moment(np.ones(1), value),
                lambda used=used: used.excess_delta(value, 4),
                lambda used=used: used.start(value, 4),
                lambda used=used, saved=saved: used.from_plain(saved, value, 4),
            ):
                with pytest.raises(ParameterError, match=ETA):
                    refuse()


@pytest.mark.parametrize("value", NO_BATCHES, ids=repr)
def test_what_is_no_batch_is_refused(value):
    with pytest.raises(ParameterError, match=BATCH):
        check_batch(value)
    for cls in (Point3(), Points()):
        for mode in MODES if cls.domain else ("options",):
            used = scheme(cls, mode)
            saved = used.start(0.5, 4).to_plain()
            for refuse in (
                lambda used=used: used.excess_delta(0.5, value),
                lambda used=used: used.start(0.5, value),
                lambda used=used, saved=saved: used.from_plain(saved, 0.5, value),
            ):
                with pytest.raises(ParameterError, match=BATCH):
                    refuse()
    with pytest.raises(ParameterError, match=BATCH):
        scheme(Point3(), "paper").start(0.5, value)
    for name, counts in (("s", (value, 3)), ("k", (3, value))):
        for bound in (excess, failure):
            with pytest.raises(ParameterError, match=f"{name} must be a whole number >= 1"):
                bound(counts[0], 1.0, counts[1])
    with pytest.raises(ParameterError, match="s must be a whole number >= 1"):
        fewest_lists(value, 1.0, 1e-6, 1e-3)


@pytest.mark.parametrize("value", [*NO_NUMBERS, *OUTSIDE, 9e-5, 20.5], ids=repr)
def test_the_level_of_one_selection_is_checked(value):
    for refuse in (
        lambda: select([["g"]], value, Key.from_seed(1)),
        lambda: excess(3, value, 9),
        lambda: failure(3, value, 9),
        lambda: fewest_lists(3, value, 1e-6, 1e-3),
    ):
        with pytest.raises(
            ParameterError, match=r"a must be a number in 0\.0001\.\.20, got .*give one such as 1"
        ):
            refuse()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", [np.float64, np.float32, np.float16, np.longdouble])
def test_numbers_of_numpy_are_numbers(mode, number):
    used, z = scheme(Point3(), mode), np.array([0.5, 2.0])
    assert used.batch(number(0.5), number(0.25)) == used.batch(0.5, 0.25)
    assert used.log_moment(z, number(0.5)).tolist() == used.log_moment(z, 0.5).tolist()
    assert used.excess_delta(number(0.5), np.int64(4)) == used.excess_delta(0.5, 4)
    assert type(used.start(number(0.5), np.uint8(4)).batch) is int
    assert used.from_plain(used.start(0.5, 4).to_plain(), number(0.5), np.int16(4)).batch == 4
    assert used.batch(np.int64(2), number(0.25)) == used.batch(2.0, 0.25)
    assert excess(np.int64(3), number(0.5), np.int8(9)) == excess(3, 0.5, 9)
    assert failure(np.int64(3), number(0.5), np.int8(9)) == failure(3, 0.5, 9)
    assert fewest_lists(3, number(0.5), number(0.25), number(0.25)) == fewest_lists(3, 0.5, 0.25, 0.25)
    assert type(check_level("beta", number(0.25))) is type(check_eta(number(0.5))) is float
    with pytest.raises(ParameterError, match="beta must"):
        check_level("beta", np.nextafter(np.longdouble(1), np.longdouble(0)))  # 1 as a float


@pytest.mark.parametrize("mode", MODES)
def test_the_least_probabilities_have_batches(mode):
    used, eta = scheme(Point3(), mode), 1.0
    least, small = used.batch(eta, 5e-324), used.batch(eta, 1e-300)
    assert small < least < small + 4 * (math.log(1e-300) - math.log(5e-324) + 1)


@pytest.mark.parametrize("mode", ["", "Options", "best", 3, [], {}, b"direct", np.str_("x")])
def test_unknown_modes_are_refused(mode):
    with pytest.raises(ParameterError, match="mode must be one of options, direct, groups, paper, got"):
        scheme(Point3(), mode)


@pytest.mark.parametrize("mode", [None, "options"])
def test_too_many_instances_are_refused_with_a_remedy(mode):
    with pytest.raises(
        SizeError, match=r"Intervals\(5000\) has 5000 instances; .*coarsen the points: Intervals\(4096\)"
    ):
        scheme(Intervals(5000), mode)
    assert scheme(Intervals(4096), mode).steps == 22
    with pytest.raises(SizeError, match="fewer cut points"):
        scheme(Stumps({"a": range(20000), "b": range(20000)}), mode)


def test_too_many_cells_of_stumps_are_weighed_directly():
    assert scheme(Stumps({"a": range(70), "b": range(70)})).mode == "direct"
