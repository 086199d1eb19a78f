"""Whether what a run publishes would come back to it, or lie on top of its store."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from streamlearn.live.brokers.addresses import parts_of, path_of, scheme_of
from streamlearn.live.brokers.natssubjects import matches
from streamlearn.live.database import SIDES

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def comes_back(sink: str, source: str) -> bool:
    """Return whether what is written at one address is read at another.

    Servers are the same if they are named alike; that two names are of one server, or two servers of one cluster,
    cannot be seen.

    Parameters
    ----------
    sink, source
        Addresses, in the forms of :func:`streamlearn.live.brokers.addresses.open_source`.

    Raises
    ------
    ParameterError
        If one is no address.

    Examples
    --------
    >>> from streamlearn.live.brokers.loops import comes_back
    >>> comes_back("nats://127.0.0.1:4222/jobs.dead", "nats://localhost:4222/jobs.>")
    True
    >>> comes_back("nats://127.0.0.1:4222/dead", "nats://127.0.0.1:4222/jobs.>")
    False
    """
    schemes = scheme_of(sink), scheme_of(source)
    if {"-", "file"} >= set(schemes):
        return _same_file(sink, source)
    if schemes[0] != schemes[1]:
        return False
    out, back = parts_of(sink, schemes[0]), parts_of(source, schemes[0])
    same_server = _servers(out.servers) & _servers(back.servers) and int(out.database or 0) == int(
        back.database or 0
    )
    return bool(same_server) and any(_holds(name, back.names, schemes[0]) for name in out.names)


def overwrites(address: str, store: str | Path, standard: int = 1) -> bool:
    """Return whether an address is the store of a run, or one of the files beside it, by whatever name.

    Parameters
    ----------
    address
        An address, as above.
    store
        The store's file, which need not be there yet.
    standard
        The descriptor that ``-`` stands for.

    Raises
    ------
    ParameterError
        If it is no address.

    Examples
    --------
    >>> from streamlearn.live.brokers.loops import overwrites
    >>> overwrites("file:./run.db-wal", "run.db"), overwrites("file:decisions.jsonl", "run.db")
    (True, False)
    """
    if scheme_of(address) not in {"-", "file"}:
        return False
    name = None if address == "-" else os.path.realpath(path_of(address))
    found = _file(address, standard)
    for end in ("", *SIDES):
        for file in (f"{store}{end}", f"{os.path.realpath(store)}{end}"):  # sqlite looks behind links
            if name == os.path.realpath(file):
                return True
            with contextlib.suppress(OSError):
                if isinstance(found, os.stat_result) and os.path.samestat(found, Path(file).stat()):
                    return True
    return False


def _holds(name: str, names: list[str], scheme: str) -> bool:
    return name in names or (scheme == "nats" and any(matches(pattern.split("."), name) for pattern in names))


def _servers(servers: list[str]) -> set[tuple[str | None, int | None]]:
    """Return hosts and ports, without users."""
    parts = [urlsplit(f"//{server}") for server in servers]
    return {("localhost" if it.hostname in LOOPBACK else it.hostname, it.port) for it in parts}


def _same_file(sink: str, source: str) -> bool:
    out, back = _file(sink, 1), _file(source, 0)
    if out is None or back is None:
        return False
    if isinstance(out, str) or isinstance(back, str):
        return out == back  # one that is not there yet is no other
    return os.path.samestat(out, back)


def _file(address: str, standard: int) -> os.stat_result | str | None:
    """Return what tells a file from others: where there is none yet, its path; None for a pipe or terminal."""
    try:
        found = os.fstat(standard) if address == "-" else Path(path_of(address)).stat()
    except OSError:
        return None if address == "-" else os.path.realpath(path_of(address))
    return found if stat.S_ISREG(found.st_mode) else None
