// What the disk does to a SqliteStore: loss of power, no room, errors, and how often it is synced.
#include <algorithm>
#include <atomic>
#include <latch>
#include <set>

#include "damper/base/folder_testing.h"
#include "damper/base/random.h"
#include "damper/webhooks/store/disk_testing.h"
#include "damper/webhooks/store/sqlite_store.h"
#include "damper/webhooks/store/store_contract_testing.h"

namespace damper::webhooks {
namespace {

std::unique_ptr<Store> open_on_disk(const TestFolder& folder, SqliteStoreOptions options = {}) {
  options.path = folder.file("w.db");
  auto store = SqliteStore::open(std::move(options));
  EXPECT_TRUE(store) << store.error();
  return store ? *std::move(store) : nullptr;
}

// Collects the results of accepts that are in progress together.
class Accepts {
 public:
  explicit Accepts(Store& store) : store_(store) {}
  void start(std::int64_t id) {
    store_.accept({StoreDriver::message(id), {StoreDriver::kFirst}}, [this, id](auto result) {
      const std::lock_guard lock(mutex_);
      if (result) {
        accepted_.insert(id);
      } else {
        EXPECT_EQ(result.error().kind, StoreError::Kind::unavailable);
        last_error_ = result.error().sentence;
      }
    });
  }
  // REQUIRES: all are done, for example since the store is closed.
  [[nodiscard]] const std::set<std::int64_t>& accepted() const { return accepted_; }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  Store& store_;
  std::mutex mutex_;
  std::set<std::int64_t> accepted_;
  std::string last_error_;
};

// Holds the writer's thread until release(), so that what is called meanwhile is one batch.
class HeldWriter {
 public:
  explicit HeldWriter(Store& store) {
    store.put_application("shop", at(1), [this](auto) {
      held_.count_down();
      released_.wait();
    });
    held_.wait();
  }
  void release() { released_.count_down(); }

