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

TEST(KeptBody, KeepsWhatIsUnderItsBoundHoweverMuchIsTaken) {
  KeptBody body;
  body.begin(10);
  body.append("hello");
  EXPECT_EQ(body.try_consume(), 5U);
  EXPECT_FALSE(body.try_drop(5));
  body.append("world");  // 10: just the bound
  EXPECT_EQ(body.try_consume(), 5U);
  EXPECT_FALSE(body.try_drop(10));
  EXPECT_EQ(body.from(0), "helloworld");
  EXPECT_EQ(body.from(10), "");
  EXPECT_EQ(body.try_consume(), 0U);
}

TEST(KeptBody, TrapP1_DropsNothingOfALargeBodyWhileNothingWasTaken) {  // Invariants (1), (3).
  KeptBody body;
  body.begin(4);
  body.append("hello world");
  EXPECT_EQ(body.try_consume(), 4U);  // The client waits with the rest.
  EXPECT_FALSE(body.try_drop(0));
  EXPECT_EQ(body.from(0), "hello world");
  EXPECT_TRUE(body.try_drop(3));
  EXPECT_EQ(body.begin(), 3U);
  EXPECT_EQ(body.from(3), "lo world");  // 8 kept, 4 beyond the bound
  EXPECT_EQ(body.try_consume(), 3U);
  EXPECT_TRUE(body.try_drop(11));
  EXPECT_EQ(body.try_consume(), 4U);
  EXPECT_EQ(body.size(), 0U);
}

TEST(KeptBody, OnceSomethingIsDroppedWhateverIsTakenIs) {
  KeptBody body;
  body.begin(4);
  body.append("hello");
  EXPECT_TRUE(body.try_drop(1));
  EXPECT_TRUE(body.try_drop(4));  // Though one byte alone is kept.
  EXPECT_EQ(body.from(4), "o");
  body.append("!");
  EXPECT_EQ(body.from(4), "o!");
  EXPECT_EQ(body.end(), 6U);
}

TEST(KeptBody, KeepsNothingThatWasTakenWhenNobodyNeedsItAgain) {  // Invariant (2).
  KeptBody body;
  body.begin(100);
  body.append("hello");
  body.stop_keeping();
  EXPECT_TRUE(body.try_drop(2));
  EXPECT_FALSE(body.try_drop(2));
  EXPECT_EQ(body.from(2), "llo");
  EXPECT_EQ(body.try_consume(), 5U);
}

TEST(KeptBody, WithoutABoundItIsAPipe) {
  KeptBody body;
  body.begin(0);
  body.append("ab");
  EXPECT_EQ(body.try_consume(), 0U);
  EXPECT_TRUE(body.try_drop(2));
  EXPECT_EQ(body.try_consume(), 2U);
  body.on_end();
  EXPECT_TRUE(body.has_ended());
  body.begin(1);
  EXPECT_FALSE(body.has_ended());
  EXPECT_EQ(body.end(), 0U);
}

}  // namespace
}  // namespace damper::proxy
