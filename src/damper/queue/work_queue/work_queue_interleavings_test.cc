#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "damper/queue/work_queue/work_queue_core.h"

// Everything that two producers and two workers can do to a small queue, in every order: two keys,
// three instants, all sequences of a length. What must hold after each step is a check with a name.

namespace damper::queue {
namespace {

using Core = WorkQueueCore<int>;

constexpr int kKeys = 2;
constexpr std::size_t kWorkers = 2;

// What can be done. The argument is the key, where there is one.
enum class Op : std::uint8_t {
  add,
  add_later,
  get,
  done,
  done_later,
  done_again,
  park,
  tick,
  hand_back,
  close
};
struct Step {
  Op op;
  int key;
};

std::string text(std::span<const Step> steps) {
  static constexpr const char* kNames[] = {"add",        "add_later",  "get",  "done",
                                           "done_later", "done_again", "park", "tick",
                                           "hand_back",  "close"};
  std::string all;
  for (const Step& step : steps) {
    all += kNames[static_cast<int>(step.op)];
    all += step.key < 0 ? " " : "(" + std::to_string(step.key) + ") ";
  }
  return all;
}

// The expected state of one key.
struct Ledger {
  std::optional<Instant> owed;   // a run, not before then
  std::optional<Ticket> ticket;  // running
  std::optional<Ticket> old;     // of its last run
  bool parked = false;
};

// A queue with its ledgers. Its times begin anew with each sequence.
class World {
 public:
  // Whether this can be done now; then it is, and all promises are checked.
  bool apply(Step step) {
    Ledger& ledger = ledgers_[static_cast<std::size_t>(step.key < 0 ? 0 : step.key)];
    switch (step.op) {
      case Op::add: add(step.key, now_); return true;
      case Op::add_later: add(step.key, now_ + Duration{1}); return true;
      case Op::get:
        if (under_way() == kWorkers) return false;
        get();
        return true;
      case Op::done:
        if (!ledger.ticket) return false;
        check_left(ledger, core_->done(take(ledger), now_));
        return true;
      case Op::done_later:
        if (!ledger.ticket) return false;
        owe(ledger, now_ + Duration{1});
        check_left(ledger, core_->done_until(take(ledger), now_ + Duration{1}, now_));
        return true;
      case Op::done_again:
        if (!ledger.old) return false;
        check_left(Core::AfterRun::stale, core_->done(*ledger.old, now_));
        return true;
      case Op::park:
        if (!ledger.ticket) return false;
        ledger.parked = !ledger.owed;
        check_left(ledger, core_->park(take(ledger), now_));
        return true;
      case Op::tick:
        if (ticks_ == 2) return false;
        ++ticks_;
        now_ += Duration{1};
        return true;
      case Op::hand_back: hand_back(); return true;
      case Op::close:
        if (core_->is_closed()) return false;
        core_->close();
        return true;
    }
    return false;
  }

  // Lets all that is left run, long after; then nothing is owed, and the queue is as new.
  void finish() {
    now_ += Duration{10};
    for (int turn = 0; turn < 10; ++turn) {
      for (Ledger& ledger : ledgers_) {
        if (ledger.ticket) check_left(ledger, core_->done(take(ledger), now_));
      }
      if (under_way() < kWorkers) get();
    }
    check_nothing_is_lost();
    check_idle_means_empty();
    hand_back();
    const QueueStats stats = core_->stats(now_);
    ASSERT_EQ(stats.ready + stats.delayed + stats.running + stats.parked + stats.groups, 0u);
    if (core_->is_closed()) core_ = std::make_unique<Core>();
    ledgers_ = {};
    ticks_ = 0;
  }

 private:
  void add(int key, Instant due) {
    Ledger& ledger = ledgers_[static_cast<std::size_t>(key)];
    const Added added = core_->add(key, {}, due, now_).added;
    const Added expected = core_->is_closed() ? Added::closed
                           : ledger.ticket    ? Added::marked
                           : ledger.owed      ? Added::merged
                           : due > now_       ? Added::delayed
                                              : Added::queued;
    ASSERT_EQ(name(added), name(expected));
    if (!is_taken(added)) return;
    owe(ledger, due);
    ledger.parked = false;
  }
  static void owe(Ledger& ledger, Instant due) {
    ledger.owed = std::min(ledger.owed.value_or(due), due);
  }
  static Ticket take(Ledger& ledger) {
    const Ticket ticket = *ledger.ticket;
    ledger.old = ticket;
    ledger.ticket.reset();
    return ticket;
  }
  [[nodiscard]] std::size_t under_way() const {
    std::size_t count = 0;
    for (const Ledger& ledger : ledgers_) count += ledger.ticket.has_value();
    return count;
  }

  void get() {
    const auto taken = core_->get(now_);
    if (!taken) return check_nobody_waits_whose_time_has_come();
    const int key = core_->key(taken->ticket);
    Ledger& ledger = ledgers_[static_cast<std::size_t>(key)];
    check_no_key_is_under_way_twice(ledger);
    check_earliest_wins(ledger);
    ledger.owed.reset();  // All adds until now are this run.
    ledger.ticket = taken->ticket;
  }

