#include "damper/proxy/request/kept_head.h"

#include <cstring>

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

}  // namespace damper::proxy
