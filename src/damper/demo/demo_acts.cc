#include "damper/demo/demo_acts.h"

#include <cstddef>
#include <utility>

namespace damper::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kRate = 240;         // two fifths of what the backends serve
constexpr double kSurge = 900;        // half as much again as they serve
constexpr double kPatientRate = 120;  // of calls that wait for seconds
constexpr std::string_view kPatient = "/patient/orders";

constexpr std::array<ActPlot, 4> kPlots = {{
    {.title = "An outage",
     .sentence =
         "All three backends answer 503. Watch attempts: naive clients multiply the load by four; "
         "the proxy's budget and breakers keep it at one or less.",
     .trouble = "down"},
    {.title = "A slow replica",
     .sentence = "One backend of three takes 20 times as long. Watch the p99: round robin sends it "
                 "a third of the requests; the proxy prefers the others, and hedges late requests.",
     .trouble = "one slow"},
    {.title = "An overload",
     .sentence = "The load is 150 % of the capacity for a while. Watch good requests: naive "
                 "retries keep the overload alive; the proxy sheds load, and recovers.",
     .trouble = "surge"},
    {.title = "The kill switch",
     .sentence = "All backends are down and patient calls wait to try again. In the middle an "
                 "operator switches retries off: the proxy's waiting calls end at once.",
     .trouble = "down"},
}};

}  // namespace

const ActPlot& plot(Act act) noexcept { return kPlots[static_cast<std::size_t>(act)]; }

ActTimes times_of(Act act, Duration length) noexcept {
  ActTimes times{.trouble = length / 5, .over = length / 5 + length / 2, .end = length};
  if (act == Act::kill_switch) times.flip = (times.trouble + times.over) / 2;
  return times;
}

double rate_at(Act act, const ActTimes& times, Duration at) noexcept {
  if (act == Act::kill_switch) return kPatientRate;
  const bool surge = act == Act::overload && times.trouble <= at && at < times.over;
  return surge ? kSurge : kRate;
}

LoadOptions unguarded_load(Act act, std::vector<std::string> backends) {
  LoadOptions load{.targets = std::move(backends), .attempts = 4, .delay = milliseconds(20)};
  if (act == Act::kill_switch) {
    load.path = kPatient;
    load.delay = seconds(1);
  }
  return load;
}

LoadOptions guarded_load(Act act, std::string proxy) {
  LoadOptions load{.targets = {std::move(proxy)}, .attempt_timeout = milliseconds(1200)};
  if (act == Act::kill_switch) {
    load.path = kPatient;
    load.attempt_timeout = seconds(30);
  }
  return load;
}

std::string demo_policy(const std::vector<std::string>& backends) {
  std::string endpoints;
  for (const std::string& backend : backends) {
    endpoints += (endpoints.empty() ? "\"" : ", \"") + backend + '"';
  }
  return R"(threads: 1
access_log: off
listeners:
  demo: { address: 127.0.0.1:0 }
clusters:
  shop:
    endpoints: [)" +
         endpoints + R"(]
    # All three may be out at once, and are to be asked again soon.
    outlier_detection: { base_ejection_time: 250ms, max_ejection_time: 1s, ramp: 500ms }
routes:
  patient:
    match: { prefix: /patient }
    cluster: shop
    timeout: 30s
    retry_policy:
      num_retries: 3
      retry_back_off: { base_interval: 3s, max_interval: 10s }
      retry_budget: { budget_percent: 100 }
  shop:
    match: { prefix: / }
    cluster: shop
    timeout: 1s
    retry_policy:
      num_retries: 2
      per_try_timeout: 500ms
      retry_back_off: { base_interval: 20ms, max_interval: 200ms }
    hedge_policy: { max_hedges: 1, quantile: 95 }
    admission_control: { min: 16, initial: 24 }
)";
}

}  // namespace damper::demo
