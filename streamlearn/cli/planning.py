"""The command plan: what a private predictor would do and promise, before anything runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from streamlearn.cli import app, options
from streamlearn.cli.classes import ClassText
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.hypotheses import HypothesisClass

_MOST_CUTS = 1 << 15  # of one feature; more stumps are refused in any case


@app.command(epilog="Example: streamlearn plan --class point3 --epsilon 1 --delta 1e-6")
def plan(
    cls: ClassText,
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="ε of the whole predictor.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", help="δ of the whole predictor.")] = 1e-6,
    cuts: Annotated[
        int | None,
        typer.Option(
            "--cuts",
            min=1,
            max=_MOST_CUTS,
            help="With --class stumps alone, cut points a feature, as predict learns them.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option("--features", help="With --class stumps alone, the features, as a,b,c."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode", help="How candidates are selected: options, direct or groups; see also --paper."
        ),
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
    from streamlearn.planning import candidate_plan, paper_plan, private_plan  # noqa: PLC0415 - keeps --help fast

    hypotheses = _class(cls, features, cuts)
    if paper:
        stated = paper_plan(hypotheses, epsilon, delta)
        typer.echo(json.dumps(stated.figures(), ensure_ascii=False) if as_json else stated.explain())
        stated.refuse()
    if alone:
        found = candidate_plan(hypotheses, epsilon, delta, mode=mode, max_delay=max_delay)
    else:
        found = private_plan(hypotheses, epsilon, delta, mode=mode, max_delay=max_delay, split=split)  # type: ignore[arg-type]  # checked there
    typer.echo(json.dumps(found.figures(), ensure_ascii=False) if as_json else found.explain())


def _class(text: str, features: str | None, cuts: int | None) -> HypothesisClass:
    """Return the class. Of stumps a plan needs only how many cut points each feature has, so no log is read."""
    from streamlearn.hypotheses import notation  # noqa: PLC0415 - keeps --help fast

    if text.strip().lower() != "stumps":
        if features is not None or cuts is not None:
            raise ParameterError(
                "--features and --cuts count cut points; give them with --class stumps alone"
            )
        return notation.parse(text)
    if features is None or cuts is None:
        raise ParameterError(
            "--class stumps needs the features and how many cut points each has (--features a,b --cuts 3), "
            "or the cut points themselves (stumps:FEATURE=c1,c2); no log is read here"
        )
    points = ",".join(map(str, range(1, cuts + 1)))
    return notation.parse("stumps:" + ";".join(f"{name}={points}" for name in features.split(",")))
