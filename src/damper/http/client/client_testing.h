#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/codec/message.h"
#include "damper/http/net/net_testing.h"
#include "damper/http/net/socket_connection.h"
#include "damper/http/net/tcp_transport.h"
#include "damper/http/tls/tls_transport.h"

namespace damper::http {

// A server on the loop of a test, on 127.0.0.1 (or another loopback address): what it is asked is
// kept, and answered by a function.
class TestServer {
 public:
  // One request. Answered by its handler, now or later; it lives as long as the server.
  class Exchange final : private StreamUser, private Loop::Timer {
   public:
    Exchange(TestServer& server, Stream& stream)
        : Loop::Timer(server.loop_), server_(server), stream_(&stream) {}

    void respond(int status, std::string body = {}, FieldList fields = {}) {
      if (stream_ == nullptr) return;
      response_.status = status;
      response_.body = std::move(body);
      response_.fields = std::move(fields);
      stream_->send_head(response_.head(), response_.body.empty());
      on_writable();
    }
    void respond_in(Duration delay, int status, std::string body = {}) {
      response_.status = status;
      response_.body = std::move(body);
      arm(add(loop().now(), delay));
    }
    void cancel() {  // As a server that breaks down: RST.
      if (stream_ != nullptr) std::exchange(stream_, nullptr)->cancel();
    }

    Request request;
    bool cancelled = false;  // the client went away before the answer

   private:
    friend class TestServer;
    void on_head(const Head& head, bool end) override {
      request = Request::from(head);
      if (end) done();
    }
    void on_data(std::string_view bytes) override {
      request.body += bytes;
      stream_->consumed(bytes.size());
    }
    void on_end(std::span<const Field> /*trailers*/) override { done(); }
    void on_writable() override {
      if (sent_ == response_.body.size() || stream_ == nullptr) return;
      sent_ += stream_->send_data(std::string_view(response_.body).substr(sent_), true);
    }
    void on_close(CloseReason reason) override {
      stream_ = nullptr;
      cancelled = reason != CloseReason::finished;
      if (cancelled) ++server_.cancelled;
      Loop::Timer::cancel();
      if (server_.on_exchange_over) server_.on_exchange_over();
    }
    void on_timer(Instant /*now*/) override { respond(response_.status, response_.body); }
    void done() {
      ++server_.requests;
      server_.handler_(*this);
    }

    TestServer& server_;
    Stream* stream_;
    Response response_;
    std::size_t sent_ = 0;
  };
  using Handler = std::function<void(Exchange&)>;

  struct Options {
    const TlsSettings* tls = nullptr;
    Protocol plain = Protocol::h1;
    ConnectionLimits limits{};
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;
    bool resets = false;  // a connection that it closes is reset
  };

  TestServer(Loop& loop, Handler handler) : TestServer(loop, Options{}, std::move(handler)) {}
  TestServer(Loop& loop, const Options& options, Handler handler)
      : loop_(loop),
        options_(options),
        handler_(std::move(handler)),
        acceptor_(loop.context(),
                  Tcp::endpoint(boost::asio::ip::make_address(options.address), options.port)) {
    accept();
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] std::string authority() const {
    return options_.address + ":" + std::to_string(port());
  }
  [[nodiscard]] std::string url() const {
    return (options_.tls != nullptr ? "https://" : "http://") + authority();
  }
  // Closes every connection, now.
  void close_all() { links_.clear(); }

  int connections = 0;
  int requests = 0;
  int cancelled = 0;
  Protocol protocol = Protocol::unknown;  // of the last connection
  std::list<Exchange> exchanges;          // in order
  std::function<void()> on_exchange_over;

 private:
  using Tcp = boost::asio::ip::tcp;

  struct Link final : SocketConnection::Owner, RequestSink, Transport::Waiter {
    Link(TestServer& test_server, Socket socket) : server(test_server) {
      if (server.options_.tls != nullptr) {
        transport = std::make_unique<TlsTransport>(server.loop_, release(std::move(socket)),
                                                   *server.options_.tls);
      } else {
        transport = std::make_unique<TcpTransport>(server.loop_, release(std::move(socket)));
      }
      on_readable();
    }
    void on_readable() override {
      const Transport::Status status = transport->try_handshake();
      if (status == Transport::Status::again) return transport->wait_readable(*this);
      if (status != Transport::Status::ok) return transport->close();
      const bool tls = server.options_.tls != nullptr;
      server.protocol = tls ? transport->protocol() : server.options_.plain;
      connection = std::make_unique<SocketConnection>(server.loop_, std::move(transport), *this,
                                                      SocketConnection::Side::server);
      connection->start(
          server.protocol == Protocol::h2
              ? make_h2_server(server.options_.limits, *connection, *this, server.loop_.now())
              : make_h1_server(server.options_.limits, *connection, *this, server.loop_.now()));
    }
    void on_writable() override { on_readable(); }
    StreamUser& on_request(Stream& stream) override {
      return server.exchanges.emplace_back(server, stream);
    }
    void on_closed(SocketConnection& /*over*/, CloseReason /*reason*/) override {
      connection.reset();
    }

    TestServer& server;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<SocketConnection> connection;
  };

  void accept() {
    // A connection may have been accepted when the server is destroyed: the handler runs later.
    acceptor_.async_accept([this, alive = std::weak_ptr<const bool>(alive_)](
                               const boost::system::error_code& error, Socket socket) {
      if (error || alive.expired()) return;
      ++connections;
      socket.set_option(boost::asio::socket_base::linger(options_.resets, 0));
      links_.push_back(std::make_unique<Link>(*this, std::move(socket)));
      accept();
    });
  }

  Loop& loop_;
  const Options options_;
  const Handler handler_;
  Tcp::acceptor acceptor_;
  std::list<std::unique_ptr<Link>> links_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

// A port of 127.0.0.1 that nobody listens on.
inline std::uint16_t closed_port(Loop& loop) {
  using Tcp = boost::asio::ip::tcp;
  Tcp::acceptor acceptor(loop.context(), Tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

// Lets the loop run so long.
inline void run_for(Loop& loop, Duration length) {
  class End final : public Loop::Timer {
   public:
    using Loop::Timer::Timer;

   private:
    void on_timer(Instant /*now*/) override { loop().stop(); }
  } end(loop);
  end.arm(add(loop.now(), length));
  loop.run();
}

// Runs a coroutine to its end.
inline void play(Loop& loop, std::function<boost::asio::awaitable<void>()> script) {
  const Watchdog watchdog(loop);
  bool ended = false;
  boost::asio::co_spawn(loop.context(), std::move(script), [&](const std::exception_ptr& error) {
    ended = true;
    loop.stop();
    if (error) std::rethrow_exception(error);
  });
  loop.run();
  EXPECT_TRUE(ended);
}

}  // namespace damper::http
