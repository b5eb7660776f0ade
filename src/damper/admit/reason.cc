#include "damper/admit/reason.h"

#include <algorithm>

namespace damper::admit {
namespace {

// Where to cut so that no UTF-8 character is torn: before a byte that continues one, never.
std::size_t cut(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return most;
}

}  // namespace

Reason::Reason(std::string_view text) noexcept
    : length_(static_cast<std::uint8_t>(cut(text, kLongest))) {
  std::copy_n(text.begin(), length_, bytes_.begin());
}

}  // namespace damper::admit
