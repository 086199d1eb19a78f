"""The command audit: a claim of privacy is put to the test, and a report says what was found."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from streamlearn.cli import app, options
from streamlearn.cli.liveagents import STOPPERS
from streamlearn.errors import ParameterError, StreamlearnError

if TYPE_CHECKING:
    from streamlearn.audit import Report
    from streamlearn.base import Stopper
    from streamlearn.plans import ReportingPlan
    from streamlearn.prediction import Predictor
    from streamlearn.randomness import Key

REFUTED = 3
"""The exit code where the claim is refuted."""

_PREDICTORS = ("subsampled", "candidates", "private")
_INSTANCES = 3  # of a class, that streams are made of
_HORIZON = 3
_SAMPLES, _SAMPLES_OF_PREDICTORS = 1_000_000, 20_000


class Asked(NamedTuple):
    """What was asked for; None where nothing was said."""

    agent: str | None
    plan: Path | None
    mechanism: str | None
    priors: str | None
    cls: str | None
    epsilon: float | None
    delta: float | None
    gamma: float | None
    inputs: str | None
    horizon: int | None
    statistical: bool
    samples: int | None
    error: float | None
    seed: int | None


@app.command(
    epilog="Exit codes: 0 the claim stands, 3 it is refuted, 1 the input cannot be used. Example: "
    "streamlearn audit --agent optimal --priors '10*uniform(0,1)' --epsilon 1 --out audit.md"
)
def audit(
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            "-a",
            help="An agent as shipped: optimal, static or single-threshold[:RULE] with --priors; subsampled, "
            "candidates or private with --class.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", help="A saved plan: of reports (solve --plan), or of a predictor, with --class."
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="MODULE:FUNCTION, code of your own: it is imported from the working directory and run. Called as "
            "FUNCTION(input, key); what it returns is what an observer sees.",
        ),
    ] = None,
    priors: Annotated[
        str | None, typer.Option("--priors", help="Laws of a stopper: '10*uniform(0,1)'.")
    ] = None,
    cls: Annotated[
        str | None, typer.Option("--class", "-c", help="A predictor's class, such as point3.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", "-e", help="The agent's ε, 1 by default; of a plan or mechanism, the claim."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option("--delta", help="The agent's δ, or of a mechanism what is claimed: 0 by default."),
    ] = None,
    gamma: Annotated[
        float | None, typer.Option("--gamma", help="The rate of --agent subsampled, 0.01 by default.")
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            "--inputs", help="A mechanism's inputs, any two of them neighbours: a JSON list; [0, 1]."
        ),
    ] = None,
    horizon: Annotated[
        int | None, typer.Option("--horizon", "-n", help="Rounds of a predictor's streams; 3 by default.")
    ] = None,
    statistical: Annotated[
        bool,
        typer.Option(
            "--statistical/--exact",
            help="Sample, with real keys, or follow every draw: exact is the default.",
        ),
    ] = False,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Runs in all; 1,000,000, or 20,000 of a predictor.")
    ] = None,
    error: Annotated[
        float | None, typer.Option("--error", help="How often at most a true claim is refuted; 1e-6.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draw the same samples again; by default fresh ones.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the report: a page where the name ends in .md, else JSON."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Put a claim of privacy to the test: exactly, by every outcome of every draw, or from samples.

    The report says what is claimed, how it was tested, on how much, the bound found and the verdict. An exact audit
    speaks of all it enumerated; a statistical one can refute a claim and never prove it.
    """
    asked = Asked(
        agent,
        plan,
        mechanism,
        priors,
        cls,
        epsilon,
        delta,
        gamma,
        inputs,
        horizon,
        statistical,
        samples,
        error,
        seed,
    )
    _check(asked)
    if out is not None and (out.is_dir() or not out.parent.is_dir()):  # said before the work
        raise ParameterError(f"--out {out} must be a file in a folder that exists; choose another place")
    report = _report(asked)
    if out is not None:
        report.save(out)
    typer.echo(report.to_json() if as_json else report.to_markdown(), nl=as_json)
    if report.refuted:
        raise typer.Exit(REFUTED)


