#!/usr/bin/env python3
"""Limits by client: one client with many connections or requests does not hurt another one."""

import http.client
import socket
import sys
import threading
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy

ATTACKER, VICTIM = "127.0.0.2", "127.0.0.3"
CONNECTIONS = 200  # of the attacker; the listener has 100
REQUESTS = 1000
CLOSED = "damper_http_closed_total"


class Client:
    """A connection from an address of this machine, until the test ends."""

    def __init__(self, test, proxy, address):
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", proxy.port, timeout=PATIENCE, source_address=(address, 0))
        test.addCleanup(self.connection.close)

    def get(self):
        """The status; 0: the connection was closed."""
        try:
            self.connection.request("GET", "/")
            response = self.connection.getresponse()
            response.read()
            return response.status
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0


class ClientLimits(unittest.TestCase):
    def start(self, extra="", listener=""):
        backend = Backend()
        self.addCleanup(backend.stop)
        proxy = Proxy(backend.port, extra=extra, listener=listener)
        self.addCleanup(proxy.stop)
        return proxy, backend

    def wait_until(self, what, proxy):
        until = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), until, proxy.said())
            time.sleep(0.02)

    def flood(self, proxy):
        """Idle connections of the attacker, as many as it gets."""
        flood = []
        for _ in range(CONNECTIONS):
            one = socket.socket()
            one.settimeout(PATIENCE)
            one.bind((ATTACKER, 0))
            one.connect(("127.0.0.1", proxy.port))
            self.addCleanup(one.close)
            flood.append(one)
        self.wait_until(
            lambda: proxy.metric(CLOSED, 'reason="too_many') >= CONNECTIONS - 100, proxy)
        return flood

    def test_connections_without_a_limit(self):
        """The control: the attacker has all connections of the listener."""
        proxy, _ = self.start(listener="max_connections: 100")
        self.flood(proxy)
        self.assertEqual({Client(self, proxy, VICTIM).get() for _ in range(20)}, {0})

    def test_connections(self):
        proxy, _ = self.start(listener="max_connections: 100, max_connections_per_client: 20")
        flood = self.flood(proxy)
        self.wait_until(lambda: "event=client_over_limit" in proxy.said(), proxy)
        self.assertIn(f"client {ATTACKER} of listener plain has 20 connections", proxy.said())
        refused = proxy.metric(CLOSED, 'reason="too_many_of_client"')
        self.assertEqual(refused, CONNECTIONS - 20)
        victims = [Client(self, proxy, VICTIM) for _ in range(20)]
        self.assertEqual([victim.get() for victim in victims], [200] * 20)
        self.assertEqual(Client(self, proxy, VICTIM).get(), 0)  # The 21st.
        self.assertEqual(proxy.metric("damper_proxy_connected_clients"), 2)
        self.assertEqual(proxy.said().count("event=client_over_limit"), 1, proxy.said())
        for one in flood:
            one.close()
        self.wait_until(lambda: proxy.metric("damper_proxy_connected_clients") == 1, proxy)
        self.assertEqual(Client(self, proxy, ATTACKER).get(), 200)

    def attack(self, proxy):
        """Statuses of REQUESTS by the attacker, on four connections."""
        statuses = []

        def work():
            client = Client(self, proxy, ATTACKER)
            for _ in range(REQUESTS // 4):
                statuses.append(client.get())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return statuses

    def test_rates_without_a_limit(self):
        """The control: the attacker spends the rate of the route."""
        proxy, _ = self.start(extra="    rate_limit: { requests_per_second: 0.01, burst: 100 }\n")
        self.attack(proxy)
        self.assertEqual({Client(self, proxy, VICTIM).get() for _ in range(20)}, {429})

    def test_rates(self):
        proxy, backend = self.start(
            extra="    rate_limit: { requests_per_second: 0.01, burst: 100 }\n"
                  "    client_rate_limit: { requests_per_second: 0.01, burst: 50 }\n")
        statuses = self.attack(proxy)
        self.assertEqual(statuses.count(200), 50)
        self.assertEqual(statuses.count(429), REQUESTS - 50)
        victim = Client(self, proxy, VICTIM)
        self.assertEqual([victim.get() for _ in range(50)], [200] * 50)
        self.assertEqual(len(backend.requests), 100)
        self.assertEqual(proxy.metric("damper_proxy_client_rate_refused_total"), REQUESTS - 50)
        self.assertEqual(proxy.metric("damper_proxy_client_rate_untracked_total"), 0)
        self.assertEqual(proxy.metric("damper_proxy_rated_clients"), 2)
        self.assertIn(f'"client":"{ATTACKER}"', proxy.said())

    def test_a_reload_keeps_the_rates(self):
        proxy, _ = self.start(
            extra="    client_rate_limit: { requests_per_second: 0.01, burst: 10 }\n")
        client = Client(self, proxy, ATTACKER)
        self.assertEqual([client.get() for _ in range(11)], [200] * 10 + [429])
        config = proxy.directory / "damper.yaml"
        config.write_text(config.read_text().replace("burst: 10 ", "burst: 20 "))
        version = "damper_proxy_config_version"
        self.wait_until(lambda: proxy.metric(version) == 2, proxy)
        self.assertEqual(client.get(), 429)
        self.assertEqual(Client(self, proxy, VICTIM).get(), 200)


if __name__ == "__main__":
    sys.exit(unittest.main())
