// How much work the statements of the store do: counted, not timed.
#include <gtest/gtest.h>

#include "damper/base/folder_testing.h"
#include "damper/webhooks/store/sqlite_claims.h"
#include "damper/webhooks/store/sqlite_lists.h"
#include "damper/webhooks/store/sqlite_schema.h"
#include "damper/webhooks/store/sqlite_writes.h"
#include "damper/webhooks/store/store_contract_testing.h"

namespace damper::webhooks {
namespace {

// Instructions of SQLite's virtual machine that all statements have executed since the last call.
int count_steps(const store::Database& file) {
  int steps = 0;
  for (sqlite3_stmt* each = sqlite3_next_stmt(file.get(), nullptr); each != nullptr;
       each = sqlite3_next_stmt(file.get(), each)) {
    steps += sqlite3_stmt_status(each, SQLITE_STMTSTATUS_VM_STEP, 1);
  }
  return steps;
}

struct Steps {
  int claim = 0;
  int claim_by_key = 0;
  int other_endpoint = 0;
  int find_due = 0;
  int settle = 0;
  int accept = 0;
};

// The steps of each operation beside `waiting` deliveries of one endpoint, half of them behind one
// that failed.
Steps measure(int waiting) {
  const TestFolder folder;
  EXPECT_TRUE(prepare_file(folder.file("w.db")));
  const auto file = open_writer(folder.file("w.db"));
  file->execute("PRAGMA synchronous = OFF");
  SqliteWrites writes(*file);
  SqliteClaims claims(*file, [](Id, std::string_view text) { return std::string(text); });
  (void)writes.put_application("shop", at(1));
  for (const Id id : {StoreDriver::kFirst, StoreDriver::kSecond}) {
    (void)writes.put_endpoint(StoreDriver::endpoint(id), "{}");
  }
  {
    store::Transaction transaction(*file);
    for (int id = 1; id <= waiting; ++id) {
      EXPECT_TRUE(writes.accept(
          {StoreDriver::message(id, id % 2 == 0 ? "" : "key"), {StoreDriver::kFirst}}));
    }
    EXPECT_TRUE(writes.accept({StoreDriver::message(10'000'000), {StoreDriver::kSecond}}));
    transaction.commit();
  }
  const auto claim = [&](Id endpoint, bool by_key) {
    return claims.claim(endpoint, at(5000), 10, {.by_key = by_key}, {Id{1}, Id{2}}).deliveries;
  };
  Steps steps;
  (void)count_steps(*file);
  auto deliveries = claim(StoreDriver::kFirst, false);
  steps.claim = count_steps(*file);
  EXPECT_EQ(deliveries.size(), 10U);
  EXPECT_EQ(claim(StoreDriver::kFirst, true).size(), 10U);
  steps.claim_by_key = count_steps(*file);
  EXPECT_EQ(claim(StoreDriver::kSecond, true).size(), 1U);
  steps.other_endpoint = count_steps(*file);
  EXPECT_EQ(claims.find_due().size(), 2U);
  steps.find_due = count_steps(*file);
  const auto first =
      claims.claim(StoreDriver::kFirst, at(5000), 1, {.by_key = true}, {}).deliveries.at(0);
  EXPECT_EQ(first.message->ordering_key, "key");
  (void)count_steps(*file);
  EXPECT_TRUE(writes.deliveries().settle(StoreDriver::settlement(first, Fate::dead)));
  steps.settle = count_steps(*file);
  EXPECT_TRUE(writes.accept({StoreDriver::message(10'000'001, "key"), {StoreDriver::kFirst}}));
  steps.accept = count_steps(*file);
  return steps;
}

TEST(SqliteCost, NoOperationDependsOnHowManyWait) {
  const Steps few = measure(100);
  const Steps many = measure(DAMPER_INSTRUMENTED != 0 ? 1'000 : 20'000);
  EXPECT_EQ(few.claim, many.claim);
  EXPECT_EQ(few.claim_by_key, many.claim_by_key);
  EXPECT_EQ(few.other_endpoint, many.other_endpoint);
  EXPECT_EQ(few.find_due, many.find_due);
  EXPECT_EQ(few.settle, many.settle);
  EXPECT_EQ(few.accept, many.accept);
  EXPECT_LT(few.claim, 1'000);
  EXPECT_GT(few.claim, 100);
}

// A file with `waiting` deliveries of each of two endpoints, written by one statement a table.
void fill(store::Database& file, std::int64_t waiting) {
  const std::string count = std::to_string(waiting);
  store::Transaction transaction(file);
  file.execute("INSERT INTO application VALUES ('shop', 1)");
  file.execute(
      "INSERT INTO endpoint VALUES (1, 'shop', 1, 0, x'7b7d'),"
      " (2, 'shop', 1, 1, x'7b7d')");
  file.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + count +
               ") INSERT INTO message SELECT i, 'shop', 'test', '', '', '', 1, x'7b7d', '' FROM n");
  for (const char* const endpoint : {"1", "2"}) {
    file.execute(std::string("INSERT INTO delivery SELECT ") + endpoint +
                 ", 0, id, id, 0, 0, '', 0 FROM message");
  }
  transaction.commit();
}

// Steps of what a dispatcher does for ten deliveries: claims with some in flight, and settlements.
std::pair<int, int> claim_and_settle(std::int64_t waiting) {
  const TestFolder folder;
  EXPECT_TRUE(prepare_file(folder.file("w.db")));
  const auto file = open_writer(folder.file("w.db"));
  file->execute("PRAGMA synchronous = OFF");
  fill(*file, waiting);
  SqliteWrites writes(*file);
  SqliteClaims claims(*file, [](Id, std::string_view text) { return std::string(text); });
  (void)count_steps(*file);
  const auto claimed = claims.claim(Id{1}, at(1'000'000), 10, {.by_key = false}, {Id{1}, Id{2}});
  const auto by_key = claims.claim(Id{2}, at(1'000'000), 10, {.by_key = true}, {Id{1}, Id{2}});
  EXPECT_EQ(claimed.deliveries.size() + by_key.deliveries.size(), 20U);
  EXPECT_EQ(claims.find_old({}, at(1'000'000), 10).deliveries.size(), 10U);
  const int claim_steps = count_steps(*file);
  for (const Delivery& delivery : claimed.deliveries) {
    EXPECT_TRUE(writes.deliveries().settle(StoreDriver::settlement(delivery, Fate::delivered)));
  }
  return {claim_steps, count_steps(*file)};
}

TEST(SqliteCost, AClaimDoesTheSameWorkWithAThousandAndAHundredThousandWaiting) {
  const auto few = claim_and_settle(1'000);
  const auto many = claim_and_settle(DAMPER_INSTRUMENTED != 0 ? 10'000 : 100'000);
  EXPECT_EQ(few, many);
  EXPECT_GT(few.first, 200);
  EXPECT_LT(few.first, 2'000);
}

// The plan of a statement, with each step in a line.
std::string plan(store::Database& file, const std::string& sql) {
  const store::Statement statement(file, "EXPLAIN QUERY PLAN " + sql);
  std::string text;
  for (store::Statement::Run run(statement); run.step();) text.append(run.bytes(3)).append("\n");
  return text;
}

TEST(SqliteCost, NoStatementScansATableOrSorts) {
  const TestFolder folder;
  ASSERT_TRUE(prepare_file(folder.file("w.db")));
  const auto file = open_writer(folder.file("w.db"));
  SqliteWrites writes(*file);
  SqliteClaims claims(*file, [](Id, std::string_view text) { return std::string(text); });
  int statements = 0;
  for (sqlite3_stmt* each = sqlite3_next_stmt(file->get(), nullptr); each != nullptr;
       each = sqlite3_next_stmt(file->get(), each)) {
    const std::string sql = sqlite3_sql(each);
    if (sql.starts_with("INSERT")) continue;
    ++statements;
    const std::string steps = plan(*file, sql);
    EXPECT_EQ(steps.find("SCAN delivery"), std::string::npos) << sql << "\n" << steps;
    EXPECT_EQ(steps.find("SCAN message"), std::string::npos) << sql << "\n" << steps;
    EXPECT_EQ(steps.find("SCAN dead"), std::string::npos) << sql << "\n" << steps;
    EXPECT_EQ(steps.find("TEMP B-TREE"), std::string::npos) << sql << "\n" << steps;
  }
  EXPECT_GE(statements, 15);
}

}  // namespace
}  // namespace damper::webhooks
