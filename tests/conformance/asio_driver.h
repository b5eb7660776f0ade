#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "damper/damper.h"
#include "damper/engine/call_script_testing.h"
#include "damper/run/async/async_call.h"
#include "damper/run/async/async_update.h"
#include "tests/conformance/driver.h"

namespace damper::conformance {

// damper::async_call and damper::async_update, on one thread and the real clock. An attempt does
// not look at its timeout: it is cancelled.
class AsioDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "asio"; }

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
  // An operation that goes as the script says, and lets itself be cancelled.
  class Scripted {
   public:
    Scripted(std::string_view script, const engine::Policy& policy)
        : script_(engine::parse_script(script)), least_wait_(policy.call.backoff.base) {}

    boost::asio::awaitable<Result<Done>> attempt(Attempt attempt) {
      DAMPER_CHECK(attempt.number() <= script_.size());
      const engine::ScriptedAttempt& scripted = script_[attempt.number() - 1];
      if (attempt.number() > 1 && !attempt.hedge()) {
        const Duration waited = run::now() - last_end_;
        trace_.waited(waited);
        if (waited < least_wait_) trace_.ended("(too early)");
      }
      trace_.sent(attempt.hedge());
      try {
        if (scripted.takes > Duration{0}) {
          boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                          scripted.takes);
          co_await timer.async_wait(boost::asio::use_awaitable);
        }
      } catch (const boost::system::system_error&) {
        trace_.cancelled(0);
        last_end_ = std::min(run::now(), attempt.deadline());  // It hears of it a little later.
        throw;
      }
      last_end_ = run::now();
      const decide::Report& report = scripted.report;
      if (report.server_said_when()) least_wait_ = std::max(least_wait_, report.retry_after);
      if (report.outcome == Outcome::success) co_return Done{};
      co_return failed(report);
    }

    std::string ended(Verdict verdict) {
      trace_.ended(damper::name(verdict));
      return trace_.text();
    }

   private:
    const std::vector<engine::ScriptedAttempt> script_;
    Duration least_wait_;
    Instant last_end_{};
    engine::Trace trace_;
  };

  static boost::asio::awaitable<Verdict> play(Dependency& dependency, const Options& options,
                                              Scripted& script, bool rereads) {
    const auto operation = [&](Attempt attempt) { return script.attempt(attempt); };
    if (!rereads) {
      const auto result = co_await async_call(dependency, options, operation);
      co_return result.verdict();
    }
    const auto read = [](Attempt) -> boost::asio::awaitable<Result<int>> { co_return 0; };
    const auto result = co_await async_update(
        dependency, options, read, [](int value) { return value; },
        [&](int, Attempt writing) { return script.attempt(writing); });
    co_return result.verdict();
  }

  static std::string play(Dependency& dependency, const engine::Policy& policy,
                          const Options& options, std::string_view text, bool rereads) {
    Scripted script(text, policy);
    boost::asio::io_context context(1);
    std::string trace;
    boost::asio::co_spawn(context, play(dependency, options, script, rereads),
                          [&](const std::exception_ptr& error, Verdict verdict) {
                            if (error) std::rethrow_exception(error);
                            trace = script.ended(verdict);
                          });
    context.run();
    return trace;
  }
};

}  // namespace damper::conformance
