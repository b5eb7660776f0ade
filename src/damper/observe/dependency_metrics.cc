#include "damper/observe/dependency_metrics.h"

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/check.h"

namespace damper::observe {
namespace {

using decide::Outcome;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<Duration, 16> kBounds = {
    microseconds(500), milliseconds(1),   milliseconds(2) + microseconds(500),
    milliseconds(5),   milliseconds(10),  milliseconds(25),
    milliseconds(50),  milliseconds(100), milliseconds(250),
    milliseconds(500), seconds(1),        milliseconds(2500),
    seconds(5),        seconds(10),       seconds(30),
    seconds(60)};

// The outcomes that decide::judge may answer with a retry.
bool is_retried(Outcome outcome) {
  return decide::is_failure(outcome) || outcome == Outcome::conflict;
}

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// The samples of one dependency.
class Page {
 public:
  Page(Exposition& out, const std::string& dependency) : out_(out), dependency_(dependency) {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value,
               std::string_view label = {}, std::string_view label_value = {}) {
    out_.counter(name, help, labels(label, label_value), value);
  }
  template <class T>
  void gauge(std::string_view name, std::string_view help, T value, std::string_view label = {},
             std::string_view label_value = {}) {
    out_.gauge(name, help, labels(label, label_value), value);
  }
  void histogram(std::string_view name, std::string_view help, const HistogramValue& value) {
    out_.histogram(name, help, labels({}, {}), value);
  }

 private:
  [[nodiscard]] Labels labels(std::string_view label, std::string_view value) const {
    Labels labels{{"dependency", dependency_}};
    if (!label.empty()) labels.emplace_back(label, value);
    return labels;
  }

