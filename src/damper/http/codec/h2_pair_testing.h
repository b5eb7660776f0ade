#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "damper/http/codec/connection_testing.h"

namespace damper::http {

// A client and a server, and the bytes between them.
class H2Pair : public testing::Test {
 protected:
  H2Pair() { server_end_.when_request = echo; }

  void start(const ConnectionLimits& server = {}, const ConnectionLimits& client = {}) {
    server_ = make_h2_server(server, server_end_, server_end_, test_time(0));
    client_ = make_h2_client(client, client_end_, test_time(0));
  }
  void move(std::size_t cut = 1 << 16) { pump(*client_, *server_, cut); }
  TraceUser& ask(const Head& head, std::string_view body = "", bool end = true) {
    users_.push_back(std::make_unique<TraceUser>());
    TraceUser& user = *users_.back();
    user.stream = &client_->open(user, test_time(0));
    user.stream->send_head(head, end && body.empty());
    if (!body.empty()) {
      EXPECT_EQ(user.stream->send_data(body, end), body.size());
    }
    return user;
  }
  TraceUser& get() { return ask({.method = "GET", .authority = "h", .target = "/"}); }
  static std::string ended(const Connection& connection) {
    return connection.is_over() ? std::string(name(connection.reason())) : "open";
  }

  TestEnd server_end_;
  TestEnd client_end_;
  std::vector<std::unique_ptr<TraceUser>> users_;
  std::unique_ptr<Connection> server_;
  std::unique_ptr<Connection> client_;
};

}  // namespace damper::http
