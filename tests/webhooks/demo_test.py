#!/usr/bin/env python3
"""`damper webhooks demo --quick`: its counts add up, and nothing is lost.

Its numbers of messages are those of WebhookDemoOptions::quick().
"""

import re
import subprocess

from dispatcher_process import DAMPER

MESSAGES = 300
RARE = MESSAGES // 10  # for the slow endpoint and the dead one


def main():
    run = subprocess.run([DAMPER, "webhooks", "demo", "--quick"], capture_output=True, text=True,
                         timeout=110, check=False)
    print(run.stdout + run.stderr)
    assert run.returncode == 0, f"exit status {run.returncode}"
    assert "\x1b" not in run.stdout, "colours in a pipe"
    assert re.search(r"killed at \d+\.\ds, runs at \d+\.\ds", run.stdout), "no kill"
    counts = {name: int(count.replace(",", "")) for name, count in re.findall(
        r"^(accepted|delivered|waiting|dead|lost|duplicates) +([\d,]+)", run.stdout, re.MULTILINE)}
    assert counts["accepted"] == 3 * MESSAGES + 2 * RARE, counts
    assert counts["delivered"] == 3 * MESSAGES + RARE, counts
    assert counts["waiting"] + counts["dead"] == RARE, counts
    assert counts["lost"] == 0, counts
    # In flight and not settled at the kill: EndpointWorker::kMostUnsettled of each endpoint.
    assert counts["duplicates"] <= 4 * 256, counts


if __name__ == "__main__":
    main()
