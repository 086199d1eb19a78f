"""Figures of what privacy costs. Needs matplotlib, the extra ``plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from streamlearn.priors.base import Floats
from streamlearn.replays.drawings import (
    DASHES,
    EPSILON_AXIS,
    FAINT,
    Drawing,
    across,
    in_unit,
    legend,
    neutral_line,
    new_figure,
    save,
    upward,
)
from streamlearn.replays.drawings import STYLES as STYLES  # noqa: PLC0414 - others have it from here
from streamlearn.replays.drawings import check_path as check_path  # noqa: PLC0414 - as above
from streamlearn.replays.rendering import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streamlearn.replays.predictions import PredictionResult


class Band(NamedTuple):
    """A figure over privacy levels, each of shape (k,); the ends equal the mean where it is exact."""

    mean: Floats
    low: Floats
    high: Floats


class Curve(NamedTuple):
    """How one agent fares over privacy levels.

    Attributes
    ----------
    label
        The agent.
    epsilons
        The levels, increasing, shape (k,).
    rewards
        Mean value taken per episode.
    shares
        Rewards over the optimum without privacy.
    """

    label: str
    epsilons: Floats
    rewards: Band
    shares: Band


class Benchmark(NamedTuple):
    """What somebody else would get over privacy levels, such as the private prophet.

    Attributes
    ----------
    label
        Who, and by which theorem.
    epsilons
        The levels, increasing, shape (k,).
    rewards
        Mean value taken per episode, shape (k,); NaN where it is not known.
    """

    label: str
    epsilons: Floats
    rewards: Floats


def price_of_privacy(
    path: str | Path,
    title: str,
    curves: Sequence[Curve],
    *,
    optimum: float,
    maximum: float,
    horizon: int,
    benchmarks: Sequence[Benchmark] = (),
    unit: str = "",
    source: str = "",
) -> None:
    """Draw reward against ε, and the share of the non-private optimum beside its worst case.

    Parameters
    ----------
    path
        Where to write: .png, .svg or .pdf; whole or not at all.
    title
        What was measured, on what.
    curves
        One per agent.
    optimum, maximum
        What the best stopper without privacy gets, and the mean maximum of an episode.
    horizon
        People per episode, for the worst case e^ε/(n - 1 + e^ε) of Theorem 5.1.
    benchmarks
        Others on the same episodes or priors: the private prophet L, the binary one B, W.
    unit
        Of the values; empty if it has no name.
    source
        Which log or priors.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the file name has another ending.
    StreamlearnError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from streamlearn.replays.figures import Band, Benchmark, Curve, price_of_privacy
    >>> levels, rewards = np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.6, 0.8])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "price.svg"
    >>> curve = Curve("optimal", levels, Band(*[rewards] * 3), Band(*[rewards / 0.86] * 3))
    >>> prophet = Benchmark("private prophet L (Section 6)", levels, np.array([0.5, 0.65, 0.85]))
    >>> price_of_privacy(
    ...     file, "an example", [curve], optimum=0.86, maximum=0.91, horizon=10, benchmarks=[prophet]
    ... )
    >>> file.read_text().startswith("<?xml")
    True
    """
    price_drawing(
        title,
        curves,
        optimum=optimum,
        maximum=maximum,
        horizon=horizon,
        benchmarks=benchmarks,
        unit=unit,
        source=source,
    ).save(path)


def price_drawing(
    title: str,
    curves: Sequence[Curve],
    *,
    optimum: float,
    maximum: float,
    horizon: int,
    benchmarks: Sequence[Benchmark] = (),
    unit: str = "",
    source: str = "",
) -> Drawing:
    """Return the figure that :func:`price_of_privacy` writes, with its words and its table.

    Parameters
    ----------
    title, curves, optimum, maximum, horizon, benchmarks, unit, source
        As :func:`price_of_privacy`.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.figures import Band, Curve, price_drawing
    >>> levels, rewards = np.array([0.0, 4.0]), np.array([0.5, 0.8])
    >>> curve = Curve("optimal", levels, Band(*[rewards] * 3), Band(*[rewards / 0.86] * 3))
    >>> drawn = price_drawing("an example", [curve], optimum=0.86, maximum=0.91, horizon=10)
    >>> drawn.rows[0]
    ['0', 'optimal', 0.5, 0.5813953488372093]
    """

    def rewards(axes: Axes) -> None:
        for curve, (colour, marker) in zip(curves, STYLES * len(curves), strict=False):
            _draw(axes, curve, curve.rewards, colour, marker)
        for benchmark, dashes in zip(benchmarks, DASHES * len(benchmarks), strict=False):
            neutral_line(axes, benchmark.epsilons, benchmark.rewards, benchmark.label, dashes)
        axes.axhline(maximum, color=FAINT, linewidth=1.2, linestyle=":", label="mean maximum (prophet)")
        axes.axhline(optimum, color=FAINT, linewidth=1.2, linestyle="--", label="optimum without privacy")
        axes.set_xlabel(across(EPSILON_AXIS, source))
        axes.set_ylabel(upward(f"mean value taken per episode{in_unit(unit)}"))
        legend(axes)

    def shares(axes: Axes) -> None:
        for curve, (colour, marker) in zip(curves, STYLES * len(curves), strict=False):
            _draw(axes, curve, curve.shares, colour, marker)
        for benchmark, dashes in zip(benchmarks, DASHES * len(benchmarks), strict=False):
            neutral_line(axes, benchmark.epsilons, benchmark.rewards / optimum, benchmark.label, dashes)
        levels = np.linspace(0.0, max(float(curve.epsilons.max()) for curve in curves), 200)
        worst = 1.0 / (1.0 + (horizon - 1) * np.exp(-levels))
        neutral_line(axes, levels, worst, "optimal, worst case of all priors (Theorem 5.1)", "-")
        axes.set(xlabel=across(EPSILON_AXIS, source), ylim=(0, 1.03))
        axes.set_ylabel(upward("share of the optimum without privacy"))
        legend(axes)

    return Drawing(
        title,
        [rewards, shares],
        _price_words(curves, optimum, maximum),
        ["ε", "agent", f"mean value taken{in_unit(unit)}", "of the optimum"],
        [
            [number(float(level)), curve.label, float(reward), float(share)]
            for curve in curves
            for level, reward, share in zip(
                curve.epsilons, curve.rewards.mean, curve.shares.mean, strict=True
            )
        ],
    )


def _price_words(curves: Sequence[Curve], optimum: float, maximum: float) -> str:
    ends = "; ".join(
        f"{curve.label} takes {number(float(curve.rewards.mean[0]), 4)} at ε = {number(float(curve.epsilons[0]))} "
        f"and {number(float(curve.rewards.mean[-1]), 4)} at ε = {number(float(curve.epsilons[-1]))}"
        for curve in curves
    )
    return (
        f"Mean value taken per episode against the privacy level: {ends}. Without privacy the best stopper takes "
        f"{number(optimum, 4)}, and the mean maximum is {number(maximum, 4)}."
    )


def _draw(axes: Axes, curve: Curve, band: Band, colour: str, marker: str) -> None:
    axes.plot(curve.epsilons, band.mean, color=colour, marker=marker, markersize=5, label=curve.label)
    if not np.array_equal(band.low, band.high):
        axes.fill_between(curve.epsilons, band.low, band.high, color=colour, alpha=0.15, linewidth=0)


def mistake_curves(path: str | Path, title: str, results: Mapping[str, PredictionResult]) -> None:
    """Draw the mistakes of predictors as a stream goes on.

    Parameters
    ----------
    path
        Where to write: .png, .svg or .pdf; whole or not at all.
    title
        What was replayed.
    results
        By the predictors' names.

    Raises
    ------
    MissingExtraError, ParameterError, StreamlearnError
        As :func:`price_of_privacy`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import replay_many
    >>> from streamlearn.replays.figures import mistake_curves
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mistakes.svg"
    >>> mistake_curves(file, "an example", replay_many([(3, True), (2, False)], {"SOA": SOA(Thresholds(9))}))
    >>> file.read_text().startswith("<?xml")
    True
    """
    figure = new_figure(title)
    axes = figure.subplots()
    for (name, result), (colour, marker) in zip(results.items(), STYLES * len(results), strict=False):
        counts, mistakes = result.curve()
        label = f"{name}: {result.mistakes}"
        every = max(1, len(counts) // 8)
        axes.plot(counts, mistakes, color=colour, marker=marker, markevery=every, markersize=5, label=label)
    axes.set(xlabel="events", ylabel="mistakes so far", ylim=(0, None))
    axes.legend(loc="upper left", fontsize=9, frameon=False)
    save(figure, Path(path))
