#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "damper/base/unix_time.h"

namespace damper::webhooks {

// An Id is the number of a message or an endpoint: 43 bits of milliseconds since 1970, then 20 bits
// that make it unique. So ids are in order of their creation, and a page of a list is a range.
//
// As text: a prefix and 13 digits of base 32 without i, l, o and u, as "msg_01jc3k8q5r7ta".
enum class Id : std::int64_t {};

inline constexpr std::string_view kMessagePrefix = "msg_";
inline constexpr std::string_view kEndpointPrefix = "ep_";

[[nodiscard]] std::string id_text(std::string_view prefix, Id id);
// nullopt: it has another prefix, or is not an id.
[[nodiscard]] std::optional<Id> parse_id(std::string_view prefix, std::string_view text) noexcept;

[[nodiscard]] constexpr std::int64_t number(Id id) noexcept {
  return static_cast<std::int64_t>(id);
}

// The lowest id that is made at this time: those of earlier times are less.
[[nodiscard]] Id first_id(UnixTime time) noexcept;

// Makes ids of one process.
//
// Invariants: (1) Each is greater than the one before, also if the clock is set back.
// Two processes that make ids in the same millisecond differ with a probability of 1 - 2^-20 a
// pair; a store refuses the second one, and its caller makes another.
// Thread safety: none.
class IdMaker {
 public:
  // `random` is used once, as the start of the lower bits.
  explicit IdMaker(std::uint32_t random) noexcept : random_(random) {}
  [[nodiscard]] Id next(UnixTime now) noexcept;

 private:
  std::uint32_t random_;
  std::int64_t last_ = 0;
};

}  // namespace damper::webhooks
