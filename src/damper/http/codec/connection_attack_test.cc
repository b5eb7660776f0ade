#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <memory>
#include <string>

#include "damper/http/codec/connection.h"
#include "damper/http/codec/connection_testing.h"

namespace damper::http {
namespace {

// What a hostile peer does to a server: its bytes, until the server has had enough. The memory that
// it makes the server keep is bounded, and the end has a reason.
class Attack : public testing::Test {
 protected:
  static constexpr std::size_t kMostBytes = std::size_t{2} * 1024 * 1024;

  void start(bool h2, const ConnectionLimits& limits = {}) {
    connection_ = h2 ? make_h2_server(limits, end_, end_, test_time(0))
                     : make_h1_server(limits, end_, end_, test_time(0));
    if (h2) connection_->receive(std::string(kPreface) + frame(4, 0, 0, ""), test_time(0));
    before_ = mallinfo2().uordblks;
  }
  // Sends them again and again, and reads what comes back.
  void repeat(int times, const std::function<std::string(int)>& bytes) {
    for (int i = 0; i < times && !connection_->is_over(); ++i) {
      connection_->receive(bytes(i), test_time(i / 100'000));
      take_output(*connection_, test_time(i / 100'000));
      for (auto& user : end_.users) user->forget_data();
      if (end_.users.size() > 50) drop_closed_users();
      sent_ = i + 1;
      if (i % 1000 == 0) check_memory();
    }
    check_memory();
  }
  void drop_closed_users() {
    std::erase_if(end_.users, [](const auto& user) { return user->closed > 0; });
  }
  void check_memory() {
    if (!DAMPER_INSTRUMENTED) {
      EXPECT_LT(mallinfo2().uordblks, before_ + kMostBytes);
    }
  }
  [[nodiscard]] std::string ended() const {
    return connection_->is_over() ? std::string(name(connection_->reason())) : "open";
  }

  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  static constexpr std::string_view kGetBlock = "\x82\x86\x84\x41\x01h";  // GET http / h
  static std::string frame(int type, int flags, std::uint32_t stream, std::string_view payload) {
    std::string bytes;
    for (const int shift : {16, 8, 0}) {
      bytes += static_cast<char>((payload.size() >> shift) & 0xff);
    }
    bytes += static_cast<char>(type);
    bytes += static_cast<char>(flags);
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((stream >> shift) & 0xff);
    return bytes + std::string(payload);
  }
  static std::uint32_t odd(int i) { return static_cast<std::uint32_t>(2 * i + 1); }

  TestEnd end_;
  std::unique_ptr<Connection> connection_;
  std::size_t before_ = 0;
  int sent_ = 0;
};

TEST_F(Attack, ASlowHeadEndsAtItsTimeWhateverTrickles) {
  for (const bool h2 : {false, true}) {
    start(h2);
    std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\n";
    if (h2) bytes = frame(1, 4, 1, std::string(kGetBlock) + std::string(100, 'x'));
    bytes.resize(20);
    std::int64_t ms = 0;
    for (const char c : bytes) {
      ms += 1000;
      connection_->on_timer(test_time(ms));
      connection_->receive(std::string_view(&c, 1), test_time(ms));
    }
    EXPECT_EQ(ended(), "head_timeout");
  }
}

TEST_F(Attack, AHeadOfTenMegabytesIsNotKept) {
  start(false);
  connection_->receive("GET / HTTP/1.1\r\nHost: h\r\n", test_time(0));
  repeat(10'000,
         [](int i) { return "A" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n"; });
  EXPECT_EQ(ended(), "head_too_large");
  EXPECT_LT(sent_, 110);
  start(false);
  repeat(10'000, [](int) { return std::string(1000, 'x'); });  // Not even a line.
  EXPECT_EQ(ended(), "head_too_large");

  start(true);
  // A literal field of 16 KiB without its end, continued for ever.
  connection_->receive(frame(1, 0, 1, kGetBlock), test_time(0));
  repeat(1000, [](int) {
    return frame(9, 0, 1, std::string("\x00\x01x\x7f\x81\x7e", 6) + std::string(16'256, 'y'));
  });
  EXPECT_EQ(ended(), "head_too_large");
  EXPECT_LT(sent_, 20);
}

TEST_F(Attack, AMillionTinyHeadersAreCountedAsWhatTheyCost) {
  start(true);
  // One field into the dynamic table, then references to it, a byte each.
  const std::string block = std::string(kGetBlock) + "\x40\x01x\x64" + std::string(100, 'y') +
                            std::string(16'000, '\xbe');
  repeat(100, [&](int i) { return frame(1, 5, odd(i), block); });
  EXPECT_EQ(ended(), "open");
  EXPECT_TRUE(end_.users.empty());  // Each was answered with 431.
}

TEST_F(Attack, AnEndlessBodyIsStreamedOrStopped) {
  for (const bool h2 : {false, true}) {
    for (const std::uint64_t most : {0ULL, 1'000'000ULL}) {
      start(h2, {.max_body_bytes = most});
      connection_->receive(h2 ? frame(1, 4, 1, kGetBlock)
                              : "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
                           test_time(0));
      repeat(5000, [&](int) {
        return h2 ? frame(0, 0, 1, std::string(10'000, 'x'))
                  : "2710\r\n" + std::string(10'000, 'x') + "\r\n";
      });
      if (most == 0) {
        EXPECT_EQ(ended(), "open");
      } else {
        EXPECT_EQ(end_.users.back()->close_reason, CloseReason::body_too_large);
        EXPECT_EQ(ended(), h2 ? "open" : "body_too_large");
      }
    }
  }
}

TEST_F(Attack, EndlessTrailersAreNotKept) {
  start(false);
  connection_->receive("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
                       test_time(0));
  repeat(1'000, [](int) { return "A: " + std::string(1000, 'x') + "\r\n"; });
  EXPECT_EQ(ended(), "head_too_large");
}

TEST_F(Attack, AMillionFramesWithoutUseAreAFlood) {
  const std::string settings = std::string("\x00\x03\x00\x00\x00\x64", 6);
  const std::pair<const char*, std::function<std::string(int)>> floods[] = {
      {"empty data", [](int) { return frame(0, 0, 1, ""); }},
      {"padding", [](int) { return frame(0, 8, 1, std::string("\x03\0\0\0", 4)); }},
      {"ping", [](int) { return frame(6, 0, 0, "12345678"); }},
      {"settings", [&](int) { return frame(4, 0, 0, settings); }},
      {"priority", [](int i) { return frame(2, 0, odd(i + 1), std::string("\0\0\0\0\x10", 5)); }},
      {"window", [](int) { return frame(8, 0, 0, std::string("\0\0\0\x01", 4)); }},
      {"unknown", [](int) { return frame(77, 0, 0, "x"); }},
      {"reset",
       [](int i) {
         return frame(1, 5, odd(i + 1), kGetBlock) +
                frame(3, 0, odd(i + 1), std::string(3, '\0') + "\x08");
       }},
  };
  for (const auto& [what, bytes] : floods) {
    SCOPED_TRACE(what);
    end_.users.clear();
    start(true);
    connection_->receive(frame(1, 4, 1, kGetBlock), test_time(0));
    repeat(1'000'000, bytes);
    EXPECT_EQ(ended(), "flood");
    EXPECT_LT(sent_, 1100);
    for (const auto& user : end_.users) EXPECT_EQ(user->closed, 1);
  }
}

TEST_F(Attack, AFewOfThemEachSecondAreNone) {
  start(true);
  for (int i = 0; i < 10; ++i) {
    std::string bytes;
    for (int ping = 0; ping < 500; ++ping) bytes += frame(6, 0, 0, "12345678");
    connection_->receive(bytes, test_time(i * 1000));
    take_output(*connection_, test_time(i * 1000));
  }
  EXPECT_EQ(ended(), "open");
}

TEST_F(Attack, APeerThatNeverReadsIsNotServedForEver) {
  for (const bool h2 : {false, true}) {
    start(h2);
    end_.when_request = echo;
    int asked = 0;
    for (; asked < 100'000 && connection_->wants_input() && !connection_->is_over(); ++asked) {
      connection_->receive(
          h2 ? frame(1, 5, odd(asked), kGetBlock) : "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
          test_time(0));
      static_cast<void>(connection_->output());
      drop_closed_users();
      if (asked % 1000 == 0) check_memory();
    }
    EXPECT_LT(asked, 100'000);
    check_memory();
    connection_->on_timer(connection_->deadline());
    connection_->on_timer(connection_->deadline());
    // With HTTP/2 it is the streams beyond the hundred that it may have.
    EXPECT_EQ(ended(), h2 ? "flood" : "write_timeout");
    end_.users.clear();
  }
}

TEST_F(Attack, AStreamWhoseWindowStaysShutIsGivenUp) {
  start(true);
  end_.when_request = [](TraceUser& user) {
    user.when_end = [&user] {
      user.stream->send_head({.status = 200}, false);
      EXPECT_GT(user.stream->send_data(std::string(200'000, 'x'), false), 65'535U);
    };
  };
  connection_->receive(frame(1, 5, 1, kGetBlock), test_time(0));
  take_output(*connection_, test_time(0));
  EXPECT_EQ(connection_->deadline(), test_time(30'000));
  connection_->on_timer(test_time(30'000));
  EXPECT_EQ(end_.users[0]->close_reason, CloseReason::write_timeout);
  EXPECT_EQ(ended(), "open");
}

TEST_F(Attack, BytesThatAreNoHttp2AreMalformed) {
  start(true);
  connection_->receive(frame(0, 0, 0, "data on no stream"), test_time(0));
  take_output(*connection_);
  EXPECT_EQ(ended(), "malformed");
  connection_ = make_h2_server({}, end_, end_, test_time(0));
  connection_->receive("GET / HTTP/1.1\r\nHost: h\r\n\r\n", test_time(0));
  take_output(*connection_);
  EXPECT_EQ(ended(), "malformed");
}

TEST_F(Attack, NoFieldOfHttp2BecomesALineOfHttp1) {
  start(true);
  const std::string bad = std::string("\x00\x01x\x07", 4) + "a\r\nb: c";
  connection_->receive(frame(1, 5, 1, std::string(kGetBlock) + bad), test_time(0));
  connection_->receive(frame(1, 5, 3, kGetBlock), test_time(0));
  take_output(*connection_);
  EXPECT_EQ(end_.users.size(), 1U);  // The good one.
  EXPECT_EQ(ended(), "open");
  EXPECT_EQ(connection_->streams(), 1U);
}

// ---- Streams that the peer ends in an error ----------------------------------------------------

class ResetAttack : public Attack {
 protected:
  // A literal field, whose name and value are short.
  static std::string literal(std::string_view name, std::string_view value) {
    return std::string(1, '\0') + static_cast<char>(name.size()) + std::string(name) +
           static_cast<char>(value.size()) + std::string(value);
  }
  static std::string get(std::uint32_t id) { return frame(1, 5, id, kGetBlock); }
  static std::string post(std::uint32_t id, int flags, std::string_view length) {
    return frame(1, flags, id, "\x83\x86\x84\x41\x01h" + literal("content-length", length));
  }
  static std::string reset(std::uint32_t id, char code = 8) {
    return frame(3, 0, id, std::string(3, '\0') + code);
  }
  std::string take(const std::string& bytes, std::int64_t ms) {
    connection_->receive(bytes, test_time(ms));
    std::string output = take_output(*connection_, test_time(ms));
    drop_closed_users();
    return output;
  }
  // So many streams in each second, for a minute: when it ends, if it does.
  std::string each_second(int streams, const std::function<std::string(std::uint32_t)>& bytes,
                          int answered = 0) {
    end_.users.clear();
    start(true);
    int i = 0;
    for (int second = 0; second < 60; ++second) {
      for (int k = 0; k < answered; ++k) {
        end_.when_request = echo;
        take(get(odd(i++)), second * 1000);
      }
      end_.when_request = nullptr;
      for (int k = 0; k < streams; ++k) take(bytes(odd(i++)), second * 1000);
      if (connection_->is_over()) return ended() + " after " + std::to_string(second) + " s";
    }
    return ended();
  }
};

TEST_F(ResetAttack, TrapS2_AFloodWhoeverResetsThem) {
  const std::pair<const char*, std::function<std::string(std::uint32_t)>> ways[] = {
      {"RST_STREAM", [](auto id) { return get(id) + reset(id); }},
      {"RST_STREAM, NO_ERROR", [](auto id) { return get(id) + reset(id, 0); }},
      {"a short body", [](auto id) { return post(id, 4, "5") + frame(0, 1, id, "x"); }},
      {"a long body", [](auto id) { return post(id, 4, "5") + frame(0, 0, id, "123456"); }},
      {"no body", [](auto id) { return post(id, 5, "5"); }},
      {"bad trailers",
       [](auto id) { return post(id, 4, "0") + frame(1, 5, id, literal(":path", "/")); }},
      {"a head in the middle",
       [](auto id) { return post(id, 4, "5") + frame(1, 4, id, literal("a", "b")); }},
      {"half a head", [](auto id) { return frame(1, 5, id, kGetBlock.substr(0, 2)); }},
      {"a body over the limit",
       [](auto id) { return frame(1, 4, id, kGetBlock) + frame(0, 0, id, "12345678901"); }},
      {"a window past its end",
       [](auto id) { return get(id) + frame(8, 0, id, "\x7f\xff\xff\xff"); }},
  };
  for (const auto& [what, bytes] : ways) {
    SCOPED_TRACE(what);
    end_.users.clear();
    start(true, {.max_body_bytes = 10, .max_idle_frames_per_second = 100'000});
    std::string output;
    int sent = 0;
    while (sent < 2000 && !connection_->is_over()) output = take(bytes(odd(sent++)), 0);
    EXPECT_EQ(ended(), "flood");
    EXPECT_EQ(sent, 501);
    EXPECT_TRUE(output.ends_with(std::string("\0\0\0\x0b", 4)));  // GOAWAY, ENHANCE_YOUR_CALM
    EXPECT_TRUE(end_.users.empty());                              // All of them are closed.
  }
}

TEST_F(ResetAttack, OneThatWeAreMadeToResetIsClosedBeforeTheReadIsOver) {
  start(true);
  connection_->receive(post(1, 4, "5") + frame(0, 1, 1, "x"), test_time(0));
  EXPECT_EQ(end_.text(), "POST / h length=5 data(x) close(malformed)");
}

TEST_F(ResetAttack, AStreamThatIsAnsweredEarlyIsResetLater) {
  const auto resets = [](const std::string& output, std::uint32_t id, char code) {
    return output.find(reset(id, code)) != std::string::npos;
  };
  start(true);
  end_.when_request = [](TraceUser& user) {
    user.when_head = [&user] { user.stream->send_head({.status = 200}, true); };
  };
  EXPECT_FALSE(resets(take(post(1, 4, "5"), 0), 1, 0));
  EXPECT_TRUE(end_.users.empty());  // For its user it has ended.
  EXPECT_EQ(connection_->deadline(), test_time(100));
  connection_->on_timer(test_time(100));
  EXPECT_TRUE(resets(take_output(*connection_, test_time(100)), 1, 0));
  // Until then an error has its answer, and the end of the request ends it.
  take(post(3, 4, "5"), 1000);
  EXPECT_TRUE(resets(take(frame(1, 4, 3, literal("a", "b")), 1001), 3, 1));
  take(post(5, 4, "5") + frame(0, 1, 5, "12345"), 2000);
  connection_->on_timer(test_time(2100));
  EXPECT_EQ(take_output(*connection_, test_time(2100)), "");
  // A drain waits for none of them.
  take(post(7, 4, "5"), 3000);
  connection_->drain();
  EXPECT_TRUE(resets(take_output(*connection_, test_time(3000)), 7, 0));
  EXPECT_EQ(ended(), "draining");
}

TEST_F(ResetAttack, DataAfterTheEndOfTheirStreamAreAnError) {
  start(true);
  end_.when_request = echo;
  take(get(1), 0);
  EXPECT_TRUE(take(frame(0, 0, 1, "x"), 0).ends_with(std::string("\0\0\0\5", 4)));
  EXPECT_EQ(ended(), "malformed");  // With a GOAWAY of STREAM_CLOSED.
  start(true);
  take(get(1) + reset(1), 0);
  EXPECT_NE(take(frame(0, 0, 1, "x"), 0).find(reset(1, 5)), std::string::npos);
  EXPECT_EQ(ended(), "open");
}

// The reader of the log has to find the client.
TEST_F(ResetAttack, WhatNghttp2RefusesIsReportedToo) {
  const std::pair<std::string, std::string> cases[] = {
      {frame(1, 5, 1, "\x82\x86\x41\x01h"), "0 malformed HTTP/2; "},  // No :path.
      {frame(1, 5, 1, std::string(kGetBlock) + literal("Upper", "x")), "0 malformed HTTP/2; "},
      {frame(1, 5, 1, std::string(kGetBlock) + literal("connection", "x")), "0 malformed HTTP/2; "},
      {post(1, 5, "5"), "0 malformed HTTP/2; "},  // It ends without its body.
      {frame(1, 5, 1, "\xff\xff\xff\xff\xff\xff"), "0 malformed HTTP/2; "},  // No HPACK.
      {frame(6, 0, 1, "12345678"), "0 malformed HTTP/2; "},                  // A PING of a stream.
      {std::string(), ""},
      {get(1), ""}};
  for (const auto& [bytes, wanted] : cases) {
    start(true);
    end_.refused.clear();
    end_.users.clear();
    take(bytes, 0);
    EXPECT_EQ(end_.refused, wanted);
  }
  start(true);
  end_.refused.clear();
  std::string pings;
  for (int i = 0; i < 2000; ++i) pings += frame(6, 0, 0, "12345678");
  take(pings, 0);
  EXPECT_EQ(end_.refused, "0 flood HTTP/2; ");
  start(true);
  end_.refused.clear();
  take(frame(1, 1, 1, kGetBlock), 0);
  connection_->on_timer(test_time(10'000));
  EXPECT_EQ(end_.refused, "0 head_timeout HTTP/2; ");
}

TEST_F(ResetAttack, OneReadHasNoMoreThanTheLimitEither) {
  start(true);
  std::string bytes;
  for (int i = 0; i < 2000; ++i) bytes += get(odd(i)) + reset(odd(i));
  connection_->receive(bytes, test_time(0));
  EXPECT_EQ(ended(), "flood");
  EXPECT_EQ(end_.users.size(), 501U);
}

TEST_F(ResetAttack, ItsRateIsFarBelowThatOfOtherFrames) {
  const auto bytes = [](auto id) { return get(id) + reset(id); };
  EXPECT_EQ(each_second(50, bytes), "open");
  EXPECT_EQ(each_second(60, bytes), "flood after 45 s");  // 60 + 10 * 45 - 500 = 10 too many.
  EXPECT_EQ(each_second(500, bytes), "flood after 1 s");
}

TEST_F(ResetAttack, AClientWhoseStreamsAreMostlyAnsweredMayResetMore) {
  const auto bytes = [](auto id) { return get(id) + reset(id); };
  EXPECT_EQ(each_second(150, bytes, 1000), "open");
  EXPECT_EQ(each_second(150, bytes), "flood after 4 s");
}

TEST_F(ResetAttack, WhatOurSideEndsIsNone) {
  start(true);
  for (int i = 0; i < 5000; ++i) {
    take(get(odd(i)), 0);
    end_.users.back()->stream->cancel();
    take_output(*connection_);
    end_.users.clear();
  }
  EXPECT_EQ(ended(), "open");
}

TEST_F(ResetAttack, NorIsAResetAfterTheAnswer) {
  start(true);
  end_.when_request = echo;
  for (int i = 0; i < 5000; ++i) {
    take(get(odd(i)), i / 500 * 1000);
    take(reset(odd(i)), i / 500 * 1000);
  }
  EXPECT_EQ(ended(), "open");
}

TEST_F(ResetAttack, NorADeadlineOfAQuarterOfASecond) {  // (3)
  start(true);
  std::string resets;
  for (int i = 0; i < 24'000; ++i) {  // Four hundred a second, as many as max_streams allows.
    if (i % 100 == 0) take(std::exchange(resets, ""), i / 100 * 250);
    take(get(odd(i)), i / 100 * 250);
    resets += reset(odd(i));
  }
  EXPECT_EQ(ended(), "open");
}

// An attacker can hold its streams for as long as a deadline would.
TEST_F(ResetAttack, TrapS2_AnErrorIsOneAtAnyAge) {
  const std::pair<const char*, std::function<std::string(std::uint32_t)>> ends[] = {
      {"a short body", [](auto id) { return frame(0, 1, id, "x"); }},
      {"a long body", [](auto id) { return frame(0, 0, id, "123456"); }},
      {"bad trailers", [](auto id) { return frame(1, 5, id, literal(":path", "/")); }},
      {"a window past its end", [](auto id) { return frame(8, 0, id, "\x7f\xff\xff\xff"); }},
  };
  for (const auto& [what, end] : ends) {
    SCOPED_TRACE(what);
    end_.users.clear();
    start(true, {.max_idle_frames_per_second = 100'000});
    int sent = 0;
    for (std::int64_t ms = 0; ms < 60'000 && !connection_->is_over(); ms += 300) {
      for (int i = 0; i < 100; ++i) take(post(odd(sent + i), 4, "5"), ms);
      for (int i = 0; i < 100 && !connection_->is_over(); ++i) take(end(odd(sent++)), ms + 300);
    }
    EXPECT_EQ(ended(), "flood");
    EXPECT_EQ(sent, 576);  // 500 tokens, and 50 a second in the 1.5 s since the first errors.
  }
}

TEST_F(ResetAttack, MoreLateResetsThanDeadlinesWouldCauseAreAFlood) {
  start(true, {.max_streams = 1000, .max_idle_frames_per_second = 100'000});
  int sent = 0;
  for (std::int64_t ms = 0; ms < 60'000 && !connection_->is_over(); ms += 300) {
    for (int i = 0; i < 1000; ++i) take(get(odd(sent + i)), ms);
    for (int i = 0; i < 1000 && !connection_->is_over(); ++i) take(reset(odd(sent++)), ms + 300);
  }
  EXPECT_EQ(ended(), "flood");  // 3333 a second instead of 400.
  EXPECT_EQ(sent / 1000, 4);    // 125 tokens for each thousand, of 500 and 15 for each 300 ms.
}

}  // namespace
}  // namespace damper::http
