#!/usr/bin/env python3
"""Fields, direct answers and redirects of the real proxy."""

import http.client
import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest
import urllib.error
import urllib.request

from proxy_process import PATIENCE, Backend, Proxy, free_port

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "routing.md"


def example(name):
    """The routes of the block of YAML after the marker in the guide."""
    text = GUIDE.read_text(encoding="utf8")
    return re.search(rf"<!-- {name} -->\n```yaml\n.*?^(routes:.*?)```", text, re.S | re.M).group(1)


class WithProxy(unittest.TestCase):
    """One proxy whose routes are those of an example of the guide."""

    def start(self, routes, answer=None, backends=1, cluster=""):
        self.backends = [Backend(answer) for _ in range(backends)]
        ports = [backend.port for backend in self.backends]

        class Routed(Proxy):
            def text(self, backend_port, h2_backend, extra, listener):
                head = super().text(backend_port, h2_backend, extra, listener)
                head = head[:head.index("clusters:")]
                clusters = "clusters:\n"
                urls = ", ".join(f'"http://127.0.0.1:{port}"' for port in ports)
                clusters += cluster or f"  app: {{ endpoints: [{urls}] }}\n"
                return head + clusters + routes + "access_log: all\n"

        self.proxy = Routed(ports)
        for backend in self.backends:
            self.addCleanup(backend.stop)
        self.addCleanup(self.proxy.stop)

    def logged_bytes(self, path):
        """bytes_out of the path's two lines of the access log, by method."""
        end = time.monotonic() + PATIENCE
        lines = []
        while len(lines) < 2 and time.monotonic() < end:
            time.sleep(0.05)
            lines = [json.loads(line) for line in self.proxy.said().splitlines()
                     if line.startswith('{"time"') and f'"path":"{path}"' in line]
        return [line["bytes_out"] for line in sorted(lines, key=lambda one: one["method"])]

    def get(self, path, fields=None, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE)
        connection.request(method, path, headers=fields or {})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body


class Fields(WithProxy):
    def test_fields_are_edited_both_ways_and_on_each_attempt(self):
        answers = iter([503, 200])
        self.start(example("fields"),
                   lambda request: (next(answers, 200), {"Server": "app/1", "X-Old": "1"}, b"ok"))
        response, body = self.get("/", {"Cookie": "secret", "X-Client": "forged"})
        self.assertEqual((response.status, body), (200, b"ok"))
        self.assertEqual(response.headers["damper-attempts"], "2")
        self.assertEqual(response.headers["strict-transport-security"], "max-age=31536000")
        self.assertNotIn("server", response.headers)
        self.assertEqual(len(self.backends[0].requests), 2)
        for request in self.backends[0].requests:
            fields = request["fields"]
            self.assertIn(("x-client", "127.0.0.1"), fields)
            self.assertNotIn(("x-client", "forged"), fields)
            self.assertNotIn("cookie", dict(fields))

    def test_our_own_answers_have_the_fields_too(self):
        self.start(example("fields"),
                   cluster=f'  app: {{ endpoints: ["http://127.0.0.1:{free_port()}"] }}\n')
        response, _ = self.get("/")
        self.assertGreaterEqual(response.status, 500)
        self.assertEqual(response.headers["strict-transport-security"], "max-age=31536000")


class Answers(WithProxy):
    def test_direct_answers_and_redirects_reach_no_backend(self):
        self.start(example("answers"))
        response, body = self.get("/robots.txt")
        self.assertEqual((response.status, body), (200, b"User-agent: *\nDisallow: /\n"))
        self.assertEqual(response.headers["content-type"], "text/plain")
        response, _ = self.get("/robots.txt", method="HEAD")
        self.assertEqual(response.status, 200)
        response, _ = self.get("/old/a?b=1", {"Host": "shop.example"})
        self.assertEqual(response.status, 308)
        self.assertEqual(response.headers["location"], "http://shop.example/new/a?b=1")
        response, _ = self.get("/old//evil.example", {"Host": "shop.example"})
        self.assertEqual(response.headers["location"], "http://shop.example/new//evil.example")
        response, _ = self.get("/old/a", {"Host": "a,b"})
        self.assertEqual(response.status, 400)
        self.assertNotIn("location", response.headers)
        response, body = self.get("/else")
        self.assertEqual((response.status, body), (200, b"ok"))
        self.assertEqual(len(self.backends[0].requests), 1)
        metric = 'damper_proxy_requests_total{route="old"'
        self.assertEqual(self.proxy.metric(metric), 3)
        self.assertEqual(self.logged_bytes("/robots.txt"), [26, 0])  # GET and HEAD

    def test_a_health_page_reaches_no_backend(self):
        self.start(example("health"))
        self.assertEqual(self.get("/livez")[1], b"ok\n")
        self.assertEqual(self.get("/readyz")[1], b"ok\n")
        self.assertEqual(self.get("/")[1], b"ok")
        self.assertEqual(len(self.backends[0].requests), 1)


