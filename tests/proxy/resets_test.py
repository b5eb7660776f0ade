#!/usr/bin/env python3
"""HTTP/2 streams that a client breaks: their number is bounded, and each is cancelled upstream."""

import queue
import socket
import sys
import time
import unittest

from proxy_process import PATIENCE, Listening, Proxy
from smuggling_test import (DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, frame,
                            request)
from tunnel_test import PREFACE, read_head

PING, ACK = 6, 1
ENHANCE_YOUR_CALM = 11
LIMITS = "max_resets_per_second: 1"  # and a burst of 10
MANY = 200  # More than the burst and what a slow machine's seconds add to it.

# How a stream begins, and how the client breaks it.
WAYS = {
    "RST_STREAM": (
        lambda id: frame(HEADERS, END_HEADERS | END_STREAM, id, request(method=b"GET")),
        lambda id: frame(RST_STREAM, 0, id, bytes([0, 0, 0, 8]))),
    "a body that is too short": (
        lambda id: frame(HEADERS, END_HEADERS, id, request((b"content-length", b"5"))),
        lambda id: frame(DATA, END_STREAM, id, b"x")),
    "a body that is too long": (
        lambda id: frame(HEADERS, END_HEADERS, id, request((b"content-length", b"5"))),
        lambda id: frame(DATA, 0, id, b"123456")),
}


class Silent(Listening):
    """Answers /ok alone. Reports each request, and the end of each connection without an answer."""

    def __init__(self):
        self.events = queue.Queue()
        super().__init__()

    def serve(self, connection):
        head = read_head(connection)
        self.events.put("request")
        if head.startswith(b"GET /ok "):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        try:
            while connection.recv(65536):
                pass
        except ConnectionResetError:
            pass
        self.events.put("cancelled")


class Client:
    """Frames to the proxy, and what came back."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.goaway = None  # its code
        self.socket.sendall(PREFACE)

    def send(self, data):
        """False: the proxy has closed the connection. Otherwise it has read all of it."""
        try:
            self.socket.sendall(data + frame(PING, 0, 0, b"12345678"))
        except (ConnectionResetError, BrokenPipeError):
            pass  # What it sent before is still to be read.
        try:
            return self.read_until(lambda kind, flags, id: kind == PING and flags & ACK)
        except ConnectionResetError:
            return False

    def read_until(self, is_last):
        while len(start := self.stream.read(9)) == 9:
            payload = self.stream.read(int.from_bytes(start[:3], "big"))
            kind, flags, id = start[3], start[4], int.from_bytes(start[5:9], "big")
            if kind == GOAWAY:
                self.goaway = int.from_bytes(payload[4:8], "big")
            if is_last(kind, flags, id):
                return True
        return False

    def close(self):
        self.stream.close()
        self.socket.close()


class Resets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.backend = Silent()
        cls.proxy = Proxy(cls.backend.port, listener=LIMITS)

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.backend.stop()

    def setUp(self):
        self.connect()

    def connect(self):
        self.client = Client(self.proxy.port)
        self.addCleanup(self.client.close)

    def floods(self):
        return self.proxy.metric('damper_http_closed_total{reason="flood"')

    def assert_closed_as_flood(self, floods_before):
        self.assertEqual(self.client.goaway, ENHANCE_YOUR_CALM)
        self.client.close()
        until = time.monotonic() + PATIENCE  # It is counted when both sides have closed.
        while self.floods() == floods_before and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(self.floods(), floods_before + 1)

    def event(self):
        return self.backend.events.get(timeout=PATIENCE)

    def test_in_one_write_they_cost_the_upstream_nothing(self):
        for what, (begin, end) in WAYS.items():
            with self.subTest(what):
                before = self.floods()
                self.connect()
                sent = 0
                while sent < MANY and self.client.send(begin(2 * sent + 1) + end(2 * sent + 1)):
                    sent += 1
                self.assertIn(sent, range(10, MANY))
                self.assert_closed_as_flood(before)
                self.assertTrue(self.backend.events.empty())

    def test_each_of_them_is_cancelled_upstream(self):
        for what, (begin, end) in WAYS.items():
            with self.subTest(what):
                before = self.floods()
                self.connect()
                sent = 0
                while sent < MANY and self.client.send(begin(2 * sent + 1)):
                    self.assertEqual(self.event(), "request")
                    is_open = self.client.send(end(2 * sent + 1))
                    self.assertEqual(self.event(), "cancelled")
                    if not is_open:
                        break
                    sent += 1
                self.assertIn(sent, range(10, MANY))
                self.assert_closed_as_flood(before)

    def test_held_for_a_while_errors_count_and_resets_hardly(self):
        many = 30  # At once: three bursts, and an eighth of them is less than one.
        for what, (begin, end) in WAYS.items():
            with self.subTest(what):
                before = self.floods()
                self.connect()
                ids = range(1, 2 * many, 2)
                self.assertTrue(self.client.send(b"".join(map(begin, ids))))
                for _ in ids:
                    self.assertEqual(self.event(), "request")
                time.sleep(0.3)
                # The first PING may be answered before the streams are reset.
                is_open = self.client.send(b"".join(map(end, ids))) and self.client.send(b"")
                for _ in ids:
                    self.assertEqual(self.event(), "cancelled")
                self.assertEqual(is_open, what == "RST_STREAM")
                if not is_open:
                    self.assert_closed_as_flood(before)

    def test_a_client_that_cancels_a_few_is_served(self):
        begin, end = WAYS["RST_STREAM"]
        for id in range(1, 17, 2):
            self.assertTrue(self.client.send(begin(id)))
            self.assertEqual(self.event(), "request")
            self.assertTrue(self.client.send(end(id)))
            self.assertEqual(self.event(), "cancelled")
        head = request(method=b"GET", path=b"/ok")
        self.client.socket.sendall(frame(HEADERS, END_HEADERS | END_STREAM, 17, head))
        self.assertTrue(self.client.read_until(lambda kind, _, id: (kind, id) == (HEADERS, 17)))
        self.assertEqual(self.event(), "request")


if __name__ == "__main__":
    sys.exit(unittest.main())
