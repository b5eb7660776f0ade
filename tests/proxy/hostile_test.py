#!/usr/bin/env python3
"""Clients that hold what others need, through the real proxy. Each attack has its control."""

import json
import socket
import ssl
import sys
import threading
import time
import unittest

from proxy_process import PATIENCE, Backend, Listening, Proxy
from tunnel_test import MUCH, SWITCH, UPGRADE, read_head

ATTACKERS = 24
VICTIMS = 50
GOOD = 49  # of the victims: 98 %
GATE = """    timeout: 60s
    admission_control: { kind: fixed, initial: 20, max_wait: 20ms, queue_capacity: 4 }
"""


class Service(Listening):
    """Tunnels /chat, sends much for /much, never answers /hang, and answers the rest."""

    def __init__(self):
        self.hanging = threading.Semaphore(0)
        super().__init__()

    def serve(self, connection):
        while True:
            path = read_head(connection).split(b" ")[1]
            if path == b"/chat":
                connection.sendall(SWITCH)
                connection.recv(1)
                return
            if path == b"/hang":
                self.hanging.release()
                while connection.recv(4096):
                    pass
                return
            body = MUCH * 8 if path == b"/much" else b"ok"
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            connection.sendall(body)


class Stage(unittest.TestCase):
    def setUp(self):
        self.service = Service()
        self.open = []
        self.proxy = None

    def tearDown(self):
        for connection in self.open:
            connection.close()
        self.service.stop()
        if self.proxy:
            self.proxy.stop()
        self.proxy = None

    def start(self, extra):
        self.proxy = Proxy(self.service.port, extra=extra)

    def attack(self, request, *, answered=True, attackers=ATTACKERS):
        for _ in range(attackers):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(PATIENCE)
            client.connect(("127.0.0.1", self.proxy.port))
            client.sendall(request)
            self.open.append(client)
            if answered:
                self.assertIn(read_head(client).split(b" ")[1], (b"101", b"200"))

    def victims(self):
        """How many of them are answered 200."""
        good = 0
        for _ in range(VICTIMS):
            with socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                good += read_head(client).startswith(b"HTTP/1.1 200 ")
        return good


