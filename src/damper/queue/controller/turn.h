#ifndef DAMPER_QUEUE_CONTROLLER_TURN_H_
#define DAMPER_QUEUE_CONTROLLER_TURN_H_

#include <cstdint>
#include <stop_token>
#include <utility>

#include "damper/base/instant.h"

namespace damper {

// What a reconcile function is told about this run of its key. Lives for that run.
class Turn {
 public:
  Turn(std::uint32_t attempt, Instant deadline, std::stop_token stop) noexcept
      : attempt_(attempt), deadline_(deadline), stop_(std::move(stop)) {}

  // From 1: how often the key has run since it was well.
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_; }
  // When it must be over. Guarded calls inside inherit it.
  [[nodiscard]] Instant deadline() const noexcept { return deadline_; }
  // Asks the run to end: its deadline has come, or the controller stops and its grace is over.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

 private:
  std::uint32_t attempt_;
  Instant deadline_;
  std::stop_token stop_;
};

}  // namespace damper

#endif  // DAMPER_QUEUE_CONTROLLER_TURN_H_
