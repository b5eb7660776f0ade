#include "damper/cli/check/check_webhooks.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "damper/base/duration_text.h"
#include "damper/cli/check/tree_lens.h"
#include "damper/config/schema.h"

namespace damper::cli {
namespace {

using config::Tree;
using policy::Finding;
using policy::Rule;
using webhooks::RetrySchedule;
using webhooks::ServeOptions;

// "delivery.retries" as the keys of the tree.
TreeLens::Keys keys_of(std::string_view path) {
  TreeLens::Keys keys;
  while (!path.empty()) {
    keys.push_back(path.substr(0, path.find('.')));
    path.remove_prefix(std::min(path.size(), keys.back().size() + 1));
  }
  return keys;
}

void add(TreeLens& lens, Rule rule, std::string_view path, std::string why, std::string fix) {
  lens.add(rule, keys_of(path), "", std::move(why), std::move(fix));
}

// A key that is set and has no effect.
void find_unused(const ServeOptions& options, TreeLens& lens) {
  constexpr std::array<std::string_view, 2> kListed = {"delivery.retries", "delivery.jitter"};
  constexpr std::array<std::string_view, 3> kExponential = {
      "delivery.backoff_base", "delivery.backoff_cap", "delivery.max_attempts"};
  const std::string schedule(webhooks::kRetryScheduleNames[options.schedule]);
  const auto check = [&](std::string_view path) {
    if (lens.find(keys_of(path)) == nullptr) return;
    add(lens, Rule::not_as_written, path,
        std::string(path) + " has no effect: delivery.schedule is " + schedule,
        options.schedule == RetrySchedule::listed ? "delivery: { schedule: full }"
                                                  : "delivery: { schedule: listed }");
  };
  if (options.schedule == RetrySchedule::listed) {
    std::ranges::for_each(kExponential, check);
  } else {
    std::ranges::for_each(kListed, check);
  }
  const double host = options.dispatcher.host_probes.rate_per_second;
  if (host > options.dispatcher.all_probes.rate_per_second) {
    add(lens, Rule::not_as_written, "circuit_breaker.host_probes_per_second",
        "the probes of one host may be more than those of all hosts together, which bound them",
        "circuit_breaker: { probes_per_second: 100 }   # of all, at least that of one host");
  }
}

// The retries that max_age leaves, and their delays, by their means.
void find_age(const ServeOptions& options, TreeLens& lens) {
  const auto policy = webhooks::dispatcher_options(options).policy;
  const std::size_t retries = policy.backoff ? static_cast<std::size_t>(policy.max_attempts) - 1
                                             : policy.retries.steps().size();
  Duration sum{0};
  std::size_t made = 0;
  while (made < retries) {
    // Half of the ceiling is the least mean of all jitters.
    sum += policy.backoff ? schedule::ceiling(*policy.backoff, static_cast<std::uint32_t>(made)) / 2
                          : policy.retries.steps()[made];
    if (sum > policy.max_age) break;
    ++made;
  }
  if (made == retries) return;
  add(lens, Rule::attempts_exceed_deadline,
      policy.backoff ? "delivery.max_attempts" : "delivery.retries",
      "a delivery is dead after delivery.max_age of " + format_duration(policy.max_age) +
          ", and only about " + std::to_string(made) + " of its " + std::to_string(retries) +
          " retries are due before",
      "delivery: { max_age: 30d }, or a shorter schedule");
}

}  // namespace

bool is_webhooks_file(const Tree& tree) {
  constexpr std::array<std::string_view, 8> kOwn = {"store",        "delivery",        "egress",
                                                    "retention",    "secret_key_file", "token_file",
                                                    "log_attempts", "max_payload"};
  return std::ranges::any_of(kOwn, [&](std::string_view key) { return tree.find(key) != nullptr; });
}

Expected<ServeOptions, config::Error> load_webhooks_file(const Tree& tree,
                                                         const std::string& name) {
  ServeOptions options;
  config::Reader reader(name);
  if (auto error = reader.read(webhooks::serve_schema(), tree, tree.place, "the file", options)) {
    return unexpected(*std::move(error));
  }
  if (auto error = find_error(options)) return unexpected(config::Error{name, {}, *error});
  return options;
}

std::vector<Finding> lint_webhooks(const ServeOptions& options, const Tree& tree) {
  TreeLens lens(tree);
  const auto policy = webhooks::dispatcher_options(options).policy;
  if (!policy.backoff && policy.retries.spread() == Percent(0)) {
    add(lens, Rule::no_jitter, "delivery.jitter",
        "all deliveries that failed at one moment come back at one moment",
        "delivery: { jitter: 50% }");
  }
  find_age(options, lens);
  if (options.drain_time < policy.timeout) {
    add(lens, Rule::attempts_exceed_deadline, "drain_time",
        "an attempt may take delivery.timeout, " + format_duration(policy.timeout) +
            ", and a drain ends after " + format_duration(options.drain_time) +
            ": what is in flight then is delivered twice",
        "drain_time: " + format_duration(policy.timeout + std::chrono::seconds(5)));
  }
  find_unused(options, lens);
  return lens.take();
}

}  // namespace damper::cli
