"""The real dispatcher as a process, a client of its API and a receiver, for asyncio tests."""

import asyncio
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile

DAMPER = os.environ.get("DAMPER", "damper")
SLOWNESS = float(os.environ.get("DAMPER_SLOWNESS", "1"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Refused(Exception):
    """The dispatcher answered, and did not accept."""


class Dispatcher:
    """`damper webhooks serve` with a store of its own, or one that it shares (a Cluster of
    PostgreSQL); it can be killed and started again."""

    def __init__(self, config="", cluster=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="damper-webhooks-"))
        self.port = free_port()
        self.config = self.directory / "webhooks.yaml"
        store = self.directory / "webhooks.db"
        if cluster:
            store = cluster.url
            config += f"secret_key_file: {cluster.keys}\n"
        self.config.write_text(f'listen: "127.0.0.1:{self.port}"\n'
                               f'store: "{store}"\n'
                               "egress: { allow: [127.0.0.0/8] }\n" + config)
        self.log = open(self.directory / "log", "a+", encoding="utf8")
        self.process = None

    async def start(self, under=()):
        """`under`: a program that runs it, such as strace with its arguments."""
        command = [*under, DAMPER, "webhooks", "serve", "-c", str(self.config)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        for _ in range(int(1500 * SLOWNESS)):
            try:
                await self.call("GET", "/healthz")
                return
            except (OSError, asyncio.IncompleteReadError):
                if self.process.poll() is not None:
                    raise RuntimeError(self.text()) from None
                await asyncio.sleep(0.02)
        raise RuntimeError("the dispatcher does not answer: " + self.text())

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # And the program that runs it.
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory)

    def text(self):
        return (self.directory / "log").read_text(encoding="utf8")[-4000:]

    async def call(self, method, target, body=None, headers=""):
        """One request on a connection of its own: (status, JSON)."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            return await exchange(reader, writer, method, target, body, headers)
        finally:
            writer.close()


async def exchange(reader, writer, method, target, body=None, headers=""):
    data = b"" if body is None else json.dumps(body).encode()
    kind = "Content-Type: application/json\r\n" if data else ""
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{kind}{headers}"
                 f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status = int(head.split(" ", 2)[1])
    length = 0
    for line in head.split("\r\n"):
        if line.lower().startswith("content-length:"):
            length = int(line.split(":")[1])
    text = await reader.readexactly(length)
    return status, json.loads(text) if text.startswith((b"{", b"[")) else text


class Receiver:
    """A receiver on loopback. `order` has the webhook-id of each request, in order of arrival."""

    def __init__(self, answer=None):
        self.order = []
        self.counts = {}
        self.traces = []  # traceparent of each request, or None
        self.answer = answer or (lambda path, count: 200)
        self.server = None
        self.port = 0

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.port}{path}"

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1")
                path = head.split(" ", 2)[1]
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:]
                              if ": " in line)
                await reader.readexactly(int(fields.get("content-length", "0")))
                key = fields["webhook-id"]
                self.order.append(key)
                self.traces.append(fields.get("traceparent"))
                self.counts[key] = self.counts.get(key, 0) + 1
                status = self.answer(path, self.counts[key])
                if asyncio.iscoroutine(status):
                    status = await status
                if status is None:  # a black hole
                    await asyncio.sleep(3600)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


class Sender:
    """Sends numbered messages with idempotency keys on some connections, until each is accepted.

    A connection that breaks, or an answer 503, is tried again with the same key."""

    def __init__(self, dispatcher, count, connections=16, payload=None, first=0):
        self.dispatcher = dispatcher
        self.waiting = list(range(first + count - 1, first - 1, -1))
        self.payload = payload or {"n": 1}
        self.ids = {}
        self.repeated = 0
        self.connections = connections

    async def run(self):
        await asyncio.gather(*(self.work() for _ in range(self.connections)))

    async def work(self):
        while self.waiting:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.dispatcher.port)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            number = None
            try:
                while self.waiting:
                    number = self.waiting.pop()
                    status, answer = await exchange(
                        reader, writer, "POST", "/v1/applications/default/messages",
                        {"type": "test.event", "payload": self.payload},
                        f"Idempotency-Key: key-{number}\r\n")
                    if status == 503:
                        self.waiting.append(number)
                        await asyncio.sleep(0.05 + random.random() / 10)
                    elif status != 202:
                        raise Refused(f"{status}: {answer}")
                    else:
                        self.ids[number] = answer["id"]
                        self.repeated += answer["repeated"]
                    number = None
            except (asyncio.IncompleteReadError, ConnectionError):
                if number is not None:
                    self.waiting.append(number)
            finally:
                writer.close()


async def wait_for(what, patience=60.0):
    for _ in range(int(patience * SLOWNESS * 50)):
        if what():
            return True
        await asyncio.sleep(0.02)
    return False
