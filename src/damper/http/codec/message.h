#ifndef DAMPER_HTTP_CODEC_MESSAGE_H_
#define DAMPER_HTTP_CODEC_MESSAGE_H_

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
// Model: the text of all fields is one string, and the fields are places in it. view() makes the
// pointers of these places anew each time, so that a copied or moved list needs no care.
// Thread safety: none, view() included.
// Cost: an empty list never allocates; a list allocates for its text, its places and its view.
class FieldList {
 public:
  FieldList() = default;
  FieldList(std::initializer_list<Field> fields)
      : FieldList(std::span<const Field>(fields.begin(), fields.size())) {}
  explicit FieldList(std::span<const Field> fields);

  // One that is not valid_field() stays here, but no codec writes it: nobody can inject a header.
  void add(std::string_view name, std::string_view value);
  // Replaces all of that name.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  // Good until the next change.
  [[nodiscard]] std::span<const Field> view() const;

 private:
  struct Place {
    std::size_t begin;
    std::size_t name_size;
    std::size_t value_size;
  };
  [[nodiscard]] Field field(const Place& place) const noexcept;

  std::string text_;
  std::vector<Place> places_;  // in the order of the text, without gaps
  mutable std::vector<Field> view_;
};

// Whether a field may be sent as it is: the name a token, the value without CR, LF, NUL and other
// controls, no space around it.
[[nodiscard]] bool valid_field(std::string_view name, std::string_view value) noexcept;

// A Request is a whole request, body and all: what a client sends and a handler is given.
struct Request {
  std::string method = "GET";
  std::string scheme{};
  std::string authority{};
  std::string target = "/";
  FieldList fields{};
  std::string body{};

  // A view of it, with the body's length; good until it changes.
  [[nodiscard]] Head head() const;
  [[nodiscard]] static Request from(const Head& head);
};

// A Response is a whole answer.
struct Response {
  int status = 200;
  FieldList fields{};
  std::string body{};
  FieldList trailers{};

  [[nodiscard]] Head head() const;
  [[nodiscard]] static Response from(const Head& head);
};

}  // namespace damper::http

#endif  // DAMPER_HTTP_CODEC_MESSAGE_H_
