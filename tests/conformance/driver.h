#pragma once

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/engine/policy.h"

namespace damper::conformance {

// A Case is one call, and how it has to go under every driver.
struct Case {
  std::string_view script;  // see damper/engine/call_script_testing.h
  std::string_view trace;   // the words, without their numbers: real time is never exact
  bool idempotent = true;
  bool owned_above = false;
  bool rereads = false;          // by damper::update where a driver has it
  Duration deadline = kForever;  // from the start of the call
  bool warm = false;             // a hundred quick answers are known before
  bool switched_off = false;     // retries are, on the dependency
  std::string_view before = {};  // a script that another call plays first
  void (*change)(engine::Policy&) = nullptr;
};

// What a case starts from: no jitter, so that a wait has a least length; a budget that does not run
// out; more attempts than most scripts need.
inline engine::Policy policy_of(const Case& scenario) {
  engine::Policy policy;
  policy.call.timeout = std::chrono::hours(1);
  policy.call.backoff = {.jitter = schedule::Jitter::none,
                         .base = std::chrono::milliseconds(2),
                         .cap = std::chrono::milliseconds(2)};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  if (scenario.change != nullptr) scenario.change(policy);
  return policy;
}

// A Driver plays a case and tells what it did in the words of engine::Trace: send, hedge, wait
// (before a retry, for at least as long as planned), cancel (an attempt was given up), and the
// verdict. To hold another driver to the table, derive from this and add it to drivers().
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string play(const Case& scenario) = 0;
};

[[nodiscard]] inline std::string without_numbers(std::string trace) {
  std::erase_if(trace, [](unsigned char c) { return std::isdigit(c) != 0; });
  return trace;
}

}  // namespace damper::conformance
