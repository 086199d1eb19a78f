"""A real NATS server with JetStream, on a free loopback port, that can be killed and started again on its data."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time

import nats
import pytest

DEADLINE = 30.0
PROGRAM = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")


class NatsServer:
    """The server, as a context manager."""

    def __init__(self, folder, user=None):
        if PROGRAM is None:
            pytest.skip("needs the program nats-server")
        self.folder = folder
        self.process = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.user = user
        self.url = f"nats://{user + '@' if user else ''}127.0.0.1:{self.port}"

    def __enter__(self):
        self.restart()
        return self

    def __exit__(self, *exception):
        self.kill()

    def restart(self):
        self.process = subprocess.Popen(
            [
                PROGRAM,
                "-js",
                "-a",
                "127.0.0.1",
                "-p",
                str(self.port),
                "-sd",
                str(self.folder),
                *self._options(),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + DEADLINE
        while True:
            try:
                return self.run(lambda stream: stream.account_info())
            except (OSError, nats.errors.Error):
                assert time.monotonic() < until, "nats-server does not start"
                time.sleep(0.02)

    def _options(self):
        if not self.user:
            return []
        name, password = self.user.split(":")
        return ["--user", name, "--pass", password]

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def run(self, call):
        """Do something with the stream context of a connection of its own."""

        async def silent(_):
            pass

        async def work():
            client = await nats.connect(
                self.url, allow_reconnect=False, reconnect_time_wait=0.05, error_cb=silent
            )
            try:
                return await call(client.jetstream(publish_async_max_pending=1 << 20))
            finally:
                await client.close()

        return asyncio.run(work())

    def create(self, name, *subjects, **options):
        self.run(lambda stream: stream.add_stream(name=name, subjects=list(subjects), **options))

    def send(self, messages):
        """Write (subject, data)."""

        async def work(stream):
            answers = [await stream.publish_async(subject, data) for subject, data in messages]
            await asyncio.gather(*answers)

        self.run(work)

    def read(self, name):
        """Return (headers, data) of all messages of a stream."""

        async def work(stream):
            state = (await stream.stream_info(name)).state
            numbers = range(max(1, state.first_seq), state.last_seq + 1)
            found = await asyncio.gather(*(stream.get_msg(name, number) for number in numbers))
            return [(dict(message.headers or {}), message.data) for message in found]

        return self.run(work)
