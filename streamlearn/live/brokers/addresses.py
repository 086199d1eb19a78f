"""Sources and sinks by their addresses, as a command line takes them. No message quotes one: it may hold a password."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from streamlearn.errors import ParameterError
from streamlearn.live.ports import Sink, Source

FORMS: Final = {
    "nats": "nats://host:port/SUBJECT[,SUBJECT]",
    "redis": "redis://[user:pass@]host:port/DB/STREAM[,STREAM]",
    "kafka": "kafka://host:port[,host:port]/TOPIC[,TOPIC]",
}
ALL_FORMS: Final = ", ".join(["- (a pipe)", "file:PATH", *FORMS.values()])
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,19})://(.*)", re.DOTALL)


class Address(NamedTuple):
    """An address of a broker, in its parts."""

    scheme: str
    servers: list[str]
    database: str
    names: list[str]


def open_source(
    address: str, *, begin: str = "beginning", group: str | None = None, consumer: str | None = None
) -> Source:
    """Return the source at an address; it connects when it is started.

    Parameters
    ----------
    address
        ``-`` (standard input), ``file:PATH``, or that of a broker: ``nats://host:port/SUBJECT[,SUBJECT]``,
        ``redis://[user:pass@]host:port/DB/STREAM[,STREAM]``, ``kafka://host:port[,host:port]/TOPIC[,TOPIC]``.
    begin
        Where to start without a stored position: ``"beginning"``, ``"end"``, or a position as the source writes it.
    group, consumer
        The consumer group to share a stream of Redis with, and this process's name in it.

    Raises
    ------
    ParameterError
        If the address is none of these, or the source does not take the other arguments.
    MissingExtraError
        If the broker's client is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers.addresses import open_source
    >>> type(open_source("file:reports.jsonl", begin="end")).__module__
    'streamlearn.live.brokers.file'
    """
    scheme = scheme_of(address)
    if scheme != "redis" and (group is not None or consumer is not None):
        raise ParameterError(f"group and consumer are for {FORMS['redis']}; leave them out")
    if consumer is not None and group is None:
        raise ParameterError("consumer is a name within a group; name the group too")
    if scheme == "-":
        from streamlearn.live.brokers import pipe  # noqa: PLC0415 - only the adapter that is asked for

        if begin != "beginning":
            raise ParameterError("begin must be 'beginning' for a pipe: it has no other place to start from")
        return pipe.Source()
    if scheme == "file":
        from streamlearn.live.brokers import file  # noqa: PLC0415 - as above

        return file.Source(path_of(address), begin=begin)
    parts = parts_of(address, scheme)
    if scheme == "nats":
        from streamlearn.live.brokers import nats  # noqa: PLC0415 - as above

        return nats.Source(_urls(parts), parts.names, begin=begin)
    if scheme == "redis":
        from streamlearn.live.brokers import redis  # noqa: PLC0415 - as above

        return redis.Source(_urls(parts), parts.names, group=group, consumer=consumer, begin=begin)
    from streamlearn.live.brokers import kafka  # noqa: PLC0415 - as above

    return kafka.Source(",".join(parts.servers), parts.names, begin=begin)


def open_sink(address: str) -> Sink:
    """Return the sink at an address, in the forms of :func:`open_source`, with one subject, stream or topic.

    Parameters
    ----------
    address
        The address; ``-`` is standard output.

    Raises
    ------
    ParameterError
        If the address is none.
    MissingExtraError
        If the broker's client is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers.addresses import open_sink
    >>> open_sink("ftp://host/decisions")
    Traceback (most recent call last):
    ...
    streamlearn.errors.ParameterError: an address is one of - (a pipe), file:PATH, ...
    """
    scheme = scheme_of(address)
    if scheme == "-":
        from streamlearn.live.brokers import pipe  # noqa: PLC0415 - only the adapter that is asked for

        return pipe.Sink()
    if scheme == "file":
        from streamlearn.live.brokers import file  # noqa: PLC0415 - as above

        return file.Sink(path_of(address))
    parts = parts_of(address, scheme)
    if len(parts.names) > 1:
        raise ParameterError(f"decisions go to one place, as {FORMS[scheme].split('[,')[0]}; name one")
    (name,) = parts.names
    if scheme == "nats":
        from streamlearn.live.brokers import nats  # noqa: PLC0415 - as above

        return nats.Sink(_urls(parts), name)
    if scheme == "redis":
        from streamlearn.live.brokers import redis  # noqa: PLC0415 - as above

        return redis.Sink(_urls(parts), name)
    from streamlearn.live.brokers import kafka  # noqa: PLC0415 - as above

    return kafka.Sink(",".join(parts.servers), name)


def scheme_of(address: str) -> str:
    """Return ``-``, ``file`` or the name of a broker."""
    if address == "-":
        return "-"
    if address.startswith("file:"):
        return "file"
    found = _SCHEME.fullmatch(address)
    scheme = found[1].lower() if found else ""
    if scheme not in FORMS:
        got = f", not {scheme}://" if scheme else ""
        raise ParameterError(f"an address is one of {ALL_FORMS}{got}")
    return scheme


def path_of(address: str) -> str:
    """Return the path in an address of a file."""
    path = address.removeprefix("file:").removeprefix("//")
    if not path or "\0" in path:
        raise ParameterError("an address of a file names one, as file:PATH")
    return path


def parts_of(address: str, scheme: str) -> Address:
    """Cut an address into its parts, all of which must be there."""
    form = FORMS[scheme]
    authority, _, rest = address.split("://", 1)[1].partition("/")
    database, _, names = rest.partition("/") if scheme == "redis" else ("", "", rest)
    if scheme == "redis" and not re.fullmatch("[0-9]{1,9}", database):
        raise ParameterError(
            f"an address {form} needs the number of its database, of at most 9 digits, as redis://host:port/0/STREAM"
        )
    found = names.split(",")
    if not names.isprintable():
        raise ParameterError(f"an address {form} has names of printable characters only")
    if not all(found) or len(set(found)) < len(found):
        raise ParameterError(f"an address {form} needs a name, or several different ones, at its end")
    if scheme == "kafka" and "@" in authority:
        raise ParameterError(f"an address {form} takes no user; build kafka.Source with settings instead")
    user, at, hosts = authority.rpartition("@")
    servers = hosts.split(",")
    if scheme == "redis" and len(servers) > 1:
        raise ParameterError(f"an address {form} has one server; name one")
    for server in servers:
        _check_server(server, form)
    return Address(scheme, [user + at + server for server in servers], database, found)


def _check_server(server: str, form: str) -> None:
    try:
        parts = urlsplit(f"//{server}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = "", 0
    if not host or not port or re.search(r"[\s?#\\]", server):
        raise ParameterError(
            f"an address {form} needs a host and a port (1 to 65535) for each server"
        ) from None


def _urls(parts: Address) -> str:
    """Return the servers as URLs, with the database where there is one."""
    end = f"/{parts.database}" if parts.database else ""
    return ",".join(f"{parts.scheme}://{server}{end}" for server in parts.servers)