 private:
  std::latch held_{1};
  std::latch released_{1};
};

// The ids that were accepted, and are not there with their delivery after a loss of power at the
// n-th operation of the disk; -1 if the power was not lost.
int lost_messages(TestDisk& disk, int operations, Random& random, bool all_unsynced,
                  CheckpointLimits checkpoints = {}) {
  const TestFolder folder;
  std::set<std::int64_t> accepted;
  {
    auto store = open_on_disk(folder, {.path = {}, .checkpoints = checkpoints});
    StoreDriver(*store).set_up();
    Accepts accepts(*store);
    disk.lose_power_after(operations);
    for (std::int64_t id = 1; id <= 30; ++id) {
      accepts.start(id);
      if (id % 3 == 0) (void)StoreDriver(*store).count();  // Gives the writer some time.
    }
    store.reset();
    accepted = accepts.accepted();
  }
  const bool lost_power = disk.lost_power();
  disk.restore([&] { return !all_unsynced && random.draw() < 0.5; });
  if (!lost_power) return -1;

  const auto store = open_on_disk(folder);
  StoreDriver driver(*store);
  int lost = 0;
  for (const std::int64_t id : accepted) {
    const auto found = driver.find(id);
    lost += !found || found->waiting.size() != 1 ? 1 : 0;
  }
  // All of a message or nothing.
  EXPECT_EQ(driver.count().messages, driver.count().waiting);
  return lost;
}

// Invariant (1) of Store.
TEST(SqliteStoreDisk, NothingAcceptedIsLostWithThePower) {
  TestDisk disk;
  Random random(7);
  int losses = 0;
  for (int operations = 1; operations <= 60; ++operations) {
    const int lost = lost_messages(disk, operations, random, operations % 2 == 0);
    EXPECT_LE(lost, 0) << "power lost at operation " << operations;
    losses += lost >= 0 ? 1 : 0;
  }
  EXPECT_GE(losses, 30);
}

TEST(SqliteStoreDisk, NothingAcceptedIsLostWithThePowerDuringACheckpoint) {
  TestDisk disk;
  Random random(11);
  int losses = 0;
  for (int operations = 20; operations <= 200; operations += 3) {
    const int lost = lost_messages(disk, operations, random, operations % 2 == 0,
                                   {.pages = 4, .most_pages = 16});
    EXPECT_LE(lost, 0) << "power lost at operation " << operations;
    losses += lost >= 0 ? 1 : 0;
  }
  EXPECT_GE(losses, 30);
}

// A test above notices a commit that is not synced.
TEST(SqliteStoreDisk, WithoutSyncsMessagesWouldBeLost) {
  TestDisk disk;
  disk.ignore_syncs();
  Random random(7);
  int lost = 0;
  for (int operations = 40; operations <= 60 && lost <= 0; ++operations) {
    const TestFolder folder;
    auto store = open_on_disk(folder);
    StoreDriver(*store).set_up();
    disk.lose_power_after(operations);
    std::int64_t id = 0;
    while (id < 1000 && StoreDriver(*store).accept(StoreDriver::message(id + 1))) ++id;
    store.reset();
    disk.restore([] { return false; });
    auto reopened = SqliteStore::open({.path = folder.file("w.db")});
    if (!reopened || !StoreDriver(**reopened).find(id)) ++lost;
  }
  EXPECT_GT(lost, 0);
}

TEST(SqliteStoreDisk, AFullDiskRefusesAndRecovers) {
  TestDisk disk;
  const TestFolder folder;
  std::set<std::int64_t> accepted;
  {
    auto store = open_on_disk(folder);
    StoreDriver driver(*store);
    driver.set_up();
    ASSERT_TRUE(driver.accept(StoreDriver::message(1)));
    const Delivery delivery = driver.claim(at(5000)).deliveries.at(0);
    disk.fail_writes(SQLITE_FULL);
    const auto refused = driver.accept(StoreDriver::message(2));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, StoreError::Kind::unavailable);
    EXPECT_NE(refused.error().sentence.find("full"), std::string::npos);
    const auto settled = driver.settle(StoreDriver::settlement(delivery, Fate::delivered));
    ASSERT_FALSE(settled);
    EXPECT_EQ(settled.error().kind, StoreError::Kind::unavailable);
    // Nothing of them was written (4), and reads go on.
    EXPECT_EQ(driver.ids(driver.claim(at(5000))), "1");
    EXPECT_EQ(driver.count().messages, 1);

    disk.fail_writes(SQLITE_OK);
    EXPECT_TRUE(driver.accept(StoreDriver::message(2)));
    EXPECT_TRUE(driver.settle(delivery, Fate::delivered));
  }
  auto store = open_on_disk(folder);
  StoreDriver driver(*store);
  EXPECT_EQ(driver.ids(driver.claim(at(5000))), "2");
  EXPECT_EQ(driver.count().messages, 2);
}

TEST(SqliteStoreDisk, ACommitThatCannotBeSyncedIsNotAcknowledged) {
  TestDisk disk;
  const TestFolder folder;
  auto store = open_on_disk(folder);
  StoreDriver driver(*store);
  driver.set_up();
  disk.fail_syncs(SQLITE_IOERR_FSYNC);
  const auto refused = driver.accept(StoreDriver::message(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::unavailable);
  EXPECT_EQ(driver.count().messages, 0);
  disk.fail_syncs(SQLITE_OK);
  EXPECT_FALSE(driver.accept(StoreDriver::message(1))->repeated);
}

TEST(SqliteStoreDisk, WritesThatWaitShareOneSync) {
  TestDisk disk;
  const TestFolder folder;
  auto store = open_on_disk(folder);
  StoreDriver(*store).set_up();
  Accepts accepts(*store);
  HeldWriter writer(*store);
  const int before = disk.log_syncs();
  for (std::int64_t id = 1; id <= 1000; ++id) accepts.start(id);
  writer.release();
  EXPECT_EQ(StoreDriver(*store).accept(StoreDriver::message(1001))->message, Id{1001});
  EXPECT_LE(disk.log_syncs() - before, 3);
  EXPECT_EQ(StoreDriver(*store).count().waiting, 1001);
}

// Invariant (6): an error of the database that one write has caused.
TEST(SqliteStoreDisk, AWriteThatTheDatabaseRefusesFailsAlone) {
  const TestFolder folder;
  auto store = open_on_disk(folder);
  StoreDriver driver(*store);
  driver.set_up();
  store::Database other(folder.file("w.db"), std::chrono::milliseconds(1000));
  other.execute(
      "CREATE TRIGGER no_three BEFORE INSERT ON message WHEN NEW.id = 3"
      " BEGIN SELECT RAISE(ABORT, 'not three'); END");
  Accepts accepts(*store);
  HeldWriter writer(*store);
  for (std::int64_t id = 1; id <= 5; ++id) accepts.start(id);
  writer.release();
  ASSERT_TRUE(driver.accept(StoreDriver::message(6)));
  EXPECT_EQ(accepts.accepted(), (std::set<std::int64_t>{1, 2, 4, 5}));
  EXPECT_NE(accepts.last_error().find("not three"), std::string::npos) << accepts.last_error();
  EXPECT_EQ(driver.ids(driver.claim(at(5000))), "1 2 4 5 6");
}

// Invariant (7).
TEST(SqliteStoreDisk, AFullQueueRefusesAtOnceButHasRoomForSettlements) {
  const TestFolder folder;
  SqliteStoreOptions options;
  options.writer.operations = 5;
  options.writer.reserve_operations = 1;
  auto store = open_on_disk(folder, options);
  StoreDriver driver(*store);
  driver.set_up();
  ASSERT_TRUE(driver.accept(StoreDriver::message(1)));
  const Delivery delivery = driver.claim(at(5000)).deliveries.at(0);
  Accepts accepts(*store);
  HeldWriter writer(*store);
  for (std::int64_t id = 2; id <= 6; ++id) accepts.start(id);
  EXPECT_EQ(accepts.last_error(), "");
  accepts.start(7);
  EXPECT_EQ(accepts.last_error(),
            "the store's queue is full: 5 operations of " +
                std::to_string(5 * (512 + sizeof(Id) + std::string("payload 2").size())) +
                " bytes wait");
  std::latch settled(1);
  store->settle(StoreDriver::settlement(delivery, Fate::delivered), [&](auto result) {
    EXPECT_TRUE(result && *result);
    settled.count_down();
  });
  bool refused = false;
  store->settle(StoreDriver::settlement(delivery, Fate::delivered),
                [&](auto result) { refused = !result; });
  EXPECT_TRUE(refused);
  writer.release();
  settled.wait();
  EXPECT_EQ(driver.ids(driver.claim(at(5000))), "2 3 4 5 6");
}

TEST(SqliteStoreDisk, TheQueueIsBoundedInBytes) {
  const TestFolder folder;
  SqliteStoreOptions options;
  options.writer.bytes = 11'000;
  auto store = open_on_disk(folder, options);
  StoreDriver(*store).set_up();
  HeldWriter writer(*store);
  Message large = StoreDriver::message(1);
  large.payload.assign(9'000, 'x');
  bool refused = false;
  store->accept({large, {}}, [](auto result) { EXPECT_TRUE(result); });
  store->accept({StoreDriver::message(2), {}}, [](auto result) { EXPECT_TRUE(result); });
  large.id = Id{3};
  store->accept({large, {}}, [&](auto result) { refused = !result; });
  EXPECT_TRUE(refused);
  writer.release();
}

TEST(SqliteStoreDisk, ADoneMayCallTheStoreAlsoWhileItIsClosed) {
  const TestFolder folder;
  auto store = open_on_disk(folder);
  StoreDriver(*store).set_up();
  struct Sender {
    Store& store;
    std::atomic<int> calls = 0;
    void send() {
      store.accept({StoreDriver::message(++calls), {}}, [this](auto result) {
        if (result) send();
      });
    }
  };
  Sender sender{.store = *store};
  sender.send();
  while (sender.calls.load() < 10) (void)StoreDriver(*store).count();
  store.reset();
  const int calls = sender.calls.load();
  store = open_on_disk(folder);
  EXPECT_EQ(StoreDriver(*store).count().messages, calls - 1);  // The last one was refused.
}

}  // namespace
}  // namespace damper::webhooks
