#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/text/stdio.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's.
class App;
}

namespace damper::cli {

using text::kOk;
using text::kTrouble;

// The program `damper`: finds the subcommand and runs it. `arguments` are those after the
// program's name. Returns the exit status.
//
// A subcommand is one file with one function, `void add_NAME(CLI::App&, const text::Stdio&, int&
// status)`: it adds itself with its options, its help and a callback that does the work and sets
// the status. program.cc calls each of them.
[[nodiscard]] int run(std::vector<std::string> arguments, const text::Stdio& streams);

// A check of an option: one of the words, which outlive it; else it says which there are.
[[nodiscard]] std::function<std::string(const std::string&)> one_of(
    std::span<const std::string_view> words);

}  // namespace damper::cli
