// Limits of retries (a maximum, a token bucket, a breaker), and their growth through layers.
#include <cmath>

#include "damper/base/text/plain_text.h"
#include "damper/lab/published/published_study.h"
#include "damper/lab/runs/measure.h"

namespace damper::lab {
namespace {

// ---- Token bucket against circuit breaker ------------------------------------------------------

constexpr std::string_view kBucketSource =
    "Brooker, \"Fixing retries with token buckets and circuit breakers\", 2022";

Sample sample_requests(const Scenario&, const Record& record) {
  const ClientsRecord& clients = record.clients[0];
  const auto requests = static_cast<double>(clients.requests);
  return {.values = {static_cast<double>(clients.attempts) / requests,
                     static_cast<double>(clients.succeeded), requests}};
}

Study failing_study(std::string_view variant, double failing, StudyRow row) {
  Scenario scenario = builtin_variant("bucket-vs-breaker", variant);
  scenario.services[0].errors = failing;
  // The article's simulator has no other limit beside the bucket (retry_sim/retry_strategy.py).
  if (variant == "bucket") policy_of(scenario, "service").call.max_attempts = 100;
  return study_of(std::move(scenario), 20, sample_requests, {std::move(row)},
                  ", errors " + std::to_string(std::lround(100 * failing)) + "%");
}

// The variant's name in the scenario and in the table.
struct Stop {
  std::string_view variant;
  std::string_view what;
  double theirs;
};

std::vector<Study> bucket_studies() {
  const PublishedRow row{.result = "Token bucket or breaker (Brooker)",
                         .source = std::string(kBucketSource)};
  std::vector<Study> all;
  for (const Stop& stop : {Stop{"three", "three retries", 4.000},
                           Stop{"bucket", "10 % bucket", 1.143}, Stop{"breaker", "breaker", 1.0}}) {
    const auto attempts = row.named("attempts, p = 1, " + std::string(stop.what), stop.theirs);
    all.push_back(failing_study(stop.variant, 1, {within_amount(attempts, 0.005), mean_of(0)}));
  }
  for (const double p : {0.25, 0.5, 0.75}) {
    const auto attempts = row.named("attempts, p = " + text::fixed_text(p, 2) + ", three retries",
                                    (1 - p * p * p * p) / (1 - p));
    all.push_back(failing_study("three", p, {within_percent(attempts, 1), mean_of(0)}));
  }
  for (const Stop& stop : {Stop{"none", "no retry", .900}, Stop{"three", "three retries", .9999},
                           Stop{"bucket", "10 % bucket", .992}, Stop{"breaker", "breaker", .929}}) {
    const auto success = row.named("success, p = 0.1, " + std::string(stop.what), stop.theirs);
    all.push_back(
        failing_study(stop.variant, 0.1, {within_amount(success, 0.005), share_of(1, 2)}));
  }
  return all;
}

// ---- Layers ------------------------------------------------------------------------------------

constexpr std::string_view kPower = "arithmetic: k layers of a attempts are a^k";
constexpr std::string_view kBuilders =
    "Brooker, \"Timeouts, retries, and backoff with jitter\", Amazon Builders' Library";

// layers.yaml, with further services between its middle and its back.
Study layers_study(std::string_view variant, int layers, std::int32_t attempts, StudyRow row) {
  Scenario scenario = builtin_variant("layers", variant);
  const ServiceSpec middle = scenario.services[1];
  for (int i = 3; i < layers; ++i) {
    ServiceSpec further = middle;
    further.name += '-' + std::to_string(i);
    // Inserted into the chain before the last service.
    ServiceSpec& last = scenario.services[scenario.services.size() - 2];
    last.calls[0].service = further.name;
    scenario.services.insert(scenario.services.end() - 1, std::move(further));
  }
  policy_of(scenario, "back").call.max_attempts = attempts;
  policy_of(scenario, "back").call.timeout = std::chrono::minutes(1);
  scenario.length = std::chrono::minutes(1);
  std::string detail;
  if (layers != 3) detail += ", " + std::to_string(layers) + " layers";
  if (attempts != 3) detail += ", " + std::to_string(attempts) + " attempts";
  return study_of(
      std::move(scenario), 4,
      [](const Scenario& played, const Record& record) {
        return Sample{.values = {find_measure("attempts_at_bottom")->of(played, record)}};
      },
      {std::move(row)}, detail);
}

std::vector<Study> layer_studies() {
  struct Stack {
    int layers;
    std::int32_t attempts;
    double theirs;
    std::string_view source;
  };
  const auto row = [](const Stack& stack, std::string what, double tolerance, const char* note) {
    const PublishedRow published{.result = "Layers", .source = std::string(stack.source)};
    return StudyRow{within_percent(published.named(std::move(what), stack.theirs, note), tolerance),
                    mean_of(0)};
  };
  std::vector<Study> all;
  for (const Stack& stack :
       {Stack{3, 3, 27, kPower}, Stack{3, 4, 64, kPower}, Stack{5, 3, 243, kBuilders}}) {
    const std::string what = "at the bottom, " + std::to_string(stack.layers) + " layers of " +
                             std::to_string(stack.attempts);
    all.push_back(layers_study("unowned", stack.layers, stack.attempts, row(stack, what, 1, "")));
  }
  for (const Stack& stack : {Stack{3, 3, 1.331, kPower}, Stack{5, 3, 1.61051, kPower}}) {
    const std::string layers = std::to_string(stack.layers);
    std::string what = layers;
    what.append(" layers, 10 % budgets: 1.1^").append(layers);
    all.push_back(layers_study(
        "budget", stack.layers, stack.attempts,
        row(stack, what, 5, "our budget keeps a little under 10 % of a sliding window")));
  }
  return all;
}

}  // namespace

std::vector<Study> retry_studies() { return joined({bucket_studies(), layer_studies()}); }

}  // namespace damper::lab
