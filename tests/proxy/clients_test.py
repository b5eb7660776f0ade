#!/usr/bin/env python3
"""Real clients through the real proxy: curl, nghttp, h2load, a browser."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from proxy_process import PATIENCE, Backend, Proxy

LARGE = bytes(range(256)) * 4096  # 1 MiB

PAGE = b"""<!doctype html><title>fetch</title><body>waiting<script>
(async () => {
  const said = [];
  const get = await fetch('/small?q=1');
  said.push(get.status, await get.text());
  const post = await fetch('/echo', {method: 'POST', body: 'hello from the browser'});
  said.push(post.status, await post.text());
  const large = await fetch('/large');
  said.push((await large.arrayBuffer()).byteLength);
  const none = await fetch('/missing');
  said.push(none.status);
  document.body.textContent = 'DONE ' + said.join('|');
})().catch(e => { document.body.textContent = 'DONE failed ' + e; });
</script>"""


def answer(request):
    path = request["target"].split("?")[0]
    if path == "/large":
        return 200, {"Content-Type": "application/octet-stream"}, LARGE
    if path == "/echo":
        return 200, {"Content-Type": "text/plain", "X-Method": request["method"]}, request["body"]
    if path == "/missing":
        return 404, {}, b"no"
    if path == "/page":
        return 200, {"Content-Type": "text/html"}, PAGE
    return 200, {"Content-Type": "text/plain", "X-Said": "yes"}, b"small"


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE * 4, check=False, **more)


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"there is no {program} on the PATH")


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.backend = Backend(answer)
        cls.proxy = Proxy(cls.backend.port, tls=True)
        cls.plain = f"http://127.0.0.1:{cls.proxy.port}"
        cls.tls = f"https://localhost:{cls.proxy.tls_port}"

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.backend.stop()

    def curl(self, *argv):
        certificate = str(self.proxy.directory / "cert.pem")
        done = run("curl", "-sS", "--max-time", str(PATIENCE), "--cacert", certificate, *argv)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def every_way(self):
        yield "1.1", ["--http1.1"], self.plain
        yield "1.0", ["--http1.0"], self.plain
        yield "2, known", ["--http2-prior-knowledge"], self.plain
        yield "2, asked for by Upgrade", ["--http2"], self.plain
        yield "1.1 over TLS", ["--http1.1"], self.tls
        yield "2 over TLS", ["--http2"], self.tls

    @needs("curl")
    def test_curl_gets(self):
        for what, how, base in self.every_way():
            with self.subTest(what):
                out = self.curl(*how, "-w", " %{http_code} %{http_version}", f"{base}/small?q=1")
                version = "2" if what in ("2, known", "2 over TLS") else what[:3]
                version = "1.1" if what.startswith("2, asked") else version
                self.assertIn(out.decode(), (f"small 200 {version}", "small 200 1.1"))
                if version == "2":
                    self.assertTrue(out.endswith(b" 2"), out)

    @needs("curl")
    def test_curl_gets_much(self):
        for what, how, base in self.every_way():
            with self.subTest(what):
                self.assertEqual(hashlib.sha256(self.curl(*how, f"{base}/large")).digest(),
                                 hashlib.sha256(LARGE).digest())

    @needs("curl")
    def test_curl_posts(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(LARGE)
            file.flush()
            for what, how, base in self.every_way():
                for body in ("-d", "--data-binary"), ("-T", "--upload-file"):
                    with self.subTest(f"{what} {body[1]}"):
                        data = [body[0], "hello"] if body[0] == "-d" else ["-T", file.name]
                        got = self.curl(*how, *data, f"{base}/echo")
                        self.assertEqual(got, b"hello" if body[0] == "-d" else LARGE)

    @needs("curl")
    def test_curl_posts_what_it_does_not_know_the_length_of(self):
        for what, how, base in self.every_way():
            if what == "1.0":
                continue  # It has no way to say it.
            with self.subTest(what):
                done = run("curl", "-sS", *how, "--cacert", str(self.proxy.directory / "cert.pem"),
                           "-H", "Expect:", "-X", "POST", "-T", "-", f"{base}/echo", input=LARGE)
                self.assertEqual(done.stdout, LARGE)

    @needs("curl")
    def test_curl_waits_for_100(self):
        got = self.curl("--http1.1", "-H", "Expect: 100-continue", "-d", "hello",
                        f"{self.plain}/echo")
        self.assertEqual(got, b"hello")

    @needs("curl")
    def test_curl_asks_for_a_head(self):
        for what, how, base in self.every_way():
            with self.subTest(what):
                got = self.curl(*how, "-I", f"{base}/small").decode().lower()
                self.assertIn("content-length: 5", got)
                self.assertIn("x-said: yes", got)

    @needs("curl")
    def test_curl_keeps_its_connection(self):
        for what, how, base in self.every_way():
            if what in ("1.0", "2, known"):
                continue  # curl 7.88 says the preface again, to whatever server.
            with self.subTest(what):
                out = self.curl(*how, "-w", "%{num_connects} ", *[f"{base}/small"] * 3).decode()
                self.assertEqual(re.findall(r"\d+ ", out), ["1 ", "0 ", "0 "])

    @needs("curl")
    def test_an_error_of_the_backend_is_passed_on(self):
        out = self.curl("--http1.1", "-w", "%{http_code}", f"{self.plain}/missing")
        self.assertEqual(out, b"no404")

    @needs("nghttp")
    def test_nghttp(self):
        done = run("nghttp", "-nsv", f"{self.plain}/small", f"{self.plain}/large",
                   f"{self.plain}/missing")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = re.sub(rb"\x1b\[[0-9;]*m", b"", done.stdout)
        self.assertEqual(said.count(b":status: 200"), 2, said)
        self.assertEqual(said.count(b":status: 404"), 1, said)
        done = run("nghttp", "-y", "--no-verify-peer", f"{self.tls}/large")
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(LARGE).digest())

    @needs("h2load")
    def test_h2load(self):
        for how, base in (["--h1"], self.plain), ([], self.plain), (["-m", "20"], self.tls):
            with self.subTest(f"{how} {base}"):
                done = run("h2load", *how, "-c", "8", "-n", "400", f"{base}/small")
                self.assertIn(b"400 succeeded, 0 failed, 0 errored, 0 timeout", done.stdout)
                self.assertIn(b"400 2xx", done.stdout)

    @needs("chromium")
    @unittest.skipIf(os.environ.get("DAMPER_INSTRUMENTED") == "1", "it is the same browser")
    def test_a_browser_fetches(self):
        for what, base in ("1.1", self.plain), ("2 over TLS", self.tls):
            with self.subTest(what), tempfile.TemporaryDirectory() as profile:
                done = run("chromium", "--headless", "--no-sandbox", "--disable-gpu",
                           "--ignore-certificate-errors", "--disable-background-networking",
                           "--disable-dev-shm-usage", f"--user-data-dir={profile}",
                           "--virtual-time-budget=10000", "--dump-dom", f"{base}/page",
                           env={**os.environ, "HOME": profile})
                self.assertIn(b"DONE 200|small|200|hello from the browser|1048576|404",
                              done.stdout, done.stderr[-2000:])

    @needs("curl")
    def test_the_admin_says_that_nothing_is_under_way(self):
        self.curl(f"{self.plain}/small")
        state = json.loads(self.curl(f"http://127.0.0.1:{self.proxy.admin_port}/state"))
        self.assertEqual(state["requests_under_way"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
