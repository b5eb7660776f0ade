#include "damper/webhooks/store/sqlite_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "damper/base/folder_testing.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/store/store_contract_testing.h"

namespace damper::webhooks {
namespace {

std::unique_ptr<Store> open_store(const std::string& path) {
  auto store = SqliteStore::open({.path = path});
  EXPECT_TRUE(store) << store.error();
  return store ? *std::move(store) : nullptr;
}

TEST(SqliteStore, WhatWasAcceptedIsThereAfterReopening) {
  const TestFolder folder;
  {
    const auto store = open_store(folder.file("w.db"));
    StoreDriver driver(*store);
    driver.set_up();
    ASSERT_TRUE(
        driver.accept(StoreDriver::message(1), {StoreDriver::kFirst, StoreDriver::kSecond}));
  }
  const auto store = open_store(folder.file("w.db"));
  StoreDriver driver(*store);
  EXPECT_EQ(driver.ids(driver.claim(at(1000))), "1");
  EXPECT_EQ(driver.find_due().size(), 2U);
}

// Pages of the log after `messages` accepts, one after the other.
std::uintmax_t log_pages_after(int messages, CheckpointLimits limits) {
  const TestFolder folder;
  auto store = SqliteStore::open({.path = folder.file("w.db"), .checkpoints = limits});
  EXPECT_TRUE(store) << store.error();
  StoreDriver driver(**store);
  driver.set_up();
  for (int id = 1; id <= messages; ++id) EXPECT_TRUE(driver.accept(StoreDriver::message(id)));
  return std::filesystem::file_size(folder.file("w.db-wal")) / 4096;
}

TEST(SqliteStore, TheLogIsBounded) {
  // By how much it is exceeded depends on the thread beside the writer, which may be starved.
  EXPECT_LT(log_pages_after(120, {.pages = 20, .most_pages = 60}), 300U);
  // Without a thread beside the writer, too; and without any checkpoint it would not be.
  EXPECT_LT(log_pages_after(120, {.pages = 1'000'000, .most_pages = 60}), 90U);
  EXPECT_GT(log_pages_after(120, {.pages = 1'000'000, .most_pages = 1'000'000}), 360U);
}

TEST(SqliteStore, AFileHasOneOwner) {
  const TestFolder folder;
  auto store = open_store(folder.file("w.db"));
  const auto second = SqliteStore::open({.path = folder.file("w.db")});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("another dispatcher uses it"), std::string::npos);
  store.reset();
  EXPECT_TRUE(SqliteStore::open({.path = folder.file("w.db")}));
}

TEST(SqliteStore, AFileOfSomethingElseIsRefusedAndNotChanged) {
  const TestFolder folder;
  {
    store::Database other(folder.file("w.db"), std::chrono::milliseconds(100));
    other.execute("CREATE TABLE t (x); PRAGMA user_version = 7");
  }
  const auto store = SqliteStore::open({.path = folder.file("w.db")});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find("the database of something else"), std::string::npos);
  store::Database other(folder.file("w.db"), std::chrono::milliseconds(100));
  EXPECT_EQ(other.query_number("SELECT count(*) FROM sqlite_schema"), 1);
  EXPECT_EQ(other.query_text("PRAGMA journal_mode"), "delete");
}

TEST(SqliteStore, ANewerVersionIsRefused) {
  const TestFolder folder;
  open_store(folder.file("w.db")).reset();
  {
    store::Database file(folder.file("w.db"), std::chrono::milliseconds(100));
    file.execute("PRAGMA user_version = 99");
  }
  const auto store = SqliteStore::open({.path = folder.file("w.db")});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().find("it has version 99"), std::string::npos) << store.error();
}

