#include "damper/http/peer/client_rates.h"

#include <algorithm>
#include <bit>

#include "damper/base/check.h"

namespace damper::http {

std::optional<std::string> find_error(const ClientRateOptions& options) {
  auto error = admit::find_error(options.bucket);
  if (error) return error;
  return BoundsCheck().field("max_clients", options.max_clients, options.kMaxClients).error();
}

ClientRates::ClientRates(const ClientRateOptions& options)
    : burst_(options.bucket.burst), tags_(std::bit_ceil(options.max_clients)) {
  DAMPER_CHECK_VALID(find_error(options));
  for (std::size_t i = 0; i < tags_.size(); ++i) buckets_.emplace_back(options.bucket);
}

bool ClientRates::is_free(std::size_t slot, Instant now) const noexcept {
  return tags_[slot] == 0 || buckets_[slot].balance(now) >= burst_.load(std::memory_order_relaxed);
}

// The client's slot, or one that it takes over. Both sets are of the same shard: the low bits of
// their numbers are equal, and the locks are by the low bits.
std::optional<std::size_t> ClientRates::find_slot(std::uint64_t tag, Instant now) {
  const std::size_t sets = tags_.size() / kWays;
  const std::size_t shards = std::min(kShards, sets);
  const std::size_t first = tag % sets;
  const std::size_t in_shard = sets / shards;
  const std::size_t step = in_shard < 2 ? 0 : 1 + (tag >> 32) % (in_shard - 1);
  const std::size_t second = (first + step * shards) % sets;
  const std::array<std::size_t, 2> begins = {first * kWays, second * kWays};
  for (const std::size_t begin : begins) {
    for (std::size_t slot = begin; slot < begin + kWays; ++slot) {
      if (tags_[slot] == tag) return slot;
    }
  }
  // A new client: into the emptier set, so that all sets fill evenly.
  std::optional<std::size_t> found;
  std::size_t most_free = 0;
  for (const std::size_t begin : begins) {
    std::size_t free = 0;
    std::size_t free_slot = 0;
    for (std::size_t slot = begin; slot < begin + kWays; ++slot) {
      if (!is_free(slot, now)) continue;
      ++free;
      free_slot = slot;
    }
    if (free <= most_free) continue;
    most_free = free;
    found = free_slot;
  }
  if (found) tags_[*found] = tag;
  return found;
}

Duration ClientRates::try_take(ClientKey client, Instant now) {
  const std::uint64_t tag = client.value();
  const std::size_t shards = std::min(kShards, tags_.size() / kWays);
  const std::lock_guard lock(mutexes_[tag % shards]);
  const std::optional<std::size_t> slot = find_slot(tag, now);
  if (!slot) {
    untracked_.fetch_add(1, std::memory_order_relaxed);
    return Duration{0};
  }
  admit::TokenBucket& bucket = buckets_[*slot];
  if (bucket.try_take(now)) return Duration{0};
  refused_.fetch_add(1, std::memory_order_relaxed);
  return std::max(bucket.wait(now), Duration{1});
}

void ClientRates::reload(const admit::TokenBucketOptions& bucket, Instant now) {
  burst_.store(bucket.burst, std::memory_order_relaxed);
  for (admit::TokenBucket& one : buckets_) one.reload(bucket, now);
}

std::size_t ClientRates::tracked(Instant now) const {
  const std::size_t shards = std::min(kShards, tags_.size() / kWays);
  std::size_t count = 0;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::lock_guard lock(mutexes_[shard]);
    for (std::size_t set = shard; set < tags_.size() / kWays; set += shards) {
      for (std::size_t slot = set * kWays; slot < (set + 1) * kWays; ++slot) {
        if (!is_free(slot, now)) ++count;
      }
    }
  }
  return count;
}

}  // namespace damper::http
