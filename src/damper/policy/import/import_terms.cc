#include "damper/policy/import/import_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "damper/base/percent.h"
#include "damper/base/text/words.h"
#include "damper/policy/file/schema.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMostPercent = Percent::kMost;
constexpr std::int64_t kMostPerSecond = 10'000;

// In the order of the codes, from 0.
constexpr std::array<std::string_view, 17> kGrpcCodes = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

std::uint32_t bit(RetryOn::Token token) { return 1U << static_cast<unsigned>(token); }

// The conditions of a policy's retry_on, added one at a time.
class RetryConditions {
 public:
  explicit RetryConditions(ImportNotes& notes) : notes_(notes) {}

  void add_token(RetryOn::Token token, std::string_view as, config::SourceLocation place) {
    tokens_ |= bit(token);
    if (const std::string_view why = refusal(token); !why.empty()) {
      notes_.note(place, std::string(as) + ": " + std::string(why));
    }
  }

  void add_word(std::string_view word, config::SourceLocation place) {
    if (const auto status = text::find_number<int>(word)) {
      tokens_ |= bit(RetryOn::Token::retriable_status_codes);
      return add_status(*status, place);
    }
    const auto token = RetryOn::kNames.find(word);
    if (token && word != "default") return add_token(*token, word, place);  // A word of ours.
    notes_.left_out(place,
                    "retry_on's " + text::in_quotes(word) + " has no equivalent and is left out");
  }

  void add_status(int status, config::SourceLocation place) {
    if (status < 400 || status > 599) {
      notes_.left_out(place, "status " + std::to_string(status) +
                                 " has no equivalent: only 400 to 599 can be listed");
      return;
    }
    statuses_.set(static_cast<std::size_t>(status));
    if (const std::string_view why = refusal_of_status(status); !why.empty()) {
      notes_.note(place, "status " + std::to_string(status) + ": " + std::string(why));
    }
  }

  void set(Draft& draft, config::SourceLocation place) const {
    draft.set("retry_policy.retry_on", tokens_, place);
    if (statuses_.any()) draft.set_statuses(statuses_, place);
  }

 private:
  ImportNotes& notes_;
  std::uint32_t tokens_ = 0;
  RetryOn::Statuses statuses_;
};

}  // namespace

void set_envoy_backoff(Draft& draft) {
  draft.set("retry_policy.retry_back_off.base_interval", 25ms);
  draft.set("retry_policy.retry_back_off.max_interval", 250ms);
}

void set_retry_on(Draft& draft, std::string_view words, config::SourceLocation place,
                  std::span<const config::Tree> codes, ImportNotes& notes) {
  RetryConditions found(notes);
  for (const std::string_view word : text::split(words)) {
    if (!word.empty()) found.add_word(word, place);
  }
  for (const config::Tree& code : codes) {
    const auto status = text::find_number<int>(code.text);
    if (!status)
      notes.fail(code.place, "a status must be a number, not " + text::in_quotes(code.text));
    if (status) found.add_status(*status, code.place);
  }
  found.set(draft, place);
}

void set_grpc_codes(Draft& draft, std::span<const config::Tree> codes, config::SourceLocation place,
                    ImportNotes& notes) {
  using Token = RetryOn::Token;
  RetryConditions found(notes);
  for (const config::Tree& code : codes) {
    auto number = text::find_number<int>(code.text);
    for (std::size_t i = 0; i < kGrpcCodes.size(); ++i) {
      if (kGrpcCodes[i] == code.text) number = static_cast<int>(i);
    }
    const bool known = number && *number >= 0 && *number < static_cast<int>(kGrpcCodes.size());
    if (!known) {
      notes.fail(code.place, "a status code must be one of gRPC's, such as UNAVAILABLE, not " +
                                 text::in_quotes(code.text));
      continue;
    }
    const std::string_view as = kGrpcCodes[static_cast<std::size_t>(*number)];
    switch (*number) {
      case 1: found.add_token(Token::cancelled, as, code.place); break;
      case 4: found.add_token(Token::deadline_exceeded, as, code.place); break;
      case 8: found.add_token(Token::resource_exhausted, as, code.place); break;
      case 13: found.add_token(Token::internal, as, code.place); break;
      case 14: found.add_token(Token::unavailable, as, code.place); break;
      default:
        notes.note(code.place, std::string(as) +
                                   " has no equivalent in retry_on and is left out: it is not "
                                   "retried");
    }
  }
  found.set(draft, place);
}

