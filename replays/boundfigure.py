"""The figure of all bounds: over the length of a stream, and over δ as in the paper's Figure 1. Needs matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from streamlearn.errors import MissingExtraError, ParameterError
from streamlearn.files import write_atomically
from streamlearn.priors.base import Floats
from streamlearn.replays.boundcurves import Setting, curves, grid
from streamlearn.replays.figures import check_path
from streamlearn.replays.measured import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS: Final = 81
"""Places at which a curve is computed."""

MOST_DRAWN: Final = 10**100
"""The longest stream of a figure: matplotlib's margins overflow at some greater power."""

_MOST_SHOWN = 1e6  # mistakes for each dimension; above, only the trivial bound and tiny γ go on

_GREY = "0.45"


class Line(NamedTuple):
    """How a bound is drawn: upper ones solid, lower ones dashed, as in the paper; others' thin and dotted."""

    colour: str
    dashes: str
    width: float
    label: str


# Okabe and Ito's colours, distinguishable with any colour vision; dashes and markers tell them apart in grey print.
_BLUE, _VERMILION, _PINK, _GREEN, _ORANGE, _SKY = (
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#009E73",
    "#E69F00",
    "#56B4E9",
)
_SUBSAMPLED = (_GREEN, _SKY)
_LINES: Final[dict[str, Line]] = {
    "trivial": Line("0.2", "-", 1.4, "T: every round wrong (trivial)"),
    "soa": Line(_ORANGE, "-", 2.0, "d: SOA, not private"),
    "repetition": Line(
        _BLUE,
        "--",
        2.8,
        "one label repeated (group privacy, Fact 1):\nthe real lower bound on streams one can run",
    ),
    "forced": Line(
        _BLUE,
        "--",
        2.8,
        "one label repeated at each of d nodes:\nthe real lower bound on streams one can run",
    ),
    "algorithm1": Line(_VERMILION, "--", 1.8, "Theorem 1 summed over Algorithm 1's stages"),
    "theorem1": Line(_PINK, "--", 1.8, "Theorem 1, closed form"),
    "theorem2-paper": Line("0.2", "--", 1.4, "Theorem 2, constants as printed"),
    "theorem3": Line(_VERMILION, "-", 2.0, "Theorem 3, prediction: 3B + 12d + 2D"),
    "gl21": Line(_GREY, ":", 1.6, "[GL21] upper, learning: log T"),
    "lwy24": Line(_GREY, "-.", 1.2, "[LWY24] lower, learning: log min(T, ε/δ)"),
}


class Marks(NamedTuple):
    """Measured mistakes and how to draw them.

    Attributes
    ----------
    measured
        The means.
    marker
        matplotlib's.
    colour
        Of the agent.
    hollow
        Whether the markers are not filled.
    """

    measured: Measured
    marker: str
    colour: str
    hollow: bool


def marks(soa: Sequence[Measured], subsampled: Sequence[Measured]) -> list[Marks]:
    """Return how to draw measured mistakes: an agent by its marker, the first of its streams hollow, the second filled.

    Parameters
    ----------
    soa, subsampled
        Of SOA and of subsampled SOA: on Algorithm 1's streams, then on one label repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.boundfigure import marks
    >>> from streamlearn.replays.measured import Measured
    >>> once = Measured("SOA", np.array([10.0]), np.array([0.5]), np.array([0.1]), [100])
    >>> [(mark.marker, mark.hollow) for mark in marks([once], [once, once])]
    [('o', True), ('s', True), ('s', False)]
    """
    styles = ((soa, "o", _ORANGE), (subsampled, "s", _GREEN))
    return [
        Marks(measured, marker, colour, hollow=place == 0)
        for found, marker, colour in styles
        for place, measured in enumerate(found)
    ]


