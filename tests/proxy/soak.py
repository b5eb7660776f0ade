#!/usr/bin/env python3
"""Mixed load with faults through the proxy, for SOAK_SECONDS (600): no growth, no crash, nothing
stuck.

The backend resets, stalls, breaks off, drips and fails; the clients reset, stop reading, send half
a request, or too much of one. At the end, when the clients are gone, the proxy must have no request
under way and no connection open, and about the memory that it had after a tenth of the time.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import struct
import subprocess
import sys
import time
import urllib.request

from proxy_process import PATIENCE, Proxy

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
INSTRUMENTED = os.environ.get("DAMPER_INSTRUMENTED") == "1"
LARGE = b"x" * (512 * 1024)
POLICY = """    timeout: 20s
    retry_policy: { num_retries: 2, per_try_timeout: 400ms, retry_back_off: { base_interval: 5ms } }
    circuit_breaker: off
"""


class Broken(Exception):
    """What must not happen."""


def reset(writer):
    """RST instead of FIN."""
    with contextlib.suppress(OSError, AttributeError):
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


# ---- The backend: what it does is in the path.


async def read_request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    fields = {}
    for line in lines[1:-2]:
        name, value = line.split(b":", 1)
        fields[name.lower()] = value.strip()
    if fields.get(b"transfer-encoding") == b"chunked":
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    elif length := int(fields.get(b"content-length", b"0")):
        await reader.readexactly(length)
    return lines[0].split(b" ")[1]


async def serve(reader, writer):
    try:
        while True:
            path = await read_request(reader)
            if path == b"/reset":
                return reset(writer)
            if path == b"/stall":
                await asyncio.sleep(3)
                return writer.close()
            if path == b"/truncated":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 100)
                await writer.drain()
                return writer.close()
            if path == b"/half-head":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
                return reset(writer)
            if path == b"/rubbish":
                writer.write(b"\0\1\2 no HTTP at all\r\n\r\n")
            elif path == b"/drip":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(5):
                    writer.write(b"1\r\nx\r\n")
                    await asyncio.sleep(0.02)
                writer.write(b"0\r\n\r\n")
            elif path == b"/until-close":
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
                await writer.drain()
                return writer.close()
            elif path == b"/503":
                writer.write(b"HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\nno")
            elif path == b"/large":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LARGE) + LARGE)
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, ValueError):
        pass
    except asyncio.CancelledError:
        pass  # The soak is over. A task that ends so would be shown as an error, by asyncio.
    finally:
        writer.close()


# ---- The clients


FAULTS = [b"/reset", b"/stall", b"/truncated", b"/half-head", b"/rubbish", b"/503"]


class Load:
    def __init__(self, port):
        self.port, self.end = port, time.monotonic() + SECONDS
        self.counts = {}

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def over(self):
        return time.monotonic() >= self.end

    async def connect(self):
        return await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port), PATIENCE)

    async def read_answer(self, reader):
        """The status; 0: it broke off."""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            lower = head.lower()
            if b"content-length: " in lower:
                length = int(lower.split(b"content-length: ")[1].split(b"\r\n")[0])
                await asyncio.wait_for(reader.readexactly(length), PATIENCE)
            elif b"chunked" in lower:
                while size := int(await asyncio.wait_for(reader.readline(), PATIENCE), 16):
                    await asyncio.wait_for(reader.readexactly(size + 2), PATIENCE)
                await reader.readline()
            return int(head[9:12])
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            return 0

    async def ask(self, pick):
        """Kept connections: one request after the other."""
        while not self.over():
            reader, writer = await self.connect()
            with contextlib.suppress(ConnectionError):
                for _ in range(random.randint(1, 50)):
                    if self.over():
                        break
                    path = pick()
                    writer.write(b"GET %s HTTP/1.1\r\nHost: soak\r\n\r\n" % path)
                    status = await self.read_answer(reader)
                    self.count(f"{path.decode()} {status}")
                    if path in (b"/ok", b"/large") and status == 0:
                        raise Broken("a good request got no answer")
                    if status == 0:
                        break
                    await asyncio.sleep(0.001)
            writer.close()

    async def post(self):
        while not self.over():
            reader, writer = await self.connect()
            body = os.urandom(random.choice([10, 1000, 100_000, 300_000]))
            with contextlib.suppress(ConnectionError):
                if random.random() < 0.5:
                    writer.write(b"POST /ok HTTP/1.1\r\nHost: soak\r\nContent-Length: %d\r\n\r\n"
                                 % len(body) + body)
                else:
                    writer.write(b"POST /ok HTTP/1.1\r\nHost: soak\r\n"
                                 b"Transfer-Encoding: chunked\r\n\r\n")
                    for at in range(0, len(body), 7000):
                        part = body[at:at + 7000]
                        writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                        await writer.drain()
                    writer.write(b"0\r\n\r\n")
                self.count(f"POST {await self.read_answer(reader)}")
            writer.close()
            await asyncio.sleep(0.01)

    async def read_slowly(self):
        """Asks for much, reads little of it, and goes."""
        while not self.over():
            reader, writer = await self.connect()
            writer.write(b"GET /large HTTP/1.1\r\nHost: soak\r\n\r\n" * 3)
            with contextlib.suppress(ConnectionError):
                for _ in range(random.randint(1, 20)):
                    if self.over():
                        break
                    await reader.read(2000)
                    await asyncio.sleep(0.05)
            self.count("slow reader")
            reset(writer) if random.random() < 0.5 else writer.close()

    async def leave_early(self):
        """Half a head, half a body, or a whole request; then it is gone."""
        while not self.over():
            _, writer = await self.connect()
            writer.write(random.choice([
                b"", b"GET /ok HT", b"GET /stall HTTP/1.1\r\nHost: soak\r\n\r\n",
                b"GET /large HTTP/1.1\r\nHost: soak\r\n\r\n", b"\0" * 100, b"PRI * HTTP/2.0\r\n",
                b"POST /ok HTTP/1.1\r\nHost: soak\r\nContent-Length: 1000\r\n\r\nhalf",
                b"POST /ok HTTP/1.1\r\nHost: soak\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            ]))
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            await asyncio.sleep(random.choice([0, 0.005, 0.05]))
            self.count("left early")
            reset(writer) if random.random() < 0.5 else writer.close()

    async def h2(self):
        """Another program's HTTP/2."""
        while not self.over():
            path = random.choice(["ok", "ok", "large", "503", "truncated", "drip"])
            program = await asyncio.create_subprocess_exec(
                "h2load", "-c", "3", "-m", "10", "-n", "60", f"http://127.0.0.1:{self.port}/{path}",
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
            out = (await asyncio.wait_for(program.communicate(), PATIENCE * 6))[0]
            if path in ("ok", "large", "drip") and b" 60 succeeded" not in out:
                raise Broken("HTTP/2 requests failed:\n" + out.decode())
            self.count(f"h2load /{path}")
            await asyncio.sleep(0.1)


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0


def state(proxy):
    with urllib.request.urlopen(f"http://127.0.0.1:{proxy.admin_port}/state",
                                timeout=PATIENCE) as page:
        return json.load(page)


async def soak(proxy):
    load = Load(proxy.port)
    tasks = [load.ask(lambda: random.choice([b"/ok"] * 8 + [b"/large", b"/drip", b"/until-close"]))
             for _ in range(8)]
    tasks += [load.ask(lambda: random.choice(FAULTS)) for _ in range(4)]
    tasks += [load.post() for _ in range(3)]
    tasks += [load.read_slowly() for _ in range(4)]
    tasks += [load.leave_early() for _ in range(3)]
    if shutil.which("h2load"):
        tasks.append(load.h2())
    sizes = []

    async def watch():
        tenths = 1
        while not load.over():
            left = load.end - time.monotonic()
            if left < SECONDS * (1 - tenths / 10):
                tenths += 1
                print(f"{SECONDS - left:6.0f} s: {sum(load.counts.values())} done, "
                      f"{sizes[-1]:.1f} MiB", flush=True)
            if proxy.process.poll() is not None:
                raise Broken("the proxy is gone")
            sizes.append(resident(proxy.process.pid))
            await asyncio.sleep(max(0.25, SECONDS / 200))

    running = [asyncio.create_task(task) for task in (*tasks, watch())]
    await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
    for task in running:
        task.cancel()  # Only if one has failed there are others left.
    for result in await asyncio.gather(*running, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
    return load.counts, sizes


def check_rest(proxy, sizes):
    """When the clients are gone, nothing is left of them."""
    deadline = time.monotonic() + PATIENCE * 2
    while True:
        now = state(proxy)
        open_now = sum(listener["connections"] for listener in now["listeners"])
        if (now["requests_under_way"] == 0 and open_now == 0) or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    print(f"after the clients have gone: {now['requests_under_way']} requests under way, "
          f"{open_now} connections open")
    if now["requests_under_way"] or open_now:
        raise Broken("something is stuck:\n" + json.dumps(now, indent=1))
    warm = max(sizes[:max(3, len(sizes) // 5)])
    late = sorted(sizes[-max(3, len(sizes) // 5):])
    late = late[len(late) // 2]
    print(f"the proxy's memory in MiB: {warm:.1f} in the first fifth at most, {late:.1f} in the "
          f"last fifth, {resident(proxy.process.pid):.1f} now")
    if not INSTRUMENTED and late > warm * 1.25 + 4:  # A sanitizer keeps what was freed.
        raise Broken("it grows")


async def run():
    backend = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20)
    proxy = Proxy(backend.sockets[0].getsockname()[1], extra=POLICY)
    print(f"soak: {SECONDS:.0f} s of good and bad clients and answers through the proxy, process "
          f"{proxy.process.pid}", flush=True)
    why = None
    try:
        counts, sizes = await soak(proxy)
        print("how often, what, and the status that the client got (0: the answer broke off, as "
              "the backend's did):")
        for what, count in sorted(counts.items()):
            print(f"{count:8} {what}")
        await asyncio.to_thread(check_rest, proxy, sizes)
    except (Broken, OSError, asyncio.TimeoutError) as error:
        why = str(error) or repr(error)
        with contextlib.suppress(subprocess.TimeoutExpired):
            proxy.process.wait(1)  # A process that dies closes its sockets before it is gone.
    if (status := proxy.process.poll()) is not None:
        words = [line for line in proxy.said().splitlines() if not line.startswith("{")][-100:]
        why = "\n".join([f"the proxy ended with {status}; the last of its log:", *words])
    try:
        await asyncio.to_thread(proxy.stop)
    except AssertionError as error:
        why = why or str(error)
    backend.close()
    if not why:
        print("soak: nothing grew, broke or got stuck")
    return f"soak: {why}" if why else 0


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    random.seed(6)
    return asyncio.run(run())


if __name__ == "__main__":
    sys.exit(main())
