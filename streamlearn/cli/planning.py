"""The command plan: what a private predictor would do and promise, before anything runs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from streamlearn.cli import app, options
from streamlearn.cli.classes import ClassText


@app.command(epilog="Example: streamlearn plan --class point3 --epsilon 1 --delta 1e-6")
def plan(
    cls: ClassText,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="ε of the whole predictor.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", help="δ of the whole predictor.")] = 1e-6,
    mode: Annotated[
        str | None,
        typer.Option("--mode", help="How candidates are selected: options, direct, groups or paper."),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Plan candidate replacement alone, not Theorem 3's predictor.")
    ] = False,
    split: Annotated[
        str, typer.Option("--split", help="How (ε, δ) is divided: optimised, or paper (halves and quarters).")
    ] = "optimised",
    max_delay: Annotated[
        int, typer.Option("--max-delay", help="Labels come at most so many rounds late.")
    ] = 0,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's own constants, which cannot run: says by how much.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Print the parameters of a private predictor, each with its formula, what it promises, and when it pays."""
    from streamlearn.hypotheses import notation  # noqa: PLC0415 - keeps --help fast
    from streamlearn.planning import candidate_plan, paper_plan, private_plan  # noqa: PLC0415

    hypotheses = notation.parse(cls)
    if paper:
        stated = paper_plan(hypotheses, epsilon, delta)
        typer.echo(json.dumps(stated.figures(), ensure_ascii=False) if as_json else stated.explain())
        stated.refuse()
    if alone:
        found = candidate_plan(hypotheses, epsilon, delta, mode=mode, max_delay=max_delay)
    else:
        found = private_plan(hypotheses, epsilon, delta, mode=mode, max_delay=max_delay, split=split)  # type: ignore[arg-type]  # checked there
    typer.echo(json.dumps(found.figures(), ensure_ascii=False) if as_json else found.explain())
