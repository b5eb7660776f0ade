#include "damper/proxy/data/shared_gate.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "damper/http/net/net_testing.h"
#include "damper/proxy/data/gate.h"
#include "damper/run/clock.h"

namespace damper::proxy {
namespace {

using Answer = http::Admission::Answer;
using enum admit::Criticality;

// So many at once, so many in line, for as long as it takes.
http::AdmissionOptions patient(std::int32_t limit, std::int32_t capacity = 100) {
  http::AdmissionOptions options;
  options.limit.kind = admit::LimitKind::fixed;
  options.limit.initial = limit;
  options.queue.capacity = capacity;
  options.queue.interval = options.queue.target = options.longest_wait = std::chrono::hours(1);
  options.queue.longest_retry_after = std::chrono::hours(1);
  return options;
}

struct Guest final : Gate::Guest {
  void on_let_in(Instant) override { heard += "in"; }
  void on_turned_away(Verdict verdict, Duration, Instant) override { heard += name(verdict); }
  std::string heard;
};

// Loops that take turns on one thread.
class ASharedGate : public ::testing::Test {
 protected:
  struct Side {
    http::Loop loop;
    std::unique_ptr<Gate> gate;
  };
  void begin(const http::AdmissionOptions& options) {
    shared = std::make_shared<SharedGate>(options, sides.size());
    for (std::size_t i = 0; i < sides.size(); ++i) {
      sides[i].gate = std::make_unique<Gate>(sides[i].loop, options, shared, i);
    }
  }
  Answer enter(std::size_t side, Guest& guest, admit::Criticality criticality = critical) {
    Side& at = sides[side];
    return at.gate->enter(guest, criticality, kNever, at.loop.now()).answer;
  }
  void leave(std::size_t side, Guest& guest) {
    sides[side].gate->leave(guest, false, sides[side].loop.now());
  }
  // What there is to do now on that loop.
  void turn(std::size_t side) { sides[side].loop.poll(); }
  void TearDown() override {
    for (Side& side : sides) side.gate.reset();
    EXPECT_FALSE(shared->someone_waits());
  }

  std::shared_ptr<SharedGate> shared;
  std::array<Side, 3> sides;
  Guest a, b, c, d, e;
};

TEST_F(ASharedGate, HasOneLimitAndOneLineForAllLoops) {  // Invariant (1).
  begin(patient(2, 2));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(0, b), Answer::runs);  // All of it on one loop.
  EXPECT_EQ(enter(1, c), Answer::waits);
  EXPECT_EQ(enter(2, d), Answer::waits);
  EXPECT_EQ(enter(0, e), Answer::refused);  // Although nobody waits here.
  EXPECT_EQ(shared->limit().in_flight(), 2);
  EXPECT_EQ(shared->line().depth(), 2U);
  leave(1, c);
  EXPECT_EQ(enter(0, e), Answer::waits);
  leave(0, e);
  leave(2, d);
  leave(0, a);
  leave(0, b);
  EXPECT_EQ(shared->limit().in_flight(), 0);
  EXPECT_EQ(shared->line().depth(), 0U);
}

TEST_F(ASharedGate, APlaceGoesToWhoWaitsOnAnotherLoop) {  // Invariants (2), (3).
  begin(patient(1));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(1, b), Answer::waits);  // Nothing runs here that could end.
  leave(0, a);
  EXPECT_EQ(shared->limit().in_flight(), 1);  // On its way.
  EXPECT_EQ(enter(0, c), Answer::waits);      // It is not for who has just come.
  turn(0);
  turn(2);
  EXPECT_EQ(b.heard + c.heard, "");
  turn(1);
  EXPECT_EQ(b.heard, "in");
  leave(1, b);
  turn(0);
  EXPECT_EQ(c.heard, "in");
  leave(0, c);
  EXPECT_EQ(shared->limit().in_flight(), 0);
}

