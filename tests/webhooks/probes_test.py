"""A host with many endpoints fails, and dispatchers share a PostgreSQL database: an endpoint whose
breaker is open gets one probe at a time, all of them together are under the fleet's rate, and when
the host is back, everything is delivered within two probe intervals and the ramp.

ENDPOINTS (default 60) of one host, DISPATCHERS (default 3), DOWN seconds (default 5) with every
breaker open. MESSAGES (default 3) to each endpoint.
"""

import asyncio
import bisect
import collections
import os
import sys
import time

from dispatcher_process import SLOWNESS, Dispatcher, Receiver, Refused, wait_for
from postgres_cluster import Cluster

ENDPOINTS = int(os.environ.get("ENDPOINTS", "60"))
DISPATCHERS = int(os.environ.get("DISPATCHERS", "3"))
DOWN = float(os.environ.get("DOWN", "5"))  # s
MESSAGES = int(os.environ.get("MESSAGES", "3"))
RATE = float(os.environ.get("RATE", "20"))  # probes a second
OPEN_CAP = 2.0  # s
RAMP = 1.0  # s
ANSWER = 0.03  # s that an answer takes: two probes at a time would overlap

CONFIG = f"""
delivery: {{ retries: [{", ".join(["1s"] * 32)}], timeout: 10s }}
circuit_breaker:
  consecutive_failures: 2
  open_base: 1s
  open_cap: {OPEN_CAP}s
  ramp: {RAMP}s
  host_probes_per_second: {RATE}
"""


class Host:
    """The endpoints of one host, which are down or not."""

    def __init__(self):
        self.down = True
        self.arrivals = []  # (time, path)
        self.in_flight = collections.Counter()
        self.most_in_flight = collections.Counter()
        self.delivered = collections.Counter()

    async def answer(self, path, _count):
        self.arrivals.append((time.monotonic(), path))
        self.in_flight[path] += 1
        self.most_in_flight[path] = max(self.most_in_flight[path], self.in_flight[path])
        await asyncio.sleep(ANSWER)
        self.in_flight[path] -= 1
        if self.down:
            return 503
        self.delivered[path] += 1
        return 200


async def ask(dispatcher, method, target, body=None):
    status, answer = await dispatcher.call(method, "/v1/applications/default" + target, body)
    if status >= 300:
        raise Refused(f"{status}: {answer}")
    return answer


def most_in_a_second(times):
    return max(bisect.bisect_left(times, start + 1.0) - at for at, start in enumerate(times))


async def main():
    host = Host()
    receiver = Receiver(host.answer)
    await receiver.start()
    cluster = Cluster()
    fleet = [Dispatcher(CONFIG, cluster) for _ in range(DISPATCHERS)]
    try:
        await asyncio.gather(*(dispatcher.start() for dispatcher in fleet))
        ids = []
        for number in range(ENDPOINTS):
            made = await ask(fleet[0], "POST", "/endpoints", {"url": receiver.url(f"/{number}")})
            ids.append(made["id"])
        for _ in range(MESSAGES):
            await ask(fleet[0], "POST", "/messages", {"type": "test.event", "payload": {}})

        async def is_open(endpoint):
            answer = await ask(fleet[0], "GET", "/endpoints/" + endpoint)
            return answer["status"]["breaker"] != "closed"

        waiting = ids
        start = time.monotonic()
        while waiting:
            assert time.monotonic() - start < 60 * SLOWNESS, f"{len(waiting)} never opened"
            waiting = [endpoint for endpoint in waiting if not await is_open(endpoint)]
            await asyncio.sleep(0.1)
        await asyncio.sleep(1 * SLOWNESS)  # what was in flight when the last one opened

        host.most_in_flight.clear()
        before = len(host.arrivals)
        await asyncio.sleep(DOWN)
        probes = [at for at, _ in host.arrivals[before:]]
        assert probes, "no probe while the host was down"
        tallest = most_in_a_second(probes)
        # The rate; what a slow machine delays arrives with what comes after.
        assert tallest <= 2 * RATE + 1, f"{tallest} probes in a second"
        assert len(probes) <= RATE * (DOWN + 1), f"{len(probes)} probes in {DOWN} s"
        together = max(host.most_in_flight.values())
        assert together == 1, f"{together} probes of an endpoint at a time"

        host.down = False
        start = time.monotonic()
        interval = max(OPEN_CAP, ENDPOINTS / RATE)
        assert await wait_for(lambda: sum(host.delivered.values()) >= ENDPOINTS * MESSAGES), \
            f"{sum(host.delivered.values())} of {ENDPOINTS * MESSAGES} delivered"
        took = time.monotonic() - start
        assert took <= (2 * interval + RAMP) * SLOWNESS + 5, f"recovered after {took:.1f} s"
        assert all(count == MESSAGES for count in host.delivered.values()), "delivered twice"
        print(f"{ENDPOINTS} endpoints, {DISPATCHERS} dispatchers: {len(probes)} probes in {DOWN} s,"
              f" at most {tallest} in a second and {together} of an endpoint at a time; all "
              f"{ENDPOINTS * MESSAGES} delivered {took:.1f} s after the host was back")
    finally:
        for dispatcher in fleet:
            dispatcher.stop()
        cluster.stop()


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
