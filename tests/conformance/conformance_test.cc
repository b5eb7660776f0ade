#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/asio_driver.h"
#include "tests/conformance/blocking_driver.h"
#include "tests/conformance/driver.h"
#include "tests/conformance/lab_driver.h"
#include "tests/conformance/virtual_driver.h"

// One engine: the same script gives the same trace under every driver.

namespace damper::conformance {
namespace {

using namespace std::chrono_literals;

std::vector<std::unique_ptr<Driver>> drivers() {
  std::vector<std::unique_ptr<Driver>> all;
  all.push_back(std::make_unique<VirtualDriver>());
  all.push_back(std::make_unique<BlockingDriver>());
  all.push_back(std::make_unique<AsioDriver>());
  all.push_back(std::make_unique<LabDriver>());
  return all;
}

void hedging(engine::Policy& policy) {
  policy.call.hedge = {.max_hedges = 1, .min_samples = 100, .ratio = Percent(100)};
}
void hedging_shortly(engine::Policy& policy) {
  hedging(policy);
  policy.call.timeout = 200ms;
}
void trips_at_once(engine::Policy& policy) {
  policy.breaker.emplace().consecutive_failures = 1;
  policy.breaker->open_base = policy.breaker->open_cap = 1h;
}
void poor(engine::Policy& policy) { policy.budget = {.percent = Percent(0), .reserve = 1}; }
void slow(engine::Policy& policy) { policy.call.backoff.base = policy.call.backoff.cap = 2h; }
void short_tries(engine::Policy& policy) { policy.call.per_try_timeout = 20ms; }
void short_calls(engine::Policy& policy) { policy.call.timeout = 20ms; }

// An attempt of ten minutes is one that never ends by itself: it is given up, or the test hangs.
const std::vector<Case> kCases = {
    {.script = ".", .trace = "send success"},
    {.script = "t.", .trace = "send wait send success"},
    {.script = "tt.", .trace = "send wait send wait send success"},
    {.script = "T1u1.", .trace = "send wait send wait send success"},
    {.script = "ttt", .trace = "send wait send wait send attempts_spent"},
    {.script = "p", .trace = "send permanent"},
    {.script = "tp", .trace = "send wait send permanent"},
    {.script = "c", .trace = "send conflict"},
    {.script = "c.", .trace = "send wait send success", .idempotent = false, .rereads = true},
    {.script = "ct",
     .trace = "send wait send not_idempotent",
     .idempotent = false,
     .rereads = true},
    {.script = "o", .trace = "send overload"},
    {.script = "o+10.", .trace = "send wait send success"},
    {.script = "t!", .trace = "send pushed_back"},
    {.script = "T", .trace = "send not_idempotent", .idempotent = false},
    {.script = "u.", .trace = "send wait send success", .idempotent = false},
    {.script = "ut", .trace = "send wait send not_idempotent", .idempotent = false},
    {.script = "t", .trace = "send layered", .owned_above = true},
    {.script = "t",
     .trace = "send not_retryable",
     .change = [](engine::Policy& policy) { policy.call.retryable = {}; }},
    {.script = "", .trace = "deadline_passed", .deadline = 0s},
    {.script = "",
     .trace = "deadline_too_close",
     .deadline = 1h,
     .change =
         [](engine::Policy& policy) {
           policy.call.timeout = 3h;
           policy.call.needed = 2h;
         }},
    {.script = "t", .trace = "send deadline_too_close", .change = slow},
    {.script = "t+7200000", .trace = "send deadline_too_close"},
    {.script = ".600000", .trace = "send cancel deadline_passed", .change = short_calls},
    {.script = ".600000.", .trace = "send cancel wait send success", .change = short_tries},
    {.script = "t", .trace = "send switched_off", .switched_off = true},
    {.script = ".", .trace = "send success", .switched_off = true},
    {.script = "", .trace = "breaker_open", .before = "t", .change = trips_at_once},
    {.script = "t", .trace = "send breaker_open", .change = trips_at_once},
    {.script = "tt", .trace = "send wait send budget_spent", .change = poor},
    {.script = ".600000.", .trace = "send hedge cancel success", .warm = true, .change = hedging},
    {.script = ".600000p",
     .trace = "send hedge cancel deadline_passed",
     .warm = true,
     .change = hedging_shortly},
    {.script = ".30",
     .trace = "send success",
     .idempotent = false,
     .warm = true,
     .change = hedging},
    {.script = "tt.", .trace = "send wait send wait send success", .change = hedging},
    {.script = ".30", .trace = "send success", .change = hedging},  // Nothing is known yet.
};

TEST(Conformance, EveryDriverShowsTheSameTrace) {
  for (const std::unique_ptr<Driver>& driver : drivers()) {
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      EXPECT_EQ(without_numbers(driver->play(kCases[i])), kCases[i].trace)
          << "case " << i << ", script '" << kCases[i].script << "', driver " << driver->name();
    }
  }
}

TEST(Conformance, ANumberlessTraceHasTheSameWords) {
  EXPECT_EQ(without_numbers("send wait12 hedge cancel0 success"), "send wait hedge cancel success");
}

}  // namespace
}  // namespace damper::conformance
