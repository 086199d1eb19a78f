"""Reports: what a reviewer files, read back as it was written."""

from __future__ import annotations

import json
import math

import pytest

from streamlearn import Channel, Key, audit
from streamlearn.errors import PlanError, StreamlearnError

REPORTS = [
    audit.exact_channel(Channel.randomized_response(1, 0.123456, 1.0)),
    audit.exact_channel(Channel.randomized_response(1, 0.5, math.inf)),
    audit.exact_channel(Channel.randomized_response(1, 0.5, 2.0), epsilon=1.0),
    audit.statistical(lambda bit, key: bit, 0, 1, epsilon=1.0, key=Key.from_seed(1)),  # noqa: ARG005
]


@pytest.mark.parametrize("report", REPORTS)
def test_json_is_read_back_as_it_was_written(report):
    assert audit.Report.from_json(report.to_json()) == report
    plain = json.loads(report.to_json(), parse_constant=pytest.fail)  # no Infinity, no NaN
    assert (plain["format"], plain["version"]) == ("streamlearn/audit", 1)
    assert plain["software"].startswith("streamlearn ")


@pytest.mark.parametrize("report", REPORTS)
def test_a_page_says_claim_method_size_bound_and_verdict(report):
    page = report.to_markdown()
    for row in ("claim", "method", "looked at", "bound found", "error rate", "verdict", "where"):
        assert f"| {row} | " in page
    assert f"**{report.verdict}**" in page
    assert "0.123456" not in page  # a threshold is public, but no report needs it


def test_a_report_is_written_by_its_name(tmp_path):
    REPORTS[0].save(tmp_path / "audit.md")
    REPORTS[0].save(tmp_path / "audit.json")
    assert (tmp_path / "audit.md").read_text() == REPORTS[0].to_markdown()
    assert audit.Report.from_json((tmp_path / "audit.json").read_text()) == REPORTS[0]
    with pytest.raises(StreamlearnError, match="cannot be written"):
        REPORTS[0].save(tmp_path / "nowhere" / "audit.md")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "streamlearn/audit", "version": 2}', '{"format": "streamlearn/audit", "version": 1}',
     b"\xff", "[" * 100_000,
     REPORTS[0].to_json().replace("holds", "fine"), REPORTS[0].to_json().replace('"epsilon":1.0', '"epsilon":-1.0')],
)  # fmt: skip
def test_what_is_no_report_is_refused(text):
    with pytest.raises(PlanError, match="not an audit's report"):
        audit.Report.from_json(text)
