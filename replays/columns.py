"""Which columns of a log hold the value, the episode and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from streamlearn.errors import StreamError

_VALUES = frozenset({"value", "bid", "price", "score", "valuation", "amount", "wage"})
_EPISODES = frozenset(
    {"episode", "auction", "session", "job", "problem", "trial", "game", "tender", "vacancy"}
)
_TIMES = frozenset({"time", "timestamp", "ts", "date", "datetime", "moment"})

_LISTED = 20  # names shown in a message: a file may have thousands of columns
_SHOWN = 40  # characters shown of a name or an id


class Columns(NamedTuple):
    """The columns used, by name.

    Attributes
    ----------
    value
        The private value.
    episode
        The id of the stopping problem; None: rows are cut by their place.
    time
        What orders the rows of an episode; None: their place does.
    """

    value: str
    episode: str | None
    time: str | None


def shown(name: object) -> str:
    """Return a column's name or an episode's id as messages show it: quoted if text, and short.

    Examples
    --------
    >>> from streamlearn.replays.columns import shown
    >>> shown("bid"), shown(7)
    ("'bid'", '7')
    """
    text = repr(name)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def listed(names: Sequence[str]) -> str:
    """Return the part of a message that lists the columns.

    Examples
    --------
    >>> from streamlearn.replays.columns import listed
    >>> listed(["auction", "bid"])
    "the columns are 'auction', 'bid'"
    """
    more = ", …" if len(names) > _LISTED else ""
    return f"the columns are {', '.join(map(shown, names[:_LISTED]))}{more}"


def choose(
    log: str,
    names: Sequence[str],
    numeric: Callable[[], Iterable[str]],
    *,
    value: str | None,
    episode: str | None,
    time: str | None,
) -> Columns:
    """Return the columns to use: those asked for, the others told from their names.

    Parameters
    ----------
    log
        What messages call the log.
    names
        The columns there are.
    numeric
        Returns those that look like numbers.
    value, episode, time
        The columns asked for; None: detect it; an empty string: there is none.

    Raises
    ------
    StreamError
        If a column asked for is not there, is asked for twice, or cannot be told without doubt.

    Examples
    --------
    >>> from streamlearn.replays.columns import choose
    >>> choose("log", ["auction_id", "bid"], list, value=None, episode=None, time=None)
    Columns(value='bid', episode='auction_id', time=None)
    """
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise StreamError(f"{log}: two columns are called {shown(twice)}; rename one of them")
    listing = listed(names)
    asked = {"value": value, "episode": episode, "time": time}
    taken: dict[str, str] = {}
    for role, name in asked.items():
        if not name:
            continue
        if name not in names:
            raise StreamError(f"{log}: no column {shown(name)} for {role} (--{role}); {listing}")
        if name in taken:
            raise StreamError(
                f"{log}: column {shown(name)} cannot be both {taken[name]} and {role}; "
                f"name another for {role} (--{role})"
            )
        taken[name] = role
    free = [name for name in names if name not in taken]
    for role, known in (("episode", _EPISODES), ("time", _TIMES), ("value", _VALUES)):
        if asked[role] is None:
            asked[role] = _only(log, role, [name for name in free if _called(name, role) in known], listing)
    if not asked["value"]:
        used = {asked["episode"], asked["time"]}
        numbers = set(numeric()).difference(used)
        asked["value"] = _only(log, "value", [name for name in free if name in numbers], listing)
    if not asked["value"]:
        raise StreamError(f"{log}: no column is clearly the value; name it (value=, --value); {listing}")
    return Columns(asked["value"], asked["episode"] or None, asked["time"] or None)


def _called(name: str, role: str) -> str:
    """Return the name without case, and an episode's without the "id" behind it."""
    plain = name.strip().lower()
    return plain.removesuffix("id").rstrip("_- ") if role == "episode" else plain


def _only(log: str, role: str, candidates: list[str], listing: str) -> str | None:
    if len(candidates) > 1:
        raise StreamError(
            f"{log}: more than one column could be the {role}; name it ({role}=, --{role}"
            + ("" if role == "value" else "; an empty name for none")
            + f"); {listing}"
        )
    return candidates[0] if candidates else None
