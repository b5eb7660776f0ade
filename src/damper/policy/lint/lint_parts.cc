// The rules about the parts that refuse calls: breaker, throttle, rate.
#include "damper/base/duration_text.h"
#include "damper/policy/lint/lint_rules.h"

namespace damper::policy {

namespace {

constexpr Percent kMostRejected = Percent(95);
constexpr Duration kUsualOpenCap = admit::CircuitBreakerOptions{}.open_cap;
constexpr double kNoRoom = 0.9;  // of the capacity; above it, retries displace first attempts

// The rate is of one process, the load of all.
void find_rate(const Lens& lens) {
  const auto& limit = lens.policy().attempt_rate;
  if (!limit) return;
  const Facts& facts = lens.facts();
  const auto clients = static_cast<double>(facts.clients);
  const double all = limit->bucket.rate_per_second * clients;
  if (facts.load > all) {
    lens.add(Rule::rate_under_load, "attempt_rate_limit.attempts_per_second",
             "the load is " + rate_text(facts.load) + ", but " +
                 (facts.clients == 1 ? "only " + rate_text(all) + " may be sent"
                                     : std::to_string(facts.clients) + " clients may send only " +
                                           rate_text(all) + " together") +
                 ": the other calls end with rate_limited",
             "attempts_per_second: " +
                 decimal(facts.load * worst_attempts(lens.settings()) / clients, 1) +
                 "   # the load and its retries");
  }
  const Duration timeout = lens.policy().call.timeout;
  if (limit->max_wait >= timeout) {
    lens.add(Rule::wait_over_timeout, "attempt_rate_limit.max_wait",
             "an attempt may wait " + lens.value("attempt_rate_limit.max_wait") +
                 " for its token, but the call lasts " + lens.value("timeout") +
                 " at most: it is refused as soon as the wait would pass the deadline",
             "max_wait: " + format_duration(timeout / 2) + "   # or a longer timeout");
  }
}

}  // namespace

void find_parts(const Lens& lens) {
  find_rate(lens);
  const auto& breaker = lens.policy().breaker;
  const Duration attempt = engine::longest_attempt(lens.policy().call);
  if (breaker && breaker->probe_lease > Duration{0} && breaker->probe_lease <= attempt) {
    lens.add(Rule::lease_under_timeout, "circuit_breaker.probe_lease",
             "a probe counts as failed after " + format_duration(breaker->probe_lease) +
                 ", and an attempt may take " + format_duration(attempt) +
                 ": an answer in between comes after the breaker has opened again",
             "probe_lease: auto   # " + format_duration(engine::derived_lease(lens.policy().call)));
  }
  const auto& throttle = lens.policy().throttle;
  if (throttle && throttle->max_rejected > kMostRejected) {
    const std::int32_t admitted = Percent(100).hundredths() - throttle->max_rejected.hundredths();
    lens.add(Rule::throttle_without_bound, "client_throttle.max_rejected",
             "up to " + lens.value("client_throttle.max_rejected") +
                 " % of the calls are rejected: " +
                 (admitted == 0
                      ? std::string("none is")
                      : "one in " + std::to_string(Percent(100).hundredths() / admitted) + " is") +
                 " left to find out that the dependency has recovered",
             "max_rejected: 92");
  }
}

void find_known_harms(const Lens& lens) {
  const auto& breaker = lens.policy().breaker;
  if (breaker && breaker->open_cap > kUsualOpenCap) {
    const std::string base = breaker->open_base > kUsualOpenCap ? "open_base: 1s, " : "";
    lens.add(Rule::known_harm, "circuit_breaker.open_cap",
             "after a long outage the breaker sends a probe only every " +
                 format_duration(breaker->open_cap / 2) + " to " +
                 format_duration(breaker->open_cap) + ": the traffic returns up to that much later",
             "circuit_breaker: { " + base + "open_cap: " + format_duration(kUsualOpenCap) + " }");
  }
  if (breaker && breaker->slow_call_duration > Duration{0}) {
    lens.add(Rule::known_harm, "circuit_breaker.slow_call_duration",
             "answers that take over " + lens.value("circuit_breaker.slow_call_duration") +
                 " open the breaker: if every call is slow and succeeds, most are refused",
             "slow_call_duration: off   # or the latency from which an answer has no value");
  }
  const Facts& facts = lens.facts();
  const double hidden = hidden_capacity(facts.capacity, lens.amplified[lens.position].attempts);
  if (lens.extra_attempts() > 0 && !lens.policy().limit && facts.capacity > 0 &&
      facts.load >= kNoRoom * facts.capacity && facts.load < hidden) {
    lens.add(
        Rule::known_harm, "facts.load",
        "at " + rate_text(facts.load) + " of " + rate_text(facts.capacity) +
            " there is no room for more attempts: those that time out in a queue are sent "
            "again, and fewer requests succeed than without retries",
        "concurrency_limit: on   # or keep the load under " + rate_text(kNoRoom * facts.capacity));
  }
}

}  // namespace damper::policy
