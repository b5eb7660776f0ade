#!/usr/bin/env python3
"""trace_test.py: spans of the real proxy and the library, as a real collector reads them.

Exits with 77, which ctest reports as skipped, without the collector's npm package (tests/otlp).
"""

import http.client
import os
import subprocess
import threading
import time
import unittest

from collector import Collector, install
from proxy_process import PATIENCE, Backend, Proxy

LIBRARY_SPANS = os.environ.get("LIBRARY_SPANS")
INTERNAL, SERVER, CLIENT = 1, 2, 3
TRACE = "0af7651916cd43dd8448eb211c80319c"
HEDGED = "0af7651916cd43dd8448eb211c80319d"  # of the library's second call
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
UNSAMPLED = f"00-{TRACE}-{SPAN}-00"


class TraceTest(unittest.TestCase):
    def start(self, answer=None, *, sampling="100%", extra="", trust="all", answers=None):
        self.collector = Collector()
        self.backends = [Backend(one) for one in (answers or [answer])]
        text = extra + f"""tracing:
  collector: "http://127.0.0.1:{self.collector.port}"
  service_name: shop
  sampling: {sampling}
  interval: 10ms
"""
        self.proxy = Proxy([backend.port for backend in self.backends], extra=text, trust=trust)
        self.addCleanup(self.proxy_stop)

    def proxy_stop(self):
        self.proxy.stop()
        for backend in self.backends:
            backend.stop()
        self.collector.stop()

    def get(self, path="/", fields=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port,
                                                timeout=PATIENCE * 4)
        connection.request("GET", path, headers=fields or {})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    def spans(self, count):
        """The spans, once there are as many: the server's and its clients', by attempt."""
        end = time.monotonic() + PATIENCE * 4
        while time.monotonic() < end:
            if self.proxy.metric("damper_trace_spans_exported_total") >= count:
                break
            time.sleep(0.02)
        spans = self.collector.spans()
        self.assertEqual(len(spans), count, spans)
        for span in spans:
            self.assertEqual((span["service"], span["scope"]), ("shop", "damper"))
            self.assertLessEqual(int(span["start"]), int(span["end"]))
            self.assertLess(abs(int(span["end"]) / 1e9 - time.time()), 120)
        servers = [span for span in spans if span["kind"] == SERVER]
        clients = sorted((span for span in spans if span["kind"] == CLIENT),
                         key=lambda span: int(span["attributes"]["damper.attempt"]))
        self.assertEqual(len(servers), 1)
        for client in clients:
            self.assertEqual(client["parent"], servers[0]["span"])
            self.assertEqual(client["trace"], servers[0]["trace"])
        return servers[0], clients

    def field(self, name, backend=0, request=-1):
        return dict(self.backends[backend].requests[request]["fields"]).get(name)

    def test_a_retried_request(self):
        answers = [(503, {}, b"no"), (200, {}, b"ok")]
        self.start(lambda _: answers.pop(0))
        self.assertEqual(self.get("/a?secret=1", {"User-Agent": "t\xff"}).status, 200)
        server, clients = self.spans(3)
        self.assertEqual(server["name"], "GET all")
        self.assertEqual(server["parent"], "")
        self.assertEqual(server["status"], 0)
        is_ = server["attributes"]
        self.assertEqual(is_["url.path"], "/a")
        self.assertEqual(is_["http.request.method"], "GET")
        self.assertEqual(is_["http.route"], "all")
        self.assertEqual(int(is_["http.response.status_code"]), 200)
        self.assertEqual(is_["client.address"], "127.0.0.1")
        self.assertEqual(is_["user_agent.original"], "t?")  # A byte that is not UTF-8.
        self.assertEqual(is_["damper.verdict"], "success")
        self.assertEqual(int(is_["damper.attempts"]), 2)
        self.assertEqual(is_["damper.request_id"], self.field("x-request-id"))
        self.assertEqual([int(c["attributes"]["http.response.status_code"]) for c in clients],
                         [503, 200])
        self.assertEqual([c["attributes"]["damper.attempt.kind"] for c in clients],
                         ["first", "retry"])
        self.assertEqual([c["attributes"]["damper.attempt.result"] for c in clients],
                         ["failed", "won"])
        self.assertEqual([c["status"] for c in clients], [2, 0])
        sent = [self.field("traceparent", request=i) for i in range(2)]
        self.assertEqual(sent, [f"00-{server['trace']}-{c['span']}-01" for c in clients])

    def test_a_hedged_request(self):
        slow = threading.Event()
        first = threading.Lock()
        answered = threading.Event()

        def answer(_):
            if slow.is_set() and first.acquire(blocking=False):
                answered.wait(PATIENCE * 10)  # The first attempt, wherever it is.
            return 200, {}, b"ok"
        self.start(answers=[answer, answer], sampling="0%",
                   extra="""    timeout: 100s
    hedge_policy:
      max_hedges: 1
      additional_request_chance: { numerator: 50, denominator: HUNDRED }
""")
        end = time.monotonic() + 2.5  # A hedge needs latencies, which are looked at once a second.
        while time.monotonic() < end:
            self.get()
        slow.set()
        self.assertEqual(self.get("/", {"traceparent": PARENT, "tracestate": "a=1"}).status, 200)
        answered.set()
        server, clients = self.spans(3)
        self.assertEqual((server["trace"], server["parent"]), (TRACE, SPAN))
        self.assertEqual(server["state"], "a=1")
        kinds = [c["attributes"]["damper.attempt.kind"] for c in clients]
        self.assertEqual(kinds, ["first", "hedge"])
        self.assertEqual([c["attributes"]["damper.attempt.result"] for c in clients],
                         ["cancelled", "won"])
        self.assertNotEqual(*[c["attributes"]["server.port"] for c in clients])
        requests = [dict(b.requests[-1]["fields"]) for b in self.backends]
        self.assertEqual({r["traceparent"].split("-")[2] for r in requests},
                         {c["span"] for c in clients})
        self.assertEqual({r["tracestate"] for r in requests}, {"a=1"})

    def test_a_trusted_caller_decides_about_samples(self):
        self.start(sampling="100%")
        self.get("/", {"traceparent": UNSAMPLED})
        self.assertTrue(self.field("traceparent").startswith(f"00-{TRACE}-"))
        self.assertTrue(self.field("traceparent").endswith("-00"))
        self.get("/", {"traceparent": PARENT})
        server, _ = self.spans(2)
        self.assertEqual((server["trace"], server["parent"]), (TRACE, SPAN))

    def test_a_stranger_decides_nothing(self):
        self.start(sampling="0%", trust="none", extra="    retry_policy: { num_retries: 0 }\n",
                   answer=lambda r: (503 if r["target"] == "/fail" else 200, {}, b""))
        self.get("/", {"traceparent": PARENT, "tracestate": "a=1"})
        self.assertNotIn(TRACE, self.field("traceparent"))
        self.assertTrue(self.field("traceparent").endswith("-00"))
        self.assertIsNone(self.field("tracestate"))
        self.get("/fail", {"traceparent": PARENT})  # A failure is exported all the same.
        server, clients = self.spans(2)
        self.assertEqual((server["parent"], server["links"]), ("", [TRACE]))
        self.assertEqual((server["status"], clients[0]["status"]), (2, 2))
        self.assertEqual(server["attributes"]["error.type"], "attempts_spent")

    def test_what_is_malformed_is_none(self):
        self.start()
        self.get("/", {"traceparent": "00-x", "tracestate": "a=1"})
        self.assertIsNone(self.field("tracestate"))
        server, _ = self.spans(2)
        self.assertEqual(server["parent"], "")


