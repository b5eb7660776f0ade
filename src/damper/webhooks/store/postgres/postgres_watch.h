#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "damper/base/instant.h"
#include "damper/webhooks/store/postgres/postgres_claims.h"
#include "damper/webhooks/store/postgres/postgres_session.h"
#include "damper/webhooks/store/store.h"

namespace damper::webhooks {

// A PostgresWatch keeps its dispatcher alive in the database, and brings it what the others change.
//
// Why not NOTIFY alone: a notification is lost with its connection or its sender. Why not in the
// transaction that writes: every commit with one waits for a lock of the whole server.
// Model: a thread with a connection. Every `renewal` it extends the lease of the dispatcher, reads
// which others are alive, and what has changed since it last looked. A notification makes it look
// at once; the writer's notifications are collected and sent some time later, and not at all if
// there is no other dispatcher. If another dispatcher is gone, or a notification may have been
// missed, or after a while, `poll` is called: somebody has to look which endpoints have something
// due.
// Invariants:
//   (1) The claims of a dispatcher that dies can be taken over after at most lease + renewal.
//   (2) A change of the configuration arrives after at most `renewal` and a connection, and one
//       that was committed before refresh() arrives before its `done` is called.
// Thread safety: all methods may be called concurrently, but for stop(): by the owner.
class PostgresWatch {
 public:
  struct Times {
    Duration lease = std::chrono::seconds(9);
    Duration renewal = std::chrono::seconds(3);
    Duration poll = std::chrono::seconds(15);
    Duration debounce = std::chrono::milliseconds(50);
  };

  // The dispatcher is registered: see register_dispatcher().
  PostgresWatch(PostgresSession session, DatabaseClock& clock, PostgresUnseal unseal,
                std::int64_t dispatcher, Times times, std::function<void()> poll);
  PostgresWatch(const PostgresWatch&) = delete;
  PostgresWatch& operator=(const PostgresWatch&) = delete;
  ~PostgresWatch() { stop(); }
  // Ends the thread and the lease.
  void stop();

  // Calls `on_change` with what is newer than `version` of the configuration.
  void watch(std::int64_t version, std::function<void(StoreChange)> on_change);
  // Reads the configuration at once and reports what is new; then calls `done` on its thread, or
  // in the call after stop(). The error is null, or that it could not be read.
  using Refreshed = std::function<void(const StoreError* error)>;
  void refresh(Refreshed done);
  // For poll().
  void report(StoreChange change);

  // This dispatcher has written something that the others want to know.
  void on_due(std::span<const Id> endpoints);
  void on_configured();
  void on_state(Id endpoint);

 private:
  struct News {
    std::set<Id> due;
    std::set<Id> states;
    bool all_due = false;
    bool configuration = false;
    [[nodiscard]] bool is_empty() const noexcept {
      return due.empty() && states.empty() && !all_due && !configuration;
    }
  };

  void loop();
  void wait(Duration time);
  void wake() const;
  [[nodiscard]] bool renew();
  void read_notifications(News& news);
  void send(const News& news);
  [[nodiscard]] bool read_changes(StoreChange& change);
  static void finish_refreshes(const std::vector<Refreshed>& waiting, bool good);
  [[nodiscard]] bool read_states(StoreChange& change, const std::set<Id>& endpoints, bool all);

  PostgresSession session_;
  DatabaseClock& clock_;
  const PostgresUnseal unseal_;
  const std::int64_t dispatcher_;
  const Times times_;
  const std::function<void()> poll_;
  int wake_ = -1;  // an eventfd

  std::atomic<bool> alone_ = false;  // no other dispatcher is alive
  std::mutex mutex_;
  bool stopping_ = false;  // guarded by mutex_, as the next five
  bool watching_ = false;
  News to_send_;
  std::vector<Refreshed> refreshes_;
  std::int64_t version_ = 0;
  std::function<void(StoreChange)> on_change_;

  std::set<std::int64_t> others_;  // of the thread, as the next ones
  std::int64_t states_since_ = 0;
  News arrived_;
  std::thread thread_;  // last: it uses the others
};

// A new dispatcher's number, with its first lease; sets the clock.
[[nodiscard]] store::PgExpected<std::int64_t> register_dispatcher(PostgresSession& session,
                                                                  DatabaseClock& clock,
                                                                  Duration lease);

}  // namespace damper::webhooks
