#include "damper/http/server/admission.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "damper/base/random.h"

namespace damper::http {
namespace {

using admit::Criticality;
using std::chrono::milliseconds;
using std::chrono::seconds;
using enum admit::Criticality;
using Answer = Admission::Answer;

constexpr Instant at(std::int64_t ms) { return Instant{milliseconds(ms)}; }

AdmissionOptions fixed(std::int32_t limit, std::int32_t capacity = 100) {
  AdmissionOptions options;
  options.limit.kind = admit::LimitKind::fixed;
  options.limit.initial = limit;
  options.queue.capacity = capacity;
  return options;
}

// An admission that is spoken to in milliseconds. Items are named by letters.
struct Bench {
  explicit Bench(const AdmissionOptions& options) : admission(options) {}
  Bench(const AdmissionOptions& options, const Admission::Shared& shared)
      : admission(options, shared) {}

  Answer offer(char item, std::int64_t now, std::int64_t deadline = 1'000'000,
               Criticality c = critical) {
    items.insert_or_assign(item, Admission::Item(c, at(deadline)));
    return admission.offer(items.at(item), at(now), 0.5, refusals);
  }
  char next(std::int64_t now) { return letter(admission.try_next(at(now), 0.5, refusals)); }
  void finish(char item, std::int64_t now) {
    admission.on_finished(items.at(item), at(now), false);
  }
  void expire(std::int64_t now) { admission.expire(at(now), 0.5, refusals); }
  char letter(const Admission::Item* item) const {
    for (const auto& [letter, place] : items) {
      if (&place == item) return letter;
    }
    return '-';
  }
  // The requests refused since the last call, with their verdicts.
  std::string refused() {
    std::string text;
    for (const auto& refusal : refusals) {
      text += std::string(1, letter(refusal.item)) + ":" + std::string(name(refusal.verdict)) + " ";
    }
    refusals.clear();
    return text;
  }

