#include "damper/http/tls/tls_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "damper/http/net/net_testing.h"
#include "damper/http/tls/tls_settings.h"

namespace damper::http {
namespace {

using Status = Transport::Status;

TlsServerOptions server_options(const TestCertificate& certificate) {
  TlsServerOptions options;
  options.identity.certificate_pem = certificate.certificate_pem;
  options.identity.key_pem = certificate.key_pem;
  return options;
}

// One side of a connection: shakes hands, then reads all that comes.
class End final : public Transport::Waiter {
 public:
  explicit End(std::unique_ptr<TlsTransport> transport) : transport_(std::move(transport)) {}

  void start() { on_readable(); }
  void on_readable() override {
    if (status == Status::again) {
      status = transport_->try_handshake();
      if (status == Status::again) return transport_->wait_readable(*this);
      if (status == Status::failed) return transport_->close(false);
      if (!to_send.empty()) on_writable();
    }
    std::array<char, 1000> buffer;  // Less than a record.
    const Transport::IoResult result = transport_->recv(buffer);
    if (result.status == Status::ok) got.append(buffer.data(), result.bytes);
    if (result.status == Status::ok || result.status == Status::again) {
      return transport_->wait_readable(*this);
    }
    ended = result.status == Status::end;
    transport_->close(false);
  }
  void on_writable() override {
    while (!to_send.empty()) {
      const Transport::IoResult result = transport_->send(to_send);
      if (result.status == Status::again) return transport_->wait_writable(*this);
      ASSERT_EQ(result.status, Status::ok);
      to_send.erase(0, result.bytes);
    }
    if (closes) transport_->shut_down_send();
  }
  TlsTransport& transport() { return *transport_; }

  Status status = Status::again;
  std::string to_send;
  std::string got;
  bool closes = false;
  bool ended = false;

 private:
  std::unique_ptr<TlsTransport> transport_;
};

struct Ends {
  std::unique_ptr<End> server;
  std::unique_ptr<End> client;
};

Ends connect(Loop& loop, const TlsSettings& server, const TlsSettings& client,
             const std::string& host) {
  SocketPair pair = connect_pair(loop);
  return {std::make_unique<End>(
              std::make_unique<TlsTransport>(loop, release(std::move(pair.server)), server)),
          std::make_unique<End>(
              std::make_unique<TlsTransport>(loop, release(std::move(pair.client)), client, host))};
}

class Tls : public testing::Test {
 protected:
  [[nodiscard]] TlsSettings server(bool h2 = true) const {
    TlsServerOptions options = server_options(certificate_);
    options.offer_h2 = h2;
    return *TlsSettings::for_server(options);
  }
  [[nodiscard]] TlsSettings client() const {
    TlsClientOptions options;
    options.ca_pem = certificate_.certificate_pem;
    return *TlsSettings::for_client(options);
  }
  void run(Ends& ends) {
    Watchdog watchdog(loop_);
    ends.client->start();
    ends.server->start();
    // Ends when both have closed.
    class Poll final : public Loop::TurnEnd {
     public:
      Poll(Loop& loop, Ends& ends) : Loop::TurnEnd(loop), loop_(loop), ends_(ends) {}
      void on_turn_end() override {
        if (ends_.client->transport().peer().empty() && ends_.server->transport().peer().empty()) {
          loop_.stop();
        } else {
          ask_turn_end();
        }
      }

     private:
      Loop& loop_;
      Ends& ends_;
    } poll(loop_, ends);
    poll.ask_turn_end();
    loop_.run();
  }

