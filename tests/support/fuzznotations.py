"""Notations of the command line: text, with lone surrogates where the bytes of an argument were none."""

from __future__ import annotations

import functools
import io
import itertools
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzzagents import CUBE, reporting_plan
from fuzzing import SECRET, Decoder
from fuzzlogs import written

from streamlearn import Channel, priors
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import notation
from streamlearn.live import web
from streamlearn.live.brokers import addresses


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def argument(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def law_as_text(law: Any) -> str:
    """Write a prior as a command line takes it; how a law is shown is nearly that already."""
    if isinstance(law, priors.PointMass):
        return repr(law.mean)
    if isinstance(law, priors.Discrete):
        pairs = zip(law.atoms.tolist(), law.probs.tolist(), strict=True)
        return f"discrete({','.join(f'{value}:{chance}' for value, chance in pairs)})"
    return re.sub("truncatednormal", "truncated_normal", repr(law).lower())


def laws_as_text(found: Any) -> bytes:
    runs = (list(same) for _, same in itertools.groupby(found, key=id))  # of the same object: one term
    return ";".join(f"{len(run)}*{law_as_text(run[0])}" for run in runs).encode()


def named_class(data: bytes) -> Any:
    text = text_of(data)
    if text.strip().lower().startswith("finite"):  # fuzzed as tables, below
        raise ParameterError("left out")
    return notation.parse(text)


def table(data: bytes, kind: str) -> Any:
    return notation.parse(f"finite:{written(data, f'table.{kind}')}")


def table_as_csv(found: Any) -> bytes:
    return "\n".join(",".join(map(str, map(int, row))) for row in found.table).encode()


def table_as_npy(found: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, found.table)
    return sink.getvalue()


def address(data: bytes) -> Any:
    text = text_of(data)
    scheme = addresses.scheme_of(text)
    if scheme in {"-", "file"}:
        return SimpleNamespace(text=f"file:{addresses.path_of(text)}" if scheme == "file" else "-")
    parts = addresses.parts_of(text, scheme)
    where = f"{parts.database}/" if parts.database else ""
    return SimpleNamespace(text=f"{scheme}://{','.join(parts.servers)}/{where}{','.join(parts.names)}")


def endpoint(data: bytes) -> tuple[str, int]:
    return web.parse(text_of(data))


def endpoint_as_text(found: tuple[str, int]) -> bytes:
    host, port = found
    return argument(f"[{host}]:{port}")


ADDRESSES = (
    b"-",
    b"file:reports.jsonl",
    b"nats://me:%s@localhost:4222/reports,more" % SECRET.encode(),
    b"redis://me:%s@localhost:6379/0/reports" % SECRET.encode(),
    b"kafka://one:9092,[::1]:9092/reports",
)
PRIORS = (
    b"2*pareto(2.5); discrete(0:0.9,5:0.1), 0.7",
    b"uniform(0,1),lognormal(0,0.5);truncated_normal(1,1,0,inf);weibull(1.5)",
    b"gamma(2,1);beta(2,5);exponential(1);pareto(2.5,minimum=2);normal(1,1)",
)
CLASSES = (
    b"point3",
    b"points:7",
    b"thresholds:2^60",
    b"intervals:1e6",
    b"singletons-or-empty",
    b"conjunctions:a,b,c:2",
    b"stumps:height=1.5,1.8;age=30",
)


def class_as_text(found: Any) -> bytes:
    """Write the class as a command line names it."""
    kind = type(found).__name__
    if kind in {"Points", "SingletonsOrEmpty"}:
        name = {"Points": "points", "SingletonsOrEmpty": "singletons-or-empty"}[kind]
        return name.encode() if found.domain is None else b"%b:%d" % (name.encode(), found.domain)
    if kind == "Conjunctions":
        return argument(f"conjunctions:{','.join(found.names)}:{found.k}")
    if kind == "Stumps":
        parts = (f"{name}={','.join(map(repr, points))}" for name, points in found.cuts.items())
        return argument(f"stumps:{';'.join(parts)}")
    return kind.lower().encode() + (b":%d" % found.m if kind != "Point3" else b"")


def of_notations() -> list[Decoder]:
    tables = (table_as_csv(CUBE), b"1,0\n\n0,1\n"), (table_as_npy(CUBE),)
    return [
        Decoder("priors", lambda data: priors.parse(text_of(data)), laws_as_text, PRIORS, bytes=400_000_000),
        Decoder("class", named_class, class_as_text, CLASSES),
        Decoder("table of csv", functools.partial(table, kind="csv"), table_as_csv, tables[0]),
        Decoder("table of npy", functools.partial(table, kind="npy"), table_as_npy, tables[1]),
        Decoder(
            "whole number",
            lambda data: (notation.whole_number(text_of(data)),),
            lambda found: b"%d" % found[0],
            (b"1000", b"2^60", b"2.5e3"),
        ),
        Decoder("address", address, lambda found: argument(found.text), ADDRESSES, discreet=True),
        Decoder("endpoint", endpoint, endpoint_as_text, (b":9100", b"[::1]:0", b"localhost:80")),
        Decoder(
            "tag",
            lambda data: Channel.from_tag(text_of(data)),
            lambda it: it.tag.encode(),
            (reporting_plan()[1].tag.encode(),),
        ),
    ]
