#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/expected.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/store/sqlite_checkpoints.h"
#include "damper/webhooks/store/store.h"
#include "damper/webhooks/store/store_thread.h"

namespace damper::webhooks {

struct SqliteStoreOptions {
  // The encryption of an endpoint's configuration, which has its secrets. unseal() returns a
  // sentence if the bytes are not what seal() has made for this endpoint. Default: not encrypted.
  using Seal = std::function<std::string(Id endpoint, std::string_view plain)>;
  using Unseal = std::function<Expected<std::string>(Id endpoint, std::string_view sealed)>;

  std::string path;  // beside the file, by its real path: path-wal, path-shm, path.lock
  Seal seal{};
  Unseal unseal{};
  StoreThreadLimits writer{};
  StoreThreadLimits reader{};
  CheckpointLimits checkpoints{};
};

// A SqliteStore is the Store of one dispatcher, in one file.
//
// Why: nothing else to install or to run. A fleet of dispatchers needs another store.
// Model: four threads with a connection each. The writer executes all writes that wait in one
// transaction and calls their `done`s after its commit (write-ahead log, synchronous = FULL): the
// longer a sync takes, the more writes share it. Claims and lists have a reader each, so that a
// long list delays no delivery. Checkpoints have a thread as well. A claim is a read: the file has
// one owner, which knows what it has in flight. What a removed endpoint leaves is deleted in the
// background, also after a restart.
// Invariants: those of Store, and
//   (5) One store has the file, in all processes: a second open() fails.
//   (6) A write that fails by itself (conflict, not_found) fails alone. If the transaction fails
//       (disk full, I/O error), all of its writes get `unavailable`, and nothing is written.
//   (7) The queues are bounded. A call that finds its queue full calls `done` with `unavailable`
//       before it returns. Settlements have a reserve that other writes cannot fill.
// Thread safety: all methods may be called concurrently, also by a `done`.
// Cost: sqlite_store_bench.cc.
class SqliteStore final : public Store {
 public:
  // A sentence if the file cannot be used: another owner, another format, a newer version.
  [[nodiscard]] static Expected<std::unique_ptr<Store>> open(SqliteStoreOptions options);
  ~SqliteStore() override;

  void put_application(std::string name, UnixTime created, Done<Nothing> done) override;
  void remove_application(std::string name, Done<Nothing> done) override;
  void put_endpoint(Endpoint endpoint, Done<Nothing> done) override;
  void remove_endpoint(Id endpoint, Done<Nothing> done) override;
  void put_state(EndpointState state, Done<Nothing> done) override;
  void put_setting(std::string name, std::string text, Done<Nothing> done) override;
  void load(Done<Everything> done) override;
  void find_due(Done<std::vector<EndpointDue>> done) override;
  void find_old(DeliveryPlace place, UnixTime before, std::size_t most,
                Done<OldDeliveries> done) override;
  void accept(NewMessage message, Done<Accepted> done) override;
  void claim(Id endpoint, UnixTime now, std::size_t most, ClaimFilter filter, std::vector<Id> skip,
             Done<Claimed> done) override;
  void settle(Settlement settlement, Done<bool> done) override;
  void list_messages(MessageFilter filter, Page page, Done<std::vector<Message>> done) override;
  void find_message(std::string application, Id id, Done<MessageStatus> done) override;
  void list_attempts(AttemptFilter filter, Page page, Done<std::vector<Attempt>> done) override;
  void list_dead(Id endpoint, Page page, Done<std::vector<DeadLetter>> done) override;
  void redrive(RedriveFilter filter, UnixTime now, Done<Redriven> done) override;
  void count(Done<StoreCounts> done) override;
  void prune(Retention retention, Done<std::int64_t> done) override;

 private:
  struct File;  // the connections and their statements

  SqliteStore(SqliteStoreOptions options, std::unique_ptr<File> file);

  template <class T, class Work>
  static void push(StoreThread& thread, std::size_t bytes, bool reserve, Work work, Done<T> done);
  template <class T, class Work>
  void write(std::size_t bytes, Work work, Done<T> done);
  template <class Work>
  void remove(Work work, Done<Nothing> done);
  // Deletes what removed endpoints and applications have left, some rows with each commit.
  void purge();
  void execute_writes(StoreThread::Batch batch);
  // Nothing: it is committed.
  [[nodiscard]] std::optional<store::DatabaseError> try_commit(StoreThread::Batch batch);
  void execute_reads(StoreThread::Batch batch);
  [[nodiscard]] StoreError unavailable(std::string_view what,
                                       const store::DatabaseError& error) const;

  const SqliteStoreOptions options_;
  const std::unique_ptr<File> file_;
  StoreThread writer_;  // after file_: the threads end first
  StoreThread claims_;
  StoreThread lists_;
};

}  // namespace damper::webhooks
