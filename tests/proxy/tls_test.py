#!/usr/bin/env python3
"""TLS of the real proxy: certificates by server name, versions, resumption, files that change."""

import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from contextlib import closing

from proxy_process import DAMPER, PATIENCE, Backend, Listening, Proxy


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Ca:
    """A CA, which signs certificates."""

    def __init__(self, directory, name):
        self.directory, self.name = directory, name
        self.file = directory / f"{name}.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "30", "-subj", f"/CN={name}", "-keyout", directory / f"{name}.key",
                "-out", self.file)

    def sign(self, name, *names, kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), days=20):
        """The files of a certificate for these DNS names, and of its key."""
        stem = self.directory / name
        (stem.with_suffix(".ext")).write_text(
            "subjectAltName=" + ",".join([f"DNS:{one}" for one in names] + ["IP:127.0.0.1"]))
        openssl("req", "-newkey", *kind, "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{stem}.key", "-out", f"{stem}.csr")
        openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", self.file,
                "-CAkey", self.directory / f"{self.name}.key", "-CAcreateserial",
                "-days", days, "-extfile", f"{stem}.ext", "-out", f"{stem}.crt")
        return pathlib.Path(f"{stem}.crt"), pathlib.Path(f"{stem}.key")


class TlsProxy(Proxy):
    """A proxy with one TLS listener, whose `tls` is given, before a cluster."""

    def __init__(self, endpoint, tls, cluster=""):
        self.endpoint, self.tls, self.cluster = endpoint, tls, cluster
        super().__init__(0, tls=True)

    def text(self, *_):
        return f"""admin: {{ address: "127.0.0.1:{self.admin_port}" }}
drain_time: 2s
threads: 2
listeners:
  plain: {{ address: "127.0.0.1:{self.port}" }}
  secure: {{ address: "127.0.0.1:{self.tls_port}", tls: {{ {self.tls} }} }}
clusters:
  backend: {{ endpoints: ["{self.endpoint}"], {self.cluster} }}
routes:
  all: {{ cluster: backend, timeout: 20s }}
"""


def get(stream, *, close=False):
    """The status of a request on a connection."""
    end = "Connection: close\r\n" if close else ""
    stream.sendall(f"GET / HTTP/1.1\r\nHost: x\r\n{end}\r\n".encode())
    answer = b""
    while b"\r\n\r\nok" not in answer:
        more = stream.recv(65536)
        if not more:
            raise AssertionError(f"it ended after {answer}")
        answer += more
    return int(answer.split(b" ")[1])


