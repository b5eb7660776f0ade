#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"

namespace damper::http {
namespace {

class H1Server : public testing::Test {
 protected:
  H1Server() { end_.when_request = echo; }

  void start(const ConnectionLimits& limits = {}) {
    connection_ = make_h1_server(limits, end_, end_, test_time(0));
  }
  // What it answers to the bytes, which come `cut` at a time.
  std::string say(std::string_view bytes, std::size_t cut = 1 << 20, std::int64_t ms = 0) {
    if (!connection_) start();
    std::string answer;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) {
      connection_->receive(bytes.substr(0, cut), test_time(ms));
      answer += take_output(*connection_, test_time(ms));
    }
    return answer;
  }
  [[nodiscard]] std::string ended() const {
    return connection_->is_over() ? std::string(name(connection_->reason())) : "open";
  }
  TraceUser& user() { return *end_.users.back(); }

  TestEnd end_;
  std::unique_ptr<Connection> connection_;
};

constexpr std::string_view kEmptyOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

TEST_F(H1Server, AnswersTheSameHoweverTheBytesAreCut) {
  const std::string bytes =
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX: y\r\n\r\nhello"
      "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
      "0\r\nT: v\r\n\r\n"
      "GET /d HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
    end_.users.clear();
    start();
    const std::string answer = say(bytes, cut);
    EXPECT_EQ(answer, std::string(kEmptyOk) +
                          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                          "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"
                          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        << cut;
    EXPECT_EQ(end_.text(),
              "GET /a h end close(finished) | "
              "POST /b h X=y length=5 data(hello) end close(finished) | "
              "PUT /c h data(abcde) end T=v close(finished) | "
              "GET /d h end close(finished)");
    EXPECT_EQ(ended(), "finished");
    EXPECT_FALSE(connection_->wants_input());
  }
}

TEST_F(H1Server, HandsOutOneRequestAtATimeAndKeepsABoundedLookahead) {
  end_.when_request = nullptr;
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(say(request + request), "");
  EXPECT_EQ(end_.users.size(), 1U);
  EXPECT_TRUE(connection_->wants_input());
  for (int i = 0; i < 200; ++i) connection_->receive(request, test_time(0));
  EXPECT_FALSE(connection_->wants_input());
  user().stream->send_head({.status = 200}, true);
  EXPECT_EQ(end_.changes, 1);
  EXPECT_EQ(take_output(*connection_), kEmptyOk);
  ASSERT_EQ(end_.users.size(), 2U);
  EXPECT_EQ(end_.users[0]->closed, 1);
}

TEST_F(H1Server, AStreamKnowsWhenItBeganFromTheStart) {
  std::vector<Instant> began;
  end_.when_request = [&](TraceUser& user) {
    began.push_back(user.stream->began());
    echo(user);
  };
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(say(request, 1 << 20, 1), kEmptyOk);
  EXPECT_EQ(say(request, 1 << 20, 6'000), kEmptyOk);  // On a connection that was idle.
  EXPECT_EQ(say(request.substr(0, 5), 1 << 20, 12'000), "");
  EXPECT_EQ(say(request.substr(5), 1 << 20, 12'500), kEmptyOk);
  EXPECT_EQ(began, (std::vector{test_time(1), test_time(6'000), test_time(12'000)}));
}

TEST_F(H1Server, BadBytesAreAnsweredAndTheConnectionIsOver) {
  EXPECT_EQ(say("GET / HTTP/1.1\r\n\r\n"),
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(ended(), "malformed");
  EXPECT_EQ(say("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), "");
  EXPECT_TRUE(end_.users.empty());
}

TEST_F(H1Server, AMalformedBodyIsAnsweredForAUserThatHasNotAnswered) {
  EXPECT_TRUE(say("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;\r\n")
                  .starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(end_.text(), "PUT / h close(malformed)");
  start();
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 200}, false); };
  };
  EXPECT_EQ(say("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;\r\n"),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(ended(), "malformed");
}

TEST_F(H1Server, AnswersOfUnknownLengthAreChunkedOrEndWithTheConnection) {
  end_.when_request = [](TraceUser& user) {
    user.when_end = [&user] {
      user.stream->send_head({.status = 200}, false);
      EXPECT_EQ(user.stream->send_data("abc", false), 3U);
      const std::array trailers = {Field{"t", "v"}};
      user.stream->send_trailers(trailers);
    };
  };
  EXPECT_EQ(say("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nt: v\r\n\r\n");
  EXPECT_EQ(ended(), "open");
  EXPECT_EQ(say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Server, Http10LivesOnWhenItAsksTo) {
  EXPECT_EQ(say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(ended(), "open");
  EXPECT_EQ(say("GET / HTTP/1.0\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Server, AnswersWithoutABodyHaveNone) {
  int status = 200;
  end_.when_request = [&](TraceUser& user) {
    user.when_end = [&] {
      user.stream->send_head({.status = status, .content_length = 5}, false);
      EXPECT_EQ(user.stream->send_data("hello", true), 5U);
    };
  };
  EXPECT_EQ(say("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  status = 304;
  EXPECT_EQ(say("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  status = 204;
  EXPECT_EQ(say("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(ended(), "open");
}

TEST_F(H1Server, SaysContinueOnlyWhenTheBodyIsWanted) {
  const std::string head =
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
  EXPECT_EQ(say(head), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(say("ab"), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab");
  EXPECT_EQ(say(head + "ab"), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab");
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 429}, true); };
  };
  EXPECT_EQ(say(head),
            "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Server, SaysInterimAnswersBeforeTheHeadWhereTheyHaveAPlace) {
  const std::array<Field, 2> fields = {Field{"Link", "</a>"}, Field{"Content-Length", "5"}};
  const std::string large(20'000, 'x');
  const std::array<Field, 1> much = {Field{"Link", large}};
  end_.when_request = [&](TraceUser& user) {
    user.when_end = [&] {
      user.stream->send_interim({.status = 103, .fields = fields, .upgrade = "x"});
      user.stream->send_interim({.status = 103, .fields = much});
      user.stream->send_interim({.status = 100});
      user.stream->send_interim({.status = 102});
      user.stream->send_head({.status = 200}, true);
      user.stream->send_interim({.status = 103});
    };
  };
  EXPECT_EQ(say("GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            "HTTP/1.1 102 Processing\r\n\r\n"
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(say("GET / HTTP/1.0\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST_F(H1Server, ASmallRestOfAnAnsweredRequestIsThrownAwayAndALargeOneClosed) {
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 503}, true); };
  };
  EXPECT_EQ(say("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"),
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(end_.text(), "PUT / h length=5 close(finished)");
  end_.when_request = echo;
  EXPECT_EQ(say("helloGET / HTTP/1.1\r\nHost: h\r\n\r\n"), kEmptyOk);
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 503}, true); };
  };
  EXPECT_EQ(say("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n"),
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(ended(), "finished");
  start();
  EXPECT_EQ(say("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n"),
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  for (int i = 0; i < 2; ++i) say(std::string(40'000, 'x'));
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Server, ARefusalWithAFewWordsBeforeALargeRestSaysThatItCloses) {
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] {
      user.stream->send_head({.status = 404, .content_length = 2}, false);
      EXPECT_EQ(user.stream->send_data("no", true), 2U);
    };
  };
  EXPECT_EQ(say("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n"),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Server, ARequestIsNeverAnsweredTwice) {
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 503}, true); };
  };
  EXPECT_EQ(say("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;\r\n"),
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(ended(), "malformed");
  start();
  say("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
  connection_->on_timer(connection_->deadline());
  EXPECT_EQ(ended(), "body_timeout");
  EXPECT_EQ(take_output(*connection_), "");
  EXPECT_EQ(user().closed, 1);
}

TEST_F(H1Server, BytesPassOpaquelyAfterAnUpgradeAndAConnect) {
  const std::array requests = {
      "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
      "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n"};
  for (const std::string_view request : requests) {
    start();
    end_.when_request = nullptr;
    EXPECT_EQ(say(request), "");
    const bool upgrade = request.starts_with("GET");
    user().stream->send_head({.status = upgrade ? 101 : 200, .upgrade = upgrade ? "websocket" : ""},
                             false);
    EXPECT_EQ(take_output(*connection_),
              upgrade ? "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                        "Upgrade: websocket\r\n\r\n"
                      : "HTTP/1.1 200 OK\r\n\r\n");
    EXPECT_EQ(say("GET / any bytes"), "");
    EXPECT_EQ(user().data, "GET / any bytes");
    EXPECT_EQ(user().stream->send_data("back", false), 4U);
    EXPECT_EQ(take_output(*connection_), "back");
    connection_->on_end_of_input(test_time(0));
    EXPECT_EQ(ended(), "open");
    EXPECT_EQ(user().stream->send_data("last", true), 4U);
    EXPECT_EQ(take_output(*connection_), "last");
    EXPECT_EQ(ended(), "finished");
    EXPECT_TRUE(user().text().ends_with("data(GET / any bytes) end close(finished)"));
  }
}

// What a client has sent on for the tunnel must not be taken for its next request.
TEST_F(H1Server, AConnectThatIsRefusedIsTheLastRequest) {
  end_.when_request = nullptr;
  say("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
  user().stream->send_head({.status = 403}, true);
  EXPECT_EQ(take_output(*connection_),
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(end_.users.size(), 1U);
  EXPECT_EQ(ended(), "finished");
}

TEST_F(H1Server, ATunnelThatEndedItsOutputHearsOnUntilItsPeersEnd) {
  for (const bool cancels : {false, true}) {
    start();
    end_.when_request = nullptr;
    say("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n");
    user().stream->send_head({.status = 200}, false);
    EXPECT_FALSE(connection_->has_ended_output());
    EXPECT_EQ(user().stream->send_data("last", true), 4U);
    EXPECT_TRUE(connection_->has_ended_output());
    EXPECT_EQ(take_output(*connection_), "HTTP/1.1 200 OK\r\n\r\nlast");
    EXPECT_EQ(say("more"), "");
    EXPECT_EQ(user().data, "more");
    EXPECT_EQ(ended(), "open");
    cancels ? user().stream->cancel() : connection_->on_end_of_input(test_time(0));
    EXPECT_EQ(ended(), "finished");
    EXPECT_EQ(connection_->has_ended_output(), cancels);
    EXPECT_EQ(user().text().ends_with("end close(finished)"), !cancels);
  }
}

TEST_F(H1Server, APeerThatGoesAwayResetsItsRequestAndNothingElse) {
  end_.when_request = nullptr;
  say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(end_.text(), "GET / h end close(reset)");
  EXPECT_EQ(ended(), "reset");
  start();
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(ended(), "finished");
  start();
  say("GET / HT");
  connection_->on_end_of_input(test_time(0));
  EXPECT_EQ(ended(), "reset");
}

TEST_F(H1Server, ACancelledAnswerIsCutOffAndItsUserHearsNothing) {
  end_.when_request = nullptr;
  say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  user().stream->send_head({.status = 200}, false);
  EXPECT_EQ(user().stream->send_data("abc", false), 3U);
  user().stream->cancel();
  EXPECT_EQ(take_output(*connection_), "");
  EXPECT_EQ(ended(), "cancelled");
  EXPECT_EQ(user().closed, 0);
}

TEST_F(H1Server, ABodyOtherThanPromisedNeverLooksWhole) {
  for (const bool more : {false, true}) {
    start();
    end_.when_request = nullptr;
    say("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    user().stream->send_head({.status = 200, .content_length = 5}, false);
    EXPECT_EQ(user().stream->send_data(more ? "123456" : "1234", true), more ? 6U : 4U);
    EXPECT_EQ(user().closed, 0);  // Not from within its own call.
    const std::string answer = take_output(*connection_);
    EXPECT_EQ(answer.ends_with("\r\n\r\n"), more);
    EXPECT_EQ(ended(), "cancelled");
    EXPECT_EQ(user().close_reason, CloseReason::cancelled);
  }
}

TEST_F(H1Server, DrainLetsTheRequestUnderWayEndAndTakesNoOther) {
  end_.when_request = nullptr;
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  say(request + request);
  connection_->drain();
  EXPECT_EQ(ended(), "open");
  user().stream->send_head({.status = 200}, true);
  EXPECT_EQ(take_output(*connection_),
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(ended(), "draining");
  EXPECT_EQ(end_.users.size(), 1U);
  start();
  connection_->drain();
  EXPECT_EQ(ended(), "draining");
}

TEST_F(H1Server, ARequestThatItRefusesIsReportedOnce) {
  const std::array<std::pair<std::string, std::string_view>, 3> cases = {{
      {"nonsense\r\n\r\n", "400 malformed HTTP/1.1; "},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "501 malformed HTTP/1.1; "},
      {"GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(70'000, 'x') + "\r\n\r\n",
       "431 head_too_large HTTP/1.1; "},
  }};
  for (const auto& [bytes, refused] : cases) {
    start();
    end_.refused.clear();
    say(bytes);
    EXPECT_EQ(end_.refused, refused);
  }
  start();
  end_.refused.clear();
  say("GET / HTTP/1.1\r\n");
  connection_->on_timer(connection_->deadline());
  EXPECT_EQ(end_.refused, "408 head_timeout HTTP/1.1; ");
}

TEST_F(H1Server, ARequestThatHasAUserIsNotReportedAsRefused) {
  say("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  say("PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
  EXPECT_EQ(end_.refused, "");
  EXPECT_EQ(ended(), "malformed");
}

}  // namespace
}  // namespace damper::http
