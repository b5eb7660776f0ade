"""Spans of the real dispatcher, as a real collector reads them: of requests to the API, and below
them of each attempt, also after a kill, a restart and a redrive; and the keys of `tracing`."""

import asyncio
import json
import signal
import subprocess

from collector import Collector, install
from dispatcher_process import DAMPER, Dispatcher, Receiver, wait_for

APPLICATION = "/v1/applications/default"
SERVER, CLIENT = 2, 3
TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"traceparent: 00-{TRACE}-{SPAN}-01\r\n"
SEND = "POST /v1/applications/{application}/messages"
TOKEN = "token-0123456789abcdef"
BAD = {"collector": ["nonsense", "ftp://127.0.0.1"], "service_name": ["''", "x" * 257],
       "sampling": ["101%", "-1%"], "failures_per_second": ["-1", "100001"],
       "timeout": ["1ms", "2m"], "interval": ["1ms", "2m"], "max_batch_size": ["0", "10001"],
       "max_queue_size": ["15", "1000001"], "sample": ["1%"]}


def tracing(port, more="interval: 10ms", sampling="100%"):
    return (f'tracing: {{ collector: "http://127.0.0.1:{port}", service_name: hooks, '
            f"sampling: {sampling}, {more} }}\n")


async def metric(dispatcher, name):
    _, text = await dispatcher.call("GET", "/metrics")
    return sum(float(line.split()[-1]) for line in text.decode().splitlines()
               if line.startswith((name + " ", name + "{")))


async def exported(dispatcher, collector, holds):
    """The spans, once they are such; health checks of the test are left out."""
    spans = []
    for _ in range(200):
        if await metric(dispatcher, "damper_trace_queued_spans") == 0:
            spans = [span for span in collector.spans() if span["name"] != "GET /healthz"]
            if holds(spans):
                return spans
        await asyncio.sleep(0.1)
    raise AssertionError(spans)


def attempts(spans):
    return [span for span in spans if span["kind"] == CLIENT]


def check_spans(spans):
    for span in spans:
        assert (span["service"], span["scope"]) == ("hooks", "damper"), span
        assert int(span["start"]) <= int(span["end"]), span
    assert "secret" not in json.dumps(spans), spans


async def attempts_are_below_their_request():
    collector = Collector()
    dispatcher = Dispatcher(tracing(collector.port))
    status = [503]
    receiver = Receiver(lambda path, count: status[0])
    await receiver.start()
    await dispatcher.start()
    try:
        _, endpoint = await dispatcher.call(
            "POST", APPLICATION + "/endpoints",
            {"url": receiver.url("/hook-secret?key=secret"), "retries": ["2s"]})
        code, message = await dispatcher.call("POST", APPLICATION + "/messages",
                                              {"type": "a", "payload": {"n": "secret"}}, PARENT)
        assert code == 202
        before = await exported(dispatcher, collector, lambda all: len(attempts(all)) == 1)
        dispatcher.kill()
        await dispatcher.start()  # The last retry: then it is dead.
        await exported(dispatcher, collector, lambda all: len(attempts(all)) == 2)
        status[0] = 200
        code, answer = await dispatcher.call("POST", APPLICATION + "/redrives", {})
        assert (code, answer["total"]) == (202, 1), (code, answer)
        spans = await exported(dispatcher, collector, lambda all: len(attempts(all)) == 3)
        check_spans(spans)
        assert [span for span in spans if span in before] == before
        sent = [span for span in spans if span["name"] == SEND]
        assert len(sent) == 1
        assert (sent[0]["kind"], sent[0]["trace"], sent[0]["parent"]) == (SERVER, TRACE, SPAN)
        assert int(sent[0]["attributes"]["http.response.status_code"]) == 202
        found = attempts(spans)
        assert [f"00-{span['trace']}-{span['span']}-01" for span in found] == receiver.traces
        for span in found:
            assert (span["trace"], span["parent"]) == (TRACE, sent[0]["span"]), span
            assert span["name"] == "POST webhook"
            assert span["attributes"]["damper.endpoint"] == endpoint["id"]
            assert span["attributes"]["damper.message"] == message["id"]
        facts = ("damper.attempt", "damper.attempt.kind", "damper.redriven", "damper.verdict",
                 "http.response.status_code")
        assert [[str(span["attributes"][fact]) for fact in facts] for span in found] == [
            ["1", "first", "False", "none", "503"],
            ["2", "retry", "False", "attempts_spent", "503"],
            ["1", "first", "True", "success", "200"]], found
        assert [span["status"] for span in found] == [2, 2, 0]
    finally:
        dispatcher.stop()
        collector.stop()


