#include "damper/http/codec/h2_session.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "damper/http/codec/h2_pair_testing.h"
#include "damper/http/codec/reset_limit.h"

namespace damper::http {
namespace {

using H2SessionTest = H2Pair;

TEST_F(H2SessionTest, AsksAndAnswersHoweverTheBytesAreCut) {
  const std::array fields = {Field{"X-A", "b"}};
  for (const std::size_t cut : {1UL, 2UL, 3UL, 7UL, 9UL, 10UL, 100UL, 1UL << 16}) {
    server_end_.users.clear();
    start();
    TraceUser& first = ask({.method = "GET", .scheme = "http", .authority = "h:1", .target = "/x"});
    TraceUser& second = ask(
        {.method = "POST", .authority = "h", .target = "/y", .fields = fields, .content_length = 5},
        "hello");
    move(cut);
    EXPECT_EQ(server_end_.text(),
              "GET /x h:1 end close(finished) | "
              "POST /y h x-a=b length=5 data(hello) end close(finished)");
    EXPECT_EQ(first.text(), "200 length=0 end close(finished)");
    EXPECT_EQ(second.text(), "200 length=5 data(hello) end close(finished)");
    EXPECT_EQ(client_->streams(), 0U);
    EXPECT_EQ(server_->streams(), 0U);
    EXPECT_TRUE(client_->can_open());
  }
}

TEST_F(H2SessionTest, DrainFinishesWhatIsUnderWayAndRefusesTheRest) {
  server_end_.when_request = nullptr;
  start();
  TraceUser& early = get();
  move();
  TraceUser& late = get();  // Crosses the GOAWAY.
  server_->drain();
  EXPECT_EQ(server_end_.changes, 1);
  const std::string goaway = take_output(*server_);
  const std::string request = take_output(*client_);
  client_->receive(goaway, test_time(0));
  server_->receive(request, test_time(0));
  EXPECT_EQ(late.text(), "close(refused)");
  EXPECT_FALSE(client_->can_open());
  EXPECT_EQ(server_end_.users.size(), 1U);
  server_end_.users[0]->stream->send_head({.status = 200}, true);
  move();
  EXPECT_EQ(early.text(), "200 end close(finished)");
  EXPECT_EQ(ended(*server_), "draining");
  EXPECT_EQ(ended(*client_), "finished");
}

TEST_F(H2SessionTest, WhatNeverLeftWasRefusedAndWhatLeftWasReset) {
  start();
  TraceUser& unsent = get();
  EXPECT_FALSE(unsent.stream->touched_wire());
  client_->abort(CloseReason::reset);
  EXPECT_EQ(unsent.text(), "close(refused)");
  start();
  TraceUser& sent = get();
  take_output(*client_);
  EXPECT_TRUE(sent.stream->touched_wire());
  client_->on_end_of_input(test_time(0));
  EXPECT_EQ(sent.text(), "close(reset)");
  EXPECT_EQ(ended(*client_), "reset");
}

TEST_F(H2SessionTest, AClientOpensNoMoreStreamsThanThePeerAllows) {
  server_end_.when_request = nullptr;
  start({.max_streams = 2});
  move();
  get();
  EXPECT_TRUE(client_->can_open());
  TraceUser& second = get();
  EXPECT_FALSE(client_->can_open());
  second.stream->cancel();
  EXPECT_TRUE(client_->can_open());
}

TEST_F(H2SessionTest, AnEarlyAnswerEndsTheStreamOnBothSides) {
  start();
  server_end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 503}, true); };
  };
  TraceUser& user = ask({.method = "PUT", .authority = "h", .target = "/"}, "some", false);
  move();
  EXPECT_TRUE(user.text().starts_with("503"));
  EXPECT_EQ(user.close_reason, CloseReason::finished);
  EXPECT_EQ(user.closed, 1);
  EXPECT_EQ(server_end_.users[0]->close_reason, CloseReason::finished);
  EXPECT_EQ(client_->streams() + server_->streams(), 0U);
  EXPECT_EQ(ended(*client_) + ended(*server_), "openopen");
}

TEST_F(H2SessionTest, HeadsAndBodiesOverTheirBoundsAreAnswered) {
  start({.max_head_bytes = 1024, .max_body_bytes = 4});
  const std::string value(2000, 'x');
  const std::array fields = {Field{"a", value}};
  TraceUser& head = ask({.method = "GET", .authority = "h", .target = "/", .fields = fields});
  TraceUser& body =
      ask({.method = "PUT", .authority = "h", .target = "/", .content_length = 5}, "hello");
  TraceUser& stream = ask({.method = "PUT", .authority = "h", .target = "/"}, "hello", false);
  move();
  EXPECT_TRUE(head.text().starts_with("431"));
  EXPECT_TRUE(body.text().starts_with("413"));
  EXPECT_EQ(stream.text(), "close(reset)");
  EXPECT_EQ(server_end_.text(), "PUT / h close(body_too_large)");
  EXPECT_EQ(server_end_.refused, "431 head_too_large HTTP/2; 413 body_too_large HTTP/2; ");
}

