#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/net/asio_context.h"
#include "damper/http/net/egress_proxy.h"
#include "damper/http/net/loop.h"

namespace damper::http {

// An HTTP proxy on loopback that opens real tunnels, and misbehaves if it is told to.
class TestProxy {
 public:
  // What is written instead of a tunnel, repeatedly if `endless`; an empty text: nothing.
  struct Answer {
    std::string bytes;
    bool endless = false;
  };
  // Of a CONNECT to a target; nullopt: a tunnel.
  using Decide = std::function<std::optional<Answer>(const std::string& target)>;

  explicit TestProxy(Loop& loop, Decide decide = {})
      : state_(std::make_shared<State>(loop, std::move(decide))) {
    boost::asio::co_spawn(loop.context(), accept(state_), boost::asio::detached);
  }
  TestProxy(const TestProxy&) = delete;
  TestProxy& operator=(const TestProxy&) = delete;
  ~TestProxy() { stop(); }

  // Nothing listens from now on, and all tunnels are closed.
  void stop() {
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
    for (const auto& weak : state_->sockets) {
      if (const auto socket = weak.lock()) socket->close(ignored);
    }
  }

  [[nodiscard]] EgressProxy options() const {
    return {.host = "127.0.0.1", .port = state_->port, .credentials = {}};
  }
  // Targets and heads of the requests so far.
  [[nodiscard]] const std::vector<std::string>& targets() const { return state_->targets; }
  [[nodiscard]] const std::vector<std::string>& heads() const { return state_->heads; }
  [[nodiscard]] std::size_t sent() const { return state_->sent; }  // of endless answers

 private:
  using tcp = boost::asio::ip::tcp;
  using error_code = boost::system::error_code;
  template <class T = void>
  using Task = boost::asio::awaitable<T>;
  using SocketPtr = std::shared_ptr<tcp::socket>;

  struct State {
    State(Loop& loop, Decide made_by)
        : acceptor(loop.context(), {boost::asio::ip::address_v4::loopback(), 0}),
          port(acceptor.local_endpoint().port()),
          decide(std::move(made_by)) {}
    tcp::acceptor acceptor;
    const std::uint16_t port;
    const Decide decide;
    std::vector<std::weak_ptr<tcp::socket>> sockets;
    std::vector<std::string> targets;
    std::vector<std::string> heads;
    std::size_t sent = 0;
  };
  using StatePtr = std::shared_ptr<State>;

  static auto into(error_code& error) {
    return boost::asio::redirect_error(boost::asio::use_awaitable, error);
  }

  static Task<> accept(StatePtr state) {
    for (;;) {
      error_code error;
      auto socket = std::make_shared<tcp::socket>(state->acceptor.get_executor());
      co_await state->acceptor.async_accept(*socket, into(error));
      if (error) co_return;
      state->sockets.push_back(socket);
      boost::asio::co_spawn(state->acceptor.get_executor(), serve(state, socket),
                            boost::asio::detached);
    }
  }

  static Task<> serve(StatePtr state, SocketPtr client) {
    error_code error;
    std::string head;
    co_await boost::asio::async_read_until(*client, boost::asio::dynamic_buffer(head, 16384),
                                           "\r\n\r\n", into(error));
    if (error || !head.starts_with("CONNECT ")) co_return;
    const std::string target = head.substr(8, head.find(' ', 8) - 8);
    state->heads.push_back(head);
    state->targets.push_back(target);
    if (const auto answer = state->decide ? state->decide(target) : std::nullopt) {
      do {
        state->sent += co_await boost::asio::async_write(
            *client, boost::asio::buffer(answer->bytes), into(error));
      } while (answer->endless && !error);
      char byte = 0;  // Until the client closes.
      co_await client->async_read_some(boost::asio::buffer(&byte, 1), into(error));
      co_return;
    }
    auto server = std::make_shared<tcp::socket>(client->get_executor());
    state->sockets.push_back(server);
    const std::size_t colon = target.rfind(':');
    const auto address = boost::asio::ip::make_address(target.substr(0, colon), error);
    if (!error) {
      const auto port = static_cast<std::uint16_t>(std::stoi(target.substr(colon + 1)));
      co_await server->async_connect({address, port}, into(error));
    }
    const std::string answer = error ? "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
                                     : "HTTP/1.1 200 Connection established\r\n\r\n";
    const bool open = !error;
    co_await boost::asio::async_write(*client, boost::asio::buffer(answer), into(error));
    if (!open) co_return;
    boost::asio::co_spawn(client->get_executor(), copy(client, server), boost::asio::detached);
    co_await copy(server, client);
  }

  static Task<> copy(SocketPtr from, SocketPtr to) {
    error_code error;
    std::array<char, 4096> bytes{};
    for (;;) {
      const std::size_t got =
          co_await from->async_read_some(boost::asio::buffer(bytes), into(error));
      if (error) break;
      co_await boost::asio::async_write(*to, boost::asio::buffer(bytes.data(), got), into(error));
      if (error) break;
    }
    error_code ignored;
    to->close(ignored);
    from->close(ignored);
  }

  const StatePtr state_;
};

}  // namespace damper::http
