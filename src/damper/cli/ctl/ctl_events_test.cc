#include "damper/cli/ctl/ctl_events.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace damper::cli {
namespace {

constexpr std::string_view kText =
    "retry: 2000\n\n"
    "event: missed\ndata: {\"after\":1,\"next\":5}\n\n"
    "id: 5\nevent: breaker_opened\ndata: {\"time\":\"2026-11-15T02:13:07.123Z\",\"event\":"
    "\"breaker_opened\",\"key\":\"checkout\",\"length\":\"1.5s\"}\n\n"
    ": heartbeat\n\n"
    "id: 6\nevent: recovered\ndata: {\"time\":\"2026-11-15T02:13:09.000Z\",\"event\":\"recovered\","
    "\"key\":\"a\\u001b\",\"count\":12}\n\n"
    "id: 7\nevent: odd\ndata: nonsense\n\n";

TEST(CtlEvents, AreALineEach) {
  std::ostringstream out;
  EXPECT_EQ(print_events(out, kText, false, {}), "7");
  EXPECT_EQ(out.str(),
            "... some are no longer kept ...\n"
            "2026-11-15T02:13:07.123Z  breaker_opened     checkout  for 1.5s\n"
            "2026-11-15T02:13:09.000Z  recovered          a\\u001b  count 12\n");
}

TEST(CtlEvents, AreJsonForPrograms) {
  std::ostringstream out;
  EXPECT_EQ(print_events(out, "id: 5\ndata: {\"time\":\"x\"}\n\n", true, {}), "5");
  EXPECT_EQ(out.str(), "{\"time\":\"x\"}\n");
}

TEST(CtlEvents, NothingIsNothing) {
  std::ostringstream out;
  EXPECT_EQ(print_events(out, "", false, {}), "");
  EXPECT_EQ(print_events(out, "retry: 2000\n\n: that is all\n\n", false, {}), "");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace damper::cli
