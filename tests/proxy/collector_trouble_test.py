#!/usr/bin/env python3
"""A collector that is away, silent, overloaded or hostile: drops are counted, users unharmed."""

import http.client
import socket
import time
import unittest

from proxy_process import PATIENCE, Backend, Listening, Proxy, free_port

REQUESTS = 300


class Trouble(Listening):
    """Answers each request with the same bytes, or with none."""

    def __init__(self, answer):
        self.answer = answer
        self.connections = 0
        super().__init__()

    def serve(self, connection):
        self.connections += 1
        while connection.recv(65536):
            for piece in self.answer:
                connection.sendall(piece)


def head(status, length, more=""):
    return f"HTTP/1.1 {status} X\r\n{more}Content-Length: {length}\r\n\r\n".encode()


class CollectorTroubleTest(unittest.TestCase):
    def run_with(self, port):
        backend = Backend()
        proxy = Proxy(backend.port, extra=f"""tracing:
  collector: "http://127.0.0.1:{port}"
  sampling: 100%
  interval: 10ms
  timeout: 100ms
  max_queue_size: 64
  max_batch_size: 16
""")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE)
            for _ in range(REQUESTS):
                connection.request("GET", "/")
                answer = connection.getresponse()
                self.assertEqual((answer.status, answer.read()), (200, b"ok"))
            connection.close()
            end = time.monotonic() + PATIENCE * 2

            def spans():
                return (proxy.metric("damper_trace_spans_exported_total")
                        + proxy.metric("damper_trace_spans_dropped_total")
                        + proxy.metric("damper_trace_queued_spans"))
            # The three are read one after the other, while spans go from one to the other.
            while (found := spans()) != 2 * REQUESTS and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(found, 2 * REQUESTS)  # One of the request, one of its attempt.
            self.assertLessEqual(proxy.metric("damper_trace_queued_spans"), 2 * 64)
            self.assertGreater(proxy.metric("damper_trace_spans_dropped_total"), 0)
            self.assertEqual(proxy.metric("damper_trace_spans_exported_total"), 0)
        finally:
            proxy.stop()  # In time, and well.
            backend.stop()

    def test_it_is_away(self):
        self.run_with(free_port())

    def test_it_never_answers(self):
        collector = Trouble([])
        self.run_with(collector.port)
        collector.stop()

    def test_it_refuses(self):
        collector = Trouble([head(400, 2), b"no"])
        self.run_with(collector.port)
        collector.stop()

    def test_it_is_overloaded(self):
        collector = Trouble([head(429, 0, "Retry-After: 60\r\n")])
        self.run_with(collector.port)
        collector.stop()
        self.assertLess(collector.connections, 10)  # It is left alone as it said.

    def test_its_answer_is_endless(self):
        collector = Trouble([head(200, 1 << 40)] + [b"x" * 65536] * 64)
        self.run_with(collector.port)
        collector.stop()

    def test_its_answer_is_no_http(self):
        collector = Trouble([b"\0\xff" * 1000])
        self.run_with(collector.port)
        collector.stop()


if __name__ == "__main__":
    socket.setdefaulttimeout(PATIENCE)
    unittest.main()
