#include "damper/http/codec/h1_head.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/http/codec/message.h"

namespace damper::http {
namespace {

using Result = H1Head::Result;

std::string describe(const H1Head& head) {
  std::string text = std::string(head.head().method) + " " + std::string(head.head().target) +
                     " at " + std::string(head.head().authority);
  for (const Field& field : head.head().fields) {
    text += " " + std::string(field.name) + "=" + std::string(field.value);
  }
  return text;
}

// What a request is answered with: 0 when it is good, -1 when more is needed.
int status_of(std::string_view bytes, H1Head::Bounds bounds = {}) {
  H1Head head;
  switch (head.scan_request(bytes, bounds)) {
    case Result::complete: return 0;
    case Result::need_more: return -1;
    case Result::refused: break;
  }
  return head.status();
}

// The same with a good start and Host around the lines.
int status_with(const std::string& lines) {
  return status_of("POST / HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n");
}

TEST(H1Head, ARequestIsReadWithoutWhatIsAboutFraming) {
  const std::string bytes =
      "POST /a?b=c HTTP/1.1\r\nHost: example.org:80\r\nUser-Agent:  x y \t\r\nTE: trailers\r\n"
      "Content-Length: 12\r\nX-Empty:\r\nConnection: keep-alive, X-Hop\r\nx-hop: 1\r\n"
      "Keep-Alive: 5\r\nProxy-Connection: x\r\nHTTP2-Settings: x\r\nExpect: "
      "100-Continue\r\n\r\nbody";
  H1Head head;
  ASSERT_EQ(head.scan_request(bytes, {}), Result::complete);
  EXPECT_EQ(describe(head), "POST /a?b=c at example.org:80 User-Agent=x y X-Empty=");
  EXPECT_EQ(head.head().content_length, 12U);
  EXPECT_EQ(head.size(), bytes.size() - 4);
  EXPECT_TRUE(head.keeps_alive());
  EXPECT_TRUE(head.expects_continue());
  EXPECT_FALSE(head.is_chunked());
  EXPECT_FALSE(head.is_http_1_0());
}

// What the writer leaves out, the scanner has not let through: so it need not be looked at again.
TEST(H1Head, WhatItCallsSoundMayBeSentAsItIs) {
  int scanned = 0;
  for (int c = 0; c < 256; ++c) {
    for (const std::string& line : {std::string("A") + static_cast<char>(c) + "b: v",
                                    std::string("A: ") + static_cast<char>(c),
                                    std::string("A: v") + static_cast<char>(c) + "w",
                                    std::string("A: v") + static_cast<char>(c),
                                    std::string(1, static_cast<char>(c)) + "e: v"}) {
      const std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\n" + line + "\r\nTE: x\r\n\r\n";
      H1Head head;
      if (head.scan_request(bytes, {}) != Result::complete) continue;
      for (const Field& field : head.head().fields) {
        ++scanned;
        EXPECT_TRUE(field.validated);
        EXPECT_TRUE(valid_field(field.name, field.value) && !is_hop_field(field.name)) << line;
      }
    }
  }
  EXPECT_GT(scanned, 500);
}

TEST(H1Head, EveryPieceOfAGoodHeadNeedsMore) {
  const std::string bytes = "GET http://h/x HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(status_of(bytes.substr(0, size)), -1) << size;
  }
  EXPECT_EQ(status_of(bytes), 0);
}

TEST(H1Head, EverySingleByteOfAHeadThatBecomesAControlIsRefused) {
  const std::string bytes = "GET /x HTTP/1.1\r\nHost: h\r\nAccept: text/html; q=1\r\n\r\n";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int c : {0, 1, 8, 10, 11, 12, 13, 31, 127}) {
      if (bytes[i] == static_cast<char>(c)) continue;
      std::string broken = bytes;
      broken[i] = static_cast<char>(c);
      EXPECT_NE(status_of(broken), 0) << i << " " << c;
    }
  }
}

TEST(H1Head, ALengthIsSaidOnceAndInDigits) {
  EXPECT_EQ(status_with("Content-Length: 5\r\n"), 0);
  EXPECT_EQ(status_with("Content-Length: 007\r\n"), 0);
  for (const char* value : {"", "+5", "-5", "5 5", "5,5", "0x5", "5a", "99999999999999999999"}) {
    EXPECT_EQ(status_with("Content-Length: " + std::string(value) + "\r\n"), 400) << value;
  }
  EXPECT_EQ(status_with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400);
  EXPECT_EQ(status_with("Content-Length: 5\r\ncontent-length: 5\r\n"), 400);
}

