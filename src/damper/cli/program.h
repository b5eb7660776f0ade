#ifndef DAMPER_CLI_PROGRAM_H_
#define DAMPER_CLI_PROGRAM_H_

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's.
class App;
}

namespace damper::cli {

// Exit statuses: as grep's and diff's, 2 is trouble, and says why on standard error.
inline constexpr int kOk = 0;
inline constexpr int kTrouble = 2;

// What a subcommand reads and writes; a test passes strings.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// The program `damper`: finds the subcommand and runs it. `arguments` are those after the
// program's name. Returns the exit status.
//
// A subcommand is one file with one function, `void add_NAME(CLI::App&, const Streams&, int&
// status)`: it adds itself with its options, its help and a callback that does the work and sets
// the status. program.cc calls each of them.
[[nodiscard]] int run(std::vector<std::string> arguments, const Streams& streams);

// A check of an option: one of the words, which outlive it; else it says which there are.
[[nodiscard]] std::function<std::string(const std::string&)> one_of(
    std::span<const std::string_view> words);

}  // namespace damper::cli

#endif  // DAMPER_CLI_PROGRAM_H_
