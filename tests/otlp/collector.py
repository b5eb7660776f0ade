"""An OTLP collector for tests of the real programs, over HTTP.

It keeps the bodies of POST /v1/traces, which are decoded by the protobuf definitions of
OpenTelemetry's npm package. install() puts that into OTLP_FOLDER, as package-lock.json names it, or
exits with 77, which ctest reports as skipped, without npm or registry.
"""

import base64
import fcntl
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("OTLP_FOLDER", "/tmp/damper-otlp")
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def install():
    for program in ("node", "npm"):
        if not shutil.which(program):
            skip(f"there is no {program}; npm's @opentelemetry/otlp-transformer decodes OTLP")
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Tests run at the same time.
        install_once()


def install_once():
    if os.path.exists(os.path.join(FOLDER, "installed")):
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, name), FOLDER)
    try:
        made = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                              cwd=FOLDER, capture_output=True, text=True, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        skip("npm did not install @opentelemetry/otlp-transformer within 90 s")
    if made.returncode != 0:
        skip(f"npm cannot install @opentelemetry/otlp-transformer: {made.stderr.strip()[-300:]}")
    with open(os.path.join(FOLDER, "installed"), "w", encoding="utf-8"):
        pass


class Collector:
    """Keeps what is posted to it."""

    def __init__(self):
        bodies = self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces" and \
                        self.headers["Content-Type"] == "application/x-protobuf":
                    bodies.append(body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def spans(self):
        lines = "\n".join(base64.b64encode(body).decode() for body in list(self.bodies))
        ran = subprocess.run(["node", os.path.join(HERE, "collector.js")], input=lines,
                             capture_output=True, text=True, timeout=60, check=False,
                             env={**os.environ, "NODE_PATH": os.path.join(FOLDER, "node_modules")})
        if ran.returncode != 0:
            raise AssertionError("the collector cannot read the spans:\n" + ran.stderr)
        return json.loads(ran.stdout)
