#include "damper/proxy/request/kept_message.h"

#include <gtest/gtest.h>

#include <array>

namespace damper::proxy {
namespace {

TEST(KeptHead, OutlivesWhatItWasMadeOf) {
  KeptHead kept;
  {
    std::string text = "GET|http|a.example|/x?y=1|websocket|accept|*/*|x-empty|";
    const auto part = [&](std::size_t at, std::size_t size) {
      return std::string_view(text).substr(at, size);
    };
    const std::array<http::Field, 2> fields = {http::Field{part(36, 6), part(43, 3)},
                                               http::Field{part(47, 7), {}}};
    kept.keep({.method = part(0, 3),
               .scheme = part(4, 4),
               .authority = part(9, 9),
               .target = part(19, 6),
               .fields = fields,
               .content_length = 7,
               .upgrade = part(26, 9)});
    text.assign(text.size(), '#');
  }
  const http::Head& head = kept.head();
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.scheme, "http");
  EXPECT_EQ(head.authority, "a.example");
  EXPECT_EQ(head.target, "/x?y=1");
  EXPECT_EQ(head.upgrade, "websocket");
  EXPECT_EQ(head.content_length, 7U);
  ASSERT_EQ(head.fields.size(), 2U);
  EXPECT_EQ(head.fields[0].name, "accept");
  EXPECT_EQ(head.fields[0].value, "*/*");
  EXPECT_EQ(head.fields[1].name, "x-empty");
  EXPECT_EQ(head.fields[1].value, "");
}

TEST(KeptHead, IsEmptyAfterClearAndCanBeUsedAgain) {
  KeptHead kept;
  const std::string large(20'000, 'x');
  const std::array<http::Field, 1> fields = {http::Field{"name", large}};
  kept.keep(fields);
  EXPECT_EQ(kept.head().fields[0].value, large);
  kept.clear();
  EXPECT_TRUE(kept.head().fields.empty());
  kept.keep({.status = 404});
  EXPECT_EQ(kept.head().status, 404);
}

}  // namespace
}  // namespace damper::proxy
