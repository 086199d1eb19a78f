"""The benchmarks of an instance, as ``streamlearn solve --benchmarks`` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from streamlearn.priors import Prior

_NAMES = {
    "static": "one threshold for everybody",
    "ldp_online": "best stopper under ε-LDP (W)",
    "binary_prophet": "prophet, one bit each (B)",
    "private_prophet": "prophet, any reports (L)",
    "interactive_prophet": "prophet, interactive: at most",
    "online": "best stopper without privacy (V)",
    "prophet": "prophet without privacy (M)",
}


def figures(laws: Sequence[Prior], epsilon: float | list[float]) -> dict[str, Any]:
    """Return every benchmark by name; a private prophet's with its bounds."""
    from streamlearn.replays import benchmarks  # noqa: PLC0415 - keeps --help fast

    found: dict[str, Any] = {}
    for name in _NAMES:
        benchmark = getattr(benchmarks, name)
        figure = benchmark(laws) if name in {"online", "prophet"} else benchmark(laws, epsilon)
        found[name] = figure if isinstance(figure, float) else _bounds(figure)
    return found


def _bounds(figure: Any) -> dict[str, Any]:
    return {name: getattr(figure, name) for name in ("value", "upper_bound", "status", "discretised")}


def show(found: dict[str, Any]) -> None:
    """Print benchmarks as a table."""
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    cells = []
    for name, figure in found.items():
        if isinstance(figure, float):
            cells.append([_NAMES[name], rendering.number(figure), ""])
            continue
        ends = list(dict.fromkeys(rendering.number(figure[end]) for end in ("value", "upper_bound")))
        how = figure["status"] + (", laws rounded to cells" if figure["discretised"] else "")
        cells.append([_NAMES[name], " to ".join(ends), how])
    rendering.print_table("benchmarks", ["what", "value", "how"], cells, every_row=True)
    typer.echo("certified: all extreme channels looked at; bounded: attained, to a proved bound")
