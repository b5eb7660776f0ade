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
            found = self.statuses(100)
            if found == {503}:
                break
            idle.append(self.connect())
        self.assertEqual(found, {503})
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


class TwoListeners(unittest.TestCase):
    @staticmethod
    def status(client):
        client.request("GET", "/")
        response = client.getresponse()
        response.read()
        return response.status

    def test_their_connections_leave_descriptors_for_dials(self):
        backend = Backend(lambda request: (200, {"Connection": "close"}, b"ok"))
        self.addCleanup(backend.stop)
        # 16 are the reserve, 180 for connections, 60 for the process itself and for dials.
        proxy = Proxy(backend.port, tls=True, descriptors=256)
        self.addCleanup(proxy.stop)
        client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE)
        self.addCleanup(client.close)
        statuses = [self.status(client)]  # Its connection is accepted before the others.
        for port in proxy.port, proxy.tls_port:
            for _ in range(200):
                idle = socket.create_connection(("127.0.0.1", port), PATIENCE)
                self.addCleanup(idle.close)
        until = time.monotonic() + PATIENCE
        while proxy.metric(CLOSED, 'reason="too_many"') < 200 and time.monotonic() < until:
            time.sleep(0.02)
        statuses += [self.status(client) for _ in range(20)]
        self.assertEqual(set(statuses), {200})
        self.assertEqual(proxy.metric(CLOSED, OUT), 0)
        self.assertEqual(proxy.metric(DIALS, OUT), 0)
        self.assertGreaterEqual(proxy.metric(CLOSED, 'reason="too_many"'), 200)
        for name in "plain", "secure":
            self.assertIn(f"listeners.{name}.max_connections is 10000; "
                          "the limit of file descriptors allows 90", proxy.said())


    def test_an_eighth_is_for_connections_that_wait_for_a_client(self):
        backend = Backend()
        self.addCleanup(backend.stop)
        proxy = Proxy(backend.port, descriptors=256)
        self.addCleanup(proxy.stop)
        for _ in range(50):
            stalled = socket.create_connection(("127.0.0.1", proxy.port), PATIENCE)
            self.addCleanup(stalled.close)
            stalled.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nx")
        held, all_of_them = ["damper_http_client_held{"], ["damper_http_client_connections{"]
        until = time.monotonic() + PATIENCE
        while proxy.metric(*all_of_them) < 50 and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(proxy.metric(*all_of_them), 50)
        self.assertEqual(proxy.metric(*held), 30)


if __name__ == "__main__":
    sys.exit(unittest.main())
