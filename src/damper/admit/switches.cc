#include "damper/admit/switches.h"

namespace damper::admit {

void Switches::set(Switch which, const SwitchSetting& setting) noexcept {
  Record record;
  if (setting.off) {
    record.off_until = setting.until;
    record.reason = Reason(setting.reason);
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
          std::string(record.reason.text())};
}

void Switches::listen(FlipListener& listener) noexcept {
  // If it fails, the exchange has read the present head into next_.
  while (!listeners_.compare_exchange_weak(listener.next_, &listener, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
}

}  // namespace damper::admit
