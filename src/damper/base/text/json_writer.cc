#include "damper/base/text/json_writer.h"

#include <ostream>

#include "damper/base/text/plain_text.h"
#include "damper/base/text/utf8.h"

namespace damper::text {

void JsonWriter::write(std::string_view key, std::string_view value) {
  if (!first_) out_ << ',';
  if (!key.empty()) out_ << json_string(key) << ':';
  out_ << value;
  first_ = false;
}

void JsonWriter::field(std::string_view key, std::string_view text) {
  write(key, json_string(text));
}

void JsonWriter::field(std::string_view key, double number) {
  write(key, for_programs(number, "null"));
}

void JsonWriter::open(char bracket, std::string_view key) {
  write(key, {&bracket, 1});
  first_ = true;
}

void JsonWriter::close(char bracket) {
  out_ << bracket;
  first_ = false;
}

}  // namespace damper::text
