#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "damper/base/unix_time.h"

namespace damper::decide {

// The time of an HTTP-date (RFC 9110, section 5.6.7), in any of its three forms:
//
//   Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate, the one that is sent today
//   Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
//   Sun Nov  6 08:49:37 1994         asctime
//
// Strict: every byte of the form counts, case included, and the date must exist. Two things are
// read with good will, since a date that is not understood is a server that is not heeded: a day's
// name that does not fit the date, and second 60, a leap second, which is the second after.
// A year of two digits is the latest such year that is not more than 50 years after `now`.
[[nodiscard]] std::optional<std::chrono::sys_seconds> find_http_date(std::string_view text,
                                                                     UnixTime now) noexcept;

}  // namespace damper::decide
