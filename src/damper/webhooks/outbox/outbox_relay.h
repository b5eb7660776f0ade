#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "damper/base/bounds.h"
#include "damper/base/expected.h"
#include "damper/base/instant.h"
#include "damper/store/sqlite.h"
#include "damper/webhooks/outbox/outbox.h"

namespace damper::webhooks {

// What a dispatcher answered to a message.
struct OutboxAnswer {
  enum class Kind : std::uint8_t {
    accepted,     // durable: its row may be removed
    refused,      // for good: invalid, too large, another message has its key
    unavailable,  // no answer, or not now: it is sent again
  };
  Kind kind = Kind::unavailable;
  bool repeated = false;   // accepted: it was accepted before
  std::string sentence{};  // refused, unavailable: why
};

// Sends messages to a dispatcher, and blocks until each is answered: one answer for each message,
// in their order. outbox_sinks.h has one for a dispatcher in the same process, and one for the API.
using OutboxSink = std::function<std::vector<OutboxAnswer>(std::span<const OutboxMessage>)>;

struct OutboxCounts {
  std::uint64_t moved = 0;        // rows that were accepted and removed
  std::uint64_t repeated = 0;     // of these: the dispatcher had accepted them before
  std::uint64_t refused = 0;      // rows that are kept with an error
  std::uint64_t unavailable = 0;  // answers and errors of the database: sent again later

  OutboxCounts& operator+=(const OutboxCounts& more) noexcept;
};

// Moves one batch: reads rows, sends them, removes those that were accepted. A refused row is kept
// with its sentence in the column `error`, and is not sent again until the column is NULL. Throws
// store::DatabaseError.
OutboxCounts relay_outbox(store::Database& database, const OutboxSink& sink, std::size_t most);

struct OutboxRelayOptions {
  static constexpr Range<Duration> kPoll{std::chrono::milliseconds(1), std::chrono::hours(1)};
  static constexpr Range<std::size_t> kBatch{1, 10'000};

  std::string path;  // the file of the caller's database, or its URL: postgres://...
  Duration poll = std::chrono::milliseconds(200);  // between two looks at an empty table
  std::size_t batch = 100;
};

// An OutboxRelay moves the rows of an outbox to a dispatcher, on a thread and a connection of its
// own.
//
// Several relays may run beside each other on PostgreSQL, for example one in each process of a
// program; a SQLite file has one.
//
// Model: a batch after the other while there are rows; then it waits for notify() or for `poll`. A
// crash between the dispatcher's 202 and the removal of the row sends the row again: the dispatcher
// knows its key, so there is one message.
// Invariants:
//   (1) Every committed row becomes exactly one message of the dispatcher, or is kept with its
//       error.
// Thread safety: all methods may be called concurrently.
class OutboxRelay {
 public:
  // Or a sentence: the database cannot be opened, has no outbox, or an option is out of bounds.
  [[nodiscard]] static Expected<std::unique_ptr<OutboxRelay>> start(OutboxRelayOptions options,
                                                                    OutboxSink sink);
  OutboxRelay(const OutboxRelay&) = delete;
  OutboxRelay& operator=(const OutboxRelay&) = delete;
  // Waits for the batch that is being sent.
  ~OutboxRelay();

  // A transaction with messages was committed.
  void notify();
  [[nodiscard]] OutboxCounts counts() const;

 private:
  // Moves one batch; nothing: the database has failed.
  using Move = std::function<std::optional<OutboxCounts>()>;

  OutboxRelay(OutboxRelayOptions options, Move move);
  [[nodiscard]] static Expected<Move> open_sqlite(const OutboxRelayOptions& options,
                                                  OutboxSink sink);
  [[nodiscard]] static Expected<Move> open_postgres(const OutboxRelayOptions& options,
                                                    OutboxSink sink);
  void run();

  const OutboxRelayOptions options_;
  const Move move_;  // on the thread
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  bool notified_ = false;
  bool stopped_ = false;
  OutboxCounts counts_;
  std::thread thread_;
};

}  // namespace damper::webhooks
