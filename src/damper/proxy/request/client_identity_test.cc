#include "damper/proxy/request/client_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/http/codec/message.h"

namespace damper::proxy {
namespace {

// The client of a trusted peer's request with these lines of x-forwarded-for.
std::string client_of(const std::vector<std::string>& lines) {
  http::FieldList fields;
  for (const std::string& line : lines) fields.add("X-Forwarded-For", line);
  ClientIdentity identity;
  identity.read(Trust::of(std::vector<std::string>{"10.0.0.0/8"}, false), {.address = "10.0.0.1"},
                fields.view());
  return identity.address;
}

TEST(ClientIdentity, SeveralLinesAreReadAsOne) {
  EXPECT_EQ(client_of({"6.6.6.6", "10.0.0.2"}), "6.6.6.6");
  EXPECT_EQ(client_of({"6.6.6.6, 10.0.0.2"}), "6.6.6.6");
  EXPECT_EQ(client_of({"6.6.6.6", "9.9.9.9"}), "9.9.9.9");
  EXPECT_EQ(client_of({"6.6.6.6", "unknown"}), "10.0.0.1");
  EXPECT_EQ(client_of({"6.6.6.6, unknown"}), "10.0.0.1");
  EXPECT_EQ(client_of({"6.6.6.6", "unknown, 10.0.0.2", "10.0.0.3"}), "10.0.0.2");
  EXPECT_EQ(client_of({"6.6.6.6", ""}), "6.6.6.6");
  EXPECT_EQ(client_of({"6.6.6.6,"}), "6.6.6.6");
}

}  // namespace
}  // namespace damper::proxy
