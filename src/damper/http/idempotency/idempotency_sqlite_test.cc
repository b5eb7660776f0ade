#include "damper/http/idempotency/idempotency_sqlite.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "damper/http/idempotency/idempotency_store_testing.h"
#include "damper/store/sqlite.h"

namespace damper::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

SqliteStoreOptions options_for(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  options.retention = seconds(1);
  options.lease = milliseconds(200);
  options.survives_power_loss = false;  // Faster; a killed process is no power loss.
  return options;
}

std::unique_ptr<SqliteStore> opened(const SqliteStoreOptions& options) {
  auto store = SqliteStore::open(options);
  if (!store) ADD_FAILURE() << store.error();
  return std::move(*store);
}

TEST(SqliteStore, AFieldOutOfBoundsIsNamed) {
  const auto error = [](auto change) {
    SqliteStoreOptions options = options_for("x");
    change(options);
    return find_error(options).value_or("");
  };
  EXPECT_EQ(error([](auto& o) { o.path = ""; }), "path is empty; it must name a file");
  EXPECT_EQ(error([](auto& o) { o.most_entries = 0; }),
            "most_entries is 0; it must be from 1 to 100000000");
  EXPECT_EQ(error([](auto& o) { o.most_bytes = 1; }),
            "most_bytes is 1; it must be from 65536 to 1099511627776");
  EXPECT_EQ(error([](auto& o) { o.lease = Duration{0}; }),
            "lease is 0s; it must be from 1ms to 1h");
  EXPECT_EQ(error([](auto& o) { o.retention = Duration{0}; }),
            "retention is 0s; it must be from 1ms to 720h");
  EXPECT_EQ(error([](auto& o) { o.lock_timeout = -seconds(1); }),
            "lock_timeout is -1s; it must be from 0s to 10s");
}

TEST(SqliteStore, DoesAsAModelDoes) {  // Invariants (1) and (2)
  const TestFolder folder;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto store = opened(options_for(folder.file(std::to_string(seed))));
    play_against_a_model(*store, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(SqliteStore, WhatWasAnsweredIsThereAfterAnotherOpen) {  // Invariant (5)
  const TestFolder folder;
  {
    const auto store = opened(options_for(folder.file("s")));
    const auto claim = store->claim("a", print(0), wall(0));
    EXPECT_TRUE(store->complete("a", claim.token, answer(201, std::string("x\0y", 3)), wall(0)));
  }
  const auto store = opened(options_for(folder.file("s")));
  const auto claim = store->claim("a", print(0), wall(10));
  ASSERT_EQ(claim.state, KeyState::replayed);
  EXPECT_EQ(claim.answer->status, 201);
  EXPECT_EQ(claim.answer->body, std::string("x\0y", 3));
}

// A real process claims two keys, answers one, and is killed.
TEST(SqliteStore, AKilledProcessLeavesItsAnswersAndALeaseThatRunsOut) {  // Invariants (1) and (5)
  const TestFolder folder;
  const std::string path = folder.file("s");
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = SqliteStore::open(options_for(path));
    if (!store) _exit(1);
    const auto done = (*store)->claim("done", print(0), wall(1000));
    (void)(*store)->claim("begun", print(0), wall(1000));
    (void)(*store)->complete("done", done.token, answer(200, "kept"), wall(1000));
    (void)!write(pipe_ends[1], "x", 1);
    for (;;) pause();
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  close(pipe_ends[0]);
  close(pipe_ends[1]);

  const auto store = opened(options_for(path));
  const auto done = store->claim("done", print(0), wall(1100));
  ASSERT_EQ(done.state, KeyState::replayed);
  EXPECT_EQ(done.answer->body, "kept");
  EXPECT_EQ(store->claim("begun", print(0), wall(1199)).state, KeyState::under_way);
  EXPECT_EQ(store->claim("begun", print(1), wall(1199)).state, KeyState::mismatch);
  const auto begun = store->claim("begun", print(0), wall(1200));
  ASSERT_EQ(begun.state, KeyState::first);
  EXPECT_TRUE(begun.recovered);
  EXPECT_EQ(store->tally().recovered, 1U);
}

// Killed at a random moment in the middle of its work, again and again: no answer that was
// acknowledged is lost, and the file is never damaged.
TEST(SqliteStore, KilledInTheMiddleNothingAcknowledgedIsLost) {  // Invariant (5)
  const TestFolder folder;
  const std::string path = folder.file("s");
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = SqliteStore::open(options_for(path));
      if (!store) _exit(1);
      for (char i = 1;; ++i) {
        const std::string key = std::to_string(round) + "/" + std::to_string(i);
        const auto claim = (*store)->claim(key, print(0), wall(0));
        if (claim.state != KeyState::first) _exit(2);
        if (!(*store)->complete(key, claim.token, answer(200, key), wall(0))) _exit(3);
        if (write(ends[1], &i, 1) != 1) _exit(4);
        if (i == 100) pause();
      }
    }
    close(ends[1]);
    char last = 0;
    while (last < 3 + round * 7) ASSERT_EQ(read(ends[0], &last, 1), 1);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    for (char next = 0; read(ends[0], &next, 1) == 1;) last = next;
    close(ends[0]);
    const auto store = opened(options_for(path));
    for (char i = 1; i <= last; ++i) {
      const std::string key = std::to_string(round) + "/" + std::to_string(i);
      ASSERT_EQ(store->claim(key, print(0), wall(1)).state, KeyState::replayed) << key;
    }
  }
}

