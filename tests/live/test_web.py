"""The web server beside a run: what it answers, whom it refuses, and that it ends cleanly."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import socket
import sys
import threading
import time

import livestreams
import pytest

from streamlearn.errors import ParameterError, StreamlearnError
from streamlearn.live import Pump, Runner, Store, metrics, page, web
from streamlearn.live.brokers import pipe
from streamlearn.plans import ReportingPlan

PATIENCE = 20.0
PRIVATE = "0.73519"


def new_pump(factory=livestreams.stopper, messages=(), **options):
    lines = b"".join(message.data + b"\n" for message in messages)
    runner = Runner(factory, Store(":memory:", run="test"), **options)
    return Pump(runner, pipe.Source(io.BytesIO(lines)), pipe.Sink(io.BytesIO()), pipe.Sink(io.BytesIO()))


def ask(server, path, method="GET", **headers):
    """Status, headers and body of an answer."""
    host, port = server.server_address[:2]
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()


@contextlib.contextmanager
def listening(server):
    """A listener's connection, and a reader of its events."""
    with socket.create_connection(server.server_address[:2], PATIENCE) as client:
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with client.makefile("rb") as lines:
            yield client, lines


def event(lines):
    """The next event, as its fields."""
    fields = {}
    while (line := lines.readline().strip()) or not fields:
        assert line or not fields
        name, _, value = line.decode().partition(": ")
        if name:
            fields[name] = value
    return fields


def begin(lines):
    """Read on to the first event; the status line of the answer."""
    status = lines.readline()
    while lines.readline().strip():
        pass
    return status


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


# --- what it answers


def test_health_is_that_of_the_loop():
    pump = new_pump()
    with web.serve(pump) as server:
        assert ask(server, "/healthz")[0] == 200
        pump.turned -= web.STALLED
        assert ask(server, "/healthz")[0] == 503


def test_readiness_says_what_is_missing():
    pump = new_pump()
    with web.serve(pump) as server:
        for running, connected, status, reason in (
            (False, True, 503, b"not at work"),
            (True, False, 503, b"broker"),
            (True, True, 200, b"ready"),
        ):
            pump.running, pump.connected = running, connected
            answer = ask(server, "/readyz")
            assert answer[0] == status
            assert reason in answer[2]


def test_a_run_whose_store_fails_is_not_ready(monkeypatch):
    pump = new_pump(messages=livestreams.numbered(livestreams.reports(2)))

    def failing(_):
        assert pump.running
        raise StreamlearnError("full")

    monkeypatch.setattr(pump.runner, "process", failing)
    with web.serve(pump) as server:
        with pytest.raises(StreamlearnError, match="full"):
            pump.run()
        assert ask(server, "/readyz")[0] == 503


def test_metrics_are_those_of_the_run(monkeypatch):
    pump = new_pump(messages=livestreams.numbered(livestreams.reports(9)))
    with web.serve(pump) as server:
        pump.run()
        status, headers, body = ask(server, "/metrics")
        assert (status, headers["Content-Type"], body) == (200, *metrics.exposition(pump))
        assert b"streamlearn_decisions_total 9.0" in body
        monkeypatch.setitem(sys.modules, "prometheus_client", None)
        status, _, body = ask(server, "/metrics")
        assert status == 501
        assert b"streamlearn[metrics]" in body


def test_the_plan_is_published_where_there_is_one():
    plan = livestreams.STOPPER.plan
    with web.serve(new_pump(), plan=plan) as server:
        assert ReportingPlan.from_json(ask(server, "/plan")[2]) == plan
    with web.serve(new_pump(livestreams.predictor)) as server:
        assert ask(server, "/plan")[0] == 404


def test_the_schema_has_the_runs_key_field():
    with web.serve(new_pump(key_field="job")) as server:
        schemas = json.loads(ask(server, "/asyncapi.json")[2])["components"]["schemas"]
    assert "job" in schemas["ReportMessage"]["properties"]


def test_the_page_comes_with_headers_that_bind_it():
    with web.serve(new_pump()) as server:
        status, headers, body = ask(server, "/")
    assert (status, body) == (200, page.PAGE)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert not [name for name in headers if name.lower().startswith("access-control")]


# --- events


def test_events_tell_what_was_and_then_what_is():
    pump = new_pump(messages=livestreams.numbered(livestreams.reports(9)))
    with web.serve(pump) as server, listening(server) as (_, lines):
        assert b" 200 " in begin(lines)
        first = event(lines)
        assert first["event"] == "history"
        assert json.loads(first["data"])[0][1:] == [0, 0]
        pump.run()
        server.board.tick()
        told = json.loads(event(lines)["data"])
        while told["decisions"] < 9:
            told = json.loads(event(lines)["data"])
        assert told["counts"] == dict.fromkeys(
            ("redelivered", "duplicates", "dead_letters", "losses", "early"), 0
        ) | dict(pump.runner.store.counters())


