#include "damper/lab/json_writer.h"

#include <ostream>

namespace damper::lab {

void JsonWriter::write(std::string_view key, std::string_view value) {
  if (!first_) out_ << ',';
  if (!key.empty()) out_ << json_string(key) << ':';
  out_ << value;
  first_ = false;
}

void JsonWriter::open(char bracket, std::string_view key) {
  write(key, {&bracket, 1});
  first_ = true;
}

void JsonWriter::close(char bracket) {
  out_ << bracket;
  first_ = false;
}

void write_proportion(JsonWriter& json, std::string_view key, const Proportion& proportion) {
  const Interval interval = proportion.interval();
  json.open('{', key);
  json.field("runs", proportion.n);
  json.field("collapsed", proportion.k);
  json.field("probability", proportion.share());
  json.field("low", interval.low);
  json.field("high", interval.high);
  json.close('}');
}

}  // namespace damper::lab