class Hostile(Stage):
    def test_silent_tunnels_leave_the_route_open(self):
        self.start(GATE)
        self.attack(UPGRADE)
        self.assertGreaterEqual(self.victims(), GOOD)

    def test_slow_readers_leave_the_route_open(self):
        self.start(GATE)
        self.attack(b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertGreaterEqual(self.victims(), GOOD)

    def test_requests_without_an_answer_fill_the_route(self):
        """The control: what the service works on counts."""
        self.start(GATE)
        self.attack(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n", answered=False)
        for _ in range(20):
            self.assertTrue(self.service.hanging.acquire(timeout=PATIENCE))
        self.assertEqual(self.victims(), 0)

    def test_short_deadlines_open_no_breaker(self):
        """40 at a quiet route did: 20 of 20 victims got breaker_open. Trusted or not."""
        for trust in ("none", "all"):
            for field in (b"x-request-deadline: 1", b"grpc-timeout: 1m"):
                with self.subTest(trust=trust, field=field):
                    self.setUp()
                    self.proxy = Proxy(self.service.port, trust=trust,
                                       extra="    circuit_breaker: on\n")
                    self.attack(b"GET /hang HTTP/1.1\r\nHost: x\r\n" + field + b"\r\n\r\n",
                                answered=False)
                    if trust == "all" or field.startswith(b"grpc"):
                        for client in self.open:
                            self.assertTrue(read_head(client).startswith(b"HTTP/1.1 504 "))
                    self.assertGreaterEqual(self.victims(), GOOD)
                    self.tearDown()


PARTS = ("circuit_breaker", "concurrency_limit", "client_throttle")
CUT = (b"GET /hang HTTP/1.1\r\nHost: x\r\nx-request-deadline: 5\r\n\r\n",
       b"GET /hang HTTP/1.1\r\nHost: x\r\ngrpc-timeout: 5m\r\n\r\n")


class Billing(Stage):
    """A client's short deadline is not billed to the service, whatever protects it."""

    def answered(self, request, part, timeout):
        """The victims that are answered after the attackers were, of a trusted listener."""
        self.setUp()
        try:
            self.proxy = Proxy(self.service.port, trust="all",
                               extra=f"    timeout: {timeout}\n    {part}: on\n")
            self.attack(request, answered=False)
            for client in self.open:
                self.assertIn(read_head(client).split(b" ")[1], (b"504", b"408", b"503"))
            return self.victims()
        finally:
            self.tearDown()

    def test_short_deadlines(self):
        for part in PARTS:
            for request in CUT:
                with self.subTest(part=part, request=request):
                    self.assertGreaterEqual(self.answered(request, part, "5s"), GOOD)

    def test_stalled_uploads(self):
        """30 of them opened the breaker: 20 of 20 victims got breaker_open."""
        for sent in (b"", b"x" * 99):
            request = b"POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + sent
            with self.subTest(sent=len(sent)):
                self.assertGreaterEqual(self.answered(request, "circuit_breaker", "400ms"), GOOD)

    def test_stalled_uploads_throttle_nobody(self):
        """46 of 50 victims were refused. The control: complete ones throttle."""
        for sent, throttled in ((99, False), (100, True)):
            with self.subTest(sent=sent):
                request = (b"POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
                           + b"x" * sent)
                victims = self.answered(request, "client_throttle", "400ms")
                self.assertEqual(victims < GOOD, throttled)

    def test_a_burst_at_a_cold_proxy_throttles_nobody(self):
        """Requests in flight, to a service that is well: 18 % of such a burst were refused."""
        self.start("    timeout: 60s\n    client_throttle: on\n")
        self.attack(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n", answered=False, attackers=48)
        for _ in range(48):
            self.assertTrue(self.service.hanging.acquire(timeout=PATIENCE))
        self.assertEqual(self.victims(), VICTIMS)

    def test_complete_uploads_are_billed(self):
        """The control."""
        request = b"POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
        self.assertEqual(self.answered(request, "circuit_breaker", "400ms"), 0)

    def test_what_the_service_does_not_answer_is_billed(self):
        """The control: as many requests without a deadline, of which nothing is missing."""
        request = b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n"
        self.assertEqual(self.answered(request, "circuit_breaker", "400ms"), 0)


class Stalls(Stage):
    """Clients that wait hold no place that others need, however many there are: more than the
    connections to a replica (64), and than any limit."""

    PARTS = {"none": "", "concurrency_limit": "    concurrency_limit: on\n",
             "admission_control": GATE.split("\n", 1)[1],
             "circuit_breaker": "    circuit_breaker: on\n",
             "client_throttle": "    client_throttle: on\n"}

    def victims_beside(self, request, extra, *, answered=False, attackers=100):
        self.setUp()
        try:
            self.start("    timeout: 60s\n" + extra)
            self.attack(request, answered=answered, attackers=attackers)
            return self.victims()
        finally:
            self.tearDown()

    def test_uploads(self):
        for part, extra in self.PARTS.items():
            for size, sent in ((100, 99), (200000, 100000)):
                with self.subTest(part=part, sent=sent):
                    head = b"POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
                    request = head + b"x" * sent
                    self.assertGreaterEqual(self.victims_beside(request, extra), GOOD)

    def test_readers(self):
        for part in ("none", "admission_control"):
            with self.subTest(part=part):
                request = b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n"
                self.assertGreaterEqual(
                    self.victims_beside(request, self.PARTS[part], answered=True), GOOD)

    def test_what_the_service_works_on_counts(self):
        """The control: as many requests of which nothing is missing."""
        request = b"POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
        for part in ("concurrency_limit", "admission_control"):
            with self.subTest(part=part):
                self.assertEqual(self.victims_beside(request, self.PARTS[part]), 0)


CLAIMS = {"X-Forwarded-For": "1.1.1.1", "X-Forwarded-Proto": "gopher", "X-Real-IP": "1.1.1.1",
          "Forwarded": "for=1.1.1.1", "X-Forwarded-Client-Cert": "spoof",
          "x-envoy-internal": "true", "damper-criticality": "critical_plus"}
GET = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
REQUEST = (GET + "".join(f"{name}: {value}\r\n" for name, value in CLAIMS.items())
           + "\r\n").encode()


class Claims(unittest.TestCase):
    """What a client says of itself, to a listener that trusts nobody, and to one that does."""

    def seen(self, trust, certificate=False):
        """The fields that reach the service."""
        backend = Backend()
        proxy = Proxy(backend.port, tls=certificate, trust=trust)
        try:
            port = proxy.tls_port if certificate else proxy.port
            client = socket.create_connection(("127.0.0.1", port), PATIENCE)
            if certificate:
                own = str(proxy.directory / "cert.pem")
                context = ssl.create_default_context(cafile=own)
                context.load_cert_chain(own, str(proxy.directory / "key.pem"))
                client = context.wrap_socket(client, server_hostname="localhost")
            client.sendall(REQUEST)
            self.assertTrue(read_head(client).startswith(b"HTTP/1.1 200 "))
            client.close()
            return dict(backend.requests[0]["fields"])
        finally:
            backend.stop()
            proxy.stop()

    def test_a_strangers_claims_do_not_pass(self):
        fields = self.seen("none")
        for name in CLAIMS:
            self.assertNotEqual(fields.get(name.lower()), CLAIMS[name], name)
        self.assertEqual(fields["x-forwarded-for"], "127.0.0.1")
        self.assertEqual(fields["x-forwarded-proto"], "http")

    def test_those_of_a_trusted_peer_do(self):
        fields = self.seen("[127.0.0.0/8]")
        for name in CLAIMS:
            self.assertIn(CLAIMS[name], fields[name.lower()], name)
        self.assertEqual(fields["x-forwarded-for"], "1.1.1.1, 127.0.0.1")

    def test_a_verified_certificate_is_passed_on(self):
        fields = self.seen("none", certificate=True)
        self.assertEqual(fields["x-forwarded-proto"], "https")
        self.assertRegex(fields["x-forwarded-client-cert"],
                         '^Hash=[0-9a-f]{64};Subject="CN=localhost";DNS=localhost$')


REFUSED = ((400, b"nonsense\r\n\r\n"), (400, b"GET / HTTP/1.1\r\n\r\n"),
           (431, b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70000 + b"\r\n\r\n"),
           (501, b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"))


class Log(unittest.TestCase):
    def test_what_the_codec_refuses_is_logged_with_its_client(self):
        backend = Backend()
        proxy = Proxy(backend.port)
        try:
            for status, request in REFUSED:
                with socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as client:
                    client.sendall(request)
                    self.assertEqual(int(read_head(client).split(b" ")[1]), status)
            end = time.monotonic() + PATIENCE
            lines = []
            while len(lines) < len(REFUSED) and time.monotonic() < end:
                time.sleep(0.05)
                lines = [json.loads(line) for line in proxy.said().splitlines()
                         if line.startswith('{"time"')]
        finally:
            backend.stop()
            proxy.stop()
        self.assertEqual(sorted(line["status"] for line in lines), [400, 400, 431, 501])
        for line in lines:
            self.assertEqual(line["client"], "127.0.0.1")
            self.assertEqual(line["protocol"], "HTTP/1.1")


if __name__ == "__main__":
    sys.exit(unittest.main())
