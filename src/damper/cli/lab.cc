#include "damper/cli/commands.h"

#include <CLI/CLI.hpp>

namespace damper::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  damper lab list                                   the built-in scenarios
  damper lab run storm                              500 controllers, 503 for ten seconds
  damper lab run storm --html storm.html            the same as a page
  damper lab run metastable-db --runs 200           with intervals
  damper lab compare storm --policy default --policy mine.yaml
  damper lab map metastable-db --variant plain      the loads at which it goes metastable
  damper lab reproduce                              published results, and ours
  damper lab new mine.yaml && damper lab run mine.yaml
)";

}  // namespace

void add_lab(CLI::App& app, const text::Stdio& streams, int& status) {
  CLI::App* lab = app.add_subcommand(
      "lab", "Simulate scenarios: the engine's own code in virtual time, reproducible by seed.");
  lab->require_subcommand(1);
  lab->footer(kExamples);
  add_lab_list(*lab, streams, status);
  add_lab_run(*lab, streams, status);
  add_lab_compare(*lab, streams, status);
  add_lab_map(*lab, streams, status);
  add_lab_matrix(*lab, streams, status);
  add_lab_reproduce(*lab, streams, status);
  add_lab_new(*lab, streams, status);
}

}  // namespace damper::cli
