#!/usr/bin/env python3
"""Paths that are written to pass by a route, and what else a client writes into its request."""

import socket
import sys
import unittest

from proxy_process import PATIENCE, Backend, Proxy
from tunnel_test import read_head

# One request to /login, and then none for an hour; everything else is free.
LIMITED = """    match: { path: /login }
    rate_limit: { requests_per_second: 0.001, burst: 1 }
  rest:
    cluster: backend
"""
WAYS = ("//login", "/./login", "/%6cogin", "/%6Cogin", "/x/../login", "/x/%2e%2E/login",
        "/../login", "///.//login", "http://x//login")
NORMAL = "normalize_path: true, escaped_slashes: refuse"


def ask(port, target, method="GET", fields=""):
    """The status of one request."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       f"{fields}\r\n".encode())
        return int(read_head(client).split(b" ")[1])


class Paths(unittest.TestCase):
    def start(self, extra, listener=""):
        self.backend = Backend()
        self.addCleanup(self.backend.stop)
        self.proxy = Proxy(self.backend.port, extra=extra, listener=listener)
        self.addCleanup(self.proxy.stop)

    def ask(self, target, **more):
        return ask(self.proxy.port, target, **more)

    def targets(self):
        return [request["target"] for request in self.backend.requests]

    def test_as_written_they_pass_by_the_limit(self):
        """The control, and the default."""
        self.start(LIMITED)
        self.assertEqual([self.ask("/login"), self.ask("/login")], [200, 429])
        self.assertEqual({self.ask(way) for way in WAYS}, {200})

    def test_normalized_they_do_not(self):
        self.start(LIMITED, NORMAL)
        self.assertEqual([self.ask("/x/../login?a=//b"), self.ask("/login")], [200, 429])
        self.assertEqual({way: self.ask(way) for way in WAYS}, dict.fromkeys(WAYS, 429))
        self.assertEqual(self.targets(), ["/login?a=//b"])  # What was matched is forwarded.

    def test_what_is_ambiguous_is_refused(self):
        self.start(LIMITED, NORMAL)
        for way in ("/login%2f", "/x/..%5clogin", "/x\\..\\login", "/%", "/%%36c"):
            self.assertEqual(self.ask(way), 400, way)
        self.assertEqual(self.targets(), [])

    def test_parameters_are_left_alone(self):
        self.start(LIMITED, NORMAL)
        self.assertEqual(self.ask("/login;a=b"), 200)
        self.assertEqual(self.ask("*", method="OPTIONS"), 200)
        self.assertEqual(self.targets(), ["/login;a=b", "*"])

    def test_a_rewritten_prefix_is_not_left(self):
        extra = "    match: { prefix: /public }\n    prefix_rewrite: /files/public\n"
        for listener in ("", "escaped_slashes: refuse", "normalize_path: true"):
            with self.subTest(listener):
                self.start(extra, listener)
                self.assertEqual(self.ask("/public/a/.b?..=/../"), 200)
                for way in ("/public/../secret", "/public/%2e%2e/secret", "/public/..;x/secret",
                            "/public/..%2fsecret", "/public/a/../.."):
                    self.assertIn(self.ask(way), (400, 404) if listener else (400,), way)
                self.assertTrue(all(target.startswith("/files/public/a/")
                                    for target in self.targets()), self.targets())


class Keys(unittest.TestCase):
    """An Idempotency-Key makes a POST repeatable, unless the route does not trust it."""

    def attempts(self, extra):
        backend = Backend(lambda request: (503, {}, b"no"))
        proxy = Proxy(backend.port, extra=extra)
        try:
            status = ask(proxy.port, "/", method="POST",
                         fields="Idempotency-Key: k\r\nContent-Length: 0\r\n")
            self.assertEqual(status, 503)
            for request in backend.requests:
                self.assertEqual(dict(request["fields"])["idempotency-key"], "k")
            return len(backend.requests)
        finally:
            backend.stop()
            proxy.stop()

    def test_a_trusted_key(self):
        self.assertGreater(self.attempts(""), 1)

    def test_a_key_that_is_not_trusted(self):
        self.assertEqual(self.attempts("    trust_idempotency_key: false\n"), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
