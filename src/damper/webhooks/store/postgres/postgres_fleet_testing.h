#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "damper/run/clock.h"
#include "damper/webhooks/store/postgres/postgres_store_testing.h"

namespace damper::webhooks {

// Several dispatchers' stores on the same tables.
class PostgresFleet : public testing::Test {
 protected:
  static constexpr Id kFirst = StoreDriver::kFirst;

  static void SetUpTestSuite() { (void)store::PostgresCluster::get(); }  // on this thread
  std::unique_ptr<Store> open() { return open_postgres(postgres_options(schema_)); }
  // One whose dispatcher is dead for the others soon after its last sign of life.
  std::unique_ptr<Store> open_with(Duration lease, Duration renewal) {
    PostgresStoreOptions options = postgres_options(schema_);
    options.times.lease = lease;
    options.times.renewal = renewal;
    return open_postgres(std::move(options));
  }
  static Message message(std::int64_t id, std::string key = {}) {
    Message message = StoreDriver::message(id, std::move(key));
    message.created = run::wall_time();
    return message;
  }
  static Claimed claim(StoreDriver& driver, std::size_t most = 100, std::vector<Id> skip = {}) {
    return driver.claim(run::wall_time(), most, false, std::move(skip));
  }
  // In few transactions.
  static void accept_many(StoreDriver& driver, std::int64_t count) {
    std::vector<std::future<StoreResult<Accepted>>> results;
    for (std::int64_t id = 1; id <= count; ++id) {
      auto promise = std::make_shared<std::promise<StoreResult<Accepted>>>();
      results.push_back(promise->get_future());
      driver.store().accept({message(id), {kFirst}},
                            [promise](auto result) { promise->set_value(std::move(result)); });
    }
    for (auto& result : results) ASSERT_TRUE(result.get());
  }
  void sql(const std::string& text) {
    const auto connection = store::PostgresCluster::get().connect();
    const auto done = connection->execute("SET search_path = " + schema_ + "; " + text);
    ASSERT_TRUE(done) << done.error().sentence;
  }
  static bool eventually(const std::function<bool()>& what) {
    for (const Instant end = run::now() + std::chrono::seconds(30); run::now() < end;) {
      if (what()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  const std::string schema_ = new_schema();
};

// What watch() has reported.
class Changes {
 public:
  explicit Changes(Store& store) {
    const auto all = wait_for<Store::Everything>([&](auto done) { store.load(done); });
    EXPECT_TRUE(all);
    version_ = all ? all->configuration : 0;
    store.watch([this](StoreChange change) {
      const std::lock_guard lock(mutex_);
      version_ = std::max(version_, change.configuration);
      changes_.push_back(std::move(change));
    });
  }
  template <class Check>
  [[nodiscard]] bool any(const Check& check) {
    const std::lock_guard lock(mutex_);
    return std::any_of(changes_.begin(), changes_.end(), check);
  }
  // As Directory::version().
  [[nodiscard]] std::int64_t version() {
    const std::lock_guard lock(mutex_);
    return version_;
  }

 private:
  std::mutex mutex_;
  std::int64_t version_ = 0;
  std::vector<StoreChange> changes_;
};

}  // namespace damper::webhooks