def bounds_figure(
    path: str | Path,
    name: str,
    at: Setting,
    longest: int,
    *,
    over_lengths: Sequence[Marks] = (),
    over_deltas: Sequence[Marks] = (),
    rounds: int | None = None,
) -> None:
    """Draw bounds over the length of a stream, and over δ at the longest: for POINT3 the paper's Figure 1.

    Upper bounds are solid, lower ones dashed, grey is the gap between the best of both.

    Parameters
    ----------
    path
        Where to write: .png, .svg or .pdf; whole or not at all.
    name
        The class.
    at
        The class's dimension and the privacy of the left panel.
    longest
        T of the right panel, 10 to 10^100.
    over_lengths, over_deltas
        Measured mistakes for either panel.
    rounds
        The length of the streams behind ``over_deltas``, if they are shorter than ``longest``.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the file name has another ending, or ``longest`` is less than 10 or more than 10^100.
    StreamlearnError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays.boundcurves import Setting
    >>> from streamlearn.replays.boundfigure import bounds_figure
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "bounds.svg"
    >>> bounds_figure(file, "point3", Setting(d=1, dummy=True, delta=0.01), 1000)
    >>> file.read_text().startswith("<?xml")
    True
    """
    check_figure(path, longest)
    figure = _figure()
    left, right = figure.subplots(1, 2, sharey=True)
    figure.suptitle(
        f"Expected mistakes, {name} (d = {at.d}), learners of privacy (ε, δ) with ε = {at.epsilon:g}"
    )
    for axes in (left, right):
        axes.set(xscale="log", yscale="log")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, color="0.92")
    _lengths_panel(left, at, grid(longest, POINTS))
    _deltas_panel(right, at, longest, np.geomspace(_least_delta(longest), 0.25, POINTS))
    if over_lengths and at.gammas[0] > at.delta:
        left.set_xlabel(
            f"{left.get_xlabel()}\nγ > δ: subsampled SOA is less private than the lower bounds ask"
        )
    if rounds is not None and over_deltas:
        right.set_xlabel(f"{right.get_xlabel()}\nmeasured on streams of {_rounds(rounds)} rounds")
    top = 3 * min(float(longest), _MOST_SHOWN * max(1, at.d))
    bottom = _bottom(left, right)
    left.set_ylim(bottom, top)
    for axes, found in ((left, over_lengths), (right, over_deltas)):
        for mark in found:
            _mark(axes, mark, bottom)
    _legend(figure, left, right)
    drawn = io.BytesIO()
    file = Path(path)
    figure.savefig(drawn, format=file.suffix[1:].lower(), dpi=150)
    write_atomically(file, drawn.getvalue())


def check_figure(path: str | Path, longest: int) -> None:
    """Refuse a figure that cannot be drawn or written, before any work.

    Parameters
    ----------
    path
        Where to write.
    longest
        T of the right panel.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the name has another ending than a figure's, its folder is missing, or the stream is too short or too long.

    Examples
    --------
    >>> from streamlearn.replays.boundfigure import check_figure
    >>> check_figure("bounds.png", 1000)
    """
    check_path(Path(path))
    _figure()
    if not 10 <= longest <= MOST_DRAWN:
        raise ParameterError(
            f"a figure needs streams of 10 to 1e100 rounds, got {_rounds(longest)}; choose another length"
        )


def _figure() -> Figure:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and 300 ms
    except ImportError:
        raise MissingExtraError(
            "figures need matplotlib;"
            ' install streamlearn with its extra "plot" (in a checkout: pip install ".[plot]")'
        ) from None
    return Figure(figsize=(11.0, 7.0), layout="constrained")


def _lengths_panel(axes: Axes, at: Setting, lengths: Sequence[int]) -> None:
    x = np.array(lengths, dtype=np.float64)
    lower = curves([_main(at)], lengths, at)[0].values
    upper = x if at.delta == 0 else np.minimum(x, at.d / at.delta)
    axes.fill_between(x, lower, upper, where=(upper > lower).tolist(), color="0.5", alpha=0.15, linewidth=0)
    for name in _applying(at, at.delta):
        _draw(axes, x, curves([name], lengths, at)[0].values, _LINES[name])
    for gamma, colour in zip(at.gammas, _SUBSAMPLED * len(at.gammas), strict=False):
        label = f"d/γ: subsampled SOA, γ = {gamma:g} (left), γ = δ (right; Fact 5)"
        _draw(axes, x, np.full(len(x), at.d / gamma), Line(colour, "-", 2.0, label))
    axes.set(xlabel="length of the stream T, in rounds", ylabel="expected mistakes in T rounds, $E[M_T]$")
    axes.set_title(f"by the stream's length, δ = {at.delta:g}", fontsize=11)


def _deltas_panel(axes: Axes, at: Setting, longest: int, deltas: Floats) -> None:
    def over(name: str) -> Floats:
        return np.array([_at_delta(name, at, longest, delta) for delta in deltas.tolist()])

    lower, upper = over(_main(at)), np.minimum(float(longest), at.d / deltas)
    axes.fill_between(
        deltas,
        lower,
        upper,
        where=(upper > lower).tolist(),
        color="0.5",
        alpha=0.15,
        linewidth=0,
        label="open gap, up to min(T, d/δ)",
    )
    for name in _applying(at, 0.0):
        _draw(axes, deltas, over(name), _LINES[name])
    if _as_figure_1(at):
        for name in ("gl21", "lwy24"):
            label = f"{_LINES[name].label}\n(shape only: constant unknown, here {at.constant:g})"
            rate = over(name)
            shown = np.where(rate > 0.1 * at.constant, rate, np.nan)  # it ends at 0, which has no logarithm
            _draw(axes, deltas, shown, _LINES[name]._replace(label=label))
    _draw(axes, deltas, at.d / deltas, Line(_GREEN, "-", 2.0, ""))
    axes.set(xlabel="privacy parameter δ, a probability (δ = 0 lies to the left)")
    named = " (as the paper's Figure 1)" if _as_figure_1(at) else ""
    axes.set_title(f"by δ, T = {_rounds(longest)}{named}", fontsize=11, pad=28)
    axes.text(deltas[1], lower[1] * 1.5, "forced on streams of real length", color=_BLUE, fontsize=10)
    _name_deltas(axes, longest, deltas)


