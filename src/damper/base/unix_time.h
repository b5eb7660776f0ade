#pragma once

#include <chrono>

namespace damper {

// Wall time, for headers that carry a date: milliseconds since 1970. Read at the edge and passed
// in; nothing in the core measures a length of time with it.
using UnixTime = std::chrono::sys_time<std::chrono::milliseconds>;

}  // namespace damper
