"""The command report-html as a user meets it."""

from __future__ import annotations

import html
import re
import shlex

import pytest

LEVELS = ("-e", 0.5, "-e", 2)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "logs" / "bids.csv"
    path.parent.mkdir()
    rows = [f"{auction},{(auction * 37 + person * 11) % 23}" for auction in range(60) for person in range(4)]
    path.write_text("auction,bid\n" + "\n".join(rows) + "\n")
    return path


def told_command(text):
    """The command that a page says makes it again."""
    (line,) = re.findall(r"<pre><code>(.*?)</code></pre>", text)
    return shlex.split(html.unescape(line))


def test_it_writes_a_page_which_says_how_to_make_it_again(run, log, tmp_path):
    done = run(
        "report-html", log, "--out", "my page.html", *LEVELS, "-a", "optimal", "--learn", 20, "--horizon", 4
    )
    assert done.stdout == "page: my page.html\n"
    text = (tmp_path / "my page.html").read_text()
    assert "private prophet" in text
    assert str(tmp_path) not in text  # the maker's folders are nobody's business
    name, command, file, *options = told_command(text)
    assert (name, command, file) == ("streamlearn", "report-html", "bids.csv")
    run(command, log, *options)
    assert (tmp_path / "my page.html").read_text() == text
    assert "20 earlier episodes, scored on 40 later ones" in text


def test_all_options_are_told(run, log, tmp_path):
    log.write_text(log.read_text().replace("auction,bid", "lot,offer").replace("\n3,", "\n3,x") + "70,\n")
    given = shlex.split(
        "--learn 0.25 -e 1 -a static -a single-threshold:half-max --value offer --episode lot --time '' --horizon 4 "
        "--pooled --sort --on-error skip --no-prophets"
    )
    run("report-html", log, "--out", "p.html", *given)
    text = (tmp_path / "p.html").read_text()
    assert told_command(text)[3:] == ["--out", "p.html", *given]
    assert "one for all stages" in text
    assert "rows whose value" in text  # left out, and counted


def test_the_default_is_report_html_with_every_agent(run, log, tmp_path):
    run("report-html", log, "--no-prophets")
    text = (tmp_path / "report.html").read_text()
    for agent in ("optimal", "static", "single-threshold", "without privacy"):
        assert f'<th scope="row">{agent}</th>' in text
    for level in (0, 0.5, 1, 2, 3, 5, 7):
        assert f"<td>{level}</td>" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--out", "bids.csv"), "must end in .html"),
        (("-e", "1,2,1,1"), "levels that everybody shares"),
        (("-e", "inf"), "finite privacy levels"),
        (("-a", "best"), "is unknown"),
        (("--learn", "55"), "5 episodes to score on"),
    ],
)
def test_mistakes_end_in_a_line_and_leave_no_page(run, log, tmp_path, options, words):
    assert words in run("report-html", log, *options, "--no-prophets", code=1).stderr
    assert not list(tmp_path.glob("*.html"))


def test_a_log_from_standard_input_is_called_so(run, log, tmp_path):
    run("report-html", "-", "--learn", 20, "-e", 1, "-a", "optimal", "--no-prophets", text=log.read_text())
    assert "standard input" in (tmp_path / "report.html").read_text()
