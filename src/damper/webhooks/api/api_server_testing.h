#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "damper/base/text/json_reader.h"
#include "damper/http/server/server_testing.h"
#include "damper/webhooks/api/api_handler.h"
#include "damper/webhooks/api/api_testing.h"

namespace damper::webhooks {

inline constexpr UnixTime kApiNow{std::chrono::milliseconds(1'794'000'000'000)};

// The API over HTTP on loopback, with an application "default".
class ApiServer {
 public:
  explicit ApiServer(ApiOptions options = {})
      : handler(
            store, directory, deliveries, IdMaker(7), [this] { return now.load(); },
            std::move(options)) {
    directory.put_application("default");
    server.emplace(handler.handler());
  }
  // Before the server: the store's thread may still be waking its loop.
  ~ApiServer() { store.end(); }

  struct Answer {
    int status = 0;
    std::string head;
    std::string body;

    [[nodiscard]] text::JsonValue json() const {
      auto value = text::read_json(body, {.bytes = 1 << 20, .depth = 100, .values = 100'000});
      EXPECT_TRUE(value) << body;
      return value ? *std::move(value) : text::JsonValue{};
    }
    // The text of a field, as written.
    [[nodiscard]] std::string operator[](std::string_view field) const {
      const text::JsonValue value = json();
      const text::JsonValue* const found = value.find(field);
      if (found == nullptr) return "(no field " + std::string(field) + ": " + body + ")";
      return found->kind == text::JsonValue::Kind::string
                 ? found->text
                 : body.substr(found->begin, found->end - found->begin);
    }
  };

  Answer send(const std::string& request) const {
    http::RawClient client(server->port);
    client.send(request);
    const std::string all = client.read_all();
    const std::size_t end = all.find("\r\n\r\n");
    if (all.size() < 12 || end == std::string::npos) return {.status = 0, .head = all, .body = {}};
    return {.status = std::stoi(all.substr(9, 3)),
            .head = all.substr(0, end),
            .body = all.substr(end + 4)};
  }
  Answer ask(const std::string& method, const std::string& target, const std::string& body = {},
             const std::string& fields = {}) const {
    std::string request = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n";
    request += "Connection: close\r\n" + fields;
    if (!body.empty()) {
      request +=
          "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n";
    }
    request += "\r\n" + body;
    return send(request);
  }
  Answer get(const std::string& target) const { return ask("GET", target); }

  // The id of a new endpoint.
  std::string add_endpoint(const std::string& more = {}) const {
    const Answer made = ask("POST", "/v1/applications/default/endpoints",
                            R"({"url":"http://example.com/hook")" + more + "}");
    EXPECT_EQ(made.status, 201) << made.body;
    return made["id"];
  }

  std::atomic<UnixTime> now = kApiNow;
  MemoryStore store;
  Directory directory;
  FakeDeliveries deliveries;
  ApiHandler handler;
  std::optional<http::TestServer> server;
};

}  // namespace damper::webhooks
