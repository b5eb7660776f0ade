#pragma once

#include <iosfwd>

namespace damper::text {

// The standard streams of a program; a test passes string streams.
struct Stdio {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Exit statuses of the program, as grep and diff have them.
inline constexpr int kOk = 0;
inline constexpr int kTrouble = 2;  // the reason is on standard error

}  // namespace damper::text
