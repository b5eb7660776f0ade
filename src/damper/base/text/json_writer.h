#ifndef DAMPER_BASE_TEXT_JSON_WRITER_H_
#define DAMPER_BASE_TEXT_JSON_WRITER_H_

#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace damper::text {

// A JsonWriter writes one JSON value, in the order in which it is told, and puts the commas.
//
// Why: reports and states are large and are written once; a tree of values would only be built to
// be thrown away.
// Model: open and close nest; within an object everything has a key, within an array nothing.
// Numbers are the shortest that read back the same; what is not finite is null. Strings are
// escaped (observe/utf8.h), and whole, however long.
// Thread safety: none. Cost: one write for each call.
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  // Opens an object or an array; the bracket is '{' or '['. An empty key is none.
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

  // The same without a key, in an array.
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

#endif  // DAMPER_BASE_TEXT_JSON_WRITER_H_
