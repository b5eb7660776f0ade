#!/usr/bin/env python3
"""All attacks at once beside honest load, for ATTACK_SECONDS (3), on two loops.

First the same honest load alone: the control. Under attack no honest request may be lost that the
control does not lose, memory is flat from the time on when all attackers hold what they hold (but
for sanitizers, whose memory is their own), and the access log, a pipe as in a container, names each
attacker. Every attacker has an address of its own in 127.0.0.0/8; one of them is a trusted peer.
Service, attackers and honest clients are processes of their own. The loads are modest, and follow
each other: an attacker repeats its attack once in STEP honest requests, or once a second. So they
leave a slow proxy, under a sanitizer, time for both: what counts is how many honest requests are
answered, not how fast. A queued request waits for seconds, which a busy machine does not exceed; it
is shed all the same if attackers hold all slots.
"""

import json
import multiprocessing
import os
import socket
import sys
import threading
import time
import unittest

from proxy_process import PATIENCE, Listening, Proxy
from smuggling_test import (DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, frame, request)
from tunnel_test import MUCH, PREFACE, SWITCH, UPGRADE, read_head

SECONDS = float(os.environ.get("ATTACK_SECONDS", "3"))
SLOWNESS = float(os.environ.get("DAMPER_SLOWNESS", "1"))
STEP = 4  # honest requests between two rounds of an attack
MOST_PAUSE = 1.0  # seconds between them
HONEST = 4  # clients
GOOD = 0.98  # of the control's goodput
MOST_GROWTH = 24 * 1024  # KiB, from the time on when the attackers hold everything
INSTRUMENTED = "DAMPER_INSTRUMENTED" in os.environ
HELD = 80  # tunnels, and slow readers: more than the admission has slots
LISTENER = ("request_headers_timeout: 500ms, normalize_path: true, escaped_slashes: refuse, "
            "max_resets_per_second: 5")
ROUTES = f"""    match: {{ path: /login }}
    rate_limit: {{ requests_per_second: 1, burst: 1 }}
  failing:
    match: {{ path: /fail }}
    cluster: backend
    trust_idempotency_key: false
  main:
    cluster: backend
    timeout: {int(5 * SLOWNESS)}s
    circuit_breaker: on
    client_throttle: on
    concurrency_limit: {{ initial: 100, min: 50 }}
    upgrades: [websocket]
    admission_control: {{ kind: fixed, initial: 64, max_wait: {int(2 * SLOWNESS)}s,
                         queue_interval: 30s, queue_target: 30s }}
access_log: all
"""


def answer(status, body):
    return b"HTTP/1.1 %b\r\nDamper-Verdict: breaker_open\r\nContent-Length: %d\r\n\r\n%b" % (
        status, len(body), body)


ANSWERS = {b"/": answer(b"200 OK", b"ok"), b"/fail": answer(b"503 No", b"no"),
           b"/much": answer(b"200 OK", MUCH * 4)}


class Service(Listening):
    """Answers after a few ms; tunnels /chat, sends much for /much, fails /fail."""

    def __init__(self):
        self.logins = self.failures = 0
        super().__init__()

    def serve(self, connection):
        stream = connection.makefile("rb")
        while line := stream.readline(65536):
            path = line.split(b" ")[1]
            length, chunked = 0, False
            while (field := stream.readline(65536)) not in (b"\r\n", b""):
                name, value = field.lower().split(b":", 1)
                length = int(value) if name == b"content-length" else length
                chunked |= name == b"transfer-encoding"
            while chunked and (size := int(stream.readline(1024), 16)):
                stream.read(size + 2)
            if chunked:
                stream.readline(16)
            if len(stream.read(length)) < length:
                return
            if path == b"/chat":
                connection.sendall(SWITCH)
                connection.recv(1)
                return
            self.logins += path == b"/login"
            self.failures += path == b"/fail"
            time.sleep(0.03 if path == b"/slow" else 0.002)
            connection.sendall(ANSWERS.get(path, ANSWERS[b"/"]))


def serve(pipe):
    """The service, until it is asked for its counts."""
    service = Service()
    pipe.send(service.port)
    pipe.recv()
    pipe.send((service.logins, service.failures))


def get(path, *fields, method="GET"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *fields, "", ""]).encode("latin1")


