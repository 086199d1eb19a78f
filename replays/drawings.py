"""What all figures of stopping share: colours, panels, and words and a table for whoever does not see them."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streamlearn.errors import MissingExtraError, ParameterError
from streamlearn.files import write_atomically
from streamlearn.priors.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, distinguishable with any colour vision; a marker each, so that grey print works too.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"))
FORMATS = {".png", ".svg", ".pdf"}
EPSILON_AXIS = "privacy level ε of each person"
FAINT = (0.0, 0.0, 0.0, 0.65)
"""Black that lets the paper through: what is neutral in a figure is black, so that a dark page can turn it white."""

DASHES: tuple[Dashes, ...] = ("-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3)))
_WIDTH = 5.2  # inches of a panel: labels of 10 points stay readable at half size, and on a phone
_SHORT = 26  # letters of a label of which two stand side by side
_ACROSS, _UPWARD = 60, 40  # letters of a line below a panel, and beside it
_BELOW, _LINE = 40, 14  # points from an axis to its legend, and more for each further line of its label

Dashes = str | tuple[float, tuple[float, ...]]
Panel = Callable[["Axes"], None]
Row = Sequence[str | float]


class Drawing(NamedTuple):
    """A figure that can be looked at, listened to, and read as a table.

    Attributes
    ----------
    title
        What it shows.
    panels
        Each draws itself on axes of its own.
    words
        What there is to see, for whoever does not see it.
    columns
        Headings of the table of what is drawn.
    rows
        Its cells: text, or figures.
    wide
        Panels beside each other in a file.
    tall
        Inches of a panel.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays.drawings import Drawing
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "line.svg"
    >>> line = Drawing("a line", [lambda axes: axes.plot([1, 2], [3, 4])], "It rises to 4.", ["x"], [[1.0]])
    >>> line.save(file)
    >>> file.read_text().startswith("<?xml")
    True
    """

    title: str
    panels: Sequence[Panel]
    words: str
    columns: Sequence[str]
    rows: Sequence[Row]
    wide: int = 2
    tall: float = 4.3

    def save(self, path: str | Path) -> None:
        """Write the panels as one figure, whole or not at all.

        Parameters
        ----------
        path
            Where to write: .png, .svg or .pdf.

        Raises
        ------
        MissingExtraError, ParameterError, StreamlearnError
            As :func:`new_figure` and :func:`save`.
        """
        beside = min(self.wide, len(self.panels))
        down = -(-len(self.panels) // beside)
        figure = new_figure(self.title, (_WIDTH * beside, self.tall * down))
        grid = figure.subplots(down, beside, squeeze=False)
        for axes, panel in zip(grid.flat, self.panels, strict=False):
            panel(axes)
        for unused in list(grid.flat)[len(self.panels) :]:
            unused.set_visible(False)
        save(figure, Path(path))

    def figures(self) -> Iterator[Figure]:
        """Yield a figure for each panel, without a title: for a page, which puts them where there is room.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        for panel in self.panels:
            figure = new_figure("", (_WIDTH, self.tall))
            panel(figure.subplots())
            plain(figure)
            yield figure


def in_unit(unit: str) -> str:
    """Return the unit of a value for an axis or a heading; nothing if it has no name."""
    return f" ({unit})" if unit else ""


def neutral_line(axes: Axes, x: Floats, y: Floats, label: str, dashes: Dashes) -> None:
    """Draw what is not an agent's: no colour, no markers."""
    axes.plot(x, y, color=FAINT, linewidth=1.2, linestyle=dashes, label=label)


def legend(axes: Axes) -> None:
    """Put the legend below the axis and its label, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415 - an extra

    handles, labels = axes.get_legend_handles_labels()
    narrow = len(labels) > 2 and all(len(label) <= _SHORT for label in labels)
    down = _BELOW + _LINE * axes.get_xlabel().count("\n")
    below = axes.transAxes + ScaledTranslation(0.0, -down / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(-0.02, 0.0), bbox_transform=below, ncols=1 + narrow,
        fontsize=9, frameon=False, borderaxespad=0,
    )  # fmt: skip


def across(text: str, source: str = "") -> str:
    """Return the label of a horizontal axis, and on lines of its own where its figures come from."""
    return "\n".join([*textwrap.wrap(text, _ACROSS), *textwrap.wrap(source, _ACROSS)])


def upward(text: str, source: str = "") -> str:
    """Return the label of a vertical axis, as :func:`across`: there is less room."""
    return "\n".join([*textwrap.wrap(text, _UPWARD), *textwrap.wrap(source, _UPWARD)])


def new_figure(title: str, size: tuple[float, float] = (9.6, 4.0)) -> Figure:
    """Return an empty figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and 300 ms
    except ImportError:
        raise MissingExtraError(
            "figures need matplotlib;"
            ' install streamlearn with its extra "plot" (in a checkout: pip install ".[plot]")'
        ) from None
    figure = Figure(figsize=size, layout="constrained")
    if title:
        figure.suptitle(title, fontsize=12, parse_math=False)
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


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all.

    Raises
    ------
    ParameterError
        As :func:`check_path`.
    StreamlearnError
        If the file cannot be written.
    """
    check_path(path)
    plain(figure)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=150)
    write_atomically(path, drawn.getvalue())


def plain(figure: Figure) -> None:
    """Take away what carries no figure, on all axes."""
    for axes in figure.axes:
        named = axes.get_legend()
        for text in [axes.xaxis.label, axes.yaxis.label, *([] if named is None else named.get_texts())]:
            text.set_parse_math(False)  # a log may be called a$b$.csv
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
        axes.grid(visible=True, color="black", alpha=0.08)
