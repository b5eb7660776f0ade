#include "damper/proxy/control/fleet_watch.h"

#include <gtest/gtest.h>

#include "damper/base/text/base64.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;

std::string kv(const std::string& key, const std::string& value, int revision) {
  return R"({"key":")" + text::to_base64("/d/" + key) + R"(","value":")" + text::to_base64(value) +
         R"(","mod_revision":")" + std::to_string(revision) + "\"}";
}
std::string range(int revision, const std::string& kvs) {
  return R"({"header":{"revision":")" + std::to_string(revision) + R"("},"kvs":[)" + kvs + "]}";
}
std::string line(int revision, const std::string& rest) {
  return R"({"result":{"header":{"revision":")" + std::to_string(revision) + "\"}," + rest + "}}\n";
}
const std::string kCreated = R"("created":true)";

// What a step says, in one line.
std::string told(const FleetStep& step) {
  std::string out;
  if (step.close) out += "close ";
  if (step.send) out += step.send->path + '@' + std::to_string(step.send->endpoint) + ' ';
  for (const auto& change : step.changes) {
    out += (change.is_policy ? "policy" : change.scope) + '=' + change.text.value_or("gone") + ' ';
  }
  if (step.restored) out += "restored ";
  if (!step.lost.empty()) out += "lost(" + step.lost + ") ";
  const auto wake =
      std::chrono::duration_cast<std::chrono::milliseconds>(step.wake.time_since_epoch());
  return out + std::to_string(wake.count());
}

class FleetWatchTest : public testing::Test {
 protected:
  FleetWatchTest() : watch_({.prefix = "/d", .endpoints = 3}, {}) {}

  std::string read(Instant now, const std::string& answer) {
    EXPECT_EQ(told(watch_.on_bytes(answer, now, 0)).find("close"), std::string::npos);
    return told(watch_.on_end(true, "", now, 0));
  }

  FleetWatch watch_;
};

TEST_F(FleetWatchTest, ReadsThenWatchesFromTheRevisionAfter) {
  const FleetStep first = watch_.start(Instant{0s}, 0.5);
  EXPECT_EQ(told(first), "close /v3/kv/range@1 5000");
  EXPECT_EQ(first.send->body, etcd_range("/d"));
  EXPECT_EQ(told(watch_.on_status(200, Instant{1s}, 0)), "5000");
  EXPECT_EQ(read(Instant{1s}, range(7, kv("policy", "A", 5) + ',' + kv("switches/x", "off", 6))),
            "/v3/watch@1 policy=A x=off 61000");
  EXPECT_EQ(watch_.fleet(), (Fleet{"A", {{"x", "off"}}, 7}));
  EXPECT_TRUE(watch_.is_connected());
}

TEST_F(FleetWatchTest, AWatchTellsOfChangesOnceHoweverTheBytesCome) {
  (void)watch_.start(Instant{0s}, 0);
  (void)read(Instant{0s}, range(7, kv("policy", "A", 5)));
  const std::string all =
      line(7, kCreated) + line(8, R"("events":[{"kv":)" + kv("policy", "B", 8) + "}]") +
      line(9, R"("events":[{"kv":)" + kv("switches/r", "1", 9) + R"(},{"type":"DELETE","kv":)" +
                  kv("switches/none", "", 9) + R"(},{"kv":)" + kv("other", "1", 9) + "}]");
  std::string heard;
  for (const char byte : all) {
    for (const auto& change : watch_.on_bytes(std::string_view(&byte, 1), Instant{1s}, 0).changes) {
      heard += change.text.value_or("gone") + ' ';
    }
  }
  EXPECT_EQ(heard, "B 1 ");
  EXPECT_EQ(watch_.fleet(), (Fleet{"B", {{"r", "1"}}, 9}));
  EXPECT_EQ(watch_.last_response(), Instant{1s});
}

TEST_F(FleetWatchTest, AReadReportsWhatDiffersAndWhatIsGone) {  // Invariants (2) and (3).
  FleetWatch watch({.prefix = "/d"}, {"A", {{"x", "1"}, {"y", "1"}}, 3});
  (void)watch.start(Instant{0s}, 0);
  (void)watch.on_bytes(range(9, kv("switches/y", "2", 8)), Instant{0s}, 0);
  EXPECT_EQ(told(watch.on_end(true, "", Instant{0s}, 0)), "/v3/watch@0 y=2 x=gone 60000");
  EXPECT_EQ(watch.fleet(), (Fleet{"A", {{"y", "2"}}, 9}));
}

