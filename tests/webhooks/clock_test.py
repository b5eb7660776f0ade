"""The wall clock jumps an hour while deliveries wait, and a restart finds an earlier clock: nothing
is lost, nothing starts before it is due by the clock, and nothing waits for longer than its delay
and the jump."""

import asyncio

from dispatcher_process import Receiver, wait_for
from faulty import FaultyDispatcher

ENDPOINTS = "/v1/applications/default/endpoints"
MESSAGES = "/v1/applications/default/messages"
HOUR = 3600


class World:
    """A dispatcher whose endpoints fail each first attempt: the retries wait."""

    def __init__(self):
        self.dispatcher = FaultyDispatcher("delivery: { retries: [30m], jitter: 0% }\n"
                                           "circuit_breaker: { consecutive_failures: off, "
                                           "minimum_volume: 1000000 }\n")
        self.receiver = Receiver(lambda path, count: 503 if count == 1 else 200)

    async def start(self):
        await self.receiver.start()
        await self.dispatcher.start()
        # Half an hour and two hours: what is due by a jump of an hour, and what is not.
        for path, delay in (("/soon", "30m"), ("/late", "2h")):
            status, answer = await self.dispatcher.call(
                "POST", ENDPOINTS, {"url": self.receiver.url(path), "retries": [delay],
                                    "types": [path[1:]]})
            assert status == 201, answer

    async def send(self, kind, count=20):
        ids = []
        for _ in range(count):
            status, answer = await self.dispatcher.call("POST", MESSAGES,
                                                        {"type": kind, "payload": {}})
            assert status == 202, answer
            ids.append(answer["id"])
        return ids

    async def arrive(self, ids, times):
        """All of them have arrived as often, and none more often."""
        counts = self.receiver.counts
        assert await wait_for(lambda: all(counts.get(i) == times for i in ids)), (
            [counts.get(i) for i in ids], self.dispatcher.text())

    async def greet(self):
        """New messages are delivered at once, whatever the clock does."""
        await self.arrive(await self.send("soon", 1) + await self.send("late", 1), 1)


async def main():
    world = World()
    await world.start()
    try:
        soon, late = await world.send("soon"), await world.send("late")
        await world.arrive(soon + late, 1)

        # Forward: what is due by the clock is sent, and only that.
        world.dispatcher.set(shift=HOUR)
        await world.arrive(soon, 2)
        await world.greet()
        await asyncio.sleep(0.5)
        await world.arrive(late, 1)

        # Back: new messages are delivered at once; what waits is not sent early.
        world.dispatcher.set(shift=0)
        again = await world.send("soon")
        await world.arrive(again, 1)
        await asyncio.sleep(0.5)
        await world.arrive(late + again, 1)

        # A restart whose clock is an hour earlier than the times in the store.
        world.dispatcher.kill()
        world.dispatcher.set(shift=-HOUR)
        await world.dispatcher.start()
        more = await world.send("soon")
        await world.arrive(more, 1)
        await asyncio.sleep(0.5)
        await world.arrive(late + again, 1)

        # The longest delay and both jumps have passed: everything was delivered, once.
        world.dispatcher.set(shift=4 * HOUR)
        await world.greet()
        await world.arrive(soon + late + again + more, 2)
        _, stats = await world.dispatcher.call("GET", "/v1/stats")
        assert stats["dead"] == 0, stats
    finally:
        world.dispatcher.stop()
    print("ok")


asyncio.run(main())