class Attacker(threading.Thread):
    """Repeats an attack until the end, from one address."""

    def __init__(self, attack, address, port, over, progress):
        super().__init__(daemon=True)
        self.attack, self.address, self.port, self.over = attack, address, port, over
        self.progress = progress  # honest requests so far
        self.rounds = 0
        self.held = []
        self.full = True

    def connect(self, buffer=None):
        client = socket.socket()
        client.settimeout(PATIENCE)
        if buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.bind((self.address, 0))
        client.connect(("127.0.0.1", self.port))
        return client

    def hold(self, count, data, buffer=None):
        """Opens some connections and sends the data on each; keeps the last `count`."""
        for _ in range(min(8, 1 + count - len(self.held))):
            client = self.connect(buffer)
            self.held.append(client)
            client.sendall(data)
        self.full = len(self.held) >= count
        if len(self.held) > count:
            self.held.pop(0).close()

    def pause(self):
        """Whether it is over meanwhile."""
        next_one = self.progress.value + STEP
        until = time.monotonic() + MOST_PAUSE
        while self.progress.value < next_one and time.monotonic() < until:
            if self.over.wait(0.01):
                break
        return self.over.is_set()

    def run(self):
        while not self.over.is_set():
            try:
                self.attack(self)
            except (OSError, AssertionError):
                pass  # It is refused, as it should be.
            self.rounds += 1
            self.pause()
        for client in self.held:
            client.close()


def asks(*requests):
    """Each on a connection of its own, without regard to the answer."""
    def attack(self):
        for data in requests:
            with self.connect() as client:
                client.sendall(data)
                client.recv(4096)
    return attack


def holds(count, data, buffer=None):
    return lambda self: self.hold(count, data, buffer)


def breaks(begin, end, streams):
    """HTTP/2 streams that end in an error, some in each write."""
    def attack(self):
        with self.connect() as client:
            client.sendall(PREFACE)
            for first in range(1, 2000, 2 * streams):
                ids = range(first, first + 2 * streams, 2)
                client.sendall(b"".join(begin(id) for id in ids))
                client.sendall(b"".join(end(id) for id in ids))
                if self.pause():
                    return
    return attack


def attack_all(pipe, port, progress):
    """All attacks. Reports when they hold everything, and at the end the rounds of each."""
    over = threading.Event()
    attackers = [Attacker(attack, ADDRESSES[name], port, over, progress)
                 for name, attack in ATTACKS.items()]
    for attacker in attackers:
        attacker.start()
    until = time.monotonic() + PATIENCE * 5
    while not all(attacker.full and attacker.rounds for attacker in attackers):
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    pipe.send("ready")
    pipe.recv()
    over.set()
    for attacker in attackers:
        attacker.join(PATIENCE * 5)
    pipe.send({name: attacker.rounds for name, attacker in zip(ATTACKS, attackers)})


