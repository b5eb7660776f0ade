#include "damper/proxy/request/kept_message.h"

#include <algorithm>
#include <cstring>

#include "damper/base/check.h"

namespace damper::proxy {

void KeptHead::keep(const http::Head& head) {
  std::size_t size = head.method.size() + head.scheme.size() + head.authority.size() +
                     head.target.size() + head.upgrade.size();
  for (const http::Field& field : head.fields) size += field.name.size() + field.value.size();
  text_.resize(size);
  char* at = text_.data();
  const auto copy = [&at](std::string_view from) {
    if (!from.empty()) std::memcpy(at, from.data(), from.size());
    const std::string_view kept(at, from.size());
    at += from.size();
    return kept;
  };
  head_.method = copy(head.method);
  head_.scheme = copy(head.scheme);
  head_.authority = copy(head.authority);
  head_.target = copy(head.target);
  head_.upgrade = copy(head.upgrade);
  fields_.clear();
  for (const http::Field& field : head.fields) {
    const std::string_view name = copy(field.name);
    fields_.push_back({name, copy(field.value), field.sound});
  }
  head_.fields = fields_;
  head_.status = head.status;
  head_.content_length = head.content_length;
}

void KeptHead::keep(std::span<const http::Field> trailers) { keep(http::Head{.fields = trailers}); }

void KeptHead::clear() noexcept {
  head_ = {};
  fields_.clear();
  if (text_.capacity() <= kKeptBytes) return text_.clear();
  std::string().swap(text_);
  std::vector<http::Field>().swap(fields_);
}

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
