#pragma once

#include <optional>
#include <string>
#include <vector>

#include "damper/base/expected.h"
#include "damper/cli/program.h"
#include "damper/config/error.h"
#include "damper/policy/import/import.h"
#include "damper/policy/lint/known_limits.h"
#include "damper/policy/lint/lint.h"

namespace damper::cli {

// What `damper check` looks at: a policy file, a proxy's file (one with listeners or clusters), a
// dispatcher's file (see is_webhooks_file), a file of another system, or a scenario of the lab (a
// file with a `scenario:` key, or one that comes with the program, by its name), whose world says
// what a policy file's `facts` would.
struct CheckSubject {
  std::string name;                          // what the report calls it
  std::vector<policy::Finding> findings{};   // in the order of their places
  std::vector<policy::KnownLimit> limits{};  // in the order of the routes
  std::string effective{};                   // everything in force, as a file of the same kind
};

// `given` is - for standard input. `from`: it is a file of that system.
[[nodiscard]] Expected<CheckSubject, config::Error> load_subject(const std::string& given,
                                                                 std::optional<policy::From> from,
                                                                 const text::Stdio& streams);

}  // namespace damper::cli
