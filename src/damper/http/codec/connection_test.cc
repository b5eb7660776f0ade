#include "damper/http/codec/connection.h"

#include <gtest/gtest.h>

#include <string>

#include "damper/http/codec/connection_testing.h"

namespace damper::http {
namespace {

TEST(Sniff, ThePrefaceIsHttp2AndAnythingElseHttp1) {
  const std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (std::size_t size = 0; size < preface.size(); ++size) {
    EXPECT_EQ(sniff(preface.substr(0, size)), Protocol::unknown);
  }
  EXPECT_EQ(sniff(preface), Protocol::h2);
  EXPECT_EQ(sniff(std::string(preface) + "x"), Protocol::h2);
  EXPECT_EQ(sniff("G"), Protocol::h1);
  EXPECT_EQ(sniff("PRI * HTTP/1.1\r\n"), Protocol::h1);
  EXPECT_EQ(sniff("PUT"), Protocol::h1);
}

TEST(ConnectionLimits, WhatIsOutsideOfItsBoundsIsNamed) {
  EXPECT_EQ(find_error(ConnectionLimits{}), std::nullopt);
  const auto error_of = [](auto change) {
    ConnectionLimits limits;
    change(limits);
    return find_error(limits).value_or("");
  };
  EXPECT_EQ(error_of([](auto& l) { l.max_head_bytes = 1023; }),
            "max_head_bytes is 1023; it must be from 1024 to 1048576");
  EXPECT_NE(error_of([](auto& l) { l.max_fields = 1001; }), "");
  EXPECT_NE(error_of([](auto& l) { l.window_bytes = 1; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_output_bytes = 1; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_streams = 0; }), "");
  EXPECT_NE(error_of([](auto& l) { l.head_timeout = Duration{0}; }), "");
  EXPECT_NE(error_of([](auto& l) { l.idle_timeout = kForever; }), "");
  EXPECT_NE(error_of([](auto& l) { l.message_timeout = Duration{-1}; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_age = Duration{-1}; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_idle_frames_per_second = 0; }), "");
  EXPECT_NE(error_of([](auto& l) { l.max_resets_per_second = 0; }), "");
}

TEST(ConnectionTime, ABodyThatDripsHasItsTime) {
  TestEnd end;
  const auto server = make_h1_server({}, end, end, test_time(0));
  server->receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", test_time(0));
  std::int64_t ms = 0;
  while (!server->is_over() && ms < 3'600'000) {  // A byte every 29 s.
    ms += 29'000;
    if (server->deadline() <= test_time(ms)) {
      server->on_timer(server->deadline());
    } else {
      server->receive("x", test_time(ms));
    }
    static_cast<void>(take_output(*server, test_time(ms)));
  }
  EXPECT_EQ(end.users[0]->close_reason, CloseReason::body_timeout);
  EXPECT_GE(ms, 300'000);
  EXPECT_LE(ms, 330'000);
}

TEST(ConnectionTime, AnAnswerThatIsReadInDripsHasItsTime) {
  TestEnd end;
  end.when_request = [](TraceUser& user) {
    user.when_end = [&user] {
      user.stream->send_head({.status = 200, .content_length = 50'000}, false);
      EXPECT_EQ(user.stream->send_data(std::string(50'000, 'x'), true), 50'000U);
    };
  };
  for (const bool h2 : {false, true}) {
    end.users.clear();
    const auto server = h2 ? make_h2_server({}, end, end, test_time(0))
                           : make_h1_server({}, end, end, test_time(0));
    TestEnd client_end;
    const auto client = h2 ? make_h2_client({}, client_end, test_time(0))
                           : make_h1_client({}, client_end, test_time(0));
    TraceUser user;
    user.stream = &client->open(user, test_time(0));
    user.stream->send_head({.method = "GET", .authority = "h", .target = "/"}, true);
    server->receive(take_output(*client), test_time(0));
    std::int64_t ms = 0;
    while (!server->is_over() && ms < 3'600'000) {
      ms += 29'000;
      if (server->deadline() <= test_time(ms)) {
        server->on_timer(server->deadline());
      } else if (!server->output().empty()) {
        server->sent(1, test_time(ms));
      }
    }
    EXPECT_EQ(server->reason(), CloseReason::write_timeout) << h2;
    EXPECT_LE(ms, 330'000);
  }
}

TEST(ConnectionTime, AnHttp2BodyThatDripsHasItsTimeAndOneThatFlowsHasMore) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{60'000}}) {
    TestEnd server_end;
    TestEnd client_end;
    const auto server = make_h2_server({}, server_end, server_end, test_time(0));
    const auto client = make_h2_client({}, client_end, test_time(0));
    TraceUser user;
    user.stream = &client->open(user, test_time(0));
    user.stream->send_head({.method = "POST", .authority = "h", .target = "/"}, false);
    pump(*client, *server);
    std::int64_t ms = 0;
    while (server_end.users[0]->closed == 0 && ms < 600'000) {
      ms += 29'000;
      while (server->deadline() <= test_time(ms)) server->on_timer(server->deadline());
      if (server_end.users[0]->closed != 0) break;
      static_cast<void>(user.stream->send_data(std::string(piece, 'x'), false));
      pump(*client, *server, 1 << 16, test_time(ms));
    }
    if (piece > 1) {
      EXPECT_EQ(server_end.users[0]->closed, 0);
      continue;
    }
    EXPECT_EQ(server_end.users[0]->close_reason, CloseReason::body_timeout);
    EXPECT_LE(ms, 330'000);
  }
}

TEST(CloseReason, EveryReasonHasAnEventAndRefusedMeansNeverProcessed) {
  using decide::TransportEvent;
  EXPECT_EQ(transport_event(CloseReason::refused, false), TransportEvent::refused_stream);
  EXPECT_EQ(transport_event(CloseReason::reset, false), TransportEvent::reset_before_response);
  EXPECT_EQ(transport_event(CloseReason::reset, true), TransportEvent::reset_in_response);
  EXPECT_EQ(transport_event(CloseReason::malformed, true), TransportEvent::malformed_response);
  EXPECT_EQ(name(CloseReason::cancelled), "cancelled");
  EXPECT_EQ(name(CloseReason::finished), "finished");
}

}  // namespace
}  // namespace damper::http