  Exposition& out_;
  const std::string& dependency_;
};

void write_calls(Page& page, const engine::Tally& tally) {
  page.counter("damper_calls_total", "Calls that were started.", tally.started);
  page.gauge("damper_inflight_requests", "Calls that are under way.", tally.in_flight());
  page.counter("damper_attempts_total", "Attempts that were sent, retries and hedges included.",
               tally.attempts);
  for (std::size_t i = 0; i < kVerdictNames.size(); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    if (verdict == Verdict::none || verdict == Verdict::shed) continue;  // No call ends so.
    page.counter("damper_verdicts_total", "Calls that have ended, by why.", tally.of(verdict),
                 "verdict", name(verdict));
  }
  for (std::size_t i = 0; i < decide::kOutcomeNames.size(); ++i) {
    const auto reason = static_cast<Outcome>(i);
    if (!is_retried(reason)) continue;
    page.counter("damper_retries_total", "Retries that were sent, by the outcome before them.",
                 tally.retries_for(reason), "reason", decide::name(reason));
  }
  page.counter("damper_layered_retries_total",
               "Retries that were left to the layer above, which owns them.",
               tally.of(Verdict::layered));
  constexpr std::string_view kHedges = "damper_hedges_total";
  constexpr std::string_view kHedgesHelp =
      "Hedges sent, those of them that won, and those that were due but not admitted.";
  page.counter(kHedges, kHedgesHelp, tally.hedges, "result", "sent");
  page.counter(kHedges, kHedgesHelp, tally.hedges_won, "result", "won");
  page.counter(kHedges, kHedgesHelp, tally.hedges_suppressed, "result", "suppressed");
}

void write_admission(Page& page, engine::Dependency& dependency, const engine::Tally& tally,
                     Instant now) {
  page.gauge("damper_retry_budget_balance", "Retries that the budget would grant now.",
             dependency.budget().balance(now));
  page.gauge("damper_retry_budget_fill_ratio", "The share of the earned retries that is left.",
             dependency.budget().fill(now));
  page.counter("damper_retry_budget_exhausted_total", "Retries that the budget refused.",
               tally.budget_refusals);
  const engine::Terms terms = dependency.terms();
  if (terms.has_breaker) {
    const admit::BreakerState state = dependency.breaker().state(now);
    for (std::size_t i = 0; i < admit::kBreakerStateNames.size(); ++i) {
      page.gauge("damper_breaker_state", "1 for the state that the circuit breaker is in, else 0.",
                 static_cast<std::size_t>(state) == i ? 1 : 0, "state",
                 admit::kBreakerStateNames[i]);
    }
    const admit::BreakerForceStatus forced = dependency.breaker().forced(now);
    for (const auto held : {admit::BreakerForce::open, admit::BreakerForce::closed}) {
      page.gauge("damper_breaker_forced", "1 while an operator holds the breaker in this state.",
                 forced.force == held ? 1 : 0, "state", admit::name(held));
    }
    for (std::size_t i = 0; i < admit::kBreakerStateNames.size(); ++i) {
      if (forced.force == admit::BreakerForce::none) break;
      page.gauge("damper_breaker_own_state",
                 "1 for the state that a breaker held by an operator would be in by itself.",
                 static_cast<std::size_t>(forced.own) == i ? 1 : 0, "state",
                 admit::kBreakerStateNames[i]);
    }
  }
  if (terms.has_limit) {
    page.gauge("damper_concurrency_limit", "Attempts that may be under way at once.",
               dependency.limit().limit());
    page.gauge("damper_concurrency_in_flight", "Attempts that are under way.",
               dependency.limit().in_flight());
  }
  if (terms.has_rate) {
    page.histogram("damper_rate_limiter_wait_seconds",
                   "Time that attempts or keys waited for the rate limit.",
                   read_latencies(dependency.attempt_rate()->waits()));
  }
  if (terms.has_throttle) {
    page.gauge("damper_throttle_reject_probability",
               "The probability with which the client throttle refuses an attempt.",
               dependency.throttle().reject_probability(now));
  }
  for (std::size_t i = 0; i < admit::kSwitchNames.size(); ++i) {
    page.gauge("damper_switch_off", "1 when an operator has switched it off, here or above.",
               dependency.switches().off(static_cast<admit::Switch>(i), now) ? 1 : 0, "switch",
               admit::kSwitchNames[i]);
  }
}

}  // namespace

Instant steady_now() noexcept {
  return Instant{std::chrono::steady_clock::now().time_since_epoch()};
}

HistogramValue read_latencies(const damper::Histogram& latencies) {
  damper::Histogram::Totals totals;
  latencies.read_totals(totals);
  HistogramValue value;
  for (const Duration bound : kBounds) value.bounds.push_back(in_seconds(bound));
  value.counts.resize(kBounds.size() + 1);
  std::size_t place = 0;
  for (std::size_t i = 0; i < totals.counts.size(); ++i) {
    const Duration longest =
        damper::Histogram::lower(i) + damper::Histogram::width(i) - Duration(1);
    while (place < kBounds.size() && kBounds[place] < longest) ++place;
    const auto count = static_cast<std::uint64_t>(totals.counts[i]);
    value.counts[place] += count;
    value.sum += static_cast<double>(count) * in_seconds(damper::Histogram::middle(i));
  }
  return value;
}

void write_metrics(engine::Dependency& dependency, Instant now, Exposition& out) {
  Page page(out, dependency.name());
  const engine::Tally tally = dependency.tally();
  write_calls(page, tally);
  write_admission(page, dependency, tally, now);
  page.histogram("damper_latency_seconds",
                 "How long attempts took that were answered well or timed out.",
                 read_latencies(dependency.latencies()));
}

DependencyMetrics::DependencyMetrics(Registry& registry, Clock now)
    : registry_(registry), now_(std::move(now)) {
  DAMPER_CHECK(now_);
}

Registry::Collection DependencyMetrics::add(engine::Dependency& dependency) {
  return registry_.collect(
      [&dependency, now = now_](Exposition& out) { write_metrics(dependency, now(), out); });
}

}  // namespace damper::observe