class Tls(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="damper-tls-")
        self.directory = pathlib.Path(self.folder.name)
        self.ca = Ca(self.directory, "ca")
        self.backend = Backend()
        self.proxy = None

    def tearDown(self):
        if self.proxy:
            self.proxy.stop()
        self.backend.stop()
        self.folder.cleanup()

    def start(self, tls, cluster="", endpoint=None):
        endpoint = endpoint or f"http://127.0.0.1:{self.backend.port}"
        self.proxy = TlsProxy(endpoint, tls, cluster)

    def context(self, version=None, identity=None):
        made = ssl.create_default_context(cafile=str(self.ca.file))
        made.check_hostname = False
        if version:
            made.minimum_version = made.maximum_version = version
        if identity:
            made.load_cert_chain(*map(str, identity))
        return made

    def connect(self, name=None, context=None, session=None):
        plain = socket.create_connection(("127.0.0.1", self.proxy.tls_port), PATIENCE)
        return (context or self.context()).wrap_socket(plain, server_hostname=name, session=session)

    def subject(self, name=None):
        """The common name of the certificate that the server shows."""
        with self.connect(name) as stream:
            return dict(part[0] for part in stream.getpeercert()["subject"])["commonName"]

    def ask(self):
        """A request on a connection of its own."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.proxy.port,
                                                timeout=PATIENCE * 4)) as connection:
            connection.request("GET", "/")
            self.assertEqual(connection.getresponse().status, 200)

    def wait_until(self, true):
        end = time.monotonic() + PATIENCE * 4
        while not true():
            self.assertLess(time.monotonic(), end, self.proxy.said())
            time.sleep(0.05)

    def listed(self, *identities):
        return "certificates: [" + ", ".join(
            f"{{ certificate_file: {certificate}, key_file: {key}{more} }}"
            for (certificate, key), more in identities) + "]"

    def test_the_server_name_selects_the_certificate(self):
        self.start(self.listed((self.ca.sign("one", "one.test"), ""),
                               (self.ca.sign("wild", "*.two.test"), ""),
                               (self.ca.sign("exact", "x.two.test"), ""),
                               (self.ca.sign("listed", "z.test"), ", server_names: [three.test]")))
        for name, subject in (("one.test", "one"), ("a.two.test", "wild"), ("x.two.test", "exact"),
                              ("three.test", "listed"), ("a.b.two.test", "one"), ("z.test", "one"),
                              (None, "one")):
            self.assertEqual(self.subject(name), subject, name)

    def test_an_unknown_name_is_refused_if_asked(self):
        self.start(self.listed((self.ca.sign("one", "one.test"), "")) +
                   ", reject_unknown_names: true")
        self.assertEqual(self.subject("one.test"), "one")
        for name in ("two.test", None):
            with self.assertRaises(ssl.SSLError) as refused:
                self.subject(name)
            self.assertIn("UNRECOGNIZED_NAME", str(refused.exception))

    def test_cbc_and_rsa_key_exchange_need_to_be_asked_for(self):
        certificate, key = self.ca.sign("one", "one.test", kind=("rsa:2048",))
        files = f"certificate_file: {certificate}, key_file: {key}"

        def suite(ciphers):
            context = self.context(ssl.TLSVersion.TLSv1_2)
            context.set_ciphers(ciphers)
            try:
                with self.connect("one.test", context) as stream:
                    return stream.cipher()[0]
            except (ssl.SSLError, ConnectionResetError):
                return None
        self.start(files)
        self.assertIsNone(suite("AES128-SHA"))
        self.assertIsNone(suite("ECDHE-RSA-AES128-SHA"))
        self.assertEqual(suite("ECDHE-RSA-AES128-GCM-SHA256"), "ECDHE-RSA-AES128-GCM-SHA256")
        self.proxy.stop()
        self.start(files + ", cipher_suites: [AES128-SHA]")
        self.assertEqual(suite("AES128-SHA"), "AES128-SHA")
        self.proxy.stop()
        self.start(files + ", min_version: TLSv1_3")
        self.assertIsNone(suite("ECDHE-RSA-AES128-GCM-SHA256"))
        with self.connect("one.test") as stream:
            self.assertEqual(stream.version(), "TLSv1.3")

    def test_a_session_is_resumed_on_every_loop_and_after_a_renewal(self):
        certificate, key = self.ca.sign("one", "one.test")
        client = self.ca.sign("client", "client.test")
        self.start(f"certificate_file: {certificate}, key_file: {key}, "
                   f"client_ca_file: {self.ca.file}, require_client_certificate: true")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context(version, client)
            with self.connect("one.test", context) as stream:
                self.assertEqual(get(stream), 200)
                session = stream.session
                self.assertFalse(stream.session_reused)
            for _ in range(8):  # Some of them on the other loop.
                with self.connect("one.test", context, session) as stream:
                    self.assertEqual(get(stream), 200)
                    self.assertTrue(stream.session_reused)
                    session = stream.session
                seen = dict(self.backend.requests[-1]["fields"])["x-forwarded-client-cert"]
                self.assertIn('Subject="CN=client"', seen)
        before = self.proxy.metric("damper_tls_reloads_total", "applied")
        self.ca.sign("one", "one.test")
        self.wait_until(
            lambda: self.proxy.metric("damper_tls_reloads_total", "applied") > before)
        with self.connect("one.test", context, session) as stream:
            self.assertEqual(get(stream), 200)
            self.assertTrue(stream.session_reused)
            session = stream.session
        before = self.proxy.metric("damper_tls_reloads_total", "applied")
        self.ca.file.write_text(self.ca.file.read_text() +
                                Ca(self.directory, "second").file.read_text())
        self.wait_until(
            lambda: self.proxy.metric("damper_tls_reloads_total", "applied") > before)
        with self.connect("one.test", context, session) as stream:
            self.assertEqual(get(stream), 200)
            self.assertFalse(stream.session_reused)  # Another CA: verified again.

    def test_a_failed_handshake_is_logged_with_its_client(self):
        server = self.ca.sign("one", "one.test")
        self.start(f"certificate_file: {server[0]}, key_file: {server[1]}, "
                   f"client_ca_file: {self.ca.file}, require_client_certificate: true")

        def fail(address, attack):
            with socket.socket() as client:
                client.settimeout(PATIENCE)
                client.bind((address, 0))
                client.connect(("127.0.0.1", self.proxy.tls_port))
                try:
                    attack(client)
                except OSError:
                    pass  # As it should be.

        def plain(client):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            client.recv(100)

        def anonymous(client):  # Without a certificate.
            with self.context().wrap_socket(client) as stream:
                stream.recv(100)

        def lines():
            parsed = [json.loads(line) for line in self.proxy.said().splitlines()
                      if line.startswith('{"time"')]
            return [(line["client"], line["closed"], "status" in line) for line in parsed]
        fail("127.0.0.7", plain)
        fail("127.0.0.8", anonymous)
        fail("127.0.0.9", lambda client: None)  # It only looks whether the port is open.
        self.wait_until(lambda: len(lines()) >= 2)
        self.assertEqual(sorted(lines()), [("127.0.0.7", "handshake_failed", False),
                                           ("127.0.0.8", "handshake_failed", False)])
        for _ in range(300):
            fail("127.0.0.7", plain)
        self.wait_until(lambda: self.proxy.metric("damper_proxy_access_log_suppressed_total") > 0)
        self.assertEqual(self.proxy.metric("damper_proxy_access_log_lines_total") +
                         self.proxy.metric("damper_proxy_access_log_suppressed_total"), 302)

    def test_certificates_are_renewed_under_load(self):
        """As a Kubernetes Secret: a symbolic link is swapped."""
        for number in range(2):
            folder = self.directory / f"data{number}"
            folder.mkdir()
            certificate, key = self.ca.sign(f"s{number}", "one.test")
            certificate.rename(folder / "tls.crt")
            key.rename(folder / "tls.key")
        link = self.directory / "live"
        link.symlink_to("data0")
        self.start(f"certificate_file: {link}/tls.crt, key_file: {link}/tls.key")
        kept = self.connect("one.test")
        failed, done, stop = [], [0], threading.Event()

        def load():
            while not stop.is_set():
                try:
                    with self.connect("one.test") as stream:
                        get(stream, close=True)
                    done[0] += 1
                except (OSError, AssertionError) as error:
                    failed.append(error)
        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number in (1, 0, 1):
                (self.directory / "next").symlink_to(f"data{number}")
                os.replace(self.directory / "next", link)
                self.wait_until(lambda n=number: self.subject("one.test") == f"s{n}")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [])
        self.assertGreater(done[0], 3)
        self.assertEqual(get(kept), 200)  # A connection from before.
        kept.close()

    def test_a_pair_that_does_not_fit_is_not_used(self):
        certificate, key = self.ca.sign("one", "one.test")
        old_key = key.read_text()
        self.start(f"certificate_file: {certificate}, key_file: {key}")
        expiry = self.proxy.metric("damper_tls_certificate_expiry_seconds", f'"{certificate}"')
        self.assertAlmostEqual(expiry, 20 * 86400, delta=3600)
        self.ca.sign("one", "one.test", days=5)
        new = certificate.read_text(), key.read_text()
        key.write_text(old_key)
        self.wait_until(lambda: "certificate_refused" in self.proxy.said())
        self.assertIn(f"key_file {key} has no key that fits certificate_file {certificate}",
                      self.proxy.said())
        self.assertEqual(self.subject("one.test"), "one")
        self.assertGreater(self.proxy.metric("damper_tls_certificate_expiry_seconds"), 19 * 86400)
        key.write_text(new[1])
        self.wait_until(lambda: "certificate_reloaded" in self.proxy.said())
        self.wait_until(lambda: "certificate_expires" in self.proxy.said())
        self.assertLess(self.proxy.metric("damper_tls_certificate_expiry_seconds"), 6 * 86400)
        self.assertEqual(self.proxy.said().count("certificate_refused"), 1)

    def test_validate_opens_the_files(self):
        certificate, _ = self.ca.sign("one", "one.test")
        _, key = self.ca.sign("two", "two.test")
        config = self.directory / "damper.yaml"
        config.write_text(f"""listeners:
  web: {{ address: ":0", tls: {{ certificate_file: {certificate}, key_file: {key} }} }}
