#include "damper/http/codec/message.h"

#include <utility>

#include "damper/http/codec/chars.h"

namespace damper::http {

FieldList::FieldList(std::span<const Field> fields) {
  if (fields.empty()) return;
  std::size_t bytes = 0;
  for (const Field& field : fields) bytes += field.name.size() + field.value.size();
  text_.reserve(bytes);
  spans_.reserve(fields.size());
  for (const Field& field : fields) add(field.name, field.value);
}

Field FieldList::field(const Span& span) const noexcept {
  const std::string_view text = text_;
  return {text.substr(span.begin, span.name_size),
          text.substr(span.begin + span.name_size, span.value_size)};
}

void FieldList::add(std::string_view name, std::string_view value) {
  spans_.push_back({text_.size(), name.size(), value.size()});
  text_ += name;
  text_ += value;
}

void FieldList::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void FieldList::remove(std::string_view name) {
  std::size_t kept = 0;
  std::size_t gone = 0;  // bytes
  for (Span span : spans_) {
    span.begin -= gone;
    if (same_name(field(span).name, name)) {
      text_.erase(span.begin, span.name_size + span.value_size);
      gone += span.name_size + span.value_size;
    } else {
      spans_[kept++] = span;
    }
  }
  spans_.resize(kept);
}

std::optional<std::string_view> FieldList::find(std::string_view name) const noexcept {
  for (const Span& span : spans_) {
    if (const Field found = field(span); same_name(found.name, name)) return found.value;
  }
  return std::nullopt;
}

std::span<const Field> FieldList::view() const {
  view_.clear();
  view_.reserve(spans_.size());
  for (const Span& span : spans_) view_.push_back(field(span));
  return view_;
}

bool valid_field(std::string_view name, std::string_view value) noexcept {
  if (name.empty() || !all(kToken, name)) return false;
  if (value.empty()) return true;
  return !is_space(value.front()) && !is_space(value.back()) &&
         find_control(value, 0) == value.size();
}

Head Request::head() const {
  return {.method = method,
          .scheme = scheme,
          .authority = authority,
          .target = target,
          .fields = fields.view(),
          .content_length = body.size()};
}

Request Request::from(const Head& head) {
  return {.method = std::string(head.method),
          .scheme = std::string(head.scheme),
          .authority = std::string(head.authority),
          .target = std::string(head.target),
          .fields = FieldList(head.fields),
          .body = {}};
}

Response Response::plain(int status, std::string body) {
  Response response{.status = status, .fields = {}, .body = std::move(body), .trailers = {}};
  response.fields.add("content-type", "text/plain");
  return response;
}

Head Response::head() const {
  return {.status = status, .fields = fields.view(), .content_length = body.size()};
}

Response Response::from(const Head& head) {
  return {.status = head.status, .fields = FieldList(head.fields), .body = {}, .trailers = {}};
}

}  // namespace damper::http
