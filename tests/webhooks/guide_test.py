#!/usr/bin/env python3
"""guide_test.py PAGE: the commands of the guide work as printed, in their order.

A block after `<!-- commands -->` has one command in each line. `serve` and `listen` run until the
end; every other one has to exit with 0, and `curl` has to be answered 2xx. The test replaces the
ports 8071 and 9000 by free ones, and ep_0000000000001 by the id of the endpoint that was added.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from dispatcher_process import DAMPER, SLOWNESS, free_port


def commands_of(page):
    for block in re.findall(r"<!-- commands -->\n```\n(.*?)```", page, re.DOTALL):
        yield from block.splitlines()


class Guide:
    def __init__(self, folder):
        self.folder = folder
        self.api, self.receiver = free_port(), free_port()
        self.running = []
        self.endpoint = None
        (folder / "damper").symlink_to(os.path.abspath(DAMPER))
        self.settings = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}",
                         "DAMPER_WEBHOOKS": f"http://127.0.0.1:{self.api}"}

    def adapted(self, command):
        command = command.replace(":8071", f":{self.api}").replace(":9000", f":{self.receiver}")
        if self.endpoint:
            command = command.replace("ep_0000000000001", self.endpoint)
        if command.startswith("damper webhooks serve"):
            return command + f" --listen 127.0.0.1:{self.api}"
        if command.startswith("damper webhooks listen"):
            return command + f" --port {self.receiver}"
        return command.replace("curl ", "curl --fail ", 1)

    def run(self, command):
        adapted = self.adapted(command)
        if re.match(r"damper webhooks (serve|listen)\b", command):
            self.start(adapted)
            return
        done = subprocess.run(["bash", "-c", adapted], cwd=self.folder, env=self.settings,
                              capture_output=True, text=True, timeout=60, check=False)
        print(f"$ {adapted}\n{done.stdout}{done.stderr}")
        assert done.returncode == 0, f"{command}: exit status {done.returncode}"
        if "endpoints add" in command:
            self.endpoint = re.match(r"ep_\w+", done.stdout).group(0)
        if command.endswith("--wait"):
            assert done.stdout.endswith("\ndelivered\n"), done.stdout

    def start(self, adapted):
        log = self.folder / f"{len(self.running)}.log"
        with open(log, "w", encoding="utf-8") as out:
            # exec: the process is the program, and not its shell.
            self.running.append(subprocess.Popen(["bash", "-c", "exec " + adapted], stdout=out,
                                                 stderr=out, cwd=self.folder, env=self.settings))
        for _ in range(int(1500 * SLOWNESS)):
            if re.search(r"serving on|listening on", log.read_text(encoding="utf-8")):
                return
            assert self.running[-1].poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.02)
        raise AssertionError(f"{adapted} does not start")

    def stop(self):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    commands = list(commands_of(page))
    first = [command.split()[2] for command in commands[:4]]
    assert first == ["serve", "listen", "endpoints", "send"], commands
    folder = pathlib.Path(tempfile.mkdtemp(prefix="damper-guide-"))
    guide = Guide(folder)
    try:
        for command in commands:
            guide.run(command)
    finally:
        guide.stop()
        shutil.rmtree(folder)
    print(f"{len(commands)} commands")


if __name__ == "__main__":
    main()