def start(function, *arguments):
    """Another process, and the pipe to it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=function, args=(theirs, *arguments), daemon=True)
    process.start()
    return process, ours


def answer_of(pipe):
    if not pipe.poll(PATIENCE * 10):
        raise AssertionError("a process of the test does not answer")
    return pipe.recv()


CHUNKED = "Transfer-Encoding: chunked"
LONG = "Content-Length: 100"
ATTACKS = {
    "trusted, short deadlines": asks(get("/slow", "x-request-deadline: 3", "Connection: close")),
    "short grpc-timeout": asks(get("/slow", "grpc-timeout: 3m", "Connection: close")),
    "stalled uploads": holds(8, get("/", LONG, method="POST") + b"x" * 99),
    "silent WebSockets": holds(HELD, UPGRADE),
    "slow readers": holds(HELD, get("/much"), 4096),
    "provoked resets": breaks(
        lambda id: frame(HEADERS, END_HEADERS, id, request((b"content-length", b"5"))),
        lambda id: frame(DATA, END_STREAM, id, b"x"), 10),
    "resets": breaks(
        lambda id: frame(HEADERS, END_HEADERS | END_STREAM, id, request(method=b"GET")),
        lambda id: frame(RST_STREAM, 0, id, bytes([0, 0, 0, 8])), 2),
    "criticality": asks(get("/", "damper-criticality: critical_plus", "Connection: close")),
    "slow heads": holds(60, b"GET / HTTP/1.1\r\nHost: "),
    "forged fields": asks(get("/", "X-Forwarded-For: 9.9.9.9", "X-Real-IP: 9.9.9.9",
                              "X-Forwarded-Client-Cert: spoof", "Connection: close")),
    "fields that fill a line of the log": asks(get(
        "/" + "x" * 2000, *(f"{name}: " + "\xff" * 500 for name in (
            "User-Agent", "Referer", "traceparent", "X-Request-Id")), "Connection: close")),
    "refused heads": asks(b"nonsense\r\n\r\n", get("/", "Content-Length: 1", CHUNKED),
                          get("/", "A: " + "a" * 70000)),
    "paths": asks(*(get(path, "Connection: close") for path in (
        "//login", "/./login", "/%6cogin", "/x/../login", "/login%2f"))),
    "h2c": asks(get("/chat", "Connection: upgrade, http2-settings", "Upgrade: h2c, websocket",
                    "HTTP2-Settings: AAMAAABkAAQAAP__")),
    "chunk extensions": asks(get("/", CHUNKED, "Connection: close", method="POST") +
                             b"2;a=b\r\nxx\r\n0;c\r\n\r\n",
                             get("/", CHUNKED, method="POST") + b"2;" + b"a" * 100000),
    "repeated POSTs": asks(get("/fail", "Idempotency-Key: k", "Content-Length: 0",
                               "Connection: close", method="POST")),
}
TRUSTED = "127.0.1.0"
ADDRESSES = {name: f"127.0.1.{i}" for i, name in enumerate(ATTACKS)}


class Honest(threading.Thread):
    """One request after the other; a lost connection is a lost request."""

    def __init__(self, port, over, progress):
        super().__init__(daemon=True)
        self.port, self.over, self.progress = port, over, progress
        self.sent = self.good = 0
        self.bad = []

    def run(self):
        client = None
        while not self.over.is_set():
            self.sent += 1
            with self.progress:
                self.progress.value += 1
            try:
                client = client or socket.create_connection(("127.0.0.1", self.port), PATIENCE * 4)
                client.sendall(get("/"))
                head = read_head(client)
                body = client.recv(2)
                self.check(head, body)
                self.good += 1
            except (OSError, AssertionError) as error:
                self.bad.append(str(error)[:200])
                if client:
                    client.close()
                client = None
            self.over.wait(0.01)
        if client:
            client.close()


    @staticmethod
    def check(head, body):
        if (not head.startswith(b"HTTP/1.1 200 ") or body != b"ok"
                or b"damper-verdict" in head.lower()):  # It would be the service's own.
            raise AssertionError(head)


class Attacks(unittest.TestCase):
    def setUp(self):
        self.progress = multiprocessing.Value("q", 0)
        process, self.service = start(serve)
        self.addCleanup(process.kill)
        port = answer_of(self.service)
        self.proxy = Proxy(port, extra=ROUTES, listener=LISTENER,
                           trust=f"[{TRUSTED}]", piped=True)
        self.addCleanup(self.proxy.stop)

    def memory(self):
        """KiB."""
        with open(f"/proc/{self.proxy.process.pid}/status", encoding="utf8") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    def honest(self, pause):
        """Runs the honest load for the time that pause() takes. Returns sent, good, bad."""
        over = threading.Event()
        clients = [Honest(self.proxy.port, over, self.progress) for _ in range(HONEST)]
        for client in clients:
            client.start()
        pause()
        over.set()
        for client in clients:
            client.join(PATIENCE * 5)
        return (sum(client.sent for client in clients), sum(client.good for client in clients),
                [bad for client in clients for bad in client.bad])

    def under_attack(self):
        process, attackers = start(attack_all, self.proxy.port, self.progress)
        self.addCleanup(process.kill)
        answer_of(attackers)
        self.before = self.memory()
        time.sleep(SECONDS)
        self.after = self.memory()
        attackers.send("end")
        self.rounds = answer_of(attackers)

    def named(self):
        """The clients of the access log."""
        names = set()
        for line in self.proxy.said().splitlines():
            if line.startswith('{"time"'):
                names.add(json.loads(line).get("client"))
        return names

    def test_all_at_once(self):
        sent, good, _ = self.honest(lambda: time.sleep(SECONDS))
        self.assertGreater(good, 0)
        control = good / sent
        attacked_sent, attacked_good, lost = self.honest(self.under_attack)
        print(f"control: {good} of {sent} good; under attack: {attacked_good} of {attacked_sent}; "
              f"memory {self.before} to {self.after} KiB; rounds {self.rounds}", flush=True)
        self.assertTrue(all(self.rounds.values()), self.rounds)
        self.assertGreaterEqual(attacked_good / attacked_sent, GOOD * control, lost[:5])
        if not INSTRUMENTED:
            self.assertLessEqual(self.after, self.before + MOST_GROWTH)
        until = time.monotonic() + PATIENCE
        while (missing := set(ADDRESSES.values()) - self.named()) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(missing, set(), ADDRESSES)
        self.assertNotIn("9.9.9.9", self.named())
        # Afterwards the route serves as before.
        self.assertEqual(self.honest(lambda: time.sleep(0.5))[2], [])
        self.assertGreater(self.proxy.metric('damper_http_closed_total{reason="flood"'), 0)
        # The limits hold: one login each second, and no POST was sent twice.
        self.service.send("end")
        logins, failures = answer_of(self.service)
        self.assertLessEqual(logins, 2 + 2 * (SECONDS + PATIENCE))
        self.assertLessEqual(failures, self.rounds["repeated POSTs"])


if __name__ == "__main__":
    sys.exit(unittest.main())
