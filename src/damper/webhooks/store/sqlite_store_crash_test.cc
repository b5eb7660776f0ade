// A process that is killed loses nothing that it has acknowledged.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <semaphore>
#include <set>

#include "damper/base/folder_testing.h"
#include "damper/base/random.h"
#include "damper/webhooks/store/sqlite_store.h"
#include "damper/webhooks/store/store_contract_testing.h"

namespace damper::webhooks {
namespace {

// What the child writes after a `done`.
struct Acknowledged {
  std::int64_t message;
  bool settled;  // false: accepted
};

void report(int pipe, Acknowledged what) {
  if (::write(pipe, &what, sizeof what) != sizeof what) ::_exit(1);
}

// Accepts and settles messages from `first` on until it is killed.
[[noreturn]] void run_child(const std::string& path, std::int64_t first, int pipe) {
  auto store = SqliteStore::open({.path = path});
  if (!store) ::_exit(2);
  std::counting_semaphore<64> slots(64);
  for (std::int64_t id = first;; ++id) {
    slots.acquire();
    (*store)->accept({StoreDriver::message(id), {StoreDriver::kFirst}}, [&, id](auto result) {
      if (result) report(pipe, {id, false});
      slots.release();
    });
    if (id % 4 != 0) continue;
    (*store)->claim(StoreDriver::kFirst, at(5000), 2, {}, {}, [&](auto claimed) {
      if (!claimed) return;
      for (const Delivery& each : claimed->deliveries) {
        const std::int64_t settled = number(each.message->id);
        (*store)->settle(StoreDriver::settlement(each, Fate::delivered),
                         [pipe, settled](auto result) {
                           if (result && *result) report(pipe, {settled, true});
                         });
      }
    });
  }
}

// All that a child has reported, after it was killed at its `reports`-th report.
std::vector<Acknowledged> run_until_killed(const std::string& path, std::int64_t first,
                                           std::size_t reports) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::close(pipe[0]);
    run_child(path, first, pipe[1]);
  }
  (void)::close(pipe[1]);
  std::vector<Acknowledged> all;
  Acknowledged each{};
  while (::read(pipe[0], &each, sizeof each) == sizeof each) {
    all.push_back(each);
    if (all.size() == reports) (void)::kill(child, SIGKILL);
  }
  (void)::close(pipe[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended with " << status;
  return all;
}

TEST(SqliteStoreCrash, NothingAcknowledgedIsLostByAKill) {
  if (DAMPER_INSTRUMENTED != 0) GTEST_SKIP() << "a sanitizer does not survive the fork";
  const TestFolder folder;
  const std::string path = folder.file("w.db");
  {
    auto store = SqliteStore::open({.path = path});
    ASSERT_TRUE(store) << store.error();
    StoreDriver(**store).set_up();
  }
  Random random(11);
  std::int64_t next = 1;
  std::set<std::int64_t> accepted;
  std::set<std::int64_t> settled;
  for (int round = 0; round < 20; ++round) {
    const auto reports = static_cast<std::size_t>(1 + random.draw() * 300);
    for (const Acknowledged& each : run_until_killed(path, next, reports)) {
      (each.settled ? settled : accepted).insert(each.message);
    }
    auto store = SqliteStore::open({.path = path});
    ASSERT_TRUE(store) << store.error();
    StoreDriver driver(**store);
    for (const std::int64_t id : accepted) {
      const auto found = driver.find(id);
      ASSERT_TRUE(found) << "message " << id << " is lost, round " << round;
      const bool logged = !driver.attempts({.message = Id{id}}).empty();
      EXPECT_NE(found->waiting.size(), logged ? 1U : 0U) << "message " << id;
      EXPECT_TRUE(logged || !settled.contains(id)) << "message " << id;
    }
    next = std::max(next, *accepted.rbegin()) + 1000;
    accepted.clear();
    settled.clear();
  }
}

}  // namespace
}  // namespace damper::webhooks
