#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "damper/cli/program.h"

namespace damper::cli {

// What a run of the program printed, and how it ended.
struct Result {
  int status;
  std::string out;
  std::string err;
};

[[nodiscard]] inline Result damper(std::vector<std::string> arguments,
                                   const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int status = run(std::move(arguments), {in, out, err});
  return {status, out.str(), err.str()};
}

}  // namespace damper::cli
