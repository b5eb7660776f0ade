"""The secrets of endpoints are encrypted in the store, by a key file that can be rotated."""

import asyncio
import json
import subprocess

from dispatcher_process import DAMPER, Dispatcher, Receiver, wait_for

ENDPOINTS = "/v1/applications/default/endpoints"


async def stopped(dispatcher):
    """What the process says if it does not start."""
    try:
        await dispatcher.start()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it has started")


def files_with(folder, text):
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]


async def main():
    dispatcher, receiver = Dispatcher("log_attempts: all\n"), Receiver()
    await receiver.start()
    await dispatcher.start()
    try:
        _, endpoint = await dispatcher.call("POST", ENDPOINTS, {
            "url": receiver.url(), "headers": {"Authorization": "Bearer in-a-header"}})
        secret = endpoint["secret"]
        one = f"{ENDPOINTS}/{endpoint['id']}"
        for target in (ENDPOINTS, one, "/v1/stats"):
            _, answer = await dispatcher.call("GET", target)
            assert secret not in json.dumps(answer), f"{target} has the secret"
        _, answer = await dispatcher.call("GET", one + "/secret")
        assert answer["secret"] == secret, "the documented answer"
        _, answer = await dispatcher.call("POST", ENDPOINTS, {
            "url": receiver.url(), "secret": secret, "unknown": 1})
        assert secret not in json.dumps(answer), answer
        await dispatcher.call("POST", one + "/test")
        assert await wait_for(lambda: receiver.counts)
        dispatcher.process.terminate()
        dispatcher.process.wait()
        bare = secret.removeprefix("whsec_")
        for text in (bare, "in-a-header"):
            found = files_with(dispatcher.directory, text)
            assert not found, f"{found} have the text of a secret"

        key = dispatcher.directory / "webhooks.db.key"
        assert key.stat().st_mode & 0o777 == 0o600, oct(key.stat().st_mode)
        old = key.read_text()

        key.unlink()
        said = await stopped(dispatcher)
        assert "webhooks.db.key\" does not exist" in said and said.count("\n") <= 60, said
        assert not key.exists(), "a new key was made for a store that has another"

        new = subprocess.run([DAMPER, "webhooks", "key"], capture_output=True, text=True,
                             check=True).stdout
        key.write_text(new)
        said = await stopped(dispatcher)
        assert "encrypted with a key that the key file does not have" in said, said

        key.write_text(new + old)  # the rotation: new key first
        await dispatcher.start()
        assert " endpoints_resealed count=1" in dispatcher.text(), dispatcher.text()
        dispatcher.kill()
        key.write_text(new)  # the old one is not needed any more
        await dispatcher.start()
        _, answer = await dispatcher.call("GET", one + "/secret")
        assert answer["secret"] == secret
    finally:
        dispatcher.stop()
    print("ok")


asyncio.run(main())
