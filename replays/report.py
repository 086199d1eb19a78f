"""What a report on a replay says: learned from the earlier part of a log, scored on the later part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from streamlearn import rounding
from streamlearn.base import Stopper
from streamlearn.errors import ParameterError, StreamError
from streamlearn.priors import Prior
from streamlearn.priors.base import Floats
from streamlearn.prophets.value import CELLS, ProphetValue
from streamlearn.replays import benchmarks
from streamlearn.replays.drawings import Drawing
from streamlearn.replays.figures import Band, Curve, price_drawing
from streamlearn.replays.learning import split
from streamlearn.replays.levelplans import LevelPlan, level_plan
from streamlearn.replays.prophetfigure import Between, Gap, gap_drawing
from streamlearn.replays.rendering import number
from streamlearn.replays.replay import replay_many
from streamlearn.replays.results import HEAVY, Estimate, StoppingResult
from streamlearn.replays.stoppingfigures import privacy_drawing, stopping_law_drawing, thresholds_drawing
from streamlearn.replays.streams import RecordedStream

FEWEST: Final = 10
"""Episodes in either part: means of fewer would say too much about single people."""

Build = Callable[[Sequence[Prior], float], Stopper]


class Scored(NamedTuple):
    """One agent at one level on the later part of a log.

    Attributes
    ----------
    agent
        Its name.
    epsilon
        The level of everybody.
    result
        How it fared.
    """

    agent: str
    epsilon: float
    result: StoppingResult


class StoppingReport(NamedTuple):
    """All that a page on one replay says. It holds no episode's id and no value but thresholds.

    Attributes
    ----------
    log
        The log's file name, without its folder.
    unit
        The column of the values.
    columns
        The columns used, by their roles; None where there is none.
    horizon
        People per episode.
    pooled
        Whether one prior was learned for all stages.
    learned, scored
        Episodes in the earlier and in the later part.
    left_out
        What was left out, in words, and how many.
    rows
        Agent by agent, level by level.
    reference
        The best stopper without privacy.
    plans
        What the first agent does, a plan for each level.
    gap
        What others would get under the learned priors.
    command
        How to make the page again; empty if it was not a command.
    """

    log: str
    unit: str
    columns: Mapping[str, str | None]
    horizon: int
    pooled: bool
    learned: int
    scored: int
    left_out: Mapping[str, int]
    rows: Sequence[Scored]
    reference: StoppingResult
    plans: Sequence[LevelPlan]
    gap: Gap
    command: str = ""

    @property
    def agents(self) -> list[str]:
        """The agents' names, in the order given."""
        return list(dict.fromkeys(row.agent for row in self.rows))

    @property
    def levels(self) -> list[float]:
        """The levels, increasing."""
        return list(dict.fromkeys(row.epsilon for row in self.rows))


def stopping_report(
    stream: RecordedStream,
    agents: Mapping[str, Build],
    epsilons: Sequence[float],
    *,
    reference: Callable[[Sequence[Prior]], Stopper],
    learn: float = 0.5,
    pooled: bool = False,
    prophets: bool = True,
    command: str = "",
    progress: bool = False,
) -> StoppingReport:
    r"""Learn priors from the earlier part of a log, score stoppers on the later part, and collect what a page says.

    Parameters
    ----------
    stream
        The log.
    agents
        How to make a stopper from priors and a level, by its name; figures by stage are the first one's.
    epsilons
        The privacy levels of everybody, finite.
    reference
        How to make the best stopper without privacy.
    learn
        How much to learn from: a number of episodes, or a share of the log.
    pooled
        Learn one prior from all stages.
    prophets
        Compute the private prophets too: seconds a level.
    command
        How to make the page again.
    progress
        Show progress on standard error.

    Raises
    ------
    ParameterError
        If there is no agent or no level, a level is not finite, or ``learn`` is out of its bound.
    StreamError
        If the log cannot be read, or either part has fewer than 10 episodes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.agents import LDPOptimalStopper, OptimalStopper
    >>> from streamlearn.replays import read_stream
    >>> from streamlearn.replays.report import stopping_report
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("bid\n" + "\n".join(str(i % 7) for i in range(80)))
    >>> report = stopping_report(
    ...     read_stream(log, horizon=2), {"optimal": LDPOptimalStopper}, [1.0], reference=OptimalStopper
    ... )
    >>> report.learned, report.scored, report.log
    (20, 20, 'log.csv')
    """
    levels = _levels(epsilons)
    if not agents:
        raise ParameterError("a report needs at least one agent; give one")
    parts = split(stream, learn)
    _check_many(len(parts.learned), "learn from")
    laws = parts.priors(pooled)
    stoppers = {(name, level): build(laws, level) for name, build in agents.items() for level in levels}
    ideal = reference(laws)
    named = {f"{name}, ε = {number(level)}": stopper for (name, level), stopper in stoppers.items()}
    results = replay_many(
        parts.later, {**named, "without privacy": ideal}, reference=ideal, progress=progress
    )
    *found, best = results.values()
    _check_many(best.episodes, "score on")
    rows = [Scored(*key, result) for key, result in zip(stoppers, found, strict=True)]
    first = next(iter(agents))
    return StoppingReport(
        log=Path(stream.name).name,
        unit=stream.columns.value,
        columns=stream.columns._asdict(),
        horizon=len(laws),
        pooled=pooled,
        learned=len(parts.learned),
        scored=best.episodes,
        left_out=_left_out(stream),
        rows=rows,
        reference=best,
        plans=[
            level_plan(f"ε = {number(row.epsilon)}", stoppers[first, row.epsilon], laws, row.result.asked)
            for row in rows
            if row.agent == first
        ],
        gap=_gap(laws, levels, prophets=prophets),
        command=command,
    )


