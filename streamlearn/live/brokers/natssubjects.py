"""Subjects of NATS, and what their wildcards stand for."""

from __future__ import annotations

from collections.abc import Sequence


def matches(pattern: Sequence[str], subject: str) -> bool:
    """Return whether a pattern, cut at its dots, stands for a subject, or for all of one that is a pattern itself.

    Examples
    --------
    >>> from streamlearn.live.brokers.natssubjects import matches
    >>> matches(["jobs", "*"], "jobs.dead"), matches(["jobs", ">"], "jobs"), matches([">"], "jobs.>")
    (True, False, True)
    """
    parts = subject.split(".")
    for i, wanted in enumerate(pattern):
        if wanted == ">":
            return len(parts) > i
        if i >= len(parts) or parts[i] == ">" or wanted not in {"*", parts[i]}:
            return False
    return len(parts) == len(pattern)
