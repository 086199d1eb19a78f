"""Figures of what a stopper does with privacy: thresholds, who is asked, when it stops, and the gap to prophets.

Each comes as a :class:`~streamlearn.replays.drawings.Drawing`: ``.save(path)`` writes it, a page shows it. Needs
matplotlib, the extra ``plot``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from streamlearn.errors import ParameterError
from streamlearn.priors.base import Floats
from streamlearn.replays.drawings import FAINT, STYLES, Drawing, across, in_unit, legend, upward
from streamlearn.replays.levelplans import LevelPlan, runs, spread
from streamlearn.replays.rendering import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STAGE: Final = "stage i, in the order of arrival"
_FILLS: Final = {"ask": "#0072B2", "accept": "#E69F00", "skip": "#999999"}
_HATCHES: Final = {"ask": "", "accept": "//", "skip": ".."}
_OFFERED: Final = {
    "ask": "ask for a random bit",
    "accept": "accept, ask nothing",
    "skip": "skip, ask nothing",
}
_SAID: Final = {"ask": "asks", "accept": "accepts unasked", "skip": "skips unasked"}


def thresholds_drawing(
    title: str, plans: Sequence[LevelPlan], *, unit: str = "", source: str = ""
) -> Drawing:
    """Draw the threshold of each stage that asks, and which stages ask, accept or skip.

    Parameters
    ----------
    title
        Whose plan, learned from what.
    plans
        One for each level, of one horizon.
    unit
        Of the values; empty if it has no name.
    source
        What the priors were learned from, such as "priors of 851 episodes of bids.csv".

    Raises
    ------
    ParameterError
        If there is no level.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.priors import as_priors
    >>> from streamlearn.replays.levelplans import level_plan
    >>> from streamlearn.replays.stoppingfigures import thresholds_drawing
    >>> priors = as_priors([[0.0, 2.0], 0.5])
    >>> plan = level_plan("ε = 2", LDPOptimalStopper(priors, epsilon=2.0), priors)
    >>> thresholds_drawing("two people", [plan]).words
    'At ε = 2, stage 1 asks, stage 2 accepts unasked; the threshold is 0.5 at stage 1.'
    """
    _check(plans)
    few = spread(plans)

    def thresholds(axes: Axes) -> None:
        for plan, stages, style in _by_stage(few):
            _line(axes, stages, _published(plan), plan.label, style)
        axes.set_xlabel(across(_STAGE, source))
        axes.set_ylabel(upward(f"threshold: what going on is worth{in_unit(unit)}", "Theorem 4.4"))
        _whole_stages(axes, few)
        legend(axes)

    def cases(axes: Axes) -> None:
        for place, plan in enumerate(plans):
            for case, first, last in runs(plan.cases):
                colour = _FILLS[case]
                axes.barh(
                    place, last - first + 1, left=first - 0.5, height=0.8, hatch=_HATCHES[case],
                    facecolor=colour, edgecolor="black", linewidth=0.6,
                )  # fmt: skip
        for case, colour in _FILLS.items():
            axes.barh(
                [math.nan], [math.nan], hatch=_HATCHES[case], facecolor=colour, edgecolor="black", linewidth=0.6,
                label=_OFFERED[case],
            )  # fmt: skip
        axes.set_yticks(range(len(plans)), [plan.label for plan in plans], parse_math=False)
        axes.set(
            xlabel=across(_STAGE, source),
            ylabel="privacy level of each person",
            ylim=(-0.6, len(plans) - 0.4),
        )
        _whole_stages(axes, plans)
        legend(axes)

    columns = ["stage"]
    rows: list[list[str | float]] = [[str(stage + 1)] for stage in range(len(few[0].cases))]
    for plan in few:
        columns += [f"{plan.label}: case", "threshold"]
        for row, case, threshold in zip(rows, plan.cases, _published(plan), strict=True):
            row += [case, float(threshold)]
    return Drawing(title, [thresholds, cases], " ".join(map(_plan_words, few)), columns, rows)


def privacy_drawing(
    title: str, plans: Sequence[LevelPlan], *, unit: str = "", source: str = "", asked: str = ""
) -> Drawing:
    """Draw where the privacy goes: who is asked, above which ε asking pays, and what more ε would be worth.

    Parameters
    ----------
    title
        Whose plan, learned from what.
    plans
        One for each level, of one horizon. Break-even levels and marginal prices are the optimal stopper's only.
    unit
        Of the values; empty if it has no name.
    source
        What the priors were learned from, such as "priors of 851 episodes of bids.csv".
    asked
        Of which episodes the shares are, such as "260 held-out episodes".

    Raises
    ------
    ParameterError
        If there is no level.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.priors import as_priors
    >>> from streamlearn.replays.levelplans import level_plan
    >>> from streamlearn.replays.stoppingfigures import privacy_drawing
    >>> priors = as_priors([[0.0, 2.0], 0.5])
    >>> plan = level_plan("ε = 2", LDPOptimalStopper(priors, epsilon=2.0), priors)
    >>> print(privacy_drawing("two people", [plan]).words)
    At ε = 2, 1 of 2 stages ask, 1 person an episode on average; more ε is worth most at stage 1, 0.105 for each unit.
    """
    _check(plans)
    few = spread(plans)

    def shares(axes: Axes) -> None:
        for plan, stages, style in _by_stage(few):
            _line(axes, stages, plan.asked, plan.label, style)
        axes.set(xlabel=across(_STAGE, source), ylim=(0, 1.03))
        axes.set_ylabel(upward("share of episodes that ask", asked or "exact under the priors"))
        _whole_stages(axes, few)
        legend(axes)

    def levels(axes: Axes) -> None:
        for plan, stages, style in _by_stage(few):
            found = _numbers(plan.break_even)
            _line(axes, stages, np.where(np.isfinite(found), found, np.nan), plan.label, style)
            axes.axhline(plan.epsilon, color=style[0], linewidth=1, linestyle="--")
        axes.plot([], [], color=FAINT, linewidth=1, linestyle="--", label="dashed: the level")
        never = _never_paying(few)
        if never:
            axes.plot([], [], linestyle="none", label=f"never pays: {_listed('stage', never)}")
        axes.set(xlabel=across(_STAGE, source), ylim=(0, None))
        axes.set_ylabel(upward("break-even ε: above it asking pays", "ours, from Theorem 4.4"))
        _whole_stages(axes, few)
        legend(axes)

    def prices(axes: Axes) -> None:
        for plan, stages, style in _by_stage(few):
            _line(axes, stages, _numbers(plan.marginal), plan.label, style)
        axes.set(xlabel=across(_STAGE, source), ylim=(0, None))
        axes.set_ylabel(
            upward(f"marginal price dW/dε{in_unit(unit and f'{unit} per ε')}", "ours, from Theorem 4.4")
        )
        _whole_stages(axes, few)
        legend(axes)

    return Drawing(
        title,
        [shares, levels, prices] if _optimal(few) else [shares],
        " ".join(map(_privacy_words, few)),
        *_privacy_table(few),
        wide=2,
    )


def stopping_law_drawing(title: str, plans: Sequence[LevelPlan], *, source: str = "") -> Drawing:
    """Draw how likely it is that the person of each stage is taken, or nobody.

    Parameters
    ----------
    title
        Whose plan, learned from what.
    plans
        One for each level, of one horizon.
    source
        What the priors were learned from.

    Raises
    ------
    ParameterError
        If there is no level.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.priors import as_priors
    >>> from streamlearn.replays.levelplans import level_plan
    >>> from streamlearn.replays.stoppingfigures import stopping_law_drawing
    >>> priors = as_priors([[0.0, 2.0], 0.5])
    >>> plan = level_plan("ε = 2", LDPOptimalStopper(priors, epsilon=2.0), priors)
    >>> drawn = stopping_law_drawing("two people", [plan])
    >>> drawn.rows
    [['1', '50.0%'], ['2', '50.0%'], ['nobody', '0.0%']]
    """
    _check(plans)
    few = spread(plans)
    stages = [*(str(stage + 1) for stage in range(len(few[0].cases))), "nobody"]

    def law(axes: Axes) -> None:
        for plan, places, style in _by_stage(few):
            # The last place is no stage: no line leads there.
            _line(axes, places, plan.stop_law[:-1], plan.label, style)
            axes.plot(
                places[-1:] + _aside(len(places)),
                plan.stop_law[-1:],
                color=style[0],
                marker=style[1],
                markersize=5,
            )
        axes.set(xlabel=across(_STAGE, source), ylim=(0, None))
        axes.set_ylabel(upward("probability that this person is taken", "exact under the priors"))
        _whole_stages(axes, few, nobody=True)
        legend(axes)

    return Drawing(
        title,
        [law],
        " ".join(map(_law_words, few)),
        ["person of stage", *(plan.label for plan in few)],
        [[stage, *(f"{plan.stop_law[i]:.1%}" for plan in few)] for i, stage in enumerate(stages)],
        wide=1,
    )


def _check(plans: Sequence[LevelPlan]) -> None:
    if not plans:
        raise ParameterError("a figure needs at least one privacy level; give one")


def _by_stage(plans: Sequence[LevelPlan]) -> Iterator[tuple[LevelPlan, Floats, tuple[str, str]]]:
    for plan, style in zip(plans, STYLES, strict=False):
        yield plan, np.arange(1.0, len(plan.cases) + 1), style


def _line(axes: Axes, x: Floats, y: Floats, label: str, style: tuple[str, str]) -> None:
    colour, marker = style
    every = max(1, len(x) // 20)
    axes.plot(x, y, color=colour, marker=marker, markevery=every, markersize=5, linewidth=1.6, label=label)


def _whole_stages(axes: Axes, plans: Sequence[LevelPlan], *, nobody: bool = False) -> None:
    """Put ticks at whole stages, and at the place behind the last for nobody."""
    horizon = len(plans[0].cases)
    step = max(1, math.ceil(horizon / 10))
    places: list[float] = list(range(1, horizon + 1, step))
    names = [f"{place:g}" for place in places]
    if nobody:
        places, names = [*places, horizon + _aside(horizon)], [*names, "nobody"]
    axes.set_xticks(places, names)
    axes.set_xlim(0.4, horizon + 0.6 + nobody * _aside(horizon))


def _aside(horizon: int) -> float:
    """Return how far behind the last stage "nobody" stands."""
    return 1.0 + horizon / 20


def _numbers(found: Floats | None) -> Floats:
    return np.array([]) if found is None else np.asarray(found, dtype=np.float64)


def _published(plan: LevelPlan) -> Floats:
    """Return the thresholds that clients are told: of stages that ask."""
    return np.where([case == "ask" for case in plan.cases], plan.thresholds, np.nan)


def _stages(first: int, last: int) -> str:
    return f"stage {first}" if first == last else f"stages {first} to {last}"


def _optimal(plans: Sequence[LevelPlan]) -> bool:
    """Return whether the plans are the optimal stopper's, of which alone we know what more ε is worth."""
    return all(plan.break_even is not None and plan.marginal is not None for plan in plans)


