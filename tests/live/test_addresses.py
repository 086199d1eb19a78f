"""Addresses: each opens what it names, and a wrong one is told without its password."""

from __future__ import annotations

import pytest

from streamlearn.errors import ParameterError
from streamlearn.live.brokers.addresses import open_sink, open_source


@pytest.mark.parametrize(
    ("address", "module"),
    [
        ("-", "pipe"),
        ("file:log.jsonl", "file"),
        ("nats://127.0.0.1:4222/a", "nats"),
        ("redis://user:open-sesame@127.0.0.1:6379/0/a", "redis"),
        ("kafka://127.0.0.1:9092/a", "kafka"),
    ],
)
def test_an_address_opens_what_it_names(address, module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for opened in (open_source(address), open_sink(address)):
        assert type(opened).__module__ == f"streamlearn.live.brokers.{module}"
        assert "open-sesame" not in repr(opened)
        opened.close()


def test_an_address_may_name_several():
    source = open_source("redis://127.0.0.1:6379/0/a,b", group="g", consumer="c")
    assert (source.streams, source.group, source.consumer) == (("a", "b"), "g", "c")
    source.close()
    nats = open_source("nats://127.0.0.1:4222/a,b.>", begin="end")
    assert (nats.subjects, nats.begin) == (("a", "b.>"), "end")


@pytest.mark.parametrize(
    "address",
    ["", "nowhere", "ftp://host/x", "file:", "nats://host/x", "nats://host:4222/", "nats://:4222/x",
     "redis://:open-sesame@host:70000/0/x", "redis://:open-sesame@host:6379/x", "kafka://user:open-sesame@host:1/x",
     "kafka://host:9092/a,,b", "nats://host:4222/a,a"],
)  # fmt: skip
def test_a_wrong_address_is_told_without_its_password(address):
    for opening in (open_source, open_sink):
        with pytest.raises(ParameterError, match="an address") as refused:
            opening(address)
        assert "open-sesame" not in str(refused.value)


def test_a_sink_is_one_place_and_groups_are_for_redis():
    with pytest.raises(ParameterError, match="one place"):
        open_sink("nats://127.0.0.1:4222/a,b")
    with pytest.raises(ParameterError, match="group and consumer are for redis"):
        open_source("nats://127.0.0.1:4222/a", group="g", consumer="c")
