#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/engine/call_script_testing.h"
#include "damper/lab/world/simulated_calls.h"
#include "tests/conformance/driver.h"

namespace damper::conformance {

// The lab's SimulatedCalls, in virtual time, with a transport that answers as the script does.
class LabDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "lab"; }

  [[nodiscard]] std::string play(const Case& scenario) override {
    const engine::Policy policy = policy_of(scenario);
    Laboratory lab(policy);
    for (int i = 0; scenario.warm && i < 100; ++i) (void)lab.play({}, ".");
    if (!scenario.before.empty()) (void)lab.play({}, scenario.before);
    if (scenario.switched_off) {
      lab.dependency().switches().set(admit::Switch::retries, {.off = true});
    }
    const schedule::Deadline deadline(add(lab.now(), scenario.deadline));
    return lab.play({.request = {.idempotent = scenario.idempotent,
                                 .safe = scenario.idempotent,
                                 .owned_above = scenario.owned_above,
                                 .rereads = scenario.rereads},
                     .deadline = deadline},
                    scenario.script);
  }

 private:
  enum Kind : std::uint32_t { kWake, kAnswer };

  struct NoData {};
  using Calls = lab::SimulatedCalls<NoData>;

  class Laboratory final : private Calls::Transport {
   public:
    explicit Laboratory(const engine::Policy& policy)
        : dependency_("test", policy),
          calls_(queue_, streams_, *this, kWake),
          base_(policy.call.backoff.base) {}

    [[nodiscard]] engine::Dependency& dependency() { return dependency_; }
    [[nodiscard]] Instant now() const { return queue_.now(); }

    std::string play(const engine::CallOptions& options, std::string_view script) {
      script_ = engine::parse_script(script);
      trace_ = {};
      least_wait_ = base_;
      operation_ = calls_.prepare(dependency_, options, 0, {});
      calls_.start(operation_);
      for (int i = 0; i < 1000 && calls_.size() > 0; ++i) next();
      DAMPER_CHECK(calls_.size() == 0);  // Or the call does not end.
      return trace_.text();
    }

   private:
    void next() {
      const auto due = queue_.pop();
      DAMPER_CHECK(due.has_value());
      if (due->event.kind == kWake) return calls_.on_wake(due->event);
      const decide::Report& report = script_[due->event.subject - 1].report;
      const lab::Handle sent = lab::Handle::of(due->event.detail);
      if (!calls_.is_wanted(operation_, sent)) return;
      last_end_ = queue_.now();
      if (report.server_said_when()) least_wait_ = std::max(least_wait_, report.retry_after);
      DAMPER_CHECK(calls_.on_answer(operation_, sent, report));
    }

    lab::Handle on_send(lab::Handle, Calls::Operation&, const engine::Attempt& attempt) override {
      DAMPER_CHECK(attempt.number <= script_.size());
      if (attempt.number > 1 && !attempt.hedge) {
        const Duration waited = between(last_end_, queue_.now());
        trace_.waited(waited);
        if (waited < least_wait_) trace_.ended("(too early)");
      }
      trace_.sent(attempt.hedge);
      const lab::Handle sent{attempt.number, ++sent_};
      queue_.schedule(add(queue_.now(), script_[attempt.number - 1].takes),
                      {kAnswer, attempt.number, sent.word()});
      return sent;
    }
    void on_give_up(lab::Handle) override {
      trace_.cancelled(0);
      last_end_ = queue_.now();
    }
    void on_over(const Calls::Operation&, Verdict verdict) override {
      trace_.ended(damper::name(verdict));
    }

    timer::EventQueue queue_;
    const lab::RandomStreams streams_{1};
    engine::Dependency dependency_;
    Calls calls_;
    const Duration base_;
    std::vector<engine::ScriptedAttempt> script_;
    lab::Handle operation_;
    std::uint32_t sent_ = 0;
    Duration least_wait_{0};
    Instant last_end_{};
    engine::Trace trace_;
  };
};

}  // namespace damper::conformance
