"""The figure of private prediction: mistakes against rounds, by stream and δ, with what is promised. Needs matplotlib.

Streams are runs, so that 10^8 rounds are played in a second; :mod:`streamlearn.replays.skipping` says how exactly.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from streamlearn.errors import MissingExtraError
from streamlearn.files import write_atomically
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.replays.draws import generator_of
from streamlearn.replays.figures import STYLES, check_path
from streamlearn.replays.judges import Run
from streamlearn.replays.skipping import replay_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW: Final = 20.0
"""A row whose agents all stay below is drawn on a linear axis, with larger promises in words."""


class Track(NamedTuple):
    """The mistakes of one agent as streams go on, over several runs.

    Attributes
    ----------
    label
        The agent.
    counts
        Numbers of rounds, increasing, shape (k,).
    mean, low, high
        Mistakes by then: the mean, the fewest and the most of all runs, shape (k,).
    bound
        The most mistakes it promises, expected or nearly certain.
    """

    label: str
    counts: npt.NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    bound: float


class Panel(NamedTuple):
    """The tracks of all agents on streams of one kind at one δ.

    Attributes
    ----------
    tracks
        One an agent.
    forced
        Mistakes forced on any private learner by so many rounds, shape (k,); None where none are.
    """

    tracks: Sequence[Track]
    forced: Floats | None = None


def track(
    label: str,
    stream_of: Callable[[Key], Iterable[Run]],
    agent_of: Callable[[Key], Any],
    counts: Sequence[int],
    runs: int,
    key: Key,
    bound: float,
) -> Track:
    """Measure one agent: each run a stream and an agent of its own, long waits drawn at once.

    Parameters
    ----------
    label
        The agent's name.
    stream_of
        Draws a stream of runs by a key.
    agent_of
        Makes an agent by a key.
    counts
        Numbers of rounds, increasing.
    runs
        How many, at least 1.
    key
        Where all draws come from. Agents measured with one key see the same streams.
    bound
        What the agent promises.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays.privatefigure import track
    >>> found = track(
    ...     "subsampled", lambda key: [((1, True), 10**9)], lambda key: SubsampledSOA(Point3(), 1e-6, key),
    ...     [10, 10**9], 8, Key.from_seed(1), 1e6,
    ... )
    >>> found.mean[0], 1e5 < found.mean[1] < 1e7
    (np.float64(10.0), np.True_)
    """
    found = []
    for run in range(runs):
        own = key.derive(f"run/{run}")
        waits = generator_of(own.derive(f"waits/{label}"), None)
        result = replay_runs(
            stream_of(own.derive("stream")), agent_of(own.derive(f"agent/{label}")), generator=waits
        )
        found.append(result.mistakes_by(counts))
    all_runs = np.array(found, dtype=np.float64)
    return Track(
        label,
        np.array(counts, dtype=np.int64),
        all_runs.mean(axis=0),
        all_runs.min(axis=0),
        all_runs.max(axis=0),
        bound,
    )


def private_figure(
    path: str | Path, title: str, panels: Mapping[str, Mapping[str, Panel]], forced: str = ""
) -> None:
    """Draw mistakes against rounds: a row for each kind of stream, a column for each δ.

    Each agent's mean is a solid line with markers, with a band from its fewest to its most mistakes; dashed in the
    same colour is what it promises, or every round so far if that is less.

    Parameters
    ----------
    path
        Where to write: .png, .svg or .pdf; whole or not at all.
    title
        What was measured.
    panels
        By the row's name, then by the column's; every row has the same columns.
    forced
        What the lower bound is called.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the file name has another ending, or its folder is missing.
    StreamlearnError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from streamlearn.replays.privatefigure import Panel, Track, private_figure
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "private.svg"
    >>> found = np.array([1.0, 3.0])
    >>> panel = Panel([Track("SOA", np.array([1, 100]), found, found, found, 5.0)])
    >>> private_figure(file, "an example", {"a stream": {"δ = 0.1": panel}})
    >>> file.read_text().startswith("<?xml")
    True
    """
    file = Path(path)
    check_path(file)
    columns = len(next(iter(panels.values())))
    figure = _figure((3.3 * columns + 1.2, 2.5 * len(panels) + 1.3))
    figure.suptitle(title, fontsize=12)
    grid = figure.subplots(len(panels), columns, sharex=True, sharey="row", squeeze=False)
    for line, (row, found) in zip(grid, panels.items(), strict=True):
        few = _are_few(found.values())
        for axes, panel in zip(line, found.values(), strict=True):
            _draw(axes, panel, few=few, forced=forced)
        line[0].set_ylabel(f"{row}\nmistakes so far (count)")
        most = max(track.high.max() for panel in found.values() for track in panel.tracks)
        line[0].set_ylim((0, most * 1.25) if few else (0.5, most * 3))
    for axes, column in zip(grid[0], next(iter(panels.values())), strict=True):
        axes.set_title(column, fontsize=12)
    for axes in grid[-1]:
        axes.set_xlabel("rounds so far (count)")
    handles = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=file.suffix[1:].lower(), dpi=110)
    write_atomically(file, drawn.getvalue())


def _are_few(panels: Iterable[Panel]) -> bool:
    return all(track.high.max(initial=0.0) <= FEW for panel in panels for track in panel.tracks)


def _draw(axes: Axes, panel: Panel, *, few: bool, forced: str) -> None:
    axes.set(xscale="log", yscale="linear" if few else "log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="0.92")
    for place, (track, (colour, marker)) in enumerate(zip(panel.tracks, STYLES, strict=False)):
        counts = track.counts
        every = max(1, len(counts) // 6)
        start = place * every // max(1, len(panel.tracks))  # so that equal tracks show all their markers
        axes.fill_between(counts, track.low, track.high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(
            counts, track.mean, color=colour, marker=marker, markevery=(start, every), markersize=5,
            linewidth=1.6, label=track.label,
        )  # fmt: skip
        promised = np.minimum(counts, track.bound)
        axes.plot(counts, promised, color=colour, linestyle=(place * 2, (4, 4)), linewidth=1.1)
    if few and (above := sorted({track.bound for track in panel.tracks if track.bound > FEW})):
        listed = ", ".join(f"{bound:,.0f}" for bound in above)
        axes.text(
            0.5, 0.98, f"promises above this axis:\n{listed}", transform=axes.transAxes, ha="center", va="top",
            fontsize=8, color="0.35",
        )  # fmt: skip
    if panel.forced is not None:
        counts = panel.tracks[0].counts
        axes.plot(
            counts, panel.forced, color="0.2", linestyle=":", linewidth=2, marker="_", markersize=14,
            markevery=[len(counts) - 1], label=forced or None,
        )  # fmt: skip
    axes.plot([], [], color="0.45", linestyle="--", label="dashed: what it promises, or every round if less")


def _figure(size: tuple[float, float]) -> Figure:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and 300 ms
    except ImportError:
        raise MissingExtraError(
            "figures need matplotlib;"
            ' install streamlearn with its extra "plot" (in a checkout: pip install ".[plot]")'
        ) from None
    return Figure(figsize=size, layout="constrained")