TEST_F(H2SessionTest, AnAnswerThatIsTooLargeToWriteResetsItsStreamAlone) {
  start();
  const std::string value(40'000, 'x');
  const std::array fields = {Field{"a", value}, Field{"b", value}, Field{"c", value}};
  server_end_.when_request = [&](TraceUser& user) {
    user.when_end = [&] { user.stream->send_head({.status = 200, .fields = fields}, true); };
  };
  TraceUser& user = get();
  move();
  EXPECT_EQ(user.text(), "close(reset)");
  EXPECT_EQ(server_end_.text(), "GET / h end close(cancelled)");
  EXPECT_EQ(ended(*client_) + ended(*server_), "openopen");
}

TEST_F(H2SessionTest, AServerMayResetAsManyStreamsAsItLikes) {
  server_end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->cancel(); };
  };
  start({}, {.max_resets_per_second = 1});
  for (int i = 0; i < 100; ++i) {
    TraceUser& user = get();
    move();
    EXPECT_EQ(user.text(), "close(reset)");
  }
  EXPECT_EQ(ended(*client_) + ended(*server_), "openopen");
}

TEST_F(H2SessionTest, AnIdleOneAndAnOldOneSayGoodbye) {
  start({.idle_timeout = std::chrono::seconds(5)}, {.max_age = std::chrono::seconds(3)});
  move();
  EXPECT_EQ(client_->deadline(), test_time(3000));
  client_->on_timer(test_time(3000));
  EXPECT_FALSE(client_->can_open());
  take_output(*client_);
  EXPECT_EQ(ended(*client_), "too_old");
  server_->on_timer(test_time(5000));
  EXPECT_EQ(ended(*server_), "idle_timeout");
  EXPECT_NE(server_->output(), "");  // GOAWAY
}

TEST_F(H2SessionTest, ABodyThatStandsStillEndsItsStreamAlone) {
  start();
  server_end_.when_request = nullptr;
  TraceUser& user = ask({.method = "PUT", .authority = "h", .target = "/"}, "x", false);
  move();
  server_->on_timer(test_time(29'999));
  EXPECT_EQ(server_end_.users[0]->closed, 0);
  server_->on_timer(test_time(30'000));
  EXPECT_EQ(server_end_.users[0]->close_reason, CloseReason::body_timeout);
  move();
  EXPECT_EQ(user.close_reason, CloseReason::reset);
  EXPECT_EQ(ended(*client_) + ended(*server_), "openopen");
}

TEST_F(H2SessionTest, TrailersThatCannotBeSentDoNotMakeTheRequestUnsent) {
  server_end_.when_request = nullptr;
  start();
  TraceUser& user = ask({.method = "POST", .authority = "h", .target = "/"}, "body", false);
  move();
  ASSERT_EQ(server_end_.users.size(), 1U);  // It has been seen.
  const std::string huge(100'000, 'x');
  const std::array trailers = {Field{"x-a", huge}};
  user.stream->send_trailers(trailers);
  move();
  EXPECT_EQ(user.text(), "close(cancelled)");
  EXPECT_EQ(server_end_.users[0]->closed, 1);
}

// How many resets of streams that begin at this time it allows now; at most `most`.
int allowed(ResetLimit& limit, std::int64_t ms, int most = 100'000) {
  int count = 0;
  while (count < most && limit.try_reset(test_time(ms), test_time(ms))) ++count;
  return count;
}

TEST(ResetLimit, ABurstThenItsRate) {  // (1)
  ResetLimit limit(5);
  EXPECT_EQ(allowed(limit, 0), 50);
  EXPECT_EQ(allowed(limit, 100), 0);
  EXPECT_EQ(allowed(limit, 200), 1);
  EXPECT_EQ(allowed(limit, 2200), 10);
  EXPECT_EQ(allowed(limit, 3'600'000), 50);
}

TEST(ResetLimit, TenAnswersPayForOneReset) {  // (1)
  ResetLimit limit(1);
  EXPECT_EQ(allowed(limit, 0), 10);
  for (int i = 0; i < 9; ++i) limit.on_answer();
  EXPECT_EQ(allowed(limit, 0), 0);
  limit.on_answer();
  EXPECT_EQ(allowed(limit, 0), 1);
  EXPECT_EQ(allowed(limit, 0), 0);
}

TEST(ResetLimit, AnswersPayForOneMoreBurstAtMost) {  // (2)
  ResetLimit limit(1);
  for (int i = 0; i < 1'000'000; ++i) limit.on_answer();
  EXPECT_EQ(allowed(limit, 0), 10 + 10);
}

TEST(ResetLimit, ALateResetCostsAnEighthOfAToken) {  // (1)
  ResetLimit limit(1);
  for (int i = 0; i < 10 * 8 + 7; ++i) EXPECT_TRUE(limit.try_reset(test_time(0), test_time(250)));
  EXPECT_FALSE(limit.try_reset(test_time(0), test_time(250)));
  ResetLimit other(1);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(other.try_reset(test_time(0), test_time(250)));
  EXPECT_EQ(allowed(other, 250), 10);
  EXPECT_FALSE(other.try_reset(test_time(1), test_time(250)));
}

TEST(ResetLimit, AnErrorCostsATokenLikeAnEarlyReset) {  // (1)
  ResetLimit limit(1);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limit.try_error(test_time(0)));
  EXPECT_FALSE(limit.try_error(test_time(0)));
  EXPECT_EQ(allowed(limit, 0), 0);
}

TEST(ResetLimit, TheLargestRateIsOneOfTheBucket) {
  ResetLimit limit(ResetLimit::kPerSecond.high);
  EXPECT_EQ(allowed(limit, 0, 2'000'000), 1'000'000);
}

}  // namespace
}  // namespace damper::http