TEST(SqliteStore, AsLongAsItsOwnerLivesHereAKeyIsUnderWay) {  // Invariant (1)
  const TestFolder folder;
  const auto slow = opened(options_for(folder.file("s")));
  const auto other = opened(options_for(folder.file("s")));  // As another process would.
  const auto claim = slow->claim("a", print(0), wall(0));
  EXPECT_EQ(slow->claim("a", print(0), wall(100'000)).state, KeyState::under_way);
  const auto taken = other->claim("a", print(0), wall(200));
  EXPECT_EQ(taken.state, KeyState::first);
  EXPECT_FALSE(slow->complete("a", claim.token, answer(200, "slow"), wall(300)));  // Fenced.
  EXPECT_EQ(slow->tally().lost, 1U);
  EXPECT_TRUE(other->complete("a", taken.token, answer(200, "other"), wall(300)));
  EXPECT_EQ(slow->claim("a", print(0), wall(301)).answer->body, "other");
}

TEST(SqliteStore, AtTheBoundTheOldestAnswersGoAndNothingUnderWay) {  // Invariants (3) and (4)
  const TestFolder folder;
  auto options = options_for(folder.file("s"));
  options.most_entries = 3;
  const auto store = opened(options);
  const auto a = store->claim("a", print(0), wall(0));
  const auto b = store->claim("b", print(0), wall(0));
  (void)store->claim("c", print(0), wall(0));
  EXPECT_EQ(store->claim("d", print(0), wall(0)).state, KeyState::full);
  EXPECT_TRUE(store->complete("b", b.token, answer(200, "b"), wall(1)));
  EXPECT_TRUE(store->complete("a", a.token, answer(200, "a"), wall(2)));
  EXPECT_EQ(store->claim("d", print(0), wall(3)).state, KeyState::first);
  EXPECT_EQ(store->claim("a", print(0), wall(3)).state, KeyState::replayed);
  EXPECT_EQ(store->claim("c", print(0), wall(3)).state, KeyState::under_way);
  EXPECT_EQ(store->tally().evictions, 1U);
}

TEST(SqliteStore, WhenTheFileIsFullTheOldestAnswersGoAndEveryNewOneIsKept) {  // Invariant (4)
  const TestFolder folder;
  auto options = options_for(folder.file("s"));
  options.most_bytes = 1 << 20;
  const auto store = opened(options);
  const auto held = store->claim("held", print(0), wall(0));
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i);
    const auto claim = store->claim(key, print(0), wall(i));
    ASSERT_EQ(claim.state, KeyState::first) << i;
    ASSERT_TRUE(store->complete(key, claim.token, answer(200, std::string(20'000, 'x')), wall(i)));
    const auto again = store->claim(key, print(0), wall(i));
    ASSERT_EQ(again.state, KeyState::replayed);
    ASSERT_EQ(again.answer->body.size(), 20'000U);
  }
  EXPECT_EQ(store->claim("270", print(0), wall(300)).state, KeyState::replayed);
  EXPECT_EQ(store->claim("held", print(0), wall(300)).state, KeyState::under_way);
  EXPECT_GT(store->tally().evictions, 200U);
  EXPECT_EQ(store->tally().errors, 0U);
  EXPECT_LE(std::filesystem::file_size(options.path), 1U << 20);
}

TEST(SqliteStore, AnAnswerThatNeverFitsIsA409AndDrivesNothingOut) {
  const TestFolder folder;
  auto options = options_for(folder.file("s"));
  options.most_bytes = 1 << 18;
  const auto store = opened(options);
  const auto small = store->claim("small", print(0), wall(0));
  ASSERT_TRUE(store->complete("small", small.token, answer(200, "s"), wall(0)));
  const auto half = store->claim("half", print(0), wall(0));
  for (int i = 0; i < 200; ++i) {  // Under way, they take most of the file.
    const std::string key = std::to_string(i) + std::string(900, 'k');
    ASSERT_EQ(store->claim(key, print(0), wall(0)).state, KeyState::first) << i;
  }
  const auto huge = store->claim("huge", print(0), wall(0));
  EXPECT_TRUE(store->complete("huge", huge.token, answer(200, std::string(1 << 18, 'x')), wall(1)));
  EXPECT_TRUE(store->complete("half", half.token, answer(200, std::string(99'999, 'x')), wall(1)));
  for (const std::string key : {"huge", "half"}) {
    const auto again = store->claim(key, print(0), wall(2));
    ASSERT_EQ(again.state, KeyState::replayed) << key;
    EXPECT_EQ(again.answer->status, 409) << key;
  }
  EXPECT_EQ(store->claim("small", print(0), wall(2)).state, KeyState::replayed);
  EXPECT_EQ(store->tally().unkept, 2U);
  EXPECT_EQ(store->tally().evictions, 0U);
}

TEST(SqliteStore, WhatWasDoneAndCouldNotBeStoredIsNotHandedOutAgain) {  // Invariant (1)
  const TestFolder folder;
  auto options = options_for(folder.file("s"));
  options.lock_timeout = milliseconds(1);
  const auto store = opened(options);
  const auto claim = store->claim("a", print(0), wall(0));
  {
    store::Database other(options.path, milliseconds(1));
    const store::Transaction locked(other);
    EXPECT_FALSE(store->complete("a", claim.token, answer(200, "done"), wall(1)));
    EXPECT_EQ(store->tally().errors, 1U);
    EXPECT_EQ(store->claim("a", print(0), wall(1)).state, KeyState::broken);
  }
  EXPECT_EQ(store->claim("a", print(1), wall(100'000)).state, KeyState::mismatch);
  for (int i = 0; i < 2; ++i) {  // Long after the lease.
    const auto again = store->claim("a", print(0), wall(100'000));
    ASSERT_EQ(again.state, KeyState::replayed);
    EXPECT_EQ(again.token, 0U);
    EXPECT_EQ(again.answer->body, answer_not_kept().body);
  }
}

TEST(SqliteStore, AFileThatIsDamagedOrNotOursIsRefusedWithASentence) {  // Invariant (6)
  const TestFolder folder;
  std::ofstream(folder.file("text")) << std::string(5000, 'x');
  EXPECT_EQ(SqliteStore::open(options_for(folder.file("text"))).error(),
            "the idempotency store '" + folder.file("text") +
                "' cannot be opened: file is not a database; move the file away to start with an "
                "empty one");
  const std::string path = folder.file("s");
  {
    const auto store = opened(options_for(path));
    for (int i = 0; i < 200; ++i) {
      const std::string key = std::to_string(i);
      const auto claim = store->claim(key, print(0), wall(0));
      (void)store->complete(key, claim.token, answer(200, std::string(200, 'x')), wall(0));
    }
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(3 * 4096);
  file << std::string(8192, '\xee');
  file.close();
  const auto refused = SqliteStore::open(options_for(path));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("cannot be opened: "), std::string::npos);
  EXPECT_NE(refused.error().find("move the file away"), std::string::npos);
  EXPECT_FALSE(SqliteStore::open(options_for("/nowhere/at/all")));
}

}  // namespace
}  // namespace damper::http