def _never_paying(plans: Sequence[LevelPlan]) -> list[str]:
    """Return the stages where asking pays at no ε, for any of the plans."""
    infinite = [np.isinf(_numbers(plan.break_even)) for plan in plans]
    return [str(stage + 1) for stage in np.flatnonzero(np.any(infinite, axis=0))]


def _privacy_table(few: Sequence[LevelPlan]) -> tuple[list[str], list[list[str | float]]]:
    columns = ["stage"]
    rows: list[list[str | float]] = [[str(stage + 1)] for stage in range(len(few[0].cases))]
    if not _optimal(few):
        return ["stage", *(f"{plan.label}: asked" for plan in few)], [
            [str(stage + 1), *(f"{plan.asked[stage]:.1%}" for plan in few)] for stage in range(len(rows))
        ]
    for plan in few:
        columns += [f"{plan.label}: asked", "break-even ε", "dW/dε"]
        found = zip(plan.asked, _numbers(plan.break_even), _numbers(plan.marginal), strict=True)
        for row, (share, level, price) in zip(rows, found, strict=True):
            row += [f"{share:.1%}", float(level), float(price)]
    return columns, rows


def _listed(what: str, names: Sequence[str]) -> str:
    shown = names if len(names) <= 3 else [*names[:2], "…"]
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(shown)}"


