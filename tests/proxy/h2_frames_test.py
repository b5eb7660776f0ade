#!/usr/bin/env python3
"""HTTP/2 frames, right and wrong, by section of RFC 9113 and RFC 7541: what each is answered with.

The same frames as h2spec's, with a client of our own: to a listener of HTTP/2 alone, and to one
that serves HTTP/1.1, too."""

import socket
import struct
import sys
import unittest

from proxy_process import PATIENCE, Backend, Proxy
from smuggling_test import (DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, frame,
                            literal, request)
from tunnel_test import PREFACE

PRIORITY, SETTINGS, PUSH_PROMISE, PING, WINDOW_UPDATE, CONTINUATION = 2, 4, 5, 6, 8, 9
UNKNOWN = 0x16
ACK, PADDED, PRIORITIZED = 1, 8, 0x20
NO_ERROR, PROTOCOL, FLOW_CONTROL, STREAM_CLOSED, FRAME_SIZE = 0, 1, 3, 5, 6
REFUSED, CANCEL, COMPRESSION = 7, 8, 9
# The pings that end a case. The first one's answer may overtake a reset, the second one's does not.
FIRST, LAST = b"thefirst", b"the last"
END = END_HEADERS | END_STREAM
MOST = 16384  # bytes of a frame
STREAMS = 100  # max_concurrent_streams

GET = request(method=b"GET")
POST = request()
MORE = literal(b"x-dummy", b"dummy")


def number(value):
    return struct.pack(">I", value)


def get(id=1):
    return frame(HEADERS, END, id, GET)


def post(*fields, id=1):
    return frame(HEADERS, END_HEADERS, id, request(*fields))


def setting(name, value):
    return frame(SETTINGS, 0, 0, struct.pack(">HI", name, value))


def fields(block):
    return frame(HEADERS, END, 1, block)


def ping(payload=FIRST, flags=0, id=0):
    return frame(PING, flags, id, payload)


def connection_error(*codes):
    return {("goaway", code) for code in codes}


def stream_error(*codes, id=1):
    """A server may treat it as an error of the connection (RFC 9113, 5.4.2)."""
    return {("reset", id, code) for code in codes} | connection_error(*codes)


ALIVE = {("alive",)}
ANSWER = {("answer", 1)}

PSEUDO = {b":method": b"GET", b":scheme": b"http", b":path": b"/", b":authority": b"x"}


def pseudo(without=b"", twice=b""):
    block = b"".join(literal(name, value) for name, value in PSEUDO.items() if name != without)
    return block + (literal(twice, PSEUDO[twice]) if twice else b"")


