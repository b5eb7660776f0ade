#!/usr/bin/env python3
"""A proxy without file descriptors: it blames no replica, the admin API answers, it recovers."""

import http.client
import json
import socket
import sys
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy

LIMIT = 64  # of descriptors; 8 are the reserve
CLIENTS = 100
EXTRA = """    circuit_breaker: on
    client_throttle: on
    concurrency_limit: on
"""
CLOSED = "damper_http_closed_total"
DIALS = "damper_http_client_failed_dials_total"
OUT = 'reason="out_of_descriptors"'


class Descriptors(unittest.TestCase):
    def setUp(self):
        ports = []
        for _ in range(2):
            backend = Backend(lambda request: (200, {"Connection": "close"}, b"ok"))
            self.addCleanup(backend.stop)
            ports.append(backend.port)
        self.proxy = Proxy(ports, extra=EXTRA, descriptors=LIMIT)
        self.addCleanup(self.proxy.stop)
        self.client = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE)

    def statuses(self, count):
        found = set()
        for _ in range(count):
            self.client.request("GET", "/")
            response = self.client.getresponse()
            response.read()
            found.add(response.status)
        return found

    def wait_until(self, what):
        until = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), until, self.proxy.said())
            time.sleep(0.02)

    def test_without_descriptors(self):
        note = "max_connections is 10000; the limit of file descriptors allows 42"
        self.wait_until(lambda: note in self.proxy.said())
        self.assertEqual(self.statuses(5), {200})

        idle = [self.connect() for _ in range(CLIENTS)]
        # The admin API answers, with the reserve.
        self.wait_until(lambda: self.proxy.metric(CLOSED, OUT) > 0)
        for _ in range(20):  # What connections to the admin API leave free is taken, too.
            if self.statuses(10) == {503}:
                break
            idle.append(self.connect())
        self.assertEqual(self.statuses(100), {503})
        self.assertGreaterEqual(self.proxy.metric(DIALS, OUT), 100)
        self.assertEqual(self.proxy.metric(DIALS, 'reason="connect_refused"'), 0)
        [cluster] = json.loads(self.proxy.admin("/state"))["clusters"]
        self.assertEqual([replica["ejected_on"] for replica in cluster["replicas"]], [0, 0])

        for connection in idle:
            connection.close()
        self.wait_until(lambda: self.proxy.metric("damper_http_connections{", "plain") < 5)
        self.assertEqual(self.statuses(100), {200})  # No breaker, throttle, limit or ejection.
        self.wait_until(lambda: "out_of_descriptors" in self.proxy.said())
        self.assertEqual(self.proxy.said().count("event=out_of_descriptors"), 1, self.proxy.said())


if __name__ == "__main__":
    sys.exit(unittest.main())
