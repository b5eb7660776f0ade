#include "damper/cli/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>

#include "damper/policy/file/policy_file.h"

namespace damper::cli {

std::string input_name(const std::string& given) { return given == "-" ? "standard input" : given; }

Expected<std::string, config::Error> read_input(const std::string& given,
                                                const text::Stdio& streams) {
  return given == "-" ? policy::read_stream(streams.in, input_name(given))
                      : policy::read_file(given);
}

namespace {

namespace fs = std::filesystem;

// Writes beside the file and then takes its place, so that it is never there in part.
bool replace(const fs::path& file, const std::function<void(std::ostream&)>& print) {
  const fs::path part = file.string() + ".damper-" + std::to_string(getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) return false;
  print(out);
  out.close();
  std::error_code error;
  const fs::file_status before = fs::status(file, error);
  if (out && fs::exists(before)) fs::permissions(part, before.permissions(), error);
  if (out && std::rename(part.c_str(), file.c_str()) == 0) return true;
  const int why = errno;
  fs::remove(part, error);
  errno = why;
  return false;
}

// A device or a pipe is written to as it is; a link leads to what is written.
bool write_file(const std::string& given, const std::function<void(std::ostream&)>& print) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(given, error);
  const fs::path file = error ? fs::path(given) : target;
  if (!fs::exists(file, error) || fs::is_regular_file(file, error)) return replace(file, print);
  std::ofstream out(file, std::ios::binary);
  if (out) print(out);
  out.close();
  return static_cast<bool>(out);
}

}  // namespace

bool write_output(const std::string& given, const text::Stdio& streams,
                  const std::function<void(std::ostream&)>& print) {
  errno = 0;
  if (given == "-") {
    print(streams.out);
    streams.out.flush();
    if (streams.out) return true;
  } else if (write_file(given, print)) {
    return true;
  }
  streams.err << (given == "-" ? "standard output" : given)
              << ": cannot be written: " << (errno != 0 ? std::strerror(errno) : "it is closed")
              << '\n';
  return false;
}

}  // namespace damper::cli
