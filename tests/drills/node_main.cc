#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "damper/base/duration_text.h"
#include "node.h"

namespace {

damper::Duration length(const std::string& text) {
  const auto parsed = damper::parse_duration(text);
  if (!parsed) {
    std::fprintf(stderr, "drill_node: '%s' is no duration\n", text.c_str());
    std::exit(2);
  }
  return *parsed;
}

}  // namespace

int main(int argc, char** argv) {
  damper::drills::NodeOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "port") {
      options.port = static_cast<std::uint16_t>(std::stoi(value));
    } else if (key == "work") {
      options.work = length(value);
    } else if (key == "cpu") {
      options.cpu = length(value);
    } else if (key == "slots") {
      options.slots = std::stoi(value);
    } else if (key == "guard") {
      options.guard = value != "no";
    } else if (key == "stall") {
      options.stall = length(value);
    } else if (key == "stall_percent") {
      options.stall_percent = std::stod(value);
    } else if (key == "reset_percent") {
      options.reset_percent = std::stod(value);
    } else if (key == "store") {
      options.store = value;
    } else if (key == "next") {
      options.next = value;
    } else {
      std::fprintf(stderr, "drill_node: no option '%s'\n", key.c_str());
      return 2;
    }
  }
  return damper::drills::serve(options);
}
