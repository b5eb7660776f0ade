#pragma once

#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/client/client_testing.h"
#include "damper/run/clock.h"

namespace damper::http {

// A GET of a server's, or a POST of the body.
inline Request request(const TestServer& server, std::string target = "/", std::string body = {}) {
  const char* const method = body.empty() ? "GET" : "POST";
  return make_request(method, *parse_url(server.url() + target), std::move(body));
}

inline void echo(TestServer::Exchange& exchange) {
  exchange.respond(
      200, exchange.request.method + " " + exchange.request.target + " " + exchange.request.body);
}

// Sends several at once; their results in the order in which they ended.
inline std::vector<std::pair<int, Result<Response>>> fetch_all(
    Loop& loop, Client& client, const std::vector<Request>& requests) {
  std::vector<std::pair<int, Result<Response>>> results;
  const Watchdog watchdog(loop);
  for (int i = 0; i < static_cast<int>(requests.size()); ++i) {
    client.fetch(requests[static_cast<std::size_t>(i)], in(std::chrono::seconds(5)),
                 [&, i](Result<Response> result) {
                   results.emplace_back(i, std::move(result));
                   if (results.size() == requests.size()) loop.stop();
                 });
  }
  loop.run();
  return results;
}

}  // namespace damper::http
