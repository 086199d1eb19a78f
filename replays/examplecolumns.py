"""Which columns of a log of examples hold the label, the instance and the times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from streamlearn.errors import StreamError
from streamlearn.replays.columns import listed, shown

_LABELS = ("y", "label", "target", "class", "outcome")


class ExampleColumns(NamedTuple):
    """The columns of a log of examples, by name.

    Attributes
    ----------
    label
        The label.
    instance
        The instance itself; None: x is a dict of the features.
    features
        The features of x; None: every other column.
    time
        When the event was, None if not recorded.
    labelled
        When its label came, None if not recorded.
    """

    label: str
    instance: str | None
    features: tuple[str, ...] | None
    time: str | None
    labelled: str | None


def choose(
    log: str,
    names: Sequence[str],
    *,
    label: str | None,
    instance: str | None,
    features: Sequence[str] | None,
    time: str | None,
    labelled: str | None,
) -> ExampleColumns:
    """Return the columns to use: those asked for, and the label told from its name.

    Parameters
    ----------
    log
        What messages call the log.
    names
        The columns there are.
    label, instance, features, time, labelled
        The columns asked for, as for :func:`streamlearn.replays.read_examples`.

    Raises
    ------
    StreamError
        If a column asked for is not there, is asked for twice, or cannot be told without doubt.

    Examples
    --------
    >>> from streamlearn.replays.examplecolumns import choose
    >>> choose("log", ["x", "y"], label=None, instance="x", features=None, time=None, labelled=None).label
    'y'
    """
    used = {instance, time, labelled, *(features or ())}
    kept = None if features is None else tuple(features)
    chosen = ExampleColumns(label or _label(log, names, used), instance, kept, time, labelled)
    _check(log, names, chosen)
    return chosen


def _label(log: str, names: Sequence[str], used: set[str | None]) -> str:
    candidates = [name for name in names if name.strip().lower() in _LABELS and name not in used]
    if len(candidates) != 1:
        fault = "more than one column could be" if candidates else "no column is clearly"
        raise StreamError(f"{log}: {fault} the label; name it (label=, --label); {listed(names)}")
    return candidates[0]


def _check(log: str, names: Sequence[str], chosen: ExampleColumns) -> None:
    if len(set(names)) < len(names):
        raise StreamError(f"{log}: two columns have the same name; rename one of them; {listed(names)}")
    roles = [("label", chosen.label), ("instance", chosen.instance), ("time", chosen.time)]
    roles += [("labelled", chosen.labelled), *(("features", name) for name in chosen.features or ())]
    seen: dict[str, str] = {}
    for role, name in roles:
        if name is None:
            continue
        if name not in names:
            raise StreamError(f"{log}: no column {shown(name)} for {role} (--{role}); {listed(names)}")
        if name in seen:
            raise StreamError(
                f"{log}: column {shown(name)} cannot be both {seen[name]} and {role}; "
                f"name another for {role} (--{role})"
            )
        seen[name] = role
    if chosen.features is None and chosen.instance is None and len(names) == len(seen):
        raise StreamError(f"{log}: no column is left for x beside {', '.join(seen)}; {listed(names)}")