  void hand_back() {
    for (const auto& each : core_->hand_back()) {
      Ledger& ledger = ledgers_[static_cast<std::size_t>(each.key)];
      ASSERT_FALSE(ledger.ticket);
      ASSERT_EQ(each.parked, ledger.parked);
      ASSERT_TRUE(ledger.owed || ledger.parked);
      if (ledger.owed) {
        ASSERT_LE(*ledger.owed, each.due);  // Ready: since when.
      }
      ledger.owed.reset();
      ledger.parked = false;
    }
    for (const Ledger& ledger : ledgers_) {  // Only running keys are left.
      ASSERT_FALSE(ledger.parked);
      ASSERT_TRUE(!ledger.owed || ledger.ticket);
    }
  }

  // ---- The promises ----------------------------------------------------------------------------

  // (1) A key never runs twice at the same time.
  static void check_no_key_is_under_way_twice(const Ledger& ledger) { ASSERT_FALSE(ledger.ticket); }
  // (2), (3) A run is owed, and starts not before the earliest requested time.
  void check_earliest_wins(const Ledger& ledger) const {
    ASSERT_TRUE(ledger.owed) << "it ran without an add";
    ASSERT_LE(*ledger.owed, now_) << "it ran before its time";
  }
  // (3) ... nor later than the next get().
  void check_nobody_waits_whose_time_has_come() const {
    for (const Ledger& ledger : ledgers_) {
      ASSERT_TRUE(ledger.ticket || !ledger.owed || *ledger.owed > now_) << "it is late";
    }
  }
  // (5) A ticket that is not out changes nothing, which the other checks would see.
  static void check_left(Core::AfterRun expected, Core::AfterRun left) {
    ASSERT_EQ(left, expected);
  }
  // (2) After a run, the key is in the expected state: it runs again if it was added.
  void check_left(const Ledger& ledger, Core::AfterRun left) const {
    const Core::AfterRun expected = ledger.parked          ? Core::AfterRun::parked
                                    : !ledger.owed         ? Core::AfterRun::removed
                                    : *ledger.owed <= now_ ? Core::AfterRun::ready
                                                           : Core::AfterRun::delayed;
    ASSERT_EQ(left, expected);
  }
  // (2) No taken add is lost: each was followed by a run, or was handed back.
  void check_nothing_is_lost() const {
    for (const Ledger& ledger : ledgers_) ASSERT_FALSE(ledger.owed) << "an add was lost";
  }
  // (6) Idle means that no key is waiting, running or marked; only parked keys are left.
  void check_idle_means_empty() {
    ASSERT_TRUE(core_->is_idle());
    const QueueStats stats = core_->stats(now_);
    std::size_t parked = 0;
    for (const Ledger& ledger : ledgers_) parked += ledger.parked;
    ASSERT_EQ(stats.ready + stats.delayed + stats.running, 0u);
    ASSERT_EQ(stats.parked, parked);
  }

  std::unique_ptr<Core> core_ = std::make_unique<Core>();
  std::array<Ledger, kKeys> ledgers_{};
  Instant now_{};
  int ticks_ = 0;
};

// Plays every sequence of `length` steps out of `choices` that can be done, and counts them.
class Explorer {
 public:
  Explorer(std::vector<Step> choices, std::size_t length)
      : choices_(std::move(choices)), length_(length) {}

  std::size_t run() {
    explore();
    return played_;
  }

 private:
  void explore() {
    bool can = true;
    for (const Step& step : steps_) can = world_.apply(step);  // All but the last one could be.
    world_.finish();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << text(steps_);
      return;
    }
    if (!can) return;
    if (steps_.size() == length_) {
      ++played_;
      return;
    }
    for (const Step& step : choices_) {
      if (testing::Test::HasFailure()) return;
      steps_.push_back(step);
      explore();
      steps_.pop_back();
    }
  }

  const std::vector<Step> choices_;
  const std::size_t length_;
  std::vector<Step> steps_;
  World world_;
  std::size_t played_ = 0;
};

TEST(WorkQueueInterleavings, KeepEveryPromiseOfTheQueue) {
  const std::size_t played = Explorer({{Op::add, 0},
                                       {Op::add, 1},
                                       {Op::add_later, 0},
                                       {Op::get, -1},
                                       {Op::done, 0},
                                       {Op::done, 1},
                                       {Op::done_later, 0},
                                       {Op::done_again, 0},
                                       {Op::tick, -1}},
                                      8)
                                 .run();
  EXPECT_GT(played, 10'000u);
  RecordProperty("sequences", std::to_string(played));
}

TEST(WorkQueueInterleavings, KeepThemWithParkingHandingBackAndClosing) {
  const std::size_t played = Explorer({{Op::add, 0},
                                       {Op::add, 1},
                                       {Op::add_later, 0},
                                       {Op::get, -1},
                                       {Op::done, 0},
                                       {Op::done_later, 0},
                                       {Op::park, 0},
                                       {Op::tick, -1},
                                       {Op::hand_back, -1},
                                       {Op::close, -1}},
                                      6)
                                 .run();
  EXPECT_GT(played, 10'000u);
  RecordProperty("sequences", std::to_string(played));
}

}  // namespace
}  // namespace damper::queue
