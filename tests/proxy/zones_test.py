#!/usr/bin/env python3
"""Requests stay in the proxy's zone, leave it when it is down, and return."""

import http.client
import json
import signal
import socket
import sys
import threading
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy


class MortalBackend(Backend):
    """Dies, and comes back on its port."""

    def die(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # Ends accept().
        self.stop()

    def come_back(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        threading.Thread(target=self.accept, daemon=True).start()


class ZonedProxy(Proxy):
    """In zone a; the first half of its replicas is there, the others are in b."""

    def text(self, *arguments):
        ports = arguments[0]
        urls = [f'"http://127.0.0.1:{port}"' for port in ports]
        half = len(ports) // 2
        zones = f"    zones: {{ a: [{', '.join(urls[:half])}], b: [{', '.join(urls[half:])}] }}\n"
        return "zone: a\n" + super().text(*arguments).replace("routes:\n", zones + "routes:\n", 1)

    def move_to(self, zone):
        config = self.directory / "damper.yaml"
        config.write_text(config.read_text().replace("zone: a\n", f"zone: {zone}\n", 1))
        self.process.send_signal(signal.SIGHUP)


class Zones(unittest.TestCase):
    def setUp(self):
        self.backends = [MortalBackend() for _ in range(4)]
        for backend in self.backends:
            self.addCleanup(backend.stop)
        self.proxy = ZonedProxy([backend.port for backend in self.backends])
        self.addCleanup(self.proxy.stop)

    def send(self, count):
        """Statuses, and how many requests arrived in each zone."""
        before = [len(backend.requests) for backend in self.backends]
        statuses = []
        for _ in range(count // 5):  # On both loops.
            client = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE)
            for _ in range(5):
                client.request("GET", "/")
                response = client.getresponse()
                response.read()
                statuses.append(response.status)
            client.close()
        arrived = [len(backend.requests) - known
                   for backend, known in zip(self.backends, before)]
        return statuses, sum(arrived[:2]), sum(arrived[2:])

    def wait_until(self, what):
        until = time.monotonic() + PATIENCE * 8
        while not what():
            self.assertLess(time.monotonic(), until, self.proxy.said())
            time.sleep(0.05)

    def picks(self, zone):
        return self.proxy.metric("damper_zone_picks_total", f'zone="{zone}"')

    def test_the_own_zone_is_preferred_and_a_reload_moves_the_proxy(self):
        self.assertEqual(self.send(40), ([200] * 40, 40, 0))
        for backend in self.backends[:2]:
            self.assertGreater(len(backend.requests), 0)  # Both of the zone.
        [cluster] = json.loads(self.proxy.admin("/state"))["clusters"]
        self.assertEqual([replica["zone"] for replica in cluster["replicas"]], ["a", "a", "b", "b"])
        self.assertEqual((cluster["own_zone_picks"], cluster["other_zone_picks"]), (40, 0))
        self.wait_until(lambda: self.picks("own") == 40)  # Published once a second.
        self.assertEqual(self.picks("other"), 0)
        self.proxy.move_to("b")
        self.wait_until(lambda: self.send(20) == ([200] * 20, 0, 20))

    def test_a_zone_that_is_down_spills_and_gets_its_requests_back(self):
        self.assertEqual(self.send(20), ([200] * 20, 20, 0))
        for backend in self.backends[:2]:
            backend.die()
        self.wait_until(lambda: self.send(20) == ([200] * 20, 0, 20))
        self.wait_until(lambda: self.picks("other") >= 20)
        for backend in self.backends[:2]:
            backend.come_back()
        self.wait_until(lambda: self.send(20) == ([200] * 20, 20, 0))


if __name__ == "__main__":
    sys.exit(unittest.main())
