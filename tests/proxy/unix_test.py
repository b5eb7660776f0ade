#!/usr/bin/env python3
"""Unix sockets of the real proxy, as listener and as upstream."""

import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from proxy_process import DAMPER, PATIENCE, Backend, Proxy, free_port


class UnixBackend(Backend):
    """The same on a Unix socket."""

    def __init__(self, path):  # Not Listening's: it would listen on a port.
        self.path = str(path)
        self.answer = lambda request: (200, {}, b"ok")
        self.requests, self.strange, self.extensions, self.open = [], [], [], set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()


class UnixProxy(Proxy):
    """Listens on a TCP port and on a Unix socket, before a Unix socket."""

    def __init__(self, directory):
        self.unix = directory
        super().__init__(0)

    def text(self, *_):
        return f"""admin: {{ address: "127.0.0.1:{self.admin_port}" }}
drain_time: 2s
threads: 2
access_log: all
listeners:
  plain: {{ address: "127.0.0.1:{self.port}" }}
  local: {{ address: "unix:{self.unix}/proxy.sock", mode: "0600" }}
clusters:
  backend: {{ endpoints: ["unix:{self.unix}/app.sock"] }}
routes:
  all: {{ cluster: backend, timeout: 20s }}
"""


class Unix(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="damper-unix-")
        self.directory = pathlib.Path(self.folder.name)
        self.backend = UnixBackend(self.directory / "app.sock")
        self.proxy = UnixProxy(self.directory)
        self.file = self.directory / "proxy.sock"
        self.wait_until(self.file.exists)

    def tearDown(self):
        if self.proxy:
            self.proxy.stop()
        self.backend.stop()
        self.folder.cleanup()

    def wait_until(self, true):
        end = time.monotonic() + PATIENCE * 4
        while not true():
            self.assertLess(time.monotonic(), end, self.proxy and self.proxy.said())
            time.sleep(0.02)

    def curl(self, *arguments):
        done = subprocess.run(["curl", "-sS", "-m", str(PATIENCE * 4), *arguments],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def local(self, path="/"):
        return self.curl("--unix-socket", str(self.file), f"http://localhost{path}")

    def test_requests_pass_and_the_peer_is_named(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        for number in range(8):  # On both loops.
            self.assertEqual(self.local(f"/{number}"), "ok")
        self.assertEqual(self.curl(f"http://127.0.0.1:{self.proxy.port}/tcp"), "ok")
        fields = dict(self.backend.requests[0]["fields"])
        self.assertEqual(fields["x-forwarded-for"], "unix:")
        self.assertEqual(fields["host"], "localhost")
        self.wait_until(lambda: '"unix:"' in self.proxy.said())
        replica = f'replica="unix:{self.directory}/app.sock"'
        self.assertTrue(replica in self.proxy.admin("/metrics"))

    def test_an_upstream_that_is_gone_is_an_error_and_comes_back(self):
        self.backend.stop()
        os.unlink(self.backend.path)
        code = self.curl("-o", os.devnull, "-w", "%{http_code}", "--unix-socket", str(self.file),
                         "http://localhost/")
        self.assertIn(code, ("502", "503"))
        self.backend = UnixBackend(self.directory / "app.sock")

        def is_back():
            try:
                return self.local() == "ok"
            except AssertionError:
                return False
        self.wait_until(is_back)

    def test_the_file_is_removed_at_the_end_and_replaced_if_it_was_left(self):
        self.proxy.stop()
        self.assertFalse(self.file.exists())
        self.proxy = UnixProxy(self.directory)
        self.wait_until(self.file.exists)
        self.proxy.process.kill()
        self.proxy.process.wait()
        self.assertTrue(self.file.exists())
        self.proxy.log.close()
        self.proxy = UnixProxy(self.directory)
        self.assertEqual(self.local(), "ok")

    def test_a_second_proxy_does_not_take_the_socket(self):
        second = subprocess.run(
            [DAMPER, "proxy", "--listen", f"unix:{self.file}", "--to", "http://127.0.0.1:1",
             "--admin", f"127.0.0.1:{free_port()}"],
            capture_output=True, text=True, timeout=PATIENCE * 4, check=False)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("another process listens there", second.stderr)
        self.assertEqual(self.local(), "ok")

    def reload(self, *changes):
        """Replaces texts of the file, and waits until the reload is applied."""
        file = self.proxy.directory / "damper.yaml"
        text = file.read_text()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        applied = ("damper_proxy_reloads_total", 'result="applied"')
        before = self.proxy.metric(*applied)
        file.write_text(text)
        self.proxy.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.proxy.process.poll() is not None or
                        self.proxy.metric(*applied) > before)
        self.assertIsNone(self.proxy.process.poll(), self.proxy.said())

    def test_a_reload_keeps_the_socket(self):
        inode = os.stat(self.file).st_ino
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE * 4)
            client.connect(str(self.file))
            self.reload()
            self.reload(('mode: "0600"', 'mode: "0660"'))
            self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o660)
            second = self.directory / "second.sock"
            self.reload(("clusters:", f'  second: {{ address: "unix:{second}" }}\nclusters:'))
            self.wait_until(second.exists)
            self.assertEqual(self.curl("--unix-socket", str(second), "http://localhost/"), "ok")
            self.assertEqual(self.local(), "ok")
            self.assertEqual(os.stat(self.file).st_ino, inode)
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(client.recv(65536).startswith(b"HTTP/1.1 200 "))

    def test_a_reload_makes_a_deleted_file_again(self):
        os.unlink(self.file)
        self.reload()
        for number in range(8):  # On both loops.
            self.assertEqual(self.local(f"/{number}"), "ok")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.reload()
        self.assertEqual(self.local(), "ok")
        self.proxy.stop()
        self.assertFalse(self.file.exists())
        self.proxy = None

    def test_an_upgrade_hands_the_socket_over(self):
        old = self.proxy.process
        old.send_signal(signal.SIGUSR2)
        self.wait_until(lambda: old.poll() is not None)
        self.assertEqual(old.returncode, 0, self.proxy.said())
        self.assertTrue(self.file.exists())
        self.assertEqual(self.local(), "ok")
        said = self.proxy.said()
        self.assertIn("upgraded", said)
        pids = [int(line.split("process ")[1].split(":")[0]) for line in said.splitlines()
                if line.startswith("damper proxy, process ")]
        os.kill(pids[-1], signal.SIGTERM)
        self.wait_until(lambda: not self.file.exists())
        self.proxy.log.close()
        self.proxy = None


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
