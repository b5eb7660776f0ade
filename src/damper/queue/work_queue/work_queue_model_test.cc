#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/work_queue/work_queue_core.h"
#include "damper/queue/work_queue/work_queue_model_testing.h"

// The core against a model that is too slow and too simple to be wrong, over many seeds.

namespace damper::queue {
namespace {

using admit::Criticality;
using Core = WorkQueueCore<std::string, int>;
using AfterRun = WorkQueueModel::AfterRun;

// The same calls on both, all answers compared.
class Comparison {
 public:
  explicit Comparison(std::uint64_t seed)
      : random_(seed), core_(make_options()), keys_(2 + below(6)), groups_(1 + below(3)) {
    model_.options = options_;
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step();
    }
    if (testing::Test::HasFailure()) return;
    while (!out_.empty() && !testing::Test::HasFailure()) finish();
    hand_back(HandBack::all);
    const QueueStats end = core_.stats(now_);
    EXPECT_EQ(end.ready + end.delayed + end.running + end.parked + end.groups, 0u);
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.bits() % bound; }
  WorkQueueOptions make_options() {
    options_.capacity = 1 + below(8);
    options_.at_limit = below(2) == 0 ? AtLimit::refuse : AtLimit::shed_least_important;
    options_.group_capacity = below(2) == 0 ? 0 : 1 + below(options_.capacity);
    options_.group_running = static_cast<std::uint32_t>(below(3));
    options_.ageing = Duration{below(6)};
    return options_;
  }
  std::string some_key() {
    return std::string(1 + below(2) * 40, static_cast<char>('a' + below(keys_)));
  }
  Instant soon() { return below(20) == 0 ? kNever : now_ + Duration{below(12)} - Duration{3}; }

  void step() {
    now_ += Duration{below(3) == 0 ? below(4) : 0};
    switch (below(16)) {
      case 0:
      case 1:
      case 2: return add(now_);
      case 3:
      case 4:
      case 5: return add(std::max(soon(), Instant{}));
      case 6:
      case 7:
      case 8:
      case 9: return get();
      case 10:
      case 11:
      case 12: return finish();
      case 13: return spurious();
      case 14: return revive();
      default:
        if (below(30) == 0) hand_back(below(2) == 0 ? HandBack::all : HandBack::all_but_ready);
        if (closes_ && below(40) == 0) {
          core_.close();
          model_.closed = true;
        }
        return look();
    }
  }

