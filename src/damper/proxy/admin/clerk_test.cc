#include "damper/proxy/admin/clerk.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace damper::proxy {
namespace {

TEST(Clerk, DoesOneThingAfterAnother) {
  std::string done;
  std::promise<void> last;
  Clerk clerk(10);
  for (const char c : std::string("abc")) {
    ASSERT_TRUE(clerk.try_give([&done, c] { done += c; }));
  }
  ASSERT_TRUE(clerk.try_give([&] { last.set_value(); }));
  last.get_future().wait();
  EXPECT_EQ(done, "abc");  // (1)
}

TEST(Clerk, RefusesWhatIsTooMuch) {
  std::promise<void> begun;
  std::promise<void> go_on;
  Clerk clerk(1);
  ASSERT_TRUE(clerk.try_give([&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(clerk.try_give([] {}));
  EXPECT_FALSE(clerk.try_give([] {}));  // (2)
  go_on.set_value();
}

}  // namespace
}  // namespace damper::proxy
