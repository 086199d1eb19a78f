"""The figure of the gap to prophets: what others would get on the same priors, and how far W may fall behind them.

Needs matplotlib, the extra ``plot``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from streamlearn.bounds import w_over_l, w_over_m, w_over_v
from streamlearn.errors import ParameterError
from streamlearn.priors.base import Floats
from streamlearn.replays.drawings import (
    EPSILON_AXIS,
    FAINT,
    STYLES,
    Drawing,
    across,
    in_unit,
    legend,
    neutral_line,
    upward,
)
from streamlearn.replays.rendering import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMES: Final = {
    "private": "private prophet L, Section 6",
    "binary": "binary private prophet B, Section 6",
    "ldp_online": "optimal stopper W, Theorem 4.4",
    "static": "one channel for all",
}


class Between(NamedTuple):
    """A benchmark known between two figures over privacy levels, each of shape (k,).

    Attributes
    ----------
    value
        What is attained, in the unit of the values.
    upper
        What is certainly not exceeded.
    certified
        Whether both agree, so that the value is exact.
    """

    value: Floats
    upper: Floats
    certified: npt.NDArray[np.bool_]


class Gap(NamedTuple):
    """What others get on the same priors, over privacy levels.

    Attributes
    ----------
    epsilons
        The levels, increasing, shape (k,).
    horizon
        People per episode.
    prophet
        M, the mean maximum.
    online
        V, the best stopper's without privacy.
    ldp_online
        W, the optimal stopper's, shape (k,).
    private, binary
        L and B, the private prophets'; None if they were not computed.
    interactive
        The upper bound of a prophet who may ask in turn, shape (k,); None if it was not computed.
    static
        The best with one channel for everybody, shape (k,); None if it was not computed.
    cells
        To how many cells laws of more values were rounded for the private prophets; None if none was. The bounds
        account for it.
    """

    epsilons: Floats
    horizon: int
    prophet: float
    online: float
    ldp_online: Floats
    private: Between | None = None
    binary: Between | None = None
    interactive: Floats | None = None
    static: Floats | None = None
    cells: int | None = None


def gap_drawing(title: str, gap: Gap, *, unit: str = "", source: str = "") -> Drawing:
    """Draw M, V, W, the private prophets and the static channel over ε, and the shares of W beside their worst cases.

    Parameters
    ----------
    title
        On which priors.
    gap
        The figures.
    unit
        Of the values; empty if it has no name.
    source
        What the priors were learned from.

    Raises
    ------
    ParameterError
        If there is no level.

    Notes
    -----
    Worst cases over all priors, n people: W/M is at least e^ε/(2e^ε + n - 2) (ours, closing Proposition 5.6), W/V
    at least e^ε/(n - 1 + e^ε) (Theorem 5.1), W/L at least (1 + e^(-ε))/2 (Theorem 6.3); all are 1 for n = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.prophetfigure import Gap, gap_drawing
    >>> gap = Gap(np.array([0.0, 1.0]), 10, prophet=10 / 11, online=0.861, ldp_online=np.array([0.5, 0.622]))
    >>> gap_drawing("ten uniforms", gap).words
    'The mean maximum is 0.9091, the best stopper without privacy expects 0.861. At ε = 0 the optimal stopper ...'
    """
    if not len(gap.epsilons):
        raise ParameterError("a figure needs at least one privacy level; give one")

    def values(axes: Axes) -> None:
        axes.axhline(gap.prophet, color=FAINT, linewidth=1.2, linestyle=":", label="prophet M: mean maximum")
        if gap.interactive is not None:
            neutral_line(axes, gap.epsilons, gap.interactive, "interactive upper bound of L (ours)", "-.")
        axes.axhline(gap.online, color=FAINT, linewidth=1.2, linestyle="--", label="best without privacy V")
        for name, style in zip(_NAMES, STYLES, strict=False):
            _draw(axes, gap.epsilons, getattr(gap, name), _NAMES[name], style)
        if not all(between.certified.all() for between in (gap.private, gap.binary) if between is not None):
            axes.plot(
                [], [], color=FAINT, marker="o", markersize=5, markerfacecolor="none", linestyle="none",
                label="hollow: not certified, shaded up to its bound",
            )  # fmt: skip
        axes.set_xlabel(across(EPSILON_AXIS, source))
        axes.set_ylabel(upward(f"expected value taken{in_unit(unit)}", "exact under the priors"))
        legend(axes)

    def shares(axes: Axes) -> None:
        levels = np.linspace(float(gap.epsilons.min()), float(gap.epsilons.max()), 200)
        for label, share, worst, style in _shares(gap, levels):
            axes.plot(
                gap.epsilons, share, color=style[0], marker=style[1], markersize=5, label=f"W/{label}",
            )  # fmt: skip
            axes.plot(levels, worst, color=style[0], linewidth=1.2, linestyle="--")
        axes.plot(
            [], [], color=FAINT, linewidth=1.2, linestyle="--", label="dashed: worst case of all priors"
        )
        axes.set(xlabel=across(EPSILON_AXIS, source), ylim=(0, 1.03))
        axes.set_ylabel(upward("share that W keeps", "Theorems 5.1 and 6.3; W/M ours"))
        legend(axes)

    columns, rows = _table(gap)
    return Drawing(title, [values, shares], _words(gap), columns, rows, tall=5.6)


def _worst_cases(epsilons: Floats, horizon: int) -> tuple[Floats, Floats, Floats]:
    """Return the least W/M, W/V and W/L of any priors of so many people, each of the shape of ``epsilons``."""
    of_maximum, of_online, of_private = (
        np.array([ratio(horizon, epsilon) for epsilon in epsilons.tolist()])
        for ratio in (w_over_m, w_over_v, w_over_l)
    )
    return of_maximum, of_online, of_private


def _shares(gap: Gap, levels: Floats) -> list[tuple[str, Floats, Floats, tuple[str, str]]]:
    """Return the benchmarks W is measured by: the name, its share over the levels, the worst case, how to draw it."""
    of_maximum, of_online, of_private = _worst_cases(levels, gap.horizon)
    found = [
        ("M", _shares_of(gap.ldp_online, gap.prophet), of_maximum, STYLES[2]),
        ("V", _shares_of(gap.ldp_online, gap.online), of_online, STYLES[4]),
    ]
    if gap.private is not None:
        # By the upper bound: what W certainly keeps.
        found.append(("L", _shares_of(gap.ldp_online, gap.private.upper), of_private, STYLES[0]))
    return found


def _draw(
    axes: Axes, levels: Floats, found: Between | Floats | None, label: str, style: tuple[str, str]
) -> None:
    if found is None:
        return
    colour, marker = style
    if not isinstance(found, Between):
        axes.plot(levels, found, color=colour, marker=marker, markersize=5, label=label)
        return
    axes.plot(levels, found.value, color=colour)
    axes.plot([], [], color=colour, marker=marker, markersize=5, label=label)
    axes.fill_between(levels, found.value, found.upper, color=colour, alpha=0.2, linewidth=0)
    sure = found.certified
    axes.plot(levels[sure], found.value[sure], color=colour, marker=marker, markersize=5, linestyle="none")
    if not sure.all():
        axes.plot(
            levels[~sure], found.value[~sure], color=colour, marker=marker, markersize=5, linestyle="none",
            markerfacecolor="none",
        )  # fmt: skip


def _table(gap: Gap) -> tuple[list[str], list[list[str | float]]]:
    columns = ["ε", "W", "W/V", "W/M"]
    levels = [number(level) for level in gap.epsilons.tolist()]
    figures = (
        gap.ldp_online,
        _shares_of(gap.ldp_online, gap.online),
        _shares_of(gap.ldp_online, gap.prophet),
    )
    rows: list[list[str | float]] = [
        list(row) for row in zip(levels, *(figure.tolist() for figure in figures), strict=True)
    ]
    for name, between in (("L", gap.private), ("B", gap.binary)):
        if between is not None:
            columns += [f"{name} ≥", f"{name} ≤"]
            for row, value, upper in zip(rows, between.value, between.upper, strict=True):
                row += [float(value), float(upper)]
    for name, found in (("interactive ≤", gap.interactive), ("one channel", gap.static)):
        if found is not None:
            columns.append(name)
            for row, value in zip(rows, found, strict=True):
                row.append(float(value))
    return columns, rows


def _shares_of(parts: Floats, whole: float | Floats) -> Floats:
    """Return shares, each of the shape of ``parts``; NaN of nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.asarray(whole) > 0.0, parts / np.asarray(whole), np.nan)


def _words(gap: Gap) -> str:
    maximum, online = number(gap.prophet, 4), number(gap.online, 4)
    said = [f"The mean maximum is {maximum}, the best stopper without privacy expects {online}."]
    for place in dict.fromkeys((0, len(gap.epsilons) - 1)):
        w = float(gap.ldp_online[place])
        of_that = f", {w / gap.online:.1%} of that" if gap.online else ""
        said.append(
            f"At ε = {number(float(gap.epsilons[place]))} the optimal stopper expects {number(w, 4)}{of_that}"
            f"{_of_private(gap.private, place)}."
        )
    if gap.cells is not None:
        said.append(
            f"For the private prophets the priors were rounded to {gap.cells} cells, which their bounds account for."
        )
    return " ".join(said)


def _of_private(between: Between | None, place: int) -> str:
    if between is None:
        return ""
    low, high = float(between.value[place]), float(between.upper[place])
    if between.certified[place]:
        return f"; the private prophet gets {number(low, 4)}"
    return f"; the private prophet gets between {number(low, 4)} and {number(high, 4)}"
