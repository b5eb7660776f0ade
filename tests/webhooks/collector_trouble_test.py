"""A collector that is away, silent, refusing, overloaded or endless harms no delivery of the real
dispatcher: spans are dropped and counted, and it stops in time."""

import asyncio
import contextlib
import time

from dispatcher_process import SLOWNESS, Dispatcher, Receiver, Sender, free_port, wait_for

MESSAGES = 300


def head(status, length, more=""):
    return f"HTTP/1.1 {status} X\r\n{more}Content-Length: {length}\r\n\r\n".encode()


TROUBLES = {
    "away": None,
    "silent": [],
    "refuses": [head(400, 2), b"no"],
    "overloaded": [head(429, 0, "Retry-After: 60\r\n")],
    "endless": [head(200, 1 << 40)] + [b"x" * 65536] * 64,
    "no HTTP": [b"\0\xff" * 1000],
}


async def metrics(dispatcher):
    _, text = await dispatcher.call("GET", "/metrics")
    totals = {}
    for line in text.decode().splitlines():
        if not line.startswith("#"):
            name = line.split("{")[0].split(" ")[0]
            totals[name] = totals.get(name, 0) + float(line.split()[-1])
    return totals


async def run_with(answer):
    async def serve(reader, writer):
        with contextlib.suppress(ConnectionError):
            while await reader.read(65536):
                for piece in answer:
                    writer.write(piece)
                    await writer.drain()
        writer.close()

    port = free_port()
    server = None if answer is None else await asyncio.start_server(serve, "127.0.0.1", port)
    receiver = Receiver()
    await receiver.start()
    dispatcher = Dispatcher(f"""tracing:
  collector: "http://127.0.0.1:{port}"
  sampling: 100%
  interval: 10ms
  timeout: 100ms
  max_queue_size: 64
  max_batch_size: 16
""")
    await dispatcher.start()
    try:
        await dispatcher.call("POST", "/v1/applications/default/endpoints",
                              {"url": receiver.url()})
        await Sender(dispatcher, MESSAGES).run()
        assert await wait_for(lambda: len(receiver.counts) == MESSAGES), dispatcher.text()
        assert set(receiver.counts.values()) == {1}, "each was delivered once"
        for _ in range(int(500 * SLOWNESS)):
            totals = await metrics(dispatcher)
            counted = (totals["damper_trace_spans_exported_total"]
                       + totals["damper_trace_spans_dropped_total"]
                       + totals["damper_trace_queued_spans"])
            if counted >= 2 * MESSAGES:  # One of the request, one of its attempt.
                break
            await asyncio.sleep(0.02)
        assert counted >= 2 * MESSAGES, totals
        assert totals["damper_trace_spans_exported_total"] == 0, totals
        assert totals["damper_trace_spans_dropped_total"] > 0, totals
        assert totals["damper_trace_queued_spans"] <= 2 * 64, totals
        assert totals["damper_webhooks_delivered_total"] == MESSAGES, totals
        begun = time.monotonic()
        dispatcher.process.terminate()
        assert await asyncio.to_thread(dispatcher.process.wait, 30) == 0
        assert time.monotonic() - begun < 4 * SLOWNESS
    finally:
        dispatcher.stop()
        if server:
            server.close()


async def main():
    for name, answer in TROUBLES.items():
        print(name, flush=True)
        await run_with(answer)
    print("ok")


asyncio.run(main())
