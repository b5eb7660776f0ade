#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "damper/webhooks/dispatch/dispatcher_testing.h"
#include "damper/webhooks/model/trace_context.h"

namespace damper::webhooks {
namespace {

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class DispatcherTrace : public testing::Test {
 protected:
  // The values of traceparent that arrive with the attempts of a message: two failures, a success.
  std::vector<std::string> arrived(const std::string& traceparent) {
    std::vector<std::string> seen;
    TestReceiver receiver(loop, [&](const http::ExchangePtr& exchange) {
      seen.emplace_back(exchange->request().fields.find("traceparent").value_or("none"));
      TestReceiver::respond(exchange, seen.size() < 3 ? 503 : 200);
    });
    DispatcherOptions options = test_options();
    options.policy.retries = *schedule::ListedDelays::from(
        std::vector<Duration>(5, std::chrono::milliseconds(1)), Percent(0));
    TestDispatcher test(loop, folder.file("w.db"), options);
    const Id endpoint = test.add_endpoint(receiver.url());
    const UnixTime now = run::wall_time();
    NewMessage message{.message = {.id = test.ids.next(now),
                                   .application = "default",
                                   .type = "a",
                                   .payload = "{}",
                                   .created = now,
                                   .traceparent = traceparent},
                       .endpoints = {endpoint}};
    test.store->accept(std::move(message), [&](const auto& result) {
      EXPECT_TRUE(result);
      loop.post([&test, endpoint, now] { test.dispatcher->on_due({&endpoint, 1}, now); });
    });
    EXPECT_TRUE(turn_until(loop, [&] { return test.dispatcher->totals().delivered == 1; }));
    EXPECT_EQ(receiver.invalid, 0);
    return seen;
  }

  http::Loop loop;
  TestFolder folder;
};

TEST_F(DispatcherTrace, EachAttemptIsASpanOfItsOwnInTheTraceOfTheMessage) {
  const TraceContext sent = *TraceContext::find(kTrace);
  std::set<std::string> spans = {sent.span_id};
  for (const std::string& text : arrived(kTrace)) {
    const auto seen = TraceContext::find(text);
    ASSERT_TRUE(seen) << text;
    EXPECT_EQ(seen->trace_id, sent.trace_id);
    EXPECT_EQ(seen->flags, sent.flags);
    spans.insert(seen->span_id);
  }
  EXPECT_EQ(spans.size(), 4U);
}

TEST_F(DispatcherTrace, AMessageWithoutATraceSendsNone) {
  EXPECT_EQ(arrived(""), (std::vector<std::string>(3, "none")));
}

TEST_F(DispatcherTrace, ATextThatIsNoTraceIsNotSent) {
  EXPECT_EQ(arrived("00-x\r\nX-Other: 1"), (std::vector<std::string>(3, "none")));
}

}  // namespace
}  // namespace damper::webhooks
