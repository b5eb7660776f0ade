#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/base/folder_testing.h"
#include "damper/http/net/loop.h"
#include "damper/http/server/handler_service.h"
#include "damper/http/server/server.h"
#include "damper/run/clock.h"
#include "damper/webhooks/dispatch/directory.h"
#include "damper/webhooks/dispatch/dispatcher.h"
#include "damper/webhooks/signature.h"
#include "damper/webhooks/store/sqlite_store.h"

namespace damper::webhooks {

inline constexpr const char* kTestSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// Turns the loop until it holds; false: a minute has passed.
inline bool turn_until(http::Loop& loop, const std::function<bool()>& holds) {
  const Instant end = add(run::now(), std::chrono::minutes(1));
  while (!holds()) {
    if (run::now() > end) return false;
    loop.poll();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

// A receiver of webhooks on the loop of the test. It verifies every request.
class TestReceiver {
 public:
  using Answer = std::function<void(const http::ExchangePtr& exchange)>;

  explicit TestReceiver(http::Loop& loop, Answer answer = {}, http::ServerOptions options = {})
      : answer_(std::move(answer)),
        service_(loop, [this](const http::ExchangePtr& exchange) { receive(exchange); }),
        server_(loop, options, service_) {
    const auto error = server_.listen();
    EXPECT_FALSE(error) << *error;
  }
  [[nodiscard]] std::string url(const std::string& path = "/hook") const {
    return "http://127.0.0.1:" + std::to_string(server_.port()) + path;
  }
  static void respond(const http::ExchangePtr& exchange, int status,
                      std::initializer_list<http::Field> fields = {}) {
    http::Response response;
    response.status = status;
    response.fields = http::FieldList(fields);
    exchange->respond(std::move(response));
  }

  std::map<std::string, int> received;  // requests, by webhook-id
  int requests = 0;
  int invalid = 0;
  std::vector<http::ExchangePtr> kept;  // not answered

 private:
  void receive(const http::ExchangePtr& exchange) {
    ++requests;
    const http::Request& request = exchange->request();
    const auto headers =
        received_headers([&](std::string_view name) { return request.fields.find(name); });
    const std::vector<VerifyingKey> keys = {*VerifyingKey::parse(kTestSecret)};
    if (verify(keys, headers, request.body, run::wall_time()) != Verification::valid) ++invalid;
    ++received[std::string(headers.id.value_or(""))];
    if (answer_) return answer_(exchange);
    respond(exchange, 200);
  }

  Answer answer_;
  http::HandlerService service_;
  http::Server server_;
};

[[nodiscard]] inline DispatcherOptions test_options() {
  DispatcherOptions options;
  options.guard.allowed = {*http::Network::find("127.0.0.0/8")};
  return options;
}

// A dispatcher with a store in a folder of its own, and all on one loop that the test turns.
class TestDispatcher {
 public:
  TestDispatcher(http::Loop& loop, std::string file, DispatcherOptions options = test_options())
      : loop_(loop), options_(std::move(options)) {
    auto opened = SqliteStore::open({.path = std::move(file)});
    EXPECT_TRUE(opened) << opened.error();
    store = *std::move(opened);
    dispatcher.emplace(loop_, *store, directory, options_, [this](const DeliveryEvent& event) {
      ++events[event.kind];
      if (event.kind == DeliveryEvent::Kind::store_error) last_error = event.text;
    });
    put_application();
    bool started = false;
    dispatcher->start([&](const std::optional<std::string>& error) {
      EXPECT_FALSE(error) << *error;
      started = true;
    });
    EXPECT_TRUE(turn_until(loop_, [&] { return started; }));
  }
  ~TestDispatcher() {
    dispatcher.reset();
    store.reset();  // Its threads may still post.
    loop_.poll();
  }

  Id add_endpoint(const std::string& url, const std::function<void(EndpointConfig&)>& change = {}) {
    Endpoint endpoint{.id = ids.next(run::wall_time()),
                      .application = "default",
                      .created = run::wall_time(),
                      .config = {.url = url, .secrets = {{.key = kTestSecret}}}};
    if (change) change(endpoint.config);
    EXPECT_FALSE(find_error(endpoint.config));
    bool done = false;
    store->put_endpoint(endpoint, [&](const auto& result) {
      EXPECT_TRUE(result);
      loop_.post([&done] { done = true; });
    });
    EXPECT_TRUE(turn_until(loop_, [&] { return done; }));
    directory.put(endpoint);
    dispatcher->on_changed(endpoint.id);
    return endpoint.id;
  }

  // Accepts a message that is so old; the dispatcher is told when it is durable.
  Id send(const std::string& type = "test.event", std::string key = {},
          std::chrono::milliseconds age = {}) {
    return send_to(directory.match("default", type, ""), type, std::move(key), age);
  }
  Id send_to(const std::vector<Id>& endpoints, const std::string& type = "test.event",
             std::string key = {}, std::chrono::milliseconds age = {}) {
    const UnixTime now = run::wall_time() - age;
    const Id id = age.count() == 0 ? ids.next(now) : old_ids.next(now);
    NewMessage message{.message = {.id = id,
                                   .application = "default",
                                   .type = type,
                                   .ordering_key = std::move(key),
                                   .payload = R"({"n":1})",
                                   .created = now},
                       .endpoints = endpoints};
    store->accept(std::move(message), [this, endpoints, now](const auto& result) {
      EXPECT_TRUE(result);
      loop_.post([this, endpoints, now] { dispatcher->on_due(endpoints, now); });
    });
    return id;
  }

  [[nodiscard]] StoreCounts count() {
    std::optional<StoreCounts> counts;
    store->count([&](const auto& result) { loop_.post([&counts, result] { counts = *result; }); });
    EXPECT_TRUE(turn_until(loop_, [&] { return counts.has_value(); }));
    return *counts;
  }
  [[nodiscard]] std::vector<Attempt> attempts(Id endpoint) {
    std::optional<std::vector<Attempt>> attempts;
    store->list_attempts({.endpoint = endpoint}, {}, [&](const auto& result) {
      loop_.post([&attempts, result] { attempts = *result; });
    });
    EXPECT_TRUE(turn_until(loop_, [&] { return attempts.has_value(); }));
    return *attempts;
  }
  [[nodiscard]] std::vector<DeadLetter> dead(Id endpoint) {
    std::optional<std::vector<DeadLetter>> letters;
    store->list_dead(endpoint, {}, [&](const auto& result) {
      loop_.post([&letters, result] { letters = *result; });
    });
    EXPECT_TRUE(turn_until(loop_, [&] { return letters.has_value(); }));
    return *letters;
  }

  IdMaker ids{1};
  IdMaker old_ids{2};
  Directory directory;
  std::unique_ptr<Store> store;
  std::optional<Dispatcher> dispatcher;
  std::map<DeliveryEvent::Kind, int> events;
  std::string last_error;

 private:
  void put_application() {
    bool done = false;
    store->put_application("default", run::wall_time(),
                           [&](const auto&) { loop_.post([&done] { done = true; }); });
    EXPECT_TRUE(turn_until(loop_, [&] { return done; }));
    directory.put_application("default");
  }

  http::Loop& loop_;
  const DispatcherOptions options_;
};

}  // namespace damper::webhooks
