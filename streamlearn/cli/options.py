"""Options that several commands share, and what their texts mean."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from streamlearn.errors import ParameterError, PrivateValueError, StreamlearnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlearn.base import Stopper
    from streamlearn.priors import Prior
    from streamlearn.replays import RecordedStream

Epsilon = Annotated[
    list[str] | None,
    typer.Option("--epsilon", "-e", help="Privacy level; or one per person, as 1,0.5,2. May be repeated."),
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent", "-a", help="optimal, static, single-threshold, single-threshold:RULE. May be repeated."
    ),
]
Value = Annotated[str | None, typer.Option("--value", help="Column of the private value; else detected.")]
Episode = Annotated[
    str | None, typer.Option("--episode", help="Column that names the stopping problem; else detected.")
]
Time = Annotated[str | None, typer.Option("--time", help="Column to order an episode by; else detected.")]
Horizon = Annotated[
    int | None,
    typer.Option("--horizon", "-n", min=1, help="People an episode; needed without an episode column."),
]
Sort = Annotated[bool, typer.Option("--sort", help="Group a log that is not grouped by episode, in memory.")]
OnError = Annotated[
    Literal["strict", "skip"],
    typer.Option("--on-error", help="Stop at a malformed row, or leave it out and count."),
]
Pooled = Annotated[bool, typer.Option("--pooled", help="Learn one prior from all stages, not one per stage.")]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="Learn one prior from the stages of each group, as 1-3,4-10; + joins what lies apart, as 1+3,2.",
    ),
]
Learn = Annotated[
    str, typer.Option("--learn", help="Earlier part of the log that teaches the priors: a share or a number.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Write a figure: .png, .svg or .pdf.")]


_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
MOST_STAGES = 1_000_000
"""A longer range is no group of stages."""


class LogOptions(NamedTuple):
    """How to read a log."""

    value: str | None
    episode: str | None
    time: str | None
    horizon: int | None
    sort: bool
    on_error: Literal["strict", "skip"]

    def read(self, source: str) -> RecordedStream:
        """Open the log."""
        from streamlearn.replays import read_stream  # noqa: PLC0415 - keeps --help fast

        return read_stream(
            source,
            value=self.value,
            episode=self.episode,
            time=self.time,
            horizon=self.horizon,
            sort=self.sort,
            on_error=self.on_error,
        )


def levels(texts: Sequence[str]) -> dict[str, float | list[float]]:
    """Return privacy levels by the text they were given as: a number, or one per person.

    Raises
    ------
    ParameterError
        If a text is not a number or a comma-separated list of numbers.
    """
    found: dict[str, float | list[float]] = {}
    for text in texts:
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            raise ParameterError(
                f"--epsilon {text!r} is not a number or a list such as 1,0.5,2; use inf for no privacy"
            ) from None
        found[text] = numbers[0] if len(numbers) == 1 else numbers
    return found


def learn_amount(text: str) -> float:
    """Return ``--learn`` as a number of episodes (an int) or a share (a float).

    Raises
    ------
    ParameterError
        If it is neither.
    """
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        raise ParameterError(
            f"--learn {text!r} must be a share such as 0.5 or a number of episodes"
        ) from None


def groups(text: str | None) -> list[list[int]] | None:
    """Return ``--groups`` as lists of stages, None where it is not given.

    Raises
    ------
    ParameterError
        If it is not a list of stages and ranges.

    Examples
    --------
    >>> from streamlearn.cli.options import groups
    >>> groups("1-3,4+6,5")
    [[1, 2, 3], [4, 6], [5]]
    """
    return None if text is None else [_group(text, part) for part in text.split(",")]


def _group(text: str, part: str) -> list[int]:
    stages: list[int] = []
    for run in part.split("+"):
        found = _RANGE.fullmatch(run.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last <= first + MOST_STAGES:
            raise ParameterError(
                f"--groups {text!r} must list stages and ranges, as 1-3,4-10; {run.strip()!r} is neither"
            )
        stages.extend(range(first, last + 1))
    return stages


def warn(warnings: Sequence[str | None]) -> None:
    """Print those warnings that there are to standard error, a line each."""
    for warning in filter(None, warnings):
        typer.echo(f"warning: {warning}", err=True)


def build_agent(name: str, priors: Sequence[Prior], epsilon: float | list[float]) -> Stopper:
    """Return the agent of that name.

    Raises
    ------
    ParameterError
        If there is no such agent.
    """
    from streamlearn import agents  # noqa: PLC0415 - keeps --help fast

    kind, _, rule = name.partition(":")
    if kind == "optimal" and not rule:
        return agents.LDPOptimalStopper(priors, epsilon)
    if kind == "static" and not rule:
        return agents.StaticStopper(priors, epsilon)
    if kind == "single-threshold":
        return agents.SingleThresholdStopper(priors, epsilon, _threshold(rule))
    raise ParameterError(
        f"--agent {name!r} is unknown; choose optimal, static, single-threshold or single-threshold:RULE"
    )


def _threshold(rule: str) -> str | float:
    try:
        return float(rule) if rule else "median"
    except ValueError:
        return rule  # the agent names the rules there are


def private_value() -> float:
    """Return the number on standard input; no message ever quotes it.

    Raises
    ------
    PrivateValueError
        If there is no number.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("private value: ")
        sys.stderr.flush()
    text = (
        ""
        if sys.stdin is None
        else sys.stdin.read(1024).strip()
        if not sys.stdin.isatty()
        else sys.stdin.readline()
    )
    if not _NUMBER.fullmatch(text.strip()):
        found = "nothing" if not text else "something that is not one number"
        raise PrivateValueError(
            f"value: {found} on standard input; pipe one finite number >= 0, as in: echo 0.7 | streamlearn report ..."
        )
    return float(text)


def default_memory() -> Path:
    """Return where a client's key and ledger live by default; its folder is made, for the user alone.

    Raises
    ------
    StreamlearnError
        If the folder cannot be made.
    """
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(home) / "streamlearn"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StreamlearnError(
            f"{folder}: cannot be made ({error.strerror}); name a file with --memory"
        ) from None
    return folder / "reporter.json"


def echo_json(figures: Any) -> None:
    """Print figures as one line of JSON; what JSON has no number for is null."""
    from streamlearn.replays.results import json_ready  # noqa: PLC0415 - keeps --help fast

    typer.echo(json.dumps(json_ready(figures), ensure_ascii=False))
