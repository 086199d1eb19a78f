"""Addresses: each opens what it names, and a wrong one is told without its password."""

from __future__ import annotations

import os

import pytest

from streamlearn.errors import ParameterError
from streamlearn.live.brokers.addresses import open_sink, open_source
from streamlearn.live.brokers.loops import comes_back


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
        assert type(opened).__module__.removesuffix("sink") == f"streamlearn.live.brokers.{module}"
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


@pytest.mark.parametrize(
    ("sink", "source", "loops"),
    [
        ("nats://127.0.0.1:4222/jobs.dead", "nats://u:p@localhost:4222/jobs.>", True),
        ("nats://127.0.0.1:4222/jobs.dead", "nats://127.0.0.1:4222/jobs.*,others", True),
        ("nats://127.0.0.1:4222/jobs.dead.old", "nats://127.0.0.1:4222/jobs.*", False),
        ("nats://127.0.0.1:4222/dead", "nats://127.0.0.1:4222/jobs.>", False),
        ("nats://a:4222,b:4222/jobs", "nats://b:4222,c:4222/jobs", True),
        ("nats://127.0.0.1:4223/jobs", "nats://127.0.0.1:4222/jobs", False),
        ("redis://h:1/0/a", "redis://:open-sesame@H:1/00/b,a", True),
        ("redis://h:1/1/a", "redis://h:1/0/a", False),
        ("redis://h:1/0/c", "redis://h:1/0/b,a", False),
        ("kafka://h:1,i:2/a", "kafka://i:2/b,a", True),
        ("kafka://h:1/c", "kafka://h:1/b,a", False),
        ("kafka://h:1/jobs.a", "kafka://h:1/jobs.*", False),
        ("nats://h:1/a", "kafka://h:1/a", False),
        ("file:a", "kafka://h:1/a", False),
        ("file:a", "file:./b/../a", True),
        ("file:there", "file:link", True),
        ("file:there", "file:hard", True),
        ("file:there", "file:a", False),
        ("file:missing", "file:dangling", True),
        ("file:fifo", "file:fifo", False),
    ],
)
def test_what_would_come_back_is_seen(sink, source, loops, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "there").touch()
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "hard").hardlink_to("there")
    (tmp_path / "dangling").symlink_to("missing")
    os.mkfifo("fifo")
    assert comes_back(sink, source) is loops
