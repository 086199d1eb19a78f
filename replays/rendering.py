"""Tables for a terminal, plain in a pipe."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence

from streamlearn.base import Stopper
from streamlearn.priors import Prior
from streamlearn.replays.results import Estimate, StoppingResult

WIDE = 125
"""Columns a terminal needs for a row of results with every interval."""
MOST_ROWS = 40
"""Longer tables show their first and last rows only."""


def number(value: float, digits: int = 6) -> str:
    """Return a figure for a table: ∞ and undefined ones by their signs.

    Examples
    --------
    >>> from streamlearn.replays.rendering import number
    >>> number(0.62189775), number(float("inf")), number(float("nan"))
    ('0.621898', '∞', '–')
    """
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.{digits}g}"


def estimate(figure: Estimate | None) -> str:
    """Return a figure with its interval for a table."""
    if figure is None:
        return "–"
    if math.isnan(figure.interval.low):
        return number(figure.value, 4)
    return f"{number(figure.value, 4)} [{number(figure.interval.low, 4)}, {number(figure.interval.high, 4)}]"


def stage_rows(stopper: Stopper, priors: Sequence[Prior]) -> list[dict[str, str | float]]:
    """Return one row a stage: what is asked of whom, at which threshold and ε, and what that is worth.

    Examples
    --------
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.priors import as_priors
    >>> from streamlearn.replays.rendering import stage_rows
    >>> priors = as_priors([1.0, 0.5])
    >>> stage_rows(LDPOptimalStopper(priors, epsilon=1.0), priors)[0]["case"]
    'accept'
    """
    rows: list[dict[str, str | float]] = [
        {
            "stage": str(channel.round),
            "case": channel.case,
            "mean": prior.mean,
            "threshold": float(threshold),
            "ε": channel.realised_epsilon,
        }
        for channel, prior, threshold in zip(stopper.plan, priors, stopper.thresholds, strict=True)
    ]
    # Only the optimal stopper has these: its thresholds are optimal, so the envelope theorem applies.
    for name, attribute in (("break-even ε", "break_even_epsilons"), ("dW/dε", "marginal_prices")):
        for row, figure in zip(rows, getattr(stopper, attribute, ()), strict=False):
            row[name] = float(figure)
    return rows


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], every_row: bool = False
) -> None:
    """Print a table to standard output.

    Parameters
    ----------
    title
        Stands above it.
    columns
        Headings.
    rows
        Cells, as text.
    every_row
        Print all rows of a long table, not only its two ends.
    """
    shown = list(rows) if every_row or len(rows) <= MOST_ROWS else list(_ends(rows))
    widths = [max(map(len, column)) for column in zip(columns, *shown, strict=True)]
    sys.stdout.write(f"{title}\n\n")
    for row in [list(columns), ["─" * width for width in widths], *shown]:
        cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    sys.stdout.write("\n")


def _ends(rows: Sequence[Sequence[str]]) -> Iterable[Sequence[str]]:
    half = MOST_ROWS // 2
    yield from rows[:half]
    yield ["…"] * len(rows[0])
    yield from rows[-half:]


def print_results(title: str, results: Mapping[str, StoppingResult]) -> None:
    """Print what a replay found, a row per agent, with its warnings below.

    On a terminal that is too narrow for all columns the share of the non-private stopper (n.p.) goes without its
    interval, and that of the maximum goes.
    """
    wide = not sys.stdout.isatty() or shutil.get_terminal_size().columns >= WIDE
    headings = ["agent", "mean reward", "of non-private", "of max", "nobody", "asked", "ε ≤"]
    rows = [
        [
            name,
            estimate(result.reward),
            estimate(result.of_reference),
            estimate(result.of_maximum),
            f"{result.nobody:.1%}",
            f"{result.mean_asked:.2f}",
            number(result.epsilon, 3),
        ]
        for name, result in results.items()
    ]
    if not wide:
        headings[2:4] = ["of n.p."]
        for row, result in zip(rows, results.values(), strict=True):
            row[2:4] = ["–" if result.of_reference is None else number(result.of_reference.value, 3)]
    print_table(title, headings, rows, every_row=True)
    for warning in {result.warning for result in results.values() if result.warning}:
        sys.stdout.write(f"warning: {warning}\n")
