#include "damper/http/codec/h2_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace damper::http {
namespace {

using State = H2FieldReader::State;

std::string read(const std::vector<Field>& fields, std::size_t max_bytes = 4096,
                 std::size_t max_fields = 10) {
  H2FieldReader reader(max_bytes, max_fields);
  for (const Field& field : fields) reader.add(field.name, field.value);
  Head head;
  const bool request = !fields.empty() && fields.front().name != ":status";
  switch (request ? reader.read_request(head) : reader.read_response(head)) {
    case State::malformed: return "malformed";
    case State::too_large: return "too_large";
    case State::good: break;
  }
  std::string text = request ? std::string(head.method) + " " + std::string(head.scheme) + " " +
                                   std::string(head.authority) + " " + std::string(head.target)
                             : std::to_string(head.status);
  for (const Field& field : head.fields) {
    text += " " + std::string(field.name) + "=" + std::string(field.value);
  }
  if (head.content_length) text += " length=" + std::to_string(*head.content_length);
  return text;
}

std::vector<Field> get(std::vector<Field> more = {}) {
  std::vector<Field> fields = {
      {":method", "GET"}, {":scheme", "https"}, {":authority", "h"}, {":path", "/x"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

TEST(H2FieldReader, MakesAHeadWithoutWhatIsAboutFraming) {
  EXPECT_EQ(read(get({{"a", "b"}, {"te", "trailers"}, {"content-length", "5"}})),
            "GET https h /x a=b length=5");
  EXPECT_EQ(read({{":status", "204"}, {"a", "b"}}), "204 a=b");
  EXPECT_EQ(read({{":method", "CONNECT"}, {":authority", "h:1"}}), "CONNECT  h:1 h:1");
  EXPECT_EQ(read({{":method", "OPTIONS"}, {":scheme", "http"}, {":path", "*"}}), "OPTIONS http  *");
}

TEST(H2FieldReader, HostIsTheAuthorityAndMustNotContradictIt) {
  EXPECT_EQ(read({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"host", "o"}}),
            "GET http o /");
  EXPECT_EQ(read(get({{"host", "H"}})), "GET https H /x");
  EXPECT_EQ(read(get({{"host", "other"}})), "malformed");
}

TEST(H2FieldReader, CookieCrumbsAreJoined) {
  EXPECT_EQ(read(get({{"cookie", "a=1"}, {"x", "y"}, {"cookie", "b=2"}})),
            "GET https h /x x=y cookie=a=1; b=2");
}

TEST(H2FieldReader, WhatHttp1CouldNotSayIsMalformed) {
  EXPECT_EQ(read(get({{"a", "b\r\nc: d"}})), "malformed");
  EXPECT_EQ(read(get({{"a", std::string_view("b\0", 2)}})), "malformed");
  EXPECT_EQ(read(get({{"a:b", "c"}})), "malformed");
  EXPECT_EQ(read(get({{"transfer-encoding", "chunked"}})), "malformed");
  EXPECT_EQ(read(get({{"connection", "close"}})), "malformed");
  EXPECT_EQ(read(get({{"content-length", "5"}, {"content-length", "5"}})), "malformed");
  EXPECT_EQ(read(get({{"content-length", "+5"}})), "malformed");
  EXPECT_EQ(read(get({{":method", "GET"}})), "malformed");
  EXPECT_EQ(read(get({{":protocol", "websocket"}})), "malformed");
  for (const char* path : {"", "x", "/a b", "/a\r\nb", "/#", "*", "/\x80"}) {
    EXPECT_EQ(read({{":method", "GET"}, {":scheme", "http"}, {":path", path}}), "malformed");
  }
  for (const char* method : {"", "G T", "GET\n"}) {
    EXPECT_EQ(read({{":method", method}, {":scheme", "http"}, {":path", "/"}}), "malformed");
  }
  EXPECT_EQ(read({{":method", "GET"}, {":scheme", "ftp"}, {":path", "/"}}), "malformed");
  for (const char* status : {"", "20", "099", "600", "2000", "20x", "101"}) {
    EXPECT_EQ(read({{":status", status}}), "malformed") << status;
  }
}

TEST(H2FieldReader, SizesAreCountedAsTheyCome) {
  EXPECT_EQ(read(get(), 4 * 32 + 7 + 3 + 7 + 5 + 10 + 1 + 5 + 2), "GET https h /x");
  EXPECT_EQ(read(get(), 4 * 32 + 7 + 3 + 7 + 5 + 10 + 1 + 5 + 2 - 1), "too_large");
  EXPECT_EQ(read(get({{"a", "1"}, {"b", "2"}}), 4096, 2), "GET https h /x a=1 b=2");
  EXPECT_EQ(read(get({{"a", "1"}, {"b", "2"}, {"c", "3"}}), 4096, 2), "too_large");
}

TEST(H2FieldReader, TrailersHaveNothingAboutFraming) {
  Head head;
  H2FieldReader good(4096, 10);
  good.add("a", "b");
  EXPECT_EQ(good.read_trailers(head), State::good);
  EXPECT_EQ(head.fields.size(), 1U);
  for (const Field& field : {Field{":status", "200"}, Field{"host", "h"},
                             Field{"content-length", "1"}, Field{":method", "GET"}}) {
    H2FieldReader bad(4096, 10);
    bad.add(field.name, field.value);
    EXPECT_EQ(bad.read_trailers(head), State::malformed);
  }
}

std::string text(H2FieldWriter& writer) {
  std::string all;
  for (const nghttp2_nv& nv : writer.list()) {
    all += std::string(reinterpret_cast<const char*>(nv.name), nv.namelen) + "=" +
           std::string(reinterpret_cast<const char*>(nv.value), nv.valuelen) + " ";
  }
  return all;
}

TEST(H2FieldWriter, NamesAreLowerCaseAndHopFieldsLeftOut) {
  const std::array fields = {Field{"X-Y", "Z"}, Field{"Connection", "close"}, Field{"Host", "o"},
                             Field{"a", "b\nc"}, Field{"content-type", "application/grpc+proto"}};
  H2FieldWriter request;
  request.add_request({.method = "POST", .authority = "h", .target = "/x", .fields = fields}, 5);
  EXPECT_EQ(text(request),
            ":method=POST :scheme=https :path=/x :authority=h x-y=Z "
            "content-type=application/grpc+proto content-length=5 te=trailers ");
  H2FieldWriter response;
  response.add_response({.status = 200, .fields = std::span(fields).first(2)}, std::nullopt);
  EXPECT_EQ(text(response), ":status=200 x-y=Z ");
  H2FieldWriter connect;
  connect.add_request({.method = "CONNECT", .authority = "h:1", .target = "h:1"}, std::nullopt);
  EXPECT_EQ(text(connect), ":method=CONNECT :authority=h:1 ");
}

}  // namespace
}  // namespace damper::http
