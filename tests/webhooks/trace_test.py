"""traceparent of a request to the API: it survives a restart, every attempt has a span of its own,
and the log has what was sent."""

import asyncio
import re

from dispatcher_process import Dispatcher, Receiver, wait_for

ENDPOINTS = "/v1/applications/default/endpoints"
MESSAGES = "/v1/applications/default/messages"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


async def main():
    dispatcher = Dispatcher("log_attempts: all\n")
    is_open = False
    receiver = Receiver(lambda path, count: 200 if is_open else 503)
    await receiver.start()
    await dispatcher.start()
    try:
        await dispatcher.call("POST", ENDPOINTS, {"url": receiver.url(), "retries": ["2s"] * 9})
        for traceparent in (PARENT, "nonsense"):
            status, _ = await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {}},
                                              f"traceparent: {traceparent}\r\n")
            assert status == 202
        assert await wait_for(lambda: len(receiver.order) == 2), dispatcher.text()
        assert await wait_for(lambda: dispatcher.text().count(" first_attempt ") == 2)
        dispatcher.kill()
        is_open = True
        await dispatcher.start()
        assert await wait_for(lambda: dispatcher.text().count("outcome=success") == 2), (
            dispatcher.text())
        spans = re.findall(rf" traceparent=00-{TRACE}-([0-9a-f]{{16}})-01\n", dispatcher.text())
        assert len(spans) == len(set(spans)) == 2, dispatcher.text()
        assert dispatcher.text().count("traceparent") == 2, "the other message has no trace"
        assert [t for t in receiver.traces if t] == [f"00-{TRACE}-{span}-01" for span in spans]
    finally:
        dispatcher.stop()
    print("ok")


asyncio.run(main())
