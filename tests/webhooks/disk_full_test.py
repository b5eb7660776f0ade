"""The disk of the real dispatcher is full: no message is acknowledged, deliveries go on, and when
there is space again everything does. Nothing that was acknowledged is lost."""

import asyncio

from dispatcher_process import Receiver, wait_for
from faulty import FaultyDispatcher

ENDPOINTS = "/v1/applications/default/endpoints"
MESSAGES = "/v1/applications/default/messages"
CONFIG = "delivery: { retries: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s], jitter: 0% }\n"


async def main():
    open_for_business = False
    dispatcher = FaultyDispatcher(CONFIG)
    receiver = Receiver(lambda path, count: 200 if open_for_business else 503)
    await receiver.start()
    await dispatcher.start()

    async def send():
        return await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {"n": 1}})

    try:
        status, _ = await dispatcher.call("POST", ENDPOINTS, {"url": receiver.url()})
        assert status == 201
        accepted = []
        for _ in range(5):
            status, answer = await send()
            assert status == 202, answer
            accepted.append(answer["id"])
        assert await wait_for(lambda: all(i in receiver.counts for i in accepted))

        dispatcher.set(full=True)
        open_for_business = True
        arrived = sum(receiver.counts.values())
        for _ in range(5):
            status, answer = await send()
            assert status == 503, (status, answer)
        status, answer = await dispatcher.call("GET", MESSAGES)
        assert status == 200 and len(answer["data"]) == 5, answer
        # Those that wait are sent, though their results cannot be written.
        assert await wait_for(lambda: sum(receiver.counts.values()) > arrived), dispatcher.text()
        assert await wait_for(lambda: " store_error " in dispatcher.text()), dispatcher.text()
        assert dispatcher.process.poll() is None

        dispatcher.set(full=False)
        status, answer = await send()
        assert status == 202, answer
        accepted.append(answer["id"])

        async def waiting():
            return (await dispatcher.call("GET", "/v1/stats"))[1]
        for _ in range(1500):
            stats = await waiting()
            if stats["waiting"] == 0:
                break
            await asyncio.sleep(0.02)
        assert stats["waiting"] == 0, (stats, dispatcher.text())
        assert set(receiver.counts) == set(accepted), "what was refused was not sent"

        # A result is written once the disk has space: a restart delivers nothing again.
        counts = receiver.counts.copy()
        dispatcher.kill()
        await dispatcher.start()
        status, answer = await send()
        assert status == 202
        assert await wait_for(lambda: answer["id"] in receiver.counts), dispatcher.text()
        assert {i: receiver.counts[i] for i in counts} == counts
    finally:
        dispatcher.stop()
    print("ok")


asyncio.run(main())
