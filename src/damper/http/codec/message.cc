#include "damper/http/codec/message.h"

#include "damper/http/codec/chars.h"

namespace damper::http {

FieldList::FieldList(std::span<const Field> fields) {
  if (fields.empty()) return;
  std::size_t bytes = 0;
  for (const Field& field : fields) bytes += field.name.size() + field.value.size();
  text_.reserve(bytes);
  places_.reserve(fields.size());
  for (const Field& field : fields) add(field.name, field.value);
}

Field FieldList::field(const Place& place) const noexcept {
  const std::string_view text = text_;
  return {text.substr(place.begin, place.name_size),
          text.substr(place.begin + place.name_size, place.value_size)};
}

void FieldList::add(std::string_view name, std::string_view value) {
  places_.push_back({text_.size(), name.size(), value.size()});
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
  for (Place place : places_) {
    place.begin -= gone;
    if (same_name(field(place).name, name)) {
      text_.erase(place.begin, place.name_size + place.value_size);
      gone += place.name_size + place.value_size;
    } else {
      places_[kept++] = place;
    }
  }
  places_.resize(kept);
}

std::optional<std::string_view> FieldList::find(std::string_view name) const noexcept {
  for (const Place& place : places_) {
    if (const Field found = field(place); same_name(found.name, name)) return found.value;
  }
  return std::nullopt;
}

std::span<const Field> FieldList::view() const {
  view_.clear();
  view_.reserve(places_.size());
  for (const Place& place : places_) view_.push_back(field(place));
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

Head Response::head() const {
  return {.status = status, .fields = fields.view(), .content_length = body.size()};
}

Response Response::from(const Head& head) {
  return {.status = head.status, .fields = FieldList(head.fields), .body = {}, .trailers = {}};
}

}  // namespace damper::http
