#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "damper/base/check.h"
#include "damper/proxy/admin/admin_server.h"
#include "damper/proxy/admin/admin_target_testing.h"
#include "damper/proxy/admin/event_feed.h"

namespace damper::proxy {

// An AdminServer on a port of the system's, of a proxy that is not there.
struct AdminFixture {
  explicit AdminFixture(AdminOptions options = {}, std::size_t kept = EventFeed::kKept)
      : feed(nullptr, kept) {
    options.port = 0;
    auto started = AdminServer::start(options, target, feed);
    EXPECT_TRUE(started) << started.error();
    server = *std::move(started);
  }
  [[nodiscard]] std::uint16_t port() const { return server->port(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  void report(std::string_view key, engine::EventKind kind = engine::EventKind::breaker_opened) {
    feed.on_event({.kind = kind, .key = key});
  }

  FakeAdminTarget target;
  EventFeed feed;
  std::unique_ptr<AdminServer> server;
};

}  // namespace damper::proxy
