#include "damper/proxy/admin/serial_executor.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace damper::proxy {
namespace {

TEST(SerialExecutor, DoesOneThingAfterAnother) {
  std::string done;
  std::promise<void> last;
  SerialExecutor executor(10);
  for (const char c : std::string("abc")) {
    ASSERT_TRUE(executor.try_post([&done, c] { done += c; }));
  }
  ASSERT_TRUE(executor.try_post([&] { last.set_value(); }));
  last.get_future().wait();
  EXPECT_EQ(done, "abc");  // (1)
}

TEST(SerialExecutor, RefusesWhatIsTooMuch) {
  std::promise<void> begun;
  std::promise<void> go_on;
  SerialExecutor executor(1);
  ASSERT_TRUE(executor.try_post([&] {
    begun.set_value();
    go_on.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(executor.try_post([] {}));
  EXPECT_FALSE(executor.try_post([] {}));  // (2)
  go_on.set_value();
}

}  // namespace
}  // namespace damper::proxy