TEST_F(ASharedGate, LoopsTakeTurns) {  // Invariant (4).
  begin(patient(1));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(0, b), Answer::waits);
  EXPECT_EQ(enter(0, c), Answer::waits);
  EXPECT_EQ(enter(1, d), Answer::waits);
  EXPECT_EQ(enter(2, e), Answer::waits);
  std::string order;
  const std::array<std::pair<std::size_t, Guest*>, 4> waiting{{{0, &b}, {0, &c}, {1, &d}, {2, &e}}};
  std::pair<std::size_t, Guest*> last{0, &a};
  for (int i = 0; i < 4; ++i) {
    leave(last.first, *last.second);
    for (std::size_t side = 0; side < 3; ++side) turn(side);
    for (const auto& one : waiting) {
      if (one.second->heard != "in") continue;
      order += std::to_string(one.first);
      one.second->heard = "was in";
      last = one;
    }
  }
  EXPECT_EQ(order, "0120");
  leave(last.first, *last.second);
}

TEST_F(ASharedGate, TheMoreCriticalGoFirstWhereverTheyWait) {
  begin(patient(1));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(0, b, sheddable), Answer::waits);
  EXPECT_EQ(enter(1, c, critical), Answer::waits);
  EXPECT_EQ(enter(2, d, sheddable), Answer::waits);
  EXPECT_EQ(enter(2, e, critical_plus), Answer::waits);  // It has asked already, for less.
  leave(0, a);
  turn(2);
  EXPECT_EQ(e.heard, "in");
  leave(2, e);
  turn(1);
  EXPECT_EQ(c.heard, "in");
  leave(1, c);
  for (std::size_t side = 0; side < 3; ++side) turn(side);
  EXPECT_EQ(b.heard + d.heard, "in");
  leave(0, b);
  for (std::size_t side = 0; side < 3; ++side) turn(side);
  leave(2, d);
}

TEST_F(ASharedGate, APlaceThatComesForNobodyGoesOn) {  // Invariant (2).
  begin(patient(1));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(1, b), Answer::waits);
  EXPECT_EQ(enter(2, c), Answer::waits);
  leave(0, a);  // To loop 1.
  leave(1, b);  // Whose guest goes away.
  turn(2);
  EXPECT_EQ(c.heard, "");
  turn(1);
  turn(2);
  EXPECT_EQ(b.heard, "");
  EXPECT_EQ(c.heard, "in");
  leave(2, c);
  EXPECT_EQ(shared->limit().in_flight(), 0);
}

TEST_F(ASharedGate, APlaceThatComesToAGateThatIsGoneGoesOn) {
  begin(patient(1));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(1, b), Answer::waits);
  EXPECT_EQ(enter(2, c), Answer::waits);
  leave(0, a);
  leave(1, b);
  sides[1].gate.reset();
  turn(1);
  turn(2);
  EXPECT_EQ(c.heard, "in");
  leave(2, c);
  // One that has come already.
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(2, d), Answer::waits);
  EXPECT_EQ(enter(0, e), Answer::waits);
  leave(0, a);  // To loop 0 itself.
  leave(0, e);
  sides[0].gate.reset();
  turn(2);
  EXPECT_EQ(d.heard, "in");
  leave(2, d);
  EXPECT_EQ(shared->limit().in_flight(), 0);
}

TEST_F(ASharedGate, AHigherLimitLetsInWhoHasRoomNow) {
  begin(patient(1));
  EXPECT_EQ(enter(0, a), Answer::runs);
  EXPECT_EQ(enter(1, b), Answer::waits);
  EXPECT_EQ(enter(1, c), Answer::waits);
  EXPECT_EQ(enter(2, d), Answer::waits);
  shared->reload(patient(4));
  for (std::size_t side = 0; side < 3; ++side) turn(side);
  EXPECT_EQ(b.heard + c.heard + d.heard, "ininin");
  EXPECT_EQ(enter(0, e), Answer::waits);
  shared->reload(patient(1));
  leave(0, a);
  leave(1, b);
  leave(1, c);
  EXPECT_EQ(e.heard, "");
  leave(2, d);
  turn(0);
  EXPECT_EQ(e.heard, "in");
  leave(0, e);
}

// Comes again and again, and stays for a turn of its loop.
class Regular final : public Gate::Guest, public http::Loop::TurnEnd {
 public:
  struct House {
    std::atomic<int> inside = 0, most = 0, left = 0;  // left: visits to go, of all
  };
  Regular(http::Loop& loop, Gate& gate, House& house, int visits)
      : TurnEnd(loop), loop_(loop), gate_(gate), house_(house), visits_(visits) {}
  void come() {
    if (visits_-- == 0) return;
    const auto said = gate_.enter(*this, critical, kNever, loop_.now());
    EXPECT_NE(said.answer, Answer::refused);
    if (said.answer == Answer::runs) on_let_in(loop_.now());
  }

