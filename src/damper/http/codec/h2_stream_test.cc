#include "damper/http/codec/h2_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "damper/http/codec/h2_pair_testing.h"

namespace damper::http {
namespace {

using H2StreamTest = H2Pair;

TEST_F(H2StreamTest, LargeBodiesFlowAsTheyAreConsumed) {
  start();
  const std::string body(3'000'000, 'x');
  server_end_.when_request = echo;
  users_.push_back(std::make_unique<TraceUser>());
  TraceUser& user = *users_.back();
  user.stream = &client_->open(user, test_time(0));
  user.stream->send_head({.method = "PUT", .authority = "h", .target = "/"}, false);
  std::size_t at = 0;
  const auto write = [&] {
    while (at < body.size()) {
      const std::size_t taken = user.stream->send_data(std::string_view(body).substr(at), true);
      EXPECT_LE(taken, 256U * 1024);
      at += taken;
      if (taken == 0) return;
    }
  };
  user.when_writable = write;
  server_end_.when_request = [](TraceUser& server) {
    server.when_end = [&server] { server.stream->send_head({.status = 204}, true); };
  };
  write();
  move();
  EXPECT_EQ(server_end_.users.front()->data.size(), body.size());
  EXPECT_GT(user.writable, 2);
  EXPECT_EQ(user.text(), "204 end close(finished)");
}

TEST_F(H2StreamTest, AUserThatDoesNotConsumeStopsItsPeerAndNobodyElse) {
  server_end_.consumes = false;
  server_end_.when_request = nullptr;
  start();
  TraceUser& slow = ask({.method = "PUT", .authority = "h", .target = "/slow"}, "", false);
  std::size_t taken = 0;
  for (int i = 0; i < 100; ++i) {
    taken += slow.stream->send_data(std::string(10'000, 'x'), false);
    move();
  }
  EXPECT_EQ(server_end_.users[0]->data.size(), 64U * 1024);  // The window.
  EXPECT_LE(taken, 64U * 1024 + std::size_t{256} * 1024);
  server_end_.when_request = echo;
  EXPECT_EQ(get().text(), "");
  move();
  EXPECT_EQ(users_.back()->text(), "200 length=0 end close(finished)");
  server_end_.users[0]->stream->consumed(std::size_t{64} * 1024);
  EXPECT_EQ(server_end_.changes, 1);
  move();
  EXPECT_EQ(server_end_.users[0]->data.size(), 128U * 1024);
}

TEST_F(H2StreamTest, CancelResetsTheStreamAndTheOtherSideHearsIt) {
  server_end_.when_request = nullptr;
  start();
  TraceUser& one = get();
  TraceUser& two = get();
  move();
  one.stream->cancel();
  server_end_.users[1]->stream->cancel();
  move();
  EXPECT_EQ(server_end_.users[0]->text(), "GET / h end close(reset)");
  EXPECT_EQ(two.text(), "close(reset)");
  EXPECT_EQ(one.text(), "");
  EXPECT_EQ(server_end_.users[1]->closed, 0);
  EXPECT_EQ(ended(*client_) + ended(*server_), "openopen");
}

TEST_F(H2StreamTest, ABodyOtherThanPromisedResetsTheStream) {
  start();
  for (const std::string_view body : {"1234", "123456"}) {
    server_end_.when_request = [&](TraceUser& user) {
      user.when_end = [&] {
        user.stream->send_head({.status = 200, .content_length = 5}, false);
        EXPECT_EQ(user.stream->send_data(body, true), body.size());
      };
    };
    TraceUser& user = get();
    move();
    EXPECT_EQ(user.closed, 1);
    EXPECT_NE(user.close_reason, CloseReason::finished);
    EXPECT_EQ(server_end_.users.back()->close_reason, CloseReason::cancelled);
  }
}

TEST_F(H2StreamTest, AnswersToHeadHaveNoBodyWhateverIsSent) {
  start();
  server_end_.when_request = [](TraceUser& user) {
    user.when_end = [&user] {
      user.stream->send_head({.status = 200, .content_length = 5}, false);
      EXPECT_EQ(user.stream->send_data("hello", true), 5U);
    };
  };
  TraceUser& user = ask({.method = "HEAD", .authority = "h", .target = "/"});
  move();
  EXPECT_EQ(user.text(), "200 length=5 end close(finished)");
}

TEST_F(H2StreamTest, TrailersGoBothWays) {
  start();
  const std::array trailers = {Field{"t", "v"}};
  server_end_.when_request = [&](TraceUser& user) {
    user.when_end = [&] {
      user.stream->send_head({.status = 200}, false);
      EXPECT_EQ(user.stream->send_data("abc", false), 3U);
      user.stream->send_trailers(trailers);
    };
  };
  TraceUser& user = ask({.method = "POST", .authority = "h", .target = "/"}, "body", false);
  user.stream->send_trailers(trailers);
  move();
  EXPECT_EQ(server_end_.text(), "POST / h data(body) end t=v close(finished)");
  EXPECT_EQ(user.text(), "200 data(abc) end t=v close(finished)");
}

TEST_F(H2StreamTest, WhatAClosedStreamDidNotConsumeIsGivenBackToTheConnection) {
  server_end_.consumes = false;
  server_end_.when_request = nullptr;
  start();
  const std::string body(60'000, 'x');
  for (int i = 0; i < 40; ++i) {  // 2.4 MB through a window of 1 MiB for all streams.
    ask({.method = "PUT", .authority = "h", .target = "/"}, body, false);
    move();
    EXPECT_EQ(server_end_.users.back()->data.size(), body.size()) << i;
    server_end_.users.back()->stream->cancel();
    move();
  }
}

}  // namespace
}  // namespace damper::http
