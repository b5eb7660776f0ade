#include "damper/webhooks/outbox/postgres_outbox.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "damper/base/folder_testing.h"
#include "damper/store/postgres/cluster_testing.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/outbox/outbox_sinks.h"
#include "damper/webhooks/outbox/outbox_testing.h"

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;
using Kind = OutboxAnswer::Kind;

const OutboxMessage kPaid{.type = "invoice.paid", .payload = R"({"id": 7})"};

struct FinishConnection {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, FinishConnection>;

// Each test has a schema of its own, which the connections find by the URL.
class PostgresOutbox : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { (void)store::PostgresCluster::get(); }  // on this thread
  PostgresOutbox() {
    run("CREATE SCHEMA " + schema_);
    run("SET search_path = " + schema_);
    EXPECT_EQ(create_outbox(database.get()), std::nullopt);
  }
  [[nodiscard]] std::string url() const {
    return store::PostgresCluster::get().url() + "&options=-csearch_path%3D" + schema_;
  }
  [[nodiscard]] ConnectionPtr connect() const {
    ConnectionPtr opened(PQconnectdb(url().c_str()));
    EXPECT_EQ(PQstatus(opened.get()), CONNECTION_OK) << PQerrorMessage(opened.get());
    return opened;
  }
  [[nodiscard]] std::unique_ptr<store::PgConnection> relay_connection() const {
    auto opened = store::PgConnection::open(*store::PostgresUrl::parse(url()));
    EXPECT_TRUE(opened) << opened.error().sentence;
    return *std::move(opened);
  }
  // The first value, or nothing.
  std::string run(const std::string& sql) const {
    const store::PgResult result(PQexec(database.get(), sql.c_str()));
    const auto status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQerrorMessage(database.get());
    return result.rows() > 0 ? std::string(result.text(0, 0)) : std::string();
  }
  [[nodiscard]] std::string rows() const { return run("SELECT count(*) FROM damper_outbox"); }
  void add(const std::string& key, const std::string& ordering_key = {}) const {
    const auto added = enqueue(
        database.get(), {.type = "a", .payload = "1", .ordering_key = ordering_key, .key = key});
    EXPECT_TRUE(added) << added.error();
  }
  // Accepts all of them, and notes their keys: "k1 k2".
  [[nodiscard]] static OutboxSink accept_into(std::string& keys) {
    return [&keys](std::span<const OutboxMessage> messages) {
      for (const OutboxMessage& message : messages) {
        keys += (keys.empty() ? "" : " ") + message.key;
      }
      return std::vector<OutboxAnswer>(messages.size(), {.kind = Kind::accepted});
    };
  }
  [[nodiscard]] static OutboxCounts relay(store::PgConnection& connection, const OutboxSink& sink,
                                          std::size_t most = 10) {
    const auto counts = relay_outbox(connection, sink, most);
    EXPECT_TRUE(counts) << counts.error().sentence;
    return counts ? *counts : OutboxCounts{};
  }
  static bool eventually(const std::function<bool()>& so) {
    for (int i = 0; i < 4000 && !so(); ++i) std::this_thread::sleep_for(5ms);
    return so();
  }
  [[nodiscard]] static std::string new_schema() {
    static std::atomic<int> next = 0;
    return "outbox_" + std::to_string(++next);
  }

  const std::string schema_ = new_schema();
  const ConnectionPtr database{PQconnectdb(store::PostgresCluster::get().url().c_str())};
};

TEST_F(PostgresOutbox, AMessageIsCommittedWithTheCallersChange) {  // (1)
  run("CREATE TABLE invoice(id int, paid boolean)");
  run("BEGIN");
  run("INSERT INTO invoice VALUES(7, true)");
  EXPECT_TRUE(enqueue(database.get(), kPaid));
  run("ROLLBACK");
  const auto connection = relay_connection();
  std::string keys;
  EXPECT_EQ(relay(*connection, accept_into(keys)).moved, 0U);
  run("BEGIN");
  run("INSERT INTO invoice VALUES(7, true)");
  const auto key = enqueue(database.get(), kPaid);
  ASSERT_TRUE(key) << key.error();
  EXPECT_EQ(relay(*connection, accept_into(keys)).moved, 0U);  // It is not committed.
  run("COMMIT");
  EXPECT_EQ(relay(*connection, accept_into(keys)).moved, 1U);
  EXPECT_EQ(relay(*connection, accept_into(keys)).moved, 0U);
  EXPECT_EQ(keys, *key);
  EXPECT_EQ(run("SELECT count(*) FROM invoice"), "1");
  EXPECT_EQ(rows(), "0");
}