def _at_delta(name: str, at: Setting, longest: int, delta: float) -> float:
    """Return a bound at some δ; undefined where it says nothing, as Theorem 2 beyond ε²."""
    if name == "theorem3" and delta < at.delta:
        return math.nan  # its plan promises the δ it was made for, and what is larger
    try:
        return float(curves([name], [longest], at._replace(delta=delta))[0].values[0])
    except ParameterError:
        return math.nan


def _rounds(longest: int) -> str:
    return f"{longest:,}" if longest < 10**9 else f"{float(longest):.3g}"


def _as_figure_1(at: Setting) -> bool:
    """Return whether the class is as easy as POINT3; others' bounds need ε > 0."""
    return at.dummy and at.d == 1 and at.epsilon > 0


def _main(at: Setting) -> str:
    """Return the lower bound that counts on streams of real length."""
    return "forced" if at.d > 1 else "repetition"


def _applying(at: Setting, delta: float) -> list[str]:
    """Return the curves that hold for a setting, up to some δ."""
    names = ["trivial", "soa", _main(at)]
    if at.candidate is not None:
        names.append("theorem3")
    if at.dummy or at.d > 1:
        names.append("algorithm1")
        if at.epsilon <= 0.01:
            names.append("theorem1")
    if at.d > 1 and 0 < at.epsilon <= 1 and delta <= min(at.epsilon**2, 0.25):
        names.append("theorem2-paper")
    return names


def _name_deltas(axes: Axes, longest: int, deltas: Floats) -> None:
    """Mark the values of δ that the paper names."""
    log = math.log(longest)
    named = {
        "$1/T$": 1 / longest,
        "$e^{-(\\log T)^{2/3}}$": math.exp(-(log ** (2 / 3))),
        "$1/\\log T$": 1 / log,
    }
    places = {label: place for label, place in named.items() if deltas[0] <= place <= deltas[-1]}
    top = axes.secondary_xaxis("top")
    top.set_xticks(list(places.values()), list(places))
    top.minorticks_off()
    top.spines["top"].set_visible(False)
    for place in places.values():
        axes.axvline(place, color="0.75", linewidth=0.8, zorder=0)


def _least_delta(longest: int) -> float:
    """Return the least δ drawn: a little below 1/T, and not absurdly little."""
    return float(0.1 ** min(9.0, max(3.0, math.log10(longest) + 1)))


def _draw(axes: Axes, x: Floats, values: Floats, line: Line) -> None:
    axes.plot(
        x, values, color=line.colour, linestyle=line.dashes, linewidth=line.width, label=line.label or None
    )


def _bottom(*panels: Axes) -> float:
    """Return the power of ten below all curves."""
    drawn = [np.asarray(line.get_ydata(), dtype=np.float64) for axes in panels for line in axes.get_lines()]
    least = min(float(np.nanmin(values)) for values in drawn if len(values) > 2)  # two are a vertical mark
    return float(10.0 ** math.floor(math.log10(max(least, 1e-4))))


def _mark(axes: Axes, mark: Marks, floor: float) -> None:
    """Draw means with their errors; a mean of 0 lies on the lower edge."""
    found = mark.measured
    means = np.maximum(found.means, floor)
    low = np.minimum(found.errors, means - floor)
    axes.errorbar(
        found.places, means, yerr=np.array([low, found.errors]), fmt=mark.marker, color="black", markersize=6.5,
        markerfacecolor="white" if mark.hollow else mark.colour, ecolor=mark.colour, elinewidth=1.2,
        capsize=2, clip_on=False,
        markeredgecolor=mark.colour if mark.hollow else "black", zorder=5, label=f"measured: {found.label}",
    )  # fmt: skip


def _legend(figure: Figure, *panels: Axes) -> None:
    """Put one legend below both panels, each label once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    title = "solid: upper bounds (on realisable streams) · dashed: lower bounds (online learning)"
    if any(axes.containers for axes in panels):
        title += " · markers: mean ± 2 standard errors"
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside lower center",
        ncols=2,
        fontsize=9.5,
        title=title,
        frameon=False,
    )