TEST(SqliteStore, AFileOfVersionOneGetsTheTablesOfThisOne) {
  const TestFolder folder;
  const std::string path = folder.file("webhooks.db");
  { const auto store = SqliteStore::open({.path = path}); }
  {
    store::Database file(path, std::chrono::seconds(1));
    file.execute(
        "DROP TABLE setting; ALTER TABLE message DROP COLUMN traceparent;"
        "ALTER TABLE delivery DROP COLUMN since; PRAGMA user_version = 1");
  }
  for (int i = 0; i < 2; ++i) {
    const auto store = SqliteStore::open({.path = path});
    ASSERT_TRUE(store) << store.error();
    EXPECT_TRUE(wait_for<Store::Nothing>(
        [&](auto done) { (*store)->put_setting("a", "b", std::move(done)); }));
    StoreDriver driver(**store);
    driver.set_up();
    EXPECT_TRUE(driver.accept(StoreDriver::message(i + 1)));
    EXPECT_EQ(driver.claim(at(1000)).deliveries.at(0).since, at(1000));
  }
}

TEST(SqliteStore, AFileHasOneOwnerByWhateverName) {
  const TestFolder folder;
  const std::string path = folder.file("w.db");
  const std::string by_link = folder.file("link.db");
  ASSERT_EQ(::symlink("w.db", by_link.c_str()), 0);  // to a file that does not exist yet
  const auto refused = [](const std::string& name, const std::string& why) {
    const auto second = SqliteStore::open({.path = name});
    return !second && second.error().find(why) != std::string::npos;
  };
  {
    auto store = open_store(by_link);
    EXPECT_TRUE(refused(path, "another dispatcher uses it"));
    EXPECT_TRUE(refused(by_link, "another dispatcher uses it"));
    EXPECT_TRUE(refused(folder.file("./w.db"), "another dispatcher uses it"));
  }
  auto store = open_store(path);
  EXPECT_TRUE(refused(by_link, "another dispatcher uses it"));
  const std::string second_name = folder.file("hard.db");
  ASSERT_EQ(::link(path.c_str(), second_name.c_str()), 0);
  EXPECT_TRUE(refused(second_name, "it has 2 hard links"));
  ASSERT_EQ(::unlink(second_name.c_str()), 0);
  // The refusals have not released the owner's locks.
  EXPECT_TRUE(
      wait_for<Store::Nothing>([&](auto done) { store->put_setting("a", "b", std::move(done)); }));
  EXPECT_TRUE(refused(path, "another dispatcher uses it"));
}

