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
  connection_->on_timer(connection_->deadline());
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

}  // namespace
}  // namespace damper::http