def _plan_words(plan: LevelPlan) -> str:
    found = list(runs(plan.cases))
    said = [
        f"{_stages(first, last)} {_SAID[case] if first == last else _plural(_SAID[case])}"
        for case, first, last in found[:6]
    ]
    if len(found) > 6:
        said.append("and so on")
    asking = [stage for stage, case in enumerate(plan.cases) if case == "ask"]
    ends = [f"{number(float(plan.thresholds[stage]), 4)} at stage {stage + 1}" for stage in asking]
    if not ends:
        return f"At {plan.label}, {', '.join(said)}."
    thresholds = f"the threshold is {ends[0]}" + (f" and {ends[-1]}" if len(ends) > 1 else "")
    return f"At {plan.label}, {', '.join(said)}; {thresholds}."


def _plural(verb: str) -> str:
    first, *rest = verb.split()
    return " ".join([first.removesuffix("s"), *rest])


def _privacy_words(plan: LevelPlan) -> str:
    asks, prices = list(plan.cases).count("ask"), _numbers(plan.marginal)
    people = math.fsum(plan.asked)
    said = (
        f"At {plan.label}, {asks} of {len(plan.cases)} stages ask, {number(people, 3)} "
        f"{'person' if people == 1 else 'people'} an episode on average"
    )
    if not asks or not len(prices):
        return f"{said}."
    best = int(np.argmax(prices))
    return (
        f"{said}; more ε is worth most at stage {best + 1}, {number(float(prices[best]), 3)} for each unit."
    )


def _law_words(plan: LevelPlan) -> str:
    law = plan.stop_law
    likeliest = int(np.argmax(law[:-1]))
    return (
        f"At {plan.label}, the person of stage {likeliest + 1} is the likeliest to be taken ({law[likeliest]:.1%}); "
        f"{law[0]:.1%} of episodes stop at once, and in {law[-1]:.1%} nobody is taken."
    )
