#include "damper/proxy/data/gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "damper/http/net/net_testing.h"

namespace damper::proxy {
namespace {

using namespace std::chrono_literals;
using http::Admission;

struct Guest final : Gate::Guest {
  void on_let_in(Instant) override { heard += "in"; }
  void on_turned_away(Verdict verdict, Duration, Instant) override { heard += name(verdict); }
  std::string heard;
};

// One at a time; one may wait, for 20 ms.
http::AdmissionOptions narrow() {
  http::AdmissionOptions options;
  options.limit.kind = admit::LimitKind::fixed;
  options.limit.initial = options.limit.min = options.limit.max = 1;
  options.queue.capacity = 1;
  options.longest_wait = 20ms;
  return options;
}

class AGate : public ::testing::Test {
 protected:
  Admission::Answer enter(Guest& guest) {
    return gate.enter(guest, admit::Criticality::critical, kNever, loop.now()).answer;
  }
  // What there is to do now.
  void turn() {
    loop.stop();
    loop.run();
  }
  http::Loop loop;
  std::shared_ptr<SharedGate> shared = std::make_shared<SharedGate>(narrow(), 1);
  Gate gate{loop, narrow(), shared, 0};
  Guest first, second, third;
};

TEST_F(AGate, GivesAFreePlaceToWhoWaitsAtTheEndOfTheTurn) {  // Invariants (1), (2).
  EXPECT_EQ(enter(first), Admission::Answer::runs);
  EXPECT_EQ(enter(second), Admission::Answer::waits);
  gate.leave(first, false, loop.now());
  EXPECT_EQ(second.heard, "");
  turn();
  EXPECT_EQ(second.heard, "in");
  EXPECT_EQ(first.heard, "");
  gate.leave(second, false, loop.now());
  EXPECT_EQ(gate.admission().in_flight(), 0);
}

TEST_F(AGate, TurnsAwayWhoHasWaitedForTooLong) {
  EXPECT_EQ(enter(first), Admission::Answer::runs);
  EXPECT_EQ(enter(second), Admission::Answer::waits);
  const http::Watchdog watchdog(loop);
  while (second.heard.empty()) turn();
  EXPECT_EQ(second.heard, "shed");
  EXPECT_EQ(gate.admission().depth(), 0u);
}

TEST_F(AGate, SaysNothingToWhoHasLeft) {  // Invariant (1).
  EXPECT_EQ(enter(first), Admission::Answer::runs);
  EXPECT_EQ(enter(second), Admission::Answer::waits);
  gate.leave(second, true, loop.now());
  gate.leave(first, true, loop.now());
  gate.leave(first, true, loop.now());  // Nothing happens.
  turn();
  EXPECT_EQ(first.heard + second.heard, "");
  EXPECT_EQ(enter(third), Admission::Answer::runs);
  gate.leave(third, false, loop.now());
}

TEST_F(AGate, SaysAtOnceThatThereIsNoRoom) {
  EXPECT_EQ(enter(first), Admission::Answer::runs);
  EXPECT_EQ(enter(second), Admission::Answer::waits);
  const auto said = gate.enter(third, admit::Criticality::sheddable, kNever, loop.now());
  EXPECT_EQ(said.answer, Admission::Answer::refused);
  EXPECT_EQ(said.verdict, Verdict::shed);
  turn();
  EXPECT_EQ(third.heard, "");
  gate.leave(second, true, loop.now());
  gate.leave(first, true, loop.now());
}

TEST_F(AGate, AReloadLetsInWhoHasRoomNow) {
  EXPECT_EQ(enter(first), Admission::Answer::runs);
  EXPECT_EQ(enter(second), Admission::Answer::waits);
  http::AdmissionOptions wider = narrow();
  wider.limit.initial = wider.limit.min = wider.limit.max = 2;
  shared->reload(wider);
  gate.reload(wider);
  loop.poll();
  EXPECT_EQ(second.heard, "in");
  EXPECT_EQ(gate.admission().in_flight(), 2);
  gate.leave(first, false, loop.now());
  gate.leave(second, false, loop.now());
}

}  // namespace
}  // namespace damper::proxy
