#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "damper/damper.h"
#include "damper/engine/call_script_testing.h"
#include "tests/conformance/driver.h"

namespace damper::conformance {

// damper::call and damper::update, on real threads and the real clock.
class BlockingDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "blocking"; }

  [[nodiscard]] std::string play(const Case& scenario) override {
    const engine::Policy policy = policy_of(scenario);
    Dependency dependency("test", policy);
    for (int i = 0; scenario.warm && i < 100; ++i) (void)play(dependency, policy, {}, ".", false);
    if (!scenario.before.empty()) (void)play(dependency, policy, {}, scenario.before, false);
    if (scenario.switched_off) dependency.switches().set(Switch::retries, {.off = true});
    const Options options{.idempotent = scenario.idempotent,
                          .safe = scenario.idempotent,
                          .deadline = in(scenario.deadline),
                          .owned_above = scenario.owned_above};
    return play(dependency, policy, options, scenario.script, scenario.rereads);
  }

 private:
  // An operation that goes as the script says, keeps to its timeout and heeds its stop token.
  class Scripted {
   public:
    Scripted(std::string_view script, const engine::Policy& policy)
        : script_(engine::parse_script(script)), least_wait_(policy.call.backoff.base) {}

    Result<Done> operator()(const Attempt& attempt) {
      std::unique_lock lock(mutex_);
      DAMPER_CHECK(attempt.number() <= script_.size());
      const engine::ScriptedAttempt& scripted = script_[attempt.number() - 1];
      if (attempt.number() > 1 && !attempt.hedge()) {
        const Duration waited = run::now() - last_end_;
        trace_.waited(waited);
        if (waited < least_wait_) trace_.ended("(too early)");
      }
      trace_.sent(attempt.hedge());
      const Instant over = add(run::now(), scripted.takes);
      const Instant until = std::min(over, attempt.deadline());
      (void)never_.wait_until(lock, attempt.stop(),
                              std::chrono::steady_clock::time_point(until.time_since_epoch()),
                              [] { return false; });
      decide::Report report = scripted.report;
      if (attempt.stop().stop_requested() || until < over) {
        trace_.cancelled(0);
        report = {.outcome = Outcome::timeout};
      }
      last_end_ = run::now();
      if (report.server_said_when()) least_wait_ = std::max(least_wait_, report.retry_after);
      if (report.outcome == Outcome::success) return Done{};
      return failed(report);
    }

    std::string ended(Verdict verdict) {
      trace_.ended(damper::name(verdict));
      return trace_.text();
    }

   private:
    std::mutex mutex_;
    std::condition_variable_any never_;
    const std::vector<engine::ScriptedAttempt> script_;
    Duration least_wait_;
    Instant last_end_{};
    engine::Trace trace_;
  };

  static std::string play(Dependency& dependency, const engine::Policy& policy,
                          const Options& options, std::string_view script, bool rereads) {
    Scripted operation(script, policy);
    if (!rereads) return operation.ended(call(dependency, options, operation).verdict());
    const auto result = update(
        dependency, options, [](const Attempt&) -> Result<int> { return 0; },
        [](int value) { return value; },
        [&](int, const Attempt& attempt) { return operation(attempt); });
    return operation.ended(result.verdict());
  }
};

}  // namespace damper::conformance