void set_timeout(Draft& draft, const std::optional<Placed<Duration>>& timeout,
                 config::SourceLocation where, std::string_view who, ImportNotes& notes) {
  if (timeout && timeout->value > 0ns) return draft.set("timeout", *timeout);
  draft.set("timeout", kLongest, timeout ? timeout->place : config::SourceLocation{});
  notes.note_once("timeout", where,
                  "without a timeout " + std::string(who) +
                      " waits for ever; here every call has a deadline, and timeout becomes 720h, "
                      "the longest: say how long the caller waits");
}

void set_no_budget(Draft& draft, config::SourceLocation where, std::string_view who,
                   ImportNotes& notes) {
  draft.set("retry_budget.budget_percent", kMostPercent);
  draft.set("retry_budget.min_retries_per_second", kMostPerSecond);
  notes.note_once("budget", where,
                  std::string(who) +
                      " has no retry budget: budget_percent becomes 1000 and "
                      "min_retries_per_second 10000, which refuse nothing; the default here is "
                      "10 %");
}

void set_max_retries(Draft& draft, const Placed<std::int64_t>& most, config::SourceLocation where,
                     ImportNotes& notes) {
  draft.set("retry_budget.budget_percent", 0);
  draft.set("retry_budget.min_retries_per_second", kMostPerSecond);
  draft.set("retry_budget.min_retry_concurrency", most);
  notes.note_once("max_retries", where,
                  "max_retries, " + std::to_string(most.value) +
                      (most.place.line > 0 ? "" : " by default") +
                      ", bounds retries under way and not their rate: fast failures get hundreds "
                      "a second through it; it becomes min_retry_concurrency beside a budget that "
                      "refuses nothing");
}

void set_retry_budget(Draft& draft, Fields& fields, std::string_view percent,
                      config::SourceLocation where, ImportNotes& notes) {
  Placed<double> share{.value = 20};
  if (const config::Tree* tree = fields.take(percent); tree != nullptr && tree->is_map()) {
    Fields inner(*tree, percent, notes);
    share = inner.number("value", 0);
    inner.leave_rest();
  } else {
    share = fields.number(percent, share.value);
  }
  draft.set_ratio("retry_budget.budget_percent", {share.value / 100, share.place});
  draft.set("retry_budget.min_retry_concurrency", fields.integer("min_retry_concurrency", 3));
  fields.leave_rest();
  notes.note_once(
      "retry_budget", where,
      "the retry budget is a percentage of the requests under way there; here it also holds over a "
      "window of 10s, which fast failures cannot get around");
}

void set_max_requests(Draft& draft, const Placed<std::int64_t>& most) {
  draft.set("concurrency_limit.initial", most);
  draft.set("concurrency_limit.kind", 0);  // fixed
  draft.set("concurrency_limit.max", *draft.raw("concurrency_limit.initial"), most.place);
}

void set_hedge(Draft& draft, std::int64_t hedges, const Placed<Duration>& delay) {
  draft.set("hedge_policy.max_hedges", hedges, delay.place);
  draft.set("hedge_policy.additional_request_chance", Percent::kDenominator);
  draft.set("hedge_policy.quantile", 5000);
  draft.set("hedge_policy.floor", delay);
  draft.set("hedge_policy.min_samples", 1);
}

void set_ejection(Draft& draft, const Ejection& ejection, config::SourceLocation where,
                  ImportNotes& notes) {
  notes.note_once(
      "ejection", where,
      "outlier detection takes single hosts out; here one breaker stops all calls to the "
      "dependency, so the same number of failures in a row means less");
  draft.set("circuit_breaker.consecutive_failures", ejection.consecutive);
  draft.set("circuit_breaker.window", ejection.interval);
  draft.set("circuit_breaker.open_base", ejection.base);
  const Placed<Duration> most = ejection.most.value_or(
      Placed<Duration>{.value = std::max(Duration{300s}, ejection.base.value)});
  draft.set("circuit_breaker.open_cap", std::min(most.value, kLongest), most.place);
  if (ejection.failure_percent) {
    draft.set("circuit_breaker.failure_rate",
              std::min<std::int64_t>(ejection.failure_percent->value, 100) * 100,
              ejection.failure_percent->place);
    draft.set("circuit_breaker.minimum_volume", ejection.failure_volume);
    return;
  }
  // No rate opens it: the rate needs all calls to fail, which consecutive failures find before.
  draft.set("circuit_breaker.failure_rate", Percent::kDenominator);
  if (ejection.consecutive.value == 0) draft.set("circuit_breaker.minimum_volume", 1'000'000);
}

void note_idempotency(config::SourceLocation where, std::string_view who, ImportNotes& notes) {
  notes.note_once("idempotency", where,
                  std::string(who) +
                      " retries every method; here a request that is not idempotent is retried "
                      "only when it surely never left");
}

}  // namespace damper::policy
