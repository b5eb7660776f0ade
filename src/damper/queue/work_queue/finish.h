#ifndef DAMPER_QUEUE_WORK_QUEUE_FINISH_H_
#define DAMPER_QUEUE_WORK_QUEUE_FINISH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/instant.h"
#include "damper/decide/outcome.h"

namespace damper::queue {

// How one run of a key went.
struct Finish {
  enum class How : std::uint8_t {
    done,      // it is as it should be: forget its failures
    requeue,   // the same, and run it again after `after`
    failed,    // as the report says
    terminal,  // it failed, and running it again cannot help
  };
  How how = How::done;
  Duration after{0};        // requeue
  decide::Report report{};  // failed
  std::string why{};        // failed, terminal: for people
};

inline constexpr std::array<std::string_view, 4> kFinishNames = {"done", "requeue", "failed",
                                                                 "terminal"};
[[nodiscard]] constexpr std::string_view name(Finish::How how) noexcept {
  return kFinishNames[static_cast<std::size_t>(how)];
}

// What the retry logic hears of it. Who calls a success a failure gets a permanent one. A run that
// was cancelled counts as not run only while the controller stops; otherwise its own deadline did
// it, and it timed out: a key that always says so would else run for ever, and at once.
[[nodiscard]] decide::Report report_of(const Finish& finish, bool stopping) noexcept;

// The text, or as much of its beginning as fits, cut between characters of UTF-8.
[[nodiscard]] std::string_view shortened(std::string_view text, std::size_t most) noexcept;

}  // namespace damper::queue

#endif  // DAMPER_QUEUE_WORK_QUEUE_FINISH_H_
