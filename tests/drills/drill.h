#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/guarded_client.h"
#include "damper/run/clock.h"
#include "load.h"
#include "node.h"

namespace damper::drills {

// Under a sanitizer a drill is shorter, and what is slow by a factor is not measured: it only has
// to be clean.
inline constexpr bool kTimed = DAMPER_INSTRUMENTED == 0;
inline constexpr double kScale = kTimed ? 1.0 : 0.25;

[[nodiscard]] inline Duration scaled(Duration length) {
  return Duration{static_cast<std::int64_t>(static_cast<double>(length.count()) * kScale)};
}

// A guarded client of some nodes, in this process, and a load through it.
class Clients {
 public:
  Clients(const engine::Policy& policy, const http::GuardedClientOptions& options)
      : dependency_("drill", policy),
        client_(loop_, dependency_, options),
        load_(loop_, [this](std::uint64_t number, std::function<void(bool)> done) {
          begin_(number, std::move(done));
        }) {
    begin_ = [this](std::uint64_t /*number*/, std::function<void(bool)> done) {
      client_.get("/", run::now() + timeout_, [done = std::move(done)](http::HttpResult result) {
        done(static_cast<bool>(result));
      });
    };
  }

  Clients(const engine::Policy& policy, std::vector<std::string> endpoints)
      : Clients(policy, http::GuardedClientOptions{.endpoints = std::move(endpoints)}) {}

  [[nodiscard]] http::Loop& loop() noexcept { return loop_; }
  [[nodiscard]] Dependency& dependency() noexcept { return dependency_; }
  [[nodiscard]] http::GuardedClient& client() noexcept { return client_; }
  [[nodiscard]] Load& load() noexcept { return load_; }
  // What a call is, if not a GET within the timeout.
  void set_call(Load::Begin begin) { begin_ = std::move(begin); }
  void set_timeout(Duration timeout) { timeout_ = timeout; }
  [[nodiscard]] std::int64_t attempts() const {
    return static_cast<std::int64_t>(dependency_.tally().attempts);
  }

 private:
  http::Loop loop_;
  Dependency dependency_;
  http::GuardedClient client_;
  Load::Begin begin_;
  Duration timeout_ = std::chrono::milliseconds(500);
  Load load_;
};

// For what is measured in time: a noisy neighbour can make it worse, and nothing makes it better.
[[nodiscard]] inline bool holds_once_in_three(const std::function<bool()>& holds) {
  for (int i = 0; i < 3; ++i) {
    if (holds()) return true;
  }
  return false;
}

[[nodiscard]] inline double milliseconds(Duration length) {
  return std::chrono::duration<double, std::milli>(length).count();
}

}  // namespace damper::drills
