#ifndef DAMPER_LAB_JSON_WRITER_H_
#define DAMPER_LAB_JSON_WRITER_H_

#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>

#include "damper/lab/interval.h"
#include "damper/lab/plain_text.h"

namespace damper::lab {

// A JsonWriter writes one JSON value, in the order in which it is told, and puts the commas.
//
// Why: reports are large and are written once; a tree of values would only be built to be thrown
// away. Model: open and close nest; within an object everything has a key, within an array nothing.
// Numbers are the shortest that read back the same; what is not finite is null. Strings are
// escaped. Thread safety: none. Cost: one write for each call.
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  // Opens an object or an array; the bracket is '{' or '['. An empty key is none.
  void open(char bracket, std::string_view key = {});
  void close(char bracket);

  void field(std::string_view key, std::string_view text) { write(key, json_string(text)); }
  void field(std::string_view key, const char* text) { write(key, json_string(text)); }
  void field(std::string_view key, double number) { write(key, for_programs(number, "null")); }
  template <std::integral Integer>
  void field(std::string_view key, Integer number) {
    write(key, std::to_string(number));
  }
  void field(std::string_view key, bool truth) { write(key, truth ? "true" : "false"); }

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

// {runs, collapsed, probability, low, high} under that key, with Wilson's 95 % interval.
void write_proportion(JsonWriter& json, std::string_view key, const Proportion& proportion);

}  // namespace damper::lab

#endif  // DAMPER_LAB_JSON_WRITER_H_
