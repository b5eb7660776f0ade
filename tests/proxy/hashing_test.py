#!/usr/bin/env python3
"""Keys of requests select a weighted cluster and a replica of the real proxy, on real sockets."""

import collections
import http.client
import math
import socket
import sys
import time
import unittest

from proxy_process import PATIENCE, Backend, Proxy

KEYS = [f"user-{i}" for i in range(200)]
HEADER = "hash_policy: { header: x-user }"


class Keyed(unittest.TestCase):
    def start(self, clusters, route):
        """`clusters`: a name, how many replicas it has, and more of its keys."""
        self.backends = {}
        blocks = "clusters:\n"
        for name, replicas, more in clusters:
            urls = []
            for i in range(replicas):
                called = f"{name}{i}"
                backend = Backend(lambda _, called=called: (200, {"x-replica": called}, b""))
                self.backends[called] = backend
                self.addCleanup(backend.stop)
                urls.append(f'"http://127.0.0.1:{backend.port}"')
            blocks += f"  {name}: {{ endpoints: [{', '.join(urls)}]{more} }}\n"
        self.blocks = blocks

        class Routed(Proxy):
            def text(self, backend_port, h2_backend, extra, listener):
                head = super().text(backend_port, h2_backend, extra, listener)
                self.head = head[:head.index("clusters:")]
                return self.head + blocks + route

        self.proxy = Routed(0)
        self.addCleanup(self.proxy.stop)

    def reload(self, route):
        (self.proxy.directory / "damper.yaml").write_text(self.proxy.head + self.blocks + route)
        end = time.monotonic() + PATIENCE
        while self.proxy.metric("damper_proxy_config_version") < 2:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def get(self, key=None, fields=None):
        """On a connection of its own, so on any loop."""
        fields = dict(fields or {})
        if key is not None:
            fields["x-user"] = key
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE)
        connection.request("GET", "/", headers=fields)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response

    def replica(self, key=None, fields=None):
        response = self.get(key, fields)
        self.assertEqual(response.status, 200)
        return response.headers["x-replica"]

    def replicas(self):
        return {key: self.replica(key) for key in KEYS}

    def assert_share(self, count, total, share):
        """Within five standard deviations of a binomial count."""
        deviation = math.sqrt(total * share * (1 - share))
        self.assertLess(abs(count - total * share), 5 * deviation, (count, total, share))


class WeightedClusters(Keyed):
    def split(self, stable, canary, policy):
        return f"""routes:
  shop:
    weighted_clusters:
      - {{ cluster: stable, weight: {stable} }}
      - {{ cluster: canary, weight: {canary} }}
    {policy}
"""

    def start_split(self, stable, canary, policy=""):
        clusters = [("stable", 1, ""), ("canary", 1, "")]
        self.start(clusters, self.split(stable, canary, policy))

    def test_requests_without_a_key_are_drawn_by_weight(self):
        self.start_split(3, 1)
        counts = collections.Counter(self.replica() for _ in range(400))
        self.assert_share(counts["canary0"], 400, 0.25)
        self.assertEqual(counts.total(), 400)

    def test_a_key_stays_and_a_greater_weight_moves_only_what_it_has_to(self):
        self.start_split(80, 20, HEADER)
        before = self.replicas()
        self.assertEqual(self.replicas(), before)
        canary = {key for key in KEYS if before[key] == "canary0"}
        self.assert_share(len(canary), len(KEYS), 0.2)
        self.reload(self.split(50, 50, HEADER))
        after = self.replicas()
        grown = {key for key in KEYS if after[key] == "canary0"}
        self.assertTrue(canary < grown)
        self.assert_share(len(grown), len(KEYS), 0.5)

    def test_a_cookie_keeps_a_client_where_it_was(self):
        self.start_split(1, 1, "hash_policy: { cookie: canary, ttl: 1h }")
        seen = set()
        for _ in range(20):
            first = self.get()
            cookie = first.headers["set-cookie"].split(";")[0]
            self.assertTrue(cookie.startswith("canary="))
            seen.add(first.headers["x-replica"])
            for _ in range(5):
                again = self.get(fields={"cookie": cookie})
                self.assertEqual(again.headers["x-replica"], first.headers["x-replica"])
                self.assertNotIn("set-cookie", again.headers)
        self.assertEqual(seen, {"stable0", "canary0"})


class ConsistentHash(Keyed):
    def start_hashed(self):
        ejection = "outlier_detection: { base_ejection_time: 1h, max_ejection_time: 2h }"
        self.start([("shop", 4, f", lb_policy: consistent_hash, {ejection}")],
                   f"routes:\n  shop: {{ cluster: shop, {HEADER} }}\n")

    def test_a_key_has_one_replica(self):
        self.start_hashed()
        self.assertEqual(len({self.replica("user-7") for _ in range(200)}), 1)
        before = self.replicas()
        self.assertEqual(self.replicas(), before)
        for count in collections.Counter(before.values()).values():
            self.assert_share(count, len(KEYS), 0.25)

    def test_a_replica_that_dies_moves_its_keys_alone(self):
        self.start_hashed()
        before = self.replicas()
        dead = before[KEYS[0]]
        self.backends[dead].listener.shutdown(socket.SHUT_RDWR)  # Else accept() takes one more.
        self.backends[dead].stop()
        end = time.monotonic() + PATIENCE  # Until every loop has ejected it.
        own = [key for key in KEYS if before[key] == dead]
        while any("damper-attempts" in self.get(key).headers for key in own):
            self.assertLess(time.monotonic(), end)
        after = self.replicas()
        for key in KEYS:
            if before[key] == dead:
                self.assertNotEqual(after[key], dead)
            else:
                self.assertEqual(after[key], before[key])
        self.assertEqual(len({after[key] for key in own}), 3)  # Not all of them to one.


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
