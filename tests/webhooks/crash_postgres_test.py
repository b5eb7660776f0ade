"""PostgreSQL is killed with SIGKILL and started again, and its connections are terminated, while a
dispatcher works: nothing that was accepted is lost.

COUNT messages (default 600) through FAULTS faults (default 2), a crash of the server and a
termination of all connections in turn. A message that is delivered twice was in flight at a crash:
the server may forget claims that it had not synced, and the result of such a delivery is dropped.
"""

import asyncio
import os
import random
import sys

from crash_test import check_duplicates
from dispatcher_process import Dispatcher, Receiver, Sender, wait_for
from postgres_cluster import Cluster

COUNT = int(os.environ.get("COUNT", "600"))
FAULTS = int(os.environ.get("FAULTS", "2"))


async def main():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print("SEED", seed)
    draws = random.Random(seed)
    cluster = Cluster()
    dispatcher, receiver = Dispatcher(cluster=cluster), Receiver()
    await receiver.start()
    await dispatcher.start()
    try:
        status, endpoint = await dispatcher.call(
            "POST", "/v1/applications/default/endpoints", {"url": receiver.url()})
        assert status == 201, endpoint
        sender = Sender(dispatcher, COUNT)
        sending = asyncio.create_task(sender.run())
        crashes, terminated = [], 0
        for fault in range(FAULTS):
            goal = (fault + draws.random()) * COUNT / FAULTS
            by_accepted = draws.random() < 0.5
            assert await wait_for(lambda: len(sender.ids if by_accepted else receiver.counts)
                                  >= goal), "no progress: " + dispatcher.text()
            if fault % 2 == 0:
                await asyncio.to_thread(cluster.crash)
                before = len(receiver.order)
                await asyncio.to_thread(cluster.start)
                crashes.append((before, len(receiver.order)))
            else:
                assert await wait_for(lambda: cluster.connections() >= 3), \
                    "the dispatcher does not connect again: " + dispatcher.text()
                terminated += await asyncio.to_thread(cluster.terminate_connections)
        await asyncio.wait_for(sending, 300)
        ids = set(sender.ids.values())
        assert len(ids) == COUNT, f"{len(ids)} ids for {COUNT} messages"
        assert await wait_for(lambda: ids <= receiver.counts.keys()), \
            f"lost: {len(ids - receiver.counts.keys())} of {COUNT}: {dispatcher.text()}"
        assert receiver.counts.keys() <= ids, "delivered what was never accepted"
        rows = "SELECT count(*) FROM damper_webhooks.delivery"
        assert await wait_for(lambda: cluster.run(rows).strip() == "0"), \
            f"{cluster.run(rows).strip()} deliveries are left"
        duplicates = check_duplicates(receiver.order, crashes)
        print(f"accepted {COUNT} ({sender.repeated} repeated), delivered {len(receiver.counts)}, "
              f"lost 0, duplicates {duplicates}, crashes {len(crashes)}, "
              f"connections terminated {terminated}")
    finally:
        dispatcher.stop()
        cluster.stop()


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
