#include "damper/webhooks/outbox/outbox.h"

#include <gtest/gtest.h>

#include <chrono>

#include "damper/base/folder_testing.h"

namespace damper::webhooks {
namespace {

const OutboxMessage kMessage{.type = "invoice.paid", .payload = R"({"id": 7})"};

class Outbox : public ::testing::Test {
 protected:
  Outbox() { EXPECT_EQ(create_outbox(database.get()), std::nullopt); }
  [[nodiscard]] std::int64_t rows() {
    return database.query_number("SELECT count(*) FROM damper_outbox");
  }

  const TestFolder folder;
  store::Database database{folder.file("app.db"), std::chrono::milliseconds(100)};
};

TEST_F(Outbox, AMessageIsCommittedWithTheCallersChange) {  // (1)
  database.execute("CREATE TABLE invoice(id INTEGER PRIMARY KEY, paid INTEGER)");
  database.execute("BEGIN");
  database.execute("INSERT INTO invoice VALUES(7, 1)");
  EXPECT_TRUE(enqueue(database.get(), kMessage));
  database.execute("ROLLBACK");
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(database.query_number("SELECT count(*) FROM invoice"), 0);
  database.execute("BEGIN");
  database.execute("INSERT INTO invoice VALUES(7, 1)");
  EXPECT_TRUE(enqueue(database.get(), kMessage));
  database.execute("COMMIT");
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(database.query_number("SELECT count(*) FROM invoice"), 1);
}

TEST_F(Outbox, ARowHasAllOfTheMessage) {
  const OutboxMessage full{.type = "a.b",
                           .payload = "[1,  2]",
                           .application = "acme",
                           .channel = "eu",
                           .ordering_key = "order 7",
                           .key = "k1"};
  EXPECT_EQ(*enqueue(database.get(), full), "k1");
  const std::string made = *enqueue(database.get(), kMessage);
  EXPECT_EQ(made.size(), 32U);
  const auto read = read_outbox(database, 10);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_LT(read[0].number, read[1].number);
  EXPECT_EQ(read[0].message.type, "a.b");
  EXPECT_EQ(read[0].message.payload, "[1,  2]");
  EXPECT_EQ(read[0].message.application, "acme");
  EXPECT_EQ(read[0].message.channel, "eu");
  EXPECT_EQ(read[0].message.ordering_key, "order 7");
  EXPECT_EQ(read[0].message.key, "k1");
  EXPECT_EQ(read[1].message.key, made);
}

TEST_F(Outbox, WhatIsInvalidIsNotWritten) {
  const auto refused = [&](OutboxMessage message) {
    const auto result = enqueue(database.get(), message);
    return result ? std::string() : result.error();
  };
  EXPECT_EQ(refused({.type = "a", .payload = "{id: 7}"}), "payload is not JSON");
  EXPECT_EQ(refused({.type = "a", .payload = R"(1,"type":"b")"}), "payload is not JSON");
  EXPECT_NE(refused({.type = "a b", .payload = "1"}).find("type is \"a b\""), std::string::npos);
  EXPECT_NE(refused({.type = "a", .payload = "1", .application = "A"}), "");
  EXPECT_NE(refused({.type = "a", .payload = "1", .channel = "."}), "");
  EXPECT_NE(refused({.type = "a", .payload = "1", .ordering_key = std::string(129, 'k')}), "");
  EXPECT_NE(refused({.type = "a", .payload = "1", .key = "a b"}), "");
  EXPECT_NE(refused({.type = "a", .payload = "1", .key = std::string(257, 'k')}), "");
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(refused({.type = "a", .payload = "1", .key = "k"}), "");
  EXPECT_NE(refused({.type = "a", .payload = "2", .key = "k"}).find("UNIQUE"), std::string::npos);
  EXPECT_EQ(rows(), 1);
}

TEST_F(Outbox, ABatchHasOneRowOfAnOrderingKey) {
  for (const char* key : {"x", "x", "y", "", ""}) {
    ASSERT_TRUE(enqueue(database.get(), {.type = "a", .payload = "1", .ordering_key = key}));
  }
  const auto read = read_outbox(database, 10);
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[0].number, 1);  // x
  EXPECT_EQ(read[1].number, 3);  // y
  EXPECT_EQ(read_outbox(database, 1).size(), 1U);
}

TEST_F(Outbox, WithoutItsTableThereIsASentence) {
  store::Database other(folder.file("other.db"), std::chrono::milliseconds(100));
  const auto result = enqueue(other.get(), kMessage);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("no such table"), std::string::npos) << result.error();
}

}  // namespace
}  // namespace damper::webhooks