  Admission admission;
  std::map<char, Admission::Item> items;
  Admission::Refusals refusals;
};

TEST(Admission, AFieldOutOfBoundsIsNamed) {
  EXPECT_EQ(find_error(AdmissionOptions{}), std::nullopt);
  EXPECT_EQ(find_error({.longest_wait = Duration{0}}),
            "longest_wait is 0s; it must be from 1ms to 1h");
  EXPECT_EQ(find_error({.limit = {.initial = 0}})->substr(0, 14), "limit.initial ");
  EXPECT_EQ(find_error({.queue = {.capacity = 0}}),
            "queue.capacity is 0; it must be from 1 to 1000000");
}

TEST(Admission, RunsUpToTheLimitAndThenQueues) {  // Invariant (2)
  Bench bench(fixed(2));
  EXPECT_EQ(bench.offer('a', 0), Answer::runs);
  EXPECT_EQ(bench.offer('b', 0), Answer::runs);
  EXPECT_EQ(bench.offer('c', 1), Answer::waits);
  EXPECT_EQ(bench.offer('d', 2, 1'000'000, critical_plus), Answer::waits);
  EXPECT_EQ(bench.next(3), '-');  // No place is free.
  bench.finish('a', 4);
  EXPECT_EQ(bench.next(4), 'd');  // The more critical one.
  EXPECT_EQ(bench.next(4), '-');
  bench.finish('b', 5);
  EXPECT_EQ(bench.next(5), 'c');
  EXPECT_EQ(bench.admission.in_flight(), 2);
  EXPECT_EQ(bench.refused(), "");
  EXPECT_EQ(bench.admission.tally().requests(Verdict::success, critical), 3U);
  EXPECT_EQ(bench.admission.tally().requests(Verdict::success), 4U);
}

TEST(Admission, ADeadlineThatHasPassedNeverReachesTheWork) {  // Invariant (3), trap D3
  Bench bench(fixed(1));
  EXPECT_EQ(bench.offer('a', 10, 10), Answer::refused);
  EXPECT_EQ(bench.refused(), "a:deadline_passed ");
  EXPECT_EQ(bench.admission.in_flight(), 0);
  bench.items.emplace('b', Admission::Item(critical, at(11) - Duration{1}));
  EXPECT_EQ(bench.admission.offer(bench.items.at('b'), at(10), 0.5, bench.refusals),
            Answer::refused);
  EXPECT_EQ(bench.refused(), "b:deadline_too_close ");  // It needs 1 ms.
  EXPECT_EQ(bench.offer('c', 10, 11), Answer::runs);
  EXPECT_EQ(bench.offer('d', 10, 15), Answer::waits);
  bench.finish('c', 20);
  EXPECT_EQ(bench.next(20), '-');
  EXPECT_EQ(bench.refused(), "d:deadline_passed ");
  EXPECT_EQ(bench.admission.in_flight(), 0);        // The place that the pop took was given back.
  EXPECT_EQ(bench.admission.tally().overruns, 1U);  // c's.
}

TEST(Admission, WhoWaitsIsToldInTimeEvenWhenNothingFinishes) {  // Invariant (4)
  Bench bench(fixed(1));
  EXPECT_EQ(bench.admission.wake(), kNever);
  EXPECT_EQ(bench.offer('a', 0), Answer::runs);
  EXPECT_EQ(bench.offer('b', 0, 50), Answer::waits);
  EXPECT_EQ(bench.offer('c', 10), Answer::waits);
  EXPECT_EQ(bench.admission.wake(), at(49));  // b needs 1 ms.
  bench.expire(48);
  EXPECT_EQ(bench.refused(), "");
  bench.expire(49);
  EXPECT_EQ(bench.refused(), "b:deadline_too_close ");
  EXPECT_EQ(bench.admission.wake(), at(1010));  // c has waited for a second then.
  bench.expire(1010);
  ASSERT_EQ(bench.refusals.size(), 1U);
  EXPECT_GE(bench.refusals[0].retry_after, milliseconds(20));
  EXPECT_EQ(bench.refused(), "c:shed ");
  EXPECT_EQ(bench.admission.depth(), 0U);
  EXPECT_EQ(bench.admission.wake(), kNever);
}

TEST(Admission, AtTheCapacityTheLessCriticalMakesRoom) {  // Invariant (5)
  Bench bench(fixed(1, 1));
  EXPECT_EQ(bench.offer('a', 0), Answer::runs);
  EXPECT_EQ(bench.offer('b', 0, 1'000'000, sheddable), Answer::waits);
  EXPECT_EQ(bench.offer('c', 1), Answer::waits);
  EXPECT_EQ(bench.refused(), "b:shed ");
  EXPECT_EQ(bench.offer('d', 2), Answer::refused);
  EXPECT_EQ(bench.refused(), "d:shed ");
  EXPECT_EQ(bench.admission.tally().requests(Verdict::shed, sheddable), 1U);
  EXPECT_EQ(bench.admission.tally().requests(Verdict::shed, critical), 1U);
}

TEST(Admission, WhoGoesAwayInTheQueueGivesUpItsPlace) {
  Bench bench(fixed(1, 1));
  EXPECT_EQ(bench.offer('a', 0), Answer::runs);
  EXPECT_EQ(bench.offer('b', 0), Answer::waits);
  EXPECT_TRUE(bench.admission.try_withdraw(bench.items.at('b'), at(1)));
  EXPECT_FALSE(bench.admission.try_withdraw(bench.items.at('b'), at(1)));
  EXPECT_FALSE(bench.admission.try_withdraw(bench.items.at('a'), at(1)));  // It runs.
  EXPECT_EQ(bench.offer('c', 2), Answer::waits);
  EXPECT_EQ(bench.admission.tally().depth, 1U);
  EXPECT_EQ(bench.admission.tally().oldest.load(), at(2));
  EXPECT_EQ(bench.admission.tally().requests(Verdict::cancelled), 1U);
}

TEST(Admission, WorkThatIsLateShrinksTheLimitAndWorkForNobodySaysNothing) {
  AdmissionOptions options;
  options.limit = {.kind = admit::LimitKind::aimd, .initial = 10, .window_samples = 1};
  Bench bench(options);
  EXPECT_EQ(bench.offer('a', 0, 10), Answer::runs);
  bench.admission.on_finished(bench.items.at('a'), at(5), true);
  EXPECT_EQ(bench.admission.limit(), 10);
  EXPECT_EQ(bench.offer('b', 6, 10), Answer::runs);
  bench.finish('b', 10);
  EXPECT_EQ(bench.admission.limit(), 7);  // Times 0.7.
}

TEST(Admission, DrainRefusesAllThatWait) {
  Bench bench(fixed(1));
  for (const char item : {'a', 'b', 'c'}) (void)bench.offer(item, 0);
  bench.admission.drain(at(1), 0.5, bench.refusals);
  EXPECT_EQ(bench.refused(), "b:shed c:shed ");
  EXPECT_EQ(bench.admission.wake(), kNever);
}

// Random arrivals, finishes, departures and clocks. Invariants (1) to (5).
TEST(Admission, EveryItemIsRunOnceOrRefusedOnceInTimeAndWithinTheLimit) {
  struct Request : Admission::Item {
    using Item::Item;
    int ran = 0, refused = 0, withdrawn = 0;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const auto upto = [&](int most) { return static_cast<int>(random.draw() * (most + 1)); };
    AdmissionOptions options = fixed(1 + upto(5), 1 + upto(20));
    if (upto(1) == 0) options.limit.kind = admit::LimitKind::aimd;
    options.longest_wait = milliseconds(1 + upto(300));
    Admission admission(options);
    std::deque<Request> requests;
    std::vector<Request*> running;
    std::int64_t now = 1;
    const auto start = [&](Admission::Item* item) {
      auto* request = static_cast<Request*>(item);
      ++request->ran;
      ASSERT_GT(request->deadline(), at(now)) << "seed " << seed;
      ASSERT_LE(admission.in_flight(), std::max(admission.limit(), 1)) << "seed " << seed;
      running.push_back(request);
    };
    const auto tell = [&](Admission::Refusals& refusals) {
      for (const auto& refusal : refusals) ++static_cast<Request*>(refusal.item)->refused;
      refusals.clear();
    };
    Admission::Refusals refusals;
    const auto pump = [&] {
      while (Admission::Item* item = admission.try_next(at(now), random.draw(), refusals)) {
        start(item);
      }
      tell(refusals);
    };
    for (int step = 0; step < 400; ++step) {
      now += upto(8);
      const int action = upto(9);
      if (action < 5) {
        Request& request =
            requests.emplace_back(static_cast<Criticality>(upto(3)), at(now + upto(150)));
        if (admission.offer(request, at(now), random.draw(), refusals) == Answer::runs) {
          start(&request);
        }
        tell(refusals);
      } else if (action < 8 && !running.empty()) {
        const auto which = static_cast<std::size_t>(upto(static_cast<int>(running.size()) - 1));
        Request* done = running[which];
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
        admission.on_finished(*done, at(now), upto(4) == 0);
        pump();
      } else if (action == 8 && !requests.empty()) {
        const auto which = static_cast<std::size_t>(upto(static_cast<int>(requests.size()) - 1));
        if (admission.try_withdraw(requests[which], at(now))) ++requests[which].withdrawn;
      } else {
        admission.expire(at(now), random.draw(), refusals);
        tell(refusals);
        ASSERT_GT(admission.wake(), at(now)) << "seed " << seed;
        pump();
      }
      ASSERT_LE(admission.depth(), static_cast<std::size_t>(options.queue.capacity));
      ASSERT_EQ(admission.in_flight(), static_cast<std::int32_t>(running.size())) << seed;
    }
    admission.drain(at(now), random.draw(), refusals);
    tell(refusals);
    std::uint64_t counted = 0;
    for (const Verdict verdict : kAdmissionVerdicts) counted += admission.tally().requests(verdict);
    EXPECT_EQ(counted, requests.size()) << "seed " << seed;
    for (const Request& request : requests) {
      ASSERT_EQ(request.ran + request.refused + request.withdrawn, 1) << "seed " << seed;
    }
  }
}

TEST(Admission, AReloadKeepsWhatRunsWhatWaitsAndTheLimit) {
  Bench bench(fixed(2, 2));
  EXPECT_EQ(bench.offer('a', 0), Answer::runs);
  EXPECT_EQ(bench.offer('b', 0), Answer::runs);
  EXPECT_EQ(bench.offer('c', 0), Answer::waits);
  EXPECT_EQ(bench.offer('d', 0), Answer::waits);
  bench.admission.reload(fixed(3, 4));
  EXPECT_EQ(bench.admission.in_flight(), 2);
  EXPECT_EQ(bench.next(1), 'c');
  EXPECT_EQ(bench.next(1), '-');
  for (const char item : {'e', 'f', 'g'}) EXPECT_EQ(bench.offer(item, 1), Answer::waits);
  EXPECT_EQ(bench.offer('h', 1), Answer::refused);
  EXPECT_EQ(bench.refused(), "h:shed ");
  bench.admission.reload(fixed(1, 1));  // Fewer: nobody is sent away, nobody is let in.
  EXPECT_EQ(bench.admission.in_flight(), 3);
  EXPECT_EQ(bench.admission.depth(), 4U);
  EXPECT_EQ(bench.offer('i', 1), Answer::refused);
  for (const char item : {'a', 'b'}) {
    bench.finish(item, 2);
    EXPECT_EQ(bench.next(2), '-');
  }
  bench.finish('c', 2);
  EXPECT_EQ(bench.next(2), 'd');

  AdmissionOptions adaptive;  // What it has learnt stays, within the new bounds.
  adaptive.limit.initial = 20;
  Bench learnt(adaptive);
  adaptive.limit.initial = 50;
  adaptive.queue.capacity = 7;
  learnt.admission.reload(adaptive);
  EXPECT_EQ(learnt.admission.limit(), 20);
  adaptive.limit.max = 15;
  adaptive.limit.initial = 15;
  learnt.admission.reload(adaptive);
  EXPECT_EQ(learnt.admission.limit(), 15);
}

TEST(Admission, SeveralShareALimitAndALine) {  // Invariants (2), (5).
  const AdmissionOptions options = fixed(1, 2);
  admit::ConcurrencyLimit limit(options.limit);
  AdmissionLine line(2);
  Bench one(options, {.limit = limit, .line = line});
  Bench two(options, {.limit = limit, .line = line});
  EXPECT_EQ(one.offer('a', 0), Answer::runs);
  EXPECT_EQ(two.offer('b', 0, 1'000'000, sheddable), Answer::waits);
  EXPECT_EQ(two.admission.most_critical(), sheddable);
  EXPECT_EQ(one.offer('c', 0), Answer::waits);
  EXPECT_EQ(one.offer('d', 0), Answer::refused);  // Two wait, on both together.
  EXPECT_EQ(one.refused(), "d:shed ");
  EXPECT_EQ(two.offer('e', 0), Answer::waits);  // With the place in line of a lesser one.
  EXPECT_EQ(two.refused(), "b:shed ");
  EXPECT_EQ(line.depth(), 2U);
  one.finish('a', 1);
  ASSERT_TRUE(limit.try_acquire());  // By whoever shares it out: to the other one.
  EXPECT_EQ(two.letter(two.admission.next(at(1), 0.5, two.refusals)), 'e');
  EXPECT_EQ(two.admission.most_critical(), std::nullopt);
  EXPECT_EQ(two.admission.next(at(1), 0.5, two.refusals), nullptr);
  EXPECT_EQ(line.depth(), 1U);
  two.finish('e', 2);
  EXPECT_EQ(limit.in_flight(), 0);
  one.admission.reload(fixed(5, 9));  // What is shared is its owner's.
  EXPECT_EQ(limit.limit(), 1);
  EXPECT_EQ(line.capacity(), 2U);
  EXPECT_TRUE(one.admission.try_withdraw(one.items.at('c'), at(3)));
  EXPECT_EQ(line.depth(), 0U);
}

TEST(Admission, ALineThatIsSharedIsUnderPressureAsAWhole) {
  const AdmissionOptions options = fixed(1);
  admit::ConcurrencyLimit limit(options.limit);
  AdmissionLine line(100);
  Bench busy(options, {.limit = limit, .line = line});
  Bench quiet(options, {.limit = limit, .line = line});
  EXPECT_EQ(busy.offer('a', 0), Answer::runs);
  EXPECT_EQ(busy.offer('b', 0), Answer::waits);
  EXPECT_EQ(quiet.offer('c', 15), Answer::waits);
  EXPECT_EQ(quiet.offer('d', 20), Answer::waits);
  EXPECT_EQ(line.busy_since(), at(0));
  // For over 20 ms somebody has waited, if not here: the newest goes first, and 5 ms are enough.
  EXPECT_EQ(quiet.letter(quiet.admission.next(at(21), 0.5, quiet.refusals)), 'd');
  EXPECT_EQ(quiet.refused(), "c:shed ");
  EXPECT_TRUE(busy.admission.try_withdraw(busy.items.at('b'), at(21)));
  EXPECT_EQ(quiet.offer('e', 22), Answer::waits);  // The line has been empty.
  EXPECT_EQ(line.busy_since(), at(22));
}

// A fixed number of drops would lower this limit; nothing that is not rated does.
TEST(Admission, ARequestThatIsNotRatedIsNeitherASampleNorAnOverload) {
  for (const bool rated : {true, false}) {
    Bench bench(fixed(2));
    EXPECT_EQ(bench.offer('a', 0, 50), Answer::runs);
    Admission::Item& item = bench.items.at('a');
    if (rated) {
      bench.finish('a', 100);
    } else {
      bench.admission.on_finished_unrated(item);
    }
    EXPECT_FALSE(item.runs());
    EXPECT_EQ(bench.admission.in_flight(), 0);
    EXPECT_EQ(bench.admission.tally().overruns, rated ? 1U : 0U);
    EXPECT_EQ(bench.admission.tally().works.quantile(Percent(50), at(100)).has_value(), rated);
  }
}

}  // namespace
}  // namespace damper::http