async def a_stranger_decides_nothing():
    collector = Collector()
    dispatcher = Dispatcher(tracing(collector.port))
    tokens = dispatcher.directory / "tokens"
    tokens.write_text(f"{TOKEN} * send,read,manage\n")
    dispatcher.config.write_text(dispatcher.config.read_text() + f"token_file: {tokens}\n")
    await dispatcher.start()
    try:
        message = {"type": "a", "payload": {}}
        known = PARENT + f"Authorization: Bearer {TOKEN}\r\n"
        guess = PARENT + "Authorization: Bearer guessed-0123456789\r\n"
        for headers, expected in ((PARENT, 401), (guess, 401), (known, 202)):
            code, _ = await dispatcher.call("POST", APPLICATION + "/messages", message, headers)
            assert code == expected
        spans = await exported(dispatcher, collector, lambda all: len(all) == 3)
        check_spans(spans)
        assert [(span["parent"], span["links"]) for span in spans] == [
            ("", [TRACE]), ("", [TRACE]), (SPAN, [])], spans
        assert len({span["trace"] for span in spans}) == 3
    finally:
        dispatcher.stop()
        collector.stop()


async def a_stop_exports_what_waits_and_a_hang_up_names_the_keys():
    collector = Collector()
    dispatcher = Dispatcher(tracing(collector.port, "interval: 1m", sampling="0%"))
    receiver = Receiver(lambda path, count: 500)
    await receiver.start()
    await dispatcher.start()
    try:
        # What fails is exported although it is not sampled.
        await dispatcher.call("POST", APPLICATION + "/endpoints", {"url": receiver.url()})
        await dispatcher.call("POST", APPLICATION + "/messages", {"type": "a", "payload": {}})
        assert await wait_for(lambda: "outcome=" in dispatcher.text()), dispatcher.text()

        config = dispatcher.config.read_text()
        for new, expected in (
                (config.replace("sampling: 0%", "sampling: 7%"), "tracing.sampling"),
                (config[:config.index("tracing:")], "tracing"), (config, "no")):
            dispatcher.config.write_text(new)
            dispatcher.process.send_signal(signal.SIGHUP)
            line = f" reloaded restart_needed={expected}\n"
            assert await wait_for(lambda text=line: text in dispatcher.text()), dispatcher.text()

        assert collector.bodies == []
        dispatcher.process.terminate()
        assert dispatcher.process.wait(30) == 0
        spans = collector.spans()
        check_spans(spans)
        assert len(spans) == len(attempts(spans)) == 1, spans
        assert receiver.traces == [f"00-{spans[0]['trace']}-{spans[0]['span']}-00"]
    finally:
        dispatcher.stop()
        collector.stop()


def bad_input_is_one_sentence_with_its_place():
    dispatcher = Dispatcher()
    text = dispatcher.config.read_text()
    try:
        for key, values in BAD.items():
            for value in values:
                dispatcher.config.write_text(f"{text}tracing:\n  {key}: {value}\n")
                ran = subprocess.run([DAMPER, "webhooks", "serve", "--validate", "-c",
                                      str(dispatcher.config)], capture_output=True, text=True,
                                     timeout=30, check=False)
                assert ran.returncode == 2, (key, value, ran)
                column = 3 if key == "sample" else 5 + len(key)
                assert f"{dispatcher.config}:5:{column}: " in ran.stderr, (key, value, ran.stderr)
                assert key in ran.stderr and ran.stderr.count("\n") == 1, (key, value, ran.stderr)
    finally:
        dispatcher.stop()


async def main():
    await attempts_are_below_their_request()
    await a_stranger_decides_nothing()
    await a_stop_exports_what_waits_and_a_hang_up_names_the_keys()
    print("ok")


bad_input_is_one_sentence_with_its_place()
install()
asyncio.run(main())
