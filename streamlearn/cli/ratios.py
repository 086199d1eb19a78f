"""The command ratios: how much the best stopper loses, in the worst case and under a user's own priors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamlearn.cli import app, options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.replays.ratios import Ratio, WorstCase

DEFAULT_PERSONS = 10
SHOWN = (1e-1, 1e-2, 1e-4, 1e-8)
"""Parameters at which the table shows the ratios of the families."""

_LETTERS = (
    "W: best stopper under ε-LDP; V: without privacy; M: prophet who sees all values; "
    "L: who sees all private reports; B: all reports of one bit"
)


@app.command(epilog="Example: streamlearn ratios --n 10 -e 1; or for your own priors: '10*uniform(0,1)' -e 1")
def ratios(
    priors: Annotated[
        str | None,
        typer.Argument(
            help="Laws of persons 1..n, as '10*uniform(0,1)'; their own ratios are shown. Without: the table."
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", "-n", help="Persons of the table; default 10, or one per level.")
    ] = None,
    epsilon: options.Epsilon = None,
    as_json: options.AsJson = False,
) -> None:
    """Print competitive ratios beside their proved worst cases.

    Without priors: each worst case, the family of instances that tends to it, and the ratio measured on that
    family as its parameter (a or q) goes to 0.
    """
    if priors is not None and n is not None:
        raise ParameterError("give priors or --n, not both; priors say how many persons there are")
    wanted = options.levels(list(dict.fromkeys(epsilon or ["1"])))
    if priors is None:
        _worst_cases(n, wanted, as_json)
    else:
        _own(priors, wanted, as_json)


def _worst_cases(n: int | None, wanted: dict[str, float | list[float]], as_json: bool) -> None:
    from streamlearn.replays.ratios import worst_cases  # noqa: PLC0415 - keeps --help fast

    def persons(level: float | list[float]) -> int:
        return n if n is not None else len(level) if isinstance(level, list) else DEFAULT_PERSONS

    found = {
        text: (persons(level), level, worst_cases(persons(level), level, SHOWN))
        for text, level in wanted.items()
    }
    if as_json:
        options.echo_json([
            {"epsilon": level, "n": count, "rows": [_plain(row) for row in rows]} | _paper(count, level)
            for count, level, rows in found.values()
        ])  # fmt: skip
        return
    for text, (count, level, rows) in found.items():
        _print_worst_cases(f"worst cases over {count} persons, ε = {text}", rows)
        paper = _paper(count, level)
        if paper:
            low, high = (f"{bound:.6g}" for bound in paper["paper_w_over_m"])
            typer.echo(f"the paper on W/M: between {low} and {high} (Proposition 5.6)")
        typer.echo()
    typer.echo(_LETTERS)
    typer.echo("x: e^-ε; w.p.: with probability, else 0")


def _print_worst_cases(title: str, rows: Sequence[WorstCase]) -> None:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    columns = ["ratio", "worst", *(f"at {at:g}" for at in SHOWN), "instance", "source"]
    cells = [
        [row.name, _figure(row.bound), *map(_figure, row.measured), row.family, row.source] for row in rows
    ]
    rendering.print_table(title, columns, cells, every_row=True)


def _own(priors: str, wanted: dict[str, float | list[float]], as_json: bool) -> None:
    from streamlearn import priors as laws_of  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays import rendering  # noqa: PLC0415 - as above
    from streamlearn.replays.ratios import ratios as measured  # noqa: PLC0415 - as above

    laws = laws_of.parse(priors)
    found = {text: (level, measured(laws, level)) for text, level in wanted.items()}
    if as_json:
        options.echo_json([
            {"epsilon": level, "n": len(laws), "rows": [_plain(row) for row in rows]}
            for level, rows in found.values()
        ])  # fmt: skip
        return
    for text, (_, rows) in found.items():
        cells = [[row.name, _between(row), _figure(row.bound), row.source] for row in rows]
        title = f"{len(laws)} persons, ε = {text}"
        rendering.print_table(title, ["ratio", "here", "worst", "source of the worst"], cells, every_row=True)
    typer.echo(_LETTERS)


def _paper(n: int, level: float | list[float]) -> dict[str, list[float]]:
    """Return the paper's own two bounds on the worst W/M, where it has them."""
    from streamlearn import bounds  # noqa: PLC0415 - keeps --help fast

    if n < 2 or isinstance(level, list):
        return {}
    return {"paper_w_over_m": [bounds.prop56_lower(n, level), bounds.prop56_upper(n, level)]}


def _between(row: Ratio) -> str:
    low, high = _figure(row.low), _figure(row.high)
    return low if row.low == row.high or low == high else f"{low} to {high}"


def _figure(value: float) -> str:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    return rendering.number(value)


def _plain(row: Any) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415 - keeps --help fast

    return msgspec.structs.asdict(row)
