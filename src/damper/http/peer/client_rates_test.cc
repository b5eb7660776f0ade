#include "damper/http/peer/client_rates.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace damper::http {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1h};
constexpr ClientRateOptions kTwoASecond{.bucket = {.rate_per_second = 2, .burst = 3},
                                        .max_clients = 64};

ClientKey client(int number) { return ClientKey::of_text(std::to_string(number)); }

TEST(ClientRates, RefusesAClientOverItsRateAndNoOther) {  // (1), (2)
  ClientRates rates(kTwoASecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.try_take(client(1), kStart), Duration{0});
  EXPECT_EQ(rates.try_take(client(1), kStart), 500ms);
  EXPECT_EQ(rates.try_take(client(1), kStart), 500ms);  // The refusal has changed nothing.
  EXPECT_EQ(rates.try_take(client(2), kStart), Duration{0});
  EXPECT_EQ(rates.try_take(client(1), kStart + 500ms), Duration{0});
  EXPECT_EQ(rates.try_take(client(1), kStart + 500ms), 500ms);
  EXPECT_EQ(rates.refused(), 3U);
  EXPECT_EQ(rates.untracked(), 0U);
}

TEST(ClientRates, IdleClientsMakeRoom) {
  ClientRates rates(kTwoASecond);
  for (int i = 0; i < 10'000; ++i) {  // One every second: each is full again after half of one.
    ASSERT_EQ(rates.try_take(client(i), kStart + i * 1s), Duration{0});
    ASSERT_LE(rates.tracked(kStart + i * 1s), 1U);
  }
  EXPECT_EQ(rates.untracked(), 0U);
}

TEST(ClientRates, AFullTableAdmitsAndCounts) {  // (3)
  ClientRates rates(kTwoASecond);
  constexpr int kClients = 1000;
  for (int i = 0; i < kClients; ++i) EXPECT_EQ(rates.try_take(client(i), kStart), Duration{0});
  EXPECT_EQ(rates.max_clients(), 64U);
  EXPECT_EQ(rates.tracked(kStart), 64U);  // All slots: no set stays empty with 1000 clients.
  EXPECT_EQ(rates.untracked(), kClients - 64U);
  EXPECT_EQ(rates.refused(), 0U);
}

TEST(ClientRates, AFloodOfNewClientsEvictsNoClientInDebt) {
  ClientRates rates(kTwoASecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.try_take(client(-1), kStart), Duration{0});
  for (int i = 0; i < 1000; ++i) (void)rates.try_take(client(i), kStart);
  EXPECT_GT(rates.try_take(client(-1), kStart), Duration{0});
}

TEST(ClientRates, HalfOfTheTableIsFullBeforeAClientFindsNoSlot) {
  ClientRates rates({.bucket = kTwoASecond.bucket, .max_clients = 4096});
  int found = 0;
  while (rates.untracked() == 0) (void)rates.try_take(client(found++), kStart);
  EXPECT_GT(found, 4096 / 2);
}

TEST(ClientRates, AReloadKeepsTheFill) {  // (4)
  ClientRates rates(kTwoASecond);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.try_take(client(1), kStart), Duration{0});
  rates.reload({.rate_per_second = 10, .burst = 30}, kStart);
  EXPECT_GT(rates.try_take(client(1), kStart), Duration{0});
  EXPECT_EQ(rates.try_take(client(1), kStart + 100ms), Duration{0});
  for (int i = 0; i < 30; ++i) EXPECT_EQ(rates.try_take(client(2), kStart), Duration{0});
  EXPECT_GT(rates.try_take(client(2), kStart), Duration{0});
  EXPECT_EQ(rates.tracked(kStart), 2U);
}

TEST(ClientRates, ThreadsHaveTheBurstTogether) {  // (1)
  ClientRates rates({.bucket = {.rate_per_second = 1, .burst = 1000}, .max_clients = 16});
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        if (rates.try_take(client(1), kStart) == Duration{0}) admitted.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 1000);
}

TEST(ClientRates, FindErrorNamesTheBound) {
  EXPECT_FALSE(find_error(ClientRateOptions{}));
  EXPECT_EQ(find_error(ClientRateOptions{.max_clients = 8}).value_or("").substr(0, 11),
            "max_clients");
  EXPECT_TRUE(find_error(ClientRateOptions{.bucket = {.rate_per_second = 0}}));
}

}  // namespace
}  // namespace damper::http
