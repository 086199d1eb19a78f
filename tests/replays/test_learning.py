"""Which stages of a log share a law."""

from __future__ import annotations

import numpy as np
import pytest

from streamlearn.errors import ParameterError
from streamlearn.replays import read_stream
from streamlearn.replays.learning import empirical_priors, partition, split, stage_priors

VALUES = np.arange(12.0).reshape(3, 4)  # stage i has mean 3 + i


def test_stages_of_a_group_share_one_law():
    laws = empirical_priors(VALUES, groups=[[1, 4], [3], [2]])
    assert [law.mean for law in laws] == [5.5, 5.0, 6.0, 5.5]
    assert laws[0] is laws[3]
    assert [law.n for law in laws] == [6, 3, 3, 6]


def test_pooled_and_each_are_groupings():
    for named, groups in (({"pooled": True}, [[1, 2, 3, 4]]), ({}, [[1], [2], [3], [4]])):
        assert empirical_priors(VALUES, **named) == empirical_priors(VALUES, groups=groups)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[1, 2], [4]], "leave out stage 3"),
        ([], "leave out stage 1"),
        ([[1, 2], [2, 3, 4]], "name stage 2 twice"),
        ([[1, 1, 2, 3, 4]], "name stage 1 twice"),
        ([[1, 2, 3, 4, 5]], "name stage 5; the stages are 1..4"),
        ([[0, 1, 2, 3, 4]], "name stage 0"),
        ([[1, 2, 3, 4.0]], "name stage 4.0"),
        ([[True, 2, 3, 4]], "name stage True"),
    ],
)
def test_groups_that_are_none(groups, message):
    with pytest.raises(ParameterError, match=message):
        partition(4, groups=groups)


def test_pooled_and_groups_are_one_too_many():
    with pytest.raises(ParameterError, match="not both"):
        partition(4, pooled=True, groups=[[1, 2, 3, 4]])


def test_logs_take_groups(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("value\n" + "\n".join(str(i) for i in range(16)))
    parts = split(read_stream(path, horizon=4), 2)
    assert [law.mean for law in parts.priors(groups=[[1, 2], [3, 4]])] == [2.5, 2.5, 4.5, 4.5]
    whole = stage_priors(read_stream(path, horizon=4), groups=[[1, 2], [3, 4]])
    assert [law.mean for law in whole] == [6.5, 6.5, 8.5, 8.5]
