#pragma once

#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/base/instant.h"

namespace damper {

// Durations as people write them in a policy file or on a command line: 250ms, 2s, 1.5m.
//
// Why: a double cannot hold 0.1 s, and 0.1s in a policy must mean 100,000,000 ns, not one
// nanosecond less; all arithmetic here is on whole nanoseconds.
// Model: text = digits [ "." digits ] unit, or the single digit 0. The units are ns, us, ms, s, m
// and h. No sign, no space, no exponent, and one unit only: 1h30m is written 90m or 1.5h.
// Invariants:
//   (1) What is parsed is exact: text that is not a whole number of nanoseconds is an error.
//   (2) 0 <= parsed <= kLongest.
//   (3) parse_duration(format_duration(d)) is d, for every d in [0, kLongest].
//   (4) An error is one sentence. The input is repeated in it escaped and cut at 40 characters.

// The duration of the text, or an error sentence.
[[nodiscard]] Expected<Duration> parse_duration(std::string_view text);

// The largest unit in which the duration is at least 1 and needs at most three decimals: 250ms,
// 1.5s, 1.5m (for 90 s), 100s, 720h. Zero is 0s. Every Duration has a form: a negative one begins
// with "-", and neither it nor one over kLongest parses back.
[[nodiscard]] std::string format_duration(Duration duration);

}  // namespace damper
