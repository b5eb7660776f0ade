#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace damper::drills {

// A port of 127.0.0.1 that nobody has at the moment.
[[nodiscard]] std::uint16_t free_port();

struct Answered {
  int status = 0;  // 0: nobody answered
  std::string body;
};
// One question to somebody on 127.0.0.1, over a connection of its own. Blocks.
[[nodiscard]] Answered ask(std::uint16_t port, std::string_view method, std::string_view target,
                           std::string_view body = {});

}  // namespace damper::drills