def _check(asked: Asked) -> None:
    """Refuse options that have no meaning together."""
    named = [name for name in ("agent", "plan", "mechanism") if getattr(asked, name) is not None]
    if len(named) != 1:
        raise ParameterError(
            f"give one of --agent, --plan and --mechanism, got {' and '.join(f'--{name}' for name in named) or 'none'}"
        )
    stops = asked.agent is not None and asked.agent.partition(":")[0] in STOPPERS
    if asked.agent is not None and not stops and asked.agent not in _PREDICTORS:
        raise ParameterError(
            f"--agent {asked.agent!r} is unknown, or promises no privacy; choose {', '.join(STOPPERS)}[:RULE], "
            f"{', '.join(_PREDICTORS)}"
        )
    predicts = asked.agent is not None and not stops
    users = {
        "priors": (stops, "a stopper"),
        "cls": (predicts or asked.plan is not None, "a predictor"),
        "delta": (predicts or asked.mechanism is not None, "a predictor or --mechanism"),
        "gamma": (asked.agent == "subsampled", "--agent subsampled"),
        "inputs": (asked.mechanism is not None, "--mechanism"),
        "horizon": (predicts or asked.cls is not None, "a predictor"),
        **dict.fromkeys(("samples", "error", "seed"), (asked.statistical, "--statistical")),
    }
    for name, (fits, whose) in users.items():
        if getattr(asked, name) is not None and not fits:
            option = {"cls": "class"}.get(name, name)
            raise ParameterError(f"--{option} is for {whose}; leave it out")
    for name, needed in (("priors", stops), ("cls", predicts)):
        if needed and getattr(asked, name) is None:
            option, example = ("priors", "'10*uniform(0,1)'") if name == "priors" else ("class", "point3")
            raise ParameterError(f"--agent {asked.agent} needs --{option}, such as {example}")
    if asked.mechanism is not None and asked.epsilon is None:
        raise ParameterError("--mechanism needs --epsilon, the claim to be tested")


def _report(asked: Asked) -> Report:
    if asked.mechanism is not None:
        return _of_mechanism(asked, asked.mechanism)
    if asked.priors is not None:
        from streamlearn import priors  # noqa: PLC0415 - keeps --help fast

        level = 1.0 if asked.epsilon is None else asked.epsilon
        stopper = options.build_agent(str(asked.agent), priors.parse(asked.priors), level)
        return _of_reports(asked._replace(epsilon=None), stopper)
    if asked.plan is not None and asked.cls is None:
        from streamlearn.plans import ReportingPlan  # noqa: PLC0415 - as above

        return _of_reports(asked, ReportingPlan.load(asked.plan))
    return _of_predictor(asked, _factory(asked))


# --- reports of stoppers


def _of_reports(asked: Asked, plan: Stopper | ReportingPlan) -> Report:
    from streamlearn import audit as audits  # noqa: PLC0415 - keeps --help fast
    from streamlearn.base import Stopper  # noqa: PLC0415 - as above
    from streamlearn.privacy import Guarantee  # noqa: PLC0415 - as above
    from streamlearn.reporters import Reporter  # noqa: PLC0415 - as above

    claim = None if asked.epsilon is None else Guarantee.local(asked.epsilon)
    if not asked.statistical:
        return audits.exact_stopper(plan, lambda key: Reporter(math.inf, key=key), claim=claim)
    channels = (plan.plan if isinstance(plan, Stopper) else plan).channels
    channel = max(channels, key=lambda it: it.realised_epsilon)

    def mechanism(value: float, key: Key) -> Hashable:
        return Reporter(math.inf, key=key).report(value=value, channel=channel, event_id="audited")

    level = channel.realised_epsilon if asked.epsilon is None else asked.epsilon
    threshold = channel.threshold
    if threshold <= 0.0:
        raise ParameterError(f"round {channel.round} has no value below its threshold; use --exact")
    return _sampled(
        asked,
        mechanism,
        (0.0, 2.0 * threshold + 1.0),
        (level, 0.0),
        f"reports of round {channel.round}",
        _SAMPLES,
        "local",
    )


# --- predictors


def _factory(asked: Asked) -> Callable[[Key], Predictor]:
    """Return what makes the predictor, which draws from the key it is given."""
    from streamlearn import agents, planning  # noqa: PLC0415 - keeps --help fast
    from streamlearn.hypotheses import notation  # noqa: PLC0415 - as above

    hypotheses = notation.parse(str(asked.cls))
    if asked.agent == "subsampled":
        for name in ("epsilon", "delta"):
            if getattr(asked, name) is not None:
                raise ParameterError(
                    f"--{name} is not for --agent subsampled, whose δ is --gamma; leave it out"
                )
        rate = 0.01 if asked.gamma is None else asked.gamma
        return lambda key: agents.SubsampledSOA(hypotheses, rate, key)
    if asked.plan is not None:
        plan = planning.Plan.load(asked.plan, hypotheses)
    else:
        make = planning.private_plan if asked.agent == "private" else planning.candidate_plan
        level = 1.0 if asked.epsilon is None else asked.epsilon
        plan = make(hypotheses, level, 1e-6 if asked.delta is None else asked.delta)
    kind: Any = agents.CandidateReplacementPredictor if plan.combination is None else agents.PrivatePredictor
    return lambda key: kind(hypotheses, plan=plan, key=key, max_delay=plan.max_delay)