clusters:
  backend: {{ endpoints: ["http://127.0.0.1:1"] }}
""")
        done = subprocess.run([DAMPER, "proxy", "-c", str(config), "--validate"],
                              capture_output=True, text=True, timeout=PATIENCE * 4)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"listener web: key_file {key} has no key that fits", done.stderr)

    def test_an_upstream_sees_our_certificate_and_resumed_sessions(self):
        upstream = TlsUpstream(self.ca.sign("up", "up.test"), self.ca.file)
        ours = self.ca.sign("ours", "ours.test")
        server = self.ca.sign("one", "one.test")
        self.start(f"certificate_file: {server[0]}, key_file: {server[1]}",
                   f"tls: {{ ca_file: {self.ca.file}, certificate_file: {ours[0]}, "
                   f"key_file: {ours[1]}, sni: up.test }}", f"https://127.0.0.1:{upstream.port}")
        try:
            for _ in range(6):
                self.ask()
            self.assertEqual({(name, subject) for name, subject, _ in upstream.seen},
                             {("up.test", "ours")})
            self.assertTrue(any(resumed for _, _, resumed in upstream.seen), upstream.seen)
            self.ca.sign("ours", "renewed.test")
            before = len(upstream.seen)
            self.wait_until(lambda: self.proxy.metric("damper_tls_reloads_total", "applied") == 1)

            def is_verified_anew():  # With the new certificate, once the loop has it.
                self.ask()
                return not all(resumed for _, _, resumed in upstream.seen[before:])
            self.wait_until(is_verified_anew)
        finally:
            upstream.stop()


class TlsUpstream(Listening):
    """Answers one request on each connection; `seen`: server name, client's name, resumed."""

    def __init__(self, identity, ca):
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ca))
        self.context.load_cert_chain(*map(str, identity))
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.names = {}
        self.context.sni_callback = lambda stream, name, _: self.names.update({stream: name})
        self.seen = []
        super().__init__()

    def serve(self, connection):
        with self.context.wrap_socket(connection, server_side=True) as stream:
            subject = dict(part[0] for part in stream.getpeercert()["subject"])["commonName"]
            self.seen.append((self.names.get(stream), subject, stream.session_reused))
            while b"\r\n\r\n" not in stream.recv(65536):
                pass
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
