#!/usr/bin/env python3
"""SRV records and TTLs: a real DNS server on loopback says where a cluster's replicas are."""

import http.client
import json
import socket
import struct
import sys
import threading
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy

A, SRV = 1, 33
SERVICE = "_http._tcp.shop.test"


def name_bytes(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


class DnsServer:
    """Answers over UDP from `records`: (name, type) to a list of record data, all with `ttl`."""

    def __init__(self):
        self.records = {}
        self.ttl = 1
        self.queries = []
        self.silent = False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                query, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            if not self.silent:
                self.socket.sendto(self.answer(query), peer)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        question = query[12:at + 5]
        kind, = struct.unpack("!H", query[at + 1:at + 3])
        key = (".".join(labels).lower(), kind)
        self.queries.append(key)
        known = any(name == key[0] for name, _ in self.records)
        found = self.records.get(key, [])
        head = query[:2] + struct.pack("!HHHHH", 0x8180 | (0 if known else 3), 1, len(found), 0, 0)
        return head + question + b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, self.ttl, len(data)) + data
            for data in found)

    def put_service(self, backends):
        """Each backend is a target of its own, all on 127.0.0.1."""
        records = {(SERVICE, SRV): [
            struct.pack("!HHH", 1, 1, backend.port) + name_bytes(f"r{backend.port}.test")
            for backend in backends]}
        for backend in backends:
            records[(f"r{backend.port}.test", A)] = [bytes([127, 0, 0, 1])]
        self.records = records

    def stop(self):
        self.socket.close()


class NamedProxy(Proxy):
    """Its cluster is an SRV name, which the DNS server at `backend_port` resolves."""

    def text(self, *arguments):
        port = arguments[0]
        text = super().text(*arguments)
        keys = ("    respect_dns_ttl: true\n    dns_min_refresh_rate: 200ms\n"
                "    dns_max_refresh_rate: 1s\nroutes:\n")
        return (f'dns_resolvers: ["127.0.0.1:{port}"]\n' + text
                .replace(f'"http://127.0.0.1:{port}"', f'"http+srv://{SERVICE}"')
                .replace("routes:\n", keys, 1))


class Names(unittest.TestCase):
    def setUp(self):
        self.backends = [Backend() for _ in range(3)]
        self.dns = DnsServer()
        self.dns.put_service(self.backends[:2])
        self.proxy = NamedProxy(self.dns.port)
        for part in (*self.backends, self.dns, self.proxy):
            self.addCleanup(part.stop)

    def send(self, count):
        """Statuses, and how many requests each backend got."""
        before = [len(backend.requests) for backend in self.backends]
        statuses = set()
        for _ in range(count):
            client = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE)
            client.request("GET", "/")
            response = client.getresponse()
            response.read()
            statuses.add(response.status)
            client.close()
        return statuses, [len(backend.requests) - known
                          for backend, known in zip(self.backends, before)]

    def wait_until(self, what):
        until = time.monotonic() + PATIENCE * 4
        while not what():
            self.assertLess(time.monotonic(), until, self.proxy.said())
            time.sleep(0.05)

    def name_state(self):
        [name] = json.loads(self.proxy.admin("/state"))["names"]
        return name

    def test_the_records_say_where_and_for_how_long(self):
        statuses, arrived = self.send(20)
        self.assertEqual(statuses, {200}, self.proxy.said())
        self.assertGreater(arrived[0], 0)
        self.assertGreater(arrived[1], 0)
        self.assertEqual(arrived[2], 0)
        # Host is what the file says, not what the records say.
        self.assertIn(("host", f"127.0.0.1:{self.proxy.port}"),
                      self.backends[0].requests[0]["fields"])
        self.assertEqual(self.name_state()["count"], 2)
        # Other records: the loops follow when the TTL is over.
        self.dns.put_service(self.backends[2:])
        self.wait_until(lambda: self.send(4) == ({200}, [0, 0, 4]))
        self.assertIn("name_changed", self.proxy.said())

    def test_a_ttl_of_zero_is_no_storm_and_a_silent_server_changes_nothing(self):
        self.dns.ttl = 0
        self.wait_until(lambda: len(self.dns.queries) > 3)
        begin, known = time.monotonic(), len(self.dns.queries)
        time.sleep(1)
        lookups = (len(self.dns.queries) - known) / 5  # SRV, and A and AAAA of two targets
        self.assertLessEqual(lookups, (time.monotonic() - begin) / 0.2 + 1)
        self.dns.records = {}  # Now there is no such name.
        self.wait_until(lambda: "name_failed" in self.proxy.said())
        self.assertEqual(self.send(6)[0], {200})
        self.assertGreater(self.name_state()["failures"], 0)
        self.assertEqual(self.name_state()["count"], 2)
        self.dns.silent = True
        self.assertEqual(self.send(6)[0], {200})
        self.dns.silent = False
        self.dns.put_service(self.backends[1:])
        self.wait_until(lambda: "name_restored" in self.proxy.said())
        self.wait_until(lambda: self.send(6)[1][0] == 0)
        self.assertGreater(self.proxy.metric('damper_dns_lookups_total{result="not_found"'), 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
