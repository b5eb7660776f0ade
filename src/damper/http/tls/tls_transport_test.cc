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

TEST_F(Tls, TheServerNameSelectsTheCertificate) {
  const TestCertificate other = make_certificate("*.shop.test");
  TlsServerOptions options = server_options(certificate_);
  options.certificates.push_back({.identity = {.certificate_file = {},
                                               .key_file = {},
                                               .certificate_pem = other.certificate_pem,
                                               .key_pem = other.key_pem}});
  const auto shake = [&](const std::string& host) {
    TlsClientOptions own;
    own.ca_pem = certificate_.certificate_pem + other.certificate_pem;
    Ends ends =
        connect(loop_, *TlsSettings::for_server(options), *TlsSettings::for_client(own), host);
    ends.client->to_send = "x";
    ends.client->closes = true;
    run(ends);
    return ends.server->got;
  };
  EXPECT_EQ(shake("db.test"), "x");
  EXPECT_EQ(shake("a.shop.test"), "x");
  EXPECT_EQ(shake("127.0.0.1"), "x");  // No server name: the default certificate.
  EXPECT_EQ(shake("c.test"), "");      // It gets the default, which is not for its name.
  options.reject_unknown_names = true;
  EXPECT_EQ(shake("a.shop.test"), "x");
  EXPECT_EQ(shake("127.0.0.1"), "");
  EXPECT_EQ(shake("c.test"), "");
}

TEST_F(Tls, AServerNameOfTheSettingsIsSentAndVerified) {
  TlsClientOptions own;
  own.ca_pem = certificate_.certificate_pem;
  own.server_name = "db.test";
  Ends ends = connect(loop_, server(), *TlsSettings::for_client(own), "10.0.0.1");
  ends.client->to_send = "x";
  ends.client->closes = true;
  run(ends);
  EXPECT_EQ(ends.server->got, "x");
  own.server_name = "other.test";
  Ends wrong = connect(loop_, server(), *TlsSettings::for_client(own), "db.test");
  run(wrong);
  EXPECT_EQ(wrong.client->status, Status::failed);
}

TEST_F(Tls, VersionsAndSuitesHaveToAgree) {
  const auto shake = [&](const TlsProtocolOptions& at_server, const TlsProtocolOptions& at_client) {
    TlsServerOptions options = server_options(certificate_);
    options.protocol = at_server;
    TlsClientOptions own;
    own.ca_pem = certificate_.certificate_pem;
    own.protocol = at_client;
    Ends ends =
        connect(loop_, *TlsSettings::for_server(options), *TlsSettings::for_client(own), "db.test");
    ends.client->to_send = "x";
    ends.client->closes = true;
    run(ends);
    return ends.server->got == "x";
  };
  const TlsProtocolOptions any;
  TlsProtocolOptions old = any;
  old.max_version = TlsVersion::tls1_2;
  TlsProtocolOptions recent = any;
  recent.min_version = TlsVersion::tls1_3;
  EXPECT_TRUE(shake(any, old));
  EXPECT_TRUE(shake(any, recent));
  EXPECT_FALSE(shake(recent, old));
  EXPECT_FALSE(shake(old, recent));
  TlsProtocolOptions cbc = old;
  cbc.cipher_suites = {"ECDHE-ECDSA-AES128-SHA"};
  EXPECT_FALSE(shake(any, cbc));  // The server's default has no CBC.
  EXPECT_TRUE(shake(cbc, cbc));
  TlsProtocolOptions curve = any;
  curve.curves = {"P-384"};
  TlsProtocolOptions other = any;
  other.curves = {"X25519"};
  EXPECT_TRUE(shake(curve, any));
  EXPECT_FALSE(shake(curve, other));
}

// A client that comes back, to a server that may have new settings.
class Resumption : public Tls {
 protected:
  // Whether the second handshake resumed the session of the first, on both sides.
  bool resumes(const TlsSettings& first, const TlsSettings& second, const TlsSettings& client) {
    bool resumed = false;
    for (const TlsSettings* const settings : {&first, &second}) {
      Socket to_server(loop_.context());
      to_server.connect(acceptor_.local_endpoint());  // Sessions are kept by address and port.
      Socket accepted(loop_.context());
      acceptor_.accept(accepted);
      Ends ends{std::make_unique<End>(
                    std::make_unique<TlsTransport>(loop_, release(std::move(accepted)), *settings)),
                std::make_unique<End>(std::make_unique<TlsTransport>(
                    loop_, release(std::move(to_server)), client, "db.test"))};
      ends.server->to_send = "x";  // The client reads the ticket with it.
      ends.server->closes = true;
      run(ends);
      EXPECT_EQ(ends.client->got, "x");
      EXPECT_EQ(ends.client->transport().is_resumed(), ends.server->transport().is_resumed());
      resumed = ends.server->transport().is_resumed();
      certificate_seen_ = ends.server->transport().peer_certificate();
    }
    return resumed;
  }
  [[nodiscard]] TlsClientOptions client_options(TlsVersion most) const {
    TlsClientOptions options;
    options.ca_pem = certificate_.certificate_pem;
    options.protocol.max_version = most;
    return options;
  }
  static TlsSettings client_of(const TlsClientOptions& options) {
    return *TlsSettings::for_client(options);
  }

  boost::asio::ip::tcp::acceptor acceptor_{
      loop_.context(), boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
  std::shared_ptr<TicketKeys> keys_ = std::make_shared<TicketKeys>();
  std::string certificate_seen_;
};

TEST_F(Resumption, ASessionSurvivesANewCertificateIfTheKeysDo) {
  const TlsServerOptions options = server_options(certificate_);
  for (const TlsVersion version : {TlsVersion::tls1_2, TlsVersion::tls1_3}) {
    const auto client = [&] { return client_of(client_options(version)); };
    const TlsSettings one = *TlsSettings::for_server(options, keys_);
    const TlsSettings renewed = *TlsSettings::for_server(options, keys_);
    const TlsSettings stranger = *TlsSettings::for_server(options);
    EXPECT_TRUE(resumes(one, one, client()));
    EXPECT_TRUE(resumes(one, renewed, client()));
    EXPECT_FALSE(resumes(one, stranger, client()));
    TlsServerOptions never = options;
    never.session_timeout = Duration{0};
    const TlsSettings off = *TlsSettings::for_server(never, keys_);
    EXPECT_FALSE(resumes(off, off, client()));
  }
}

TEST_F(Resumption, KeepsTheVerifiedCertificateAndEndsWithTheCa) {
  const TestCertificate friends = make_certificate("friend");
  const TestCertificate others = make_certificate("other");
  TlsServerOptions options = server_options(certificate_);
  options.client_ca_pem = friends.certificate_pem;
  const TlsSettings asks = *TlsSettings::for_server(options, keys_);
  options.require_client_certificate = true;
  const TlsSettings mutual = *TlsSettings::for_server(options, keys_);
  options.client_ca_pem += others.certificate_pem;
  const TlsSettings changed = *TlsSettings::for_server(options, keys_);
  for (const TlsVersion version : {TlsVersion::tls1_2, TlsVersion::tls1_3}) {
    TlsClientOptions own = client_options(version);
    own.identity.certificate_pem = friends.certificate_pem;
    own.identity.key_pem = friends.key_pem;
    EXPECT_TRUE(resumes(mutual, mutual, client_of(own)));
    EXPECT_TRUE(certificate_seen_.ends_with("DNS=friend")) << certificate_seen_;
    EXPECT_FALSE(resumes(asks, mutual, client_of(own)));
    EXPECT_FALSE(resumes(mutual, changed, client_of(own)));
  }
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