class Drain(WithProxy):
    def start_with(self, delay):
        self.start(f"{example('health')}drain_delay: {delay}\n")

    def status(self, path):
        """Of a new connection; None: it was refused."""
        try:
            return self.get(path)[0].status
        except ConnectionRefusedError:
            return None

    def ready(self):
        try:
            return bool(self.proxy.admin("/readyz"))
        except urllib.error.HTTPError as refused:
            return refused.code != 503

    def end_with(self, status):
        self.proxy.ended_with = status
        self.assertEqual(self.proxy.process.wait(PATIENCE * 2), status)

    def wait_until(self, reached):
        end = time.monotonic() + PATIENCE
        while not reached():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_it_serves_for_drain_delay_and_says_that_it_ends(self):
        self.start_with("2s")
        self.assertEqual((self.status("/livez"), self.ready()), (200, True))
        began = time.monotonic()
        self.proxy.process.send_signal(signal.SIGTERM)
        self.wait_until(lambda: self.status("/livez") == 503)
        self.assertLess(time.monotonic() - began, 1.5)  # The rest is within the delay.
        self.assertEqual(self.get("/readyz")[1], b"draining\n")
        self.assertEqual((self.status("/"), self.ready()), (200, False))
        self.assertEqual(self.proxy.metric("damper_proxy_draining"), 1)
        self.wait_until(lambda: self.status("/") is None)
        self.assertGreaterEqual(time.monotonic() - began, 2)
        self.end_with(0)
        self.assertEqual(self.proxy.said().count("event=draining"), 1)

    def test_a_second_signal_ends_the_delay_at_once(self):
        self.start_with("1h")
        self.proxy.process.send_signal(signal.SIGTERM)
        self.wait_until(lambda: self.status("/livez") == 503)
        self.proxy.process.send_signal(signal.SIGUSR2)
        for version in (2, 3):  # After the second reload all signals before it are handled.
            self.proxy.process.send_signal(signal.SIGHUP)
            self.wait_until(lambda: self.proxy.metric("damper_proxy_config_version") >= version)
        pid = self.proxy.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf8")
        self.assertEqual(children, "")  # No successor begins any more.
        self.assertEqual((self.status("/"), self.status("/livez")), (200, 503))
        self.proxy.process.send_signal(signal.SIGTERM)
        self.end_with(130)

    def test_after_a_hand_over_the_old_process_does_not_wait(self):
        self.start_with("1h")
        self.proxy.process.send_signal(signal.SIGUSR2)
        self.end_with(0)
        successor = int(re.search("event=upgraded.* count=([0-9]+)", self.proxy.said()).group(1))
        self.addCleanup(os.kill, successor, signal.SIGKILL)
        self.assertEqual((self.status("/livez"), self.ready()), (200, True))


class Health(WithProxy):
    def test_a_page_names_the_cluster_that_is_down(self):
        self.start(example("health"), backends=2)
        ports = [backend.port for backend in self.backends]
        self.assertEqual(self.get("/readyz")[0].status, 200)
        for port in ports:
            order = json.dumps({"scope": "cluster/app", "replica": f"http://127.0.0.1:{port}",
                                "force": "open", "for": "1m", "reason": "a test"}).encode()
            url = f"http://127.0.0.1:{self.proxy.admin_port}/breakers"
            request = urllib.request.Request(url, order, {"Content-Type": "application/json"},
                                             method="PUT")
            urllib.request.urlopen(request, timeout=PATIENCE).close()
        response, body = self.get("/readyz")
        self.assertEqual((response.status, body),
                         (503, b"cluster app: 0 of 2 replicas can be used\n"))
        self.assertEqual(self.get("/livez")[0].status, 200)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
