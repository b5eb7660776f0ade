#include "damper/demo/storm.h"

#include <algorithm>

namespace damper::demo {

Backend::Backend(const StormOptions& options, Instant start) noexcept
    : down_at_(start + options.calm),
      back_at_(start + options.back_at()),
      service_(Duration(std::chrono::seconds(1)) / options.capacity_per_second),
      empty_at_(start) {}

std::optional<Instant> Backend::admit(Instant now, std::uint32_t attempt) noexcept {
  (attempt == 1 ? first_tries_ : retries_).fetch_add(1, std::memory_order_relaxed);
  if (down_at_ <= now && now < back_at_) return std::nullopt;
  served_.fetch_add(1, std::memory_order_relaxed);
  Instant empty = empty_at_.load(std::memory_order_relaxed);
  Instant answer;
  do {
    answer = std::max(empty, now) + service_;
  } while (!empty_at_.compare_exchange_weak(empty, answer, std::memory_order_relaxed));
  return answer;
}

Backend::Count Backend::count() const noexcept {
  return {.first_tries = first_tries_.load(std::memory_order_relaxed),
          .retries = retries_.load(std::memory_order_relaxed),
          .served = served_.load(std::memory_order_relaxed)};
}

std::int64_t next_call(Duration elapsed, Duration every) noexcept { return elapsed / every + 1; }

Buckets bucketed(const FleetRecord& fleet, const StormOptions& options) {
  const auto size = static_cast<std::size_t>((options.end() + kBucket - Duration{1}) / kBucket);
  Buckets buckets{std::vector<int>(size), std::vector<int>(size)};
  for (const Arrival& arrival : fleet.arrivals) {
    const auto index = static_cast<std::size_t>(arrival.at / kBucket);
    ++(arrival.attempt == 1 ? buckets.first_tries : buckets.retries)[std::min(index, size - 1)];
  }
  return buckets;
}

namespace {

std::optional<Duration> back_after(const FleetRecord& fleet, const StormOptions& options) {
  std::vector<std::int64_t> successes(
      static_cast<std::size_t>(options.after / options.every));  // in each whole window
  for (const CallRecord& call : fleet.calls) {
    if (!call.succeeded || call.ended < options.back_at()) continue;
    const auto window = static_cast<std::size_t>((call.ended - options.back_at()) / options.every);
    if (window < successes.size()) ++successes[window];
  }
  const auto full = std::find_if(successes.begin(), successes.end(), [&](std::int64_t count) {
    return count * 100 >= std::int64_t{options.clients} * 99;
  });
  if (full == successes.end()) return std::nullopt;
  return options.every * (full - successes.begin());
}

}  // namespace

Findings find(const FleetRecord& fleet, const StormOptions& options) {
  Findings findings;
  findings.offered =
      options.clients * ((options.end() + options.every - Duration{1}) / options.every);
  findings.calls = static_cast<std::int64_t>(fleet.calls.size());
  findings.attempts = static_cast<std::int64_t>(fleet.arrivals.size());
  std::int64_t while_down = 0;
  std::int64_t their_attempts = 0;
  for (const CallRecord& call : fleet.calls) {
    if (call.succeeded) ++findings.succeeded;
    if (!options.is_down(call.started)) continue;
    ++while_down;
    their_attempts += call.attempts;
  }
  if (while_down > 0) {
    findings.attempts_per_call =
        static_cast<double>(their_attempts) / static_cast<double>(while_down);
  }
  const Buckets buckets = bucketed(fleet, options);
  findings.tallest_retries = *std::max_element(buckets.retries.begin(), buckets.retries.end());
  findings.back_after = back_after(fleet, options);
  return findings;
}

std::array<Promise, 4> promises(const Findings& naive, const Findings& guarded) {
  return {{{"naive: more than 3 attempts for each call while it is down: a storm",
            naive.attempts_per_call > kNaiveAttemptsPerCall},
           {"guarded: at most 1.12 attempts for each call while it is down",
            guarded.attempts_per_call <= kGuardedAttemptsPerCall},
           {"guarded: the tallest 100 ms of retries at least 5 times lower",
            guarded.tallest_retries * kTimesLower <= naive.tallest_retries},
           {"guarded: 99 % of what is offered succeeds within 2 s of the return",
            guarded.back_after && *guarded.back_after <= kBackWithin}}};
}

}  // namespace damper::demo
