#pragma once

#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace damper::text {

// A JsonWriter writes one JSON value to a stream, in the order of the calls, with the commas.
//
// Why: reports and states are large and written once; a tree of values would be built only to be
// thrown away.
// Model: open and close nest; every member of an object has a key, no element of an array has one.
// Numbers are the shortest text that parses to the same value; NaN and infinities are null. Strings
// are escaped by json_string() (utf8.h) and never cut.
// Thread safety: none. Cost: one stream write a call.
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  // Opens an object ('{') or an array ('['). An empty key: no key.
  void open(char bracket, std::string_view key = {});
  void close(char bracket);

  void field(std::string_view key, std::string_view text);
  void field(std::string_view key, const char* text) { field(key, std::string_view(text)); }
  void field(std::string_view key, double number);
  template <std::integral Integer>
  void field(std::string_view key, Integer number) {
    write(key, std::to_string(number));
  }
  void field(std::string_view key, bool truth) { write(key, truth ? "true" : "false"); }
  void field(std::string_view key, std::nullptr_t) { write(key, "null"); }

  // A value that is JSON already. REQUIRES: `json` is one valid value.
  void raw(std::string_view key, std::string_view json) { write(key, json); }

  // A value without a key, in an array.
  template <typename Value>
  void element(const Value& value) {
    field({}, value);
  }

 private:
  void write(std::string_view key, std::string_view value);

  std::ostream& out_;
  bool first_ = true;  // No comma is due.
};

}  // namespace damper::text