  Loop loop_;
  TestCertificate certificate_ = make_certificate("db.test");
};

TEST_F(Tls, BytesGoBothWaysAndTheEndIsSeen) {
  Ends ends = connect(loop_, server(), client(), "db.test");
  ends.client->to_send = std::string(3 << 20, 'c');
  ends.client->closes = true;
  run(ends);
  EXPECT_EQ(ends.server->got.size(), std::size_t{3} << 20);
  EXPECT_TRUE(ends.server->ended);

  Ends back = connect(loop_, server(), client(), "db.test");
  back.server->to_send = std::string(3 << 20, 's');
  back.server->closes = true;
  run(back);
  EXPECT_EQ(back.client->got.size(), std::size_t{3} << 20);
  EXPECT_TRUE(back.client->ended);
}

TEST_F(Tls, AlpnAgreesOnHttp2WhereBothHaveIt) {
  for (const bool h2 : {true, false}) {
    Ends ends = connect(loop_, server(h2), client(), "db.test");
    ends.client->to_send = "x";
    ends.client->closes = true;
    Protocol seen = Protocol::unknown;
    run(ends);
    seen = ends.client->transport().protocol();
    EXPECT_EQ(seen, h2 ? Protocol::h2 : Protocol::h1);
    EXPECT_EQ(ends.server->transport().protocol(), seen);
  }
}

TEST_F(Tls, AnAddressIsVerifiedAsAnAddress) {
  Ends ends = connect(loop_, server(), client(), "127.0.0.1");
  ends.client->to_send = "x";
  ends.client->closes = true;
  run(ends);
  EXPECT_EQ(ends.server->got, "x");
}

TEST_F(Tls, ACertificateForAnotherNameIsRefused) {
  for (const std::string host : {"other.test", "127.0.0.2", ""}) {
    Ends ends = connect(loop_, server(), client(), host);
    ends.client->to_send = "secret";
    run(ends);
    EXPECT_EQ(ends.client->status, Status::failed) << host;
    EXPECT_FALSE(ends.client->transport().error().empty());
    EXPECT_EQ(ends.server->got, "");
  }
}

TEST_F(Tls, ACertificateThatNobodyVouchesForIsRefusedUnlessToldOtherwise) {
  TlsClientOptions options;
  Ends ends = connect(loop_, server(), *TlsSettings::for_client(options), "db.test");
  run(ends);
  EXPECT_EQ(ends.client->status, Status::failed);

  options.insecure_trust_anyone_who_answers = true;
  Ends insecure = connect(loop_, server(), *TlsSettings::for_client(options), "db.test");
  insecure.client->to_send = "x";
  insecure.client->closes = true;
  run(insecure);
  EXPECT_EQ(insecure.server->got, "x");
}

TEST_F(Tls, AServerThatRequiresACertificateTakesThoseOfItsCaAlone) {
  const TestCertificate friends = make_certificate("friend");
  const TestCertificate strangers = make_certificate("friend");  // The same name, another key.
  TlsServerOptions options = server_options(certificate_);
  options.client_ca_pem = friends.certificate_pem;
  options.require_client_certificate = true;
  const TlsSettings mutual = *TlsSettings::for_server(options);
  options.require_client_certificate = false;
  const TlsSettings asks = *TlsSettings::for_server(options);
  std::string certificate;  // as the server has verified it
  const auto shake = [&](const TlsSettings& server, const TestCertificate* identity) {
    TlsClientOptions own;
    own.ca_pem = certificate_.certificate_pem;
    if (identity != nullptr) {
      own.identity.certificate_pem = identity->certificate_pem;
      own.identity.key_pem = identity->key_pem;
    }
    Ends ends = connect(loop_, server, *TlsSettings::for_client(own), "db.test");
    ends.client->to_send = "x";
    ends.client->closes = true;
    run(ends);
    certificate = ends.server->transport().peer_certificate();
    return std::pair(ends.server->status, ends.server->got);
  };
  EXPECT_EQ(shake(mutual, &friends), std::pair(Status::ok, std::string("x")));
  EXPECT_TRUE(certificate.starts_with("Hash=")) << certificate;
  EXPECT_TRUE(certificate.ends_with(";Subject=\"CN=friend\";DNS=friend")) << certificate;
  EXPECT_EQ(certificate.find(';'), 5 + 64u);  // SHA-256 in hexadecimal digits.
  EXPECT_EQ(shake(mutual, nullptr), std::pair(Status::failed, std::string()));
  EXPECT_EQ(shake(mutual, &strangers), std::pair(Status::failed, std::string()));
  EXPECT_EQ(shake(asks, nullptr), std::pair(Status::ok, std::string("x")));
  EXPECT_EQ(certificate, "");
  EXPECT_EQ(shake(asks, &strangers), std::pair(Status::failed, std::string()));
}

TEST_F(Tls, WhatIsNoTlsFailsTheHandshake) {
  SocketPair pair = connect_pair(loop_);
  End end(std::make_unique<TlsTransport>(loop_, release(std::move(pair.server)), server()));
  pair.client.send(boost::asio::buffer("GET / HTTP/1.1\r\n\r\n", 18));
  Watchdog watchdog(loop_);
  end.start();
  while (end.status == Status::again) loop_.poll();
  EXPECT_EQ(end.status, Status::failed);
}

}  // namespace
}  // namespace damper::http
