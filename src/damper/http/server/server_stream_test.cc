// Bodies that are streamed through a server, with back pressure both ways; and our own client's
// codecs against it, plain and with TLS, HTTP/1.1 and HTTP/2.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "damper/http/net/net_testing.h"
#include "damper/http/net/socket_connection.h"
#include "damper/http/net/tcp_transport.h"
#include "damper/http/server/server.h"
#include "damper/http/server/server_testing.h"
#include "damper/http/tls/tls_transport.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;

// Sends a request's body back while it comes. What the caller does not read is not consumed.
class StreamEcho final : public RequestSink {
 public:
  struct Counts {
    std::atomic<std::size_t> received = 0;
    std::atomic<std::size_t> most_held = 0;
    std::atomic<int> closed = 0;
  };
  explicit StreamEcho(Counts& counts) : counts_(counts) {}

  StreamUser& on_request(Stream& stream) override { return *new User(stream, counts_); }

 private:
  class User final : public StreamUser {
   public:
    User(Stream& stream, Counts& counts) : stream_(stream), counts_(counts) {}
    void on_head(const Head&, bool end) override { stream_.send_head({.status = 200}, end); }
    void on_data(std::string_view bytes) override {
      counts_.received += bytes.size();
      held_ += bytes;
      counts_.most_held = std::max(counts_.most_held.load(), held_.size());
      on_writable();
    }
    void on_end(std::span<const Field>) override {
      ended_ = true;
      on_writable();
    }
    void on_writable() override {
      if (done_) return;
      if (held_.empty() && !ended_) return;
      const std::size_t taken = stream_.send_data(held_, ended_);
      done_ = ended_ && taken == held_.size();
      held_.erase(0, taken);
      if (taken > 0) stream_.consumed(taken);
    }
    void on_close(CloseReason) override {
      ++counts_.closed;
      delete this;
    }

   private:
    Stream& stream_;
    Counts& counts_;
    std::string held_;
    bool ended_ = false;
    bool done_ = false;
  };

  Counts& counts_;
};

TestServer::MakeSink stream_echo(StreamEcho::Counts& counts) {
  return [&counts](Loop&, ServerMetrics&) { return TestServer::own(new StreamEcho(counts)); };
}

TEST(ServerStreams, ACallerWhoDoesNotReadStopsTheServersReading) {
  StreamEcho::Counts counts;
  ServerOptions options;
  TestServer server(stream_echo(counts), options);
  RawClient client(server.port);
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  client.send("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
              std::to_string(kBytes) + "\r\n\r\n");
  std::thread sender([&] {
    const std::string piece(1 << 20, 'x');
    for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) client.send(piece);
  });
  // Until nothing moves any more: the kernel's buffers are full, and so are ours.
  std::size_t last = 0;
  for (int quiet = 0; quiet < 20;) {
    const Instant next = add(run::now(), milliseconds(5));
    while (run::now() < next) server.run([] {});
    const std::size_t now = counts.received;
    quiet = now == last && now > 0 ? quiet + 1 : 0;
    last = now;
  }
  EXPECT_LT(last, kBytes);
  EXPECT_LE(counts.most_held, 2 * options.limits.window_bytes);
  const std::string answer = client.read_all();
  sender.join();
  EXPECT_GE(answer.size(), kBytes);
  EXPECT_LE(counts.most_held, 2 * options.limits.window_bytes);
  EXPECT_EQ(counts.received, kBytes);
}

TEST(ServerStreams, ACallerWhoGoesAwayInTheMiddleEndsTheStream) {
  StreamEcho::Counts counts;
  TestServer server(stream_echo(counts), {});
  RawClient client(server.port);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc");
  client.read_to("abc");
  client.close();
  EXPECT_TRUE(server.has_closed(CloseReason::reset));
  EXPECT_EQ(counts.closed, 1);
}

// ---- Our own client's codecs, on the test's thread.

class Caller final : public StreamUser {
 public:
  void on_head(const Head& head, bool end) override {
    status = head.status;
    ended = end;
  }
  void on_data(std::string_view bytes) override {
    body += bytes;
    stream->consumed(bytes.size());
  }
  void on_end(std::span<const Field>) override { ended = true; }
  void on_writable() override {
    const std::size_t taken = stream->send_data(std::string_view(to_send).substr(sent), true);
    sent += taken;
  }
  void on_close(CloseReason reason) override {
    closed = reason;
    done();
  }

  Stream* stream = nullptr;
  std::string to_send;
  std::size_t sent = 0;
  int status = 0;
  std::string body;
  bool ended = false;
  std::optional<CloseReason> closed;
  std::function<void()> done;
};

class TestClient final : public SocketConnection::Owner, private Transport::Waiter {
 public:
  TestClient(std::uint16_t port, Protocol protocol) : protocol_(protocol) {
    transport_ = std::make_unique<TcpTransport>(loop_, release(connect(port)));
    start();
  }
  TestClient(std::uint16_t port, const TlsSettings& tls) {
    transport_ = std::make_unique<TlsTransport>(loop_, release(connect(port)), tls, "x.test");
    on_readable();
    loop_.run();
  }

