#!/usr/bin/env python3
"""Health checks find a dead replica of a quiet cluster, and a wrong path does no harm."""

import http.client
import json
import sys
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy

CHECKS = """    health_checks: { path: /ready, interval: 20ms, interval_jitter: 10ms, timeout: 5s,
                     unhealthy_interval: 40ms }
"""


class CheckedProxy(Proxy):
    """With health_checks for the cluster."""

    def text(self, *arguments):
        return super().text(*arguments).replace("routes:\n", CHECKS + "routes:\n", 1)


class Health(unittest.TestCase):
    def start(self, answers):
        backends = []
        for answer in answers:
            backends.append(Backend(answer))
            self.addCleanup(backends[-1].stop)
        self.proxy = CheckedProxy([backend.port for backend in backends])
        self.addCleanup(self.proxy.stop)
        return backends

    def replicas(self):
        [cluster] = json.loads(self.proxy.admin("/state"))["clusters"]
        return [replica["health"] for replica in cluster["replicas"]]

    def wait_until(self, what):
        until = time.monotonic() + PATIENCE * 4
        while not what():
            self.assertLess(time.monotonic(), until, self.proxy.said())
            time.sleep(0.02)

    def statuses(self, count):
        found = []
        client = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE)
        for _ in range(count):
            client.request("GET", "/work")
            response = client.getresponse()
            response.read()
            found.append(response.status)
        client.close()
        return found

    @staticmethod
    def work(backend):
        return sum(request["target"] == "/work" for request in backend.requests)

    def test_a_dead_replica_of_a_quiet_cluster_is_found_and_returns(self):
        ready = {"status": 200}
        one, two = self.start([lambda request: (200, {}, b"ok"),
                               lambda request: (ready["status"], {}, b"ok")])
        self.wait_until(lambda: self.replicas() == ["healthy", "healthy"])
        ready["status"] = 503
        self.wait_until(lambda: self.replicas() == ["healthy", "unhealthy"])
        self.assertEqual(self.work(one) + self.work(two), 0)  # No request of a user was needed.
        self.wait_until(lambda: "event=replica_unhealthy" in self.proxy.said())
        self.assertIn("status 503", self.proxy.said())
        self.assertEqual(self.proxy.metric("damper_replica_healthy"), 1)
        self.assertEqual(self.statuses(50), [200] * 50)
        self.assertEqual(self.work(two), 0)
        ready["status"] = 200
        self.wait_until(lambda: self.replicas() == ["healthy", "healthy"])
        self.wait_until(lambda: self.statuses(20) and self.work(two) > 0)
        self.assertIn("event=replica_healthy", self.proxy.said())
        # Probes are the process's, not a loop's, and not the traffic's.
        passed = self.proxy.metric("damper_health_checks_total", 'outcome="passed"')
        sent = sum(request["target"] == "/ready" for request in one.requests + two.requests)
        self.assertLessEqual(passed, sent)
        self.assertEqual(self.proxy.metric("damper_calls_total"),
                         self.work(one) + self.work(two))

    def test_a_wrong_path_everywhere_does_no_harm(self):
        def answer(request):
            return (404 if request["target"] == "/ready" else 200, {}, b"ok")
        one, two = self.start([answer, answer])
        self.wait_until(lambda: self.replicas() == ["unhealthy", "unhealthy"])
        self.assertEqual(self.statuses(100), [200] * 100)
        self.assertGreater(min(self.work(one), self.work(two)), 0)  # Neither is out.
        self.assertEqual(self.proxy.metric("damper_health_checks_ignored"), 1)
        self.wait_until(lambda: "event=health_checks_ignored" in self.proxy.said())


if __name__ == "__main__":
    sys.exit(unittest.main())
