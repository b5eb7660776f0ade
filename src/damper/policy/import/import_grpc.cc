#include "damper/policy/import/importers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "damper/policy/import/import_terms.h"

namespace damper::policy {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMostAttempts = 5;  // gRPC's own bound.

class Importer {
 public:
  Importer(Drafts& drafts, ImportNotes& notes) : drafts_(drafts), notes_(notes) {}

  void read_document(const config::Tree& document) {
    if (document.kind != config::Tree::Kind::sequence) return read_choice(document);
    bool read = false;
    for (const config::Tree& choice :
         document.items) {  // Of a TXT record the first that fits is used.
      if (std::exchange(read, true)) {
        notes_.note(choice.place, "only the first of the choices is imported");
      } else {
        read_choice(choice);
      }
    }
  }

 private:
  void read_choice(const config::Tree& tree) {
    Fields fields(tree, "the service config", notes_);
    if (const config::Tree* inner = fields.take("service_config")) {
      fields.leave_rest();
      return read_choice(*inner);
    }
    Draft budget(notes_);
    if (const config::Tree* throttling = fields.take("retry_throttling")) {
      read_throttling(*throttling, budget);
    } else {
      set_no_budget(budget, fields.place_of("method_config"), "gRPC without retryThrottling",
                    notes_);
    }
    for (const config::Tree& method : fields.list("method_config")) read_method(method, budget);
    fields.leave("load_balancing_config", "one dependency has one address here");
    fields.leave("load_balancing_policy", "one dependency has one address here");
    fields.leave_rest();
  }

  void read_throttling(const config::Tree& tree, Draft& budget) {
    Fields fields(tree, "retryThrottling", notes_);
    const Placed<double> tokens = fields.number("max_tokens", 0);
    budget.set_ratio("retry_budget.budget_percent", fields.number("token_ratio", 0));
    budget.set("retry_budget.reserve", static_cast<std::int64_t>(std::min(tokens.value / 2, 1e9)),
               tokens.place);
    fields.leave_rest();
    budget.set("retry_budget.deposit_on", 1);  // success
    notes_.note(tree.place,
                "tokens become a budget: tokenRatio of the successes in 10s, and half of maxTokens "
                "in reserve, which successes refill one for one. It differs from gRPC's rule, "
                "where every failure takes a token: gRPC stops all retries when more than about "
                "tokenRatio of the calls fail, this budget still grants tokenRatio of them");
  }

  void read_method(const config::Tree& tree, const Draft& budget) {
    Fields fields(tree, "methodConfig", notes_);
    Draft draft(notes_);
    set_timeout(draft, fields.duration("timeout"), fields.place_of("timeout"), "gRPC", notes_);
    if (const config::Tree* retries = fields.take("retry_policy")) {
      read_retries(*retries, draft);
    } else if (const config::Tree* hedging = fields.take("hedging_policy")) {
      read_hedging(*hedging, draft);
    } else {
      draft.set("retry_policy.num_retries", 0);
    }
    if (fields.is_true("wait_for_ready")) {
      notes_.note(fields.place_of("wait_for_ready"),
                  "waitForReady has no equivalent: a request that cannot be sent is retried as "
                  "retry_on says");
    }
    const auto names = fields.list("name");
    fields.leave_rest();
    if (names.empty()) {
      notes_.note(tree.place, "a methodConfig without names holds for nothing and is left out");
    }
    draft.add(budget);
    for (const config::Tree& name : names) add(name, draft);
  }

  void add(const config::Tree& tree, const Draft& draft) {
    Fields fields(tree, "name", notes_);
    const std::string service = fields.text("service");
    const std::string method = fields.text("method");
    fields.leave_rest();
    const std::string name = method.empty() ? service : service + '/' + method;
    drafts_.add(name.empty() ? "default" : name, tree.place, draft);
  }

  // The attempts that the policy allows, the first included.
  std::int64_t attempts(Fields& fields, Draft& draft) {
    Placed<std::int64_t> most = fields.integer("max_attempts", 1);
    if (most.value > kMostAttempts) {
      notes_.note(most.place, "gRPC holds maxAttempts at 5, so num_retries becomes 4");
      most.value = kMostAttempts;
    }
    most.value = std::max<std::int64_t>(most.value, 1);
    draft.set("retry_policy.num_retries", most.value - 1, most.place);
    return most.value;
  }

  void read_retries(const config::Tree& tree, Draft& draft) {
    Fields fields(tree, "retryPolicy", notes_);
    attempts(fields, draft);
    const auto base = fields.duration("initial_backoff");
    const auto most = fields.duration("max_backoff");
    if (base) draft.set("retry_policy.retry_back_off.base_interval", *base);
    if (most) draft.set("retry_policy.retry_back_off.max_interval", *most);
    notes_.note_once("jitter", base ? base->place : tree.place,
                     "the wait is drawn from its whole interval here, as gRPC did at first; gRPC "
                     "now draws from 0.8 to 1.2 times of it, which spreads a herd less");
    const auto multiplier = fields.number("backoff_multiplier");
    if (multiplier && multiplier->value != 2.0) {
      notes_.note(multiplier->place,
                  "backoffMultiplier has no equivalent: the interval always doubles here");
    }
    const config::SourceLocation codes_place = fields.place_of("retryable_status_codes");
    set_grpc_codes(draft, fields.list("retryable_status_codes"), codes_place, notes_);
    fields.leave_rest();
    note_idempotency(tree.place, "gRPC", notes_);
  }

  void read_hedging(const config::Tree& tree, Draft& draft) {
    Fields fields(tree, "hedgingPolicy", notes_);
    const config::SourceLocation place = fields.place_of("hedging_delay");
    Placed<Duration> delay = fields.duration("hedging_delay", 0s);
    if (delay.value == 0s) {
      notes_.note(place, "all at once would be several times the load: the delay becomes 1ms");
      delay.value = 1ms;
    }
    set_hedge(draft, attempts(fields, draft) - 1, delay);
    const config::SourceLocation codes_place = fields.place_of("non_fatal_status_codes");
    set_grpc_codes(draft, fields.list("non_fatal_status_codes"), codes_place, notes_);
    fields.leave_rest();
    notes_.note(place,
                "a hedge is sent after hedgingDelay or the median latency, whichever is later, and "
                "only for idempotent requests");
  }

  Drafts& drafts_;
  ImportNotes& notes_;
};

}  // namespace

void import_grpc(std::span<const config::Tree> documents, Drafts& drafts, ImportNotes& notes) {
  Importer importer(drafts, notes);
  for (const config::Tree& document : documents) importer.read_document(document);
}

}  // namespace damper::policy
