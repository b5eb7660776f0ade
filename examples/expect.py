#!/usr/bin/env python3
"""Runs an example and compares what it prints: expect.py PROGRAM EXPECTED."""

import difflib
import subprocess
import sys


def main(program, expected):
    run = subprocess.run([program], capture_output=True, text=True, timeout=50, check=False)
    with open(expected, encoding="utf-8") as file:
        wanted = file.read()
    sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), run.stdout.splitlines(True),
                                               expected, program))
    if run.returncode != 0:
        print(f"{program}: exit status {run.returncode}: {run.stderr}")
    return 0 if run.returncode == 0 and run.stdout == wanted else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
