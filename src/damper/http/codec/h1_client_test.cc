#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"

namespace damper::http {
namespace {

class H1Client : public testing::Test {
 protected:
  H1Client() { start(); }

  void start(const ConnectionLimits& limits = {}) {
    connection_ = make_h1_client(limits, end_, test_time(0));
  }
  // Sends a request and says what went out.
  std::string ask(const Head& head, bool end = true) {
    user_ = std::make_unique<TraceUser>();
    stream_ = &connection_->open(*user_, test_time(0));
    user_->stream = stream_;
    stream_->send_head(head, end);
    return take_output(*connection_);
  }
  std::string get() { return ask({.method = "GET", .authority = "h", .target = "/"}); }
  // What the user heard after the answer came, `cut` bytes at a time.
  std::string answer(std::string_view bytes, std::size_t cut = 1 << 20) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) {
      connection_->receive(bytes.substr(0, cut), test_time(0));
    }
    return user_->text();
  }
  [[nodiscard]] std::string ended() const {
    return connection_->is_over() ? std::string(name(connection_->reason())) : "open";
  }

  TestEnd end_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<TraceUser> user_;
  Stream* stream_ = nullptr;
};

TEST_F(H1Client, AsksAndHearsHoweverTheBytesAreCut) {
  const std::string bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;a=\"b\"\r\nabc\r\n0\r\nT: v\r\n\r\n";
  for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(get(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_FALSE(connection_->can_open());
    EXPECT_EQ(answer(bytes, cut), "200 A=b data(abc) end T=v close(finished)");
    EXPECT_TRUE(connection_->can_open());
  }
}

TEST_F(H1Client, FramesItsBodies) {
  EXPECT_EQ(ask({.method = "POST", .authority = "h", .target = "/"}),
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  answer("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(ask({.method = "POST", .authority = "h", .target = "/", .content_length = 3}, false),
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(stream_->send_data("abc", true), 3U);
  EXPECT_EQ(take_output(*connection_), "abc");
  answer("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(ask({.method = "PUT", .authority = "h", .target = "/"}, false),
            "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(stream_->send_data("abc", false), 3U);
  const std::array trailers = {Field{"t", "v"}};
  stream_->send_trailers(trailers);
  EXPECT_EQ(take_output(*connection_), "3\r\nabc\r\n0\r\nt: v\r\n\r\n");
}

TEST_F(H1Client, HearsAnAnswerThoughItsServerTakesNoMoreOfTheRequest) {
  start({.max_output_bytes = 4096});
  ask({.method = "PUT", .authority = "h", .target = "/", .content_length = 10'000}, false);
  EXPECT_LT(stream_->send_data(std::string(10'000, 'x'), true), 10'000U);
  EXPECT_TRUE(connection_->wants_input());
  EXPECT_EQ(answer("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"),
            "503 length=2 data(no) end close(finished)");
}

TEST_F(H1Client, KnowsWhichAnswersHaveNoBody) {
  ask({.method = "HEAD", .authority = "h", .target = "/"});
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            "200 length=5 end close(finished)");
  get();
  EXPECT_EQ(answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
            "304 length=5 end close(finished)");
  get();
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            "200 length=0 end close(finished)");
  EXPECT_EQ(ended(), "open");
}

TEST_F(H1Client, AnAnswerWithoutLengthEndsWithTheConnection) {
  get();
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\n\r\nabc"), "200 data(abc)");
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(user_->text(), "200 data(abc) end close(finished)");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Client, TheConnectionLivesOnAsTheAnswerSays) {
  get();
  answer("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_EQ(ended(), "finished");
  start();
  get();
  answer("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx");
  EXPECT_TRUE(connection_->can_open());
  get();
  answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  EXPECT_FALSE(connection_->can_open());
  EXPECT_EQ(user_->close_reason, CloseReason::finished);
}

TEST_F(H1Client, BytesThatNobodyAskedForCloseTheConnection) {
  get();
  EXPECT_EQ(answer("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
            "204 end close(finished)");
  EXPECT_EQ(ended(), "malformed");
  start();
  connection_->receive("H", test_time(0));
  EXPECT_EQ(ended(), "malformed");
}

TEST_F(H1Client, AnEarlyAnswerEndsTheStreamAndTheConnection) {
  ask({.method = "PUT", .authority = "h", .target = "/"}, false);
  EXPECT_EQ(answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"),
            "413 length=0 end close(finished)");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Client, InterimAnswersAreBoundedAndAnUnaskedSwitchMalformed) {
  get();
  answer("HTTP/1.1 100 Continue\r\n\r\n");
  for (int i = 0; i < 6; ++i) answer("HTTP/1.1 102 Processing\r\n\r\n");
  answer("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(ended(), "open");
  EXPECT_EQ(answer("HTTP/1.1 103 Early Hints\r\n\r\n"),
            "(102) (102) (102) (102) (102) (102) (103 Link=</a>) close(flood)");
  start();
  get();
  EXPECT_EQ(answer("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
            "close(malformed)");
  start();
  ask({.method = "GET", .authority = "h", .target = "/", .upgrade = "websocket"});
  EXPECT_EQ(answer("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"),
            "close(malformed)");
}

TEST_F(H1Client, WhatNeverLeftWasRefusedAndWhatLeftWasReset) {
  user_ = std::make_unique<TraceUser>();
  stream_ = &connection_->open(*user_, test_time(0));
  stream_->send_head({.method = "GET", .authority = "h", .target = "/"}, true);
  EXPECT_EQ(end_.changes, 1);
  EXPECT_FALSE(stream_->touched_wire());
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(user_->text(), "close(refused)");
  start();
  get();
  EXPECT_TRUE(stream_->touched_wire());
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(user_->text(), "close(reset)");
  start();
  get();
  answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
  connection_->abort(CloseReason::reset);
  EXPECT_EQ(user_->text(), "200 length=5 data(abc) close(reset)");
}

TEST_F(H1Client, CancelEndsTheConnectionOnlyWhenSomethingHasLeft) {
  user_ = std::make_unique<TraceUser>();
  stream_ = &connection_->open(*user_, test_time(0));
  stream_->send_head({.method = "GET", .authority = "h", .target = "/"}, true);
  stream_->cancel();
  EXPECT_TRUE(connection_->can_open());
  EXPECT_EQ(take_output(*connection_), "");
  get();
  stream_->cancel();
  EXPECT_EQ(ended(), "cancelled");
  EXPECT_EQ(user_->closed, 0);
}

TEST_F(H1Client, ARequestThatCannotBeWrittenIsNot) {
  EXPECT_EQ(ask({.method = "GET", .authority = "h", .target = "/ HTTP/1.1\r\nX: y"}), "");
  EXPECT_EQ(user_->text(), "close(cancelled)");
}

TEST_F(H1Client, BytesPassOpaquelyAfterASwitchAndAConnect) {
  EXPECT_EQ(ask({.method = "GET", .authority = "h", .target = "/", .upgrade = "websocket"}),
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nbytes"),
            "101 upgrade=websocket data(bytes)");
  EXPECT_EQ(stream_->send_data("back", false), 4U);
  EXPECT_EQ(take_output(*connection_), "back");
  EXPECT_EQ(stream_->send_data("", true), 0U);
  EXPECT_EQ(take_output(*connection_), "");
  EXPECT_TRUE(connection_->has_ended_output());  // And the other direction goes on.
  EXPECT_EQ(answer("more"), "101 upgrade=websocket data(bytes) data(more)");
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(user_->text(), "101 upgrade=websocket data(bytes) data(more) end close(finished)");
  EXPECT_EQ(ended(), "finished");
  start();
  EXPECT_EQ(ask({.method = "CONNECT", .authority = "h:1", .target = "h:1"}),
            "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n");
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\n\r\nbytes"), "200 data(bytes)");
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(user_->text(), "200 data(bytes) end");
  EXPECT_EQ(ended(), "open");
  EXPECT_EQ(stream_->send_data("last", true), 4U);
  EXPECT_EQ(take_output(*connection_), "last");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Client, ATunnelThatIsGivenUpSaysWhatCameBeforeItsEndAndNothingElse) {
  for (const bool end : {false, true}) {
    start();
    ask({.method = "CONNECT", .authority = "h:1", .target = "h:1"});
    answer("HTTP/1.1 200 OK\r\n\r\n");
    EXPECT_EQ(stream_->send_data("last", end), 4U);
    stream_->cancel();
    EXPECT_EQ(take_output(*connection_), end ? "last" : "");
    EXPECT_EQ(ended(), end ? "finished" : "cancelled");
  }
}

TEST_F(H1Client, ABodyOverItsBoundIsRefused) {
  start({.max_body_bytes = 4});
  get();
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), "close(body_too_large)");
  start({.max_body_bytes = 4});
  get();
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\n\r\nabc"), "200 data(abc)");
  EXPECT_EQ(answer("de"), "200 data(abc) close(body_too_large)");
}

TEST_F(H1Client, SurplusBytesAreNoAnswerToARequestThatWasNotSent) {
  for (const std::size_t cut : {1UL, 20UL, 1UL << 20}) {
    start();
    get();
    TraceUser next;
    Stream* stream = nullptr;
    user_->when_end = [&] { EXPECT_FALSE(connection_->can_open()); };
    const std::string good = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
    user_->when_close = [&] {  // As a pool whose line is not empty.
      ASSERT_TRUE(connection_->can_open());
      stream = &connection_->open(next, test_time(0));
      stream->send_head({.method = "GET", .authority = "h", .target = "/b"}, true);
    };
    answer(good + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL", cut);
    EXPECT_EQ(next.text(), "close(refused)");
    EXPECT_TRUE(connection_->is_over());
    EXPECT_FALSE(connection_->can_open());
  }
}

}  // namespace
}  // namespace damper::http
