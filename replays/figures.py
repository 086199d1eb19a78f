"""Figures of what privacy costs. Needs matplotlib, the extra ``plot``."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from streamlearn.errors import MissingExtraError, ParameterError
from streamlearn.files import write_atomically
from streamlearn.priors.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from streamlearn.replays.predictions import PredictionResult

# Okabe and Ito's colours, distinguishable with any colour vision; a marker each, so that grey print works too.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"))
FORMATS = {".png", ".svg", ".pdf"}


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


def price_of_privacy(
    path: str | Path, title: str, curves: Sequence[Curve], *, optimum: float, maximum: float, horizon: int
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
    >>> from streamlearn.replays.figures import Band, Curve, price_of_privacy
    >>> levels, rewards = np.array([0.0, 1.0, 4.0]), np.array([0.5, 0.6, 0.8])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "price.svg"
    >>> curve = Curve("optimal", levels, Band(*[rewards] * 3), Band(*[rewards / 0.86] * 3))
    >>> price_of_privacy(file, "an example", [curve], optimum=0.86, maximum=0.91, horizon=10)
    >>> file.read_text().startswith("<?xml")
    True
    """
    figure = _figure(title)
    left, right = figure.subplots(1, 2)
    for curve, (colour, marker) in zip(curves, STYLES * len(curves), strict=False):
        _draw(left, curve, curve.rewards, colour, marker)
        _draw(right, curve, curve.shares, colour, marker)
    left.axhline(maximum, color="0.35", linewidth=1, linestyle=":", label="mean maximum (prophet)")
    left.axhline(optimum, color="0.35", linewidth=1, linestyle="--", label="optimum without privacy")
    left.set(xlabel="privacy level ε of each person", ylabel="mean value taken per episode")
    left.legend(loc="lower right", fontsize=8, frameon=False)
    levels = np.linspace(0.0, max(float(curve.epsilons.max()) for curve in curves), 200)
    worst = 1.0 / (1.0 + (horizon - 1) * np.exp(-levels))
    right.plot(
        levels, worst, color="0.35", linewidth=1, label="optimal, worst case of all priors (Theorem 5.1)"
    )
    right.set(
        xlabel="privacy level ε of each person", ylabel="share of the optimum without privacy", ylim=(0, 1.03)
    )
    right.legend(loc="lower right", fontsize=8, frameon=False)
    _save(figure, Path(path))


def _draw(axes: Axes, curve: Curve, band: Band, colour: str, marker: str) -> None:
    axes.plot(curve.epsilons, band.mean, color=colour, marker=marker, markersize=4, label=curve.label)
    if not np.array_equal(band.low, band.high):
        axes.fill_between(curve.epsilons, band.low, band.high, color=colour, alpha=0.15, linewidth=0)


def _figure(title: str) -> Figure:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and 300 ms
    except ImportError:
        raise MissingExtraError(
            "figures need matplotlib;"
            ' install streamlearn with its extra "plot" (in a checkout: pip install ".[plot]")'
        ) from None
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    figure.suptitle(title, fontsize=11)
    return figure


def check_path(path: Path) -> None:
    """Refuse a place where no figure can be written.

    Raises
    ------
    ParameterError
        If the name has another ending than a figure's, or its folder is missing.
    """
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"{path}: a figure's name must end in {', '.join(sorted(FORMATS))}")
    if not path.parent.is_dir():
        raise ParameterError(f"{path}: its folder does not exist; make it first")


def _save(figure: Figure, path: Path) -> None:
    check_path(path)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, color="0.92")
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    write_atomically(path, drawn.getvalue())


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
    figure = _figure(title)
    axes = figure.subplots()
    for (name, result), (colour, marker) in zip(results.items(), STYLES * len(results), strict=False):
        counts, mistakes = result.curve()
        label = f"{name}: {result.mistakes}"
        every = max(1, len(counts) // 8)
        axes.plot(counts, mistakes, color=colour, marker=marker, markevery=every, markersize=5, label=label)
    axes.set(xlabel="events", ylabel="mistakes so far", ylim=(0, None))
    axes.legend(loc="upper left", fontsize=9, frameon=False)
    _save(figure, Path(path))
