"""Tables for a terminal, plain in a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence

from streamlearn.base import Stopper
from streamlearn.priors import Prior
from streamlearn.replays.results import Estimate, StoppingResult

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
    from rich import box, console, table  # noqa: PLC0415 - 50 ms, only for whoever prints a table

    shown = table.Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for i, heading in enumerate(columns):
        shown.add_column(heading, justify="left" if i == 0 else "right", no_wrap=True)
    for row in _ends(rows) if not every_row and len(rows) > MOST_ROWS else rows:
        shown.add_row(*row)
    # In a pipe a table keeps its columns whole, whatever width the terminal would have.
    width = None if sys.stdout.isatty() else 200
    console.Console(width=width, highlight=False).print(shown)


def _ends(rows: Sequence[Sequence[str]]) -> Iterable[Sequence[str]]:
    half = MOST_ROWS // 2
    yield from rows[:half]
    yield ["…"] * len(rows[0])
    yield from rows[-half:]


def print_results(title: str, results: Mapping[str, StoppingResult]) -> None:
    """Print what a replay found, a row per agent, with its warnings below."""
    rows = [
        [
            name,
            estimate(result.reward),
            estimate(result.of_maximum),
            estimate(result.of_reference),
            f"{result.nobody:.1%}",
            f"{result.mean_asked:.2f}",
            number(result.epsilon, 4),
        ]
        for name, result in results.items()
    ]
    headings = ["agent", "mean reward", "of maximum", "of optimum", "nobody", "asked", "ε at most"]
    print_table(title, headings, rows)
    for warning in {result.warning for result in results.values() if result.warning}:
        sys.stdout.write(f"warning: {warning}\n")
