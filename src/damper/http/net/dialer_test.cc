#include "damper/http/net/dialer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "damper/http/net/descriptors_testing.h"
#include "damper/http/net/net_testing.h"

namespace damper::http {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using Names = std::vector<std::string>;
using Acceptor = tcp::acceptor;

tcp::endpoint at(const std::string& address, std::uint16_t port = 0) {
  return {boost::asio::ip::make_address(address), port};
}

// Answers from a table; a name that is not there is never answered.
class TableResolver final : public Resolver {
 public:
  using Table = std::map<std::string, Names>;
  explicit TableResolver(Table table) : table_(std::move(table)) {}
  void resolve(const std::string& host, Done done) override {
    ++asked;
    if (const auto found = table_.find(host); found != table_.end()) return done(found->second);
    kept_.push_back(std::move(done));
  }
  int asked = 0;

 private:
  Table table_;
  std::vector<Done> kept_;
};

// An address that takes no more connections: its line is full, and who knocks waits.
class DeafServer {
 public:
  DeafServer(Loop& loop, const std::string& address) : acceptor_(loop.context()) {
    acceptor_.open(tcp::v4());
    acceptor_.bind(at(address));
    acceptor_.listen(0);
    for (int i = 0; i < 3; ++i) {
      auto& socket = sockets_.emplace_back(loop.context());
      socket.open(tcp::v4());
      socket.native_non_blocking(true);
      tcp::endpoint to = acceptor_.local_endpoint();
      (void)::connect(socket.native_handle(), to.data(), static_cast<socklen_t>(to.size()));
    }
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  Acceptor acceptor_;
  std::vector<Socket> sockets_;
};

Dialer::Result dial(Dialer& dialer, const std::string& host, std::uint16_t port,
                    const TlsSettings* tls = nullptr) {
  const Watchdog watchdog(dialer.loop());
  Dialer::Result got;
  const auto dial = dialer.dial(host, port, tls, [&](Dialer::Result result) {
    got = std::move(result);
    dialer.loop().stop();
  });
  dialer.loop().run();
  return got;
}

TEST(Dialer, FamiliesAlternateAndEachKeepsItsOrder) {
  EXPECT_EQ(interleave({"::1", "::2", "::3", "1.1.1.1", "2.2.2.2"}, 8),
            (Names{"::1", "1.1.1.1", "::2", "2.2.2.2", "::3"}));
  EXPECT_EQ(interleave({"1.1.1.1", "::1", "::2"}, 8), (Names{"1.1.1.1", "::1", "::2"}));
  EXPECT_EQ(interleave({"1.1.1.1", "2.2.2.2", "::1"}, 2), (Names{"1.1.1.1", "::1"}));
  EXPECT_EQ(interleave({}, 8), Names{});
}

TEST(Dialer, AnAddressIsNotResolved) {
  Loop loop;
  Acceptor acceptor(loop.context(), at("127.0.0.1"));
  TableResolver resolver(TableResolver::Table{});
  Dialer dialer(loop, {}, &resolver);
  const auto result = dial(dialer, "127.0.0.1", acceptor.local_endpoint().port());
  ASSERT_NE(result.transport, nullptr);
  EXPECT_EQ(result.transport->peer(),
            "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  EXPECT_EQ(resolver.asked, 0);
}

TEST(Dialer, AKnownAddressIsNotLookedUp) {
  Loop loop;
  Acceptor acceptor(loop.context(), at("127.0.0.1"));
  TableResolver resolver({});
  Dialer dialer(loop, {}, &resolver);
  const Watchdog watchdog(loop);
  bool connected = false;
  const auto dial = dialer.dial(
      "db.test", acceptor.local_endpoint().port(), nullptr,
      [&](const Dialer::Result& result) {
        connected = result.transport != nullptr;
        loop.stop();
      },
      "127.0.0.1");
  loop.run();
  EXPECT_TRUE(connected);
  EXPECT_EQ(resolver.asked, 0);
}

TEST(Dialer, ADeadFirstAddressIsPassedAtOnce) {
  Loop loop;
  Acceptor acceptor(loop.context(), at("127.0.0.1"));  // Nobody listens on 127.0.0.2.
  TableResolver resolver(TableResolver::Table{{"db", {"127.0.0.2", "127.0.0.1"}}});
  Dialer dialer(loop, {.stagger = std::chrono::seconds(2)}, &resolver);
  const Instant start = run::now();
  const auto result = dial(dialer, "db", acceptor.local_endpoint().port());
  ASSERT_NE(result.transport, nullptr);
  EXPECT_TRUE(result.transport->peer().starts_with("127.0.0.1:"));
  EXPECT_LT(run::now() - start, std::chrono::seconds(1));  // Not after the stagger.
}

TEST(Dialer, WithoutADescriptorNobodyIsToBlame) {
  Loop loop;
  Acceptor acceptor(loop.context(), at("127.0.0.1"));
  Dialer dialer(loop, {});
  const std::uint16_t port = acceptor.local_endpoint().port();
  if (DAMPER_INSTRUMENTED == 0) {  // ubsan reads memory through a pipe, and finds no descriptor.
    const DescriptorsLeft none(0);
    EXPECT_EQ(dial(dialer, "127.0.0.1", port).reason, CloseReason::out_of_descriptors);
  }
  {
    const DescriptorsLeft left(8);
    reserve_descriptors();
    EXPECT_EQ(dial(dialer, "127.0.0.1", port).reason, CloseReason::out_of_descriptors);
  }
  EXPECT_NE(dial(dialer, "127.0.0.1", port).transport, nullptr);
}

TEST(Dialer, ASilentFirstAddressIsJoinedByTheNextAfterTheStagger) {
  Loop loop;
  const DeafServer deaf(loop, "127.0.0.2");
  Acceptor acceptor(loop.context(), at("127.0.0.1", deaf.port()));
  TableResolver resolver(TableResolver::Table{{"db", {"127.0.0.2", "127.0.0.1"}}});
  Dialer dialer(loop, {.stagger = milliseconds(30)}, &resolver);
  const Instant start = run::now();
  const auto result = dial(dialer, "db", deaf.port());
  ASSERT_NE(result.transport, nullptr);
  EXPECT_TRUE(result.transport->peer().starts_with("127.0.0.1:"));
  EXPECT_GE(run::now() - start, milliseconds(30));
  EXPECT_LT(run::now() - start, std::chrono::seconds(1));
}

TEST(Dialer, EveryEndHasItsReason) {
  Loop loop;
  TableResolver resolver(TableResolver::Table{{"nobody", {}}, {"closed", {"127.0.0.1"}}});
  std::uint16_t closed = 0;
  {
    const Acceptor acceptor(loop.context(), at("127.0.0.1"));
    closed = acceptor.local_endpoint().port();
  }
  Dialer dialer(loop, {.connect_timeout = milliseconds(300)}, &resolver);
  EXPECT_EQ(dial(dialer, "nobody", 1).reason, CloseReason::name_not_resolved);
  EXPECT_EQ(dial(dialer, "closed", closed).reason, CloseReason::connect_refused);
  EXPECT_EQ(dial(dialer, "silent", 1).reason, CloseReason::connect_timeout);  // The resolver is.
  const DeafServer deaf(loop, "127.0.0.1");
  EXPECT_EQ(dial(dialer, "127.0.0.1", deaf.port()).reason, CloseReason::connect_timeout);
  // It connects, and never shakes hands.
  Acceptor acceptor(loop.context(), at("127.0.0.1"));
  TlsClientOptions anyone;
  anyone.insecure_trust_anyone_who_answers = true;
  const auto settings = TlsSettings::for_client(anyone);
  EXPECT_EQ(dial(dialer, "127.0.0.1", acceptor.local_endpoint().port(), &*settings).reason,
            CloseReason::connect_timeout);
}

TEST(Dialer, OneThatWasGivenUpIsHeardOfNoMore) {
  Loop loop;
  Acceptor acceptor(loop.context(), at("127.0.0.1"));
  TableResolver resolver(TableResolver::Table{{"db", {"127.0.0.1"}}});
  Dialer dialer(loop, {.connect_timeout = milliseconds(20)}, &resolver);
  int heard = 0;
  for (const char* host : {"db", "silent", "127.0.0.1"}) {
    auto dial = dialer.dial(host, acceptor.local_endpoint().port(), nullptr,
                            [&](const Dialer::Result&) { ++heard; });
    dial.reset();
  }
  loop.run();  // Until there is nothing left to wait for: no timer is.
  EXPECT_EQ(heard, 0);
}

TEST(Dialer, TheSystemKnowsItsOwnName) {
  Loop loop;
  Acceptor acceptor(loop.context(), at("127.0.0.1"));
  Dialer dialer(loop, {});
  EXPECT_NE(dial(dialer, "localhost", acceptor.local_endpoint().port()).transport, nullptr);
}

TEST(Dialer, BadOptionsAreSaid) {
  EXPECT_FALSE(find_error(DialerOptions{}));
  EXPECT_TRUE(find_error(DialerOptions{.connect_timeout = Duration{0}}));
  EXPECT_TRUE(find_error(DialerOptions{.stagger = milliseconds(9)}));
  EXPECT_TRUE(find_error(DialerOptions{.max_addresses = 65}));
}

TEST(Dialer, OfTwoThatConnectInOneTurnTheFirstWins) {
  Loop loop;
  Acceptor first(loop.context(), at("127.0.0.1"));
  Acceptor second(loop.context(), at("127.0.0.2", first.local_endpoint().port()));
  TableResolver resolver(TableResolver::Table{{"db", {"127.0.0.1", "127.0.0.2"}}});
  Dialer dialer(loop, {.connect_timeout = milliseconds(60), .stagger = milliseconds(10)},
                &resolver);
  TlsClientOptions anyone;
  anyone.insecure_trust_anyone_who_answers = true;
  const auto settings = TlsSettings::for_client(anyone);
  const Watchdog watchdog(loop);
  Dialer::Result got;
  const auto dial =
      dialer.dial("db", first.local_endpoint().port(), &*settings, [&](Dialer::Result result) {
        got = std::move(result);
        loop.stop();
      });
  const Instant start = run::now();
  while (run::now() < add(start, milliseconds(11))) {  // The stagger passes before a turn does.
  }
  loop.run();
  // Nobody shakes hands. A second winner would have broken the first one's: handshake_failed.
  EXPECT_EQ(got.reason, CloseReason::connect_timeout);
}

}  // namespace
}  // namespace damper::http
