"""A small web server beside a run: its health, figures, plan, messages' schema and live page. It can only be read.

It reads counts alone, never the store, a key, an event id or what a message holds: a page may be left open on a wall.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import ipaddress
import re
import socket
import socketserver
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from streamlearn.errors import MissingExtraError, ParameterError, StreamlearnError
from streamlearn.live import asyncapi, metrics, page
from streamlearn.live.pump import Pump
from streamlearn.plans import ReportingPlan

LOOPBACK: Final = "127.0.0.1"
STALLED: Final = 300.0
"""Seconds without a turn of the pump's loop after which it no longer lives; a batch may take long."""
TICK: Final = 1.0
"""Seconds between two events of the page."""
KEPT: Final = 300
"""Ticks that a new listener is told of."""
MOST_LISTENERS: Final = 16
MOST_CONNECTIONS: Final = 64
SLOWEST: Final = 10.0
"""Seconds that a client may keep the server waiting."""
BUFFER: Final = 1 << 15
"""Bytes that may wait for a listener before it counts as slow."""
JSON, TEXT = "application/json", "text/plain; charset=utf-8"


@contextlib.contextmanager
def serve(
    pump: Pump, address: str = f"{LOOPBACK}:0", *, plan: ReportingPlan | None = None
) -> Iterator[Server]:
    """Serve the figures of a run while it is at work in another thread.

    Parameters
    ----------
    pump
        What runs.
    address
        ``HOST:PORT``; ``:PORT`` is on loopback, port 0 any free one.
    plan
        The stopper's reporting plan, published for clients.

    Yields
    ------
    Server
        Its ``address`` says where it really is.

    Raises
    ------
    ParameterError
        If ``address`` is none.
    StreamlearnError
        If it cannot be used.

    Examples
    --------
    >>> import io, urllib.request
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.live import Pump, Runner, Store, web
    >>> from streamlearn.live.brokers import pipe
    >>> stopper = LDPOptimalStopper([1.0, 0.5], epsilon=1.0)
    >>> runner = Runner(lambda key: stopper.clone(), Store(":memory:", run="example"))
    >>> pump = Pump(runner, pipe.Source(io.BytesIO()), pipe.Sink(io.BytesIO()), pipe.Sink(io.BytesIO()))
    >>> with web.serve(pump) as server, urllib.request.urlopen(f"http://{server.address}/healthz") as answer:
    ...     pump.run()
    ...     answer.status
    200
    """
    server = Server(pump, *parse(address), plan)
    threads = [
        threading.Thread(target=run, daemon=True)
        for run in (functools.partial(server.serve_forever, 0.05), server.board.run)
    ]
    with server:
        for thread in threads:
            thread.start()
        try:
            yield server
        finally:
            server.board.close()
            server.shutdown()
            for thread in threads:
                thread.join()
            server.hang_up()


_ADDRESS = re.compile(r"(\[(?P<bracketed>[^\[\]]+)\]|(?P<host>[^\[\]:]*)):(?P<port>[0-9]{1,5})", re.ASCII)


def parse(address: str) -> tuple[str, int]:
    """Return host and port of an address.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> from streamlearn.live.web import parse
    >>> parse(":9100"), parse("[::1]:0")
    (('127.0.0.1', 9100), ('::1', 0))
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) >= 1 << 16:
        raise ParameterError(f"address must be HOST:PORT, such as {LOOPBACK}:9100, got {address!r}")
    return match["bracketed"] or match["host"] or LOOPBACK, int(match["port"])


class Board:
    """The latest figures, for any number of listeners. One that lags skips to the latest: nothing ever queues.

    Parameters
    ----------
    pump
        What runs.
    """

    def __init__(self, pump: Pump) -> None:
        self._pump = pump
        self._news = threading.Condition()
        self._past: deque[tuple[float, int, int]] = deque(maxlen=KEPT)
        self._number = 0
        self._latest = b""
        self._closed = False
        self.tick()

    def tick(self) -> None:
        """Tell the listeners how things stand."""
        now = metrics.figures(self._pump)
        with self._news:
            self._number += 1
            self._latest = msgspec.json.encode(now)
            self._past.append((now.time, now.messages, now.decisions))
            self._news.notify_all()

    def run(self) -> None:
        """Tick until it is closed."""
        while True:
            with self._news:
                if self._news.wait_for(lambda: self._closed, TICK):
                    return
            self.tick()

    def close(self) -> None:
        """Send the listeners away."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def listen(self) -> Iterator[bytes]:
        """Iterate over server-sent events: what was, then what is, whenever it is news."""
        with self._news:
            past, seen = msgspec.json.encode(list(self._past)), 0
        yield b"retry: 1000\nevent: history\ndata: %b\n\n" % past
        while True:
            with self._news:
                while not self._closed and self._number <= seen:
                    self._news.wait()
                if self._closed:
                    return
                seen, latest = self._number, self._latest
            yield b"data: %b\n\n" % latest