TEST_F(PostgresOutbox, ARowHasAllOfTheMessage) {
  const OutboxMessage full{.type = "a.b",
                           .payload = "\"\xc3\xa9\\u0000\"",
                           .application = "acme",
                           .channel = "eu",
                           .ordering_key = "order 7",
                           .key = "k1"};
  EXPECT_EQ(*enqueue(database.get(), full), "k1");
  const std::string made = *enqueue(database.get(), kPaid);
  EXPECT_EQ(made.size(), 32U);
  std::vector<OutboxMessage> read;
  const auto connection = relay_connection();
  (void)relay(*connection, [&](std::span<const OutboxMessage> messages) {
    read.assign(messages.begin(), messages.end());
    return std::vector<OutboxAnswer>(messages.size());
  });
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].type, "a.b");
  EXPECT_EQ(read[0].payload, full.payload);
  EXPECT_EQ(read[0].application, "acme");
  EXPECT_EQ(read[0].channel, "eu");
  EXPECT_EQ(read[0].ordering_key, "order 7");
  EXPECT_EQ(read[0].key, "k1");
  EXPECT_EQ(read[1].key, made);
  EXPECT_EQ(read[1].application, "default");
}

TEST_F(PostgresOutbox, WhatIsRefusedLeavesTheTransactionUsable) {
  run("BEGIN");
  add("k");
  EXPECT_EQ(enqueue(database.get(), {.type = "a", .payload = "{id: 7}"}).error(),
            "payload is not JSON");
  EXPECT_EQ(enqueue(database.get(), {.type = "a", .payload = "2", .key = "k"}).error(),
            "the outbox has a message with the key k");
  run("COMMIT");
  EXPECT_EQ(rows(), "1");
}

TEST_F(PostgresOutbox, TheTableIsCreatedOnceByManyAtOnce) {
  run("DROP TABLE damper_outbox");
  std::vector<std::future<std::optional<std::string>>> results;
  for (int i = 0; i < 4; ++i) {
    results.push_back(
        std::async(std::launch::async, [this] { return create_outbox(connect().get()); }));
  }
  for (auto& result : results) EXPECT_EQ(result.get(), std::nullopt);
  add("k");
  run("DROP TABLE damper_outbox");
  const auto missing = enqueue(database.get(), kPaid);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("does not exist"), std::string::npos) << missing.error();
}

TEST_F(PostgresOutbox, ARefusedRowIsKeptWithItsErrorAndBlocksNoOther) {
  add("bad", "x");
  add("good", "x");
  const auto connection = relay_connection();
  const OutboxSink sink = [](std::span<const OutboxMessage> messages) {
    std::vector<OutboxAnswer> answers(messages.size(), {.kind = Kind::accepted});
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (messages[i].key == "bad") answers[i] = {.kind = Kind::refused, .sentence = "too large"};
    }
    return answers;
  };
  EXPECT_EQ(relay(*connection, sink).refused, 1U);
  EXPECT_EQ(relay(*connection, sink).moved, 1U);
  EXPECT_EQ(run("SELECT error FROM damper_outbox"), "too large");
  EXPECT_EQ(relay(*connection, sink).refused, 0U);
}

TEST_F(PostgresOutbox, WhatIsUnavailableIsSentAgain) {
  add("k");
  const auto connection = relay_connection();
  std::string keys;
  EXPECT_EQ(
      relay(*connection, [](auto messages) { return std::vector<OutboxAnswer>(messages.size()); })
          .unavailable,
      1U);
  EXPECT_EQ(relay(*connection, accept_into(keys)).moved, 1U);
  EXPECT_EQ(keys, "k");
}

TEST_F(PostgresOutbox, ARowThatOneRelaySendsIsSkippedByTheOthers) {  // (3), (4)
  add("a1", "a");
  add("a2", "a");
  add("free1");
  add("free2");
  const auto first = relay_connection();
  const auto second = relay_connection();
  std::string of_first;
  std::string of_second;
  // While the first one sends, with its rows locked.
  const OutboxSink sink = [&](std::span<const OutboxMessage> messages) {
    EXPECT_EQ(relay(*second, accept_into(of_second)).moved, 1U);
    return accept_into(of_first)(messages);
  };
  EXPECT_EQ(relay(*first, sink, 2).moved, 2U);
  EXPECT_EQ(of_first, "a1 free1");
  EXPECT_EQ(of_second, "free2");  // Not a2: the first row of its key is under way.
  EXPECT_EQ(relay(*second, accept_into(of_second)).moved, 1U);
  EXPECT_EQ(of_second, "free2 a2");
  EXPECT_EQ(rows(), "0");
}