def _of_predictor(asked: Asked, factory: Callable[[Key], Predictor]) -> Report:
    from streamlearn import audit as audits  # noqa: PLC0415 - keeps --help fast
    from streamlearn.hypotheses import notation  # noqa: PLC0415 - as above

    domain = notation.parse(str(asked.cls)).as_finite().domain[:_INSTANCES]
    alphabet = [(x, y) for x in domain for y in (False, True)]
    alphabet.append((("an instance", "that no class knows"), False))
    found = audits.Enumeration(factory, alphabet, _HORIZON if asked.horizon is None else asked.horizon)
    if not asked.statistical:
        return found.report()
    claim = found.report().claim
    pair = found.worst_pair(claim.epsilon)
    streams = [[alphabet[place] for place in stream] for stream in (pair.one, pair.other)]
    subject = f"{type(factory(_key(asked))).__name__}, round {pair.changed} of {len(pair.one)} changed"
    mechanism = audits.played(factory, pair.changed)
    level = claim.epsilon, claim.delta
    return _sampled(
        asked, mechanism, (streams[0], streams[1]), level, subject, _SAMPLES_OF_PREDICTORS, "joint"
    )


# --- code of the user's own


def _of_mechanism(asked: Asked, name: str) -> Report:
    from streamlearn import audit as audits  # noqa: PLC0415 - keeps --help fast

    function, inputs = _imported(name), _inputs("[0, 1]" if asked.inputs is None else asked.inputs)
    if asked.statistical and len(inputs) != 2:
        raise ParameterError(
            f"--inputs must be two with --statistical, got {len(inputs)}; give those that differ"
        )
    claim = float(asked.epsilon or 0.0), 0.0 if asked.delta is None else asked.delta
    try:
        if not asked.statistical:
            return audits.exact_mechanism(function, inputs, epsilon=claim[0], delta=claim[1], subject=name)
        return _sampled(asked, function, (inputs[0], inputs[1]), claim, name, _SAMPLES)
    except StreamlearnError:
        raise
    except Exception as error:  # noqa: BLE001 - a stranger's code may raise anything
        raise ParameterError(
            f"--mechanism {name} raised {type(error).__name__} when it was run; call it in Python to see where"
        ) from None


def _imported(name: str) -> Callable[[Any, Key], Hashable]:
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute.isidentifier()):
        raise ParameterError(
            f"--mechanism must be MODULE:FUNCTION, got {name!r}; as coins:noisy for coins.py"
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
        raise ParameterError(
            f"--mechanism {name} cannot be imported ({type(error).__name__}); it is sought in the working directory "
            "and among what is installed"
        ) from None
    if not callable(found):
        raise ParameterError(
            f"--mechanism {name} is a {type(found).__name__}; it must be a function of (input, key)"
        )
    function: Callable[[Any, Key], Hashable] = found
    return function


def _inputs(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) < 2:
        raise ParameterError(f"--inputs must be a JSON list of two or more, as [0, 1], got {text!r}")
    return found


# --- samples


def _key(asked: Asked) -> Key:
    from streamlearn.randomness import Key  # noqa: PLC0415 - keeps --help fast

    return Key.generate() if asked.seed is None else Key.from_seed(asked.seed)


def _sampled(
    asked: Asked,
    mechanism: Callable[[Any, Key], Hashable],
    pair: tuple[Any, Any],
    claim: tuple[float, float],
    subject: str,
    usual: int,
    notion: Literal["local", "joint", "central"] = "central",
) -> Report:
    from streamlearn import audit as audits  # noqa: PLC0415 - keeps --help fast

    return audits.statistical(
        mechanism,
        *pair,
        epsilon=claim[0],
        delta=claim[1],
        samples=usual if asked.samples is None else asked.samples,
        error=1e-6 if asked.error is None else asked.error,
        key=_key(asked),
        subject=subject,
        notion=notion,
    )
