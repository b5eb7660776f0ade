"""Metrics, the log's lines, operational webhooks and switches of the real dispatcher."""

import asyncio
import re
import shutil
import subprocess
import urllib.request

from dispatcher_process import DAMPER, Dispatcher, Receiver, wait_for

ENDPOINTS = "/v1/applications/default/endpoints"
MESSAGES = "/v1/applications/default/messages"
CONFIG = """
delivery: { retries: [10ms, 10ms, 10ms], jitter: 10% }
circuit_breaker: { consecutive_failures: 3, open_base: 100ms, open_cap: 100ms, ramp: 10ms }
"""


def metrics(dispatcher):
    with urllib.request.urlopen(f"http://127.0.0.1:{dispatcher.port}/metrics") as page:
        return page.read().decode()


def value(text, series):
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    assert found, f"{series} is not in\n{text}"
    return float(found.group(1))


async def main():
    good = False
    dispatcher, receiver = Dispatcher(CONFIG), Receiver(
        lambda path, count: 200 if good or path == "/ops" else 503)
    await receiver.start()
    await dispatcher.start()
    try:
        _, failing = await dispatcher.call("POST", ENDPOINTS, {"url": receiver.url("/hook")})
        _, ops = await dispatcher.call(
            "POST", ENDPOINTS, {"url": receiver.url("/ops"), "types": ["damper.*"]})
        for _ in range(5):
            status, _ = await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {}})
            assert status == 202

        async def told():
            _, page = await dispatcher.call("GET", MESSAGES)
            return {message["type"] for message in page["data"]}
        for _ in range(500):
            if "damper.endpoint.failing" in await told():
                break
            await asyncio.sleep(0.02)
        assert "damper.endpoint.failing" in await told(), dispatcher.text()
        page = await asyncio.to_thread(metrics, dispatcher)
        assert value(page, 'damper_webhooks_breakers{state="closed"}') >= 1
        assert value(page, "damper_webhooks_attempt_seconds_count") >= 3
        good = True
        for _ in range(1000):
            if "damper.endpoint.recovered" in await told():
                break
            await asyncio.sleep(0.02)
            await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {}})
        assert "damper.endpoint.recovered" in await told(), dispatcher.text()
        assert value(await asyncio.to_thread(metrics, dispatcher),
                     "damper_webhooks_probes_total") >= 1

        # The ramp after the recovery lets retries pass one after the other.
        assert await wait_for(lambda: "retry_attempt" in dispatcher.text()), dispatcher.text()
        status, _ = await dispatcher.call("PUT", f"{ENDPOINTS}/{failing['id']}/switches/deliveries",
                                          {"off": True, "reason": "INC-7"})
        assert status == 200
        page = await asyncio.to_thread(metrics, dispatcher)
        assert value(page, 'damper_webhooks_held{scope="endpoint",what="deliveries"}') == 1
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=page, text=True,
                                     capture_output=True, check=False)
            assert checked.returncode == 0 and not checked.stderr, checked.stderr

        # The article's command shows the arrivals of each second.
        log = dispatcher.directory / "log"
        seconds = subprocess.run(
            f"grep 'retry_attempt' {log} | awk '{{print $1}}' | uniq -c", shell=True, text=True,
            capture_output=True, check=True).stdout.splitlines()
        assert seconds, log.read_text()
        for line in seconds:
            assert re.fullmatch(r"\s*\d+ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line), line
        retries = sum(" retry_attempt " in line for line in log.read_text().splitlines())
        assert sum(int(line.split()[0]) for line in seconds) == retries > 0
        assert ' switch_flipped endpoint=' in log.read_text()

        dispatcher.kill()
        await dispatcher.start()
        shown = subprocess.run(
            [DAMPER, "webhooks", "--server", f"http://127.0.0.1:{dispatcher.port}", "switches"],
            text=True, capture_output=True, check=True).stdout
        assert shown == f"OFF: deliveries of {failing['id']}, until it is turned on: INC-7\n", shown
        before = receiver.counts.copy()
        _, message = await dispatcher.call("POST", MESSAGES, {"type": "a", "payload": {}})
        await asyncio.sleep(0.2)
        assert message["id"] not in receiver.counts.keys() - before.keys(), "it was held"
        await dispatcher.call("PUT", f"{ENDPOINTS}/{failing['id']}/switches/deliveries",
                              {"off": False})
        assert await wait_for(lambda: message["id"] in receiver.counts), dispatcher.text()
    finally:
        dispatcher.stop()
    print("ok")


asyncio.run(main())
