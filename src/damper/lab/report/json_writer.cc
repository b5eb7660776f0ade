#include "damper/lab/report/json_writer.h"

namespace damper::lab {

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