TEST(SqliteStore, TheFilesAreReadableByTheirOwnerAlone) {
  const TestFolder folder;
  const auto store = open_store(folder.file("w.db"));
  for (const char* name : {"w.db", "w.db-wal", "w.db-shm", "w.db.lock"}) {
    struct stat status {};
    ASSERT_EQ(::stat(folder.file(name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
}

TEST(SqliteStore, ConfigurationsAreSealedForTheirEndpoint) {
  const TestFolder folder;
  SqliteStoreOptions options{.path = folder.file("w.db")};
  options.seal = [](Id id, std::string_view plain) {
    return std::to_string(number(id)) + std::string(plain.rbegin(), plain.rend());
  };
  options.unseal = [](Id id, std::string_view sealed) -> Expected<std::string> {
    const std::string prefix = std::to_string(number(id));
    if (!sealed.starts_with(prefix)) return unexpected("it is not sealed by this key");
    sealed.remove_prefix(prefix.size());
    return std::string(sealed.rbegin(), sealed.rend());
  };
  {
    auto store = SqliteStore::open(options);
    ASSERT_TRUE(store);
    StoreDriver driver(**store);
    driver.set_up();
    const auto all = wait_for<Store::Everything>([&](auto done) { (*store)->load(done); });
    ASSERT_TRUE(all) << all.error().sentence;
    EXPECT_EQ(all->endpoints.at(0).config, StoreDriver::endpoint(StoreDriver::kFirst).config);
  }
  {
    store::Database file(options.path, std::chrono::milliseconds(100));
    EXPECT_EQ(file.query_number("SELECT count(*) FROM endpoint WHERE instr(config, 'whsec_')"), 0);
    file.execute("UPDATE endpoint SET config = (SELECT config FROM endpoint WHERE id = 2)");
  }
  auto store = SqliteStore::open(options);
  ASSERT_TRUE(store);
  const auto all = wait_for<Store::Everything>([&](auto done) { (*store)->load(done); });
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().sentence.find("it is not sealed by this key"), std::string::npos);
}

// Of the rows of a table, while another process looks.
std::int64_t rows(const std::string& path, const std::string& table) {
  store::Database file(path, std::chrono::milliseconds(1000));
  return file.query_number("SELECT count(*) FROM " + table);
}

// Waits for 20 writes: in the transaction of each, or before it, rows are purged.
void pass_writes(Store& store) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(wait_for<Store::Nothing>(
        [&](auto done) { store.put_application("passing", at(1), done); }));
  }
}

TEST(SqliteStore, ALargeRemovalIsCompletedInTheBackground) {
  const TestFolder folder;
  const std::string path = folder.file("w.db");
  auto store = open_store(path);
  StoreDriver driver(*store);
  driver.set_up();
  for (std::int64_t id = 1; id <= 3000; ++id) {
    store->accept({StoreDriver::message(id, id % 2 == 0 ? "k" : ""), {StoreDriver::kFirst}},
                  [](auto result) { EXPECT_TRUE(result); });
  }
  ASSERT_TRUE(driver.accept(StoreDriver::message(3001), {StoreDriver::kSecond}));
  const Delivery first = driver.claim(at(5000)).deliveries.at(0);
  const Delivery last = driver.claim(at(5000), 9000).deliveries.back();
  ASSERT_TRUE(driver.remove(StoreDriver::kFirst));
  // At once for its users, though rows are left.
  EXPECT_EQ(driver.ids(driver.claim(at(5000))), "");
  EXPECT_EQ(driver.find_due().size(), 1U);
  EXPECT_FALSE(driver.settle(first, Fate::delivered));
  EXPECT_FALSE(driver.settle(last, Fate::again, at(9000)));
  EXPECT_TRUE(driver.find(2999)->waiting.empty());
  pass_writes(*store);
  EXPECT_EQ(driver.count().waiting, 1);
  ASSERT_TRUE(driver.remove("shop"));
  pass_writes(*store);
  EXPECT_EQ(driver.count().messages, 0);
  store.reset();
  for (const char* table : {"delivery", "removed_endpoint", "removed_application"}) {
    EXPECT_EQ(rows(path, table), 0) << table;
  }
}

TEST(SqliteStore, ARemovalIsCompletedAfterARestart) {
  const TestFolder folder;
  const std::string path = folder.file("w.db");
  auto store = open_store(path);
  StoreDriver(*store).set_up();
  ASSERT_TRUE(StoreDriver(*store).accept(StoreDriver::message(1)));
  store.reset();
  {
    store::Database file(path, std::chrono::milliseconds(1000));  // as after a kill
    file.execute("INSERT INTO removed_endpoint VALUES (1); DELETE FROM endpoint WHERE id = 1");
  }
  store = open_store(path);
  pass_writes(*store);
  store.reset();
  EXPECT_EQ(rows(path, "delivery") + rows(path, "removed_endpoint"), 0);
}

TEST(SqliteStore, ANameCanBeUsedAgainAfterItsRemoval) {
  const TestFolder folder;
  auto store = open_store(folder.file("w.db"));
  StoreDriver driver(*store);
  driver.set_up();
  ASSERT_TRUE(driver.accept(StoreDriver::message(1)));
  const auto put = [&] {
    return wait_for<Store::Nothing>(
        [&](auto done) { store->put_application("shop", at(1), done); });
  };
  ASSERT_TRUE(driver.remove("shop"));
  ASSERT_TRUE(put());
  EXPECT_FALSE(driver.find(1));
  EXPECT_TRUE(driver.put(StoreDriver::endpoint(StoreDriver::kFirst)));
}

}  // namespace
}  // namespace damper::webhooks
