"""Kills the dispatcher with SIGKILL in the middle of its work: nothing that it accepted is lost.

COUNT messages (default 4,000) through KILLS kills (default 8). Each message is accepted once, by
its idempotency key, and delivered at least once. A message that is delivered twice was in flight
at a kill: it is among the last that its endpoint received before one. STORE=postgres: the same with
PostgreSQL, where the next dispatcher waits for the end of the lease of the one before it.
"""

import asyncio
import os
import random
import sys

from dispatcher_process import Dispatcher, Receiver, Sender, wait_for
from postgres_cluster import Cluster

COUNT = int(os.environ.get("COUNT", "4000"))
KILLS = int(os.environ.get("KILLS", "8"))
UNSETTLED = 256  # results of an endpoint that a dispatcher has not written: EndpointWorker


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
        sender = Sender(dispatcher, COUNT)
        sending = asyncio.create_task(sender.run())
        kills = []  # how many requests the receiver had at each, and after the next start
        for kill in range(KILLS):
            # At a random count of accepted or of delivered messages of this kill's share.
            goal = (kill + draws.random()) * COUNT / KILLS
            by_accepted = draws.random() < 0.5
            assert await wait_for(lambda: len(sender.ids if by_accepted else receiver.counts)
                                  >= goal), "no progress: " + dispatcher.text()
            dispatcher.kill()
            before = len(receiver.order)
            await dispatcher.start()  # The receiver reads what the killed one had sent.
            kills.append((before, len(receiver.order)))
        await asyncio.wait_for(sending, 300)
        ids = set(sender.ids.values())
        assert len(ids) == COUNT, f"{len(ids)} ids for {COUNT} messages"
        assert await wait_for(lambda: ids <= receiver.counts.keys()), \
            f"lost: {len(ids - receiver.counts.keys())} of {COUNT}"
        assert receiver.counts.keys() <= ids, "delivered what was never accepted"
        _, stats = await dispatcher.call("GET", "/v1/stats")
        duplicates = check_duplicates(receiver.order, kills)
        print(f"accepted {COUNT} ({sender.repeated} repeated), delivered {len(receiver.counts)}, "
              f"lost 0, duplicates {duplicates}, kills {len(kills)}, stats {stats}")
    finally:
        dispatcher.stop()
        if cluster:
            cluster.stop()


def check_duplicates(order, kills, unsettled=UNSETTLED):
    first = {}
    duplicates = 0
    for position, key in enumerate(order):
        if key in first:
            duplicates += 1
            assert any(first[key] < after and before <= position
                       and before - first[key] <= unsettled for before, after in kills), \
                f"{key} was delivered twice and not in flight: {first[key]}, {position}, {kills}"
        first[key] = position
    return duplicates


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
