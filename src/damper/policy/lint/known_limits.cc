#include "damper/policy/lint/known_limits.h"

#include <array>
#include <cstddef>

#include "damper/policy/file/schema.h"
#include "damper/policy/lint/amplification.h"

namespace damper::policy {
namespace {

constexpr std::array<HarmText, kHarmReasonNames.size()> kTexts = {{
    {"gb",
     "After a long outage the breaker stays open for 15 to 30 s (the default open_cap, jittered) "
     "before its next probe. It halves the attempts on a dead service, and refuses calls for the "
     "first seconds after the outage. A lower open_cap shortens that time and sends more probes: "
     "with "
     "10 s, twice as many attempts on a service that hangs, and calls are still refused for 10 to "
     "12 s after it."},
    {"gb",
     "Each trip lasts for 0.5 to 1 s at least, and each further one for longer: a service that is "
     "up for 5 s of every 10 s is refused for a part of its good time. A breaker is for outages "
     "that last longer than its open time."},
    {"gb",
     "Near the capacity, an attempt that timed out in a queue is sent again, and the queue grows: "
     "there is no room even for the retry budget. Combine retries with a concurrency limit or a "
     "shed queue, or keep the load well under the capacity."},
    {"gb",
     "Three times slower, the service has two thirds of the capacity that the load needs. It is "
     "overloaded, and retries and hedges of attempts that time out in its queue add load. Combine "
     "them with a concurrency limit or a shed queue."},
    {"a",
     "At one request a minute, a budget of 10 % pays for less than one retry in ten minutes. The "
     "reserve of the budget pays for the others, as intended: at most one retry in 10 s."},
    {"g",
     "A latency that rises 60-fold looks like a queue until two lower limits have had no effect on "
     "it. With a round trip of 6 s that takes about a minute."},
    {"gb",
     "The option asks for it: calls over 1 s count as failures, even if they succeed after 6 s."},
    {"g",
     "Two defences shed the same load: rejections by the shed queue in a burst lower the client's "
     "limit, which then refuses requests as well. Without the limit the cell holds."},
    {"a",
     "With full jitter the mean wait is half of that without jitter, so a broken key runs about "
     "twice as often at the same cap: 1 % of all runs."},
}};

// The key of the defence that brings the reason into this policy; empty: none does.
std::string_view key_of(HarmReason reason, const Settings& settings) {
  const engine::Policy& policy = settings.policy;
  const bool repeats = most_extra_attempts(settings) > 0;
  switch (reason) {
    case HarmReason::open_time: return policy.breaker ? "circuit_breaker.open_cap" : "";
    case HarmReason::flapping: return policy.breaker ? "circuit_breaker.open_base" : "";
    case HarmReason::no_room:
    case HarmReason::brown_out: return repeats && !policy.limit ? "retry_policy.num_retries" : "";
    case HarmReason::reserve:
      return repeats && policy.budget.reserve > 0 ? "retry_budget.reserve" : "";
    case HarmReason::slow_is_queue:
      return policy.limit && policy.limit->kind == admit::LimitKind::gradient
                 ? "concurrency_limit.kind"
                 : "";
    case HarmReason::slow_is_failure:
      return policy.breaker && policy.breaker->slow_call_duration > Duration{0}
                 ? "circuit_breaker.slow_call_duration"
                 : "";
    case HarmReason::two_shedders:
      return policy.limit && policy.limit->kind != admit::LimitKind::fixed
                 ? "concurrency_limit.kind"
                 : "";
    case HarmReason::jitter: return "";
  }
  return "";
}

}  // namespace

const HarmText& text_of(HarmReason reason) { return kTexts[static_cast<std::size_t>(reason)]; }

std::vector<KnownLimit> known_limits(std::span<const Route> routes) {
  std::vector<KnownLimit> limits;
  for (const Route& route : routes) {
    for (std::size_t i = 0; i < kHarmReasonNames.size(); ++i) {
      const auto reason = static_cast<HarmReason>(i);
      const std::string_view key = key_of(reason, route.settings);
      if (key.empty()) continue;
      limits.push_back(
          {reason, place_of(route, block_schema().position(key)), route.name, std::string(key)});
    }
  }
  return limits;
}

int count_reasons(std::span<const KnownLimit> limits) {
  std::array<bool, kHarmReasonNames.size()> seen{};
  int count = 0;
  for (const KnownLimit& limit : limits) {
    bool& is_seen = seen[static_cast<std::size_t>(limit.reason)];
    count += is_seen ? 0 : 1;
    is_seen = true;
  }
  return count;
}

}  // namespace damper::policy
