"""A PostgreSQL server of a test, in a temporary folder, reached by a Unix socket in it.

It runs as the test's user, or as `postgres` if that is root, which PostgreSQL refuses, and ends
with the test, however that ends.
"""

import base64
import contextlib
import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1


def program(name):
    """The path of a program of the server, of the newest version that is installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else name


def is_alive(process):
    """A zombie, which the system has not reaped yet, is not."""
    try:
        status = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf8")
    except OSError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


class Cluster:
    def __init__(self, folder=None):
        self.directory = tempfile.mkdtemp(prefix="damper-pg-", dir=folder)
        self.user = None
        if os.geteuid() == 0:
            self.user = pwd.getpwnam("postgres")
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.log = open(f"{self.directory}/log", "w", encoding="utf8")
        self.url = f"postgres:///postgres?user=damper&host={self.directory}"
        # The key of the endpoints' secrets, which the dispatchers of a fleet share.
        self.keys = f"{self.directory}/keys"
        with open(self.keys, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as keys:
            keys.write(base64.b64encode(os.urandom(32)) + b"\n")
        self.server = None
        assert self.spawn("initdb", "-D", self.directory + "/data", "-U", "damper", "-A", "trust",
                          "-E", "UTF8", "--locale=C", "--no-sync").wait() == 0, self.text()
        self.start()

    def become_user(self):
        if self.user:
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)

    def spawn(self, name, *words):
        return subprocess.Popen([program(name), *words], cwd=self.directory, stdout=self.log,
                                stderr=self.log, preexec_fn=self.become_user)

    def start(self):
        self.server = self.spawn("postgres", "-D", self.directory + "/data", "-k", self.directory,
                                 "-c", "listen_addresses=", "-c", "fsync=on")
        for _ in range(3000):
            ready = subprocess.run([program("pg_isready"), "-q", "-h", self.directory],
                                   check=False).returncode == 0
            if ready:
                return
            assert self.server.poll() is None, self.text()
            time.sleep(0.02)
        raise RuntimeError("PostgreSQL does not answer: " + self.text())

    def processes(self):
        """The server and its children."""
        children = pathlib.Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children")
        return [self.server.pid, *map(int, children.read_text(encoding="utf8").split())]

    def crash(self):
        """SIGKILL for the server and all of its processes."""
        processes = self.processes()
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.server.wait()
        # The next server refuses to start while one of them has the memory.
        while any(map(is_alive, processes[1:])):
            time.sleep(0.01)

    def run(self, sql):
        """The output of psql."""
        return subprocess.run([program("psql"), "-h", self.directory, "-U", "damper", "-d",
                               "postgres", "-qAtc", sql], check=True, capture_output=True,
                              text=True).stdout

    def connections(self, count="count(*)"):
        return int(self.run(f"SELECT {count} FROM pg_stat_activity"
                            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"))

    def terminate_connections(self):
        return self.connections("count(pg_terminate_backend(pid))")

    def stop(self):
        self.server.send_signal(signal.SIGQUIT)  # Without a checkpoint: the data are deleted.
        self.server.wait()
        self.log.close()
        shutil.rmtree(self.directory)

    def text(self):
        return pathlib.Path(self.directory, "log").read_text(encoding="utf8")[-4000:]
