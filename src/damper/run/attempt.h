#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>

#include "damper/base/instant.h"
#include "damper/engine/step.h"

namespace damper {

// An Attempt is the argument of an operation: number, deadline and stop token of one attempt.
class Attempt {
 public:
  Attempt(const engine::Attempt& attempt, const std::stop_token& stop) noexcept
      : attempt_(attempt), stop_(stop) {}

  [[nodiscard]] std::uint32_t number() const noexcept { return attempt_.number; }  // from 1
  // Whether it runs beside another one: send it to another replica if there is one.
  [[nodiscard]] bool hedge() const noexcept { return attempt_.hedge; }
  // When it must be over, and how long that was from its start.
  [[nodiscard]] Instant deadline() const noexcept { return attempt_.deadline; }
  [[nodiscard]] Duration timeout() const noexcept {
    return std::max(Duration{0}, between(attempt_.sent, attempt_.deadline));
  }
  // Stop is requested when the caller gives up or another attempt has won.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

 private:
  const engine::Attempt& attempt_;
  const std::stop_token& stop_;
};

}  // namespace damper
