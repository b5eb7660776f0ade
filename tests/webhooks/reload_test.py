"""SIGHUP of the real dispatcher: tokens, retries and the log change; a bad file changes nothing."""

import asyncio
import signal

from dispatcher_process import Dispatcher, Receiver, wait_for

ENDPOINTS = "/v1/applications/default/endpoints"
MESSAGES = "/v1/applications/default/messages"
OLD, NEW = "old-token-0123456789", "new-token-0123456789"


def bearer(token):
    return f"Authorization: Bearer {token}\r\n"


async def main():
    dispatcher, receiver = Dispatcher(), Receiver(lambda path, count: 503 if count == 1 else 200)
    tokens = dispatcher.directory / "tokens"
    config = dispatcher.config.read_text() + f"token_file: {tokens}\n"

    def write(more):
        dispatcher.config.write_text(config + more)

    async def hang_up(expected):
        before = dispatcher.text().count(expected)
        dispatcher.process.send_signal(signal.SIGHUP)
        assert await wait_for(lambda: dispatcher.text().count(expected) > before), dispatcher.text()

    async def status(token):
        return (await dispatcher.call("GET", MESSAGES, headers=bearer(token)))[0]

    tokens.write_text(f"{OLD} * send,read,manage\n")
    write("delivery: { retries: [1h] }\n")
    await receiver.start()
    await dispatcher.start()
    try:
        await dispatcher.call("POST", ENDPOINTS, {"url": receiver.url()}, bearer(OLD))
        await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {}}, bearer(OLD))
        assert await wait_for(lambda: "next=" in dispatcher.text()), dispatcher.text()
        assert (await status(OLD), await status(NEW)) == (200, 401)

        tokens.write_text(f"{NEW} * send,read,manage\n")
        await hang_up(" reloaded restart_needed=no\n")
        assert (await status(OLD), await status(NEW)) == (401, 200)

        # A bad file of tokens, a bad configuration: what was valid stays.
        tokens.write_text("short * send\n")
        await hang_up(" reload_failed text=")
        write("delivery: { retries: [nonsense] }\n")
        await hang_up("must be durations")
        assert await status(NEW) == 200

        # The next attempts follow the new schedule; what needs a restart is named.
        tokens.write_text(f"{NEW} * send,read,manage\n")
        write("delivery: { retries: [10ms], max_in_flight: 100 }\nmax_payload: 64KiB\n"
              "log_attempts: all\n")
        await hang_up(" reloaded restart_needed=max_payload,delivery.max_in_flight\n")
        _, message = await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {}},
                                           bearer(NEW))
        assert await wait_for(lambda: receiver.counts.get(message["id"]) == 2), dispatcher.text()
        assert await wait_for(lambda: "outcome=success" in dispatcher.text()), dispatcher.text()

        dispatcher.process.terminate()
        assert dispatcher.process.wait(30) == 0
    finally:
        dispatcher.stop()
    print("ok")


asyncio.run(main())