TEST(H1Head, TheOnlyCodingIsChunkedAndItStandsAlone) {
  EXPECT_EQ(status_with("Transfer-Encoding: chunked\r\n"), 0);
  EXPECT_EQ(status_with("Transfer-Encoding: CHUNKED\r\n"), 0);
  EXPECT_EQ(status_with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status_with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  for (const char* value : {"gzip, chunked", "identity", "chunked, identity", "xchunked", ""}) {
    EXPECT_EQ(status_with("Transfer-Encoding: " + std::string(value) + "\r\n"), 501) << value;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(H1Head, LinesThatCouldBeReadInTwoWaysAreRefused) {
  EXPECT_EQ(status_with("A: b\r\n c\r\n"), 400);   // folded
  EXPECT_EQ(status_with("A: b\r\n\tc\r\n"), 400);  // folded
  EXPECT_EQ(status_with(" A: b\r\n"), 400);
  EXPECT_EQ(status_with("A : b\r\n"), 400);
  EXPECT_EQ(status_with(": b\r\n"), 400);
  EXPECT_EQ(status_with("A b\r\n"), 400);
  EXPECT_EQ(status_with("A: b\n"), 400);
  EXPECT_EQ(status_with("A: b\rC: d\r\n"), 400);
  EXPECT_EQ(status_with("A(: b\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(status_of("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET  / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1 \r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\r\n"), 400);
}

TEST(H1Head, ConnectionHasAFewWords) {
  EXPECT_EQ(status_with("Connection: a, b,, c\r\n"), 0);
  EXPECT_EQ(status_with("Connection: a b\r\n"), 400);
  EXPECT_EQ(status_with("Connection: \xf1\r\n"), 400);
  EXPECT_EQ(status_with("Connection: a,b,c,d,e,f,g,h,i\r\n"), 400);
}

TEST(H1Head, HostIsThereOnce) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(status_with("Host: h\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
}

TEST(H1Head, VersionsAreOneAndZero) {
  EXPECT_EQ(status_of("GET / HTTP/1.2\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / http/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.11\r\nHost: h\r\n\r\n"), 400);
  H1Head old;
  ASSERT_EQ(old.scan_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", {}),
            Result::complete);
  EXPECT_TRUE(old.is_http_1_0());
  EXPECT_TRUE(old.keeps_alive());
  H1Head older;
  ASSERT_EQ(older.scan_request("GET / HTTP/1.0\r\n\r\n", {}), Result::complete);
  EXPECT_FALSE(older.keeps_alive());
}

TEST(H1Head, ATargetHasOneOfFourForms) {
  const auto target_of = [](const std::string& start) -> std::string {
    H1Head head;
    const std::string bytes = start + " HTTP/1.1\r\nHost: h\r\n\r\n";
    if (head.scan_request(bytes, {}) != Result::complete) return "refused";
    return std::string(head.head().scheme) + " " + std::string(head.head().authority) + " " +
           std::string(head.head().target);
  };
  EXPECT_EQ(target_of("GET /x"), " h /x");
  EXPECT_EQ(target_of("GET http://o:1/x?y"), "http o:1 /x?y");
  EXPECT_EQ(target_of("GET https://o"), "https o /");
  EXPECT_EQ(target_of("OPTIONS http://o"), "http o *");
  EXPECT_EQ(target_of("OPTIONS *"), " h *");
  EXPECT_EQ(target_of("CONNECT o:443"), " h o:443");
  for (const char* start :
       {"GET *", "GET o:443", "CONNECT /x", "CONNECT o", "GET ftp://o/x", "GET http:///x",
        "GET http://a@o/x", "GET x", "GET /x#y", "GET http://o?x", "GET /\xc3\xa4"}) {
    EXPECT_EQ(target_of(start), "refused") << start;
  }
}

TEST(H1Head, BytesAndFieldsAreBounded) {
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
  std::string many = start;
  for (int i = 0; i < 3; ++i) many += "A: b\r\n";
  many += "\r\n";
  EXPECT_EQ(status_of(many, {.max_bytes = 1024, .max_fields = 3}), 0);
  EXPECT_EQ(status_of(many, {.max_bytes = 1024, .max_fields = 2}), 431);
  EXPECT_EQ(status_of(many, {.max_bytes = many.size(), .max_fields = 3}), 0);
  EXPECT_EQ(status_of(many, {.max_bytes = many.size() - 1, .max_fields = 3}), 431);
  EXPECT_EQ(status_of(start + "A: " + std::string(2000, 'x'), {1024, 3}), 431);
  EXPECT_EQ(status_of(std::string(2000, 'x'), {1024, 3}), 431);
  std::string most = start;
  for (int i = 0; i < 1001; ++i) most += "A: b\r\n";
  EXPECT_EQ(status_of(most + "\r\n", {1 << 20, 1000}), 431);
}

TEST(H1Head, AnUpgradeNeedsBothFieldsAndNoBody) {
  const auto upgrade_of = [](const std::string& lines) -> std::string {
    H1Head head;
    const std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n";
    EXPECT_EQ(head.scan_request(bytes, {}), Result::complete);
    return std::string(head.head().upgrade);
  };
  EXPECT_EQ(upgrade_of("Connection: Upgrade\r\nUpgrade: websocket\r\n"), "websocket");
  EXPECT_EQ(upgrade_of("Upgrade: websocket\r\n"), "");
  EXPECT_EQ(upgrade_of("Connection: Upgrade\r\nUpgrade: ,\r\n"), "");  // No protocol.
  EXPECT_EQ(upgrade_of("Connection: Upgrade\r\nUpgrade:  , ,,\r\n"), "");
  EXPECT_EQ(upgrade_of("Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 1\r\n"), "");
}

TEST(H1Head, AnUpgradeToWhatCarriesRequestsIsNone) {
  const auto upgrade_of = [](const std::string& value) -> std::string {
    H1Head head;
    const std::string bytes =
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: " + value + "\r\n\r\n";
    EXPECT_EQ(head.scan_request(bytes, {}), Result::complete);
    return std::string(head.head().upgrade);
  };
  for (const char* value :
       {"h2c", "H2C", "h2c, websocket", "websocket,h2c", "websocket , H2c", ",, h2c ,", "h2c/1",
        "websocket, h2c / 1", "h2", "HTTP/2.0", "TLS/1.0, HTTP/1.1", "x,TLS"}) {
    EXPECT_EQ(upgrade_of(value), "") << value;
  }
  for (const char* value : {"websocket", "websocket, x", "h2cx", "xh2c", "x/h2c", "IRC/6.9"}) {
    EXPECT_EQ(upgrade_of(value), value);
  }
}

TEST(H1Head, AnAnswerIsReadByTheSameRules) {
  const auto read = [](const std::string& bytes) -> std::string {
    H1Head head;
    const Result result = head.scan_response(bytes, {});
    if (result == Result::need_more) return "more";
    if (result == Result::refused) return "refused";
    return std::to_string(head.head().status) + (head.keeps_alive() ? " alive" : " close") +
           (head.is_chunked() ? " chunked" : "") + " " + std::to_string(head.head().fields.size());
  };
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), "200 alive 1");
  EXPECT_EQ(read("HTTP/1.1 200\r\n\r\n"), "200 alive 0");
  EXPECT_EQ(read("HTTP/1.1 503 \r\nConnection: close\r\n\r\n"), "503 close 0");
  EXPECT_EQ(read("HTTP/1.0 200 x\x80y\r\n\r\n"), "200 close 0");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), "200 alive chunked 0");
  const std::string whole = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read(whole.substr(0, size)), "more") << size;
  }
  for (const char* bad :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 600 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\n\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nHost: h\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    EXPECT_EQ(read(bad), "refused") << bad;
  }
}

TEST(H1Head, TrailersHaveNothingAboutFraming) {
  H1Head good;
  ASSERT_EQ(good.scan_trailers("A: b\r\nTE: x\r\n\r\n", {}), Result::complete);
  EXPECT_EQ(good.head().fields.size(), 1U);
  for (const char* bad : {"Content-Length: 1\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n",
                          "Host: h\r\n\r\n", "A\r\n\r\n"}) {
    H1Head head;
    EXPECT_EQ(head.scan_trailers(bad, {}), Result::refused) << bad;
  }
}

TEST(H1Head, HopFieldsHaveNoCase) {
  EXPECT_TRUE(is_hop_field("Transfer-Encoding"));
  EXPECT_TRUE(is_hop_field("te"));
  EXPECT_TRUE(is_hop_field("HOST"));
  EXPECT_FALSE(is_hop_field("hose"));
  EXPECT_FALSE(is_hop_field("expect"));
  EXPECT_FALSE(is_hop_field(""));
  EXPECT_FALSE(is_hop_field(std::string(100, 'x')));
}

}  // namespace
}  // namespace damper::http
