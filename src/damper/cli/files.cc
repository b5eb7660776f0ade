#include "damper/cli/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>

#include "damper/policy/policy_file.h"

namespace damper::cli {

std::string input_name(const std::string& given) { return given == "-" ? "standard input" : given; }

Expected<std::string, policy::Error> read_input(const std::string& given, const Streams& streams) {
  return given == "-" ? policy::read_stream(streams.in, input_name(given))
                      : policy::read_file(given);
}

bool write_output(const std::string& given, const Streams& streams,
                  const std::function<void(std::ostream&)>& print) {
  if (given == "-") {
    print(streams.out);
    return true;
  }
  const std::string part = given + ".part";
  errno = 0;
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (out) print(out);
  out.close();
  if (out && std::rename(part.c_str(), given.c_str()) == 0) return true;
  const std::string why = errno != 0 ? std::strerror(errno) : "it cannot be opened";
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  streams.err << given << ": cannot be written: " << why << '\n';
  return false;
}

}  // namespace damper::cli
