#include "damper/proxy/request/kept_body.h"

#include <algorithm>

#include "damper/base/check.h"

namespace damper::proxy {

void KeptBody::begin(std::size_t bound) noexcept {
  if (text_.capacity() > kKeptBytes) {
    std::string().swap(text_);
  } else {
    text_.clear();
  }
  dropped_ = 0;
  begin_ = 0;
  bound_ = bound;
  owed_ = 0;
  keeps_ = true;
  ended_ = false;
}

void KeptBody::append(std::string_view bytes) {
  if (dropped_ == text_.size()) {
    text_.clear();
    dropped_ = 0;
  } else if (dropped_ > text_.size() / 2) {
    text_.erase(0, dropped_);
    dropped_ = 0;
  }
  text_ += bytes;
  owed_ += bytes.size();
}

std::string_view KeptBody::from(std::uint64_t offset) const noexcept {
  DAMPER_CHECK(offset >= begin_ && offset <= end());
  return std::string_view(text_).substr(dropped_ + static_cast<std::size_t>(offset - begin_));
}

bool KeptBody::try_drop(std::uint64_t taken) noexcept {
  if (taken <= begin_ || (keeps_ && size() <= bound_)) return false;
  DAMPER_CHECK(taken <= end());
  keeps_ = false;
  dropped_ += static_cast<std::size_t>(taken - begin_);
  begin_ = taken;
  return true;
}

std::size_t KeptBody::try_consume() noexcept {
  const std::size_t beyond = size() - std::min(size(), bound_);
  if (owed_ <= beyond) return 0;
  const std::size_t consumed = owed_ - beyond;
  owed_ = beyond;
  return consumed;
}

}  // namespace damper::proxy
