// Also the test of tcp_transport: real sockets, one loop, a codec that echoes.
#include "damper/http/net/socket_connection.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "damper/http/net/net_testing.h"
#include "damper/http/net/tcp_transport.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;

// Sends back what comes, in order. "quit" ends it after what is to be sent; `limit` is how much it
// takes before it wants no more.
class Echo final : public Connection {
 public:
  explicit Echo(ConnectionOwner& owner) : owner_(owner) {}

  void receive(std::string_view bytes, Instant) override {
    received += bytes.size();
    output_ += bytes;
    if (output_.ends_with("quit")) end(CloseReason::finished);
  }
  void on_end_of_input(Instant) override { end(CloseReason::finished); }
  bool has_ended_output() const noexcept override { return ended && !over_; }
  void abort(CloseReason reason) override {
    output_.clear();
    end(reason);
  }
  std::string_view output() override { return hold ? std::string_view{} : output_; }
  void sent(std::size_t bytes, Instant) override {
    ++sends;
    output_.erase(0, bytes);
  }
  bool wants_input() const noexcept override { return !over_ && output_.size() < limit; }
  Instant deadline() const noexcept override { return deadline_at; }
  void on_timer(Instant) override { abort(CloseReason::idle_timeout); }
  void drain() override { end(CloseReason::draining); }
  bool is_over() const noexcept override { return over_; }
  CloseReason reason() const noexcept override { return reason_; }
  bool can_open() const noexcept override { return false; }
  std::uint32_t streams() const noexcept override { return 0; }
  Stream& open(StreamUser&, Instant) override { std::abort(); }

  void say(std::string_view bytes) {
    output_ += bytes;
    owner_.on_change(*this);
  }

  std::size_t received = 0;
  std::size_t sends = 0;
  std::size_t limit = 1 << 20;
  bool hold = false;
  bool ended = false;  // Nothing more will be said.
  Instant deadline_at = kNever;

 private:
  void end(CloseReason reason) {
    if (!std::exchange(over_, true)) reason_ = reason;
  }
  ConnectionOwner& owner_;
  std::string output_;
  bool over_ = false;
  CloseReason reason_ = CloseReason::finished;
};

class SocketConnectionTest : public testing::Test, public SocketConnection::Owner {
 protected:
  SocketConnectionTest() : pair_(connect_pair(loop_)), peer_(std::move(pair_.client)) {
    start(SocketConnection::Side::server);
  }

  void start(SocketConnection::Side side) {
    connection_ = std::make_unique<SocketConnection>(
        loop_, std::make_unique<TcpTransport>(loop_, release(std::move(pair_.server))), *this,
        side);
    auto echo = std::make_unique<Echo>(*connection_);
    echo_ = echo.get();
    connection_->start(std::move(echo));
  }

  void on_closed(SocketConnection& connection, CloseReason reason) override {
    EXPECT_EQ(&connection, connection_.get());
    EXPECT_FALSE(closed_);
    closed_ = reason;
    received_ = echo_->received;
    connection_.reset();
  }

