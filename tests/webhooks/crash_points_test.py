"""Kills the dispatcher at each point of a delivery: nothing that it accepted is lost.

A point is a system call: strace kills the process when it begins the Nth one of a kind. ROUNDS
times (default 1) for each point, with N drawn anew. STORE=postgres: the same with PostgreSQL, where
the next dispatcher waits for the end of the lease of the one before it.
"""

import asyncio
import os
import random
import sys

from crash_test import check_duplicates
from dispatcher_process import Dispatcher, Receiver, Sender, wait_for
from postgres_cluster import Cluster

ROUNDS = int(os.environ.get("ROUNDS", "1"))
COUNT = 40  # messages of a batch
BATCHES = 10  # at most, for each kill
# What the process has done when the call begins, the call, and the largest N.
POINTS = [
    ("a claim, before it is read", "pread64", 40),
    ("claimed, before a connection", "connect", 8),
    ("connected, before a request or an answer of the API", "sendto", 60),
    ("sent, before an answer or a request to the API", "recvfrom", 60),
    ("answered, before the result is written", "pwrite64", 60),
    ("the result written, before it is durable", "fdatasync", 8),
    ("the result durable, before the dispatcher or the API knows", "write", 8),
]
POSTGRES_POINTS = [
    ("claimed, before a connection", "connect", 12),
    ("before a statement, a request or an answer of the API is sent", "sendto", 200),
    ("before a result, an answer or a request to the API is read", "recvfrom", 200),
    ("the result durable, before the dispatcher or the API knows", "write", 8),
]


async def main():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print("SEED", seed)
    draws = random.Random(seed)
    cluster = Cluster() if os.environ.get("STORE") == "postgres" else None
    dispatcher, receiver = Dispatcher(cluster=cluster), Receiver()
    await receiver.start()
    await dispatcher.start()
    try:
        status, endpoint = await dispatcher.call(
            "POST", "/v1/applications/default/endpoints", {"url": receiver.url()})
        assert status == 201, endpoint
        dispatcher.kill()
        accepted, kills = 0, []
        for point, call, most in (POSTGRES_POINTS if cluster else POINTS) * ROUNDS:
            number = draws.randint(1, most)
            killed = False
            under = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                     "-e", f"inject={call}:signal=KILL:when={number}"]
            try:
                await dispatcher.start(under)
            except RuntimeError:  # It was killed before its first answer: that is a start, too.
                pass
            for _ in range(BATCHES):
                sender = Sender(dispatcher, COUNT, first=accepted)
                accepted += COUNT
                sending = asyncio.create_task(sender.run())
                if await wait_for(lambda: dispatcher.process.poll() is not None
                                  or len(receiver.counts) == accepted):
                    killed = await wait_for(lambda: dispatcher.process.poll() is not None, 0.2)
                if killed:
                    break
            assert killed, f"it was not killed at {call} {number}: {point}"
            before = len(receiver.order)
            await dispatcher.start()
            await asyncio.wait_for(sending, 60)
            kills.append((before, len(receiver.order)))
            ids = sender.ids.values()
            assert await wait_for(lambda: set(ids) <= receiver.counts.keys()), \
                f"lost at {call} {number} ({point}): {set(ids) - receiver.counts.keys()}"
            dispatcher.kill()
            kills.append((len(receiver.order), len(receiver.order)))
            print(f"{call} {number}: killed, {accepted} of {accepted} delivered ({point})")
        duplicates = check_duplicates(receiver.order, kills)
        print(f"accepted {accepted}, delivered {len(receiver.counts)}, lost 0, "
              f"duplicates {duplicates}")
        assert len(receiver.counts) == accepted
    finally:
        dispatcher.kill()
        dispatcher.stop()
        if cluster:
            cluster.stop()


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
