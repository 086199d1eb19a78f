"""Lines of a pipe: cut where they end, however they come, and bounded however long they are."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlearn.cli import serving
from streamlearn.errors import StreamlearnError
from streamlearn.live import Outgoing
from streamlearn.live.brokers import file, pipe
from streamlearn.live.messages import MOST_BYTES


def lines_of(source, most=7):
    source.start({})
    found = []
    while not source.ended:
        found += source.fetch(most, 0.01)
    return found


@given(st.lists(st.binary(max_size=20).map(lambda it: it.replace(b"\n", b""))), st.booleans())
def test_lines_are_cut_and_numbered_and_empty_ones_left_out(lines, ended):
    data = b"\n".join(lines) + b"\n" * ended
    found = lines_of(pipe.Source(io.BytesIO(data)))
    assert [it.data for it in found] == [line for line in lines if line]
    assert [it.position for it in found] == [(1, i) for i, line in enumerate(lines, 1) if line]


def test_a_real_pipe_gives_what_is_there_and_waits_for_the_rest():
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reader:
        source = pipe.Source(reader)
        source.start({"-": (4, 17)})
        os.write(write, b"one\ntw")
        assert [(it.position, it.data) for it in source.fetch(10, 1.0)] == [((5, 1), b"one")]
        assert source.fetch(10, 0.0) == []
        os.write(write, b"o\nthree")
        assert [it.data for it in source.fetch(10, 1.0)] == [b"two"]
        os.close(write)
        assert [it.data for it in source.fetch(10, 1.0)] == [b"three"]
        assert not source.ended
        assert source.fetch(10, 1.0) == []
        assert source.ended


def test_a_line_without_end_takes_bounded_memory():
    found = lines_of(pipe.Source(io.BytesIO(b"x" * (3 * MOST_BYTES) + b"\nnext\n")))
    assert [len(it.data) for it in found] == [MOST_BYTES + 1, 4]


def test_a_reader_that_is_gone_is_told():
    read, write = os.pipe()
    os.close(read)
    with (
        pytest.raises(StreamlearnError, match="kept in the store"),
        os.fdopen(write, "wb", buffering=0) as writer,
    ):
        pipe.Sink(writer).publish([Outgoing(1, "decision", "0f", "key", b"{}")])


# --- files


def messages(*names):
    return [
        Outgoing(i, "decision", name, "key", b'{"id":"%b"}' % name.encode()) for i, name in enumerate(names)
    ]


def test_a_growing_file_is_read_from_the_stored_byte_and_never_half_a_line(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"one\ntwo\nthr")
    source = file.Source(path)
    source.start({})
    found = source.fetch(10, 0.0)
    assert [(it.position, it.data) for it in found] == [((4,), b"one"), ((8,), b"two")]
    with path.open("ab") as more:
        more.write(b"ee\n")
    assert [it.data for it in source.fetch(10, 1.0)] == [b"three"]
    source.start({str(path): (4,)})
    assert [it.data for it in source.fetch(1, 0.0)] == [b"two"]
    source.close()


@pytest.mark.parametrize("content", [b"one\n", b"onetwothree\nfour\n"])
def test_a_file_that_was_cut_or_replaced_is_refused(tmp_path, content):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    source = file.Source(path)
    with pytest.raises(StreamlearnError, match=r"from byte 8|begins at byte 8"):
        source.start({str(path): (8,)})
    source.close()


def test_a_file_takes_each_message_once_and_no_half_line(tmp_path):
    path = tmp_path / "out.jsonl"
    file.Sink(path).publish(messages("a", "b"))
    with path.open("ab") as torn:
        torn.write(b'{"id":"c')
    file.Sink(path).publish(messages("b", "c", "d"))
    assert path.read_bytes() == b"".join(b'{"id":"%b"}\n' % name for name in (b"a", b"b", b"c", b"d"))


def test_a_file_recognises_again_all_that_one_batch_can_decide():
    assert file.TAIL >= serving.MOST_BATCH