  // What the peer can read, until the loop has nothing more to do or `enough` has come.
  std::string read(std::size_t enough) {
    std::string got;
    char buffer[65536];
    boost::system::error_code failed;
    peer_.non_blocking(true);
    const Instant start = run::now();
    while (got.size() < enough && run::now() < add(start, std::chrono::seconds(5))) {
      turn();
      const std::size_t count = peer_.read_some(boost::asio::buffer(buffer), failed);
      got.append(buffer, count);
      if (failed && failed != boost::asio::error::would_block) break;
    }
    error_ = failed;
    return got;
  }
  void write(std::string_view bytes) {
    EXPECT_EQ(::send(peer_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Runs the loop for a millisecond, and until it has asked its sockets, however late it is by
  // then.
  void turn(Duration length = milliseconds(1)) {
    class Stop final : public Loop::Timer {
     public:
      using Loop::Timer::Timer;
      void on_timer(Instant) override { post(2); }
      void post(int more) {
        loop().post([this, more] { more > 0 ? post(more - 1) : loop().stop(); });
      }
    } stop(loop_);
    stop.arm(add(run::now(), length));
    loop_.run();
  }

  Loop loop_;
  SocketPair pair_;
  Socket peer_;
  std::unique_ptr<SocketConnection> connection_;
  Echo* echo_ = nullptr;
  std::optional<CloseReason> closed_;
  std::size_t received_ = 0;
  boost::system::error_code error_;
};

TEST_F(SocketConnectionTest, WhatComesGoesToTheCodecAndWhatItSaysGoesOut) {
  write("hello");
  EXPECT_EQ(read(5), "hello");
  write("again");
  EXPECT_EQ(read(5), "again");
  EXPECT_EQ(echo_->sends, 2U);
  EXPECT_EQ(connection_->transport().peer(),
            "127.0.0.1:" + std::to_string(peer_.local_endpoint().port()));
  EXPECT_EQ(connection_->peer().address, "127.0.0.1");
  EXPECT_FALSE(connection_->peer().secure);
}

TEST_F(SocketConnectionTest, ThePeersAddressIsPlain) {
  const std::pair<const char*, const char*> cases[] = {{"::ffff:127.0.0.2", "127.0.0.2"},
                                                       {"fe80::1%eth0", "fe80::1"},
                                                       {"2001:db8::1", "2001:db8::1"},
                                                       {"192.0.2.1", "192.0.2.1"}};
  for (const auto& [address, plain] : cases) {
    pair_ = connect_pair(loop_);
    start(SocketConnection::Side::server);
    connection_->set_peer(address);
    EXPECT_EQ(connection_->peer().address, plain);
  }
}

TEST_F(SocketConnectionTest, ThePeerOfASocketForBothFamiliesIsPlain) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int no = 0;
  ::sockaddr_in6 where{};
  where.sin6_family = AF_INET6;
  socklen_t size = sizeof(where);
  auto* const address = reinterpret_cast<::sockaddr*>(&where);
  if (listener < 0 || ::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) != 0 ||
      ::bind(listener, address, size) != 0 || ::listen(listener, 1) != 0) {
    GTEST_SKIP() << "no IPv6 here";
  }
  ASSERT_EQ(::getsockname(listener, address, &size), 0);
  Socket client(loop_.context());
  client.connect({boost::asio::ip::make_address("127.0.0.1"), ntohs(where.sin6_port)});
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  ASSERT_GE(fd, 0);
  ::close(listener);
  SocketConnection mapped(loop_, std::make_unique<TcpTransport>(loop_, fd), *this,
                          SocketConnection::Side::server);
  EXPECT_TRUE(mapped.transport().peer().starts_with("[::ffff:127.0.0.1]:"));
  EXPECT_EQ(mapped.peer().address, "127.0.0.1");
}

TEST_F(SocketConnectionTest, WhatATurnWroteIsSentAtOnce) {
  echo_->say("one ");
  echo_->say("two ");
  echo_->say("three");
  EXPECT_EQ(read(13), "one two three");
  EXPECT_EQ(echo_->sends, 1U);
}

TEST_F(SocketConnectionTest, AnEndOfThePeersIsTheEnd) {
  write("bye");
  EXPECT_EQ(read(3), "bye");
  peer_.close();
  Watchdog watchdog(loop_);
  while (!closed_) turn();
  EXPECT_EQ(closed_, CloseReason::finished);
}

TEST_F(SocketConnectionTest, AResetOfThePeersIsAReset) {
  peer_.set_option(boost::asio::socket_base::linger(true, 0));
  peer_.close();
  Watchdog watchdog(loop_);
  while (!closed_) turn();
  EXPECT_EQ(closed_, CloseReason::reset);
}

TEST_F(SocketConnectionTest, AServerThatClosesFirstLetsThePeerReadTheLastAnswer) {
  write("quit");
  turn();
  write(std::string(100000, 'x'));  // Too late; unread bytes would make the kernel reset.
  EXPECT_EQ(read(100), "quit");
  EXPECT_EQ(error_, boost::asio::error::eof);
  EXPECT_FALSE(closed_);
  peer_.close();
  Watchdog watchdog(loop_);
  while (!closed_) turn();
  EXPECT_EQ(closed_, CloseReason::finished);
  EXPECT_EQ(received_, 4U);
}

TEST_F(SocketConnectionTest, ItDoesNotLingerForAPeerWhoNeverStops) {
  write("quit");
  EXPECT_EQ(read(4), "quit");
  Watchdog watchdog(loop_);
  const std::string junk(100000, 'x');
  while (!closed_) {
    (void)::send(peer_.native_handle(), junk.data(), junk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    turn();
  }
  EXPECT_EQ(closed_, CloseReason::finished);
}

TEST_F(SocketConnectionTest, NothingIsReadWhileTheCodecWantsNoInput) {
  echo_->limit = 10;
  echo_->hold = true;
  write("0123456789");
  turn();
  write("more");
  turn();
  turn();
  EXPECT_EQ(echo_->received, 10U);
  echo_->hold = false;
  echo_->say("");
  EXPECT_EQ(read(14), "0123456789more");
}

TEST_F(SocketConnectionTest, NothingIsReadOnceTheCodecWantsNoMoreInput) {
  turn();  // It waits for input now.
  echo_->limit = 0;
  write("too much");
  turn();
  EXPECT_EQ(echo_->received, 0U);
  echo_->limit = 100;
  echo_->say("");
  EXPECT_EQ(read(8), "too much");
}

TEST_F(SocketConnectionTest, MoreThanTheKernelTakesGoesOutBitByBit) {
  const std::string much(8 << 20, 'm');
  echo_->say(much);
  turn();
  EXPECT_FALSE(echo_->output().empty());
  EXPECT_EQ(read(much.size()).size(), much.size());
  EXPECT_TRUE(echo_->output().empty());
}

TEST_F(SocketConnectionTest, TheDeadlineOfTheCodecIsKept) {
  echo_->deadline_at = add(run::now(), milliseconds(5));
  echo_->say("");
  Watchdog watchdog(loop_);
  while (!closed_) turn();
  EXPECT_EQ(closed_, CloseReason::idle_timeout);
}

TEST_F(SocketConnectionTest, AnAbortIsSeenByThePeerAtOnce) {
  connection_->abort(CloseReason::cancelled);
  EXPECT_EQ(read(1), "");
  EXPECT_EQ(error_, boost::asio::error::connection_reset);
  EXPECT_EQ(closed_, CloseReason::cancelled);
}

TEST_F(SocketConnectionTest, AnEndOfOutputIsSeenAfterTheLastByteAndInputGoesOn) {
  const std::string much(8 << 20, 'm');
  echo_->say(much);
  echo_->ended = true;
  turn();  // The kernel has not taken all of it.
  EXPECT_EQ(read(much.size() + 1).size(), much.size());
  EXPECT_EQ(error_, boost::asio::error::eof);
  echo_->hold = true;
  write("go on");
  turn();
  EXPECT_EQ(echo_->received, 5U);
  EXPECT_FALSE(closed_);
  peer_.close();
  Watchdog watchdog(loop_);
  while (!closed_) turn();
  EXPECT_EQ(closed_, CloseReason::finished);
}

// A server that refuses a body early, and closes with the rest unread, resets the connection.
TEST_F(SocketConnectionTest, AClientHearsWhatItsPeerSaidBeforeItTookNoMore) {
  pair_ = connect_pair(loop_);
  peer_ = std::move(pair_.client);
  start(SocketConnection::Side::client);
  echo_->hold = true;
  turn();
  write("early answer");
  peer_.set_option(boost::asio::socket_base::linger(true, 0));
  peer_.close();
  echo_->hold = false;
  echo_->say("more of the request");  // Sent before anything is read.
  Watchdog watchdog(loop_);
  while (!closed_) turn();
  EXPECT_EQ(closed_, CloseReason::reset);
  EXPECT_EQ(received_, 12U);
}

TEST_F(SocketConnectionTest, ItMayGoWithWaitsUnderWay) {
  turn();
  connection_.reset();
  turn();
  EXPECT_EQ(read(1), "");
  EXPECT_EQ(error_, boost::asio::error::eof);
}

TEST(TcpTransportTest, WhatIsSentIsNotWaitedForForEver) {
  Loop loop;
  SocketPair pair = connect_pair(loop);
  TcpTransport socket(loop, release(std::move(pair.client)));
  const auto patience = [&] {
    unsigned ms = 0;
    socklen_t size = sizeof(ms);
    EXPECT_EQ(::getsockopt(socket.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &size), 0);
    return std::chrono::milliseconds(ms);
  };
  EXPECT_EQ(patience(), TcpTransport::kSendTimeout);
  socket.set_send_timeout(std::chrono::seconds(7));
  EXPECT_EQ(patience(), std::chrono::seconds(7));
}

// Reads up to its buffer at each wake-up, and stops the loop at EOF.
struct Reader final : Transport::Waiter {
  Reader(Loop& of, TcpTransport& on) : loop(of), socket(on) {}
  void on_readable() override {
    ++wakes;
    if (wakes > skips) {
      const Transport::IoResult result = socket.recv({bytes.data(), most});
      if (result.status == Transport::Status::end) return loop.stop();
      got.append(bytes.data(), result.bytes);
    }
    wait();
  }
  void on_writable() override {}
  void wait() { socket.wait_readable(*this); }

  Loop& loop;
  TcpTransport& socket;
  std::string bytes = std::string(64, ' ');
  std::size_t most = 64;  // of a read
  int skips = 0;          // times that it reads nothing though it could
  int wakes = 0;
  std::string got;
};

// (3) An edge tells of both: who takes a short read for all there is would never hear of the end.
TEST(TcpTransportTest, AnEndThatCameWithTheLastBytesIsHeard) {
  Loop loop;
  const Watchdog watchdog(loop);
  SocketPair pair = connect_pair(loop);
  TcpTransport socket(loop, release(std::move(pair.client)));
  Reader reader(loop, socket);
  ASSERT_EQ(::send(pair.server.native_handle(), "hello", 5, 0), 5);
  pair.server.close();
  reader.wait();
  loop.run();
  EXPECT_EQ(reader.got, "hello");
}

// (3)
TEST(TcpTransportTest, WhatAReadLeftIsReadNext) {
  Loop loop;
  const Watchdog watchdog(loop);
  SocketPair pair = connect_pair(loop);
  TcpTransport socket(loop, release(std::move(pair.client)));
  Reader reader(loop, socket);
  reader.most = 2;
  reader.skips = 2;
  ASSERT_EQ(::send(pair.server.native_handle(), "hello", 5, 0), 5);
  reader.wait();
  loop.post([&] {
    ASSERT_EQ(::send(pair.server.native_handle(), " you", 4, 0), 4);
    pair.server.close();
  });
  loop.run();
  EXPECT_EQ(reader.got, "hello you");
}

// A reset, unlike an end, is not told by what a read left.
TEST_F(SocketConnectionTest, AResetThatCameWithTheLastBytesIsNoticed) {
  echo_->hold = true;
  write("half");
  const ::linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(peer_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  peer_.close();
  for (int i = 0; i < 50 && !closed_; ++i) turn();
  EXPECT_EQ(closed_, CloseReason::reset);
}

// A wait after a read that left nothing is a wait: it does not turn round and round.
TEST(TcpTransportTest, AWaitForNothingIsQuiet) {
  Loop loop;
  const Watchdog watchdog(loop);
  SocketPair pair = connect_pair(loop);
  TcpTransport socket(loop, release(std::move(pair.client)));
  Reader reader(loop, socket);
  reader.wait();
  struct Later final : Loop::Timer {
    Later(Loop& of, Socket& to) : Loop::Timer(of), socket(to) {}
    void on_timer(Instant) override { socket.close(); }
    Socket& socket;
  } later(loop, pair.server);
  ASSERT_EQ(::send(pair.server.native_handle(), "hello", 5, 0), 5);
  later.arm(add(run::now(), milliseconds(30)));
  loop.run();
  EXPECT_EQ(reader.got, "hello");
  EXPECT_LE(reader.wakes, 4);  // at the start, for the bytes, for the end
}

}  // namespace
}  // namespace damper::http
