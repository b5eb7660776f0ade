#include "damper/proxy/request/request_id.h"

#include <gtest/gtest.h>

#include <set>

namespace damper::proxy {
namespace {

TEST(RequestId, IsAUuidOfVersionFourAndNeverTheSame) {
  std::set<std::string> seen;
  std::string id;
  for (int i = 0; i < 1000; ++i) {
    make_request_id(id);
    ASSERT_EQ(id.size(), 36u);
    for (const std::size_t dash : {8u, 13u, 18u, 23u}) EXPECT_EQ(id[dash], '-') << id;
    EXPECT_EQ(id[14], '4') << id;
    EXPECT_NE(std::string_view("89ab").find(id[19]), std::string_view::npos) << id;
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos) << id;
    EXPECT_TRUE(seen.insert(id).second);
  }
}

}  // namespace
}  // namespace damper::proxy
