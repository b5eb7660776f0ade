#ifndef DAMPER_LAB_JSON_WRITER_H_
#define DAMPER_LAB_JSON_WRITER_H_

#include <string_view>

#include "damper/lab/interval.h"
#include "damper/observe/json_writer.h"

namespace damper::lab {

using observe::JsonWriter;

// {runs, collapsed, probability, low, high} under that key, with Wilson's 95 % interval.
void write_proportion(JsonWriter& json, std::string_view key, const Proportion& proportion);

}  // namespace damper::lab

#endif  // DAMPER_LAB_JSON_WRITER_H_
