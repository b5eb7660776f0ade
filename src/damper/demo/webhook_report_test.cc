#include "damper/demo/webhook_report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace damper::demo {
namespace {

using namespace std::chrono_literals;

// Two messages for two endpoints; the second one is dead.
WebhookDemoRecord small_record() {
  WebhookDemoRecord record;
  record.lanes = {{.plan = {.name = "shop", .down = 1s},
                   .expected = 2,
                   .counts = {.first = 2, .again = 3, .accepted = 2, .duplicates = 1},
                   .first = {2, 0, 0},
                   .again = {0, 1, 2}},
                  {.plan = {.name = "dead", .refuses = true},
                   .expected = 2,
                   .first = {0, 0, 0},
                   .again = {0, 0, 0}}};
  record.accepted = 2;
  record.repeated = 1;
  record.down = 0s;
  record.killed = 100ms;
  record.restarted = 200ms;
  record.resumed = 300ms;
  record.waiting = 1;
  record.dead = 1;
  record.whole = true;
  return record;
}

std::string report_of(const WebhookDemoRecord& record) {
  std::ostringstream out;
  print_webhook_report(out, {}, record, {});
  return out.str();
}

TEST(WebhookReport, TheCountsAddUp) {
  const WebhookDemoRecord record = small_record();
  EXPECT_EQ(expected(record), 4);
  EXPECT_EQ(delivered(record), 2);
  EXPECT_EQ(duplicates(record), 1);
  EXPECT_TRUE(kept_its_promise(record));
  const std::string text = report_of(record);
  EXPECT_NE(
      text.find("accepted          4  of 2 messages, each answered 202; 1 request sent again"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\ndelivered         2\nwaiting           1  "), std::string::npos) << text;
  EXPECT_NE(text.find("\nlost              0\nduplicates        1  "), std::string::npos) << text;
  EXPECT_NE(text.find("shop (503 for 1s), retries\n  20│"), std::string::npos) << text;
  EXPECT_EQ(text.find("dead ("), std::string::npos) << text;  // Nothing arrives there.
}

TEST(WebhookReport, ALossOrAnInvalidSignatureBreaksThePromise) {
  WebhookDemoRecord lost = small_record();
  lost.lost = 1;
  EXPECT_FALSE(kept_its_promise(lost));
  WebhookDemoRecord invalid = small_record();
  invalid.lanes[0].counts.invalid = 1;
  EXPECT_FALSE(kept_its_promise(invalid));
  WebhookDemoRecord stopped = small_record();
  stopped.whole = false;
  EXPECT_FALSE(kept_its_promise(stopped));
  EXPECT_NE(report_of(stopped).find("It was stopped before"), std::string::npos);
}

TEST(WebhookReport, TheProgressSaysWhenItIsKilled) {
  WebhookDemoRecord record = small_record();
  EXPECT_EQ(webhook_line(record), "  0.3s        accepted     2  delivered: shop     2 dead     0");
  record.restarted.reset();
  EXPECT_EQ(webhook_line(record), "  0.3s KILLED accepted     2  delivered: shop     2 dead     0");
}

TEST(WebhookReport, ThePlotSaysWhatWillHappen) {
  std::ostringstream out;
  print_webhook_plot(out, {});
  EXPECT_NE(out.str().find("1,000 messages, 125 a second"), std::string::npos);
  EXPECT_NE(out.str().find("answers 503 for 10s"), std::string::npos);
}

}  // namespace
}  // namespace damper::demo