TEST_F(FleetWatchTest, AFailureWaitsLongerEachTimeAndAsksAnother) {  // Invariant (1).
  (void)watch_.start(Instant{0s}, 0);
  EXPECT_EQ(told(watch_.on_end(false, "connect_refused", Instant{0s}, 0)),
            "close lost(connect_refused) 250");
  EXPECT_EQ(told(watch_.on_timer(Instant{200ms}, 0)), "250");
  EXPECT_EQ(told(watch_.on_timer(Instant{250ms}, 0)), "close /v3/kv/range@1 5250");
  EXPECT_EQ(told(watch_.on_status(503, Instant{1s}, 0)), "close 1500");
  EXPECT_EQ(told(watch_.on_timer(Instant{1500ms}, 0)), "close /v3/kv/range@2 6500");
  EXPECT_EQ(told(watch_.on_timer(Instant{6500ms}, 0)), "close 7500");
  EXPECT_EQ(told(watch_.on_timer(Instant{7500ms}, 0)), "close /v3/kv/range@0 12500");
  EXPECT_EQ(watch_.errors(), 3U);
  EXPECT_FALSE(watch_.is_connected());
  // An answer, but no watch that comes about: it is no reason to be quick again.
  EXPECT_EQ(read(Instant{8s}, range(1, "")), "/v3/watch@0 restored 68000");
  EXPECT_EQ(told(watch_.on_end(false, "reset", Instant{8s}, 0)), "close lost(reset) 10000");
  (void)watch_.on_timer(Instant{10s}, 0);
  (void)read(Instant{10s}, range(1, ""));
  (void)watch_.on_bytes(line(1, kCreated), Instant{10s}, 0);
  EXPECT_EQ(told(watch_.on_end(true, "", Instant{10s}, 0)),
            "close lost(etcd ended the watch) 10250");
}

TEST_F(FleetWatchTest, AWatchIsEndedAfterItsTimeAndAllIsReadAgain) {
  (void)watch_.start(Instant{0s}, 0);
  (void)read(Instant{0s}, range(7, ""));
  EXPECT_EQ(told(watch_.on_timer(Instant{59s}, 0)), "60000");
  EXPECT_EQ(told(watch_.on_timer(Instant{60s}, 0)), "close /v3/kv/range@0 65000");
}

TEST_F(FleetWatchTest, NonsenseIsAFailureAndChangesNothing) {
  for (const std::string& answer : {std::string("x"), std::string("{}"), range(7, R"({"key":"!"})"),
                                    std::string(R"({"error":"no"})")}) {
    FleetWatch watch({.prefix = "/d"}, {"A", {{"x", "1"}}, 3});
    (void)watch.start(Instant{0s}, 0);
    (void)watch.on_bytes(answer, Instant{0s}, 0);
    const FleetStep step = watch.on_end(true, "", Instant{0s}, 0);
    EXPECT_TRUE(step.close && step.changes.empty() && !step.lost.empty()) << answer;
    EXPECT_EQ(watch.fleet(), (Fleet{"A", {{"x", "1"}}, 3}));
  }
  (void)watch_.start(Instant{0s}, 0);
  (void)read(Instant{0s}, range(7, ""));
  const FleetStep step = watch_.on_bytes(
      line(8, R"("events":[{"kv":)" + kv("policy", "B", 8) + "}]") + line(9, R"("canceled":true)"),
      Instant{0s}, 0);
  EXPECT_EQ(told(step), "close policy=B lost(etcd canceled the watch) 250");
}

TEST_F(FleetWatchTest, AnAnswerWithoutEndIsCutOff) {  // Invariant (4).
  (void)watch_.start(Instant{0s}, 0);
  EXPECT_FALSE(watch_.on_bytes(std::string(kMostEtcdBytes, ' '), Instant{0s}, 0).close);
  EXPECT_TRUE(watch_.on_bytes(" ", Instant{0s}, 0).close);
  EXPECT_EQ(told(watch_.on_bytes("late", Instant{0s}, 0)), "250");  // Of a request that is gone.
}

}  // namespace
}  // namespace damper::proxy
