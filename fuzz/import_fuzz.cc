// Input: a file for the importers of every system. No crash and no exception; an error is one line,
// notes are lines in the order of the file, and the imported policies are printed as files that
// load as equal ones. An Envoy file that is a complete proxy becomes a proxy's file that loads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/config/yaml_tree.h"
#include "damper/policy/import/import.h"
#include "damper/proxy/config/proxy_config.h"
#include "damper/proxy/import/import_proxy.h"

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

void check_notes(const std::vector<damper::config::Note>& notes) {
  int line = 0;
  for (const damper::config::Note& note : notes) {
    check_line(note);
    DAMPER_CHECK(note.place.line >= line);
    line = note.place.line;
  }
}

void import_proxy(std::string_view text) {
  const auto imported = damper::proxy::import_envoy_proxy(text, "fuzz.yaml");
  if (!imported) return check_line(imported.error());
  if (!*imported) return;
  check_notes((*imported)->notes);
  if ((*imported)->text.size() > damper::config::kMostBytes) return;  // A note has it.
  const auto loaded = damper::proxy::load_proxy((*imported)->text, "printed.yaml");
  if (!loaded) {  // It has more values than a file may have.
    DAMPER_CHECK(to_string(loaded.error()).find("more than") != std::string::npos);
    return;
  }
  const std::string printed = print_proxy(*loaded);
  if (printed.size() > damper::config::kMostBytes) return;
  DAMPER_CHECK(damper::proxy::load_proxy(printed, "again.yaml"));
}

void import_as(From from, std::string_view text) {
  const auto imported = damper::policy::import_policy(from, text, "fuzz.yaml");
  if (!imported) return check_line(imported.error());
  check_notes(imported->notes);
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
  import_proxy(text);
  const auto guessed = damper::policy::guess(text, "fuzz.yaml");
  if (!guessed) check_line(guessed.error());
  return 0;
}