class LibraryTest(unittest.TestCase):
    """The spans of a program with a traced server and a guarded client: see library_spans.cc."""

    @unittest.skipUnless(LIBRARY_SPANS, "LIBRARY_SPANS is not set")
    def test_a_call_with_a_retry_and_one_with_a_hedge(self):
        collector = Collector()
        self.addCleanup(collector.server.server_close)
        self.addCleanup(collector.server.shutdown)
        ran = subprocess.run([LIBRARY_SPANS, f"http://127.0.0.1:{collector.port}"],
                             capture_output=True, text=True, timeout=PATIENCE * 12, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (0, "8\n"), ran.stderr)
        spans = collector.spans()
        self.assertEqual(len(spans), 8)
        for trace, kinds, results in ((TRACE, ["first", "retry"], ["failed", "won"]),
                                      (HEDGED, ["first", "hedge"], ["cancelled", "won"])):
            of_trace = [span for span in spans if span["trace"] == trace]
            self.assertEqual({span["service"] for span in of_trace}, {"library"})
            [server] = [span for span in of_trace if span["kind"] == SERVER]
            [call] = [span for span in of_trace if span["kind"] == INTERNAL]
            attempts = sorted((span for span in of_trace if span["kind"] == CLIENT),
                              key=lambda span: int(span["attributes"]["damper.attempt"]))
            self.assertEqual((server["name"], server["parent"]), ("GET shop", SPAN))
            self.assertEqual((call["name"], call["parent"]), ("GET billing", server["span"]))
            self.assertEqual(int(call["attributes"]["damper.attempts"]), 2)
            self.assertEqual(call["attributes"]["damper.verdict"], "success")
            self.assertEqual([one["parent"] for one in attempts], [call["span"]] * 2)
            is_ = [one["attributes"] for one in attempts]
            self.assertEqual([one["damper.attempt.kind"] for one in is_], kinds)
            self.assertEqual([one["damper.attempt.result"] for one in is_], results)
            self.assertNotEqual(is_[0]["server.port"], is_[1]["server.port"])
            for span in of_trace:
                self.assertLessEqual(int(span["start"]), int(span["end"]))


if __name__ == "__main__":
    install()
    unittest.main()
