#include "damper/queue/controller/controller_core.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "damper/base/random.h"
#include "damper/queue/controller/controller_player_testing.h"

namespace damper::queue {
namespace {

using namespace std::chrono_literals;
using decide::Outcome;
using How = Finish::How;
using Core = ControllerCore<std::string>;
using AfterRun = Core::Core::AfterRun;

constexpr Instant kStart{1000s};

// No jitter, and a budget that allows everything.
ControllerCoreOptions plain() {
  ControllerCoreOptions options;
  options.retries.backoff = {.jitter = schedule::Jitter::none, .base = 10ms, .cap = 100s};
  options.retries.budget = {.percent = Percent(1000), .reserve = 1000, .min_per_second = 10'000};
  return options;
}

const Finish kDone{};
const Finish kFailed{
    .how = How::failed, .after = {}, .report = {.outcome = Outcome::transient}, .why = "why"};
const Finish kTerminal{.how = How::terminal, .after = {}, .report = {}, .why = "hopeless"};
Finish requeue(Duration after) { return {.how = How::requeue, .after = after}; }

Added add(Core& core, std::string_view key, Instant now = kStart) {
  return core.add(key, {}, now, now).added;
}
// The next run; the test fails when there is none.
Core::Run next(Core& core, Instant now = kStart) {
  const auto found = core.next(now, 0.5);
  EXPECT_TRUE(found.run.has_value());
  return found.run.value_or(Core::Run{});
}
// Runs the next key, which ends at once.
AfterRun run(Core& core, const Finish& how, Instant now = kStart) {
  return core.finish(next(core, now).ticket, how, now, 0.5);
}
// Runs another key, which succeeds: so it is not all of them that fail.
void another_succeeds(Core& core, Instant now = kStart) {
  (void)add(core, "well", now);
  EXPECT_EQ(run(core, kDone, now), AfterRun::removed);
}
// When to call next() again, as there is nothing to run now.
Instant wake(Core& core, Instant now = kStart) {
  const auto found = core.next(now, 0.5);
  EXPECT_FALSE(found.run.has_value());
  return found.wake;
}

TEST(ControllerCore, AKeyRunsAndIsGone) {
  Core core(plain());
  EXPECT_EQ(wake(core), kNever);
  EXPECT_EQ(add(core, "a"), Added::queued);
  const Core::Run run = next(core, kStart + 3ms);
  EXPECT_EQ(core.key(run.ticket), "a");
  EXPECT_EQ(run.attempt, 1u);
  EXPECT_EQ(run.waited, 3ms);
  EXPECT_EQ(run.deadline, kStart + 3ms + 30s);
  EXPECT_EQ(core.finish(run.ticket, kDone, kStart + 4ms, 0.5), AfterRun::removed);
  EXPECT_TRUE(core.is_idle());
  EXPECT_EQ(core.counts().finished, (std::array<std::uint64_t, 4>{1, 0, 0, 0}));
}

TEST(ControllerCore, AFailureComesBackAfterItsBackoffUntilItIsWell) {
  Core core(plain());
  (void)add(core, "a");
  Instant now = kStart;
  for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) {
    const Core::Run run = next(core, now);
    EXPECT_EQ(run.attempt, attempt);
    EXPECT_EQ(core.finish(run.ticket, kFailed, now, 0.5), AfterRun::delayed);
    EXPECT_EQ(wake(core, now), now + 5ms * (1 << attempt));  // 10, 20, 40, ... ms.
    now = wake(core, now);
  }
  EXPECT_EQ(run(core, kDone, now), AfterRun::removed);
  (void)add(core, "a", now);
  EXPECT_EQ(next(core, now).attempt, 1u);
}

TEST(ControllerCore, RequeueAfterForgetsFirstAndThenWaits) {
  Core core(plain());
  (void)add(core, "a");
  EXPECT_EQ(run(core, kFailed), AfterRun::delayed);
  EXPECT_EQ(run(core, requeue(30s), kStart + 10ms), AfterRun::delayed);
  EXPECT_EQ(wake(core, kStart + 10ms), kStart + 10ms + 30s);
  const Core::Run again = next(core, kStart + 10ms + 30s);
  EXPECT_EQ(again.attempt, 1u);
  EXPECT_EQ(core.finish(again.ticket, requeue(-5s), kStart + 31s, 0.5), AfterRun::ready);
}

TEST(ControllerCore, RequeueAfterAndAnAddMeanwhileAreOneRunAtTheEarlierTime) {
  Core core(plain());
  (void)add(core, "a");
  const Core::Run first = next(core);
  EXPECT_EQ(core.add("a", {}, kStart + 5s, kStart).added, Added::marked);
  EXPECT_EQ(core.finish(first.ticket, requeue(30s), kStart + 1s, 0.5), AfterRun::delayed);
  EXPECT_EQ(wake(core, kStart + 1s), kStart + 5s);
  EXPECT_EQ(run(core, kDone, kStart + 5s), AfterRun::removed);
}

TEST(ControllerCore, ATerminalFailureIsParkedWithItsReason) {
  Core core(plain());
  (void)add(core, "a");
  EXPECT_EQ(run(core, kTerminal, kStart + 1s), AfterRun::parked);
  EXPECT_EQ(wake(core, kStart + 1s), kNever);
  const auto parked = core.parked();
  ASSERT_EQ(parked.size(), 1u);
  EXPECT_EQ(parked[0].key, "a");
  EXPECT_EQ(parked[0].verdict, Verdict::permanent);
  EXPECT_EQ(parked[0].failures, 1u);
  EXPECT_EQ(parked[0].since, kStart + 1s);
  EXPECT_EQ(parked[0].why, "hopeless");
  EXPECT_EQ(core.counts().parked_for[static_cast<std::size_t>(Verdict::permanent)], 1u);
}

TEST(ControllerCore, TrapQ11_ABrokenKeyIsParkedAndCountedAndListedTheLongestFirst) {
  ControllerCoreOptions options = plain();
  options.retries.max_attempts = 3;
  Core core(options);
  Instant now = kStart;
  for (const char* key : {"a", "b"}) {
    (void)add(core, key, now);
    EXPECT_EQ(run(core, kFailed, now), AfterRun::delayed);
    another_succeeds(core, now);
    EXPECT_EQ(run(core, kFailed, now + 10ms), AfterRun::delayed);
    another_succeeds(core, now + 10ms);
    EXPECT_EQ(run(core, kFailed, now + 30ms), AfterRun::parked);
    now += 1s;
  }
  EXPECT_EQ(core.stats(now).parked, 2u);
  EXPECT_EQ(core.counts().parked_for[static_cast<std::size_t>(Verdict::attempts_spent)], 2u);
  ASSERT_EQ(core.parked(1).size(), 1u);
  EXPECT_EQ(core.parked(1)[0].key, "a");
  EXPECT_EQ(core.parked()[1].key, "b");
  EXPECT_EQ(core.parked()[1].verdict, Verdict::attempts_spent);
  EXPECT_EQ(core.parked()[1].failures, 3u);
}

TEST(ControllerCore, AnAddAndAReviveRunAParkedKeyAnew) {  // Invariant (2).
  Core core(plain());
  for (const char* key : {"a", "b", "c"}) {
    (void)add(core, key);
    EXPECT_EQ(run(core, kTerminal), AfterRun::parked);
  }
  EXPECT_EQ(add(core, "a"), Added::queued);
  EXPECT_EQ(next(core).attempt, 1u);
  EXPECT_TRUE(core.revive("b", kStart));
  EXPECT_FALSE(core.revive("b", kStart));  // Not any more.
  EXPECT_FALSE(core.revive("nobody", kStart));
  EXPECT_EQ(core.key(next(core).ticket), "b");
  EXPECT_EQ(core.revive_all(kStart), 1u);
  EXPECT_EQ(core.revive_all(kStart), 0u);
  const Core::Run last = next(core);
  EXPECT_EQ(core.key(last.ticket), "c");
  EXPECT_EQ(core.finish(last.ticket, kTerminal, kStart, 0.5), AfterRun::parked);
  core.close();
  EXPECT_EQ(core.revive_all(kStart), 0u);
}

TEST(ControllerCore, AnEventDuringItsLastRunRunsAKeyAnewInsteadOfParkingIt) {  // Invariant (2).
  Core core(plain());
  (void)add(core, "a");
  const Core::Run run = next(core);
  EXPECT_EQ(add(core, "a"), Added::marked);
  EXPECT_EQ(core.finish(run.ticket, kTerminal, kStart, 0.5), AfterRun::ready);
  EXPECT_EQ(core.counts().parked_for[static_cast<std::size_t>(Verdict::permanent)], 0u);
  EXPECT_EQ(next(core).attempt, 1u);
}

TEST(ControllerCore, AnEventRunsAWaitingKeyEarlyIfTheBudgetAllows) {  // Invariant (2).
  ControllerCoreOptions options = plain();
  options.retries.backoff.base = 60s;
  options.retries.budget = {.percent = Percent(0), .reserve = 1, .min_per_second = 0};
  Core core(options);
  for (const char* key : {"a", "b"}) {
    (void)add(core, key);
    EXPECT_EQ(run(core, kFailed), AfterRun::delayed);
  }
  EXPECT_EQ(add(core, "a", kStart + 1s), Added::merged);
  EXPECT_EQ(next(core, kStart + 1s).attempt, 2u);
  EXPECT_EQ(add(core, "b", kStart + 2s), Added::merged);
  EXPECT_EQ(wake(core, kStart + 2s), kStart + 60s);  // Back to where it was.
  EXPECT_EQ(core.requeue().counts().held_by_budget, 1u);
}

TEST(ControllerCore, AnEventNeverRunsAKeyBeforeTheServerSaid) {  // Invariant (2).
  Core core(plain());
  (void)add(core, "a");
  Finish told = kFailed;
  told.report.retry_after = 30s;
  EXPECT_EQ(run(core, told), AfterRun::delayed);
  EXPECT_EQ(wake(core), kStart + 30s + 10ms);
  (void)add(core, "a", kStart + 1s);
  EXPECT_EQ(wake(core, kStart + 1s), kStart + 30s + 10ms);
}

TEST(ControllerCore, AServerThatSaysNeverLosesNoKey) {  // Invariant (1).
  Core core(plain());
  (void)add(core, "a");
  Finish never = kFailed;
  never.report.retry_after = kForever;
  EXPECT_EQ(run(core, never), AfterRun::delayed);
  (void)add(core, "a", kStart + 1s);  // Held, and still there.
  EXPECT_EQ(wake(core, kStart + 1s), kLatest);
  EXPECT_EQ(core.stats(kStart + 1s).delayed, 1u);
  (void)add(core, "b");
  EXPECT_EQ(run(core, requeue(kForever)), AfterRun::delayed);
  EXPECT_EQ(core.add("c", {}, kNever, kStart).added, Added::delayed);
  EXPECT_EQ(core.hand_back().size(), 3u);
}

TEST(ControllerCore, MoreThanMostParkedWaitLongAndAreNotLost) {  // Invariant (1).
  ControllerCoreOptions options = plain();
  options.most_parked = 1;
  Core core(options);
  (void)add(core, "a");
  EXPECT_EQ(run(core, kTerminal), AfterRun::parked);
  (void)add(core, "b");
  EXPECT_EQ(run(core, kTerminal), AfterRun::delayed);
  EXPECT_EQ(wake(core), kStart + 75s);  // Between half of 100 s and all of it, by the draw.
  EXPECT_EQ(core.counts().not_parked, 1u);
  EXPECT_TRUE(core.revive("a", kStart));
  EXPECT_EQ(run(core, kDone), AfterRun::removed);
  const Core::Run again = next(core, kStart + 75s);
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(core.finish(again.ticket, kTerminal, kStart + 75s, 0.5), AfterRun::parked);
  EXPECT_EQ(core.parked()[0].failures, 2u);
}

TEST(ControllerCore, AKeyThatCouldNotBeParkedStillObeysTheServer) {
  ControllerCoreOptions options = plain();
  options.most_parked = 0;
  options.retries.max_attempts = 1;
  Core core(options);
  (void)add(core, "a");
  Finish told = kFailed;
  told.report.retry_after = 1h;
  const Core::Run failing = next(core);
  another_succeeds(core);
  EXPECT_EQ(core.finish(failing.ticket, told, kStart, 0.5), AfterRun::delayed);
  EXPECT_EQ(core.counts().not_parked, 1u);
  EXPECT_EQ(wake(core), kStart + 1h);
  (void)add(core, "a", kStart + 1s);
  EXPECT_EQ(wake(core, kStart + 1s), kStart + 1h);
}

TEST(ControllerCore, TheRateIsWaitedForOnlyWhileAKeyIsReady) {
  ControllerCoreOptions options = plain();
  options.retries.rate = {.rate_per_second = 10, .burst = 1};
  Core core(options);
  (void)add(core, "a");
  EXPECT_EQ(run(core, kDone), AfterRun::removed);
  EXPECT_EQ(wake(core), kNever);  // Nothing to wait for.
  (void)add(core, "b");
  const auto limited = core.next(kStart, 0.5);
  EXPECT_FALSE(limited.run);
  EXPECT_TRUE(limited.rate_limited);
  EXPECT_EQ(limited.wake, kStart + 100ms);
  EXPECT_EQ(core.key(next(core, kStart + 100ms).ticket), "b");
}

TEST(ControllerCore, OneQuestionHoldsSoManyKeysAndNoMore) {
  Core core(plain());
  for (int i = 0; i < 100; ++i) {
    (void)add(core, std::to_string(i));
    EXPECT_EQ(run(core, kFailed), AfterRun::delayed);
  }
  core.requeue().switches().set(admit::Switch::retries, {.off = true});
  const Instant now = kStart + 1s;
  EXPECT_EQ(core.next(now, 0.5).wake, now);  // Ask again: there may be more.
  EXPECT_EQ(core.requeue().counts().held_by_switch, 64u);
  EXPECT_GT(core.next(now, 0.5).wake, now);
  EXPECT_EQ(core.requeue().counts().held_by_switch, 100u);
  const auto held = core.hand_back();  // Not all until the same instant.
  EXPECT_NE(held.front().due, held.back().due);
}

TEST(ControllerCore, TheKillSwitchHoldsWhatWaitsAndHealthyKeysGoOn) {
  Core core(plain());
  (void)add(core, "failing");
  EXPECT_EQ(run(core, kFailed), AfterRun::delayed);
  core.requeue().switches().set(admit::Switch::retries, {.off = true});
  (void)add(core, "healthy", kStart + 1s);
  EXPECT_EQ(core.key(next(core, kStart + 1s).ticket), "healthy");
  EXPECT_EQ(wake(core, kStart + 1s), kStart + 1s + 1500ms);
  core.requeue().switches().clear(admit::Switch::retries);
  EXPECT_EQ(next(core, kStart + 1s + 1500ms).attempt, 2u);
}

TEST(ControllerCore, ACancelledRunIsHandedBackWhenItStopsAndIsATimeoutBefore) {
  const Finish cancelled{.how = How::failed, .report = {.outcome = Outcome::cancelled}};
  Core core(plain());
  (void)add(core, "a");
  EXPECT_EQ(run(core, cancelled), AfterRun::delayed);  // Not at once, for ever.
  const Core::Run last = next(core, kStart + 10ms);
  EXPECT_EQ(last.attempt, 2u);
  core.close();
  EXPECT_EQ(add(core, "b"), Added::closed);
  EXPECT_EQ(core.finish(last.ticket, cancelled, kStart + 20ms, 0.5), AfterRun::delayed);
  EXPECT_FALSE(core.next(kStart + 1h, 0.5).run);  // A drain does not run it again and again.
  const auto unfinished = core.hand_back();
  ASSERT_EQ(unfinished.size(), 1u);
  EXPECT_EQ(unfinished[0].key, "a");
  EXPECT_EQ(unfinished[0].due, kStart + 20ms);
  EXPECT_EQ(unfinished[0].payload.record.failures, 1u);
}

TEST(ControllerCore, WhatAsksToRunAgainAfterTheCloseIsHandedBack) {
  Core core(plain());
  (void)add(core, "later");
  (void)add(core, "soon");
  const Core::Run later = next(core);
  const Core::Run soon = next(core);
  core.close();
  EXPECT_EQ(core.finish(soon.ticket, requeue(0s), kStart, 0.5), AfterRun::delayed);
  EXPECT_EQ(core.finish(later.ticket, requeue(1min), kStart, 0.5), AfterRun::delayed);
  EXPECT_FALSE(core.next(kStart + 1h, 0.5).run);
  EXPECT_TRUE(core.is_idle());
  const auto unfinished = core.hand_back();
  ASSERT_EQ(unfinished.size(), 2u);
  EXPECT_EQ(unfinished[0].key + " " + unfinished[1].key, "soon later");
  EXPECT_EQ(unfinished[0].due, kStart);
  EXPECT_EQ(unfinished[1].due, kStart + 1min);
}

TEST(ControllerCore, ParkedKeysFillAtMostHalfOfTheQueue) {
  ControllerCoreOptions options = plain();
  options.queue.capacity = 4;
  Core core(options);
  for (const char* key : {"a", "b", "c"}) (void)add(core, key);
  EXPECT_EQ(run(core, kTerminal), AfterRun::parked);
  EXPECT_EQ(run(core, kTerminal), AfterRun::parked);
  EXPECT_EQ(run(core, kTerminal), AfterRun::delayed);  // It waits long instead.
  EXPECT_EQ(core.counts().not_parked, 1u);
  EXPECT_EQ(add(core, "d"), Added::queued);
}

TEST(ControllerCore, AStaleTicketChangesNothing) {  // Trap Q2.
  Core core(plain());
  (void)add(core, "a");
  const Core::Run run = next(core);
  EXPECT_EQ(core.finish(run.ticket, kDone, kStart, 0.5), AfterRun::removed);
  EXPECT_EQ(core.finish(run.ticket, kTerminal, kStart, 0.5), AfterRun::stale);
  EXPECT_EQ(core.stats(kStart).spurious_done, 1u);
  EXPECT_EQ(core.counts().finished, (std::array<std::uint64_t, 4>{1, 0, 0, 0}));
}

TEST(ControllerCore, AReasonIsCut) {
  Core core(plain());
  (void)add(core, "a");
  Finish long_story = kTerminal;
  long_story.why = std::string(255, 'x') + "\xC3\xA9";
  EXPECT_EQ(run(core, long_story), AfterRun::parked);
  EXPECT_EQ(core.parked()[0].why, std::string(255, 'x'));
}

struct Heard final : engine::EventSink {
  void on_event(const engine::Event& event) noexcept override {
    text += std::string(name(event.kind)) + " " + std::string(event.key) + " " +
            std::to_string(event.count) + " " +
            std::to_string(
                std::chrono::duration_cast<std::chrono::milliseconds>(event.length).count()) +
            " " + std::string(event.detail) + ";";
  }
  std::string text;
};

TEST(ControllerCore, TheLogHearsOfAKeysTransitions) {
  Heard heard;
  ControllerCoreOptions options = plain();
  options.retries.max_attempts = 11;
  options.most_parked = 1;
  Core core(options, {}, &heard);
  (void)add(core, "a");
  Instant now = kStart;
  for (int i = 0; i < 11; ++i) {
    (void)run(core, kFailed, now);
    another_succeeds(core, now);
    now = wake(core, now);
  }
  EXPECT_EQ(heard.text,
            "first_failure a 1 10 ;backoff_growing a 3 40 ;repeated_failure a 10 5120 ;"
            "parked a 11 0 attempts_spent;");
  heard.text.clear();
  now = kStart + 1000s;
  (void)add(core, "b", now);
  (void)run(core, kTerminal, now);  // The limit is reached: it is not parked, without an event.
  EXPECT_EQ(heard.text, "");
  (void)run(core, kFailed, now + 100s);
  (void)run(core, kFailed, now + 200s);
  heard.text.clear();
  (void)run(core, kDone, now + 300s);
  EXPECT_EQ(heard.text, "recovered b 3 0 ;");
}

TEST(ControllerCore, KeysThatAreNoTextHaveANameToo) {
  Heard heard;
  ControllerCore<int> numbers(plain(), {}, &heard);
  (void)numbers.add(42, {}, kStart, kStart);
  (void)numbers.finish(numbers.next(kStart, 0.5).run->ticket, kTerminal, kStart, 0.5);
  EXPECT_EQ(heard.text, "parked 42 1 0 permanent;");
}

TEST(ControllerCore, ABadOptionIsNamedWithItsValueAndBound) {
  EXPECT_EQ(find_error(ControllerCoreOptions{}), std::nullopt);
  ControllerCoreOptions options;
  options.queue.capacity = 0;
  EXPECT_EQ(find_error(options), "queue.capacity is 0; it must be from 1 to 50000000");
  options = {};
  options.retries.max_attempts = -1;
  EXPECT_EQ(find_error(options), "retries.max_attempts is -1; it must be from 0 to 1000000");
}

// Invariant (1), over random scripts: every key whose last add was taken has run after it and was
// done, or is in the queue (ready, delayed, running or parked), or was handed back.
TEST(ControllerCore, NoKeyIsEverLost) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const auto below = [&](int n) { return static_cast<int>(random.draw() * n); };
    ControllerCoreOptions options;
    options.retries.max_attempts = below(4);
    options.retries.backoff.cap = 5s;
    options.most_parked = static_cast<std::size_t>(below(3));
    options.queue.capacity = 8 + static_cast<std::size_t>(below(30));
    options.queue.at_limit = below(2) == 0 ? AtLimit::refuse : AtLimit::shed_least_important;
    if (below(2) == 0) options.retries.rate = {.rate_per_second = 50, .burst = 3};
    Core core(options);
    std::set<std::string> owed;  // What must still be somewhere.
    std::map<std::string, Core::Run> out;
    Instant now = kStart;
    for (int step = 0; step < 400; ++step) {
      now += Duration(static_cast<std::int64_t>(random.draw() * random.draw() * 2e9));
      const int what = below(10);
      if (what < 4) {
        const std::string key = std::to_string(below(40));
        const auto added = core.add(key, {.priority = static_cast<admit::Criticality>(below(4))},
                                    now + below(3) * 1s, now);
        if (is_taken(added.added)) owed.insert(key);
        if (added.shed) owed.erase(*added.shed);
      } else if (what < 7) {
        if (const auto found = core.next(now, random.draw()); found.run) {
          const std::string key = core.key(found.run->ticket);
          ASSERT_TRUE(out.emplace(key, *found.run).second) << "seed " << seed;
          ASSERT_TRUE(owed.contains(key)) << "seed " << seed;
        }
      } else if (what < 9 && !out.empty()) {
        const auto [key, run] = *out.begin();
        out.erase(out.begin());
        const Finish ways[] = {kDone,
                               requeue(3s),
                               kFailed,
                               kTerminal,
                               {.how = How::failed,
                                .report = {.outcome = Outcome::overload,
                                           .retry_after = below(2) == 0 ? kForever : 2s}}};
        const Finish& how = ways[below(5)];
        const AfterRun left = core.finish(run.ticket, how, now, random.draw());
        if (left == AfterRun::removed) {
          ASSERT_EQ(how.how, How::done) << "seed " << seed;
          owed.erase(key);
        }
      } else if (what == 9 && below(5) == 0) {
        (void)core.revive_all(now);
      }
    }
    const QueueStats stats = core.stats(now);
    ASSERT_EQ(stats.ready + stats.delayed + stats.running + stats.parked, owed.size())
        << "seed " << seed;
    core.close();
    const Finish cancelled{.how = How::failed, .report = {.outcome = Outcome::cancelled}};
    for (const auto& [key, run] : out) {
      ASSERT_NE(core.finish(run.ticket, cancelled, now, 0.5), AfterRun::removed) << "seed " << seed;
    }
    std::set<std::string> back;
    for (const auto& unfinished : core.hand_back()) back.insert(unfinished.key);
    ASSERT_EQ(back, owed) << "seed " << seed;
    ASSERT_TRUE(core.is_idle());
  }
}

}  // namespace
}  // namespace damper::queue
