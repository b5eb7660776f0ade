#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "damper/admit/token_bucket.h"
#include "damper/base/bounds.h"
#include "damper/base/instant.h"
#include "damper/http/peer/client_key.h"

namespace damper::http {

struct ClientRateOptions {
  static constexpr Range<std::size_t> kMaxClients{16, 1'000'000};

  admit::TokenBucketOptions bucket{};  // of each client
  std::size_t max_clients = 65'536;    // tracked at once; rounded up to a power of two

  friend bool operator==(const ClientRateOptions&, const ClientRateOptions&) = default;
};

[[nodiscard]] std::optional<std::string> find_error(const ClientRateOptions& options);

// A ClientRates bounds the request rate of each client: a TokenBucket for each, in a table of fixed
// size.
//
// Why: a rate limit for all clients together is spent by one of them. A table that grows with the
// clients is memory that strangers allocate.
// Model: a key has 16 possible slots, in two sets of 8. A client keeps its slot while its bucket is
// not full, and has it in the emptier set; a full bucket is the same for every client, so the next
// client that needs a slot takes it over as it is. If all 16 belong to clients that have spent
// tokens, the request is admitted and counted (docs/design/0040).
// Invariants:
//   (1) A tracked client has at most burst + rate * t requests in any time t.
//   (2) A refusal changes nothing. No client uses the tokens of another one.
//   (3) Memory is fixed: 48 bytes for each of max_clients.
//   (4) A reload keeps the fill of each bucket in proportion.
// Thread safety: all methods may be called concurrently, reload() with all but itself; a lock for
// each of kShards parts of the table.
// Cost: no allocation; see client_rates_bench.cc.
class ClientRates {
 public:
  // REQUIRES: !find_error(options).
  explicit ClientRates(const ClientRateOptions& options);
  ClientRates(const ClientRates&) = delete;
  ClientRates& operator=(const ClientRates&) = delete;

  // How long the client has to wait; 0: the request is admitted.
  [[nodiscard]] Duration try_take(ClientKey client, Instant now);
  // REQUIRES: !find_error(bucket).
  void reload(const admit::TokenBucketOptions& bucket, Instant now);

  [[nodiscard]] std::size_t max_clients() const noexcept { return tags_.size(); }
  // Clients whose bucket is not full. Looks at all slots: for metrics.
  [[nodiscard]] std::size_t tracked(Instant now) const;
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }
  // Requests that were admitted because the table had no room for their client.
  [[nodiscard]] std::uint64_t untracked() const noexcept {
    return untracked_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kWays = 8;

  [[nodiscard]] std::optional<std::size_t> find_slot(std::uint64_t tag, Instant now);
  [[nodiscard]] bool is_free(std::size_t slot, Instant now) const noexcept;

  std::atomic<std::int32_t> burst_;
  std::vector<std::uint64_t> tags_;         // of the clients; 0: none. Under the shard's lock
  std::deque<admit::TokenBucket> buckets_;  // as tags_
  mutable std::array<std::mutex, kShards> mutexes_;
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> untracked_{0};
};

}  // namespace damper::http
