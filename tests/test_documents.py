"""Every block of the documents runs and every link leads somewhere.

In README.md and docs/, the blocks of one file run in order, in one temporary directory that holds a copy of
examples/: ``python`` blocks share their names; of ``console`` and ``sh`` blocks run those that start with
``$ streamlearn``. Output that such a block shows must come (``...`` stands for any text), and the exit
status must be 0 unless the block goes on with ``$ echo $?`` and another. ``text`` blocks are not run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if path.exists())
LINKED = [*DOCUMENTS, ROOT / "CHANGELOG.md"]

FENCE = re.compile(r"^ *```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""\]\((?P<markdown>[^)\s]+)[^)]*\)|(?:src|href)="(?P<html>[^"]+)\"""")
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Command(NamedTuple):
    """One command of a console block, and what the block shows of its outcome."""

    line: str
    output: str
    status: int


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def commands(text: str) -> list[Command]:
    r"""The commands of a console block: ``$ `` starts one, a ``\`` at the end of a line continues it."""
    found = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, output = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, flags=re.DOTALL).groups()
        if line.strip() == "echo $?":
            found[-1] = found[-1]._replace(status=int(output))
        else:
            found.append(Command(line, output.strip(), 0))
    return found


def run_console(text: str, folder: Path) -> None:
    # A fixed width and no colour, so that what is shown does not depend on the terminal of whoever runs this.
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands(text):
        done = subprocess.run(
            ["sh", "-c", command.line],
            cwd=folder,
            env={**os.environ, **plain, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == command.status, f"$ {command.line}\n{done.stdout}"
        if command.output:
            same = doctest.OutputChecker().check_output(
                command.output + "\n", done.stdout.strip() + "\n", LOOSE
            )
            assert same, f"$ {command.line}\nshown:\n{command.output}\ngot:\n{done.stdout}"


def run_python(block: Block, names: dict[str, object], place: str) -> None:
    if block.text.lstrip().startswith(">>>"):
        examples = doctest.DocTestParser().get_doctest(block.text, names, place, place, block.line)
        report = io.StringIO()
        outcome = doctest.DocTestRunner(verbose=False).run(examples, out=report.write, clear_globs=False)
        names.update(examples.globs)
        assert outcome.failed == 0, report.getvalue()
    else:
        with contextlib.redirect_stdout(io.StringIO()):
            # The blank lines make a traceback name the document's own line.
            code = compile("\n" * block.line + block.text, place, "exec", dont_inherit=True)
            exec(code, names)  # noqa: S102 - running it is the test


class Block(NamedTuple):
    """A fenced block that runs, and the number of lines before it."""

    language: str
    text: str
    line: int


def runnable(document: Path) -> list[Block]:
    content = document.read_text(encoding="utf-8")
    blocks = [
        Block(match["language"], textwrap.dedent(match["text"]), content.count("\n", 0, match.start("text")))
        for match in FENCE.finditer(content)
    ]
    return [
        block
        for block in blocks
        if block.language == "python"
        or (block.language in {"console", "sh"} and block.text.startswith("$ streamlearn"))
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_blocks_run_in_order(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if (ROOT / "examples").exists():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in runnable(document):
        if block.language == "python":
            run_python(block, names, str(document))
        else:
            run_console(block.text, tmp_path)


def test_a_console_block_is_read_as_a_person_reads_it():
    text = (
        "$ streamlearn solve \\\n    --epsilon 1\nvalue ...\n$ streamlearn solve --epsilon -1\n$ echo $?\n2\n"
    )
    assert commands(text) == [
        Command("streamlearn solve \\\n    --epsilon 1", "value ...", 0),
        Command("streamlearn solve --epsilon -1", "", 2),
    ]


@pytest.mark.parametrize("text", ["$ streamlearn --no-such-option\n", "$ streamlearn --help\nno such help\n"])
def test_a_console_block_that_does_not_do_what_it_shows_is_red(text, tmp_path):
    with pytest.raises(AssertionError):
        run_console(text, tmp_path)


def anchors(document: Path) -> set[str]:
    """The names GitHub gives the headings of a document."""
    headings = re.findall(
        r"^#+ +(.+?) *$", FENCE.sub("", document.read_text(encoding="utf-8")), flags=re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(document: Path) -> list[str]:
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text(encoding="utf-8")))
    targets = [match["markdown"] or match["html"] for match in LINK.finditer(prose)]
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def broken(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    destination = document.parent / path if path else document
    if not destination.exists():
        return True
    return bool(anchor) and destination.suffix == ".md" and anchor not in anchors(destination)


@pytest.mark.parametrize("document", LINKED, ids=name)
def test_relative_links_lead_somewhere(document):
    assert [target for target in links(document) if broken(document, target)] == []


def test_a_broken_link_is_seen(tmp_path):
    document = tmp_path / "page.md"
    document.write_text(
        '# A page, here\n[a](#a-page-here) [b](other.md) <img src="no.png"> `[c](code)` [d](https://x.org)\n'
    )
    assert [target for target in links(document) if broken(document, target)] == ["other.md", "no.png"]
