#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "damper/admit/quota.h"
#include "damper/base/instant.h"

namespace damper::proxy {

// A KeptBytes bounds the bytes of bodies that a proxy keeps, of all loops together: of requests,
// for retries and by request_buffering; of responses, by response_buffer and for clients that do
// not read.
//
// Why: each request has a bound of its own, but their product with the number of requests is more
// than any machine has.
// Model: a count. A request that finds no room keeps less, or is shed: see ProxiedRequest.
// Thread safety: all methods may be called concurrently, except find_report() with itself.
class KeptBytes {
 public:
  static constexpr Duration kReportEvery = std::chrono::minutes(1);
  static constexpr std::size_t kLeast = std::size_t{1} << 20;

  // A quarter of the memory that the process may use: of its cgroup's limit, or of the machine's.
  [[nodiscard]] static std::size_t default_limit() noexcept;

  // `limit` 0: default_limit(), here and in reload().
  explicit KeptBytes(std::size_t limit) noexcept : quota_(limit != 0 ? limit : default_limit()) {}
  void reload(std::size_t limit) noexcept { quota_.reload(limit != 0 ? limit : default_limit()); }

  [[nodiscard]] bool try_grow(std::size_t bytes) noexcept {
    if (quota_.try_take(bytes) > 0) return true;
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  void shrink(std::size_t bytes) noexcept { quota_.give_back(bytes); }

  [[nodiscard]] std::size_t now() const noexcept { return quota_.taken(); }
  [[nodiscard]] std::size_t limit() const noexcept { return quota_.limit(); }
  // How often there was no room.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }
  // The number of refusals since the last report, if there were some and that is kReportEvery ago.
  [[nodiscard]] std::optional<std::uint64_t> find_report(Instant now) noexcept {
    const std::uint64_t count = refused() - reported_;
    if (count == 0 || (reported_at_ && between(*reported_at_, now) < kReportEvery)) {
      return std::nullopt;
    }
    reported_ += count;
    reported_at_ = now;
    return count;
  }

 private:
  admit::Quota quota_;
  std::atomic<std::uint64_t> refused_{0};
  std::uint64_t reported_ = 0;
  std::optional<Instant> reported_at_;
};

}  // namespace damper::proxy
