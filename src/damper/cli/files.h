#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "damper/base/expected.h"
#include "damper/cli/program.h"
#include "damper/config/error.h"

namespace damper::cli {

// What subcommands read and write: a file by its name, or - for standard input and output.

// What errors call it: the file's name, or "standard input".
[[nodiscard]] std::string input_name(const std::string& given);

// The whole text, of which no more than policy::kMostBytes + 1 bytes are read.
[[nodiscard]] Expected<std::string, config::Error> read_input(const std::string& given,
                                                              const text::Stdio& streams);

// Writes to the file, which is there in full or not at all, and keeps its permissions; in place to
// a device or a pipe; through a link to what it leads to; or to standard output. Whether it worked;
// else one sentence went to standard error.
[[nodiscard]] bool write_output(const std::string& given, const text::Stdio& streams,
                                const std::function<void(std::ostream&)>& print);

}  // namespace damper::cli
