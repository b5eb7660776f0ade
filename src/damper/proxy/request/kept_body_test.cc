#include "damper/proxy/request/kept_message.h"

#include <gtest/gtest.h>

namespace damper::proxy {
namespace {

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
