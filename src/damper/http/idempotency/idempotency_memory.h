#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "damper/base/bounds.h"
#include "damper/http/idempotency/idempotency_store.h"

namespace damper::http {

struct MemoryStoreOptions {
  static constexpr Range<std::size_t> kMostEntries{1, 10'000'000};
  static constexpr Range<std::size_t> kMostBytes{4096, std::size_t{64} << 30};
  static constexpr Range<Duration> kRetention{std::chrono::milliseconds(1), kLongest};

  std::size_t most_entries = 100'000;
  std::size_t most_bytes = std::size_t{64} << 20;
  Duration retention = std::chrono::hours(24);  // from the answer on
};

[[nodiscard]] std::optional<std::string> find_error(const MemoryStoreOptions& options);

// A MemoryStore is an IdempotencyStore for one process, for as long as it lives.
//
// Why: most repeats come within seconds of the first, to the same process. What must survive a
// restart belongs in a SqliteStore.
// Model: a tree by key, and a list of what was answered, oldest first: it expires in that order. A
// tree, since keys are the callers': no choice of them makes it slow. At the bound the oldest
// answers go, before their time; when there is none, the claim is refused (`full`). An entry costs
// its key, its answer and kEntryBytes, in which there is room for answer_not_kept(): that stands
// for an answer which does not fit beside what is under way, or is over half of most_bytes.
// Thread safety: all methods may be called concurrently; a mutex is held for O(log n) and the copy
// of an answer. The handlers of all loops share one store: a repeat may come to any of them.
class MemoryStore final : public IdempotencyStore {
 public:
  static constexpr std::size_t kEntryBytes = 512;

  // REQUIRES: !find_error(options).
  explicit MemoryStore(const MemoryStoreOptions& options = {});

  [[nodiscard]] Claim claim(std::string_view key, const Fingerprint& request,
                            UnixTime now) override;
  bool complete(std::string_view key, std::uint64_t token, const Response& answer,
                UnixTime now) override;
  void release(std::string_view key, std::uint64_t token) override;

 private:
  struct Entry {
    Fingerprint request{};
    std::uint64_t token = 0;  // 0: answered
    std::size_t bytes = 0;
    UnixTime expires{};
    Response answer;
    std::list<const std::string*>::iterator line{};  // in answered_
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  void expire(UnixTime now);
  void remove(Entries::iterator entry);
  [[nodiscard]] bool make_room(std::size_t entries, std::size_t bytes);
  [[nodiscard]] Entries::iterator find_owned(std::string_view key, std::uint64_t token);
  void publish();

  const MemoryStoreOptions options_;
  std::mutex mutex_;  // over all that follows
  Entries entries_;
  std::list<const std::string*> answered_;  // keys in entries_, oldest answer first
  std::size_t bytes_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace damper::http
