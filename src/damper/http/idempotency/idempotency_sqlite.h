#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "damper/base/bounds.h"
#include "damper/base/expected.h"
#include "damper/http/idempotency/idempotency_store.h"

namespace damper::http {

struct SqliteStoreOptions {
  static constexpr Range<std::int64_t> kMostEntries{1, 100'000'000};
  static constexpr Range<std::int64_t> kMostBytes{std::int64_t{1} << 16, std::int64_t{1} << 40};
  static constexpr Range<Duration> kRetention{std::chrono::milliseconds(1), kLongest};
  static constexpr Range<Duration> kLease{std::chrono::milliseconds(1), std::chrono::hours(1)};
  static constexpr Range<Duration> kLockTimeout{Duration{0}, std::chrono::seconds(10)};

  std::string path;  // a file that nothing else writes
  std::int64_t most_entries = 100'000;
  std::int64_t most_bytes = std::int64_t{1} << 30;  // of the file
  Duration retention = std::chrono::hours(24);      // from the answer on
  // After it a request without an answer counts as crashed. Longer than any handler runs.
  Duration lease = std::chrono::minutes(5);
  Duration lock_timeout = std::chrono::milliseconds(100);  // for another process's lock
  bool survives_power_loss = true;  // fsync for each write; off: survives kill -9 only
  bool check_at_open = true;        // reads the whole file
};

[[nodiscard]] std::optional<std::string> find_error(const SqliteStoreOptions& options);

// A SqliteStore is an IdempotencyStore that survives the process, in a file that several processes
// of one machine may share.
//
// Model: one table, a row for each key; write-ahead log; one transaction for each call. A row that
// is under way has a lease. As long as this process lives its own rows are under way, lease or no
// lease; a row of somebody else whose lease has run out was left by a crash, and the next claim
// gets it, `recovered`. Then complete() of the first owner, should it only have been slow, changes
// nothing. Answers that have expired go a few with each claim; at most_entries, and when the file
// is full, the oldest answers go, one in a hundred at once, more if that is not enough. When all
// of them would not be, or an answer is larger than half the file, none goes and the 409 of
// answer_not_kept() is stored. If the database does not take even that, the key stays under way
// here for as long as the process lives, and its next claim is that 409.
// Invariants: IdempotencyStore's; and
//   (5) What complete() said true to is there after a crash.
//   (6) A file that is damaged or not ours is refused when it is opened, and not written to.
//   (7) An error of the database is `broken`: nothing runs that could not be remembered.
// Thread safety: none; each loop opens one of its own. Every call blocks for as long as the disk
// takes, tens of microseconds to some milliseconds: on the loop's thread that is time of
// everybody's. With survives_power_loss off it is the former.
class SqliteStore final : public IdempotencyStore {
 public:
  // A sentence on what is wrong with the options or the file.
  [[nodiscard]] static Expected<std::unique_ptr<SqliteStore>> open(
      const SqliteStoreOptions& options);
  ~SqliteStore() override;

  [[nodiscard]] Claim claim(std::string_view key, const Fingerprint& request,
                            UnixTime now) override;
  bool complete(std::string_view key, std::uint64_t token, const Response& answer,
                UnixTime now) override;
  void release(std::string_view key, std::uint64_t token) override;

 private:
  class Database;
  SqliteStore(const SqliteStoreOptions& options, std::unique_ptr<Database> database);

  [[nodiscard]] Claim claim_in_transaction(std::string_view key, const Fingerprint& request,
                                           UnixTime now);
  template <class Work>
  auto in_transaction(const Work& work);
  [[nodiscard]] bool complete_in_transaction(std::string_view key, std::uint64_t token,
                                             const Response& answer, UnixTime now);
  [[nodiscard]] bool make_room();
  std::int64_t evict(std::int64_t count);
  void forget(std::uint64_t token);

  const SqliteStoreOptions options_;
  const std::unique_ptr<Database> database_;
  std::unordered_set<std::uint64_t> own_;   // tokens of what is under way here
  std::unordered_set<std::uint64_t> done_;  // those of own_ that were done: it could not be stored
  std::int64_t entries_ = 0;                // at least; other processes add some
  std::uint64_t expired_ = 0;               // of the transaction
  std::uint64_t evicted_ = 0;               // of the transaction
};

}  // namespace damper::http
