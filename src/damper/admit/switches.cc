#include "damper/admit/switches.h"

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

void Switches::set(Switch which, const SwitchSetting& setting) noexcept {
  Record record;
  if (setting.off) {
    record.off_until = setting.until;
    record.length = static_cast<std::uint8_t>(cut(setting.reason, kLongestReason));
    std::copy_n(setting.reason.begin(), record.length, record.reason.begin());
  }
  Own& own = own_[static_cast<std::size_t>(which)];
  own.record.store(record);
  std::uint64_t version = 0;
  do {  // Until the word is the last record's: another flip may have come in between.
    version = own.record.version();
    own.word.store(own.record.load().off_until.time_since_epoch().count());
  } while (own.record.version() != version);

  for (const Switches* scope = this; scope != nullptr; scope = scope->parent_) {
    FlipListener* listener = scope->listeners_.load(std::memory_order_acquire);
    for (; listener != nullptr; listener = listener->next_) listener->on_flip();
  }
}

SwitchStatus Switches::snapshot(Switch which, Instant now) const {
  const Record record = own_[static_cast<std::size_t>(which)].record.load();
  if (now >= record.off_until) return {};
  const bool forever = record.off_until == kNever;
  return {true, forever ? kForever : between(now, record.off_until),
          std::string(record.reason.data(), record.length)};
}

void Switches::listen(FlipListener& listener) noexcept {
  listener.next_ = listeners_.load(std::memory_order_relaxed);
  while (!listeners_.compare_exchange_weak(listener.next_, &listener, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
}

}  // namespace damper::admit
