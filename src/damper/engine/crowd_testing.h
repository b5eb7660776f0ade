#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "damper/engine/call.h"

namespace damper::engine {

// A Crowd drives many calls of one dependency in virtual time, for tests of what the shared parts
// do to traffic. Calls arrive at a fixed rate, whatever becomes of those before them.
class Crowd {
 public:
  struct Answer {
    decide::Outcome outcome = decide::Outcome::success;
    Duration takes{0};
  };
  // What becomes of an attempt that is sent now. kHangs: it never answers.
  using Service = std::function<Answer(std::uint64_t call, const Attempt& attempt)>;
  static constexpr Answer kHangs{decide::Outcome::timeout, kForever};
  static constexpr Instant kStart{std::chrono::seconds(1000)};

  explicit Crowd(Dependency& dependency,
                 CallOptions options = {.request = {.idempotent = true, .safe = true}})
      : dependency_(dependency), options_(options) {}

  // `rate_per_second` calls for `length`; calls that are in flight at its end stay so.
  void run(std::int64_t rate_per_second, Duration length, const Service& service) {
    const Instant from = now_;
    const std::int64_t count = rate_per_second * (length / std::chrono::seconds(1));
    for (std::int64_t i = 0; i < count; ++i) {
      drive(from + Duration{std::chrono::seconds(1)} * i / rate_per_second, service);
      start(service);
    }
    drive(from + length, service);
  }
  // The deadline of the callers that start from here on, by the number of the call.
  void give(std::function<Duration(std::uint64_t call)> time) { time_ = std::move(time); }
  // Until no call is in flight.
  void finish(const Service& service) { drive(kNever, service); }

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  [[nodiscard]] std::int64_t attempts() const { return attempts_; }
  [[nodiscard]] std::int64_t count(Verdict verdict) const {
    return verdicts_[static_cast<std::size_t>(verdict)];
  }
  // Counts from here on.
  void forget() {
    calls_ = attempts_ = 0;
    verdicts_ = {};
  }

 private:
  struct Event {
    Instant at;
    std::uint64_t order;
    std::uint64_t call;
    int lane;  // -1: a timer
    std::uint64_t attempt;
    decide::Outcome outcome;
    friend bool operator<(const Event& a, const Event& b) {
      return std::pair(b.at, b.order) < std::pair(a.at, a.order);
    }
  };
  struct Running {
    Running(Dependency& dependency, const CallOptions& options) : call(dependency, options) {}
    Call call;
    std::array<std::uint64_t, kLanes> attempt{};  // in the lane; 0: none
  };

  double draw() { return std::uniform_real_distribution<>(0, 1)(random_); }

  void start(const Service& service) {
    ++calls_;
    const std::uint64_t id = ++last_;
    CallOptions options = options_;
    if (time_) options.deadline = schedule::Deadline::in(time_(id), now_);
    Running& running =
        *running_.emplace(id, std::make_unique<Running>(dependency_, options)).first->second;
    running.call.start(now_, draw());
    apply(id, running, service);
  }

  void drive(Instant until, const Service& service) {
    while (!events_.empty() && events_.top().at <= until) {
      const Event event = events_.top();
      events_.pop();
      const auto found = running_.find(event.call);
      if (found == running_.end()) continue;
      Running& running = *found->second;
      now_ = std::max(now_, event.at);
      if (event.lane < 0) {
        running.call.on_timer(now_, draw());
      } else {
        auto& in_lane = running.attempt[static_cast<std::size_t>(event.lane)];
        if (in_lane != event.attempt) continue;
        in_lane = 0;
        running.call.on_outcome(event.lane, {.outcome = event.outcome}, now_, draw());
      }
      apply(event.call, running, service);
    }
    if (until != kNever) now_ = std::max(now_, until);
  }

  void apply(std::uint64_t id, Running& running, const Service& service) {
    const Step& step = running.call.step();
    for (std::size_t lane = 0; lane < running.attempt.size(); ++lane) {
      if ((step.cancels >> lane & 1) != 0) running.attempt[lane] = 0;
    }
    if (step.over()) {
      ++verdicts_[static_cast<std::size_t>(step.verdict)];
      running_.erase(id);
      return;
    }
    if (step.sends) {
      ++attempts_;
      const Answer answer = service(id, step.attempt);
      const std::uint64_t attempt = ++last_attempt_;
      running.attempt[step.attempt.lane] = attempt;
      push(add(now_, answer.takes), id, step.attempt.lane, attempt, answer.outcome);
    }
    push(step.wake, id, -1, 0, decide::Outcome::success);
  }

  void push(Instant at, std::uint64_t call, int lane, std::uint64_t attempt,
            decide::Outcome outcome) {
    if (at != kNever) events_.push({at, ++order_, call, lane, attempt, outcome});
  }

  Dependency& dependency_;
  CallOptions options_;
  std::function<Duration(std::uint64_t)> time_;
  Instant now_ = kStart;
  std::mt19937_64 random_{1};
  std::priority_queue<Event> events_;
  std::map<std::uint64_t, std::unique_ptr<Running>> running_;
  std::uint64_t last_ = 0;
  std::uint64_t last_attempt_ = 0;
  std::uint64_t order_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t attempts_ = 0;
  std::array<std::int64_t, 32> verdicts_{};
};

}  // namespace damper::engine
