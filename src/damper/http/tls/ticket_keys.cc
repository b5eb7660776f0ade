#include "damper/http/tls/ticket_keys.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>

namespace damper::http {

TicketKeys::~TicketKeys() { OPENSSL_cleanse(keys_.data(), sizeof(keys_)); }

std::optional<TicketKeys::Key> TicketKeys::newest(Instant now) {
  const std::lock_guard lock(mutex_);
  if (count_ > 0 && now < add(keys_[0].made, kPeriod)) return keys_[0];
  Key made;
  made.made = now;
  if (RAND_bytes(made.name.data(), static_cast<int>(made.name.size())) != 1 ||
      RAND_bytes(made.cipher.data(), static_cast<int>(made.cipher.size())) != 1 ||
      RAND_bytes(made.mac.data(), static_cast<int>(made.mac.size())) != 1) {
    return std::nullopt;
  }
  std::move_backward(keys_.begin(), keys_.end() - 1, keys_.end());
  keys_[0] = made;
  count_ = std::min(count_ + 1, kKept);
  return made;
}

std::optional<TicketKeys::Found> TicketKeys::find(const Name& name, Instant now) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count_; ++i) {
    if (keys_[i].name != name) continue;
    if (now >= add(keys_[i].made, kPeriod * static_cast<int>(kKept))) return std::nullopt;
    return Found{.key = keys_[i], .is_newest = i == 0};
  }
  return std::nullopt;
}

}  // namespace damper::http