 private:
  void on_let_in(Instant) override {
    const int now = ++house_.inside;
    int most = house_.most;
    while (now > most && !house_.most.compare_exchange_weak(most, now)) {
    }
    ask_turn_end();
  }
  void on_turn_end() override {
    --house_.inside;
    gate_.leave(*this, false, loop_.now());
    --house_.left;
    come();
  }
  void on_turned_away(Verdict, Duration, Instant) override { ADD_FAILURE(); }

  http::Loop& loop_;
  Gate& gate_;
  House& house_;
  int visits_;
};

// Invariants (1), (2): a place that got lost, or a loop that was not woken, would end in a stop.
// One that had no room but on its own would be alone with its last visits.
TEST(SharedGate, OnSeveralThreadsEverybodyGetsInAndNeverTooMany) {
  constexpr std::array<std::size_t, 3> kGuests = {5, 1, 1};
  constexpr std::size_t kLoops = kGuests.size();
  constexpr int kVisits = 3000;
  for (const std::int32_t limit : {1, 2, 5}) {
    const auto shared = std::make_shared<SharedGate>(patient(limit), kLoops);
    Regular::House house;
    house.left = 7 * kVisits;
    std::array<http::Loop, kLoops> loops;
    std::atomic<int> running = 0;
    const auto serve = [&](std::size_t number) {
      http::Loop& loop = loops[number];
      const http::Loop::Work work(loop);
      auto watchdog = std::make_unique<http::Watchdog>(loop);
      auto gate = std::make_unique<Gate>(loop, patient(limit), shared, number);
      std::vector<std::unique_ptr<Regular>> guests;
      for (std::size_t i = 0; i < kGuests[number]; ++i) {
        guests.push_back(std::make_unique<Regular>(loop, *gate, house, kVisits));
      }
      for (++running; running < static_cast<int>(kLoops);) std::this_thread::yield();
      for (const auto& guest : guests) guest->come();
      class Done final : public http::Loop::Timer {
       public:
        Done(http::Loop& loop, Regular::House& house) : Timer(loop), house_(house) { look(); }
        void look() {
          house_.left == 0 ? loop().stop() : arm(add(loop().now(), std::chrono::milliseconds(1)));
        }

       private:
        void on_timer(Instant) override { look(); }
        Regular::House& house_;
      } done(loop, house);
      loop.run();
      guests.clear();
      gate.reset();
      --running;
      while (running > 0) std::this_thread::yield();  // Loops outlive all gates.
    };
    std::array<std::thread, kLoops> threads;
    for (std::size_t i = 0; i < kLoops; ++i) threads[i] = std::thread(serve, i);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(house.left, 0) << "limit " << limit;
    EXPECT_LE(house.most, limit);
    EXPECT_FALSE(shared->someone_waits());
    EXPECT_EQ(shared->line().depth(), 0U);
  }
}

// Whoever has acquired a place for it gives that back (2), or it comes.
TEST(SharedGate, NoPlaceIsLostOnALoopThatChangesItsMind) {
  struct Counting final : SharedGate::Side {
    void on_place() override { ++places; }
    int places = 0;
  } side;
  const auto shared = std::make_shared<SharedGate>(patient(1), 1);
  http::Loop loop;
  shared->join(0, loop, side);
  std::atomic<bool> begun = false, done = false;
  std::thread giver([&] {
    for (begun = true; !done;) shared->share_out(SharedGate::kNoLoop);
  });
  const Instant end = add(run::now(), std::chrono::seconds(10));
  while (!begun) std::this_thread::yield();
  for (int i = 0, came = 0; i < 500'000 && came < 50'000; ++i) {
    shared->ask(0, critical);
    if (shared->try_withdraw(0)) continue;
    while (side.places == 0 && run::now() < end) {
      loop.poll();
    }
    EXPECT_EQ(side.places, 1);
    if (side.places-- == 0) break;
    ++came;
    shared->hand_on(0);
  }
  done = true;
  giver.join();
  EXPECT_EQ(shared->limit().in_flight(), 0);
  shared->part(0);
}

}  // namespace
}  // namespace damper::proxy
