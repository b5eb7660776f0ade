#include "damper/http/codec/h2_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "damper/http/codec/h2_pair_testing.h"

namespace damper::http {
namespace {

using H2StreamTest = H2Pair;
using Error = EndedStreams::Error;

std::string frame(char type, char flags, char id, std::string_view payload) {
  const std::string head = {0, 0, static_cast<char>(payload.size()), type, flags, 0, 0, 0, id};
  return head + std::string(payload);
}

std::string found_in(std::string_view bytes, std::size_t cut, bool places = false) {
  DataHeads heads;
  std::string found;
  for (std::size_t begin = 0; begin < bytes.size(); begin += cut) {
    const std::string_view piece = bytes.substr(begin, cut);
    std::size_t at = 0;
    while (const auto head = heads.find_next(piece, at)) {
      if (places) found += std::to_string(head->before) + "/";
      found += std::to_string(head->id) + (head->has_bad_padding ? "! " : " ");
    }
    EXPECT_EQ(at, piece.size());
  }
  return found;
}

TEST(DataHeads, AreFoundHoweverTheBytesAreCut) {
  constexpr char kPadded = 8;
  constexpr char kHeaders = 1;
  const std::string bytes = std::string(24, '\0') + frame(0, 0, 1, "abc") +
                            frame(kHeaders, kPadded, 3, "\7abc") + frame(0, 0, 5, "") +
                            frame(0, kPadded, 7, "\3abc") + frame(0, kPadded, 9, "\4abc") +
                            frame(0, kPadded, 11, "");
  EXPECT_EQ(found_in(bytes, bytes.size(), true), "24/1 49/5 58/7 71/9! 84/11 ");
  for (const std::size_t cut : {1U, 2U, 3U, 9U, 10U, 11U, 13U}) {
    EXPECT_EQ(found_in(bytes, cut), "1 5 7 9! 11 ") << cut;
  }
}

TEST(EndedStreams, AFrameAfterThePeersOwnEndIsAnError) {
  EndedStreams streams;
  EXPECT_EQ(streams.on_frame(1, true), Error::none);
  EXPECT_EQ(streams.on_frame(1, false), Error::none);
  EXPECT_EQ(streams.on_frame(3, true), Error::none);
  streams.on_closed(1, false);
  streams.on_closed(3, true);
  EXPECT_EQ(streams.on_frame(1, true), Error::ended);
  EXPECT_EQ(streams.on_frame(3, false), Error::reset);
  EXPECT_EQ(streams.on_frame(5, false), Error::none);  // It is idle, which nghttp2 checks.
}

TEST(EndedStreams, AFrameOnAStreamThatWeHaveResetIsIgnored) {
  EndedStreams streams;
  EXPECT_EQ(streams.on_frame(1, true), Error::none);
  EXPECT_EQ(streams.on_frame(3, true), Error::none);
  EXPECT_EQ(streams.on_frame(1, false), Error::none);  // Trailers or data in flight.
  EXPECT_EQ(streams.on_frame(1, true), Error::none);
}

TEST(EndedStreams, OnlyTheLastAreKnown) {
  EndedStreams streams;
  const auto last = static_cast<std::int32_t>(2 * EndedStreams::kMost + 1);
  for (std::int32_t id = 1; id <= last; id += 2) {
    EXPECT_EQ(streams.on_frame(id, true), Error::none);
    streams.on_closed(id, false);
  }
  EXPECT_EQ(streams.on_frame(1, true), Error::none);
  EXPECT_EQ(streams.on_frame(3, true), Error::ended);
  EXPECT_EQ(streams.on_frame(last, true), Error::ended);
}

TEST(EndedStreams, AStreamThatWasSkippedCannotBegin) {
  EndedStreams streams;
  EXPECT_EQ(streams.on_frame(5, true), Error::none);
  EXPECT_EQ(streams.on_frame(1, true), Error::skipped);
  EXPECT_EQ(streams.on_frame(3, false), Error::skipped);
  EXPECT_EQ(streams.on_frame(7, true), Error::none);
  EXPECT_EQ(streams.on_frame(11, true), Error::none);
  EXPECT_EQ(streams.on_frame(9, true), Error::skipped);
  EXPECT_EQ(streams.on_frame(7, false), Error::none);
  EXPECT_EQ(streams.on_frame(2, true), Error::none);  // Even ones are nghttp2's.
}

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

TEST_F(H2StreamTest, InterimAnswersComeBeforeTheHeadAndAreBounded) {
  start();
  server_end_.when_request = nullptr;
  const std::array<Field, 1> fields = {Field{"link", "</a>"}};
  TraceUser& user = get();
  move();
  Stream& stream = *server_end_.users.back()->stream;
  stream.send_interim({.status = 103, .fields = fields});
  stream.send_interim({.status = 100});
  stream.send_interim({.status = 102});
  stream.send_head({.status = 200}, false);
  stream.send_interim({.status = 103, .fields = fields});
  EXPECT_EQ(stream.send_data("x", true), 1U);
  move();
  EXPECT_EQ(user.text(), "(103 link=</a>) (102) 200 data(x) end close(finished)");
  TraceUser& flooded = get();
  move();
  for (int i = 0; i < 9; ++i) server_end_.users.back()->stream->send_interim({.status = 102});
  move();
  EXPECT_TRUE(flooded.text().ends_with("(102) close(flood)"));
}

TEST_F(H2StreamTest, InterimAnswersAreLeftOutForAClientThatDoesNotRead) {
  start();
  server_end_.when_request = nullptr;
  const std::string large(15'000, 'x');
  const std::array<Field, 1> fields = {Field{"link", large}};
  for (int i = 0; i < 50; ++i) {
    (void)get();
    server_->receive(take_output(*client_), test_time(0));
    for (int times = 0; times < 8; ++times) {
      server_end_.users.back()->stream->send_interim({.status = 103, .fields = fields});
    }
  }
  EXPECT_LT(take_output(*server_).size(), 64U * large.size());
}

TEST_F(H2StreamTest, WhoExpects100HearsItUnlessTheAnswerIsThere) {
  start();
  bool answers = false;
  server_end_.when_request = [&](TraceUser& user) {
    user.when_head = [&] {
      if (answers) user.stream->send_head({.status = 413}, true);
    };
  };
  const std::array<Field, 1> fields = {Field{"expect", "100-continue"}};
  const Head head{.method = "PUT", .authority = "h", .target = "/", .fields = fields};
  const std::string_view said("\x82\x08\x01");  // "100" in Huffman's code
  const auto answered = [&] {
    (void)ask(head, "", false);
    server_->receive(take_output(*client_), test_time(0));
    return std::string(server_->output());
  };
  EXPECT_NE(answered().find(said), std::string::npos);
  move();
  answers = true;
  EXPECT_EQ(answered().find(said), std::string::npos);
}

TEST_F(H2StreamTest, AConnectIsATunnelWhoseDirectionsEndOneByOne) {
  for (const bool client_first : {true, false}) {
    start({.max_body_bytes = 3}, {.max_body_bytes = 3});
    server_end_.when_request = nullptr;
    TraceUser& client =
        ask({.method = "CONNECT", .authority = "other", .target = "h:1"}, "early", false);
    move();
    TraceUser& server = *server_end_.users.back();
    EXPECT_EQ(server.text(), "CONNECT h:1 h:1 data(early)");
    server.stream->send_head({.status = 200, .content_length = 7}, false);
    move();
    EXPECT_EQ(client.text(), "200");
    TraceUser& first = client_first ? client : server;
    TraceUser& second = client_first ? server : client;
    EXPECT_EQ(first.stream->send_data("last", true), 4U);
    move();
    EXPECT_TRUE(second.text().ends_with("end"));
    EXPECT_EQ(first.closed + second.closed, 0);
    EXPECT_EQ(second.stream->send_data("more", false), 4U);
    move();
    EXPECT_TRUE(first.text().ends_with("data(more)"));
    EXPECT_EQ(second.stream->send_data("", true), 0U);
    move();
    EXPECT_TRUE(first.text().ends_with("data(more) end close(finished)"));
    EXPECT_TRUE(second.text().ends_with("end close(finished)"));
  }
}

TEST_F(H2StreamTest, ATunnelIsResetOrEndsAfterWhatItSaid) {
  for (const bool ended : {true, false}) {
    start();
    server_end_.when_request = nullptr;
    TraceUser& client = ask({.method = "CONNECT", .target = "h:1"}, "", false);
    move();
    TraceUser& server = *server_end_.users.back();
    server.stream->send_head({.status = 200}, false);
    move();
    EXPECT_EQ(server.stream->send_data("last", ended), 4U);
    server.stream->cancel();
    move();
    EXPECT_EQ(client.text(), ended ? "200 data(last) end close(reset)" : "200 close(reset)");
    EXPECT_EQ(server_->streams(), 0U);
    EXPECT_EQ(server.closed, 0);
  }
}

TEST_F(H2StreamTest, ASilentTunnelEndsAndOneThatMovesDoesNot) {
  start();
  server_end_.when_request = nullptr;
  TraceUser& client = ask({.method = "CONNECT", .target = "h:1"}, "", false);
  move();
  TraceUser& server = *server_end_.users.back();
  server.stream->send_head({.status = 200}, false);
  EXPECT_EQ(client.stream->send_data("x", true), 1U);
  move();
  for (int i = 1; i <= 4; ++i) {
    server_->on_timer(test_time(20'000 * i));
    EXPECT_EQ(server.stream->send_data("tick", false), 4U);
    pump(*client_, *server_, 1 << 16, test_time(20'000 * i));
  }
  EXPECT_EQ(server.closed, 0);
  server_->on_timer(test_time(80'000 + 30'000));  // Perhaps it moved later: it has its whole time.
  server_->on_timer(test_time(80'000 + 60'000));
  EXPECT_EQ(server.close_reason, CloseReason::idle_timeout);
  EXPECT_EQ(server.closed, 1);
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
