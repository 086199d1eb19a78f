"""The command line: the one place that puts agents, reporters and replays together.

Exit codes: 0 done; 1 the input cannot be used (one line on standard error says what, where and how to mend
it); 2 wrong usage; 3 an audit refutes the claim; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from streamlearn import __version__
from streamlearn.errors import StreamlearnError

app = typer.Typer(
    name="streamlearn",
    help="Online decisions on streams of people who need not trust whoever decides.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=(
        "Exit codes: 0 done, 1 the input cannot be used, 2 wrong usage, 3 a claim is refuted (audit), 130 interrupted. "
        "The --help of each command ends with an example."
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"streamlearn {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; a user's mistake ends in one line on standard error, never in a traceback."""
    if sys.stdout is None:
        _fail("standard output is closed; give the answer somewhere to go")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except StreamlearnError as error:
        _fail(str(error))
    except OSError as error:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _fail(f"the output cannot be written ({error.strerror}); free some space or write it elsewhere")
        sys.exit(1)


def _fail(message: str) -> NoReturn:
    if sys.stderr is not None:
        sys.stderr.write(f"error: {message}\n")
    sys.exit(1)


from streamlearn.cli import answering as answering  # noqa: E402 - as above
from streamlearn.cli import auditing as auditing  # noqa: E402 - as above
from streamlearn.cli import bounding as bounding  # noqa: E402 - as above
from streamlearn.cli import classes as classes  # noqa: E402 - as above
from streamlearn.cli import demo as demo  # noqa: E402 - as above
from streamlearn.cli import learning as learning  # noqa: E402 - as above
from streamlearn.cli import planning as planning  # noqa: E402 - as above
from streamlearn.cli import predicting as predicting  # noqa: E402 - as above
from streamlearn.cli import ratios as ratios  # noqa: E402 - as above
from streamlearn.cli import reporting as reporting  # noqa: E402 - as above
from streamlearn.cli import serving as serving  # noqa: E402 - as above
from streamlearn.cli import stopping as stopping  # noqa: E402 - joins its commands to the app above
