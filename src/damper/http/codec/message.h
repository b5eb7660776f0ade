#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/http/codec/head.h"

namespace damper::http {

// A FieldList is a list of fields that owns its text.
//
// Model: the text of all fields is one string, and the fields are spans of it. view() makes the
// pointers anew each time, so that a list can be copied and moved by default.
// Thread safety: none, view() included.
// Cost: an empty list never allocates; a list allocates for its text, its spans and its view.
class FieldList {
 public:
  FieldList() = default;
  FieldList(std::initializer_list<Field> fields)
      : FieldList(std::span<const Field>(fields.begin(), fields.size())) {}
  explicit FieldList(std::span<const Field> fields);

  // A field that is not valid_field() is stored, but no codec writes it: header injection fails.
  void add(std::string_view name, std::string_view value);
  // Replaces all fields of that name.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return spans_.size(); }
  [[nodiscard]] bool empty() const noexcept { return spans_.empty(); }
  // Valid until the next change.
  [[nodiscard]] std::span<const Field> view() const;

 private:
  struct Span {
    std::size_t begin;
    std::size_t name_size;
    std::size_t value_size;
  };
  [[nodiscard]] Field field(const Span& span) const noexcept;

  std::string text_;
  std::vector<Span> spans_;  // in the order of the text, without gaps
  mutable std::vector<Field> view_;
};

// Whether a codec may send a field unchanged: the name is a token, the value has no CR, LF, NUL or
// other control character, and no space around it.
[[nodiscard]] bool valid_field(std::string_view name, std::string_view value) noexcept;

// A Request is a whole request with its body: a client sends it, a handler receives it.
struct Request {
  std::string method = "GET";
  std::string scheme{};
  std::string authority{};
  std::string target = "/";
  FieldList fields{};
  std::string body{};

  // A view of it, with the body's length; valid until it changes.
  [[nodiscard]] Head head() const;
  [[nodiscard]] static Request from(const Head& head);
};

// A Response is a whole answer.
struct Response {
  int status = 200;
  FieldList fields{};
  std::string body{};
  FieldList trailers{};

  // A text/plain answer.
  [[nodiscard]] static Response plain(int status, std::string body);

  [[nodiscard]] Head head() const;
  [[nodiscard]] static Response from(const Head& head);
};

}  // namespace damper::http
