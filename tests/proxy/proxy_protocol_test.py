#!/usr/bin/env python3
"""A load balancer of connections before the proxy: whose requests they are, and who may say so."""

import json
import socket
import ssl
import struct
import sys
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy

CLIENT, OTHER = "203.0.113.9", "203.0.113.10"
BALANCER, STRANGER = "127.0.0.1", "127.0.0.2"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def text_header(client):
    return f"PROXY TCP4 {client} 10.0.0.1 56324 443\r\n".encode()


def binary_header(client, tlvs=b""):
    addresses = socket.inet_aton(client) + socket.inet_aton("10.0.0.1") + struct.pack("!HH", 1, 2)
    return (b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack("!H", len(addresses + tlvs)) +
            addresses + tlvs)


class ProxyProtocol(unittest.TestCase):
    def start(self, listener=f"proxy_protocol: {BALANCER}", **options):
        self.backend = Backend()
        self.addCleanup(self.backend.stop)
        self.proxy = Proxy(self.backend.port, listener=listener, extra="access_log: all\n",
                           **options)
        self.addCleanup(self.proxy.stop)

    def connect(self, address=BALANCER, port=None):
        client = socket.socket()
        self.addCleanup(client.close)
        client.settimeout(PATIENCE)
        client.bind((address, 0))
        client.connect(("127.0.0.1", port or self.proxy.port))
        return client

    def exchange(self, data, address=BALANCER):
        """What the proxy answers first, if anything."""
        client = self.connect(address)
        client.sendall(data)
        try:
            return client.recv(65536)
        except ConnectionResetError:
            return b""

    def forwarded(self):
        """x-forwarded-for of the last request that the service got."""
        return dict(self.backend.requests[-1]["fields"])["x-forwarded-for"]

    def test_both_versions_name_the_client(self):
        self.start()
        for header in (text_header(CLIENT), binary_header(CLIENT),
                       binary_header(CLIENT, b"\x05\0\x04name")):
            self.assertIn(b" 200 ", self.exchange(header + GET))
            self.assertEqual(self.forwarded(), CLIENT)
        until = time.monotonic() + PATIENCE
        while len(self.logged_clients()) < 3 and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(self.logged_clients(), [CLIENT] * 3)

    def logged_clients(self):
        return [json.loads(line)["client"] for line in self.proxy.said().splitlines()
                if line.startswith('{"time"')]

    def test_a_client_behind_the_balancer_is_not_trusted(self):
        """Although the balancer is on loopback, where `trust: auto` trusts everybody."""
        self.start()
        forged = GET[:-2] + b"X-Forwarded-For: 9.9.9.9\r\nX-Real-IP: 9.9.9.9\r\n\r\n"
        self.assertIn(b" 200 ", self.exchange(text_header(CLIENT) + forged))
        self.assertEqual(self.forwarded(), CLIENT)
        self.assertNotIn("x-real-ip", dict(self.backend.requests[-1]["fields"]))

    def test_a_trusted_client_behind_the_balancer_is_believed(self):
        self.start(trust=f"[{CLIENT}]")
        chain = GET[:-2] + b"X-Forwarded-For: 9.9.9.9\r\n\r\n"
        self.assertIn(b" 200 ", self.exchange(text_header(CLIENT) + chain))
        self.assertEqual(self.forwarded(), f"9.9.9.9, {CLIENT}")
        self.assertIn(b" 200 ", self.exchange(text_header(OTHER) + chain))
        self.assertEqual(self.forwarded(), OTHER)

    def test_the_balancer_has_to_name_the_client(self):
        self.start()
        self.assertEqual(self.exchange(GET), b"")
        self.assertEqual(self.proxy.metric("damper_http_closed_total", "no_proxy_header"), 1)
        until = time.monotonic() + PATIENCE
        while not self.logged_clients() and time.monotonic() < until:
            time.sleep(0.02)
        line = json.loads(next(line for line in self.proxy.said().splitlines()
                               if line.startswith('{"time"')))
        self.assertEqual((line["client"], line["closed"]), (BALANCER, "no_proxy_header"))
        self.assertNotIn("status", line)
        self.assertIn(b" 200 ", self.exchange(b"PROXY UNKNOWN\r\n" + GET))
        self.assertEqual(self.forwarded(), BALANCER)

    def test_a_stranger_cannot_name_itself(self):
        self.start()
        self.assertIn(b" 400 ", self.exchange(text_header(CLIENT) + GET, STRANGER))
        self.assertIn(b" 200 ", self.exchange(GET, STRANGER))
        self.assertEqual(self.forwarded(), STRANGER)
        self.assertEqual(len(self.backend.requests), 1)

    def test_the_header_precedes_tls(self):
        self.start(listener="", tls=True, tls_listener=f"proxy_protocol: {BALANCER}")
        client = self.connect(port=self.proxy.tls_port)
        client.sendall(binary_header(CLIENT))
        context = ssl.create_default_context(cafile=str(self.proxy.directory / "cert.pem"))
        with context.wrap_socket(client, server_hostname="localhost") as tls:
            tls.sendall(GET)
            self.assertIn(b" 200 ", tls.recv(65536))
        self.assertEqual(self.forwarded(), CLIENT)

    def test_limits_count_the_client(self):
        self.start(listener=f"proxy_protocol: {BALANCER}, max_connections_per_client: 2")
        kept = [self.connect() for _ in range(3)]
        for client in kept:
            client.sendall(text_header(CLIENT) + GET)
        answers = []
        for client in kept:
            try:
                answers.append(b" 200 " in client.recv(65536))
            except ConnectionResetError:
                answers.append(False)
        self.assertEqual(sorted(answers), [False, True, True])
        self.assertIn(b" 200 ", self.exchange(text_header(OTHER) + GET))


if __name__ == "__main__":
    sys.exit(unittest.main())
