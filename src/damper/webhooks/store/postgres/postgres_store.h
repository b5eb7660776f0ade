#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "damper/base/expected.h"
#include "damper/store/postgres/postgres.h"
#include "damper/webhooks/store/postgres/postgres_claims.h"
#include "damper/webhooks/store/postgres/postgres_deliveries.h"
#include "damper/webhooks/store/postgres/postgres_lists.h"
#include "damper/webhooks/store/postgres/postgres_session.h"
#include "damper/webhooks/store/postgres/postgres_watch.h"
#include "damper/webhooks/store/postgres/postgres_writes.h"
#include "damper/webhooks/store/store.h"
#include "damper/webhooks/store/store_thread.h"

namespace damper::webhooks {

struct PostgresStoreOptions {
  using Seal = std::function<std::string(Id endpoint, std::string_view plain)>;

  std::string url;  // see PostgresUrl
  std::string schema = "damper_webhooks";
  Seal seal{};  // as SqliteStoreOptions; all dispatchers have the same
  PostgresUnseal unseal{};
  StoreThreadLimits writer{};
  StoreThreadLimits reader{};
  PostgresWatch::Times times{};
  bool simulated_time = false;  // for tests: claims are by the caller's `now`
};

// A PostgresStore is the Store of a fleet of equal dispatchers, in a database of PostgreSQL 15 or
// later.
//
// Model: four threads with a connection each. The writer executes all writes that wait in one
// transaction, with one statement for all messages and one for all settlements. Claims and lists
// have a connection each. The fourth is PostgresWatch: the dispatcher's lease, and what others
// change. A claim is a token in the delivery, and it holds while its dispatcher is alive; every
// settlement has it in its WHERE. All times that decide are the database's: hosts with different
// clocks agree.
// Invariants: those of Store, and
//   (5) A write that fails by itself (conflict, not_found) fails alone. If the database refuses a
//       batch because of one of its writes, each is committed alone.
//   (6) The queues are bounded, as those of SqliteStore.
//   (7) A connection that is lost is opened again, after a jittered pause if that fails. Calls that
//       cannot be executed get `unavailable`. A commit whose answer was lost is looked up.
// Thread safety: all methods may be called concurrently, also by a `done`.
class PostgresStore final : public Store {
 public:
  // A sentence if the URL is not valid, the database cannot be reached, or its tables are of a
  // newer version.
  [[nodiscard]] static Expected<std::unique_ptr<Store>> open(PostgresStoreOptions options);
  ~PostgresStore() override;

  void put_application(std::string name, UnixTime created, Done<Nothing> done) override;
  void remove_application(std::string name, Done<Nothing> done) override;
  void put_endpoint(Endpoint endpoint, Done<Nothing> done) override;
  void remove_endpoint(Id endpoint, Done<Nothing> done) override;
  void put_state(EndpointState state, Done<Nothing> done) override;
  void put_setting(std::string name, std::string text, Done<Nothing> done) override;
  void load(Done<Everything> done) override;
  void watch(std::function<void(StoreChange)> on_change) override;
  void refresh(Done<Nothing> done) override;
  void find_due(Done<std::vector<EndpointDue>> done) override;
  void find_old(DeliveryPlace place, UnixTime before, std::size_t most,
                Done<OldDeliveries> done) override;
  void accept(NewMessage message, Done<Accepted> done) override;
  void claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter, std::vector<Id> skip,
             Done<Claimed> done) override;
  void settle(Settlement settlement, Done<bool> done) override;
  [[nodiscard]] bool is_shared() const noexcept override { return true; }
  void take_probe(ProbeRequest request, Done<ProbeGrant> done) override;
  void return_probe(Id endpoint, std::int64_t lease, Done<Nothing> done) override;
  void list_messages(MessageFilter filter, Page page, Done<std::vector<Message>> done) override;
  void find_message(std::string application, Id id, Done<MessageStatus> done) override;
  void list_attempts(AttemptFilter filter, Page page, Done<std::vector<Attempt>> done) override;
  void list_dead(Id endpoint, Page page, Done<std::vector<DeadLetter>> done) override;
  void redrive(RedriveFilter filter, UnixTime now, Done<Redriven> done) override;
  void count(Done<StoreCounts> done) override;
  void prune(Retention retention, Done<std::int64_t> done) override;

 private:
  PostgresStore(PostgresStoreOptions options, const store::PostgresUrl& url,
                std::unique_ptr<DatabaseClock> clock, std::int64_t dispatcher);

  // `work` returns a PgExpected<Expected<T, StoreError>>. It is repeated once if the connection was
  // lost before anything was committed.
  template <class T, class Work>
  void push(StoreThread& thread, PostgresSession& session, std::size_t bytes, Work work,
            Done<T> done);
  template <class T, class Work>
  void write(std::size_t bytes, Work work, Done<T> done);
  template <class Work>
  void configure(std::size_t bytes, Work work, bool removal, Done<Nothing> done);
  template <class T, class Work>
  void list(Work work, Done<T> done);
  void purge();
  void poll();
  void execute_writes(StoreThread::Batch batch);
  void write_deliveries(DeliveryBatch& batch);

  const PostgresStoreOptions options_;
  const std::unique_ptr<DatabaseClock> clock_;
  PostgresSession write_session_;
  PostgresSession claim_session_;
  PostgresSession list_session_;
  PostgresWrites writes_;
  PostgresClaims claim_statements_;
  PostgresLists lists_;
  std::atomic<std::int64_t> loaded_version_ = 0;
  std::atomic<bool> polling_ = false;
  PostgresWatch watch_;  // after the sessions, as the threads: they end first
  StoreThread writer_;
  StoreThread claims_;
  StoreThread reader_;
};

}  // namespace damper::webhooks