  void add(Instant due) {
    static const std::string kGroups[] = {"", "a tenant", "another tenant with a longer name"};
    const std::string key = some_key();
    const AddOptions how{.priority = static_cast<Criticality>(below(4)),
                         .group = kGroups[below(groups_)]};
    const Core::AddResult result = core_.add(key, how, due, now_);
    ASSERT_EQ(name(result.added), name(model_.add(key, how, due, now_, result.shed)));
    if (below(3) == 0) look();
  }
  void get() {
    const auto ours = core_.get(now_);
    const auto before = model_.entries;
    const auto theirs = model_.get(now_);
    ASSERT_EQ(ours.has_value(), theirs.has_value());
    if (!ours) return look();
    ASSERT_TRUE(core_.is_outstanding(ours->ticket));
    ASSERT_EQ(core_.key(ours->ticket), *theirs);
    ASSERT_EQ(core_.payload(ours->ticket), model_.entries.at(*theirs).payload);
    const auto& was = before.at(*theirs);
    ASSERT_EQ(ours->waited,
              now_ - (was.state == WorkQueueModel::State::delayed ? was.due : was.since));
    ASSERT_TRUE(out_.emplace(*theirs, ours->ticket).second) << "under way twice: " << *theirs;
    core_.payload(ours->ticket) = model_.entries.at(*theirs).payload = ++runs_;
  }
  void finish() {
    if (out_.empty()) return;
    auto any = out_.begin();
    std::advance(any, below(out_.size()));
    const auto [key, ticket] = *any;
    out_.erase(any);
    old_.push_back(ticket);
    switch (below(4)) {
      case 0: {
        const Instant due = std::max(soon(), Instant{});
        ASSERT_EQ(core_.done_until(ticket, due, now_), model_.finish(key, due, false, now_));
        break;
      }
      case 1:
        ASSERT_EQ(core_.park(ticket, now_), model_.finish(key, std::nullopt, true, now_));
        break;
      default: ASSERT_EQ(core_.done(ticket, now_), model_.finish(key, std::nullopt, false, now_));
    }
  }
  void spurious() {
    if (old_.empty()) return;
    const Ticket ticket = old_[below(old_.size())];
    ASSERT_FALSE(core_.is_outstanding(ticket));
    const auto which = below(3);
    ASSERT_EQ(which == 0   ? core_.done(ticket, now_)
              : which == 1 ? core_.done_until(ticket, now_, now_)
                           : core_.park(ticket, now_),
              AfterRun::stale);
    ++model_.counts.spurious_done;
  }
  void revive() {
    const std::string key = some_key();
    ASSERT_EQ(core_.revive(key, now_), model_.revive(key, now_));
  }
  void hand_back(HandBack which) {
    look();
    auto back = core_.hand_back(which);
    for (std::size_t i = 1; i < back.size(); ++i) ASSERT_LE(back[i - 1].due, back[i].due);
    std::size_t expected = 0;
    for (const auto& [key, entry] : std::map(model_.entries)) {
      if (entry.state == WorkQueueModel::State::running) continue;
      if (entry.state == WorkQueueModel::State::ready && which == HandBack::all_but_ready) {
        continue;
      }
      const auto found = std::find_if(back.begin(), back.end(),
                                      [&, k = key](const auto& each) { return each.key == k; });
      ASSERT_NE(found, back.end()) << key;
      ASSERT_EQ(found->payload, entry.payload);
      ASSERT_EQ(found->due,
                entry.state == WorkQueueModel::State::delayed ? entry.due : entry.since);
      ASSERT_EQ(found->parked, entry.state == WorkQueueModel::State::parked);
      model_.take_out(key);
      ++expected;
    }
    ASSERT_EQ(back.size(), expected);
    look();
  }
  // All that can be seen.
  void look() {
    const QueueStats ours = core_.stats(now_);
    const QueueStats theirs = model_.stats(now_);
    ASSERT_EQ(ours.ready, theirs.ready);
    ASSERT_EQ(ours.delayed, theirs.delayed);
    ASSERT_EQ(ours.running, theirs.running);
    ASSERT_EQ(ours.parked, theirs.parked);
    ASSERT_EQ(ours.groups, theirs.groups);
    ASSERT_EQ(ours.capacity, theirs.capacity);
    ASSERT_EQ(ours.adds, theirs.adds);
    ASSERT_EQ(ours.merged, theirs.merged);
    ASSERT_EQ(ours.marked, theirs.marked);
    ASSERT_EQ(ours.refused, theirs.refused);
    ASSERT_EQ(ours.shed, theirs.shed);
    ASSERT_EQ(ours.closed, theirs.closed);
    ASSERT_EQ(ours.spurious_done, theirs.spurious_done);
    ASSERT_EQ(ours.oldest_ready, theirs.oldest_ready);
    ASSERT_EQ(ours.unfinished, theirs.unfinished);
    ASSERT_EQ(ours.longest_running, theirs.longest_running);
    ASSERT_EQ(core_.next_due(), model_.next_due());
    ASSERT_EQ(core_.is_idle(), theirs.ready + theirs.running == 0);
    ASSERT_EQ(core_.is_closed(), model_.closed);
    std::vector<std::pair<Instant, std::string>> parked;
    core_.for_each_parked([&](const std::string& key, int payload, Instant since) {
      parked.emplace_back(since, key);
      ASSERT_EQ(payload, model_.entries.at(key).payload);
    });
    ASSERT_EQ(parked.size(), theirs.parked);
    ASSERT_TRUE(std::is_sorted(parked.begin(), parked.end(),
                               [](auto& a, auto& b) { return a.first < b.first; }));
    for (const auto& [key, ticket] : out_) ASSERT_TRUE(core_.is_outstanding(ticket)) << key;
  }

  Random random_;
  WorkQueueOptions options_;
  Core core_;
  WorkQueueModel model_;
  std::uint64_t keys_;
  std::uint64_t groups_;
  bool closes_ = below(8) == 0;
  Instant now_{Duration{10}};
  std::map<std::string, Ticket> out_;
  std::vector<Ticket> old_;
  int runs_ = 0;
};

TEST(WorkQueueModel, TheCoreAgreesWithTheModel) {  // Invariants (1) to (6).
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Comparison(seed).run(400);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace damper::queue