def test_no_answer_holds_a_key_an_event_id_or_a_value():
    bodies = [{"key": f"k{PRIVATE}", "event_id": f"e{PRIVATE}", "x": {"height": float(PRIVATE)}, "y": 1}]
    messages = [*livestreams.numbered(bodies), livestreams.message(2, f'{{"{PRIVATE}": "{PRIVATE}'.encode())]
    pump = new_pump(livestreams.predictor, messages)
    with web.serve(pump) as server:
        pump.run()
        server.board.tick()
        assert pump.runner.store.counters() == {"predictions": 1, "labels": 1, "dead_letters": 1}
        for path in ("/", "/metrics", "/asyncapi.json", "/readyz", "/healthz", "/plan"):
            assert PRIVATE.encode() not in ask(server, path)[2]
        with listening(server) as (_, lines):
            begin(lines)
            assert PRIVATE not in event(lines)["data"] + event(lines)["data"]


def test_there_is_room_for_so_many_listeners_and_they_make_room():
    with web.serve(new_pump()) as server, contextlib.ExitStack() as stack:
        for _ in range(web.MOST_LISTENERS):
            client, lines = stack.enter_context(listening(server))
            assert b" 200 " in begin(lines)
        assert ask(server, "/events")[0] == 503
        lines.close()
        client.shutdown(socket.SHUT_RDWR)
        client.close()

        def free():
            server.board.tick()
            return server.listeners.acquire(blocking=False)

        until(free)


def test_a_listener_that_does_not_read_is_dropped(monkeypatch):
    monkeypatch.setattr(web.Handler, "timeout", 0.05)
    with web.serve(new_pump()) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        client.connect(server.server_address[:2])
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: server.listeners._value == web.MOST_LISTENERS - 1)

        def dropped():
            server.board.tick()
            return server.listeners._value == web.MOST_LISTENERS

        until(dropped)


# --- whom it refuses


def test_other_paths_and_methods_are_refused():
    with web.serve(new_pump()) as server:
        assert ask(server, "/nothing")[0] == 404
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"):
            status, headers, _ = ask(server, "/", method)
            assert (status, headers["Allow"], headers["X-Content-Type-Options"]) == (405, "GET", "nosniff")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""])
def test_names_that_others_give_us_are_refused(host):
    with web.serve(new_pump()) as server:
        for path in ("/", "/events", "/metrics", "/nothing"):
            assert ask(server, path, Host=host)[0] == 421
        for own in ("localhost:1", "LOCALHOST", "127.0.0.1:9", "[::1]:9"):
            assert ask(server, "/healthz", Host=own)[0] == 200


def test_beyond_loopback_any_name_will_do():
    with web.serve(new_pump(), "0.0.0.0:0") as server:
        assert ask(server, "/healthz", Host="pod.example")[0] == 200


@pytest.mark.parametrize(
    "address", ["", "localhost", "localhost:", "localhost:x", "localhost:65536", "::1", "::1:80"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ParameterError, match="HOST:PORT"), web.serve(new_pump(), address):
        pass


def test_a_port_in_use_is_told():
    refused = pytest.raises(StreamlearnError, match="choose another")
    with web.serve(new_pump()) as server, refused, web.serve(new_pump(), server.address):
        pass


# --- ends


def test_it_ends_whoever_is_connected_and_can_begin_again():
    before = set(threading.enumerate())
    with contextlib.ExitStack() as clients:
        with web.serve(new_pump()) as server:
            _, lines = clients.enter_context(listening(server))
            begin(lines)
            idle = clients.enter_context(socket.create_connection(server.server_address[:2], PATIENCE))
            until(lambda: len(server._open) == 2)
        assert set(threading.enumerate()) <= before
        assert server._open == {}
        assert idle.recv(1) == b""
        while lines.readline():
            pass
    with web.serve(new_pump(), server.address) as again:
        assert ask(again, "/healthz")[0] == 200


def test_connections_beyond_the_most_are_closed(monkeypatch):
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 1)
    with web.serve(new_pump()) as server:
        with socket.create_connection(server.server_address[:2], PATIENCE):
            until(lambda: len(server._open) == 1)
            with socket.create_connection(server.server_address[:2], PATIENCE) as second:
                assert second.recv(1) == b""
        until(lambda: not server._open)
        assert ask(server, "/healthz")[0] == 200
