#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"
#include "damper/engine/step.h"
#include "damper/observe/trace/tracer.h"

namespace damper::http {

// The AttemptSpans of a call are the facts of its attempts, and their spans when it has ended.
//
// Why: most calls are not exported, so that no span is made before that is known (design 0044).
// Invariants:
//   (1) An attempt has the same span id in `traceparent` and in its span.
//   (2) Attempts beyond kMostAttempts are not kept; their `traceparent` names the call's span.
// Thread safety: none.
// Cost: no allocation once it has had as many attempts with names as long.
class AttemptSpans {
 public:
  static constexpr std::size_t kMostAttempts = 16;

  // What the spans have in common: the call's span is their parent.
  struct Call {
    observe::SpanContext context{};
    std::string_view tracestate{};
    std::string_view method{};
  };

  // `replica` is HOST:PORT.
  void on_attempt(observe::Tracer& tracer, const engine::Attempt& attempt,
                  std::string_view replica);
  // No effect if the attempt is not known.
  void on_head(std::uint32_t number, int status) noexcept;
  void on_over(std::uint32_t number, decide::Outcome outcome, Instant now) noexcept;

  // Of an attempt of the call with this span. Valid until the next call.
  [[nodiscard]] std::string_view traceparent_of(std::uint32_t number,
                                                observe::SpanContext call) noexcept;
  // The call has ended and is exported.
  void add_to(observe::Tracer& tracer, const Call& call, Instant now) const;
  void clear() noexcept { count_ = 0; }

 private:
  struct Facts {
    std::uint64_t span = 0;
    std::uint32_t number = 0;
    int status = 0;
    bool hedge = false;
    bool over = false;
    decide::Outcome outcome = decide::Outcome::success;
    Instant sent{};
    Instant ended{};
    std::string replica;
  };

  [[nodiscard]] Facts* find(std::uint32_t number) noexcept;

  std::vector<Facts> attempts_;  // kept with their texts
  std::size_t count_ = 0;
  observe::TraceparentText text_{};
};

}  // namespace damper::http
