#include "damper/http/codec/h1_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace damper::http {
namespace {

TEST(H1Writer, ARequestHasItsHostAndFraming) {
  const std::array fields = {Field{"a", "b"}, Field{"c", ""}};
  std::string out = "before";
  append_request(out, {.method = "POST", .authority = "h:1", .target = "/x", .fields = fields},
                 {.framing = H1Framing::length, .content_length = 12});
  EXPECT_EQ(out,
            "beforePOST /x HTTP/1.1\r\nHost: h:1\r\na: b\r\nc: \r\nContent-Length: 12\r\n\r\n");
}

TEST(H1Writer, AnAnswerSaysWhatBecomesOfTheConnection) {
  std::string out;
  append_response(out, {.status = 200}, {.framing = H1Framing::chunked, .close = true});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  out.clear();
  append_response(out, {.status = 599}, {.keep_alive = true});
  EXPECT_EQ(out, "HTTP/1.1 599 \r\nConnection: keep-alive\r\n\r\n");
  out.clear();
  append_response(out, {.status = 101, .upgrade = "websocket"}, {});
  EXPECT_EQ(
      out, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  out.clear();
  append_refusal(out, 431);
  EXPECT_EQ(out,
            "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n");
}

TEST(H1Writer, NoFieldOfAUserCanAddALineOrChangeTheFraming) {
  const std::array fields = {Field{"a", "b\r\nc: d"},
                             Field{"e\r\nf", "g"},
                             Field{"", "x"},
                             Field{"transfer-encoding", "chunked"},
                             Field{"Content-Length", "5"},
                             Field{"Host", "other"},
                             Field{"connection", "close"},
                             Field{"good", "1"}};
  std::string out;
  append_response(out, {.status = 200, .fields = fields}, {});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\ngood: 1\r\n\r\n");
}

TEST(H1Writer, ARequestThatCouldBeReadAsTwoIsNotWritable) {
  const auto writable = [](std::string_view method, std::string_view target,
                           std::string_view authority) {
    return is_writable_request({.method = method, .authority = authority, .target = target});
  };
  EXPECT_TRUE(writable("GET", "/", ""));
  EXPECT_TRUE(writable("CONNECT", "h:1", "h:1"));
  EXPECT_FALSE(writable("", "/", "h"));
  EXPECT_FALSE(writable("GE T", "/", "h"));
  EXPECT_FALSE(writable("GET", "", "h"));
  EXPECT_FALSE(writable("GET", "/ HTTP/1.1\r\nA: b", "h"));
  EXPECT_FALSE(writable("GET", "/", "h\r\nA: b"));
}

TEST(H1Writer, ChunksHaveTheirSizeAndAnEnd) {
  std::string out;
  append_chunk_size(out, 0x1ff);
  EXPECT_EQ(out, "1ff\r\n");
  const std::array trailers = {Field{"a", "b"}, Field{"x", "\n"}};
  out.clear();
  append_last_chunk(out, trailers);
  EXPECT_EQ(out, "0\r\na: b\r\n\r\n");
  out.clear();
  append_chunk_size(out, static_cast<std::size_t>(-1));
  EXPECT_EQ(out, "ffffffffffffffff\r\n");
}

TEST(H1Writer, EveryStatusHasAPhraseOrNone) {
  EXPECT_EQ(reason_phrase(429), "Too Many Requests");
  EXPECT_EQ(reason_phrase(299), "");
}

}  // namespace
}  // namespace damper::http
