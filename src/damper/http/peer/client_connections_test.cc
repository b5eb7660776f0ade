#include "damper/http/peer/client_connections.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace damper::http {
namespace {

using namespace std::chrono_literals;

constexpr IpAddress kAlice = *IpAddress::find("10.0.0.7");
constexpr IpAddress kBob = *IpAddress::find("10.0.0.8");

// Citing the numbers of the invariants.
TEST(ClientConnections, RefusesAClientAtItsLimitAndNoOther) {  // (1)
  const auto clients = std::make_shared<ClientConnections>(2);
  ClientSlot first = ClientConnections::try_take(clients, kAlice);
  const ClientSlot second = ClientConnections::try_take(clients, kAlice);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(ClientConnections::try_take(clients, kAlice));
  EXPECT_TRUE(ClientConnections::try_take(clients, kBob));
  first = {};
  EXPECT_TRUE(ClientConnections::try_take(clients, kAlice));
}

TEST(ClientConnections, ForgetsAClientWithoutConnections) {  // (2)
  const auto clients = std::make_shared<ClientConnections>(2);
  {
    const ClientSlot one = ClientConnections::try_take(clients, kAlice);
    const ClientSlot two = ClientConnections::try_take(clients, kBob);
    EXPECT_EQ(clients->clients(), 2U);
  }
  EXPECT_EQ(clients->clients(), 0U);
}

TEST(ClientConnections, AMovedSlotIsGivenBackOnce) {
  const auto clients = std::make_shared<ClientConnections>(1);
  ClientSlot slot = ClientConnections::try_take(clients, kAlice);
  {
    const ClientSlot moved = std::move(slot);
    EXPECT_EQ(clients->clients(), 1U);
  }
  EXPECT_EQ(clients->clients(), 0U);
}

TEST(ClientConnections, ALoweredLimitClosesNothing) {  // (1)
  const auto clients = std::make_shared<ClientConnections>(2);
  ClientSlot first = ClientConnections::try_take(clients, kAlice);
  const ClientSlot second = ClientConnections::try_take(clients, kAlice);
  clients->reload(1);
  first = {};
  EXPECT_FALSE(ClientConnections::try_take(clients, kAlice));  // 1 of 1.
  EXPECT_EQ(clients->limit(), 1U);
}

TEST(ClientConnections, ReportsRefusalsOnceAMinute) {  // (3)
  const auto clients = std::make_shared<ClientConnections>(1);
  const ClientSlot slot = ClientConnections::try_take(clients, kAlice);
  EXPECT_FALSE(clients->find_report(Instant{1s}));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ClientConnections::try_take(clients, kAlice));
  const auto report = clients->find_report(Instant{2s});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->refused, 5U);
  EXPECT_EQ(report->client, "10.0.0.7");
  EXPECT_FALSE(ClientConnections::try_take(clients, *IpAddress::find("::ffff:10.0.0.7")));
  EXPECT_FALSE(clients->find_report(Instant{61s}));
  ASSERT_TRUE(clients->find_report(Instant{62s}));
  EXPECT_FALSE(clients->find_report(Instant{200s}));  // No refusal since.
}

TEST(ClientConnections, ThreadsNeverHaveMoreThanTheLimitTogether) {  // (1)
  constexpr std::size_t kLimit = 3;
  const auto clients = std::make_shared<ClientConnections>(kLimit);
  std::atomic<std::size_t> open{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        ClientSlot a = ClientConnections::try_take(clients, kAlice);
        if (!a) continue;
        if (open.fetch_add(1) + 1 > kLimit) over = true;
        open.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
  EXPECT_EQ(clients->clients(), 0U);
}

}  // namespace
}  // namespace damper::http
