#include "damper/http/codec/h1_connection.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "damper/http/codec/connection_testing.h"

namespace damper::http {
namespace {

using std::chrono::seconds;

constexpr Instant at(std::int64_t s) { return test_time(s * 1000); }
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kPut = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n";

class H1ConnectionTest : public testing::Test {
 protected:
  H1ConnectionTest() { start({}); }

  void start(const ConnectionLimits& limits) {
    connection_ = make_h1_server(limits, end_, end_, at(0));
  }
  [[nodiscard]] std::string ended() const {
    return connection_->is_over() ? std::string(name(connection_->reason())) : "open";
  }
  TraceUser& user() { return *end_.users.back(); }
  std::int64_t due() {
    return std::chrono::duration_cast<seconds>(connection_->deadline().time_since_epoch()).count();
  }

  TestEnd end_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(H1ConnectionTest, AnIdleConnectionIsClosedWithoutAWord) {
  EXPECT_EQ(due(), 60);
  connection_->on_timer(at(59));
  EXPECT_EQ(ended(), "open");
  connection_->on_timer(at(60));
  EXPECT_EQ(ended(), "idle_timeout");
  EXPECT_EQ(connection_->output(), "");
  EXPECT_EQ(connection_->deadline(), kNever);
}

TEST_F(H1ConnectionTest, AHeadHasItsTimeFromItsFirstByte) {
  for (int i = 0; i < 10; ++i)
    connection_->receive(kGet.substr(static_cast<std::size_t>(i), 1), at(5 + i));
  EXPECT_EQ(due(), 15);
  connection_->on_timer(at(15));
  EXPECT_EQ(ended(), "head_timeout");
  EXPECT_TRUE(connection_->output().starts_with("HTTP/1.1 408 "));
}

TEST_F(H1ConnectionTest, ABodyMayNotStandStillUnlessItsUserDoes) {
  end_.consumes = false;
  connection_->receive(kPut, at(1));
  EXPECT_EQ(due(), 31);
  connection_->receive(std::string(64 * 1024, 'x'), at(20));
  EXPECT_FALSE(connection_->wants_input());
  EXPECT_EQ(connection_->deadline(), kNever);  // The window is full: it is the user's turn.
  EXPECT_EQ(end_.changes, 0);
  user().stream->consumed(1);
  EXPECT_EQ(end_.changes, 1);
  EXPECT_TRUE(connection_->wants_input());
  connection_->on_timer(at(500));  // Nobody knows when it was consumed: it has its time from now.
  EXPECT_EQ(due(), 530);
  connection_->on_timer(at(530));
  EXPECT_EQ(ended(), "body_timeout");
  EXPECT_EQ(user().close_reason, CloseReason::body_timeout);
  EXPECT_TRUE(connection_->output().starts_with("HTTP/1.1 408 "));
}

TEST_F(H1ConnectionTest, AnAnswerThatTakesItsTimeCostsNoConnection) {
  connection_->receive(kGet, at(1));
  EXPECT_EQ(connection_->deadline(), kNever);
  user().stream->send_head({.status = 200}, true);  // At 100 s, but nobody said so.
  const std::size_t size = connection_->output().size();
  connection_->on_timer(at(100));
  EXPECT_EQ(ended(), "open");
  connection_->sent(size, at(100));
  EXPECT_GE(due(), 160);
}

TEST_F(H1ConnectionTest, APeerThatDoesNotReadIsGivenUp) {
  connection_->receive(kGet, at(1));
  user().stream->send_head({.status = 200}, false);
  EXPECT_EQ(user().stream->send_data("x", false), 1U);
  static_cast<void>(connection_->output());
  connection_->sent(5, at(10));
  EXPECT_EQ(due(), 40);
  connection_->sent(5, at(20));
  EXPECT_EQ(due(), 50);
  connection_->on_timer(at(50));
  EXPECT_EQ(ended(), "write_timeout");
  EXPECT_EQ(connection_->output(), "");
  EXPECT_EQ(user().close_reason, CloseReason::write_timeout);
}

TEST_F(H1ConnectionTest, AnOldConnectionEndsWithItsRequestOrAtOnce) {
  start({.max_age = seconds(10)});
  connection_->receive(kGet, at(9));
  EXPECT_EQ(due(), 10);
  connection_->on_timer(at(10));
  EXPECT_EQ(ended(), "open");
  user().stream->send_head({.status = 200}, true);
  EXPECT_NE(connection_->output().find("Connection: close"), std::string_view::npos);
  EXPECT_EQ(ended(), "too_old");
  start({.max_age = seconds(10)});
  connection_->on_timer(at(10));
  EXPECT_EQ(ended(), "too_old");
}

TEST_F(H1ConnectionTest, ATunnelMayBeIdleForAsLongAsABodyAlsoHalfClosed) {
  connection_->receive("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", at(1));
  user().stream->send_head({.status = 200}, false);
  take_output(*connection_, at(2));
  EXPECT_EQ(due(), 32);
  connection_->receive("x", at(20));
  EXPECT_EQ(due(), 50);
  EXPECT_EQ(user().stream->send_data("y", false), 1U);
  take_output(*connection_, at(30));
  EXPECT_EQ(due(), 60);
  connection_->on_end_of_input(at(40));
  EXPECT_EQ(due(), 60);
  connection_->on_timer(at(59));
  EXPECT_EQ(ended(), "open");
  connection_->on_timer(at(60));
  EXPECT_EQ(ended(), "idle_timeout");
  EXPECT_EQ(user().close_reason, CloseReason::idle_timeout);
}

// The peer of the other side is slow; that side's own watch sees to it.
TEST_F(H1ConnectionTest, ATunnelThatIsNotReadIsNotSilent) {
  end_.consumes = false;
  connection_->receive("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", at(1));
  user().stream->send_head({.status = 200}, false);
  take_output(*connection_, at(2));
  connection_->receive(std::string(64 * 1024, 'x'), at(3));
  EXPECT_FALSE(connection_->wants_input());
  connection_->on_timer(at(100));
  EXPECT_EQ(ended(), "open");
  user().stream->consumed(1024);
  EXPECT_EQ(due(), 130);
}

TEST_F(H1ConnectionTest, WhatIsWrittenIsBoundedAndRoomIsTold) {
  connection_->receive(kGet, at(0));
  Stream& stream = *user().stream;
  stream.send_head({.status = 200}, false);
  const std::string body(1'000'000, 'x');
  const std::size_t taken = stream.send_data(body, true);
  EXPECT_GT(taken, 250U * 1024);
  EXPECT_LE(taken, 256U * 1024);
  EXPECT_EQ(stream.send_data(body, true), 0U);
  EXPECT_LE(connection_->output().size(), 257U * 1024);
  connection_->sent(1000, at(0));
  EXPECT_EQ(user().writable, 0);
  connection_->sent(connection_->output().size() / 2, at(0));
  EXPECT_EQ(user().writable, 1);
  EXPECT_GT(stream.send_data(body, true), 0U);
}

TEST_F(H1ConnectionTest, RequestsAreNotReadWhileTheirAnswersPileUp) {
  end_.when_request = [](TraceUser& user) {
    user.when_end = [&user] {
      user.stream->send_head({.status = 200, .content_length = 100'000}, false);
      EXPECT_EQ(user.stream->send_data(std::string(100'000, 'x'), true), 100'000U);
    };
  };
  for (int i = 0; i < 2; ++i) connection_->receive(kGet, at(0));
  end_.when_request = nullptr;
  connection_->receive(kGet, at(0));
  user().stream->send_head({.status = 200}, false);
  EXPECT_GT(user().stream->send_data(std::string(300'000, 'x'), false), 0U);
  user().stream->send_trailers({});
  connection_->receive(std::string(kGet) + std::string(kGet), at(0));
  EXPECT_EQ(end_.users.size(), 3U);
  take_output(*connection_);
  EXPECT_EQ(end_.users.size(), 4U);
}

TEST_F(H1ConnectionTest, AbortClosesEverythingAndOnCloseWaitsForTheCallUnderWay) {
  int closed_inside = -1;
  end_.when_request = [&](TraceUser& user) {
    user.when_head = [&] {
      connection_->abort(CloseReason::draining);
      closed_inside = user.closed;
    };
  };
  connection_->receive(kGet, at(0));
  EXPECT_EQ(closed_inside, 0);
  EXPECT_EQ(user().close_reason, CloseReason::draining);
  EXPECT_EQ(user().closed, 1);
  EXPECT_EQ(ended(), "draining");
}

TEST_F(H1ConnectionTest, AnIdleConnectionHoldsNoBuffer) {
  if (DAMPER_INSTRUMENTED) GTEST_SKIP() << "a sanitizer's allocator does not count";
  end_.when_request = echo;
  constexpr std::size_t kConnections = 100;
  std::vector<std::unique_ptr<Connection>> connections;
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < kConnections; ++i) {
    connections.push_back(make_h1_server({}, end_, end_, at(0)));
    connections.back()->receive("PUT / HTTP/1.1\r\nHost: h\r\nContent-Le", at(0));
    connections.back()->receive("ngth: 60000\r\n\r\n" + std::string(60000, 'x'), at(0));
    EXPECT_GT(take_output(*connections.back()).size(), 60000U);
    end_.users.clear();
  }
  const std::size_t each = (mallinfo2().uordblks - before) / kConnections;
  EXPECT_LT(each, 1200U);
}

// Client and server, cut at every length.
TEST(H1Pair, AClientAndAServerUnderstandEachOtherHoweverTheBytesAreCut) {
  const std::array fields = {Field{"X-A", "b"}};
  for (std::size_t cut = 1; cut < 200; ++cut) {
    TestEnd server_end;
    server_end.when_request = echo;
    TestEnd client_end;
    const auto server = make_h1_server({}, server_end, server_end, at(0));
    const auto client = make_h1_client({}, client_end, at(0));
    for (const bool chunked : {false, true}) {
      TraceUser user;
      Stream& stream = client->open(user, at(0));
      user.stream = &stream;
      Head head{.method = "POST", .authority = "h", .target = "/x", .fields = fields};
      if (!chunked) head.content_length = 6;
      stream.send_head(head, false);
      EXPECT_EQ(stream.send_data("abc", false), 3U);
      pump(*client, *server, cut);
      EXPECT_EQ(stream.send_data("def", !chunked), 3U);
      if (chunked) stream.send_trailers(fields);
      pump(*client, *server, cut);
      EXPECT_EQ(user.text(), "200 length=6 data(abcdef) end close(finished)");
      EXPECT_EQ(server_end.users.back()->text(),
                chunked ? "POST /x h X-A=b data(abcdef) end X-A=b close(finished)"
                        : "POST /x h X-A=b length=6 data(abcdef) end close(finished)");
    }
  }
}

}  // namespace
}  // namespace damper::http
