#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/enum_names.h"
#include "damper/base/instant.h"
#include "damper/decide/outcome.h"

namespace damper::queue {

// The result of one run of a key.
struct Finish {
  enum class How : std::uint8_t {
    done,      // success: clear the key's failures
    requeue,   // success, and run the key again after `after`
    failed,    // see `report`
    terminal,  // failure that no retry can mend
  };
  How how = How::done;
  Duration after{0};        // requeue
  decide::Report report{};  // failed
  std::string why{};        // failed, terminal: shown to operators
};

inline constexpr EnumNames<Finish::How::terminal> kFinishNames = {"done", "requeue", "failed",
                                                                  "terminal"};
[[nodiscard]] constexpr std::string_view name(Finish::How how) noexcept {
  return kFinishNames[how];
}

// The report for the retry logic. A `failed` with Outcome::success is permanent. A cancelled run
// counts as not run only while the controller stops; otherwise its own deadline cancelled it, and
// it is a timeout: else a key that always returns cancelled would be run again at once, forever.
[[nodiscard]] decide::Report report_of(const Finish& finish, bool stopping) noexcept;

// The text, cut to at most `most` bytes between two UTF-8 characters.
[[nodiscard]] std::string_view shortened(std::string_view text, std::size_t most) noexcept;

}  // namespace damper::queue
