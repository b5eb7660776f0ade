#include "damper/webhooks/outbox/outbox_relay.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "damper/base/folder_testing.h"
#include "damper/webhooks/outbox/outbox_sinks.h"
#include "damper/webhooks/outbox/outbox_testing.h"

namespace damper::webhooks {
namespace {

using namespace std::chrono_literals;
using Kind = OutboxAnswer::Kind;

class OutboxRelayTest : public ::testing::Test {
 protected:
  OutboxRelayTest() { EXPECT_EQ(create_outbox(database.get()), std::nullopt); }
  void add(const std::string& type, const std::string& key, const std::string& payload = "1") {
    const auto added = enqueue(database.get(), {.type = type, .payload = payload, .key = key});
    EXPECT_TRUE(added) << added.error();
  }
  [[nodiscard]] std::int64_t rows() {
    return database.query_number("SELECT count(*) FROM damper_outbox");
  }
  // Of the dispatcher's store; it does not run.
  [[nodiscard]] std::int64_t messages() {
    store::Database dispatcher(folder.file("hooks.db"), 100ms);
    return dispatcher.query_number("SELECT count(*) FROM message");
  }
  // Waits until it is so, with a bound.
  static bool eventually(const std::function<bool()>& so) {
    for (int i = 0; i < 2000 && !so(); ++i) std::this_thread::sleep_for(5ms);
    return so();
  }

  const TestFolder folder;
  store::Database database{folder.file("app.db"), 5s};
};

TEST_F(OutboxRelayTest, RowsBecomeMessagesAndAreRemoved) {
  for (int i = 0; i < 25; ++i) add("invoice.paid", "k" + std::to_string(i));
  {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    auto relay = OutboxRelay::start({.path = folder.file("app.db"), .poll = 1h, .batch = 10},
                                    embedded_sink(dispatcher.loop(), dispatcher.server()));
    ASSERT_TRUE(relay) << relay.error();
    EXPECT_TRUE(eventually([&] { return (*relay)->counts().moved == 25; }));
    add("invoice.paid", "late");
    (*relay)->notify();
    EXPECT_TRUE(eventually([&] { return (*relay)->counts().moved == 26; }));
    EXPECT_EQ((*relay)->counts().repeated, 0U);
  }
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(messages(), 26);
}

TEST_F(OutboxRelayTest, TheApiTakesThemToo) {
  add("invoice.paid", "k1", R"({"id": 7})");
  add("invoice.paid", "k2", "\"" + std::string(2000, 'x') + "\"");  // too large: 413
  {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    const OutboxSink sink =
        api_sink({.server = "http://127.0.0.1:" + std::to_string(dispatcher.server().port())});
    const OutboxCounts counts = relay_outbox(database, sink, 10);
    EXPECT_EQ(counts.moved, 1U);
    EXPECT_EQ(counts.refused, 1U);
  }
  EXPECT_EQ(messages(), 1);
  const OutboxCounts down = relay_outbox(database, api_sink({.server = "http://127.0.0.1:1"}), 10);
  EXPECT_EQ(down.unavailable, 0U);  // The refused one is not sent again.
  add("a", "k3");
  EXPECT_EQ(relay_outbox(database, api_sink({.server = "http://127.0.0.1:1"}), 10).unavailable, 1U);
  EXPECT_EQ(rows(), 2);
}

TEST_F(OutboxRelayTest, ARefusedRowIsKeptWithItsErrorAndBlocksNoOther) {
  ASSERT_TRUE(enqueue(database.get(), {.type = "a", .payload = "1", .application = "none"}));
  add("a", "good");
  EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
  const OutboxSink sink = embedded_sink(dispatcher.loop(), dispatcher.server());
  const OutboxCounts counts = relay_outbox(database, sink, 10);
  EXPECT_EQ(counts.moved, 1U);
  EXPECT_EQ(counts.refused, 1U);
  EXPECT_EQ(database.query_text("SELECT error FROM damper_outbox"),
            "there is no application \"none\"");
  EXPECT_EQ(relay_outbox(database, sink, 10).refused, 0U);
}

TEST_F(OutboxRelayTest, WhatIsUnavailableIsSentAgain) {
  add("a", "k");
  int calls = 0;
  const OutboxSink sink = [&](std::span<const OutboxMessage> messages) {
    return std::vector<OutboxAnswer>(messages.size(),
                                     {.kind = ++calls == 1 ? Kind::unavailable : Kind::accepted});
  };
  EXPECT_EQ(relay_outbox(database, sink, 10).unavailable, 1U);
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(relay_outbox(database, sink, 10).moved, 1U);
  EXPECT_EQ(rows(), 0);
}

TEST_F(OutboxRelayTest, ACrashBetweenMoveAndRemovalMakesNoSecondMessage) {  // (1)
  if (DAMPER_INSTRUMENTED != 0) GTEST_SKIP() << "a sanitizer does not survive the fork";
  for (int i = 0; i < 3; ++i) add("a", "k" + std::to_string(i));
  const pid_t child = ::fork();
  if (child == 0) {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    const OutboxSink inner = embedded_sink(dispatcher.loop(), dispatcher.server());
    store::Database own(folder.file("app.db"), 5s);
    relay_outbox(
        own,
        [&](std::span<const OutboxMessage> messages) {
          auto answers = inner(messages);
          (void)::kill(::getpid(), SIGKILL);  // accepted, and not removed
          return answers;
        },
        10);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(messages(), 3);
  {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    const OutboxSink sink = embedded_sink(dispatcher.loop(), dispatcher.server());
    const OutboxCounts counts = relay_outbox(database, sink, 10);
    EXPECT_EQ(counts.moved, 3U);
    EXPECT_EQ(counts.repeated, 3U);
  }
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(messages(), 3);
}

TEST_F(OutboxRelayTest, FiltersOfEndpointsHoldForEmbeddedMessages) {
  add("a", "k1", R"({"country":"DE"})");
  add("a", "k2", R"({"country":"FR"})");
  {
    EmbeddedDispatcher dispatcher(folder.file("hooks.db"));
    auto client = ApiClient::open(
        {.server = "http://127.0.0.1:" + std::to_string(dispatcher.server().port())});
    ASSERT_TRUE(client) << client.error().sentence;
    const auto made = client->post(client->of_application("/endpoints"),
                                   R"({"url":"https://host.invalid/","filter":{"country":"DE"}})");
    ASSERT_TRUE(made) << made.error().sentence;
    const OutboxSink sink = embedded_sink(dispatcher.loop(), dispatcher.server());
    EXPECT_EQ(relay_outbox(database, sink, 10).moved, 2U);
  }
  EXPECT_EQ(messages(), 2);
  store::Database dispatcher(folder.file("hooks.db"), 100ms);
  EXPECT_EQ(dispatcher.query_number("SELECT count(*) FROM delivery"), 1);
}

TEST_F(OutboxRelayTest, OptionsAndFilesAreChecked) {
  const OutboxSink sink = [](std::span<const OutboxMessage> messages) {
    return std::vector<OutboxAnswer>(messages.size());
  };
  EXPECT_FALSE(OutboxRelay::start({.path = folder.file("other.db")}, sink));  // It has no table.
  EXPECT_FALSE(OutboxRelay::start({.path = folder.file("app.db"), .batch = 0}, sink));
  EXPECT_FALSE(OutboxRelay::start({.path = folder.file("app.db"), .poll = 0s}, sink));
  EXPECT_TRUE(OutboxRelay::start({.path = folder.file("app.db")}, sink));
}

}  // namespace
}  // namespace damper::webhooks
