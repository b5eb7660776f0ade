#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "damper/http/client/client.h"
#include "damper/http/client/fetch_testing.h"

namespace damper::http {
namespace {

using boost::asio::ip::tcp;

// A server that answers each head with what a function makes of it, HTTP or not.
class RawServer {
 public:
  using Answer = std::function<std::string(const std::string& head)>;
  RawServer(Loop& loop, Answer answer)
      : answer_(std::move(answer)),
        acceptor_(loop.context(), tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  int connections = 0;

 private:
  struct Peer {
    explicit Peer(Socket accepted) : socket(std::move(accepted)) {}
    Socket socket;
    std::string in;
    std::string out;
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error) return;
      ++connections;
      read(peers_.emplace_back(std::move(socket)));
      accept();
    });
  }
  void read(Peer& peer) {
    boost::asio::async_read_until(
        peer.socket, boost::asio::dynamic_buffer(peer.in), "\r\n\r\n",
        [this, &peer](const boost::system::error_code& error, std::size_t size) {
          if (error) return;
          peer.out = answer_(peer.in.substr(0, size));
          peer.in.erase(0, size);
          boost::asio::async_write(
              peer.socket, boost::asio::buffer(peer.out),
              [this, &peer](const boost::system::error_code& failed, std::size_t) {
                if (!failed) read(peer);
              });
        });
  }

  const Answer answer_;
  tcp::acceptor acceptor_;
  std::list<Peer> peers_;
};

std::string answer_of(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HostileServer, ASurplusAnswerIsNobodysAnswer) {
  for (const std::size_t most : {1UL, 8UL}) {  // With a line of waiting requests, and without.
    Loop loop;
    RawServer server(loop, [](const std::string& head) {
      const std::size_t path = head.find('/');
      return answer_of(head.substr(path, head.find(' ', path) - path)) + answer_of("EVIL");
    });
    ClientOptions options;
    options.pool.max_connections = most;
    Client client(loop, options);
    for (int round = 0; round < 2; ++round) {
      std::vector<Request> requests;
      for (int i = 0; i < 4; ++i) {
        requests.push_back(make_request("GET", *parse_url(server.url() + "/" + std::to_string(i))));
      }
      for (const auto& [index, result] : fetch_all(loop, client, requests)) {
        ASSERT_TRUE(result);
        EXPECT_EQ(result->body, "/" + std::to_string(index));
      }
    }
    EXPECT_EQ(server.connections, 8);  // None was used again.
  }
}

}  // namespace
}  // namespace damper::http
