#!/usr/bin/env python3
"""Tunnels, interim answers and ends that come early, through the real proxy, with raw sockets."""

import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import unittest

from proxy_process import PATIENCE, Listening, Proxy
from smuggling_test import DATA, END_HEADERS, END_STREAM, HEADERS, SETTINGS, frame, literal

MUCH = b"0123456789abcdef" * 65536  # 1 MiB
UPGRADE = b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
CONNECT = b"CONNECT db:1 HTTP/1.1\r\nHost: db:1\r\n\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
EXTRA = """    match: { methods: [CONNECT, GET, PUT] }
"""


def read_head(connection):
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            raise AssertionError(f"it ended in its head: {data}")
        data += byte
    return data


def read_all(connection):
    """Until its end."""
    data = b""
    while more := connection.recv(65536):
        data += more
    return data


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Raw(Listening):
    """A backend that hands each connection to the test."""

    def __init__(self):
        self.handler = None
        super().__init__()

    def serve(self, connection):
        connection.settimeout(PATIENCE)
        self.handler(connection)


class Tunnels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.backend = Raw()
        cls.proxy = Proxy(cls.backend.port, tls=True, extra=EXTRA)

    @classmethod
    def tearDownClass(cls):
        cls.backend.stop()
        cls.proxy.stop()

    def connect(self, first=b"", port=None):
        client = socket.create_connection(("127.0.0.1", port or self.proxy.port), PATIENCE)
        client.sendall(first)
        return client

    def said(self):
        """What the backend's handler says of itself, when it does."""
        self.assertTrue(self.event.wait(PATIENCE), self.proxy.said())
        return self.heard

    def say(self, heard):
        self.heard = heard
        self.event.set()

    def setUp(self):
        self.event = threading.Event()
        self.heard = None

    def tunnel(self, first, answer, then, client=None):
        def handler(connection):
            read_head(connection)
            connection.sendall(answer)
            then(connection)

        self.backend.handler = handler
        client = client or self.connect()
        client.sendall(first)
        read_head(client)
        return client

    def test_the_clients_end_comes_first(self):
        for first, answer in (UPGRADE, SWITCH), (CONNECT, b"HTTP/1.1 200 OK\r\n\r\n"):
            with self.subTest(first):
                def then(connection):
                    self.say(read_all(connection))
                    connection.sendall(MUCH)
                    connection.close()

                self.setUp()
                client = self.tunnel(first, answer, then)
                client.sendall(MUCH)
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(self.said(), MUCH)
                self.assertEqual(read_all(client), MUCH)
                client.close()

    def test_the_replicas_end_comes_first(self):
        def then(connection):
            connection.sendall(MUCH)
            connection.shutdown(socket.SHUT_WR)
            self.say(read_all(connection))
            connection.close()

        client = self.tunnel(UPGRADE, SWITCH, then)
        self.assertEqual(read_all(client), MUCH)
        client.sendall(MUCH)
        client.close()
        self.assertEqual(self.said(), MUCH)

    def test_an_upgrade_without_a_protocol_is_none(self):
        for upgrades in "[]", "[websocket]", '["*"]':
            for value in b",", b" , ,,":
                with self.subTest(upgrades=upgrades, value=value):
                    self.setUp()

                    def handler(connection):
                        self.say(read_head(connection))
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

                    self.backend.handler = handler
                    proxy = Proxy(self.backend.port, extra=f"    upgrades: {upgrades}\n")
                    try:
                        first = UPGRADE.replace(b"websocket", value)
                        with self.connect(first, proxy.port) as client:
                            self.assertTrue(read_head(client).startswith(b"HTTP/1.1 200 "))
                        self.assertNotIn(b"upgrade", self.said().lower())
                    finally:
                        proxy.stop()

    def test_ends_pass_through_tls(self):
        context = ssl.create_default_context(cafile=str(self.proxy.directory / "cert.pem"))

        def then(connection):
            self.say(read_all(connection))

        def then_first(connection):
            connection.sendall(MUCH)
            connection.shutdown(socket.SHUT_WR)
            self.say(read_all(connection))

        for ends in then, then_first:
            with self.subTest(ends), self.connect(port=self.proxy.tls_port) as plain:
                self.setUp()
                client = context.wrap_socket(plain, server_hostname="localhost")
                client = self.tunnel(UPGRADE, SWITCH, ends, client)
                if ends is then_first:
                    self.assertEqual(read_all(client), MUCH)
                client.sendall(MUCH)
                client.unwrap().close()
                self.assertEqual(self.said(), MUCH)

    def test_a_half_closed_tunnel_costs_nothing(self):
        done = threading.Event()

        def then(connection):
            self.say(read_all(connection))
            done.wait(PATIENCE)

        client = self.tunnel(UPGRADE, SWITCH, then)
        client.shutdown(socket.SHUT_WR)
        self.said()
        before = self.cpu()
        time.sleep(0.3)
        self.assertLess(self.cpu() - before, 10)  # hundredths of a second
        done.set()
        self.assertEqual(read_all(client), b"")
        client.close()

    def cpu(self):
        with open(f"/proc/{self.proxy.process.pid}/stat", encoding="utf8") as stat:
            words = stat.read().rsplit(")", 1)[1].split()
        return int(words[11]) + int(words[12])

    def test_a_reset_is_a_reset(self):
        def then(connection):
            try:
                self.say(read_all(connection))
            except ConnectionResetError:
                self.say("reset")

        client = self.tunnel(UPGRADE, SWITCH, then)
        reset(client)
        self.assertEqual(self.said(), "reset")
        client = self.tunnel(UPGRADE, SWITCH, reset)
        with self.assertRaises(ConnectionResetError):
            read_all(client)
        client.close()

    def test_curl_through_a_tunnel(self):
        def handler(connection):
            head = read_head(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            self.say(head + read_head(connection))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ninside")
            connection.close()

        self.backend.handler = handler
        done = self.curl("-p", "-x", f"http://127.0.0.1:{self.proxy.port}", "http://db:81/x")
        self.assertEqual(done, b"inside")
        self.assertIn(b"CONNECT db:81 HTTP/1.1\r\n", self.said())
        self.assertIn(b"GET /x HTTP/1.1\r\n", self.said())

    def curl(self, *argv):
        done = subprocess.run(["curl", "-sS", "--noproxy", "", "--max-time", str(PATIENCE), *argv],
                              capture_output=True, timeout=PATIENCE * 2, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    # ---- CONNECT of HTTP/2, frame by frame

    def frames(self, client, until):
        """All frames of stream 1, until one of the kind has the flag."""
        while True:
            head = self.exactly(client, 9)
            size = struct.unpack(">I", b"\0" + head[:3])[0]
            payload = self.exactly(client, size)
            if head[8] != 1:
                continue
            yield head[3], head[4], payload
            if head[3] == until[0] and head[4] & until[1] == until[1]:
                return

    @staticmethod
    def exactly(client, size):
        data = b""
        while len(data) < size:
            more = client.recv(size - len(data))
            if not more:
                raise AssertionError("it ended")
            data += more
        return data

    def test_connect_of_http_2(self):
        fields = literal(b":method", b"CONNECT") + literal(b":authority", b"db:1")
        for server_first in False, True:
            with self.subTest(server_first):
                def handler(connection, server_first=server_first):
                    read_head(connection)
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    if server_first:
                        connection.sendall(b"words")
                        connection.shutdown(socket.SHUT_WR)
                    heard = read_all(connection)
                    if not server_first:
                        connection.sendall(b"words")
                    connection.close()
                    self.say(heard)

                self.setUp()
                self.backend.handler = handler
                client = self.connect(PREFACE + frame(HEADERS, END_HEADERS, 1, fields))
                head = list(self.frames(client, (HEADERS, END_HEADERS)))
                self.assertEqual(head[-1][2][:1], b"\x88")  # :status 200
                if server_first:
                    got = list(self.frames(client, (DATA, END_STREAM)))
                    client.sendall(frame(DATA, END_STREAM, 1, b"hello"))
                else:
                    client.sendall(frame(DATA, 0, 1, b"hel") + frame(DATA, END_STREAM, 1, b"lo"))
                    got = list(self.frames(client, (DATA, END_STREAM)))
                self.assertEqual(self.said(), b"hello")
                self.assertEqual(b"".join(f[2] for f in got if f[0] == DATA), b"words")
                client.close()

    # ---- Interim answers

    def answer(self, *pieces):
        def handler(connection):
            read_head(connection)
            for piece in pieces:
                connection.sendall(piece)
            connection.close()

        self.backend.handler = handler

    def test_early_hints_reach_curl(self):
        self.answer(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\n",
                    b"Content-Length: 4\r\n\r\nreal")
        url = f"http://127.0.0.1:{self.proxy.port}/"
        ways = {"--http1.1": b"http/1.1 103", "--http2-prior-knowledge": b"http/2 103"}
        for how, first in ways.items():
            got = self.curl(how, "-i", url).lower()
            self.assertTrue(got.startswith(first), got)
            self.assertIn(b"\r\nlink: </a.css>", got.split(b"\r\n\r\n")[0])
            self.assertTrue(got.endswith(b"\r\n\r\nreal"), got)
        self.assertTrue(self.curl("--http1.0", "-i", url).startswith(b"HTTP/1.1 200"))

    def test_a_replica_that_only_hints_is_given_up(self):
        def handler(connection):
            read_head(connection)
            while True:
                connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")

        self.backend.handler = handler
        url = f"http://127.0.0.1:{self.proxy.port}/"
        for how in "--http1.1", "--http2-prior-knowledge":
            got = self.curl(how, "-i", url)
            self.assertLessEqual(got.lower().count(b"link:"), 8)
            self.assertRegex(got.rsplit(b"\r\n\r\n", 2)[1], rb"^HTTP/\S+ 50[23] ")

    def test_a_body_that_waited_for_100_is_kept_for_a_retry(self):
        heads = []

        def handler(connection):
            head = read_head(connection)
            body = connection.recv(5, socket.MSG_WAITALL)
            heads.append((head, body))
            status = b"503 X" if len(heads) == 1 else b"200 OK"
            connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n"
                               b"Connection: close\r\n\r\n")
            connection.close()

        self.backend.handler = handler
        client = self.connect(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                              b"Expect: 100-continue\r\n\r\n")
        self.assertEqual(read_head(client), b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(b"hello")
        self.assertIn(b"HTTP/1.1 200 OK", read_head(client))
        self.assertEqual([body for _, body in heads], [b"hello", b"hello"])
        self.assertNotIn(b"expect", heads[0][0].lower())
        client.close()

    # ---- Ends that come early

    def test_a_client_that_resets_takes_its_request_along(self):
        for http_2 in False, True:
            with self.subTest(http_2):
                asked = threading.Event()

                def handler(connection, asked=asked):
                    read_head(connection)
                    asked.set()
                    try:
                        self.say(read_all(connection))
                    except ConnectionResetError:
                        self.say(b"")

                self.setUp()
                self.backend.handler = handler
                fields = b"".join(literal(*f) for f in (
                    (b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"),
                    (b":authority", b"x")))
                client = self.connect(
                    PREFACE + frame(HEADERS, END_HEADERS | END_STREAM, 1, fields) if http_2
                    else b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertTrue(asked.wait(PATIENCE))
                reset(client)
                self.assertEqual(self.said(), b"")

    def test_an_early_413_and_a_reset_reach_the_client(self):
        def handler(connection):
            read_head(connection)
            connection.recv(1)  # The rest is not read: to close is to reset.
            connection.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n"
                               b"Connection: close\r\n\r\nbig")
            connection.close()

        self.backend.handler = handler
        for i in range(20):
            client = self.connect(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\n\r\n")
            try:
                for _ in range(4):
                    client.sendall(MUCH)
            except OSError:
                pass  # The proxy has answered, and says goodbye.
            with self.subTest(i):
                self.assertTrue(read_head(client).startswith(b"HTTP/1.1 413 "))
                self.assertEqual(client.recv(3, socket.MSG_WAITALL), b"big")
            client.close()


if __name__ == "__main__":
    sys.exit(unittest.main())
