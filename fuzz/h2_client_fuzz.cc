// Input: the frames to an HTTP/2 client with three requests in flight; the first byte selects the
// size of the reads. Each stream is closed exactly once, and the pending output is bounded.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace damper::http;
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = data[0] == 0 ? size : data[0];
  TestEnd end;
  const auto client = make_h2_client({.max_head_bytes = 4096, .max_fields = 20}, end, test_time(0));
  std::array<TraceUser, 3> users;
  const std::array<Head, 3> heads = {Head{.method = "GET", .authority = "h", .target = "/"},
                                     Head{.method = "HEAD", .authority = "h", .target = "/"},
                                     Head{.method = "POST", .authority = "h", .target = "/"}};
  for (std::size_t i = 0; i < users.size(); ++i) {
    users[i].stream = &client->open(users[i], test_time(0));
    users[i].stream->send_head(heads[i], heads[i].method != "POST");
  }
  static_cast<void>(users[2].stream->send_data(std::string(100'000, 'x'), false));
  take_output(*client);
  for (std::size_t at = 0; at < bytes.size() && client->wants_input(); at += cut) {
    client->receive(bytes.substr(at, cut), test_time(0));
    const std::string_view output = client->output();
    DAMPER_CHECK(output.size() < 256 * 1024);
    client->sent(output.size(), test_time(0));
  }
  client->on_timer(client->deadline());
  client->on_end_of_input(test_time(0));
  DAMPER_CHECK(client->is_over() && client->streams() == 0);
  for (const TraceUser& user : users) DAMPER_CHECK(user.closed == 1);
  return 0;
}
