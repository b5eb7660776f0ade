#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "damper/engine/call.h"

namespace damper::engine {

// What a driver, a caller or an operator does next to a call, for tests.
struct ExploredInput {
  enum class Kind : std::uint8_t {
    outcome,
    timer,
    tick,
    flip_retries,
    flip_hedging,
    reload,
    neighbour,  // another call takes a place under the limit, or returns it
    unrepeatable,
    cancel
  };
  Kind kind{};
  std::uint8_t lane = 0;    // of an outcome
  std::uint8_t report = 0;  // of an outcome: an index of Exploration::reports
};

// An Exploration is a call and its surroundings, all histories of which are explored.
struct Exploration {
  static constexpr Instant kStart{std::chrono::seconds(1000)};
  static constexpr Duration kTick = std::chrono::milliseconds(10);

  Policy policy;
  Policy other;  // reload() changes between the two; its budget is the same
  CallOptions options{.request = {.idempotent = true, .safe = true}};
  double draw = 0.5;
  std::vector<decide::Report> reports;
  // Calls before kStart: quick ones that succeed, which warm the latencies; then ones that fail,
  // one every 20 ms, which trip the breaker or activate the throttle.
  int successes_before = 10;
  int failures_before = 0;
  // Tokens of the attempt rate that other calls take at kStart. A rate of `other` has the
  // bucket of the `policy`'s.
  int tokens_before = 0;
  std::size_t most_states = 1'000'000;
};

// The input, as text for a trace.
[[nodiscard]] inline std::string in_words(const ExploredInput& input, const Exploration& of) {
  using Kind = ExploredInput::Kind;
  switch (input.kind) {
    case Kind::outcome: {
      const decide::Report& report = of.reports[input.report];
      std::string text = "outcome of lane ";
      text.append(std::to_string(input.lane)).append(": ").append(name(report.outcome));
      if (report.server_said_when()) text += ", Retry-After";
      if (report.do_not_retry) text += ", do not retry";
      if (report.unknown) text += ", unknown";
      return text;
    }
    case Kind::timer: return "timer";
    case Kind::tick: return "10 ms pass";
    case Kind::flip_retries: return "retries are switched";
    case Kind::flip_hedging: return "hedging is switched";
    case Kind::reload: return "reload";
    case Kind::neighbour: return "a neighbour takes or returns a place";
    case Kind::unrepeatable: return "unrepeatable";
    case Kind::cancel: return "cancel";
  }
  return {};
}
// Whether the call makes a new step of it.
[[nodiscard]] inline bool makes_step(const ExploredInput& input) {
  using Kind = ExploredInput::Kind;
  return input.kind == Kind::outcome || input.kind == Kind::timer || input.kind == Kind::cancel;
}

}  // namespace damper::engine