  [[nodiscard]] Protocol protocol() const noexcept { return protocol_; }
  // All at once where the protocol can; returns when all are answered.
  void call(std::vector<Caller>& callers) {
    Watchdog watchdog(loop_);
    std::size_t left = callers.size();
    std::size_t next = 0;
    const auto open = [&] {
      while (next < callers.size() && connection_->codec().can_open()) {
        Caller& caller = callers[next++];
        caller.stream = &connection_->codec().open(caller, loop_.now());
        const std::string target = "/" + std::to_string(next);
        const Head head{.method = caller.to_send.empty() ? "GET" : "POST",
                        .scheme = "http",
                        .authority = "x.test",
                        .target = target};
        caller.stream->send_head(head, caller.to_send.empty());
        if (!caller.to_send.empty()) caller.on_writable();
      }
    };
    turned_ = open;
    for (Caller& caller : callers) {
      caller.done = [&] {
        if (--left == 0) loop_.stop();
      };
    }
    open();
    loop_.run();
    turned_ = {};
    EXPECT_EQ(left, 0U);
  }

 private:
  Socket connect(std::uint16_t port) {
    Socket socket(loop_.context());
    socket.connect({boost::asio::ip::address_v4::loopback(), port});
    return socket;
  }
  void on_readable() override {
    const Transport::Status status = transport_->try_handshake();
    if (status == Transport::Status::again) return transport_->wait_readable(*this);
    ASSERT_EQ(status, Transport::Status::ok);
    protocol_ = transport_->protocol();
    loop_.stop();
    start();
  }
  void on_writable() override {}
  void start() {
    connection_ = std::make_unique<SocketConnection>(loop_, std::move(transport_), *this,
                                                     SocketConnection::Side::client);
    connection_->start(protocol_ == Protocol::h2 ? make_h2_client({}, *connection_, loop_.now())
                                                 : make_h1_client({}, *connection_, loop_.now()));
  }
  void on_closed(SocketConnection&, CloseReason reason) override {
    ADD_FAILURE() << "closed: " << name(reason);
    loop_.stop();
  }
  void on_turned(SocketConnection&) override {
    if (turned_) turned_();
  }

  Loop loop_;
  Protocol protocol_ = Protocol::unknown;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<SocketConnection> connection_;
  std::function<void()> turned_;
};

void expect_echoes(TestClient& client, std::size_t count, std::size_t bytes) {
  std::vector<Caller> callers(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (bytes > 0) callers[i].to_send = std::string(bytes, static_cast<char>('a' + i % 26));
  }
  client.call(callers);
  for (const Caller& caller : callers) {
    EXPECT_EQ(caller.status, 200);
    EXPECT_TRUE(caller.ended);
    EXPECT_EQ(caller.closed, CloseReason::finished);
    EXPECT_TRUE(caller.body == caller.to_send) << caller.body.size();
  }
}

TEST(ServerStreams, Http1AndHttp2WithPriorKnowledgeAreServedOnOnePort) {
  StreamEcho::Counts counts;
  TestServer server(stream_echo(counts), {});
  for (const Protocol protocol : {Protocol::h1, Protocol::h2}) {
    TestClient client(server.port, protocol);
    expect_echoes(client, 20, 0);
    expect_echoes(client, 20, 1000);
    expect_echoes(client, 4, 3'000'000);
  }
  EXPECT_EQ(counts.closed, 88);
}

TEST(ServerStreams, WithTlsTheProtocolIsTheOneThatAlpnAgreedOn) {
  const TestCertificate certificate = make_certificate("x.test");
  for (const bool h2 : {true, false}) {
    TlsServerOptions tls;
    tls.identity.certificate_pem = certificate.certificate_pem;
    tls.identity.key_pem = certificate.key_pem;
    tls.offer_h2 = h2;
    ServerOptions options;
    options.tls = *TlsSettings::for_server(tls);
    StreamEcho::Counts counts;
    TestServer server(stream_echo(counts), options);
    TlsClientOptions trust;
    trust.ca_pem = certificate.certificate_pem;
    TestClient client(server.port, *TlsSettings::for_client(trust));
    EXPECT_EQ(client.protocol(), h2 ? Protocol::h2 : Protocol::h1);
    expect_echoes(client, 20, 1000);
    expect_echoes(client, 4, 1'000'000);
  }
}

// A stranger's client, where there is one.
TEST(ServerStreams, CurlIsServedToo) {
  if (std::system("curl --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no curl";
  TestServer server(
      answer_with([](const Request& request) { return Response{.body = request.body}; }));
  for (const std::string version : {"--http1.1", "--http2-prior-knowledge"}) {
    const std::string command = "test \"$(curl -s -m 5 --noproxy '*' " + version +
                                " -d hello http://127.0.0.1:" + std::to_string(server.port) +
                                "/)\" = hello";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

}  // namespace
}  // namespace damper::http
