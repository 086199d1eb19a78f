"""A real Redis server on a free loopback port, that can be killed and started again on its data."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time

import pytest
import redis

DEADLINE = 30.0
PROGRAM = shutil.which("redis-server")


class RedisServer:
    """The server, as a context manager."""

    def __init__(self, folder):
        if PROGRAM is None:
            pytest.skip("needs the program redis-server")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.process = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self):
        self.restart()
        return self

    def __exit__(self, *exception):
        self.client.close()
        self.kill()

    def restart(self):
        options = {"bind": "127.0.0.1", "port": self.port, "dir": self.folder, "appendonly": "yes",
                   "appendfsync": "always", "save": "", "daemonize": "no", "hz": "500"}  # fmt: skip
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self.process = subprocess.Popen(
            [PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.client = redis.Redis(port=self.port, protocol=2)
        until = time.monotonic() + DEADLINE
        while True:
            try:
                return self.client.ping()
            except redis.exceptions.ConnectionError:  # it is not there yet, or still loads
                assert time.monotonic() < until, "redis-server does not start"
                time.sleep(0.01)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def send(self, stream, values):
        pipeline = self.client.pipeline(transaction=False)
        for value in values:
            pipeline.xadd(stream, {"data": value})
        return pipeline.execute()

    def read(self, stream):
        """Return the fields of all entries."""
        return [fields for _, fields in self.client.xrange(stream)]
