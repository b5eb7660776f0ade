// Input: a file for the importers of every system. No crash and no exception; an error is one line,
// notes are lines in the order of the file, and the imported policies are printed as files that
// load as equal ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/policy/import/import.h"

namespace {

using damper::policy::From;

void check_line(const damper::config::Error& error) {
  const std::string line = to_string(error);
  DAMPER_CHECK(line.find('\n') == std::string::npos);
  DAMPER_CHECK(line.size() < 2000);
}

// Prints the file with every value set: equal policies give equal text.
std::string print_all(damper::policy::PolicyFile file) {
  for (damper::policy::Route& route : file.routes) {
    std::fill(route.origins.begin(), route.origins.end(), damper::policy::Origin::route);
  }
  return print(file);
}

void import_as(From from, std::string_view text) {
  const auto imported = damper::policy::import_policy(from, text, "fuzz.yaml");
  if (!imported) return check_line(imported.error());
  int line = 0;
  for (const damper::config::Note& note : imported->notes) {
    check_line(note);
    DAMPER_CHECK(note.place.line >= line);
    line = note.place.line;
  }
  const std::string all = print_all(imported->file);
  for (const std::string& printed : {all, print_import(*imported, from)}) {
    const auto again = damper::policy::load(printed, "printed.yaml");
    DAMPER_CHECK(again);
    DAMPER_CHECK(print_all(*again) == all);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const From from : {From::envoy, From::grpc, From::istio, From::linkerd}) {
    import_as(from, text);
  }
  const auto guessed = damper::policy::guess(text, "fuzz.yaml");
  if (!guessed) check_line(guessed.error());
  return 0;
}