def drawings(report: StoppingReport) -> dict[str, Drawing]:
    r"""Return the figures of a report by the names of their sections: price, thresholds, asked, stopping, prophets.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.agents import LDPOptimalStopper, OptimalStopper
    >>> from streamlearn.replays import read_stream
    >>> from streamlearn.replays.report import drawings, stopping_report
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = log.write_text("".join('{"bid": %d}\n' % (i % 7) for i in range(80)))
    >>> stream, agents = read_stream(log, horizon=2), {"optimal": LDPOptimalStopper}
    >>> list(drawings(stopping_report(stream, agents, [1.0], reference=OptimalStopper)))
    ['price', 'thresholds', 'asked', 'stopping', 'prophets']
    """
    scored = f"{report.scored} held-out episodes of {report.log}"
    learned = f"priors of {report.learned} earlier episodes of {report.log}"
    first, best = report.agents[0], report.reference
    return {
        "price": price_drawing(
            "What privacy costs, held out",
            _curves(report),
            optimum=best.score,
            maximum=best.score / best.of_maximum.value,
            horizon=report.horizon,
            unit=report.unit,
            source=f"{scored}; bands: 95 % intervals",
        ),
        "thresholds": thresholds_drawing(
            f"Thresholds and cases of {first}", report.plans, unit=report.unit, source=learned
        ),
        "asked": privacy_drawing(
            f"Where the privacy goes: {first}",
            report.plans,
            unit=report.unit,
            source=learned,
            asked=f"{report.scored} held-out episodes",
        ),
        "stopping": stopping_law_drawing(f"When {first} stops", report.plans, source=learned),
        "prophets": gap_drawing("The gap to prophets", report.gap, unit=report.unit, source=learned),
    }


def warnings_of(report: StoppingReport) -> list[str]:
    r"""Return why intervals are not to be trusted, without the size of any single value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.agents import LDPOptimalStopper, OptimalStopper
    >>> from streamlearn.replays import read_stream
    >>> from streamlearn.replays.report import stopping_report, warnings_of
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = log.write_text("".join('{"bid": %d}\n' % (i % 7) for i in range(80)))
    >>> stream, agents = read_stream(log, horizon=2), {"optimal": LDPOptimalStopper}
    >>> warnings_of(stopping_report(stream, agents, [1.0], reference=OptimalStopper))
    ['only 20 episodes: the interval is a rough guide']
    """
    results = [report.reference, *(row.result for row in report.rows)]
    # The exact share of the largest reward, times the mean, would be somebody's value.
    found = (
        result.warning.replace(f"{result.largest_share:.0%}", f"more than {HEAVY:.0%}")
        for result in results
        if result.warning is not None
    )
    return list(dict.fromkeys(found))


def _levels(epsilons: Sequence[float]) -> list[float]:
    levels = sorted({rounding.check_epsilon(epsilon) for epsilon in epsilons})
    if not levels or not np.isfinite(levels).all():
        raise ParameterError(
            "a report needs finite privacy levels that everybody shares, at least one; the stopper without privacy "
            "is scored beside them"
        )
    return levels


def _check_many(episodes: int, what: str) -> None:
    if episodes < FEWEST:
        raise StreamError(
            f"there are {episodes} episodes to {what}, and a page needs at least {FEWEST}: means of fewer would say "
            "too much about single people; give a longer log, or another --learn"
        )


def _left_out(stream: RecordedStream) -> dict[str, int]:
    counts = {f"rows whose {reason}": count for reason, count in stream.skipped.items()}
    counts["episodes with such a row, or of another length"] = stream.skipped_episodes
    counts["rows after the last whole episode"] = stream.leftover_rows
    return {what: count for what, count in counts.items() if count}


def _curves(report: StoppingReport) -> list[Curve]:
    by_agent = {name: [row for row in report.rows if row.agent == name] for name in report.agents}
    return [
        Curve(
            name,
            np.array([row.epsilon for row in rows]),
            _band([row.result.reward for row in rows]),
            _band([row.result.of_reference for row in rows]),
        )
        for name, rows in by_agent.items()
    ]


def _band(figures: Sequence[Estimate | None]) -> Band:
    flat = [[np.nan] * 3 if figure is None else [figure.value, *figure.interval] for figure in figures]
    return Band(*np.array(flat).T)


def _gap(laws: Sequence[Prior], levels: Sequence[float], *, prophets: bool) -> Gap:
    """Return what others would get under the learned priors."""
    gap = Gap(
        np.array(levels),
        len(laws),
        benchmarks.prophet(laws),
        benchmarks.online(laws),
        np.array([benchmarks.ldp_online(laws, level) for level in levels]),
        static=np.array([benchmarks.static(laws, level) for level in levels]),
    )
    if not prophets:
        return gap
    private = [benchmarks.private_prophet(laws, level) for level in levels]
    binary = [benchmarks.binary_prophet(laws, level) for level in levels]
    return gap._replace(
        private=_between(private, gap.ldp_online),
        binary=_between(binary, gap.ldp_online),
        interactive=np.array([benchmarks.interactive_prophet(laws, level) for level in levels]),
        cells=CELLS if any(found.discretised for found in private) else None,
    )


def _between(found: Sequence[ProphetValue], stopper: Floats) -> Between:
    """Return values with their bounds; a prophet gets no less than the stopper, whose bits it could have used."""
    values = np.maximum([prophet.value for prophet in found], stopper)
    uppers = np.array([prophet.upper_bound for prophet in found])
    return Between(values, np.maximum(uppers, values), np.array([prophet.certified for prophet in found]))
