#pragma once

#include <cstdint>

#include "damper/base/instant.h"

namespace damper::balance {

// `value` after it was last renewed at `since`: half of it after each `half_life`.
[[nodiscard]] Duration faded(Duration value, Instant since, Instant now,
                             Duration half_life) noexcept;

// A Silence is the time for which attempts have waited for an answer of a replica, since its last
// one.
//
// Why: a replica that becomes slow has no slow answers for a while, and hedges make it look idle:
// each one that wins elsewhere ends the attempt here.
// Model: the time during which at least one attempt waited, added up. An answer ends the silence,
// also for attempts that were sent before it: what is slow then is their request (an upload, a long
// poll, a stream), not the replica. It fades from the time of the last attempt, so that a replica
// that gets no attempts because of its silence is tried again.
// Thread safety: none.
class Silence {
 public:
  // An attempt is sent; the result is for on_end().
  [[nodiscard]] std::uint32_t on_sent(Instant now, Duration half_life) noexcept;
  // The head of an answer is here.
  void on_answer() noexcept;
  // An attempt ended without an answer.
  void on_end(std::uint32_t round, Instant now) noexcept;

  // Its length, at most `most`, faded. 0: no attempt has waited since the last answer.
  [[nodiscard]] Duration length(Instant now, Duration most, Duration half_life) const noexcept;

 private:
  [[nodiscard]] Duration waited(Instant now) const noexcept;  // while some wait

  std::uint32_t round_ = 0;    // the number of answers
  std::uint32_t waiting_ = 0;  // attempts of this round
  Duration waited_{0};         // until `since_`
  Instant since_{};            // if some wait: when the first of them was sent
  Instant sent_{};             // the last attempt
};

}  // namespace damper::balance