TEST_F(PostgresOutbox, RelaysBesideEachOtherSendEachRowOnceAndKeysInOrder) {
  constexpr int kRows = 300;
  std::mutex mutex;
  std::map<std::string, int> sent;
  std::map<std::string, std::vector<int>> by_key;
  const OutboxSink sink = [&](std::span<const OutboxMessage> messages) {
    const std::scoped_lock lock(mutex);
    for (const OutboxMessage& message : messages) {
      ++sent[message.key];
      if (!message.ordering_key.empty()) {
        by_key[message.ordering_key].push_back(std::stoi(message.key));
      }
    }
    return std::vector<OutboxAnswer>(messages.size(), {.kind = Kind::accepted});
  };
  {
    const OutboxRelayOptions options{.path = url(), .poll = 1ms, .batch = 7};
    auto first = OutboxRelay::start(options, sink);
    auto second = OutboxRelay::start(options, sink);
    ASSERT_TRUE(first) << first.error();
    ASSERT_TRUE(second) << second.error();
    for (int i = 0; i < kRows; ++i)
      add(std::to_string(i), i % 3 == 0 ? "" : "k" + std::to_string(i % 3));
    EXPECT_TRUE(eventually([&] {
      return (*first)->counts().moved + (*second)->counts().moved == kRows;
    })) << (*first)->counts().moved
        << " + " << (*second)->counts().moved;
    EXPECT_GT((*first)->counts().moved, 0U);
    EXPECT_GT((*second)->counts().moved, 0U);
  }
  EXPECT_EQ(sent.size(), static_cast<std::size_t>(kRows));
  for (const auto& [key, count] : sent) EXPECT_EQ(count, 1) << key;
  for (const auto& [key, order] : by_key) EXPECT_TRUE(std::ranges::is_sorted(order)) << key;
  EXPECT_EQ(rows(), "0");
}

TEST_F(PostgresOutbox, ACrashBetweenMoveAndRemovalMakesNoSecondMessage) {  // (2)
  if (DAMPER_INSTRUMENTED != 0) GTEST_SKIP() << "a sanitizer does not survive the fork";
  for (int i = 0; i < 3; ++i) add("k" + std::to_string(i));
  const TestFolder folder;
  const auto messages = [&] {
    store::Database dispatcher(folder.file("hooks.db"), 100ms);
    return dispatcher.query_number("SELECT count(*) FROM message");
  };
  const pid_t child = ::fork();
  if (child == 0) {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    const OutboxSink inner = embedded_sink(dispatcher.loop(), dispatcher.server());
    const auto own = relay_connection();
    (void)relay(*own, [&](std::span<const OutboxMessage> all) {
      auto answers = inner(all);
      (void)::kill(::getpid(), SIGKILL);  // accepted, and not removed
      return answers;
    });
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(rows(), "3");
  EXPECT_EQ(messages(), 3);
  {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    auto relay = OutboxRelay::start({.path = url(), .poll = 1ms},
                                    embedded_sink(dispatcher.loop(), dispatcher.server()));
    ASSERT_TRUE(relay) << relay.error();
    EXPECT_TRUE(eventually([&] { return (*relay)->counts().moved == 3; }));
    EXPECT_EQ((*relay)->counts().repeated, 3U);
  }
  EXPECT_EQ(rows(), "0");
  EXPECT_EQ(messages(), 3);
}

TEST_F(PostgresOutbox, ARelaySurvivesTheLossOfItsConnection) {
  std::string keys;
  auto relay = OutboxRelay::start({.path = url(), .poll = 1ms}, accept_into(keys));
  ASSERT_TRUE(relay) << relay.error();
  const auto terminate = [&] {
    run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
  };
  terminate();
  EXPECT_TRUE(eventually([&] { return (*relay)->counts().unavailable > 0; }));
  add("k");
  EXPECT_TRUE(eventually([&] { return (*relay)->counts().moved == 1; }));
  relay->reset();
  EXPECT_EQ(keys, "k");
}

TEST_F(PostgresOutbox, OptionsAndDatabasesAreChecked) {
  const OutboxSink sink = [](std::span<const OutboxMessage> messages) {
    return std::vector<OutboxAnswer>(messages.size());
  };
  const auto away = OutboxRelay::start({.path = "postgres://me:secret@127.0.0.1:1/none"}, sink);
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().find("secret"), std::string::npos) << away.error();
  EXPECT_TRUE(OutboxRelay::start({.path = url()}, sink));
  run("DROP TABLE damper_outbox");
  const auto missing = OutboxRelay::start({.path = url()}, sink);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().find("damper_outbox"), std::string::npos) << missing.error();
}

}  // namespace
}  // namespace damper::webhooks
