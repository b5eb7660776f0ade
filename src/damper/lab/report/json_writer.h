#ifndef DAMPER_LAB_REPORT_JSON_WRITER_H_
#define DAMPER_LAB_REPORT_JSON_WRITER_H_

#include <string_view>

#include "damper/base/text/json_writer.h"
#include "damper/lab/runs/interval.h"

namespace damper::lab {

using text::JsonWriter;

// {runs, collapsed, probability, low, high} under that key, with Wilson's 95 % interval.
void write_proportion(JsonWriter& json, std::string_view key, const Proportion& proportion);

}  // namespace damper::lab

#endif  // DAMPER_LAB_REPORT_JSON_WRITER_H_
