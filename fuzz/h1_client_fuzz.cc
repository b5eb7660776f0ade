// Input: the responses to an HTTP/1.1 client; the first byte selects the request, the second the
// size of the reads. The stream is closed exactly once, and the events do not depend on the read
// size.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"

namespace {

using namespace damper::http;

std::string ask(int what, std::string_view bytes, std::size_t cut) {
  static constexpr std::array<Head, 5> kHeads = {
      Head{.method = "GET", .authority = "h", .target = "/"},
      Head{.method = "HEAD", .authority = "h", .target = "/"},
      Head{.method = "CONNECT", .authority = "h:1", .target = "h:1"},
      Head{.method = "GET", .authority = "h", .target = "/", .upgrade = "websocket"},
      Head{.method = "POST", .authority = "h", .target = "/"}};
  const Head& head = kHeads[static_cast<std::size_t>(what) % kHeads.size()];
  TestEnd end;
  const auto client = make_h1_client({.max_head_bytes = 4096, .max_fields = 20}, end, test_time(0));
  TraceUser user;
  user.stream = &client->open(user, test_time(0));
  user.stream->send_head(head, head.method != "POST");
  take_output(*client);
  for (std::size_t at = 0; at < bytes.size(); at += cut) {
    client->receive(bytes.substr(at, cut), test_time(0));
    take_output(*client);
  }
  client->on_end_of_input(test_time(0));
  client->abort(CloseReason::draining);  // Closes a tunnel, which is half-closed.
  DAMPER_CHECK(user.closed == 1);
  DAMPER_CHECK(client->is_over());
  // The read size determines how early an incomplete head is found invalid.
  if (user.text().starts_with("close(")) return "no answer";
  return user.text() + " " + std::string(name(client->reason()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = ask(data[0], bytes, std::max<std::size_t>(bytes.size(), 1));
  DAMPER_CHECK(ask(data[0], bytes, std::size_t{data[1] % 64U} + 1) == whole);
  return 0;
}