class Server(http.server.ThreadingHTTPServer):
    """The server; made by :func:`serve`.

    Parameters
    ----------
    pump
        What runs.
    host, port
        Where to listen.
    plan
        The reporting plan.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, pump: Pump, host: str, port: int, plan: ReportingPlan | None) -> None:
        self.pump = pump
        self.board = Board(pump)
        self.plan = plan
        self.listeners = threading.Semaphore(MOST_LISTENERS)
        self._open: dict[Any, threading.Thread] = {}
        self._host = host.lower()
        try:
            self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), Handler)
        except (OSError, UnicodeError) as error:
            raise StreamlearnError(
                f"address {host}:{port} cannot be used ({error}); choose another, port 0 is any free one"
            ) from None

    def server_bind(self) -> None:
        """Bind; the standard library's own would ask the name server for our name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def address(self) -> str:
        """Where it listens: ``HOST:PORT``."""
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def welcomes(self, host: str | None) -> bool:
        """Return whether a request was meant for us: on loopback, a page elsewhere may give us a name of its own."""
        if not _is_loopback(str(self.server_address[0])):
            return True
        name = urlsplit(f"//{host or ''}").hostname or ""
        return name in {"localhost", self._host} or _is_loopback(name)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, if there is room."""
        if len(self._open) >= MOST_CONNECTIONS:
            self.shutdown_request(request)
            return
        work = self.process_request_thread
        thread = threading.Thread(target=work, args=(request, client_address), daemon=True)
        self._open[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        """Close what is still open; no more comes in."""
        for request, thread in self._open.copy().items():
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)
            thread.join(SLOWEST)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    timeout = SLOWEST
    server_version, sys_version = "streamlearn", ""

    def do_GET(self) -> None:
        """Answer."""
        path = urlsplit(self.path).path
        if not self.server.welcomes(self.headers.get("Host")):
            self._answer(421, TEXT, b"this server does not go by that name\n")
        elif path == "/events":
            self._tell()
        elif path in _ANSWERS:
            self._answer(*_ANSWERS[path](self.server))
        else:
            self._answer(404, TEXT, b"not found\n")

    def __getattr__(self, name: str) -> Any:
        """Refuse any other method."""
        if not name.startswith("do_"):
            raise AttributeError(name)
        return lambda: self.send_error(405, "only GET is answered")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse, in plain text."""
        self._answer(code, TEXT, f"{message or explain or 'refused'}\n".encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing: standard output belongs to decisions."""

    def _tell(self) -> None:
        """Send events until the listener, or the run, has gone; one that does not read in time is dropped."""
        if not self.server.listeners.acquire(blocking=False):
            self._answer(503, TEXT, b"too many listeners; close another page\n")
            return
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            self._head(200, "text/event-stream")
            for event in self.server.board.listen():
                self.wfile.write(event)
        finally:
            self.server.listeners.release()

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self._head(code, kind, {"Content-Length": str(len(body))} | ({"Allow": "GET"} if code == 405 else {}))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, code: int, kind: str, more: dict[str, str] | None = None) -> None:
        self.close_connection = True
        self.send_response(code)
        for name, value in ({"Content-Type": kind} | _HEADERS | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()


_HEADERS: Final = {
    "Content-Security-Policy": page.POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _health(server: Server) -> tuple[int, str, bytes]:
    if time.monotonic() - server.pump.turned < STALLED:
        return 200, TEXT, b"alive\n"
    return 503, TEXT, b"the loop has not turned for %d seconds\n" % STALLED


def _readiness(server: Server) -> tuple[int, str, bytes]:
    if not server.pump.running:
        return 503, TEXT, b"the run is not at work: not begun, ended, or its store failed\n"
    if not server.pump.connected:
        return 503, TEXT, b"a broker cannot be reached; trying again\n"
    return 200, TEXT, b"ready\n"


def _metrics(server: Server) -> tuple[int, str, bytes]:
    try:
        return 200, *metrics.exposition(server.pump)
    except MissingExtraError as error:
        return 501, TEXT, f"{error}\n".encode()


def _plan(server: Server) -> tuple[int, str, bytes]:
    if server.plan is None:
        return 404, TEXT, b"this run publishes no reporting plan\n"
    return 200, JSON, server.plan.to_json().encode()


def _schema(server: Server) -> tuple[int, str, bytes]:
    runner = server.pump.runner
    return 200, JSON, msgspec.json.encode(asyncapi.document(runner.kind, key_field=runner.key_field))


def _page(_: Server) -> tuple[int, str, bytes]:
    return 200, "text/html; charset=utf-8", page.PAGE


_ANSWERS: Final = {
    "/": _page,
    "/asyncapi.json": _schema,
    "/healthz": _health,
    "/metrics": _metrics,
    "/plan": _plan,
    "/readyz": _readiness,
}
