#!/usr/bin/env python3
"""Requests that two parsers read in two ways: none of them passes the proxy, let alone as two."""

import socket
import struct
import sys
import unittest

from proxy_process import PATIENCE, Backend, Proxy

INNER = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


def head(*lines, start=b"POST /first HTTP/1.1", host=b"Host: x"):
    return b"\r\n".join([start, *([host] if host else []), *lines]) + b"\r\n\r\n"


# What it is, and the bytes. Each is refused: the answer is an error of ours, or none, and then the
# connection closes.
H1 = {
    "content-length beside chunked": head(
        b"Content-Length: 6", b"Transfer-Encoding: chunked") + b"0\r\n\r\n" + INNER,
    "chunked beside content-length": head(
        b"Transfer-Encoding: chunked", b"Content-Length: 6") + b"0\r\n\r\n" + INNER,
    "chunked twice": head(
        b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked") + b"0\r\n\r\n" + INNER,
    "chunked twice in a list": head(
        b"Transfer-Encoding: chunked, chunked") + b"0\r\n\r\n" + INNER,
    "chunked, then another coding": head(
        b"Transfer-Encoding: chunked, identity") + b"0\r\n\r\n" + INNER,
    "another coding, then chunked": head(
        b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n" + INNER,
    "a coding nobody knows": head(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n" + INNER,
    "a quoted coding": head(b'Transfer-Encoding: "chunked"') + b"0\r\n\r\n" + INNER,
    "a coding after a vertical tab": head(
        b"Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n" + INNER,
    "an empty coding": head(b"Transfer-Encoding:") + b"0\r\n\r\n" + INNER,
    "a folded line": head(b"Transfer-Encoding:", b" chunked") + b"0\r\n\r\n" + INNER,
    "a folded field of no meaning": head(b"X-A: b", b"\tc", b"Content-Length: 0"),
    "a first field that is folded": head(b" X-A: b", b"Content-Length: 0", host=b""),
    "lines that end with LF alone": b"POST /first HTTP/1.1\nHost: x\nContent-Length: 0\n\n",
    "one line that ends with LF alone":
        b"POST /first HTTP/1.1\r\nHost: x\r\nX-A: b\nContent-Length: 0\r\n\r\n",
    "a CR alone in a value": head(b"X-A: b\rTransfer-Encoding: chunked", b"Content-Length: 0"),
    "a CR alone at the end of a line":
        b"POST /first HTTP/1.1\r\nHost: x\rContent-Length: 0\r\n\r\n",
    "an empty line of LF alone":
        b"POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: 34\n\n" + INNER,
    "a space before the colon": head(b"Content-Length : 34") + INNER,
    "a tab before the colon": head(b"Transfer-Encoding\t: chunked") + b"0\r\n\r\n" + INNER,
    "a field without a name": head(b": chunked", b"Content-Length: 0"),
    "a field without a colon": head(b"Content-Length", b"Content-Length: 0"),
    "two content-lengths that differ": head(b"Content-Length: 0", b"Content-Length: 34") + INNER,
    "two content-lengths that agree": head(b"Content-Length: 0", b"Content-Length: 0"),
    "a list of content-lengths": head(b"Content-Length: 0, 34") + INNER,
    "a list of equal content-lengths": head(b"Content-Length: 0, 0"),
    "a content-length with a plus": head(b"Content-Length: +0"),
    "a negative content-length": head(b"Content-Length: -1"),
    "a content-length with a space inside": head(b"Content-Length: 1 0") + b"0123456789",
    "a hexadecimal content-length": head(b"Content-Length: 0x0"),
    "an empty content-length": head(b"Content-Length:"),
    "a content-length past 64 bits": head(b"Content-Length: 18446744073709551616"),
    "a chunk size past 64 bits": head(
        b"Transfer-Encoding: chunked") + b"10000000000000000\r\n" + INNER,
    "a chunk size that overflows to nothing": head(
        b"Transfer-Encoding: chunked") + b"100000000000000000\r\n\r\n" + INNER,
    "a chunk size with 0x": head(b"Transfer-Encoding: chunked") + b"0x0\r\n\r\n" + INNER,
    "a chunk size with a sign": head(b"Transfer-Encoding: chunked") + b"+0\r\n\r\n" + INNER,
    "a negative chunk size": head(b"Transfer-Encoding: chunked") + b"-1\r\n\r\n" + INNER,
    "a chunk size after a space": head(b"Transfer-Encoding: chunked") + b" 0\r\n\r\n" + INNER,
    "no chunk size": head(b"Transfer-Encoding: chunked") + b"\r\n\r\n" + INNER,
    "a space after a chunk size": head(b"Transfer-Encoding: chunked") + b"0 \r\n\r\n" + INNER,
    "a chunk extension without a name": head(
        b"Transfer-Encoding: chunked") + b"0;\r\n\r\n" + INNER,
    "a chunk extension with CR alone": head(
        b"Transfer-Encoding: chunked") + b"0;a\r\rb\r\n\r\n" + INNER,
    "a quoted chunk extension over lines": head(
        b"Transfer-Encoding: chunked") + b'0;a="\r\n\r\n' + INNER + b'"\r\n\r\n',
    "a chunk extension that ends with LF alone": head(
        b"Transfer-Encoding: chunked") + b"0;a\n\r\n" + INNER,
    "a chunk extension with LF alone": head(
        b"Transfer-Encoding: chunked") + b"2;\nxx\r\n22\r\n0\r\n\r\n" + INNER,
    "a chunk extension without end": head(
        b"Transfer-Encoding: chunked") + b"0;" + b"a" * 100000 + b"\r\n\r\n" + INNER,
    "a chunk size that ends with LF alone": head(
        b"Transfer-Encoding: chunked") + b"0\n\r\n" + INNER,
    "a chunk longer than it says": head(
        b"Transfer-Encoding: chunked") + b"1\r\nabc\r\n0\r\n\r\n" + INNER,
    "chunked trailers with a framing field": head(
        b"Transfer-Encoding: chunked") + b"0\r\nContent-Length: 34\r\n\r\n" + INNER,
    "NUL in a value": head(b"X-A: b\0c", b"Content-Length: 0"),
    "NUL in a name": head(b"X-\0A: b", b"Content-Length: 0"),
    "a control in a value": head(b"X-A: b\x01c", b"Content-Length: 0"),
    "DEL in a value": head(b"X-A: b\x7fc", b"Content-Length: 0"),
    "no Host": head(b"Content-Length: 0", host=b""),
    "two Hosts": head(b"Host: y", b"Content-Length: 0"),
    "two equal Hosts": head(b"Host: x", b"Content-Length: 0"),
    "a Host with a path": head(b"Content-Length: 0", host=b"Host: x/y"),
    "a Host with a user": head(b"Content-Length: 0", host=b"Host: a@x"),
    "a Host that is a list": head(b"Content-Length: 0", host=b"Host: x y"),
    "HTTP/0.9": b"GET /first\r\n\r\n",
    "HTTP/1.0 and chunked": head(
        b"Transfer-Encoding: chunked", start=b"POST /first HTTP/1.0") + b"0\r\n\r\n" + INNER,
    "HTTP/1.2": head(b"Content-Length: 0", start=b"POST /first HTTP/1.2"),
    "HTTP/2.0 in a line": head(b"Content-Length: 0", start=b"POST /first HTTP/2.0"),
    "http in lower case": head(b"Content-Length: 0", start=b"POST /first http/1.1"),
    "two spaces before the target": head(b"Content-Length: 0", start=b"POST  /first HTTP/1.1"),
    "a space in the target": head(b"Content-Length: 0", start=b"POST /fi rst HTTP/1.1"),
    "a tab in the request line": head(b"Content-Length: 0", start=b"POST\t/first HTTP/1.1"),
    "a space at the start": b" " + head(b"Content-Length: 0"),
    "an empty line at the start": b"\r\n" + head(b"Content-Length: 0"),
    "a relative target": head(b"Content-Length: 0", start=b"POST first HTTP/1.1"),
    "a target with a fragment": head(b"Content-Length: 0", start=b"POST /a#b HTTP/1.1"),
    "a target with a control": head(b"Content-Length: 0", start=b"POST /a\x01b HTTP/1.1"),
    "a method with a colon": head(b"Content-Length: 0", start=b"PO:ST /first HTTP/1.1"),
    "an absolute target with a user": head(
        b"Content-Length: 0", start=b"POST http://a@x/first HTTP/1.1"),
    "an absolute target of another scheme": head(
        b"Content-Length: 0", start=b"POST file://x/first HTTP/1.1"),
    "Connection names too many fields": head(
        b"Connection: " + b",".join(b"a%d" % i for i in range(50)), b"Content-Length: 0"),
}


def literal(name, value):
    """HPACK: never indexed, no Huffman."""
    return b"\x10" + integer(len(name)) + name + integer(len(value)) + value


def integer(number):
    if number < 127:
        return bytes([number])
    out, number = b"\x7f", number - 127
    while number >= 128:
        out, number = out + bytes([number % 128 + 128]), number // 128
    return out + bytes([number])


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


HEADERS, DATA, RST_STREAM, SETTINGS, GOAWAY = 1, 0, 3, 4, 7
END_STREAM, END_HEADERS = 1, 4


def request(*fields, method=b"POST", path=b"/first", authority=b"x", scheme=b"http"):
    pseudo = [(b":method", method), (b":scheme", scheme), (b":path", path),
              (b":authority", authority)]
    return b"".join(literal(*field) for field in [*pseudo, *fields])


# What it is, the fields, and the data if there is some.
H2 = {
    "CRLF in a value": (request((b"x-a", b"b\r\ntransfer-encoding: chunked")), b""),
    "LF in a value": (request((b"x-a", b"b\ntransfer-encoding: chunked")), b""),
    "CR in a value": (request((b"x-a", b"b\rtransfer-encoding: chunked")), b""),
    "NUL in a value": (request((b"x-a", b"b\0c")), b""),
    "CRLF in :path": (request(path=b"/first HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled"), b""),
    "a space in :path": (request(path=b"/first HTTP/1.1"), b""),
    "an empty :path": (request(path=b""), b""),
    "a :path that is none": (request(path=b"first"), b""),
    "CRLF in :authority": (request(authority=b"x\r\nX-A: b"), b""),
    "a space in :authority": (request(authority=b"x y"), b""),
    "CRLF in :method": (request(method=b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\nPOST"), b""),
    "a space in :method": (request(method=b"POST /smuggled"), b""),
    "an empty :method": (request(method=b""), b""),
    "CRLF in :scheme": (request(scheme=b"http\r\nx"), b""),
    "CRLF in a name": (request((b"x-a: b\r\nx-b", b"c")), b""),
    "a colon in a name": (request((b"x-a: b", b"c")), b""),
    "a space in a name": (request((b"x a", b"c")), b""),
    "an empty name": (request((b"", b"c")), b""),
    "a name in upper case": (request((b"X-A", b"c")), b""),
    "transfer-encoding": (request((b"transfer-encoding", b"chunked")), b"0\r\n\r\n" + INNER),
    "connection": (request((b"connection", b"x-a")), b""),
    "keep-alive": (request((b"keep-alive", b"5")), b""),
    "upgrade": (request((b"upgrade", b"h2c")), b""),
    "proxy-connection": (request((b"proxy-connection", b"close")), b""),
    "te of another kind": (request((b"te", b"chunked")), b""),
    "a host beside another :authority": (request((b"host", b"y")), b""),
    "two :paths": (request() + literal(b":path", b"/smuggled"), b""),
    "a pseudo field after the others": (
        request((b"x-a", b"b")) + literal(b":authority", b"y"), b""),
    "a pseudo field that nobody knows": (literal(b":other", b"z") + request(), b""),
    "no :path": (literal(b":method", b"GET") + literal(b":scheme", b"http"), b""),
    "less data than content-length": (request((b"content-length", b"50")), b"abc"),
    "more data than content-length": (request((b"content-length", b"1")), b"a" + INNER),
    "two content-lengths": (
        request((b"content-length", b"3"), (b"content-length", b"4")), b"abc"),
    "a content-length with a plus": (request((b"content-length", b"+3")), b"abc"),
    "a list of content-lengths": (request((b"content-length", b"3, 3")), b"abc"),
    "a path with a fragment": (request(path=b"/first#a"), b""),
}


class Smuggling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.backend = Backend()
        cls.proxy = Proxy(cls.backend.port)

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.backend.stop()

    def setUp(self):
        self.backend.requests.clear()
        self.backend.strange.clear()

    def send(self, data):
        """All that comes back until the proxy closes."""
        with socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE) as s:
            s.settimeout(PATIENCE)
            got = b""
            try:
                s.sendall(data)
                while part := s.recv(65536):
                    got += part
            except (ConnectionResetError, BrokenPipeError):
                pass
            return got

    def test_http_1(self):
        for what, data in H1.items():
            with self.subTest(what):
                got = self.send(data)
                self.assertTrue(got == b"" or got.startswith(b"HTTP/1.1 4") or
                                got.startswith(b"HTTP/1.1 5"), got)
                self.assertLessEqual(got.count(b"HTTP/1.1 "), 1)
                self.assertEqual(self.backend.requests, [])
                self.assertEqual(self.backend.strange, [])

    def test_an_absolute_target_says_which_host_it_is(self):
        got = self.send(b"GET http://real/a HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), got)
        [seen] = self.backend.requests
        self.assertEqual(seen["target"], "/a")
        self.assertEqual([v for n, v in seen["fields"] if n == "host"], ["real"])

    def test_what_connection_names_is_not_passed_on(self):
        got = self.send(b"GET /a HTTP/1.1\r\nHost: x\r\nX-A: b\r\nConnection: close, X-A\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), got)
        [seen] = self.backend.requests
        self.assertNotIn("x-a", dict(seen["fields"]))

    def test_chunk_extensions_are_dropped(self):
        got = self.send(head(b"Transfer-Encoding: chunked", b"Connection: close") +
                        b'3;a="b;c"\r\nabc\r\n2 ;d = e;f\r\nde\r\n0;g\r\n\r\n')
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), got)
        self.assertEqual(self.backend.strange, [])
        [seen] = self.backend.requests
        self.assertEqual(seen["body"], b"abcde")
        self.assertEqual(self.backend.extensions, [])

    def test_an_upgrade_to_http_is_not_passed_on(self):
        for protocols in b"h2c", b"H2C", b"h2c, websocket", b"websocket,\tH2c", b"HTTP/2.0":
            with self.subTest(protocols):
                self.backend.requests.clear()
                got = self.send(head(b"Upgrade: " + protocols, b"HTTP2-Settings: AAMAAABkAAQAAP__",
                                     b"Connection: Upgrade, HTTP2-Settings, close",
                                     start=b"GET /first HTTP/1.1"))
                self.assertTrue(got.startswith(b"HTTP/1.1 200"), got)
                [seen] = self.backend.requests
                self.assertNotIn("upgrade", dict(seen["fields"]))
                self.assertNotIn("http2-settings", dict(seen["fields"]))

    def test_two_good_requests_at_once_are_two(self):
        got = self.send(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                        b"GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertEqual(got.count(b"HTTP/1.1 200"), 2, got)
        self.assertEqual([(seen["target"], seen["body"]) for seen in self.backend.requests],
                         [("/a", b"abc"), ("/b", b"")])

    def send_h2(self, fields, data):
        """The frames' kinds that came for stream 1, or GOAWAY; and the first byte of its head."""
        with socket.create_connection(("127.0.0.1", self.proxy.port), PATIENCE) as s:
            s.settimeout(PATIENCE)
            out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
            out += frame(HEADERS, END_HEADERS | (0 if data else END_STREAM), 1, fields)
            if data:
                out += frame(DATA, END_STREAM, 1, data)
            s.sendall(out)
            stream = s.makefile("rb")
            try:
                while len(start := stream.read(9)) == 9:
                    payload = stream.read(int.from_bytes(start[:3], "big"))
                    kind, where = start[3], int.from_bytes(start[5:9], "big")
                    if kind == GOAWAY or (where == 1 and kind in (HEADERS, RST_STREAM)):
                        return kind, payload
            except ConnectionResetError:
                pass
            return None, b""

    def test_http_2(self):
        for what, (fields, data) in H2.items():
            with self.subTest(what):
                kind, payload = self.send_h2(fields, data)
                if kind == HEADERS:  # 200 and 204 are 0x88 and 0x89 in HPACK's table.
                    self.assertNotIn(payload[0], (0x88, 0x89, 0x8a))
                self.assertEqual(self.backend.requests, [])
                self.assertEqual(self.backend.strange, [])

    def test_a_good_request_of_http_2_passes(self):
        kind, payload = self.send_h2(request((b"content-length", b"3"), (b"te", b"trailers")),
                                     b"abc")
        self.assertEqual((kind, payload[0]), (HEADERS, 0x88))
        [seen] = self.backend.requests
        self.assertEqual((seen["method"], seen["target"], seen["body"]), ("POST", "/first", b"abc"))


if __name__ == "__main__":
    sys.exit(unittest.main())
