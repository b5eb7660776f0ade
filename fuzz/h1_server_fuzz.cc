// Input: the requests to an HTTP/1.1 server; the first byte selects the size of the reads. Each
// stream is closed exactly once, the events do not depend on the read size, and Beast's parser
// accepts every request that our strict one accepts, with the same method, target, fields and body.
// (Beast may accept more.)
#include <algorithm>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"
#include "damper/http/codec/h1_head.h"

namespace {

using namespace damper::http;
namespace beast = boost::beast::http;

// Feeds an echo server and returns the events of its streams.
std::string serve(std::string_view bytes, std::size_t cut, std::vector<std::string>& bodies) {
  TestEnd end;
  end.when_request = echo;
  const auto server =
      make_h1_server({.max_head_bytes = 4096, .max_fields = 20}, end, end, test_time(0));
  for (std::size_t at = 0; at < bytes.size(); at += cut) {
    server->receive(bytes.substr(at, cut), test_time(0));
    take_output(*server);
  }
  server->on_end_of_input(test_time(0));
  for (const auto& user : end.users) {
    DAMPER_CHECK(user->closed == 1);
    if (user->close_reason == CloseReason::finished) bodies.push_back(user->data);
  }
  return end.text();
}

// Parses the head at the start of the bytes with both parsers. False: there is none, or the
// connection leaves HTTP after it.
bool compare_head(std::string_view bytes) {
  H1Head ours;
  if (ours.scan_request(bytes, {.max_bytes = 4096, .max_fields = 20}) != H1Head::Result::complete) {
    return false;
  }
  beast::request_parser<beast::empty_body> theirs;
  theirs.header_limit(1 << 20);
  boost::system::error_code error;
  theirs.put(boost::asio::buffer(bytes.data(), ours.size()), error);
  DAMPER_CHECK(!error || error == beast::error::need_more);
  DAMPER_CHECK(theirs.is_header_done());
  const auto& message = theirs.get();
  const std::string_view method(message.method_string().data(), message.method_string().size());
  const std::string_view target(message.target().data(), message.target().size());
  DAMPER_CHECK(method == ours.head().method);
  DAMPER_CHECK(target == ours.head().target || target.ends_with(ours.head().target) ||
               ours.head().target == "/" || ours.head().target == "*");
  DAMPER_CHECK(message.version() == (ours.is_http_1_0() ? 10U : 11U));
  DAMPER_CHECK(theirs.chunked() == ours.is_chunked());
  const auto length = theirs.content_length();
  DAMPER_CHECK(length.has_value() == ours.head().content_length.has_value());
  if (length) DAMPER_CHECK(*length == *ours.head().content_length);
  for (const Field& field : ours.head().fields) {
    const auto range =
        message.equal_range(boost::beast::string_view(field.name.data(), field.name.size()));
    DAMPER_CHECK(std::any_of(range.first, range.second, [&](const auto& their) {
      return std::string_view(their.value().data(), their.value().size()) == field.value;
    }));
  }
  return ours.head().method != "CONNECT" && ours.head().upgrade.empty();
}

// Compares the bodies of consecutive requests with those that Beast parses.
void compare_bodies(std::string_view bytes, const std::vector<std::string>& bodies) {
  for (const std::string& body : bodies) {
    if (!compare_head(bytes)) return;
    beast::request_parser<beast::string_body> theirs;
    theirs.header_limit(1 << 20);
    theirs.body_limit(boost::none);
    theirs.eager(true);
    std::size_t used = 0;
    while (!theirs.is_done()) {
      boost::system::error_code error;
      const std::size_t now =
          theirs.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), error);
      DAMPER_CHECK(!error);
      DAMPER_CHECK(now > 0);
      used += now;
    }
    DAMPER_CHECK(theirs.get().body() == body);
    bytes.remove_prefix(used);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  compare_head(bytes);
  std::vector<std::string> bodies;
  std::vector<std::string> cut_bodies;
  const std::string whole = serve(bytes, std::max<std::size_t>(bytes.size(), 1), bodies);
  const std::string cut = serve(bytes, std::size_t{data[0] % 64U} + 1, cut_bodies);
  DAMPER_CHECK(whole == cut);
  compare_bodies(bytes, bodies);
  return 0;
}
