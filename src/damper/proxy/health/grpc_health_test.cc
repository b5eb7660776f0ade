#include "damper/proxy/health/grpc_health.h"

#include <gtest/gtest.h>

#include <string>

namespace damper::proxy {
namespace {

using namespace std::string_literals;

// A message with its prefix.
std::string framed(const std::string& message) {
  return std::string(4, '\0') + static_cast<char>(message.size()) + message;
}

TEST(GrpcHealth, WritesTheRequest) {
  EXPECT_EQ(grpc_health_request(""), "\0\0\0\0\0"s);
  EXPECT_EQ(grpc_health_request("a.B"), "\0\0\0\0\x05\x0a\x03"s + "a.B");
  EXPECT_EQ(grpc_health_request(std::string(200, 'x')),
            "\0\0\0\0\xcb\x0a\xc8\x01"s + std::string(200, 'x'));
}

TEST(GrpcHealth, ReadsTheStatus) {
  EXPECT_EQ(find_grpc_health(framed("\x08\x01")), kGrpcServing);
  EXPECT_EQ(find_grpc_health(framed("\x08\x02")), 2U);
  EXPECT_EQ(find_grpc_health(framed("")), 0U);
  EXPECT_EQ(find_grpc_health(framed("\x08\x01\x08\x02")), 2U);  // The last one.
  // Unknown fields of all wire types are skipped.
  EXPECT_EQ(find_grpc_health(
                framed("\x10\x05\x1a\x02xy\x25"s + "abcd" + "\x29"s + "abcdefgh" + "\x08\x01"s)),
            1U);
}

TEST(GrpcHealth, RefusesWhatIsNoMessage) {
  EXPECT_FALSE(find_grpc_health(""));
  EXPECT_FALSE(find_grpc_health("\0\0\0\0"s));
  EXPECT_FALSE(find_grpc_health("\x01\0\0\0\x02\x08\x01"s));    // compressed
  EXPECT_FALSE(find_grpc_health("\0\0\0\0\x03\x08\x01"s));      // too short
  EXPECT_FALSE(find_grpc_health("\0\0\0\0\x02\x08\x01\x08"s));  // too long
  EXPECT_FALSE(find_grpc_health(framed("\x08")));               // no value
  EXPECT_FALSE(find_grpc_health(framed("\x08" + std::string(11, '\xff'))));
  EXPECT_FALSE(find_grpc_health(framed("\x1a\x05x")));  // longer than the message
  EXPECT_FALSE(find_grpc_health(framed("\x0b\x01")));   // a group
  EXPECT_FALSE(find_grpc_health(framed("\0\x01"s)));    // field 0
}

}  // namespace
}  // namespace damper::proxy
