"""The real proxy as a process, and a backend that writes down what reaches it."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

DAMPER = os.environ.get("DAMPER", "damper")
PATIENCE = 5.0 * float(os.environ.get("DAMPER_SLOWNESS", "1"))  # seconds that anything may take


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Proxy:
    """`damper proxy` with one listener, or with one more for TLS, before a backend or several."""

    def __init__(self, backend_port, *, h2_backend=False, tls=False, extra="", listener="",
                 tls_listener="", trust="auto", descriptors=None, piped=False):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="damper-proxy-"))
        self.port = free_port()
        self.tls_port = free_port() if tls else None
        self.tls_listener = tls_listener  # more keys of it, a line each
        self.trust = trust
        self.admin_port = free_port()
        self.ended_with = None  # the exit status, if the test has ended it
        config = self.directory / "damper.yaml"
        config.write_text(self.text(backend_port, h2_backend, extra, listener))
        self.log = open(self.directory / "log", "a+", encoding="utf8")
        command = [DAMPER, "proxy", "-c", str(config)]
        if descriptors:
            command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$0" "$@"', *command]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE if piped else self.log,
                                        stderr=self.log)
        if piped:
            threading.Thread(target=self.copy, args=(self.process.stdout,), daemon=True).start()
        for port in filter(None, (self.port, self.tls_port)):
            self.wait_for(port)

    def copy(self, pipe):
        """From a pipe to the log."""
        with pipe, open(self.directory / "log", "ab", buffering=0) as log:
            while data := pipe.read1(65536):
                log.write(data)

    def text(self, backend_port, h2_backend, extra, listener):
        ports = [backend_port] if isinstance(backend_port, int) else backend_port
        text = f"""admin: {{ address: "127.0.0.1:{self.admin_port}" }}
drain_time: 2s
threads: 2
listeners:
  plain: {{ address: "127.0.0.1:{self.port}", trust: {self.trust}{listener and ", " + listener} }}
"""
        if self.tls_port:
            make_certificate(self.directory)
            text += f"""  secure:
    address: "127.0.0.1:{self.tls_port}"
    trust: {self.trust}
    tls:
      certificate_file: {self.directory}/cert.pem
      key_file: {self.directory}/key.pem
      client_ca_file: {self.directory}/cert.pem
""" + "".join(f"    {line}\n" for line in self.tls_listener.splitlines())
        return text + f"""clusters:
  backend:
    endpoints: [{", ".join(f'"http://127.0.0.1:{port}"' for port in ports)}]
    protocol: {"http2" if h2_backend else "auto"}
routes:
  all:
    cluster: backend
{extra}"""

    def wait_for(self, port):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the proxy does not listen:\n" + self.said())

    def admin(self, path):
        url = f"http://127.0.0.1:{self.admin_port}{path}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as page:
            return page.read().decode()

    def metric(self, start, part=""):
        """The sum of the samples that begin so and contain the part."""
        lines = self.admin("/metrics").splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines
                   if line.startswith(start) and part in line)

    def said(self):
        self.log.flush()
        return (self.directory / "log").read_text(encoding="utf8", errors="replace")

    def stop(self):
        """Ends it; it must have lived until now, and end well."""
        alive = self.process.poll() is None
        if alive:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE * 2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("the proxy does not end:\n" + self.said()) from None
        said = self.said()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        if alive != (self.ended_with is None) or self.process.returncode != (self.ended_with or 0):
            raise AssertionError(f"the proxy ended with {self.process.returncode}:\n{said}")


def make_certificate(directory):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(directory / "key.pem"),
         "-out", str(directory / "cert.pem")], check=True, capture_output=True)


class Listening:
    """serve()s each connection on a thread of its own."""

    def __init__(self):
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.add(connection)
            threading.Thread(target=self.serve_and_close, args=(connection,), daemon=True).start()

    def serve_and_close(self, connection):
        try:
            self.serve(connection)
        except (OSError, ValueError, AssertionError):
            pass  # The test says what it misses.
        finally:
            self.open.discard(connection)
            connection.close()

    def stop(self):
        self.listener.close()
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Backend(Listening):
    """HTTP/1.1, strictly: what it took for whole requests, in order."""

    def __init__(self, answer=None):
        self.answer = answer or (lambda request: (200, {}, b"ok"))
        self.requests = []
        self.strange = []  # what it could not read
        self.extensions = []  # of chunks
        super().__init__()

    def serve(self, connection):
        stream = connection.makefile("rb")
        while self.serve_one(connection, stream):
            pass

    def serve_one(self, connection, stream):
        line = stream.readline(65536)
        if not line:
            return False
        words = line.split(b" ")
        if not line.endswith(b"\r\n") or len(words) != 3:
            self.strange.append(line)
            return False
        fields = []
        while (line := stream.readline(65536)) != b"\r\n":
            if not line.endswith(b"\r\n") or b":" not in line:
                if line:
                    self.strange.append(line)
                return False
            name, value = line[:-2].split(b":", 1)
            fields.append((name.lower().decode("latin1"), value.strip().decode("latin1")))
        body = self.read_body(stream, dict(fields))
        if body is None:
            return False
        request = {"method": words[0].decode("latin1"), "target": words[1].decode("latin1"),
                   "fields": fields, "body": body}
        self.requests.append(request)
        status, more, answer = self.answer(request)
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(answer)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in more.items())
        send = b"" if request["method"] == "HEAD" else answer
        connection.sendall(head.encode() + b"\r\n" + send)
        return True

    def read_body(self, stream, fields):
        """None: it broke off."""
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while True:
                line = stream.readline(1024)
                if not line.endswith(b"\r\n"):
                    return None
                size, *extension = line.split(b";")
                self.extensions += extension
                size = int(size, 16)
                data = stream.read(size)
                if len(data) < size:
                    return None
                body += data
                if size == 0:
                    while stream.readline(65536) not in (b"\r\n", b""):
                        pass
                    return body
                stream.read(2)
        size = int(fields.get("content-length", "0"))
        body = stream.read(size)
        return body if len(body) == size else None
