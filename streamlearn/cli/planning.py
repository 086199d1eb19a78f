"""The command plan: what a private predictor would do and promise, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamlearn.cli import app, options
from streamlearn.cli.classes import ClassText
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.hypotheses import HypothesisClass
    from streamlearn.planning import Plan

_MOST_CUTS = 1 << 15  # of one feature; more stumps are refused in any case


@app.command(
    epilog="Example: streamlearn plan --class point3 --epsilon 1 --delta 1e-6 --out plan.json; "
    "later: streamlearn plan --class point3 --plan plan.json"
)
def plan(
    cls: ClassText,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="ε of the whole predictor, 0.001 to 20; 1 by default."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option("--delta", help="δ of the whole predictor, 1e-15 to below 0.1; 1e-6 by default."),
    ] = None,
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
            "--mode",
            help="How candidates are selected: options, direct or groups; by default as the class does best.",
        ),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone",
            help="Plan candidate replacement alone (predict --agent candidates): a bound that holds with probability "
            "1 - δ, none on the expected mistakes.",
        ),
    ] = False,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="How (ε, δ) is divided among the parts: optimised, the default, or paper (halves and quarters).",
        ),
    ] = None,
    max_delay: Annotated[
        int | None,
        typer.Option("--max-delay", help="Labels come at most so many rounds late; 0 by default."),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Print the paper's own constants instead, which cannot run: exit code 1."
        ),
    ] = False,
    saved: Annotated[
        Path | None,
        typer.Option("--plan", help="Explain this saved plan, certified anew, instead of making one."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Save the plan as JSON, for predict --plan and plan --plan; an old file is replaced.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the parameters of a private predictor, each with its formula, what it promises, and when it pays.

    No log is read: a plan follows from the class, ε and δ, and is public. Its agent is the private predictor of
    Theorem 3 (predict --agent private), or with --alone its part candidate replacement.
    """
    from streamlearn.planning import Plan, paper_plan  # noqa: PLC0415 - keeps --help fast

    asked = {
        "epsilon": epsilon, "delta": delta, "mode": mode, "alone": alone or None, "split": split,
        "max_delay": max_delay, "paper": paper or None,
    }  # fmt: skip
    hypotheses = _class(cls, features, cuts)
    if out is not None and (out.is_dir() or not out.parent.is_dir()):  # said before a search of some seconds
        raise ParameterError(f"--out {out} must be a file in a folder that exists; choose another place")
    if saved is not None:
        _refuse(asked, "--plan", "a saved plan has its own")
        found = Plan.load(saved, hypotheses)
    elif paper:
        _refuse({"mode": mode, "alone": alone or None, "split": split, "max_delay": max_delay, "out": out},
                "--paper", "its constants are fixed and cannot run")  # fmt: skip
        stated = paper_plan(hypotheses, _or(epsilon, 1.0), _or(delta, 1e-6))
        typer.echo(json.dumps(stated.figures(), ensure_ascii=False) if as_json else stated.explain())
        stated.refuse()
    else:
        found = _made(hypotheses, asked)
    if out is not None:
        found.save(out)
    typer.echo(json.dumps(found.figures(), ensure_ascii=False) if as_json else found.explain())
    if out is not None and not as_json:
        typer.echo(f"\nplan saved: {out}")


def _made(hypotheses: HypothesisClass, asked: dict[str, Any]) -> Plan:
    """Return a plan for what was asked for."""
    from streamlearn.planning import candidate_plan, private_plan  # noqa: PLC0415 - keeps --help fast

    level = _or(asked["epsilon"], 1.0), _or(asked["delta"], 1e-6)
    wanted = {"mode": asked["mode"], "max_delay": _or(asked["max_delay"], 0)}
    if not asked["alone"]:
        return private_plan(hypotheses, *level, split=_or(asked["split"], "optimised"), **wanted)
    _refuse({"split": asked["split"]}, "--alone", "there is nothing to divide (ε, δ) among")
    return candidate_plan(hypotheses, *level, **wanted)


def _or(value: Any, usual: Any) -> Any:
    return usual if value is None else value


def _refuse(given: dict[str, Any], other: str, why: str) -> None:
    """Refuse options that another one leaves without meaning."""
    for name, value in given.items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option} must not be given with {other}: {why}; leave out one of the two")


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