# Section, what is sent, the bytes, and the events one of which has to come back. A second part is
# sent when the answer on stream 1 is complete.
CASES = [
    ("3.4", "the preface", b"", ALIVE),
    ("4.1", "a frame of unknown type", frame(UNKNOWN, 0, 0, bytes(8)), ALIVE),
    ("4.1", "undefined flags", ping(bytes(8), 0x16), ALIVE),
    ("4.1", "the reserved bit", ping(bytes(8), 0, 1 << 31), ALIVE),
    ("4.2", "DATA of the largest size", post() + frame(DATA, END_STREAM, 1, bytes(MOST)), ANSWER),
    ("4.2", "DATA over it", post() + frame(DATA, END_STREAM, 1, bytes(MOST + 1)),
     stream_error(FRAME_SIZE)),
    ("4.2", "HEADERS over it", frame(HEADERS, END, 1, GET + literal(b"x", b"a" * 100) * 200),
     connection_error(FRAME_SIZE)),
    ("4.3", "a broken header block", fields(b"\x40"), connection_error(COMPRESSION)),
    ("4.3", "PRIORITY inside of a header block",
     frame(HEADERS, END_STREAM, 1, GET) + frame(PRIORITY, 0, 1, bytes(5)) +
     frame(CONTINUATION, END_HEADERS, 1, MORE), connection_error(PROTOCOL)),
    ("4.3", "HEADERS of another stream inside of a header block",
     frame(HEADERS, END_STREAM, 1, GET) + get(3), connection_error(PROTOCOL)),
    ("5.1", "idle: DATA", frame(DATA, END_STREAM, 1, b"test"), connection_error(PROTOCOL)),
    ("5.1", "idle: RST_STREAM", frame(RST_STREAM, 0, 1, number(CANCEL)),
     connection_error(PROTOCOL)),
    ("5.1", "idle: WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 1, number(100)),
     connection_error(PROTOCOL)),
    ("5.1", "idle: CONTINUATION", frame(CONTINUATION, END_HEADERS, 1, GET),
     connection_error(PROTOCOL)),
    ("5.1", "idle: PRIORITY", frame(PRIORITY, 0, 1, bytes(5)), ALIVE),
    ("5.1", "half-closed: DATA", get() + frame(DATA, END_STREAM, 1, b"test"),
     stream_error(STREAM_CLOSED)),
    ("5.1", "half-closed: HEADERS", get() + get(), stream_error(STREAM_CLOSED)),
    ("5.1", "half-closed: CONTINUATION", get() + frame(CONTINUATION, END_HEADERS, 1, MORE),
     stream_error(STREAM_CLOSED, PROTOCOL)),
    ("5.1", "half-closed: WINDOW_UPDATE", get() + frame(WINDOW_UPDATE, 0, 1, number(1)), ANSWER),
    ("5.1", "half-closed: PRIORITY", get() + frame(PRIORITY, 0, 1, number(3) + b"\0"), ANSWER),
    ("5.1", "half-closed: RST_STREAM", get() + frame(RST_STREAM, 0, 1, number(CANCEL)), ALIVE),
    ("5.1", "reset: DATA",
     post() + frame(RST_STREAM, 0, 1, number(CANCEL)) + frame(DATA, END_STREAM, 1, b"test"),
     stream_error(STREAM_CLOSED)),
    ("5.1", "reset: HEADERS", post() + frame(RST_STREAM, 0, 1, number(CANCEL)) + get(),
     stream_error(STREAM_CLOSED)),
    ("5.1", "reset: CONTINUATION",
     post() + frame(RST_STREAM, 0, 1, number(CANCEL)) + frame(CONTINUATION, END_HEADERS, 1, MORE),
     stream_error(STREAM_CLOSED, PROTOCOL)),
    ("5.1", "closed: DATA", (get(), frame(DATA, END_STREAM, 1, b"test")),
     connection_error(STREAM_CLOSED)),
    ("6.1", "closed: more padding than DATA",
     (get(), frame(DATA, END_STREAM | PADDED, 1, b"\6test")), connection_error(PROTOCOL)),
    ("5.1", "closed: HEADERS", (get(), get()), connection_error(STREAM_CLOSED)),
    ("5.1", "closed: CONTINUATION", (get(), frame(CONTINUATION, END_HEADERS, 1, MORE)),
     connection_error(STREAM_CLOSED, PROTOCOL)),
    ("5.1", "closed: PRIORITY", (get(), frame(PRIORITY, 0, 1, bytes(5))), ALIVE),
    ("5.1.1", "an even stream", get(2), connection_error(PROTOCOL)),
    ("5.1.1", "a stream under the last", get(5) + get(3), connection_error(PROTOCOL)),
    ("5.1.2", "more streams than allowed",
     b"".join(post(id=1 + 2 * i) for i in range(STREAMS + 1)),
     stream_error(PROTOCOL, REFUSED, id=1 + 2 * STREAMS)),
    ("5.3.1", "HEADERS that depend on themselves",
     frame(HEADERS, END | PRIORITIZED, 1, number(1) + b"\0" + GET), stream_error(PROTOCOL)),
    ("5.3.1", "PRIORITY that depends on itself", frame(PRIORITY, 0, 2, number(2) + b"\0"),
     stream_error(PROTOCOL, id=2)),
    ("5.4.1", "an error of the connection closes it", ping(bytes(8), 0, 3),
     connection_error(PROTOCOL)),
    ("5.5", "an unknown frame inside of a header block",
     frame(HEADERS, END_STREAM, 1, GET) + frame(UNKNOWN, 0, 0, bytes(8)),
     connection_error(PROTOCOL)),
    ("6.1", "DATA", post() + frame(DATA, END_STREAM, 1, b"test"), ANSWER),
    ("6.1", "DATA, padded", post() + frame(DATA, END_STREAM | PADDED, 1, b"\6test" + bytes(6)),
     ANSWER),
    ("6.1", "DATA of stream 0", frame(DATA, END_STREAM, 0, b"test"), connection_error(PROTOCOL)),
    ("6.1", "more padding than DATA", post() + frame(DATA, END_STREAM | PADDED, 1, b"\6test"),
     connection_error(PROTOCOL)),
    ("6.2", "HEADERS, padded", frame(HEADERS, END | PADDED, 1, b"\6" + GET + bytes(6)), ANSWER),
    ("6.2", "HEADERS with a priority",
     frame(HEADERS, END | PRIORITIZED, 1, number(0) + b"\xff" + GET), ANSWER),
    ("6.2", "HEADERS of stream 0", get(0), connection_error(PROTOCOL)),
    ("6.2", "more padding than HEADERS",
     frame(HEADERS, END | PADDED, 1, bytes([len(GET) + 2]) + GET), stream_error(PROTOCOL)),
    ("6.3", "PRIORITY, then a stream under it", frame(PRIORITY, 0, 5, number(3) + b"\xff") + get(),
     ANSWER),
    ("6.3", "PRIORITY of stream 0", frame(PRIORITY, 0, 0, bytes(5)), connection_error(PROTOCOL)),
    ("6.3", "PRIORITY of 4 bytes", post() + frame(PRIORITY, 0, 1, number(0)),
     stream_error(FRAME_SIZE)),
    ("6.4", "RST_STREAM of stream 0", frame(RST_STREAM, 0, 0, number(CANCEL)),
     connection_error(PROTOCOL)),
    ("6.4", "RST_STREAM of 3 bytes", post() + frame(RST_STREAM, 0, 1, bytes(3)),
     connection_error(FRAME_SIZE)),
    ("6.5", "SETTINGS", setting(3, 100), {("settings",)}),
    ("6.5", "an ACK with a payload", frame(SETTINGS, ACK, 0, b"\0"), connection_error(FRAME_SIZE)),
    ("6.5", "SETTINGS of stream 1", frame(SETTINGS, 0, 1, bytes([0, 3, 0, 0, 0, 100])),
     connection_error(PROTOCOL)),
    ("6.5", "SETTINGS of 3 bytes", frame(SETTINGS, 0, 0, bytes(3)), connection_error(FRAME_SIZE)),
    ("6.5.2", "ENABLE_PUSH: 2", setting(2, 2), connection_error(PROTOCOL)),
    ("6.5.2", "INITIAL_WINDOW_SIZE: 2^31", setting(4, 1 << 31), connection_error(FLOW_CONTROL)),
    ("6.5.2", "MAX_FRAME_SIZE: 2^14 - 1", setting(5, MOST - 1), connection_error(PROTOCOL)),
    ("6.5.2", "MAX_FRAME_SIZE: 2^24", setting(5, 1 << 24), connection_error(PROTOCOL)),
    ("6.5.2", "an unknown setting", setting(0xff, 1), ALIVE),
    ("6.6", "PUSH_PROMISE", post() + frame(PUSH_PROMISE, END_HEADERS, 1, number(2) + GET),
     connection_error(PROTOCOL)),
    ("6.7", "an ACK that nobody waits for", ping(b"nobody's", ACK), ALIVE),
    ("6.7", "PING of stream 1", ping(bytes(8), 0, 1), connection_error(PROTOCOL)),
    ("6.7", "PING of 6 bytes", ping(bytes(6)), connection_error(FRAME_SIZE)),
    ("6.8", "GOAWAY of stream 1", frame(GOAWAY, 0, 1, bytes(8)), connection_error(PROTOCOL)),
    ("6.9", "WINDOW_UPDATE of 0", frame(WINDOW_UPDATE, 0, 0, number(0)),
     connection_error(PROTOCOL)),
    ("6.9", "WINDOW_UPDATE of 0 for a stream", post() + frame(WINDOW_UPDATE, 0, 1, number(0)),
     stream_error(PROTOCOL)),
    ("6.9", "WINDOW_UPDATE of 3 bytes", frame(WINDOW_UPDATE, 0, 0, bytes(3)),
     connection_error(FRAME_SIZE)),
    ("6.9.1", "a window over 2^31 - 1", frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1)) * 2,
     connection_error(FLOW_CONTROL)),
    ("6.9.1", "a window of a stream over 2^31 - 1",
     post() + frame(WINDOW_UPDATE, 0, 1, number((1 << 31) - 1)) * 2, stream_error(FLOW_CONTROL)),
    ("6.10", "CONTINUATION, twice",
     frame(HEADERS, END_STREAM, 1, GET) + frame(CONTINUATION, 0, 1, MORE) +
     frame(CONTINUATION, END_HEADERS, 1, MORE), ANSWER),
    ("6.10", "CONTINUATION, then DATA",
     frame(HEADERS, 0, 1, POST) + frame(CONTINUATION, 0, 1, MORE) +
     frame(DATA, END_STREAM, 1, b"test"), connection_error(PROTOCOL)),
    ("6.10", "CONTINUATION of stream 0",
     frame(HEADERS, END_STREAM, 1, GET) + frame(CONTINUATION, END_HEADERS, 0, MORE),
     connection_error(PROTOCOL)),
    ("6.10", "CONTINUATION after END_HEADERS", post() + frame(CONTINUATION, END_HEADERS, 1, MORE),
     connection_error(PROTOCOL)),
    ("6.10", "CONTINUATION after DATA",
     post() + frame(DATA, END_STREAM, 1, b"test") + frame(CONTINUATION, END_HEADERS, 1, MORE),
     connection_error(PROTOCOL)),
    ("7", "RST_STREAM with an unknown code", post() + frame(RST_STREAM, 0, 1, number(0xff)),
     ALIVE),
    ("8.1", "a second HEADERS without END_STREAM", post() + post(), stream_error(PROTOCOL)),
    ("8.1", "trailers",
     post() + frame(DATA, 0, 1, b"test") + frame(HEADERS, END, 1, literal(b"x-end", b"test")),
     ANSWER),
    ("8.2.1", "a name in upper case", fields(GET + literal(b"X-Test", b"ok")),
     stream_error(PROTOCOL)),
    ("8.2.2", "connection", fields(GET + literal(b"connection", b"keep-alive")),
     stream_error(PROTOCOL)),
    ("8.2.2", "te: trailers, deflate", fields(GET + literal(b"te", b"trailers, deflate")),
     stream_error(PROTOCOL)),
    ("8.2.2", "te: trailers", fields(GET + literal(b"te", b"trailers")), ANSWER),
    ("8.3", "an unknown pseudo field", fields(literal(b":test", b"ok") + GET),
     stream_error(PROTOCOL)),
    ("8.3", "a pseudo field of responses", fields(GET + literal(b":status", b"200")),
     stream_error(PROTOCOL)),
    ("8.3", "a pseudo field in trailers",
     post() + frame(HEADERS, END, 1, literal(b":method", b"200")), stream_error(PROTOCOL)),
    ("8.3", "a pseudo field after a field",
     fields(literal(b":method", b"GET") + literal(b":scheme", b"http") + MORE +
            literal(b":path", b"/")), stream_error(PROTOCOL)),
    ("8.3.1", "an empty :path", fields(request(path=b"")), stream_error(PROTOCOL)),
    *(("8.3.1", f"no {name.decode()}", fields(pseudo(without=name)), stream_error(PROTOCOL))
      for name in (b":method", b":scheme", b":path")),
    *(("8.3.1", f"{name.decode()} twice", fields(pseudo(twice=name)), stream_error(PROTOCOL))
      for name in (b":method", b":scheme", b":path")),
    ("8.1.1", "a body over its content-length",
     post((b"content-length", b"1")) + frame(DATA, END_STREAM, 1, b"test"),
     stream_error(PROTOCOL)),
    ("8.1.1", "two DATA over its content-length",
     post((b"content-length", b"1")) + frame(DATA, 0, 1, b"test") +
     frame(DATA, END_STREAM, 1, b"test"), stream_error(PROTOCOL)),
    ("8.1.1", "a body under its content-length",
     post((b"content-length", b"9")) + frame(DATA, END_STREAM, 1, b"test"),
     stream_error(PROTOCOL)),
    ("HPACK 2.3.3", "an index that is not there", fields(GET + b"\xff\x00"),
     connection_error(COMPRESSION)),
    ("HPACK 4.2", "a table size at the end of a block", fields(GET + b"\x3f\xe1\x1f"),
     connection_error(COMPRESSION)),
    ("HPACK 5.2", "Huffman padding over 7 bits", fields(GET + b"\0\x85\xf2\xb2\x4a\x84\xff\x84\x49"
                                                       b"\x50\x9f\xff"),
     connection_error(COMPRESSION)),
    ("HPACK 5.2", "Huffman padding of zeros", fields(GET + b"\0\x85\xf2\xb2\x4a\x84\xff\x83\x49"
                                                    b"\x50\x90"), connection_error(COMPRESSION)),
    ("HPACK 5.2", "Huffman EOS", fields(GET + b"\0\x85\xf2\xb2\x4a\x87\xff\xff\xff\xfd\x25"
                                       b"\x42\x7f"), connection_error(COMPRESSION)),
    ("HPACK 6.1", "index 0", fields(GET + b"\x80"), connection_error(COMPRESSION)),
    ("HPACK 6.3", "a table larger than the setting", fields(b"\x3f\xe2\x1f" + GET),
     connection_error(COMPRESSION)),
    ("HPACK 6.1", "an indexed field", fields(b"\x82\x86\x84" + literal(b":authority", b"x")),
     ANSWER),
    ("HPACK 6.2.1", "incremental indexing, then its index",
     fields(GET + b"\x40\x04x-ab\x02cd\xbe"), ANSWER),
    ("HPACK 6.2.3", "a field that is never indexed", fields(GET + b"\x10\x04x-ab\x02cd"), ANSWER),
    ("HPACK 6.2.1", "Huffman coding", fields(GET + b"\0\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x9f"),
     ANSWER),
    ("HPACK 6.3", "a table size, twice", fields(b"\x20\x3f\xe1\x1f" + GET), ANSWER),
]


