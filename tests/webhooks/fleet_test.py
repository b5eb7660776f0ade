"""Two dispatchers share a PostgreSQL database, and one of them is killed with SIGKILL: nothing that
either accepted is lost, and the other one delivers it within the lease.

COUNT messages (default 600) through KILLS kills (default 2), of either dispatcher. A message that
is delivered twice was in flight at a kill. Before, kill switches of both are checked.
"""

import asyncio
import os
import random
import sys
import time

from crash_test import UNSETTLED, check_duplicates
from dispatcher_process import SLOWNESS, Dispatcher, Receiver, Sender, wait_for
from postgres_cluster import Cluster

COUNT = int(os.environ.get("COUNT", "600"))
KILLS = int(os.environ.get("KILLS", "2"))
TAKEOVER = 15.0 * SLOWNESS  # s


async def create(dispatcher, target, body):
    status, created = await dispatcher.call("POST", target, body)
    assert status == 201, created
    return created


async def check_configuration(fleet, url):
    """What one dispatcher has acknowledged is in force for a message that the other one gets
    right after it."""
    for i in range(10):
        writer, reader = fleet[i % 2], fleet[1 - i % 2]
        path = f"/v1/applications/app-{i}"
        await create(writer, "/v1/applications", {"name": f"app-{i}"})
        await create(reader, path + "/endpoints", {"url": url, "types": ["other"]})
        endpoint = await create(writer, path + "/endpoints", {"url": url})
        for dispatcher, disabled, count in ((reader, False, 1), (reader, True, 0)):
            if disabled:
                status, _ = await writer.call("PATCH", path + "/endpoints/" + endpoint["id"],
                                              {"disabled": True})
                assert status == 200, status
            status, answer = await dispatcher.call("POST", path + "/messages",
                                                   {"type": "test", "payload": {}})
            assert (status, answer["endpoints"]) == (202, count), (i, status, answer)
        status, _ = await writer.call("DELETE", path)
        assert status == 204, status


async def check_holds(fleet):
    """Holds that are set on both dispatchers at once, of different scopes, hold on both."""
    application = "/v1/applications/default/switches"
    order = {"off": True, "reason": "a test"}

    async def held(dispatcher):
        _, switches = await dispatcher.call("GET", "/v1/switches")
        return {(one["name"], one["application"]) for one in switches["data"] if one["off"]}

    async def all_see(expected):
        for _ in range(1000):
            seen = [await held(dispatcher) for dispatcher in fleet]
            if all(one == expected for one in seen):
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"holds are {seen}, not {expected}")

    answers = await asyncio.gather(
        fleet[0].call("PUT", "/v1/switches/retries", order),
        fleet[1].call("PUT", application + "/retries", order),
        fleet[1].call("PUT", application + "/deliveries", order))
    assert [status for status, _ in answers] == [200] * 3, answers
    await all_see({("retries", None), ("retries", "default"), ("deliveries", "default")})
    # Each is ended by the dispatcher that did not set it.
    answers = await asyncio.gather(
        fleet[1].call("PUT", "/v1/switches/retries", {"off": False}),
        fleet[0].call("PUT", application + "/retries", {"off": False}),
        fleet[0].call("PUT", application + "/deliveries", {"off": False}))
    assert [status for status, _ in answers] == [200] * 3, answers
    await all_see(set())


async def main():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print("SEED", seed)
    draws = random.Random(seed)
    cluster = Cluster()
    fleet = [Dispatcher(cluster=cluster) for _ in range(2)]
    receiver = Receiver()
    await receiver.start()
    try:
        await asyncio.gather(*(dispatcher.start() for dispatcher in fleet))
        other = Receiver()
        await other.start()
        await check_configuration(fleet, other.url())
        await create(fleet[0], "/v1/applications/default/endpoints", {"url": receiver.url()})
        for _ in range(5):
            await check_holds(fleet)
        senders = [Sender(dispatcher, COUNT) for dispatcher in fleet]
        for half, sender in enumerate(senders):
            sender.waiting = list(range(half, COUNT, 2))
        sending = [asyncio.create_task(sender.run()) for sender in senders]

        def accepted():
            return {key for sender in senders for key in sender.ids.values()}

        kills = []  # how many requests the receiver had at each, and after the takeover
        slowest = 0.0
        for kill in range(KILLS):
            goal = (kill + draws.random()) * COUNT / KILLS
            assert await wait_for(lambda: len(accepted()) >= goal), "no progress: " + \
                fleet[0].text() + fleet[1].text()
            victim = draws.choice(fleet)
            victim.kill()
            start = time.monotonic()
            before = len(receiver.order)
            left = accepted()
            assert await wait_for(lambda: left <= receiver.counts.keys(), 90), \
                f"not taken over: {len(left - receiver.counts.keys())} of {len(left)}"
            slowest = max(slowest, time.monotonic() - start)
            await victim.start()
            kills.append((before, len(receiver.order)))
        await asyncio.wait_for(asyncio.gather(*sending), 300)
        ids = accepted()
        assert len(ids) == COUNT, f"{len(ids)} ids for {COUNT} messages"
        assert await wait_for(lambda: ids <= receiver.counts.keys()), \
            f"lost: {len(ids - receiver.counts.keys())} of {COUNT}"
        assert receiver.counts.keys() <= ids, "delivered what was never accepted"
        assert slowest <= TAKEOVER, f"taken over after {slowest:.1f} s"
        duplicates = check_duplicates(receiver.order, kills, 2 * UNSETTLED)
        print(f"accepted {COUNT}, delivered {len(receiver.counts)}, lost 0, "
              f"duplicates {duplicates}, kills {KILLS}, slowest takeover {slowest:.1f} s")
    finally:
        for dispatcher in fleet:
            dispatcher.stop()
        cluster.stop()


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
