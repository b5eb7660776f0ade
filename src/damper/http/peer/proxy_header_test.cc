#include "damper/http/peer/proxy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace damper::http {
namespace {

using namespace std::string_literals;
using Status = ProxyHeader::Status;

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string binary(char command, char family, std::string_view rest) {
  return kSignature + command + family + static_cast<char>(rest.size() >> 8) +
         static_cast<char>(rest.size() & 0xff) + std::string(rest);
}

// "SIZE CLIENT", or why there is none.
std::string read(std::string_view bytes) {
  const ProxyHeader header = ProxyHeader::read(bytes);
  if (header.status == Status::malformed) return "malformed";
  if (header.status == Status::incomplete) {
    EXPECT_EQ(header.size, bytes.size());
    return "incomplete";
  }
  return std::to_string(header.size) + ' ' + (header.client ? header.client->text() : "none");
}

// Every part of a header is incomplete, and what follows a header is not its.
void expect_header(const std::string& bytes, std::string_view client) {
  const std::string expected = std::to_string(bytes.size()) + ' ' + std::string(client);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(read(std::string_view(bytes).substr(0, i)), "incomplete") << i;
  }
  EXPECT_EQ(read(bytes), expected);
  EXPECT_EQ(read(bytes + "GET / HTTP/1.1\r\n"), expected);
}

TEST(ProxyHeader, OfVersion1HasTheSourceAddress) {
  expect_header("PROXY TCP4 203.0.113.9 10.0.0.1 56324 443\r\n", "203.0.113.9");
  expect_header("PROXY TCP6 2001:db8::7 ::1 0 65535\r\n", "2001:db8::7");
  expect_header("PROXY TCP6 ::ffff:203.0.113.9 ::1 1 2\r\n", "203.0.113.9");
  expect_header("PROXY UNKNOWN\r\n", "none");
  expect_header("PROXY UNKNOWN ffff:ffff::1 whatever 1 2\r\n", "none");
}

TEST(ProxyHeader, OfVersion2HasTheSourceAddress) {
  const std::string v4 = "\xcb\0\x71\x09\x0a\0\0\x01\xdc\x04\x01\xbb"s;
  expect_header(binary(0x21, 0x11, v4), "203.0.113.9");
  expect_header(binary(0x21, 0x11, v4 + "\x04\0\x03TLV"s), "203.0.113.9");
  const std::string v6 = "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"s + std::string(20, '\1');
  expect_header(binary(0x21, 0x21, v6), "2001:db8::7");
}

TEST(ProxyHeader, OfVersion2MayBeOfNobody) {
  expect_header(binary(0x20, 0, ""), "none");                        // LOCAL
  expect_header(binary(0x20, 0x11, "\1\2\3"), "none");               // whatever it contains
  expect_header(binary(0x21, 0, "\1\2"), "none");                    // UNSPEC
  expect_header(binary(0x21, 0x31, std::string(216, '/')), "none");  // a Unix socket
}

TEST(ProxyHeader, OfVersion1IsStrict) {
  for (const char* const text :
       {"PROXY TCP4 203.0.113.9 10.0.0.1 56324 443\n", "PROXY TCP4 203.0.113.9 10.0.0.1 56324\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 56324 65536\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 056 443\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 -1 443\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 1 443 \r\n", "PROXY TCP4  203.0.113.9 10.0.0.1 1 443\r\n",
        "PROXY TCP4 2001:db8::7 ::1 1 443\r\n", "PROXY TCP6 203.0.113.9 10.0.0.1 1 443\r\n",
        "PROXY TCP4 203.0.113.9 ::1 1 443\r\n", "PROXY TCP4 203.0.113 10.0.0.1 1 443\r\n",
        "PROXY UDP4 203.0.113.9 10.0.0.1 1 443\r\n", "PROXY \r\n", "PROXY \n", "PROXY\r\n",
        "proxy UNKNOWN\r\n", "GET / HTTP/1.1\r\n", "\x16\x03\x01"}) {
    EXPECT_EQ(read(text), "malformed") << text;
  }
}

TEST(ProxyHeader, OfVersion1IsShort) {
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(91, 'x') + "\r\n"), "107 none");
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n"), "malformed");
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(92, 'x')), "incomplete");
  EXPECT_EQ(read("PROXY UNKNOWN " + std::string(93, 'x')), "malformed");
}

TEST(ProxyHeader, OfVersion2IsStrict) {
  EXPECT_EQ(read(binary(0x22, 0x11, std::string(12, '\1'))), "malformed");
  EXPECT_EQ(read(binary(0x11, 0x11, std::string(12, '\1'))), "malformed");  // version 1
  EXPECT_EQ(read(binary(0x21, 0x12, std::string(12, '\1'))), "malformed");  // UDP
  EXPECT_EQ(read(binary(0x21, 0x11, std::string(11, '\1'))), "malformed");
  EXPECT_EQ(read(binary(0x21, 0x21, std::string(35, '\1'))), "malformed");
  EXPECT_EQ(read(binary(0x21, 0x31, std::string(215, '\1'))), "malformed");
  EXPECT_EQ(read("\r\n\r\n\0\r\nQUIX"s), "malformed");
}

TEST(ProxyHeader, OfVersion2HasABound) {
  EXPECT_EQ(read(binary(0x21, 0x11, std::string(4080, '\1'))), "4096 1.1.1.1");
  EXPECT_EQ(read(binary(0x21, 0x11, std::string(4081, '\1')).substr(0, 16)), "malformed");
}

}  // namespace
}  // namespace damper::http