class Client:
    """What comes back, as events."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.stream = self.socket.makefile("rb")

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass  # What it sent before is still to be read.

    def events(self):
        """Until the connection is closed."""
        while True:
            try:
                start = self.stream.read(9)
            except ConnectionResetError:
                start = b""
            if len(start) < 9:
                yield ("closed",)
                return
            payload = self.stream.read(int.from_bytes(start[:3], "big"))
            kind, flags, id = start[3], start[4], int.from_bytes(start[5:9], "big")
            if kind == GOAWAY:
                yield ("goaway", int.from_bytes(payload[4:8], "big"))
            elif kind == RST_STREAM:
                yield ("reset", id, int.from_bytes(payload, "big"))
            elif kind == HEADERS:
                yield ("answer", id)
            elif kind == PING and flags & ACK and payload == FIRST:
                self.send(ping(LAST))
            elif kind == PING and flags & ACK and payload == LAST:
                yield ("alive",)
            elif kind == SETTINGS and flags & ACK:
                yield ("settings",)
            if kind == DATA:
                yield ("data", id, len(payload))
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                yield ("end", id)

    def until(self, wanted):
        """All events up to one of the wanted ones, or to the end."""
        seen = []
        for event in self.events():
            seen.append(event)
            if event in wanted or event == ("closed",):
                break
        return seen

    def close(self):
        self.stream.close()
        self.socket.close()


class Frames(unittest.TestCase):
    listener = "protocol: http2"

    @classmethod
    def setUpClass(cls):
        cls.backend = Backend()
        cls.proxy = Proxy(cls.backend.port, listener=cls.listener)

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.backend.stop()

    def connect(self):
        client = Client(self.proxy.port)
        self.addCleanup(client.close)
        return client

    def test_each_frame_has_its_answer(self):
        for section, what, data, wanted in CASES:
            with self.subTest(section=section, what=what):
                client = self.connect()
                parts = data if isinstance(data, tuple) else (data,)
                client.send(PREFACE)
                for part in parts[:-1]:
                    client.send(part)
                    self.assertIn(("end", 1), client.until({("end", 1)}))
                client.send(parts[-1] + ping())
                # An answer may come after the ping's; an error comes before it.
                waits = wanted in (ANSWER, {("settings",)})
                seen = client.until(wanted | (set() if waits else ALIVE))
                self.assertTrue(wanted.intersection(seen), seen)
                if seen[-1][0] == "goaway":
                    self.assertEqual(client.until(()), [("closed",)])
                client.close()

    def test_goaway_with_an_unknown_code(self):
        client = self.connect()
        client.send(PREFACE + frame(GOAWAY, 0, 0, number(0) + number(0xff)) + ping())
        self.assertIn(client.until(ALIVE)[-1], (("alive",), ("closed",)))

    def test_windows_bound_what_is_sent(self):
        """6.5.3, 6.9.1, 6.9.2: the last value counts; a change holds for open streams, too."""
        client = self.connect()
        windows = frame(SETTINGS, 0, 0, struct.pack(">HIHI", 4, 100, 4, 1))
        client.send(PREFACE + windows + get())
        self.assertEqual(client.until({("data", 1, 1)})[-1], ("data", 1, 1))
        client.send(setting(4, 0) + frame(WINDOW_UPDATE, 0, 1, number(1)) + ping())
        self.assertNotIn("data", [event[0] for event in client.until(ALIVE)])  # From -1 to 0.
        client.send(setting(4, 1))
        self.assertEqual(client.until({("end", 1)})[-2:], [("data", 1, 1), ("end", 1)])

    def test_a_connection_without_the_preface(self):
        client = self.connect()
        client.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
        self.assertEqual(client.until(())[-2:], [("goaway", PROTOCOL), ("closed",)])


class SharedPort(Frames):
    """The same frames, where HTTP/1.1 is served, too."""

    listener = "protocol: auto"

    def test_a_connection_without_the_preface(self):
        client = self.connect()
        client.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
        self.assertTrue(client.stream.read().startswith(b"HTTP/1.1 400 "))


class Http1(unittest.TestCase):
    def test_it_refuses_the_preface(self):
        backend = Backend()
        proxy = Proxy(backend.port, listener="protocol: http1")
        try:
            client = Client(proxy.port)
            client.send(PREFACE + get())
            self.assertRegex(client.stream.read(), b"^HTTP/1.1 (400|505) ")
            client.close()
            self.assertEqual(backend.requests, [])
        finally:
            proxy.stop()
            backend.stop()


if __name__ == "__main__":
    sys.exit(unittest.main())
