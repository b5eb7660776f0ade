#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "damper/http/net/loop.h"
#include "damper/webhooks/process/webhook_server.h"

namespace damper::webhooks {

// A dispatcher on a loop and a thread of its own, with a store in a file.
class EmbeddedDispatcher {
 public:
  explicit EmbeddedDispatcher(const std::string& store) {
    ServeOptions options;
    options.listen.port = 0;
    options.store = store;
    options.max_payload = 1024;
    auto opened = WebhookServer::open(loop_, options, [](const std::string& /*line*/) {});
    if (!opened) throw std::runtime_error(opened.error());
    server_ = *std::move(opened);
    std::promise<std::optional<std::string>> started;
    server_->start([&](std::optional<std::string> error) { started.set_value(std::move(error)); });
    thread_ = std::thread([this] {
      const http::Loop::Work work(loop_);
      loop_.run();
    });
    if (const auto error = started.get_future().get()) throw std::runtime_error(*error);
  }
  EmbeddedDispatcher(const EmbeddedDispatcher&) = delete;
  EmbeddedDispatcher& operator=(const EmbeddedDispatcher&) = delete;
  ~EmbeddedDispatcher() {
    loop_.stop();
    thread_.join();
    server_.reset();
  }

  [[nodiscard]] http::Loop& loop() noexcept { return loop_; }
  [[nodiscard]] WebhookServer& server() noexcept { return *server_; }

 private:
  http::Loop loop_;
  std::unique_ptr<WebhookServer> server_;
  std::thread thread_;
};

}  // namespace damper::webhooks
